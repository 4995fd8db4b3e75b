"""Names of upstream tools: valid for every client, unique, stable (behaviours 2 and 3)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.gateway.names import MAX_NAME, Names, valid_name

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
server_names = st.text("abcxyz019.-_", min_size=1, max_size=20)
tool_names = st.text(min_size=1, max_size=150)


@pytest.mark.requirement("gateway.2.valid")
@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("add", "add"),
        ("files.read", "files_read"),
        ("größe", "gr__e"),
        ("a" * 64, "a" * 64),
        ("search/" + "x" * 100 + "_end_of_the_name", None),
    ],
)
def test_a_name_is_valid_for_every_client(own: str, shown: str | None) -> None:
    name = valid_name(own)
    assert VALID.fullmatch(name)
    if shown is None:
        assert name.startswith("search_xxx")
        assert name.endswith("end_of_the_name")
        assert len(name) == MAX_NAME
    else:
        assert name == shown


@pytest.mark.requirement("gateway.2.collision")
def test_a_tool_of_two_servers_is_bare_for_the_first_and_has_the_second_ones_name() -> None:
    names = Names()
    assert names.name_of("git", "search", None) == "search"
    assert names.name_of("web", "search", None) == "web_search"
    assert names.name_of("web", "fetch", None) == "fetch"
    assert names.name_of("fs", "search", "files-") == "files-search"


@pytest.mark.requirement("gateway.3.stays")
def test_a_name_stays_when_another_server_brings_the_same_tool() -> None:
    names = Names()
    assert names.name_of("web", "search", None) == "search"
    assert names.name_of("git", "search", None) == "git_search"
    names.forget("web")
    assert names.name_of("git", "search", None) == "git_search"
    assert names.name_of("new", "search", None) == "search"


@pytest.mark.requirement("gateway.2.valid", "gateway.2.same-everywhere")
@given(st.lists(st.tuples(server_names, tool_names), unique=True, max_size=30))
def test_names_are_valid_unique_and_the_same_in_every_process(tools: list[tuple[str, str]]) -> None:
    first, second = Names(), Names()
    found = [first.name_of(server, tool, None) for server, tool in tools]
    assert found == [second.name_of(server, tool, None) for server, tool in tools]
    assert len(set(found)) == len(tools)
    assert all(VALID.fullmatch(each) for each in found)


@pytest.mark.requirement("gateway.2.collision")
def test_a_name_of_a_local_tool_is_not_taken() -> None:
    assert Names().name_of("web", "search", None, lambda name: name == "search") == "web_search"
