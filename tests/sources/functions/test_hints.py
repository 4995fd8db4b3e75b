"""Type hints become input and output schemas."""

import sys
from datetime import date, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any, Literal
from uuid import UUID

import jsonschema_rs
import pytest

from accord.model.tool import Tool
from accord.sources.functions import function_tool
from accord.sources.functions.type_hints import describe
from sources.functions.sample_types import (
    LINE,
    Color,
    Customer,
    Line,
    Row,
    arguments,
    each_type,
    json_of,
    listed,
    received,
    returning,
    taking,
)


def shown(tool: Tool) -> Any:
    """The schema of the parameter `x`, with a reference followed once."""
    schema = dict(tool.input_schema["properties"]["x"])
    if "$ref" in schema:
        schema |= tool.input_schema["$defs"][schema.pop("$ref").rpartition("/")[2]]
    return schema


@each_type
def test_a_hint_becomes_its_schema(row: Row) -> None:
    assert shown(taking(row.hint)) == row.schema


@each_type
def test_schemas_are_valid_2020_12(row: Row) -> None:
    for schema in (taking(row.hint).input_schema, listed(returning(None, row.hint))):
        assert jsonschema_rs.meta.is_valid(schema)
        jsonschema_rs.Draft202012Validator(schema)


def test_parameters_without_a_default_are_required_and_hints_are_optional() -> None:
    def add(a: int, b=2, *, c: str, d: bool = False): ...

    assert function_tool(add).input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"default": 2},
            "c": {"type": "string"},
            "d": {"type": "boolean", "default": False},
        },
        "required": ["a", "c"],
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    assert function_tool(lambda: 1, name="one").input_schema == {
        "type": "object",
        "properties": {},
        "required": [],
    }


def test_a_strict_tool_has_a_closed_schema() -> None:
    assert taking(int, strict=True).input_schema["additionalProperties"] is False


def test_hints_written_as_strings_are_resolved_in_their_module() -> None:
    source = """
from __future__ import annotations
import dataclasses

@dataclasses.dataclass
class Item:
    size: int
    parent: Item | None = None

def grow(item: Item, by: int = 1) -> list[Item]: ...
"""
    module = ModuleType("later")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "later", module)
        exec(source, vars(module))
        tool = function_tool(vars(module)["grow"])
    assert tool.input_schema["properties"]["by"] == {"type": "integer", "default": 1}
    assert tool.output.schema is not None
    assert tool.output.schema["items"] == {"$ref": "#/$defs/Item"}


def test_a_tool_may_have_the_name_of_a_parameter_type() -> None:
    tool = taking(Line, name="Line")
    assert shown(tool) == LINE
    assert received(tool, arguments({"qty": 1})) == Line(1)


DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "number": (int, 0, 0),
    "text": (str, "", ""),
    "truth": (bool, False, False),
    "nothing": (int | None, None, None),
    "enum": (Color, Color.RED, "red"),
    "list": (list[int], [1], [1]),
    "dict": (dict[str, int], {}, {}),
    "set": (set[int], {1}, [1]),
    "tuple": (tuple[int, str], (1, "a"), [1, "a"]),
    "date": (date, date(2026, 7, 28), "2026-07-28"),
    "UUID": (UUID, UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    "Decimal": (Decimal, Decimal("1.50"), "1.50"),
    "timedelta": (timedelta, timedelta(hours=1), "PT3600S"),
    "dataclass": (Line, Line(2), {"qty": 2, "sku": "none", "tags": []}),
    "Struct": (Customer, Customer(1), {"id": 1, "email": None}),
    "any": (Any, "x", "x"),
}


@pytest.mark.parametrize(("hint", "default", "wire_form"), DEFAULTS.values(), ids=list(DEFAULTS))
def test_a_default_is_shown_as_json_and_used_as_it_is(
    hint: Any, default: Any, wire_form: Any
) -> None:
    tool = taking(hint, default)
    assert json_of(shown(tool)["default"]) == wire_form
    assert tool.input_schema["required"] == []
    assert received(tool, b"{}") == default
    assert received(tool, arguments(wire_form)) == default


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (list, {"type": "array", "items": {}}),
        (list[Any], {"type": "array", "items": {}}),
        (list[list[Any]], {"type": "array", "items": {"type": "array", "items": {}}}),
        (
            dict[str, list[Any]],
            {"type": "object", "additionalProperties": {"type": "array", "items": {}}},
        ),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Literal["array"], {"enum": ["array"]}),
    ],
)
def test_an_array_has_items(hint: Any, schema: dict[str, Any]) -> None:
    assert describe(hint, "x") == schema


def test_a_parameter_may_be_named_like_a_schema_keyword() -> None:
    def keep(default: list[Any], enum: list[Any], items: list[Any]) -> None: ...

    properties = function_tool(keep).input_schema["properties"]
    assert [properties[name]["items"] for name in ("default", "enum", "items")] == [{}, {}, {}]
