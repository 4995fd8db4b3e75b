"""Results that pydantic serializes: they match their schema, and a wrong one is logged."""

import dataclasses
import json
import logging
import math
import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import jsonschema_rs
import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, field_serializer

from accord import Answer, Server
from accord.errors import location_of
from accord.sources.functions import function_tool
from peer import Peer
from sources.functions import pydantic_types as t

NEWEST = "2026-07-28"
OLDER = "2025-11-25"


def returning(value: Any, hint: Any, **options: Any) -> Server:
    def get():
        return value

    if hint is not ...:
        get.__annotations__["return"] = hint
    server = Server("shop", version="1.0", **options)
    server.tool(read_only=True)(get)
    return server


def result_of(value: Any, hint: Any, revision: str = NEWEST, **options: Any) -> dict[str, Any]:
    reply: dict[str, Any] = Peer(returning(value, hint, **options), revision).call("get")["result"]
    return reply


ITEM = t.Item(sku="rope", quantity=2)
ITEM_JSON = {"sku": "rope", "quantity": 2, "price": 1.5}
EVERYTHING = t.Everything.model_validate(
    {
        "at": "2026-01-02T03:04:05",
        "day": "2026-01-02",
        "hour": "03:04:05",
        "took": "PT90S",
        "amount": "12.50",
        "id": "c0ffee00-0000-4000-8000-000000000000",
        "data": "abc",
        "tags": ["a"],
        "pair": [1, "x"],
        "metal": "gold",
        "mail": "ada@example.com",
        "page": "https://example.com/",
        "secret": "hush",
        "anything": {"k": [1, None]},
    }
)

RESULTS: dict[str, tuple[Any, Any, Any]] = {
    # the hint, the value, its JSON
    "a model": (t.Item, ITEM, ITEM_JSON),
    "a dict for a model": (t.Item, {"sku": "rope", "quantity": 2}, ITEM_JSON),
    "a list of models": (list[t.Item], [ITEM], [ITEM_JSON]),
    "an empty list": (list[t.Item], [], []),
    "dicts and models": (list[t.Item], [ITEM, ITEM_JSON], [ITEM_JSON, ITEM_JSON]),
    "a dict of models": (dict[str, t.Item], {"a": ITEM}, {"a": ITEM_JSON}),
    "an optional model": (t.Item | None, ITEM, ITEM_JSON),
    "null": (t.Item | None, None, None),
    "a union": (t.Cat | t.Dog, t.Dog(kind="dog", tricks=[]), {"kind": "dog", "tricks": []}),
    "a discriminated union": (t.Pet, t.Cat(kind="cat", lives=1), {"kind": "cat", "lives": 1}),
    "a generic model": (
        t.Page[t.Item],
        t.Page[t.Item](items=[ITEM], total=1),
        {"items": [ITEM_JSON], "total": 1},
    ),
    "a root model": (t.Tags, t.Tags(["a"]), ["a"]),
    "a recursive model": (
        t.Node,
        t.Node(name="a", children=[t.Node(name="b")]),
        {"name": "a", "children": [{"name": "b", "children": []}]},
    ),
    "aliases": (
        t.Aliased,
        t.Aliased.model_validate({"firstName": "Ada", "surname": "L"}),
        {"firstName": "Ada", "familyName": "L", "nick": ""},
    ),
    "names in a dict for a model with aliases": (
        t.Aliased,
        {"first_name": "Ada", "last_name": "L"},
        {"firstName": "Ada", "familyName": "L", "nick": ""},
    ),
    "computed fields": (
        t.Booking,
        t.Booking(start=date(2026, 1, 1), end=date(2026, 1, 3)),
        {"start": "2026-01-01", "end": "2026-01-03", "guests": 1, "nights": 2},
    ),
    "a field's serializer": (t.Temperature, t.Temperature(celsius=1.26), {"celsius": 1.3}),
    "a model's serializer": (t.Point, t.Point(x=1, y=2), "1;2"),
    "a dataclass with a model": (
        t.Parcel,
        t.Parcel(ITEM, tags=["a"]),
        {"item": ITEM_JSON, "weight": 1.0, "tags": ["a"]},
    ),
    "a TypedDict with a model": (
        t.Labelled,
        {"item": ITEM, "label": "x"},
        {"item": ITEM_JSON, "label": "x"},
    ),
    "a model with dataclasses": (
        t.Outer,
        t.Outer(plain=t.Plain(1)),
        {"plain": {"a": 1, "b": "b"}, "plains": []},
    ),
    "a pydantic dataclass": (t.Checked, t.Checked(2), {"count": 2}),
    "a subclass": (t.Item, type("Rare", (t.Item,), {})(sku="rope", quantity=2), ITEM_JSON),
    "every type": (
        t.Everything,
        EVERYTHING,
        {
            "at": "2026-01-02T03:04:05",
            "day": "2026-01-02",
            "hour": "03:04:05",
            "took": "PT1M30S",
            "amount": "12.50",
            "id": "c0ffee00-0000-4000-8000-000000000000",
            "data": "abc",
            "tags": ["a"],
            "pair": [1, "x"],
            "metal": "gold",
            "mail": "ada@example.com",
            "page": "https://example.com/",
            "secret": "**********",
            "anything": {"k": [1, None]},
        },
    ),
    "an answer": (Answer[t.Item], Answer(ITEM), ITEM_JSON),
    "an answer with a list": (Answer[list[t.Item]], Answer([ITEM]), [ITEM_JSON]),
    "a model for an answer": (Answer[t.Item], ITEM, ITEM_JSON),
    "an answer for a model": (t.Item, Answer(ITEM), ITEM_JSON),
    "a serializer of the result": (
        Annotated[Decimal, PlainSerializer(float, return_type=float)],
        Decimal("1.5"),
        1.5,
    ),
    "encoded JSON": (
        t.Item,
        msgspec.Raw(b'{"sku":"rope", "quantity":2}'),
        {"sku": "rope", "quantity": 2},
    ),
    "a description": (Annotated[t.Item, Field(description="The item")], ITEM, ITEM_JSON),
}


@pytest.mark.parametrize(("hint", "value", "wanted"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("revision", [OLDER, NEWEST])
def test_a_result_is_serialized_by_pydantic(
    hint: Any, value: Any, wanted: Any, revision: str
) -> None:
    server = returning(value, hint)
    result = Peer(server, revision).call("get")["result"]
    assert json.loads(result["content"][0]["text"]) == wanted
    is_wrapped = revision == OLDER and not isinstance(wanted, dict)
    assert result["structuredContent"] == ({"result": wanted} if is_wrapped else wanted)


@pytest.mark.parametrize(("hint", "value", "wanted"), RESULTS.values(), ids=RESULTS)
def test_results_are_valid_under_the_output_schema(hint: Any, value: Any, wanted: Any) -> None:
    tool = returning(value, hint).registry.tools["get"]
    assert tool.output.schema is not None
    assert "$ref" not in tool.output.schema
    validator = jsonschema_rs.Draft202012Validator(tool.output.schema)
    assert validator.is_valid(wanted)


UNDECLARED: dict[str, tuple[Any, Any]] = {
    "a model": (ITEM, ITEM_JSON),
    "models in a list": ([ITEM], [ITEM_JSON]),
    "models in a dict": ({"a": ITEM}, {"a": ITEM_JSON}),
    "an answer": (Answer(ITEM), ITEM_JSON),
    "a model with aliases": (
        t.Aliased.model_validate({"firstName": "A", "surname": "L"}),
        {"firstName": "A", "familyName": "L", "nick": ""},
    ),
    "computed fields": (
        t.Booking(start=date(2026, 1, 1), end=date(2026, 1, 3)),
        {"start": "2026-01-01", "end": "2026-01-03", "guests": 1, "nights": 2},
    ),
}


@pytest.mark.parametrize(("value", "wanted"), UNDECLARED.values(), ids=UNDECLARED)
@pytest.mark.parametrize("hint", [..., Any, Answer])
def test_models_need_no_declaration(value: Any, wanted: Any, hint: Any) -> None:
    assert json.loads(result_of(value, hint)["content"][0]["text"]) == wanted


def test_a_resource_may_be_a_model() -> None:
    server = Server("shop")

    @server.resource("shop://item")
    def item() -> t.Item:
        return ITEM

    @server.resource("shop://items")
    def items() -> list[t.Item]:
        return [ITEM]

    peer = Peer(server, NEWEST)
    for uri, wanted in (("shop://item", ITEM_JSON), ("shop://items", [ITEM_JSON])):
        (content,) = peer.ask("resources/read", {"uri": uri})["result"]["contents"]
        assert json.loads(content["text"]) == wanted
        assert content["mimeType"] == "application/json"


class Lying(BaseModel):
    """Its serializer returns something else than the field declares."""

    count: int

    @field_serializer("count")
    def as_text(self, value: int):
        return str(value)


class Constants(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="constants")
    x: float


@dataclasses.dataclass
class Row:
    name: str
    prices: list[float]


def row(name: Any, prices: Any) -> Row:
    return Row(name, prices)


class Entry(TypedDict):
    row: Row


class Struct(msgspec.Struct):
    rows: list[Row]


def changed(**values: Any) -> t.Item:
    item = t.Item(sku="rope", quantity=1)
    for name, value in values.items():
        setattr(item, name, value)
    return item


MISFITS: dict[str, tuple[Any, Any, str]] = {
    # the hint, the value, the parts that do not fit
    "a dict": (
        t.Order,
        {"number": 1, "lines": [{"sku": "ab", "quantity": "x"}]},
        "$.lines[0].quantity: must be an integer, not a string",
    ),
    "a dict that lacks fields": (t.Item, {}, "$.sku: is required; $.quantity: is required"),
    "another type": (t.Item, 7, "$: must be an object, not an integer"),
    "another model": (t.Item, t.Closed(a=1), "$: must be an object, not a Closed"),
    "None": (t.Item, None, "$: must be an object, not null"),
    "in a list": (
        list[t.Closed],
        [t.Closed(a=1), {"a": None}],
        "$[1].a: must be an integer, not null",
    ),
    "a changed model": (t.Item, changed(quantity=0), "$.quantity: must be more than 0"),
    "a model with another type": (
        t.Item,
        changed(price="free"),
        "$.price: must be a number, not a string",
    ),
    "a model without validation": (
        list[t.Item],
        [t.Item.model_construct(sku="ab", quantity=1, price=[])],
        "$[0].price: must be a number, not an array",
    ),
    "a dataclass with a model": (
        t.Parcel,
        t.Parcel(ITEM, weight=-1),
        "$.weight: must be more than 0",
    ),
    "a model in an answer": (Answer[t.Item], Answer({"sku": "ab"}), "$.quantity: is required"),
    "a lying serializer": (Lying, Lying(count=1), "$.count: must be an integer, not a string"),
    "NaN": (
        t.Temperature,
        t.Temperature(celsius=math.nan),
        "$.celsius: must be a number, not null",
    ),
    "NaN as it is": (Constants, Constants(x=math.nan), "$: is not JSON: "),
    "encoded JSON": (
        t.Item,
        msgspec.Raw(b'{"sku":1}'),
        "$.quantity: is required; $.sku: must be a string, not an integer",
    ),
    "a validator": (
        t.Booking,
        {"start": "2026-01-03", "end": "2026-01-01"},
        "$: is not valid: end must be after start",
    ),
    "a dataclass": (
        Row,
        row("a", [1, "x", None]),
        "$.prices[1]: must be a number, not a string; $.prices[2]: must be a number, not null",
    ),
    "a dict for a dataclass": (
        Row,
        {"name": 1},
        "$.prices: is required; $.name: must be a string, not an integer",
    ),
    "a TypedDict": (Entry, {"row": {"name": "a"}}, "$.row.prices: is required"),
    "a Struct": (
        Struct,
        Struct([Row("a", [1]), row("b", "c")]),
        "$.rows[1].prices: must be an array, not a string",
    ),
    "a number": (int, "5", "$: must be an integer, not a string"),
    "an optional number": (int | None, "5", "$: must be an integer or null, not a string"),
    "a list of numbers": (list[int], [1, 2.5], "$[1]: must be an integer, not a number"),
    "many": (
        list[int],
        ["x"] * 20,
        "; ".join(f"$[{i}]: must be an integer, not a string" for i in range(8)) + "; and 12 more",
    ),
}


@pytest.mark.parametrize(("hint", "value", "parts"), MISFITS.values(), ids=MISFITS)
def test_a_wrong_result_is_masked_and_logged_with_its_place(
    hint: Any, value: Any, parts: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = returning(value, hint)
    with caplog.at_level(logging.ERROR, "accord"):
        result = Peer(server, NEWEST).call("get")["result"]
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "Error executing tool: Internal error"}]
    (record,) = caplog.records
    place = location_of(server.registry.tools["get"].function)
    message = record.getMessage()
    assert message.startswith(
        f"tool get failed: the result of get does not fit its return type: {parts}"
    )
    assert message.endswith(f"({place})")
    assert re.search(r"test_pydantic_results\.py:\d+$", place)
    assert record.exc_info is None


def test_text_for_text_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    server = returning(5, str)
    assert Peer(server, NEWEST).call("get")["result"]["isError"] is True
    place = location_of(server.registry.tools["get"].function)
    assert (
        caplog.records[0].getMessage()
        == f"tool get failed: get is to return str, not int ({place})"
    )


def test_an_exception_of_a_serializer_is_masked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(BaseModel):
        a: int

        @field_serializer("a")
        def fail(self, value: int) -> int:
            raise KeyError("sk-live-4f9a")

    result = result_of(Failing(a=1), Failing)
    assert result["isError"] is True
    assert "sk-live" not in str(result)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "sk-live" in caplog.text


@pytest.mark.parametrize("hint", [t.Node, Any])
def test_a_model_that_contains_itself_is_too_deep(hint: Any) -> None:
    node = t.Node(name="a")
    node.children.append(node)
    text = result_of(node, hint)["content"][0]["text"]
    assert "The result of get is nested more than 100 levels deep, or contains itself" in text
    assert ".py" not in text


def test_a_deep_model_is_too_deep() -> None:
    node = t.Node(name="a")
    for _ in range(60):
        node = t.Node(name="a", children=[node])
    text = result_of(node, t.Node)["content"][0]["text"]
    assert "is nested more than 100 levels deep" in text


def test_a_large_list_of_models_is_cut_and_continued() -> None:
    items = [t.Item(sku="rope", quantity=1 + n % 99) for n in range(2_000)]
    server = returning(items, list[t.Item], max_bytes=2_000)
    peer = Peer(server, NEWEST)
    result = peer.call("get")["result"]
    part = json.loads(result["content"][0]["text"].partition("\n")[0])
    assert 0 < len(part) < 2_000


def test_a_list_that_must_not_be_cut_says_so() -> None:
    hint = Annotated[list[t.Item], Field(min_length=2_000)]
    items = [ITEM] * 2_000
    text = result_of(items, hint, max_bytes=2_000)["content"][0]["text"]
    assert "less of it would break its schema" in text


def test_a_model_is_in_the_envelope() -> None:
    text = result_of([ITEM], list[t.Item], profile="envelope")["content"][0]["text"]
    assert json.loads(text)["data"] == {"items": [ITEM_JSON]}


def test_the_output_schema_is_that_of_serialization() -> None:
    schema = function_tool(_booking).output.schema
    assert schema is not None
    assert schema["properties"]["nights"] == {"type": "integer", "readOnly": True}
    aliased = function_tool(_aliased).output.schema
    assert aliased is not None
    assert list(aliased["properties"]) == ["firstName", "familyName", "nick"]
    page = function_tool(_page).output.schema
    assert page is not None
    assert page["title"] == "Page[Item]"
    assert page["properties"]["items"] == {"type": "array", "items": {"$ref": "#/$defs/Item"}}


def _booking() -> t.Booking: ...  # type: ignore[empty-body]
def _aliased() -> t.Aliased: ...  # type: ignore[empty-body]
def _page() -> t.Page[t.Item]: ...  # type: ignore[empty-body]
