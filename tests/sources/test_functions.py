"""Python functions as tools: schemas from hints, arguments from JSON, results as promised."""

import asyncio
import enum
import functools
import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import annotated_types as at
import jsonschema_rs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import Doc

import wire
from accord import Answer, ContractError, Problem, Server
from accord.sources.functions import function_tool
from accord.tool import Tool
from peer import Peer
from serve.talk import UNWATCHED

SECRET = "sk-live-4f9a"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Line:
    qty: Annotated[int, msgspec.Meta(ge=1)]
    sku: str = "none"
    tags: list[str] = field(default_factory=list)


@dataclass
class Order:
    """One order."""

    lines: list[Line]
    color: Color = Color.RED


@dataclass
class Slot:
    start: datetime
    seats: Annotated[int, at.Ge(1), at.Le(5)]


class Point(TypedDict):
    x: int
    label: NotRequired[str]


class Patch(TypedDict, total=False):
    x: int
    y: int


class Customer(msgspec.Struct):
    id: int
    email: str | None = None


@dataclass
class Tree:
    value: int
    children: "list[Tree]" = field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Arbitrary:
    pass


integers = st.integers()
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=8)
lines = st.builds(Line, st.integers(1), texts, st.lists(texts, max_size=2))
trees = st.recursive(
    st.builds(Tree, integers),
    lambda inner: st.builds(Tree, integers, st.lists(inner, max_size=2)),
    max_leaves=4,
)
LINE = {
    "title": "Line",
    "type": "object",
    "properties": {
        "qty": {"type": "integer", "minimum": 1},
        "sku": {"type": "string", "default": "none"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["qty"],
}
ONE_TO_FIVE = {"type": "integer", "minimum": 1, "maximum": 5}
one_to_five = st.integers(1, 5)


class Row(NamedTuple):
    """A hint, the schema it becomes (a reference followed once), and the values it stands for."""

    hint: Any
    schema: Any
    values: st.SearchStrategy[Any]


EXACT = {
    "int": Row(int, {"type": "integer"}, integers),
    "float": Row(float, {"type": "number"}, floats),
    "str": Row(str, {"type": "string"}, texts),
    "bool": Row(bool, {"type": "boolean"}, st.booleans()),
    "None": Row(None, {"type": "null"}, st.none()),
    "Any": Row(Any, {}, texts | integers | st.none()),
    "optional": Row(int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, integers),
    "union": Row(int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, integers | texts),
    "Literal": Row(Literal["a", "b"], {"enum": ["a", "b"]}, st.sampled_from("ab")),
    "Literal of numbers": Row(Literal[1, 2], {"enum": [1, 2]}, st.sampled_from([1, 2])),
    "Enum": Row(Color, {"title": "Color", "enum": ["blue", "red"]}, st.sampled_from(Color)),
    "IntEnum": Row(Level, {"title": "Level", "enum": [1, 2]}, st.sampled_from(Level)),
    "list": Row(list[int], {"type": "array", "items": {"type": "integer"}}, st.lists(integers)),
    "tuple": Row(
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
            "items": False,
        },
        st.tuples(integers, texts),
    ),
    "tuple of any length": Row(
        tuple[bool, ...],
        {"type": "array", "items": {"type": "boolean"}},
        st.lists(st.booleans()).map(tuple),
    ),
    "dict": Row(
        dict[str, float],
        {"type": "object", "additionalProperties": {"type": "number"}},
        st.dictionaries(texts, floats),
    ),
    "dataclass": Row(Line, LINE, lines),
    "dataclass in a dataclass": Row(
        Order,
        {
            "title": "Order",
            "description": "One order.",
            "type": "object",
            "properties": {
                "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
                "color": {"$ref": "#/$defs/Color", "default": "red"},
            },
            "required": ["lines"],
        },
        st.builds(Order, st.lists(lines, max_size=2), st.sampled_from(Color)),
    ),
    "TypedDict": Row(
        Point,
        {
            "title": "Point",
            "type": "object",
            "properties": {"x": {"type": "integer"}, "label": {"type": "string"}},
            "required": ["x"],
        },
        st.fixed_dictionaries({"x": integers}, optional={"label": texts}),
    ),
    "TypedDict, not total": Row(
        Patch,
        {
            "title": "Patch",
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "required": [],
        },
        st.fixed_dictionaries({}, optional={"x": integers, "y": integers}),
    ),
    "Struct": Row(
        Customer,
        {
            "title": "Customer",
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "email": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["id"],
        },
        st.builds(Customer, integers, st.none() | texts),
    ),
    "NamedTuple": Row(
        Pair,
        {
            "title": "Pair",
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string", "default": "r"}],
            "minItems": 1,
            "maxItems": 2,
        },
        st.builds(Pair, integers, texts),
    ),
    "recursive": Row(
        Tree,
        {
            "title": "Tree",
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
            "required": ["value"],
        },
        trees,
    ),
    "msgspec.Meta": Row(Annotated[int, msgspec.Meta(ge=1, le=5)], ONE_TO_FIVE, one_to_five),
    "annotated-types": Row(Annotated[int, at.Ge(1), at.Le(5)], ONE_TO_FIVE, one_to_five),
    "Interval": Row(
        Annotated[float, at.Interval(gt=0, lt=1)],
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        st.floats(0, 1, exclude_min=True, exclude_max=True),
    ),
    "Len": Row(
        Annotated[str, at.Len(1, 3)],
        {"type": "string", "minLength": 1, "maxLength": 3},
        st.text(min_size=1, max_size=3),
    ),
    "MinLen of a list": Row(
        Annotated[list[int], at.MinLen(1)],
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        st.lists(integers, min_size=1),
    ),
    "MultipleOf": Row(
        Annotated[int, at.MultipleOf(3)],
        {"type": "integer", "multipleOf": 3},
        integers.map(lambda n: 3 * n),
    ),
    "pydantic.Field": Row(
        Annotated[int, pydantic.Field(ge=1, le=5, title="Count", description="How many.")],
        {**ONE_TO_FIVE, "title": "Count", "description": "How many."},
        one_to_five,
    ),
    "pattern": Row(
        Annotated[str, pydantic.Field(pattern="^[ab]+$", max_length=4)],
        {"type": "string", "pattern": "^[ab]+$", "maxLength": 4},
        st.text("ab", min_size=1, max_size=4),
    ),
    "bounds in a list": Row(
        list[Annotated[int, at.Ge(1), at.Le(5)]],
        {"type": "array", "items": ONE_TO_FIVE},
        st.lists(one_to_five),
    ),
    "bounds or None": Row(
        Annotated[int, at.Ge(1), at.Le(5)] | None,
        {"anyOf": [ONE_TO_FIVE, {"type": "null"}]},
        one_to_five | st.none(),
    ),
    "bounds around None": Row(
        Annotated[int | None, at.Ge(1), at.Le(5)],
        {"anyOf": [ONE_TO_FIVE, {"type": "null"}]},
        one_to_five | st.none(),
    ),
    "pydantic.Field around None": Row(
        Annotated[int | None, pydantic.Field(ge=1, le=5, description="How many.")],
        {"anyOf": [ONE_TO_FIVE, {"type": "null"}], "description": "How many."},
        one_to_five | st.none(),
    ),
    "description": Row(
        Annotated[int, "How many."],
        {"type": "integer", "description": "How many."},
        integers,
    ),
    "Doc": Row(
        Annotated[int, Doc("How many.")],
        {"type": "integer", "description": "How many."},
        integers,
    ),
}

# Of these, Python takes more spellings than the schema names.
LENIENT = {
    "date": Row(date, {"type": "string", "format": "date"}, st.dates()),
    "datetime": Row(
        datetime,
        {"type": "string", "format": "date-time"},
        st.datetimes(timezones=st.none() | st.just(UTC)),
    ),
    "time": Row(time, {"type": "string", "format": "time"}, st.times()),
    "timedelta": Row(
        timedelta,
        {"type": "string", "format": "duration"},
        st.timedeltas(timedelta(days=-9999), timedelta(days=9999)),
    ),
    "UUID": Row(UUID, {"type": "string", "format": "uuid"}, st.uuids()),
    "Decimal": Row(
        Decimal,
        {"type": "string", "format": "decimal"},
        st.decimals(allow_nan=False, allow_infinity=False),
    ),
    "bytes": Row(bytes, {"type": "string", "contentEncoding": "base64"}, st.binary(max_size=8)),
    "set": Row(
        set[int],
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        st.sets(integers),
    ),
    "keys that are numbers": Row(
        dict[int, str],
        {"type": "object", "additionalProperties": {"type": "string"}},
        st.dictionaries(integers, texts),
    ),
}

TYPES = EXACT | LENIENT
each_type = pytest.mark.parametrize("row", TYPES.values(), ids=list(TYPES))


def taking(hint: Any, *default: Any, doc: str | None = None, **options: Any) -> Tool:
    """A tool with one parameter, which it returns."""

    def echo(x):
        return x

    echo.__annotations__ = {"x": hint}
    echo.__defaults__ = default or None
    echo.__doc__ = doc
    return function_tool(echo, **options)


def returning(value: Any, hint: Any = ...) -> Server:
    """A server whose tool `get` returns `value` and says that it returns `hint`."""

    def get():
        return value

    get.__annotations__ = {} if hint is ... else {"return": hint}
    server = Server("shop")
    server.tool(get)
    return server


def listed(server: Server, revision: str = wire.STATELESS) -> Any:
    """The output schema of the tool `get`; empty where it has none."""
    (entry,) = Peer(server, revision).ask("tools/list")["result"]["tools"]
    return entry.get("outputSchema", {})


def shown(tool: Tool) -> Any:
    """The schema of the parameter `x`, with a reference followed once."""
    schema = dict(tool.input_schema["properties"]["x"])
    if "$ref" in schema:
        schema |= tool.input_schema["$defs"][schema.pop("$ref").rpartition("/")[2]]
    return schema


def json_of(value: Any) -> Any:
    raw = msgspec.json.encode(value, order="deterministic" if isinstance(value, set) else None)
    return msgspec.json.decode(raw)


def arguments(value: Any, **more: Any) -> bytes:
    return msgspec.json.encode({"x": value, **more})


def received(tool: Tool, raw: bytes) -> Any:
    """What reaches the function."""
    return tool.invoke(tool.bind(raw).arguments, None)


def refused(tool: Tool, raw: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        tool.bind(raw)
    assert caught.value.kind == "validation"
    return caught.value


def fields(problem: Problem) -> dict[str, str]:
    return {error.field: error.error for error in problem.fields}


# From hints to schemas


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


def test_a_strict_tool_says_so_in_its_schema() -> None:
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


def test_a_tool_may_bear_the_name_of_a_type_it_takes() -> None:
    tool = taking(Line, name="Line")
    assert shown(tool) == LINE
    assert received(tool, arguments({"qty": 1})) == Line(1)


# Defaults

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


# What cannot be a tool


def many(*rest: int): ...
def named(**rest: int): ...
def unknown_name(x: "Missing"): ...  # type: ignore[name-defined]  # noqa: F821
def unknown_member(x: "enum.Missing"): ...  # type: ignore[name-defined]
def no_expression(x: "int["): ...  # type: ignore[valid-type]  # noqa: F722
def unknown_result() -> "Missing": ...  # type: ignore[name-defined]  # noqa: F821
def no_json(x: Arbitrary): ...
def no_json_inside(x: list[Arbitrary]): ...
def two_alike(x: Line | Order): ...
def no_json_result() -> Arbitrary: ...  # type: ignore[empty-body]
def two_alike_results() -> Line | Order: ...  # type: ignore[empty-body]
def text_bound(x: Annotated[str, at.Ge(1)]): ...
def odd_bound(x: Annotated[int, at.Ge("a")]): ...
def odd_pattern(x: Annotated[str, pydantic.Field(pattern="(a")]): ...
def foreign_pattern(x: Annotated[str, msgspec.Meta(pattern=r"a(?#note)")]): ...
def hidden_bound(x: list[Slot]): ...
def odd_default(x: Any = ...): ...
def odd_default_key(x: dict = {(1, 2): 3}): ...  # noqa: B006
def endless_default(x: float = math.inf): ...
def misfit_default(x: int = "one"): ...  # type: ignore[assignment]
def absent_default(x: int = None): ...  # type: ignore[assignment]  # noqa: RUF013


def yields():
    yield 1


async def yields_later():
    yield 1


class Shop:
    @classmethod
    def open(cls): ...


NO_TOOLS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "any number of arguments": (many, {}, ["many", "rest"]),
    "any names": (named, {}, ["named", "rest"]),
    "a generator": (yields, {}, ["yields"]),
    "an async generator": (yields_later, {}, ["yields_later"]),
    "a hint nobody knows": (unknown_name, {}, ["unknown_name", "Missing"]),
    "a hint its module lacks": (unknown_member, {}, ["unknown_member", "Missing"]),
    "a hint that is no expression": (no_expression, {}, ["no_expression", "int["]),
    "a result nobody knows": (unknown_result, {}, ["unknown_result", "Missing"]),
    "a type that is no JSON": (no_json, {}, ["no_json", "x", "Arbitrary"]),
    "a list of what is no JSON": (no_json_inside, {}, ["no_json_inside", "x", "Arbitrary"]),
    "types JSON cannot tell apart": (two_alike, {}, ["two_alike", "x", "Line", "Order"]),
    "a result that is no JSON": (no_json_result, {}, ["no_json_result", "result", "Arbitrary"]),
    "results JSON cannot tell apart": (two_alike_results, {}, ["two_alike_results", "result"]),
    "a bound on text": (text_bound, {}, ["text_bound", "x", "ge"]),
    "a bound that is text": (odd_bound, {}, ["odd_bound", "x", "ge"]),
    "a pattern that is none": (odd_pattern, {}, ["odd_pattern", "x"]),
    "a pattern of Python alone": (foreign_pattern, {}, ["foreign_pattern", "x"]),
    "a bound in a class that only msgspec reads": (
        hidden_bound,
        {},
        ["hidden_bound", "x", "seats"],
    ),
    "a default that is no JSON": (odd_default, {}, ["odd_default", "x", "default"]),
    "a default with odd keys": (odd_default_key, {}, ["odd_default_key", "x", "default"]),
    "a default beyond numbers": (endless_default, {}, ["endless_default", "x", "default"]),
    "a default that does not fit": (misfit_default, {}, ["misfit_default", "x", "default"]),
    "a default of None for a number": (absent_default, {}, ["absent_default", "x", "default"]),
    "a lambda without a name": (lambda: 1, {}, ["<lambda>", "name"]),
    "a partial without a name": (functools.partial(many), {}, ["name"]),
    "a name with a space": (many, {"name": "a b"}, ["a b", "name"]),
    "a name with a null": (many, {"name": "a\0b"}, ["name"]),
    "a name with half a character": (many, {"name": "a\ud800"}, ["name"]),
    "a name in other letters": (many, {"name": "größe"}, ["größe", "name"]),
    "a name that is too long": (many, {"name": "a" * 129}, ["aaa", "name"]),
    "a class method not yet bound": (vars(Shop)["open"], {}, ["open"]),
    "a number": (5, {"name": "five"}, ["five"]),
    "a class": (Shop, {}, ["Shop"]),
    "a built-in that says nothing of itself": (max, {}, ["max"]),
}


@pytest.mark.parametrize(("function", "options", "named"), NO_TOOLS.values(), ids=list(NO_TOOLS))
def test_what_cannot_be_a_tool_is_refused_in_one_sentence(
    function: Any, options: Any, named: list[str]
) -> None:
    with pytest.raises(ContractError) as caught:
        function_tool(function, **options)
    sentence = str(caught.value)
    assert [word for word in named if word not in sentence] == []
    assert re.fullmatch(r"[^\n]*[^\n:]", sentence)


# Kinds of callables


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


class Adder:
    def __call__(self, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    def method(self, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    async def async_method(self, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    @staticmethod
    def static(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    @classmethod
    def of_class(cls, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b


class AsyncAdder:
    async def __call__(self, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b


@functools.wraps(add)
def sync_in_sync(*args: Any, **kwargs: Any) -> Any:
    return add(*args, **kwargs)


@functools.wraps(add_later)
def async_in_sync(*args: Any, **kwargs: Any) -> Any:
    return add_later(*args, **kwargs)


@functools.wraps(add_later)
def async_run_by_sync(*args: Any, **kwargs: Any) -> Any:
    """Whether a loop runs already depends on who calls, so the coroutine is driven by hand."""
    try:
        add_later(*args, **kwargs).send(None)
    except StopIteration as done:
        return done.value


@functools.wraps(add)
async def sync_in_async(*args: Any, **kwargs: Any) -> Any:
    return add(*args, **kwargs)


@functools.wraps(add_later)
async def async_in_async(*args: Any, **kwargs: Any) -> Any:
    await asyncio.sleep(0)
    return await add_later(*args, **kwargs)


def positional_only(a: int, b: int = 2, /) -> int:
    """Add two numbers."""
    return a + b


def keyword_only(*, a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def mixed(a: int, /, *, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


CALLABLES: dict[str, Any] = {
    "def": add,
    "async def": add_later,
    "method": Adder().method,
    "async method": Adder().async_method,
    "static method": Adder.static,
    "static method not yet bound": vars(Adder)["static"],
    "class method": Adder.of_class,
    "object": Adder(),
    "async object": AsyncAdder(),
    "partial": functools.partial(add, b=2),
    "async partial": functools.partial(add_later, b=2),
    "partial of a method": functools.partial(Adder().method, b=2),
    "cached": functools.cache(add),
    "sync in sync": sync_in_sync,
    "async in sync": async_in_sync,
    "async run by sync": async_run_by_sync,
    "sync in async": sync_in_async,
    "async in async": async_in_async,
    "positional only": positional_only,
    "keyword only": keyword_only,
    "mixed": mixed,
}


@pytest.mark.parametrize("function", CALLABLES.values(), ids=list(CALLABLES))
def test_whatever_can_be_called_can_be_a_tool(function: Any) -> None:
    server = Server("shop")
    server.tool(name="add")(function)
    peer = Peer(server, wire.STATELESS)
    (listed,) = peer.ask("tools/list")["result"]["tools"]
    assert listed == {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
        },
        "outputSchema": {"type": "integer"},
    }
    assert peer.call("add", a=3)["result"]["structuredContent"] == 5
    assert peer.call("add", a=3, b=4)["result"]["structuredContent"] == 7


def test_a_partial_does_not_ask_for_what_it_has() -> None:
    tool = function_tool(functools.partial(add, 3), name="add3")
    assert list(tool.input_schema["properties"]) == ["b"]
    assert received(tool, b'{"b": 4}') == 7


def test_a_lambda_with_a_name_takes_and_returns_anything() -> None:
    tool = function_tool(lambda x: [x], name="boxed")
    assert received(tool, arguments({"a": None})) == [{"a": None}]


@pytest.mark.parametrize("name", ["_private", "class_", "json", "self", "__mangled", "größe"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def echo({name}: int): return {name}", namespace)
    tool = function_tool(namespace["echo"])
    assert received(tool, msgspec.json.encode({name: 5})) == 5


def test_the_decorated_function_stays_as_it_was() -> None:
    server = Server("shop")
    assert server.tool(add) is add
    assert server.tool(name="plus")(add) is add


# From arguments to values


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
    bound = taking(row.hint).bind(arguments(value, toolCallId="7"))
    assert bound.arguments.x == value
    assert [(w.message, w.code) for w in bound.warnings] == [
        ("Unknown argument 'toolCallId' was ignored", "UNKNOWN_ARGUMENT")
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
def test_another_spelling_is_taken_with_and_without_unknown_arguments(
    hint: Any, value: Any
) -> None:
    tool = taking(hint)
    assert received(tool, arguments(value)) == received(tool, arguments(value, toolCallId="7"))


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
def test_what_the_schema_allows_is_what_is_taken(row: Row, data: st.DataObject) -> None:
    tool = taking(row.hint)
    right = json_of(data.draw(row.values))
    value = data.draw(st.just(right) | spoiled(right))
    schema = jsonschema_rs.Draft202012Validator(tool.input_schema)
    assert takes(tool, arguments(value)) == schema.is_valid({"x": value})


# Arguments that do not fit

TAKE_TEXT = {"str", "Any", "union", "Len", "pattern"}
NO_TEXT = {name: row.hint for name, row in TYPES.items() if name not in TAKE_TEXT}


@pytest.mark.parametrize("hint", NO_TEXT.values(), ids=list(NO_TEXT))
def test_a_misfit_names_its_field_and_never_the_value(hint: Any) -> None:
    problem = refused(taking(hint), arguments(SECRET))
    assert list(fields(problem)) == ["x"]
    assert problem.message.startswith("Invalid arguments for echo: x must be ")
    assert len(problem.message) < 120
    assert SECRET not in problem.message


def test_every_bad_field_is_named_whatever_found_it() -> None:
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
def test_every_bad_item_is_named_whatever_found_it(hint: Any) -> None:
    problem = refused(taking(hint), arguments([SECRET, SECRET]))
    assert list(fields(problem)) == ["x[0]", "x[1]"]


def test_missing_arguments_are_all_named() -> None:
    def move(a: int, b: str, c: float = 1): ...

    problem = refused(function_tool(move), b"{}")
    assert problem.message == "Invalid arguments for move: a is required; b is required"


def test_a_strict_tool_names_every_argument_it_does_not_know() -> None:
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
def test_the_text_stays_short_however_much_is_wrong(hint: Any, value: Any) -> None:
    assert len(refused(taking(hint), arguments(value)).message) < 10_000


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"x": 1e999}', "a number that is out of range"),
        (b'{"x": %s1%s}' % (b"[" * 100_000, b"]" * 100_000), "nested too deeply"),
    ],
    ids=["a number beyond all", "nested without end"],
)
def test_json_that_python_cannot_hold_is_refused_in_words(raw: bytes, words: str) -> None:
    assert refused(taking(Any), raw).message.endswith(words)


# Results

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
def test_a_hint_that_promises_nothing_has_no_output_schema(hint: Any, value: Any) -> None:
    assert listed(returning(value, hint)) == {}


@each_type
@settings(max_examples=25)
@given(revision=st.sampled_from(wire.REVISIONS), data=st.data())
def test_structure_keeps_to_the_schema_of_its_revision(
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


def test_bounds_of_a_result_are_shown_and_kept() -> None:
    server = returning(9, Annotated[int, at.Le(5)])
    assert listed(server) == {"type": "integer", "maximum": 5}
    assert Peer(server, wire.STATELESS).call("get")["result"]["isError"] is True


# Arguments at their limits

DIGITS = "0.1234567890123456789"


def test_no_digit_is_lost_beside_a_whole_number_with_a_point() -> None:
    def price(a: int, d: Decimal): ...

    bound = function_tool(price).bind(b'{"a": 1.0, "d": %s}' % DIGITS.encode())
    assert msgspec.structs.astuple(bound.arguments) == (1, Decimal(DIGITS))


@pytest.mark.parametrize(
    ("hint", "raw", "expected"),
    [
        (tuple[int, Decimal], f"[1.0, {DIGITS}]", (1, Decimal(DIGITS))),
        (dict[str, int | Decimal], f'{{"d": {DIGITS}}}', {"d": Decimal(DIGITS)}),
        (list[Decimal], f"[1.0, {DIGITS}]", [Decimal("1.0"), Decimal(DIGITS)]),
    ],
    ids=["tuple", "dict", "list"],
)
def test_no_digit_is_lost_inside_a_field(hint: Any, raw: str, expected: Any) -> None:
    assert received(taking(hint), f'{{"x": {raw}}}'.encode()) == expected


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1E+22"])
@pytest.mark.parametrize("beside", ["", ', "a": 1.0'], ids=["alone", "beside a whole number"])
def test_numbers_beyond_all_integers_are_taken_as_they_are(number: str, beside: str) -> None:
    def take(x: Any, f: float, d: Decimal, many: list[float], a: int = 1): ...

    raw = f'{{"x": {number}, "f": {number}, "d": {number}, "many": [{number}]{beside}}}'
    bound = function_tool(take).bind(raw.encode())
    large = float(number)
    assert msgspec.structs.astuple(bound.arguments) == (large, large, Decimal(number), [large], 1)


@pytest.mark.parametrize("hint", [int, int | None, int | str], ids=str)
@pytest.mark.parametrize("number", ["1e308", "-1e308"])
def test_an_integer_beyond_all_that_are_exact_is_refused(hint: Any, number: str) -> None:
    problem = refused(taking(hint), f'{{"x": {number}}}'.encode())
    assert list(fields(problem)) == ["x"]
    assert number not in problem.message


REFUSE_MANY = """
import resource, sys
from accord import Problem
from accord.sources.functions import function_tool

def take(x: list[int]): ...

item = sys.argv[1]
raw = '{"x":[' + ",".join([item] * (3_900_000 // (len(item) + 1))) + "]}"
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
try:
    function_tool(take).bind(raw.encode())
except Problem as problem:
    print(len(problem.message), len(problem.fields))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="a limit on CPU time, and kilobytes, are Linux's"
)
@pytest.mark.parametrize("item", ["[]", "1.5"])
def test_a_million_bad_items_are_refused_in_little_time_and_memory(item: str) -> None:
    command = [sys.executable, "-c", REFUSE_MANY, item]
    done = subprocess.run(command, env=UNWATCHED, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"ended by {-done.returncode}: it took too long\n{done.stderr}"
    length, named, kilobytes = map(int, done.stdout.split())
    assert length < 10_000
    assert 0 < named <= 1_000
    assert kilobytes < 600_000


@dataclass(frozen=True)
class Filter:
    city: str
    limit: int = 10
    tag: str | None = None


@dataclass
class Search:
    filters: list[Filter]
    first: Filter = Filter("rome")


def test_a_dataclass_that_was_an_argument_is_returned_with_all_its_fields() -> None:
    tool = taking(Search)
    search = received(tool, arguments({"filters": [{"city": "oslo"}]}))
    assert vars(search.filters[0]) == {"city": "oslo", "limit": 10, "tag": None}
    assert json_of(search) == {
        "filters": [{"city": "oslo", "limit": 10, "tag": None}],
        "first": {"city": "rome", "limit": 10, "tag": None},
    }


def test_two_names_that_a_record_cannot_keep_apart_are_kept_apart() -> None:
    namespace: dict[str, Any] = {}
    exec("def echo(__x: int, arg__x: int = 1): return (__x, arg__x)", namespace)
    assert received(function_tool(namespace["echo"]), b'{"__x": 5, "arg__x": 6}') == (5, 6)
