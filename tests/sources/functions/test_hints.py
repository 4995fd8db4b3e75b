"""Type hints become input and output schemas."""

import sys
from datetime import date, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema_rs
import msgspec
import pytest

import wire
from accord import Context, Server
from accord.model.tool import Tool
from accord.sources.functions import function_tool
from accord.sources.functions.type_hints import describe
from peer import Peer
from sources.functions.sample_types import (
    LINE,
    Color,
    Customer,
    Level,
    Line,
    Row,
    arguments,
    each_type,
    fields,
    json_of,
    listed,
    received,
    refused,
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
    }


def test_it_is_closed_on_request_only() -> None:
    assert function_tool(lambda: 1, name="one", strict=True).input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_a_context_is_no_parameter() -> None:
    def now(ctx: Context): ...

    assert function_tool(now).input_schema == {"type": "object", "properties": {}}


def test_a_tool_without_parameters_ignores_a_member_that_a_client_adds() -> None:
    server = Server("shop")
    server.tool(name="one")(lambda: 1)
    result = Peer(server, wire.REVISIONS[3]).call("one", toolCallId="7")["result"]
    assert result["structuredContent"] == {"result": 1}


def test_the_same_values_keep_the_order_of_each_parameter() -> None:
    def turn(a: Literal["left", "right"], b: Literal["right", "left"], c: Color): ...

    schema = function_tool(turn).input_schema
    assert [schema["properties"][name].get("enum") for name in "abc"] == [
        ["left", "right"],
        ["right", "left"],
        None,
    ]
    assert schema["$defs"]["Color"]["enum"] == ["red", "blue"]


def test_an_enum_that_an_author_writes_is_left_alone() -> None:
    odd = Annotated[Any, msgspec.Meta(extra_json_schema={"enum": [[1], 2.5]})]
    typed = Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["z", "a"]})]
    assert shown(taking(odd)) == {"enum": [[1], 2.5]}
    assert shown(taking(typed)) == {"type": "string", "enum": ["z", "a"]}


CHOICES: dict[str, tuple[Any, Any, str]] = {
    "of text": (Literal["b", "a"], "c", "must be one of b, a"),
    "of text, and a number is given": (Literal["b", "a"], 5, "must be one of b, a"),
    "of several types": (Literal["b", 2, "a"], "c", "must be one of b, a, 2"),
    "optional": (Literal["b", "a"] | None, "c", "must be one of b, a"),
    "optional, and a number is given": (
        Literal["b", "a"] | None,
        5,
        "must be a string or null, not an integer",
    ),
    "of an enum": (Color, "green", "must be one of red, blue"),
    "of nothing": (Literal[None], "c", "must be null, not a string"),
}


@pytest.mark.parametrize(("hint", "given", "words"), CHOICES.values(), ids=list(CHOICES))
def test_a_wrong_choice_is_told_in_the_order_of_the_source(
    hint: Any, given: Any, words: str
) -> None:
    assert fields(refused(taking(hint), arguments(given))) == {"x": words}


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
    "IntEnum": (Level, Level.LOW, 1),
    "Literal": (Literal["b", "a"], "a", "a"),
    "Literal of several types": (Literal["b", 1, None], None, None),
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
        (Literal["array"], {"type": "string", "enum": ["array"]}),
    ],
)
def test_an_array_has_items(hint: Any, schema: dict[str, Any]) -> None:
    assert describe(hint, "x") == schema


def test_a_parameter_may_be_named_like_a_schema_keyword() -> None:
    def keep(default: list[Any], enum: list[Any], items: list[Any]) -> None: ...

    properties = function_tool(keep).input_schema["properties"]
    assert [properties[name]["items"] for name in ("default", "enum", "items")] == [{}, {}, {}]
