"""Malformed replies give a reading, and docs/reading.md has the rules of the reader."""

import ast
import html
import re
from pathlib import Path
from typing import Any

import pytest

import accord.reader
from accord.model.response import Response
from accord.reader import SOURCES, read
from accord.reader.documents import NOTATIONS, Found
from accord.reader.evidence.failures import MARKS

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
ODD: dict[str, Any] = {
    "nothing": b"",
    "blanks": "   ",
    "broken JSON": '{"a": ',
    "deep JSON": "[" * 100_000,
    "binary": bytes(range(256)) * 40,
    "invalid UTF-8": b"caf\xe9 au lait",
    "a number": 5,
    "null": None,
    "an object of Python's": object(),
    "a result without content": {"content": []},
    "content that is none": {"content": "words"},
    "a block that is none": {"content": [5]},
    "a tool result in a list": [{"content": [{"type": "text", "text": "x"}]}],
    "an error that is no object": {"jsonrpc": "2.0", "id": 1, "error": "no"},
    "nested wrappings": {"output": {"output": {"output": {"output": "x"}}}},
    "lone surrogates": '{"a": "\\ud800"}',
    "half a character": '{"a": "\ud800"}',
    "half a character in a text": {"content": [{"type": "text", "text": '["\ud800"]'}]},
    "half a character after prose": 'Rows:\n["\ud800"]',
    "half a character as Python shows it": "[{'a': '\ud800'}]",
    "names that are no text": {1: [2], None: {(3, 4): 5}},
    "names that are no text in a list": [{1: 2}],
    "a list of itself": CIRCLE,
    "a block whose text is an object of Python's": {
        "content": [{"type": "text", "text": {"a": object()}}]
    },
    "a type that is a list": [{"type": []}],
    "a link that is none": {"items": [], "next": "http://[x/?page=2"},
    "a page number in superscript": {"items": [], "next": "/?page=\u00b2"},
    "a page number of many digits": {"items": [], "next": f"/?page={'1' * 5_000}"},
    "words of many digits": f"Showing 1-{'1' * 5_000}\na\nb",
    "an escape that Python has not": "['\\8', '\\\u00b2']",
    "a cell of more than csv takes": "a,b,c\n1,2," + "x" * 200_000,
}


@pytest.mark.parametrize("reply", ODD.values(), ids=ODD)
def test_anything_at_all_gives_a_reading(reply: Any) -> None:
    reading = read(reply)
    assert isinstance(reading.response, Response)
    assert reading.response.tool_name == "unknown"
    assert reading.findings
    assert isinstance(read(reply, "list_things").response, Response)
    assert isinstance(read({"structuredContent": reply}, "send").response, Response)


def test_every_rule_has_a_name_of_its_own_and_says_when_it_fires() -> None:
    assert len({rule.name for rule in SOURCES}) == len(SOURCES)
    assert all(source.look.__doc__ for source in SOURCES)
    assert SOURCES[-1].name == "single"


PAGE = (Path(__file__).parents[2] / "docs/reading.md").read_text()


def rows(heading: str) -> list[tuple[str, str]]:
    """The rules that the page has in the table below a heading, each with its example."""
    table = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    example = r"(?:`+|<code>) ?(.*?) ?(?:`+|</code>)"
    return re.findall(rf"^\| `([\w-]+)` \| .*? \| {example} \|$", table, re.M)


PLACES = rows("Where the value is")


@pytest.mark.parametrize(("rule", "example"), PLACES, ids=[rule for rule, _ in PLACES])
def test_the_page_about_reading_says_where_a_value_is_found(rule: str, example: str) -> None:
    shown = example.replace("\u23ce", "\n")
    if rule == "fenced-reply":
        shown = f"```{shown.strip('`')}```"
    assert rule in read(shown, "t").rules


def test_the_page_about_reading_lists_every_way_to_a_value() -> None:
    sources = [path.read_text() for path in Path(accord.reader.__file__).parent.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r'notes\.rule\("([\w-]+)"', source)}
    named |= {rule for rule, *_ in NOTATIONS} | {Found("", "", "").rule, "guarded"}
    elsewhere = {rule.name for rule in SOURCES} | {"sdk-object", "exception", "binary"}
    shapes = {"response-v2", "generic", "problem"}
    assert {rule for rule, _ in PLACES} | {"json"} == (named - elsewhere) | {"json"} | shapes


SIGNS = rows("Failure markers")


@pytest.mark.parametrize(("sign", "example"), SIGNS, ids=[sign for sign, _ in SIGNS])
def test_the_page_about_reading_shows_what_says_that_it_failed(sign: str, example: str) -> None:
    doers = {
        "exit-code": "run_command",
        "exchange-failed": "send_request",
        "field-errors": "create_user",
    }
    reading = read(example, doers.get(sign, "get_thing"))
    assert reading.is_failure
    assert [rule for rule in reading.rules if not rule.startswith("against:")][-1] == sign


def test_the_page_about_reading_lists_every_sign_of_a_failure() -> None:
    sources = [path.read_text() for path in Path(accord.reader.__file__).parent.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r'_?[Ss]ign\("([\w-]+)"', source)}
    named |= {mark.rule for mark in MARKS}
    assert {sign for sign, _ in SIGNS} == named - {rule.name for rule in SOURCES}


PATTERNS = rows("Text that is a list")


@pytest.mark.parametrize(("rule", "example"), PATTERNS, ids=[rule for rule, _ in PATTERNS])
def test_the_page_about_reading_shows_texts_that_are_lists(rule: str, example: str) -> None:
    text = html.unescape(example.replace("\u23ce", "\n"))
    assert read(text, "list_things").rules[-1] == rule


MAKING = {"Items", "Cut", "framed"}
"""Calls that make items, with the name of the pattern."""


def patterns_named(path: Path) -> set[str]:
    """Return the names of patterns that a module gives to items."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    given = (each.args for each in calls if getattr(each.func, "id", "") in MAKING)
    names = (each.value for args in given for each in args if isinstance(each, ast.Constant))
    return {name for name in names if isinstance(name, str) and re.fullmatch("[a-z-]+", name)}


def test_the_page_about_reading_lists_every_pattern() -> None:
    files = list((Path(accord.reader.__file__).parent / "items").glob("*.py"))
    source = "\n".join(path.read_text() for path in files)
    listed = {rule for rule, _ in PATTERNS}
    assert set().union(*map(patterns_named, files)) - {"block-per-item"} <= listed
    assert not [rule for rule in listed if f'"{rule}"' not in source]


def test_the_page_about_reading_lists_every_rule_in_order() -> None:
    table = PAGE.partition("## Rules")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([\w-]+)` \|", table, re.M)
    assert listed == [rule.name for rule in SOURCES]
