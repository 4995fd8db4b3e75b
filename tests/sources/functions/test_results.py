"""Returned values and raised problems as tool results."""

import json
from datetime import date
from typing import Annotated, Any

import annotated_types as at
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from accord import Answer
from peer import Peer
from sources.functions.sample_types import Color, Line, Row, each_type, json_of, listed, returning

RESULTS: dict[str, tuple[Any, Any, str, Any, Any]] = {
    # the hint, the value, its text, its structure up to 2025-11-25, its structure after
    "int": (int, 5, "5", {"result": 5}, 5),
    "float": (float, 5, "5", {"result": 5}, 5),
    "list": (list[int], [], "[]", {"result": []}, []),
    "dict": (dict[str, int], {"a": 1}, '{"a":1}', {"a": 1}, {"a": 1}),
    "dataclass": (
        Line,
        Line(2),
        '{"qty":2,"sku":"none","tags":[]}',
        {"qty": 2, "sku": "none", "tags": []},
        {"qty": 2, "sku": "none", "tags": []},
    ),
    "optional": (int | None, None, "null", {"result": None}, None),
    "optional object": (Line | None, None, "null", {"result": None}, None),
    "optional text": (str | None, "hi", '"hi"', {"result": "hi"}, "hi"),
    "enum": (Color, Color.RED, '"red"', {"result": "red"}, "red"),
    "date": (date, date(2026, 7, 28), '"2026-07-28"', {"result": "2026-07-28"}, "2026-07-28"),
    "answer": (Answer[int], Answer(5), "5", {"result": 5}, 5),
    "plain value for an answer": (Answer[int], 5, "5", {"result": 5}, 5),
    "answer for a plain value": (int, Answer(5), "5", {"result": 5}, 5),
}

UNSAID: dict[str, tuple[Any, Any, str, Any, Any]] = {
    "text": (str, '{"a": 1}', '{"a": 1}', ..., ...),
    "text in an answer": (Answer[str], Answer("hi"), "hi", ..., ...),
    "None": (None, None, "null", ..., ...),
    "answer with words alone": (Answer[None], Answer(), "null", ..., ...),
    "no hint, no value": (..., None, "null", ..., ...),
    "no hint, text": (..., "hi", '"hi"', {"result": "hi"}, "hi"),
    "no hint, object": (..., {"a": 1}, '{"a":1}', {"a": 1}, {"a": 1}),
    "no hint, list": (..., [1], "[1]", {"result": [1]}, [1]),
    "Any": (Any, [1], "[1]", {"result": [1]}, [1]),
    "answer of anything": (Answer, Answer([1]), "[1]", {"result": [1]}, [1]),
}


@pytest.mark.parametrize("revision", wire.REVISIONS)
@pytest.mark.parametrize(
    ("hint", "value", "text", "structure", "newest"),
    (RESULTS | UNSAID).values(),
    ids=list(RESULTS | UNSAID),
)
def test_a_result_has_text_in_every_revision_and_structure_where_it_fits(
    hint: Any, value: Any, text: str, structure: Any, newest: Any, revision: str
) -> None:
    result = Peer(returning(value, hint), revision).call("get")["result"]
    before = ... if revision < wire.STRUCTURE else structure
    expected = newest if revision == wire.STATELESS else before
    assert result["content"] == [{"type": "text", "text": text}]
    assert result.get("structuredContent", ...) == expected


@pytest.mark.parametrize(("hint", "value"), [r[:2] for r in UNSAID.values()], ids=list(UNSAID))
def test_a_hint_without_a_type_has_no_output_schema(hint: Any, value: Any) -> None:
    assert listed(returning(value, hint)) == {}


@each_type
@settings(max_examples=25)
@given(revision=st.sampled_from(wire.REVISIONS), data=st.data())
def test_structure_fits_the_schema_of_its_revision(
    row: Row, revision: str, data: st.DataObject
) -> None:
    value = data.draw(row.values)
    server = returning(value, row.hint)
    schema = listed(server, revision)
    result = Peer(server, revision).call("get")["result"]
    assert "isError" not in result
    assert bool(schema) == (revision >= wire.STRUCTURE and row.hint not in (str, None, Any))
    if schema:
        jsonschema_rs.validate(schema, result["structuredContent"])
    if row.hint is not str:
        assert json.loads(result["content"][0]["text"]) == json_of(value)


def test_bounds_of_a_result_are_in_the_schema_and_checked() -> None:
    server = returning(9, Annotated[int, at.Le(5)])
    assert listed(server) == {"type": "integer", "maximum": 5}
    assert Peer(server, wire.STATELESS).call("get")["result"]["isError"] is True
