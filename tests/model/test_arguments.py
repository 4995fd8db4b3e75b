"""A JSON value held against a schema: every field that is wrong, in a few words of ours."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import ContractError
from accord.model.arguments import Checker, path_of

SECRET = "sk-live-4f9a"
LINE = {
    "type": "object",
    "properties": {"qty": {"type": "integer", "minimum": 1}, "sku": {"type": "string"}},
    "required": ["qty"],
}
ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"},
        "order": {"type": "object", "properties": {"lines": {"type": "array", "items": LINE}}},
    },
    "required": ["customer"],
}


def errors(schema: Any, value: Any) -> dict[str, str]:
    found = Checker(schema).errors(value)
    assert {error.severity for error in found} <= {"error"}
    fields = {error.field: error.error for error in found}
    assert len(fields) == len(found)
    return fields


WORDING: dict[str, tuple[Any, Any, str]] = {
    "type": ({"type": "integer"}, SECRET, "must be an integer, not a string"),
    "types": ({"type": ["array", "number"]}, SECRET, "must be a number or an array, not a string"),
    "null": ({"type": "string"}, None, "must be a string, not null"),
    "boolean": ({"type": "integer"}, True, "must be an integer, not a boolean"),
    "fraction": ({"type": "integer"}, 1.5, "must be an integer, not a number"),
    "enum": ({"enum": ["red", 1, None]}, SECRET, "must be one of red, 1, null"),
    "const": ({"const": "red"}, SECRET, "must be red"),
    "minimum": ({"minimum": 1}, 0, "must be at least 1"),
    "maximum": ({"maximum": 5}, 6, "must be at most 5"),
    "exclusive minimum": ({"exclusiveMinimum": 1}, 1, "must be more than 1"),
    "exclusive maximum": ({"exclusiveMaximum": 1.5}, 1.5, "must be less than 1.5"),
    "multiple": ({"multipleOf": 5}, 7, "must be a multiple of 5"),
    "short text": ({"minLength": 50}, SECRET, "must have at least 50 characters"),
    "long text": ({"maxLength": 5}, SECRET, "must have at most 5 characters"),
    "few items": ({"minItems": 2}, [SECRET], "must have at least 2 items"),
    "many items": ({"maxItems": 1}, [SECRET, 1], "must have at most 1 items"),
    "few members": ({"minProperties": 1}, {}, "must have at least 1 fields"),
    "many members": ({"maxProperties": 0}, {"a": SECRET}, "must have at most 0 fields"),
    "repeated item": ({"uniqueItems": True}, [SECRET, SECRET], "must not repeat an item"),
    "pattern": ({"pattern": "^a+$"}, SECRET, "must match the pattern ^a+$"),
    "format": ({"format": "date"}, SECRET, "must be a valid date"),
    "not": ({"not": {}}, SECRET, "does not fit the schema"),
    "contains": ({"contains": {"type": "null"}}, [SECRET], "does not fit the schema"),
    "reference": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"minLength": 50}}},
        SECRET,
        "must have at ",
    ),
    "no alternative": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        SECRET,
        "must be an integer or null, not a string",
    ),
    "one of": (
        {"oneOf": [{"type": "integer"}, {"type": "array"}]},
        SECRET,
        "must be an integer or an array, not a string",
    ),
    "the alternative of its type": (
        {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "integer"}]},
        SECRET,
        "must be a valid uuid",
    ),
    "an enum or nothing": (
        {"anyOf": [{"enum": ["red"]}, {"type": "null"}]},
        SECRET,
        "must be one of red",
    ),
}


@pytest.mark.parametrize(("schema", "value", "words"), WORDING.values(), ids=list(WORDING))
def test_a_misfit_is_worded_in_short_and_without_the_value(
    schema: Any, value: Any, words: str
) -> None:
    found = errors(
        {"properties": {"field": schema}, "$defs": schema.get("$defs", {})}, {"field": value}
    )
    assert found["field"].startswith(words)
    assert len(found["field"]) < 60
    assert SECRET not in str(found)


def test_every_field_that_is_wrong_is_named_with_its_path() -> None:
    lines: list[Any] = [{"qty": 0}, {"sku": 5}, {"qty": 1}, SECRET]
    assert errors(ORDER, {"order": {"lines": lines}}) == {
        "customer": "is required",
        "order.lines[0].qty": "must be at least 1",
        "order.lines[1].qty": "is required",
        "order.lines[1].sku": "must be a string, not an integer",
        "order.lines[3]": "must be an object, not a string",
    }


def test_fields_beyond_a_closed_schema_are_each_named() -> None:
    schema = {"properties": {"in": {"properties": {"a": {}}, "additionalProperties": False}}}
    unknown = "is not a known field"
    found = errors(schema, {"in": {"a": 1, "b": SECRET, "c": SECRET}})
    assert found == {"in.b": unknown, "in.c": unknown}


def test_of_two_objects_the_one_with_the_fewest_misfits_is_reported() -> None:
    other = {"type": "object", "required": ["a", "b", "c"]}
    assert errors({"anyOf": [other, LINE]}, {"qty": 0}) == {"qty": "must be at least 1"}


def test_a_value_that_fits_has_no_errors() -> None:
    assert errors(ORDER, {"customer": "ada", "order": {"lines": [{"qty": 1}]}, "more": 1}) == {}


@pytest.mark.requirement("mcp.schemas.no-fetching")
def test_a_reference_to_another_place_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text('{"type": "string"}')
    with pytest.raises(ContractError, match=r"schema\.json"):
        Checker({"$ref": elsewhere.as_uri()}).errors(1)


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([], ""),
        (["a"], "a"),
        (["spells", "first_level", 0, "level"], "spells.first_level[0].level"),
        ([0, 1, "a"], "[0][1].a"),
    ],
    ids=["root", "one", "mixed", "indices first"],
)
def test_a_path_reads_as_people_write_it(steps: Any, path: str) -> None:
    assert path_of(steps) == path


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values)
def test_no_value_breaks_the_check(value: Any) -> None:
    found = Checker(ORDER).errors(value)
    assert all(error.error for error in found)
