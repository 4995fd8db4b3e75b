"""Every requirement of the five documents, of MCP and of the gateway has a test, or names what it waits for."""

from collections import Counter

import pytest

from requirements.manifest import marks, marks_in, requirements

ALL = requirements()
WAITING: dict[str, int] = {}
"""How many requirements wait for each part that is still to come. It only ever gets smaller."""


def test_each_document_is_there() -> None:
    assert {each.partition(".")[0] for each in ALL} == {
        *("000", "001", "002", "003", "004"),
        *("gateway", "mcp"),
    }


def test_what_mcp_requires_says_where() -> None:
    sites = (
        "https://modelcontextprotocol.io/specification/",
        "https://modelcontextprotocol.io/seps/",
    )
    links = {each: said.link for each, said in ALL.items() if each.startswith("mcp.")}
    assert [each for each, link in links.items() if not (link or "").startswith(sites)] == []


def test_every_requirement_has_a_test_unless_it_waits() -> None:
    named = marks().places
    assert [each for each, said in ALL.items() if not said.waits_for and each not in named] == []


def test_what_has_a_test_waits_no_longer() -> None:
    named = marks().places
    assert [each for each, said in ALL.items() if said.waits_for and each in named] == []


def test_no_more_requirements_wait_than_these() -> None:
    assert Counter(said.waits_for for said in ALL.values() if said.waits_for) == WAITING


def test_no_test_names_a_requirement_that_there_is_not() -> None:
    unknown = {each: places for each, places in marks().places.items() if each not in ALL}
    assert unknown == {}


def test_every_mark_can_be_found_in_the_source() -> None:
    assert marks().faults == []


def test_a_requirement_is_a_sentence() -> None:
    assert [each for each, said in ALL.items() if not said.says.endswith(".")] == []


FOUND = """
pytestmark = [pytest.mark.requirement("a")]
@pytest.mark.requirement("b", "c")
def test_one(): ...
@requirement("d")
async def test_two(): ...
ROWS = [pytest.param(1, marks=requirement("e")), pytest.param(1, marks=[requirement("f")])]
@requirement("nobody runs this")
def helper(): ...
"""


def test_marks_are_found_where_pytest_sees_them() -> None:
    found = marks_in([("test_it.py", FOUND)])
    assert sorted(found.places) == ["a", "b", "c", "d", "e", "f"]
    assert found.places["c"] == ["test_it.py:3"]
    assert found.faults == []


@pytest.mark.parametrize("mark", ["()", "(name)", "('a', name)", "(*names)", "(id='a')"])
def test_a_mark_that_cannot_be_read_is_a_fault(mark: str) -> None:
    source = f"@pytest.mark.requirement{mark}\ndef test_one(): ..."
    assert marks_in([("test_it.py", source)]).faults == [
        "test_it.py:1: ids are written out, one or more"
    ]
