"""Sample types, and tools that take or return them."""

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict
from uuid import UUID

import annotated_types as at
import msgspec
import pydantic
import pytest
from hypothesis import strategies as st
from typing_extensions import Doc

import wire
from accord import Problem, Server
from accord.model.tool import Tool
from accord.sources.functions import function_tool
from peer import Peer

SECRET = "sk-live-4f9a"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    HIGH = 2
    LOW = 1


class Size(enum.StrEnum):
    SMALL = "s"
    MEDIUM = "m"
    LARGE = "l"


class Unit(str, enum.Enum):  # noqa: UP042 - as before Python 3.11
    KILOMETRE = "km"
    METRE = "m"


class Metal(enum.Enum):
    TIN = "tin"
    GOLD = "gold"
    STANNUM = "tin"  # noqa: PIE796


class Access(enum.Flag):
    WRITE = 2
    READ = 1
    BOTH = 3


Side = NewType("Side", Literal["right", "left"])  # type: ignore[valid-newtype]


@dataclass
class Choice:
    side: Side
    color: Color | None = None


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
    "Literal": Row(
        Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}, st.sampled_from("ab")
    ),
    "Literal of numbers": Row(
        Literal[2, 10, 1], {"type": "integer", "enum": [2, 10, 1]}, st.sampled_from([1, 2, 10])
    ),
    "Literal of truth": Row(Literal[True], {"type": "boolean", "enum": [True]}, st.just(True)),
    "Literal of nothing": Row(Literal[None], {"type": "null"}, st.none()),
    "Literal of empty and other text": Row(
        Literal["ü", "", "🙂"],
        {"type": "string", "enum": ["ü", "", "🙂"]},
        st.sampled_from(["ü", "", "🙂"]),
    ),
    "Literal in a Literal": Row(
        Literal["z", "y", "a"],
        {"type": "string", "enum": ["z", "y", "a"]},
        st.sampled_from("zya"),
    ),
    "Literal with a repetition": Row(
        Literal["b", "a", "b"], {"type": "string", "enum": ["b", "a"]}, st.sampled_from("ab")
    ),
    "Literal of several types": Row(
        Literal["b", 2, "a", 1, None],
        {
            "anyOf": [
                {"type": "string", "enum": ["b", "a"]},
                {"type": "integer", "enum": [2, 1]},
                {"type": "null"},
            ]
        },
        st.sampled_from(["b", 2, "a", 1, None]),
    ),
    "Literal of a number and a truth": Row(
        Literal[1, False],
        {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "boolean", "enum": [False]}]},
        st.sampled_from([1, False]),
    ),
    "optional Literal": Row(
        Literal["b", "a"] | None,
        {"anyOf": [{"type": "string", "enum": ["b", "a"]}, {"type": "null"}]},
        st.sampled_from(["b", "a", None]),
    ),
    "Literal with None": Row(
        Literal["b", None, "a"],
        {"anyOf": [{"type": "string", "enum": ["b", "a"]}, {"type": "null"}]},
        st.sampled_from(["b", "a", None]),
    ),
    "Literal or a number": Row(
        Literal["b", "a"] | int,
        {"anyOf": [{"type": "string", "enum": ["b", "a"]}, {"type": "integer"}]},
        integers,
    ),
    "described Literal": Row(
        Annotated[Literal["b", "a"], "Which."],
        {"description": "Which.", "type": "string", "enum": ["b", "a"]},
        st.sampled_from("ab"),
    ),
    "described Literal of several types": Row(
        Annotated[Literal["b", 1], "Which."],
        {
            "description": "Which.",
            "anyOf": [{"type": "string", "enum": ["b"]}, {"type": "integer", "enum": [1]}],
        },
        st.sampled_from(["b", 1]),
    ),
    "list of Literals": Row(
        list[Literal["b", "a"]],
        {"type": "array", "items": {"type": "string", "enum": ["b", "a"]}},
        st.lists(st.sampled_from("ab")),
    ),
    "dict of Literals": Row(
        dict[str, Literal["b", "a"]],
        {"type": "object", "additionalProperties": {"type": "string", "enum": ["b", "a"]}},
        st.dictionaries(texts, st.sampled_from("ab")),
    ),
    "NewType of a Literal": Row(
        Side, {"type": "string", "enum": ["right", "left"]}, st.sampled_from(["right", "left"])
    ),
    "Literal in a dataclass": Row(
        Choice,
        {
            "title": "Choice",
            "type": "object",
            "properties": {
                "side": {"type": "string", "enum": ["right", "left"]},
                "color": {
                    "anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["side"],
        },
        st.builds(Choice, st.sampled_from(["right", "left"]), st.none() | st.sampled_from(Color)),
    ),
    "Enum": Row(
        Color, {"title": "Color", "type": "string", "enum": ["red", "blue"]}, st.sampled_from(Color)
    ),
    "optional Enum": Row(
        Color | None,
        {"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}]},
        st.none() | st.sampled_from(Color),
    ),
    "IntEnum": Row(
        Level, {"title": "Level", "type": "integer", "enum": [2, 1]}, st.sampled_from(Level)
    ),
    "StrEnum": Row(
        Size, {"title": "Size", "type": "string", "enum": ["s", "m", "l"]}, st.sampled_from(Size)
    ),
    "Enum that is a str": Row(
        Unit, {"title": "Unit", "type": "string", "enum": ["km", "m"]}, st.sampled_from(Unit)
    ),
    "Enum with an alias": Row(
        Metal, {"title": "Metal", "type": "string", "enum": ["tin", "gold"]}, st.sampled_from(Metal)
    ),
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
    "Flag": Row(
        Access,
        {"title": "Access", "type": "integer", "enum": [2, 1]},
        st.sampled_from(list(Access)),
    ),
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
    """Return a tool with one parameter, which it returns."""

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


def json_of(value: Any) -> Any:
    raw = msgspec.json.encode(value, order="deterministic" if isinstance(value, set) else None)
    return msgspec.json.decode(raw)


def arguments(value: Any, **more: Any) -> bytes:
    return msgspec.json.encode({"x": value, **more})


def received(tool: Tool, raw: bytes) -> Any:
    """Return the value that reaches the function."""
    return tool.invoke(tool.bind(raw).arguments, None)


def refused(tool: Tool, raw: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        tool.bind(raw)
    assert caught.value.kind == "validation"
    return caught.value


def fields(problem: Problem) -> dict[str, str]:
    return {error.field: error.error for error in problem.fields}
