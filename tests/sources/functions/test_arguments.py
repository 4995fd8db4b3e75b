"""Argument decoding, and the errors of arguments that do not fit."""

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import Problem
from accord.model.tool import Tool
from accord.sources.functions import function_tool
from sources.functions.sample_types import (
    EXACT,
    SECRET,
    TYPES,
    Order,
    Row,
    arguments,
    each_type,
    fields,
    integers,
    json_of,
    received,
    refused,
    taking,
    texts,
)


@each_type
@settings(max_examples=50)
@given(data=st.data())
def test_values_reach_the_function_equal(row: Row, data: st.DataObject) -> None:
    value = data.draw(row.values)
    assert received(taking(row.hint), arguments(value)) == value


@each_type
@settings(max_examples=25)
@given(data=st.data())
def test_an_unknown_argument_adds_a_warning_and_changes_nothing(
    row: Row, data: st.DataObject
) -> None:
    value = data.draw(row.values)
    bound = taking(row.hint).bind(arguments(value, colour="7"))
    assert bound.arguments.x == value
    assert [(w.message, w.code) for w in bound.warnings] == [
        ("Unknown argument 'colour' was ignored", "UNKNOWN_ARGUMENT")
    ]


SPELLINGS: dict[str, tuple[Any, Any]] = {
    "a Decimal as a number": (Decimal, 1.5),
    "a UUID without dashes": (UUID, "0" * 32),
    "a time without a zone": (datetime, "2026-07-28T12:00:00"),
    "a set with an item twice": (set[int], [1, 1]),
    "a whole number with a point": (int, 1.0),
    "a whole number with an exponent": (list[int], [1e3]),
}


@pytest.mark.parametrize(("hint", "value"), SPELLINGS.values(), ids=list(SPELLINGS))
def test_another_spelling_is_accepted_with_and_without_unknown_arguments(
    hint: Any, value: Any
) -> None:
    tool = taking(hint)
    assert received(tool, arguments(value)) == received(tool, arguments(value, colour="7"))


def test_no_digit_is_lost_beside_an_unknown_argument() -> None:
    raw = b'{"x": 1.23456789012345678901, "toolCallId": "7"}'
    assert received(taking(Decimal), raw) == Decimal("1.23456789012345678901")


exact_floats = st.floats(-(2**53), 2**53)  # beyond, no two libraries agree on what divides what
json_values = st.recursive(
    st.none() | st.booleans() | integers | exact_floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with one part of it, or all, replaced or left out."""
    if not isinstance(value, dict | list) or not value or draw(st.booleans()):
        return draw(json_values)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = draw(st.sampled_from(keys))
    rest = value.copy()
    if draw(st.booleans()):
        del rest[key]
    else:
        rest[key] = draw(spoiled(value[key]))
    return rest


def takes(tool: Tool, raw: bytes) -> bool:
    try:
        return bool(tool.bind(raw))
    except Problem:
        return False


@pytest.mark.parametrize("row", EXACT.values(), ids=list(EXACT))
@given(data=st.data())
def test_a_function_accepts_what_its_schema_allows(row: Row, data: st.DataObject) -> None:
    tool = taking(row.hint)
    right = json_of(data.draw(row.values))
    value = data.draw(st.just(right) | spoiled(right))
    schema = jsonschema_rs.Draft202012Validator(tool.input_schema)
    assert takes(tool, arguments(value)) == schema.is_valid({"x": value})


TAKE_TEXT = {"str", "Any", "union", "Len", "pattern"}
NO_TEXT = {name: row.hint for name, row in TYPES.items() if name not in TAKE_TEXT}


@pytest.mark.parametrize("hint", NO_TEXT.values(), ids=list(NO_TEXT))
def test_a_field_error_names_the_field_and_not_the_value(hint: Any) -> None:
    problem = refused(taking(hint), arguments(SECRET))
    assert list(fields(problem)) == ["x"]
    assert problem.message.startswith("Invalid arguments for echo: x must be ")
    assert len(problem.message) < 120
    assert SECRET not in problem.message


def test_every_wrong_field_is_reported() -> None:
    def book(
        a: int, b: datetime, c: datetime, d: Decimal, e: UUID, f: bytes, g: dict[int, str], h: Order
    ): ...

    order = {"lines": [{"qty": 0}, {"qty": SECRET}, {}], "color": SECRET}
    given = dict.fromkeys("abcdef", SECRET) | {"g": {"one": "x"}, "h": order}
    problem = refused(function_tool(book), json.dumps(given).encode())
    assert {path.partition(".one")[0] for path in fields(problem)} == {
        *"abcdefg",
        *("h.lines[0].qty", "h.lines[1].qty", "h.lines[2].qty", "h.color"),
    }
    assert SECRET not in problem.message


@pytest.mark.parametrize("hint", [list[int], list[date], list[Decimal]], ids=str)
def test_every_wrong_item_is_reported(hint: Any) -> None:
    problem = refused(taking(hint), arguments([SECRET, SECRET]))
    assert list(fields(problem)) == ["x[0]", "x[1]"]


def test_every_missing_argument_is_reported() -> None:
    def move(a: int, b: str, c: float = 1): ...

    problem = refused(function_tool(move), b"{}")
    assert problem.message == "Invalid arguments for move: a is required; b is required"


def test_a_strict_tool_reports_every_unknown_argument() -> None:
    problem = refused(taking(int, strict=True), arguments(1, y=SECRET, z=SECRET))
    assert fields(problem) == {"y": "is not a known field", "z": "is not a known field"}
    assert SECRET not in problem.message


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (list[int], [SECRET] * 10_000),
        (dict[str, int], {"k" * 100_000: SECRET}),
    ],
    ids=["many bad items", "a long key"],
)
def test_the_message_is_short_however_many_fields_are_wrong(hint: Any, value: Any) -> None:
    assert len(refused(taking(hint), arguments(value)).message) < 10_000


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"x": 1e999}', "a number that is out of range"),
        (b'{"x": %s1%s}' % (b"[" * 100_000, b"]" * 100_000), "nested too deeply"),
    ],
    ids=["a number beyond all", "nested without end"],
)
def test_json_that_cannot_be_decoded_is_a_field_error(raw: bytes, words: str) -> None:
    assert refused(taking(Any), raw).message.endswith(words)
