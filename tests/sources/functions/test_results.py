"""Returned values and raised problems as tool results."""

import json
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict

import annotated_types as at
import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from accord import Answer
from accord.sources.functions.type_hints import output_of
from peer import Peer
from sources.functions.sample_types import (
    Color,
    Line,
    Point,
    Row,
    each_type,
    json_of,
    listed,
    returning,
)

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
    data, _with_details = listed(server)["anyOf"]
    assert data == {"type": "integer", "maximum": 5}
    assert Peer(server, wire.STATELESS).call("get")["result"]["isError"] is True


# The check of results decodes into Structs, which is faster; it must accept the same JSON.


@dataclass
class Customer:
    name: str
    orders: "list[Line]" = field(default_factory=list)
    limit: ClassVar[int] = 5
    note: Annotated[str, msgspec.Meta(max_length=3)] | None = None


class Node(TypedDict):
    value: int
    next: "NotRequired[Node]"


@dataclass
class Checked:
    qty: int

    def __post_init__(self) -> None:
        if self.qty < 0:
            raise ValueError("negative")


Renamed = TypedDict("Renamed", {"a-b": int})
CHECKED: dict[str, Any] = {
    "dataclass": Customer,
    "list": list[Customer],
    "dict": dict[str, Customer],
    "tuple": tuple[int, Line],
    "optional": Line | None,
    "TypedDict": list[Point],
    "inside of another": dict[str, list[Point | None]],
    "recursive": Node,
    "with __post_init__": Checked,
    "names that are not identifiers": Renamed,
    "Annotated": Annotated[list[Line], msgspec.Meta(max_length=2)],
}
MEMBERS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=2) | st.integers(),
        "orders": st.lists(
            st.fixed_dictionaries({}, optional={"qty": st.integers(-1, 2), "sku": st.text()}),
            max_size=2,
        ),
        "note": st.text(max_size=5) | st.none(),
        "qty": st.integers(-1, 2),
        "x": st.integers() | st.text(),
        "label": st.text() | st.none(),
        "value": st.integers(),
        "next": st.fixed_dictionaries({"value": st.integers() | st.none()}),
        "a-b": st.integers() | st.none(),
        "limit": st.text(),
    },
)
JSON_VALUES: st.SearchStrategy[Any] = (
    MEMBERS | st.lists(MEMBERS, max_size=3) | st.none() | st.integers()
)
JSON_VALUES |= st.dictionaries(st.text(max_size=1), JSON_VALUES, max_size=2)
JSON_VALUES |= st.tuples(st.integers(), MEMBERS).map(list)


@pytest.mark.parametrize("hint", CHECKED.values(), ids=list(CHECKED))
@given(value=JSON_VALUES)
@settings(max_examples=300)
def test_the_check_of_a_result_accepts_exactly_what_its_type_does(hint: Any, value: Any) -> None:
    check = output_of(hint, "get").check
    assert check is not None
    json = msgspec.json.encode(value)
    assert _accepts(check, json) == _accepts(msgspec.json.Decoder(hint).decode, json)


def _accepts(decode: Any, json: bytes) -> bool:
    try:
        decode(json)
    except msgspec.ValidationError:
        return False
    return True
