"""attrs classes as parameters and results: converters, validators and defaults work."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import attr
import attrs
import jsonschema_rs
import msgspec
import pytest

from accord import Answer, ContractError, Problem, Server
from accord.errors import location_of
from accord.sources.functions import function_tool
from peer import Peer

NEWEST = "2026-07-28"


def to_cents(amount: str) -> int:
    euros, _, cents = amount.partition(".")
    return int(euros) * 100 + int(cents or 0)


def strip(text: str) -> str:
    return text.strip()


@attrs.define
class Line:
    """One line of an order."""

    sku: str = attrs.field(converter=strip, validator=attrs.validators.min_len(2))
    quantity: int = attrs.field(default=1, validator=attrs.validators.gt(0))
    tags: list[str] = attrs.field(factory=list)


@attrs.define
class Name:
    text: str = attrs.field(converter=str.strip)  # type: ignore[misc]


@attrs.frozen(kw_only=True)
class Price:
    cents: int = attrs.field(converter=to_cents, alias="amount")


@attrs.define
class Order:
    line: Line
    more: list[Line] = attrs.Factory(list)
    by_name: dict[str, Line] = attrs.Factory(dict)
    made: int = attrs.field(init=False, default=0)
    _secret: int = 3

    def __attrs_post_init__(self) -> None:
        self.made += 1
        if self.line.quantity == 13:
            raise ValueError("thirteen is unlucky")


@attr.s(auto_attribs=True)
class Classic:
    a: int
    b: str = "b"


@attrs.define
class Node:
    name: str
    children: list["Node"] = attrs.Factory(list)


@attrs.define
class Simple:
    count: int = attrs.field(validator=attrs.validators.ge(1))


@dataclass
class Box:
    simple: Simple


@dataclass
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError("high must not be below low")


def taking(hint: Any) -> Any:
    def take(x): ...

    take.__annotations__["x"] = hint
    return function_tool(take)


ACCEPTED: dict[str, tuple[Any, Any, Any]] = {
    "a converter": (Line, {"sku": " rope "}, Line("rope")),
    "a converter without hints": (Name, {"text": " a "}, Name("a")),
    "a converter of another type": (Price, {"amount": "2.50"}, Price(amount="2.50")),
    "defaults": (Line, {"sku": "rope", "tags": ["a"]}, Line("rope", 1, ["a"])),
    "inside another": (
        Order,
        {"line": {"sku": " ab"}, "more": [{"sku": "cd "}], "by_name": {"k": {"sku": " ef"}}},
        Order(Line("ab"), [Line("cd")], {"k": Line("ef")}),
    ),
    "a private attribute": (Order, {"line": {"sku": "ab"}, "secret": 4}, Order(Line("ab"), secret=4)),
    "a list": (list[Line], [{"sku": " ab"}], [Line("ab")]),
    "a tuple": (tuple[Line, int], [{"sku": " ab"}, 1], (Line("ab"), 1)),
    "an optional one": (Line | None, None, None),
    "an optional one, given": (Line | None, {"sku": " ab"}, Line("ab")),
    "annotated": (Annotated[Line, "a line"], {"sku": " ab"}, Line("ab")),
    "the classic style": (Classic, {"a": 1}, Classic(1)),
    "a recursive one": (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", [Node("b")])),
    "in a dataclass": (Box, {"simple": {"count": 1}}, Box(Simple(1))),
    "1.0 as an integer": (Line, {"sku": "ab", "quantity": 2.0}, Line("ab", 2)),
}  # fmt: skip


@pytest.mark.parametrize(("hint", "given", "wanted"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_class_is_made_by_calling_it(hint: Any, given: Any, wanted: Any) -> None:
    tool = taking(hint)
    assert tool.bind(json.dumps({"x": given}).encode()).arguments.x == wanted
    assert jsonschema_rs.Draft202012Validator(tool.input_schema).is_valid({"x": given})


REJECTED: dict[str, tuple[Any, Any, list[str]]] = {
    "a wrong type": (Line, {"sku": 3}, ["x.sku must be a string, not an integer"]),
    "every wrong field": (
        Order,
        {"line": {}, "more": [{"sku": 1}, 2], "secret": "s"},
        [
            "x.line.sku is required",
            "x.more[0].sku must be a string, not an integer",
            "x.more[1] must be an object, not an integer",
            "x.secret must be an integer, not a string",
        ],
    ),
    "a validator": (Line, {"sku": "ab", "quantity": 0}, ["x is not valid: 'quantity' must be > 0: 0"]),
    "a validator inside": (
        Order,
        {"line": {"sku": "ab"}, "more": [{"sku": "ab"}, {"sku": "ab", "quantity": 0}]},
        ["x.more[1] is not valid: 'quantity' must be > 0: 0"],
    ),
    "a validator after the converter": (
        Line,
        {"sku": "  a  "},
        ["x is not valid: Length of 'sku' must be >= 2: 1"],
    ),
    "a converter": (Price, {"amount": "much"}, ["x is not valid: invalid literal for int() with base 10: 'much'"]),
    "the end of __init__": (Order, {"line": {"sku": "ab", "quantity": 13}}, ["x is not valid: thirteen is unlucky"]),
    "in a dataclass": (Box, {"simple": {"count": 0}}, ["x.simple is not valid: 'count' must be >= 1: 0"]),
    "a dataclass": (Checked, {"low": 2, "high": 1}, ["x is not valid: high must not be below low"]),
    "dataclasses in a list": (
        list[Checked],
        [{"low": 1, "high": 2}, {"low": 2, "high": 1}],
        ["x[1] is not valid: high must not be below low"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("hint", "given", "wanted"), REJECTED.values(), ids=REJECTED)
def test_errors_name_the_fields(hint: Any, given: Any, wanted: list[str]) -> None:
    with pytest.raises(Problem) as caught:
        taking(hint).bind(json.dumps({"x": given}).encode())
    found = [f"{each.field} {each.error}" for each in caught.value.fields]
    assert sorted(found) == sorted(wanted)


def test_the_schema_is_that_of_the_parameters() -> None:
    schema = taking(Line).input_schema
    assert schema["properties"]["x"] == {"$ref": "#/$defs/Line"}
    assert schema["$defs"]["Line"] == {
        "title": "Line",
        "description": "One line of an order.",
        "type": "object",
        "properties": {
            "sku": {"type": "string"},
            "quantity": {"type": "integer", "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["sku"],
    }
    assert taking(Price).input_schema["$defs"]["Price"]["properties"] == {
        "amount": {"type": "string"}
    }
    assert list(taking(Order).input_schema["$defs"]["Order"]["properties"]) == [
        "line", "more", "by_name", "secret",
    ]  # fmt: skip


def test_a_default_may_be_an_instance() -> None:
    default = Price(amount="1.50")

    def take(x: Price = default): ...

    tool = function_tool(take)
    assert tool.bind(b"{}").arguments.x is default
    assert tool.input_schema["required"] == []


def test_an_unexpected_exception_passes() -> None:
    def fail(value: int) -> int:
        raise KeyError(value)

    @attrs.define
    class Failing:
        a: int = attrs.field(converter=fail)

    with pytest.raises(KeyError):
        taking(Failing).bind(b'{"x": {"a": 1}}')


RESULTS: dict[str, tuple[Any, Any, Any]] = {
    "a class": (Line, Line("ab"), {"sku": "ab", "quantity": 1, "tags": []}),
    "a list": (list[Simple], [Simple(1)], [{"count": 1}]),
    "an answer": (Answer[Simple], Answer(Simple(1)), {"count": 1}),
    "no declaration": (Any, Simple(1), {"count": 1}),
    "without private attributes": (
        Order,
        Order(Line("ab")),
        {"line": {"sku": "ab", "quantity": 1, "tags": []}, "more": [], "by_name": {}, "made": 1},
    ),
}


@pytest.mark.parametrize(("hint", "value", "wanted"), RESULTS.values(), ids=RESULTS)
def test_a_result_has_the_public_attributes(hint: Any, value: Any, wanted: Any) -> None:
    def get():
        return value

    get.__annotations__["return"] = hint
    server = Server("shop")
    server.tool(get)
    result = Peer(server, NEWEST).call("get")["result"]
    assert result["structuredContent"] == wanted


def test_a_wrong_result_is_logged_with_its_part(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("shop")

    @server.tool
    def get() -> list[Classic]:
        return [Classic(1), Classic("x")]  # type: ignore[arg-type]

    assert Peer(server, NEWEST).call("get")["result"]["isError"] is True
    (record,) = caplog.records
    assert record.getMessage() == (
        "tool get failed: the result of get does not fit its return type: "
        f"$[1].a: must be an integer, not a string ({location_of(get)})"
    )


@attrs.define
class Hiding:
    _token: str


class Holder(msgspec.Struct):
    line: Line


def test_a_converter_that_would_not_run_is_an_error() -> None:
    def take(x: Holder): ...

    with pytest.raises(ContractError, match=r"has Line\.sku, whose converter is not called inside"):
        function_tool(take)


def test_a_private_attribute_that_would_not_be_sent_is_an_error() -> None:
    def get() -> Hiding: ...  # type: ignore[empty-body]

    with pytest.raises(ContractError, match=r"Hiding\._token, which is private"):
        function_tool(get)
