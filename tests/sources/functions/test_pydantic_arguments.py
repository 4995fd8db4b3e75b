"""Parameters that pydantic validates: what they accept, and the errors that callers see."""

import asyncio
import json
import tracemalloc
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasPath,
    BaseModel,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    conint,
    constr,
    create_model,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Doc

from accord import Header, Problem, Server
from accord.model.answer import FieldError
from accord.model.tool import Tool
from accord.revisions import REVISIONS
from accord.sources.functions import function_prompt, function_resource, function_tool
from peer import Peer
from sources.functions import pydantic_types as t


def taking(hint: Any, **options: Any) -> Tool:
    def take(x): ...

    take.__annotations__["x"] = hint
    return function_tool(take, **options)


def bound(tool: Tool, **arguments: Any) -> Any:
    return tool.bind(json.dumps(arguments).encode()).arguments


def errors_of(tool: Tool, arguments: dict[str, Any] | bytes) -> list[str]:
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    with pytest.raises(Problem) as caught:
        tool.bind(raw)
    assert caught.value.kind == "validation"
    return [f"{each.field} {each.error}" for each in caught.value.fields]


ITEM = {"sku": "rope", "quantity": 2}
BOOKING = {"start": "2026-01-01", "end": "2026-01-03"}
EVERYTHING: dict[str, Any] = {
    "at": "2026-01-02T03:04:05",
    "day": "2026-01-02",
    "hour": "03:04:05",
    "took": "PT90S",
    "amount": "12.50",
    "id": "c0ffee00-0000-4000-8000-000000000000",
    "data": "abc",
    "tags": ["a", "a"],
    "pair": [1, "x"],
    "metal": "gold",
    "mail": "ada@example.com",
    "page": "https://example.com/",
    "secret": "hush",
}

ACCEPTED: dict[str, tuple[Any, Any, Any]] = {
    # the type, the argument, the value for the function
    "a model": (t.Item, ITEM, t.Item(sku="rope", quantity=2)),
    "a number as text": (t.Item, {"sku": "rope", "quantity": "2"}, t.Item(sku="rope", quantity=2)),
    "1.0 as an integer": (t.Item, {"sku": "rope", "quantity": 2.0}, t.Item(sku="rope", quantity=2)),
    "a nested model": (
        t.Order,
        {"number": 1, "lines": [ITEM]},
        t.Order(number=1, lines=[t.Item(sku="rope", quantity=2)]),
    ),
    "an optional model, null": (t.Item | None, None, None),
    "an optional model": (t.Item | None, ITEM, t.Item(sku="rope", quantity=2)),
    "a list of models": (list[t.Closed], [{"a": 1}], [t.Closed(a=1)]),
    "an empty list": (list[t.Closed], [], []),
    "a dict of models": (dict[str, t.Closed], {"k": {"a": 1}}, {"k": t.Closed(a=1)}),
    "a tuple": (tuple[t.Closed, int], [{"a": 1}, 2], (t.Closed(a=1), 2)),
    "a union": (t.Cat | t.Dog, {"kind": "cat", "lives": 9}, t.Cat(kind="cat", lives=9)),
    "a discriminated union": (t.Pet, {"kind": "dog", "tricks": []}, t.Dog(kind="dog", tricks=[])),
    "a model or text": (t.Closed | str, "a", "a"),
    "a generic model": (
        t.Page[t.Closed],
        {"items": [{"a": 1}], "total": 1},
        t.Page[t.Closed](items=[t.Closed(a=1)], total=1),
    ),
    "a root model": (t.Tags, ["a"], t.Tags(["a"])),
    "a recursive model": (
        t.Node,
        {"name": "a", "children": [{"name": "b"}]},
        t.Node(name="a", children=[t.Node(name="b")]),
    ),
    "a strict model": (
        t.Strict,
        {"count": 1, "day": "2026-01-02"},
        t.Strict(count=1, day=date(2026, 1, 2)),
    ),
    "aliases": (
        t.Aliased,
        {"firstName": "Ada", "surname": "L", "handle": "al"},
        t.Aliased.model_validate({"firstName": "Ada", "surname": "L", "nick": "al"}),
    ),
    "a name in place of its alias": (t.ByName, {"user_id": 1}, t.ByName(userId=1)),
    "a field that is not known": (
        t.Cat,
        {"kind": "cat", "lives": 1, "age": 2},
        t.Cat(kind="cat", lives=1),
    ),
    "validators": (t.Booking, BOOKING, t.Booking(start=date(2026, 1, 1), end=date(2026, 1, 3))),
    "a dataclass with a model": (
        t.Parcel,
        {"item": ITEM},
        t.Parcel(t.Item(sku="rope", quantity=2)),
    ),
    "a dataclass with a Field": (t.Bounded, {"size": 1}, t.Bounded(1)),
    "a TypedDict with a model": (
        t.Labelled,
        {"item": ITEM, "label": "x"},
        {"item": t.Item(sku="rope", quantity=2), "label": "x"},
    ),
    "a named tuple with a model": (t.Pair, [ITEM, 3], t.Pair(t.Item(sku="rope", quantity=2), 3)),
    "a model with dataclasses": (
        t.Outer,
        {"plain": {"a": 1}, "plains": [{"a": 2, "b": "c"}]},
        t.Outer(plain=t.Plain(1), plains=[t.Plain(2, "c")]),
    ),
    "a pydantic dataclass": (t.Checked, {"count": 2}, t.Checked(2)),
    "a validator of a parameter": (t.Word, "ABC", "abc"),
    "a list of validated texts": (list[t.Word], ["A"], ["a"]),
    "every type": (t.Everything, EVERYTHING, t.Everything.model_validate(EVERYTHING)),
    "msgspec.Meta around a model": (
        Annotated[list[t.Closed], msgspec.Meta(min_length=1)],
        [{"a": 1}],
        [t.Closed(a=1)],
    ),
    "constr": (constr(to_upper=True), "a", "A"),
    "conint": (conint(gt=1), 2, 2),
    "a Decimal with places": (Annotated[Decimal, Field(decimal_places=2)], "1.25", Decimal("1.25")),
}


@pytest.mark.parametrize(("hint", "given", "wanted"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_function_gets_the_value_that_pydantic_makes(hint: Any, given: Any, wanted: Any) -> None:
    tool = taking(hint)
    record = bound(tool, x=given)
    assert record.x == wanted
    assert type(record.x) is type(wanted)
    jsonschema_rs.Draft202012Validator(tool.input_schema)


SCHEMA_EXCEPTIONS = {
    "a number as text",  # pydantic is lax
    "a name in place of its alias",
    "aliases",  # the schema has the first of several
    "every type",  # a naive date-time is not one of RFC 3339
}


@pytest.mark.parametrize("case", sorted(ACCEPTED.keys() - SCHEMA_EXCEPTIONS))
def test_what_is_accepted_is_valid_under_the_schema(case: str) -> None:
    hint, given, _ = ACCEPTED[case]
    schema = taking(hint).input_schema
    assert jsonschema_rs.Draft202012Validator(schema).is_valid({"x": given})


REJECTED: dict[str, tuple[Any, Any, list[str]]] = {
    "nothing at all": (t.Item, ..., ["x is required"]),
    "null": (t.Item, None, ["x must be an object, not null"]),
    "text": (t.Item, "rope", ["x must be an object, not a string"]),
    "a list": (t.Item, [], ["x must be an object, not an array"]),
    "every wrong field": (
        t.Item,
        {"sku": 1, "quantity": "many", "price": []},
        [
            "x.sku must be a string, not an integer",
            "x.quantity must be an integer, not a string",
            "x.price must be a number, not an array",
        ],
    ),
    "missing fields": (t.Item, {}, ["x.sku is required", "x.quantity is required"]),
    "a fraction": (
        t.Item,
        {"sku": "ab", "quantity": 1.5},
        ["x.quantity must be an integer, not a number"],
    ),
    "a boolean for text": (t.Closed | None, {"a": None}, ["x.a must be an integer, not null"]),
    "too small": (t.Item, {"sku": "ab", "quantity": 0}, ["x.quantity must be more than 0"]),
    "too large": (t.Item, {"sku": "ab", "quantity": 100}, ["x.quantity must be at most 99"]),
    "too short": (t.Item, {"sku": "a", "quantity": 1}, ["x.sku must have at least 2 characters"]),
    "too long": (
        t.Item,
        {"sku": "abcdefghi", "quantity": 1},
        ["x.sku must have at most 8 characters"],
    ),
    "no match": (t.Item, {"sku": "AB", "quantity": 1}, ["x.sku must match the pattern ^[a-z]+$"]),
    "too few items": (t.Order, {"number": 1, "lines": []}, ["x.lines must have at least 1 items"]),
    "too many items": (
        t.Order,
        {"number": 1, "lines": [ITEM] * 4},
        ["x.lines must have at most 3 items"],
    ),
    "deep inside": (
        t.Order,
        {"number": 1, "lines": [ITEM, {"sku": "ab", "quantity": "x"}]},
        ["x.lines[1].quantity must be an integer, not a string"],
    ),
    "in a list": (
        list[t.Closed],
        [{"a": 1}, {}, 3],
        ["x[1].a is required", "x[2] must be an object, not an integer"],
    ),
    "in a dict": (
        dict[str, t.Closed],
        {"k": {"a": "z"}},
        ["x.k.a must be an integer, not a string"],
    ),
    "a name in a dict": (
        dict[int, t.Closed],
        {"k": {"a": 1}},
        ["x.k has a name that must be an integer, not a string"],
    ),
    "a tuple": (tuple[t.Closed, int], [{"a": 1}], ["x[1] is required"]),
    "unknown field": (t.Closed, {"a": 1, "b": 2}, ["x.b is not a known field"]),
    "strict": (t.Strict, {"count": "1"}, ["x.count must be an integer, not a string"]),
    "strict number": (t.Strict, {"count": 1.0}, ["x.count must be an integer, not a number"]),
    "an alias is the field's name": (
        t.Aliased,
        {"firstName": 3},
        ["x.firstName must be a string, not an integer", "x.surname is required"],
    ),
    "a discriminator": (t.Pet, {"kind": "owl"}, ["x.kind must be one of cat, dog"]),
    "no discriminator": (t.Pet, {}, ["x.kind is required"]),
    "in the alternative that is meant": (
        t.Household,
        {"pet": {"kind": "cat"}, "by_name": {"a": {"kind": "dog", "tricks": 3}}},
        ["x.pet.lives is required", "x.by_name.a.tricks must be an array, not an integer"],
    ),
    "the closest of a union": (
        t.Household,
        {"pet": {"kind": "cat", "lives": 1}, "other": {"kind": "dog"}},
        ["x.other.tricks is required"],
    ),
    "no alternative": (t.Closed | int, "z", ["x must be an object or an integer, not a string"]),
    "no alternative, of texts": (
        Annotated[int, Field(strict=True)] | t.Tags,
        True,
        ["x must be an integer or an array, not a boolean"],
    ),
    "a choice": (list[t.Cat], [{"kind": "dog", "lives": 1}], ["x[0].kind must be one of cat"]),
    "an enum": (
        t.Everything,
        {**EVERYTHING, "metal": "lead"},
        ["x.metal must be one of tin, gold"],
    ),
    "a validator's words": (
        t.Booking,
        {**BOOKING, "guests": 7},
        ["x.guests is not valid: the room has four beds"],
    ),
    "an assertion without words": (t.Booking, {**BOOKING, "guests": 0}, ["x.guests is not valid"]),
    "a validator of the model": (
        t.Booking,
        {"start": "2026-01-03", "end": "2026-01-03"},
        ["x is not valid: end must be after start"],
    ),
    "a dataclass with a model": (
        t.Parcel,
        {"item": {"sku": "ab"}, "weight": 0},
        ["x.item.quantity is required", "x.weight must be more than 0"],
    ),
    "a dataclass with a Field": (t.Bounded, {"size": 0}, ["x.size must be at least 1"]),
    "a dataclass, missing": (t.Bounded, {}, ["x.size is required"]),
    "a dataclass, text": (t.Bounded, "s", ["x must be an object, not a string"]),
    "a TypedDict": (
        t.Labelled,
        {"item": 1},
        ["x.item must be an object, not an integer", "x.label is required"],
    ),
    "a dataclass in a model": (
        t.Outer,
        {"plain": {"a": "z"}, "plains": [{}]},
        ["x.plain.a must be an integer, not a string", "x.plains[0].a is required"],
    ),
    "a pydantic dataclass": (t.Checked, {"count": 3}, ["x.count is not valid: must be even"]),
    "a parameter's validator": (t.Word, "a b", ["x is not valid: must not have spaces"]),
    "msgspec.Meta around a model": (
        Annotated[list[t.Closed], msgspec.Meta(min_length=1)],
        [],
        ["x must have at least 1 items"],
    ),
    "a dict that is too short": (
        Annotated[dict[str, t.Closed], Field(min_length=1)],
        {},
        ["x must have at least 1 fields"],
    ),
    "a number with too many digits": (
        t.Closed,
        {"a": "1" * 5000},
        ["x.a must be an integer of fewer digits"],
    ),
    "a multiple": (
        Annotated[int, Field(multiple_of=5, strict=True)],
        3,
        ["x must be a multiple of 5"],
    ),
    "less than": (Annotated[int, Field(lt=5, strict=True)], 5, ["x must be less than 5"]),
    "at least": (Annotated[int, Field(ge=5, strict=True)], 4, ["x must be at least 5"]),
    "places": (
        Annotated[Decimal, Field(decimal_places=2)],
        "1.255",
        ["x must have no more than 2 decimal places"],
    ),
    **{
        f"not a {name}": (t.Everything, {**EVERYTHING, name: "?"}, [f"x.{name} {sentence}"])
        for name, sentence in {
            "at": "must be a valid date-time",
            "day": "must be a valid date",
            "hour": "must be a valid time",
            "took": "must be a valid duration",
            "amount": "must be a valid decimal",
            "id": "must be a valid uuid",
            "tags": "must be an array, not a string",
            "pair": "must be an array, not a string",
            "mail": "must be a valid email address",
            "page": "must be a valid URL",
        }.items()
    },
    **{
        f"a list for {name}": (t.Everything, {**EVERYTHING, name: []}, [f"x.{name} {sentence}"])
        for name, sentence in {
            "at": "must be a valid date-time",
            "day": "must be a valid date",
            "amount": "must be a number, not an array",
            "id": "must be a string, not an array",
            "data": "must be a string, not an array",
            "mail": "must be a string, not an array",
            "page": "must be a string, not an array",
            "secret": "must be a string, not an array",
        }.items()
    },
}


@pytest.mark.parametrize(("hint", "given", "wanted"), REJECTED.values(), ids=REJECTED)
def test_every_error_is_in_our_words(hint: Any, given: Any, wanted: list[str]) -> None:
    assert errors_of(taking(hint), {} if given is ... else {"x": given}) == wanted


def test_errors_of_all_parameters_come_together() -> None:
    def take(a: int, item: t.Item, b: str, other: t.Closed | None = None): ...

    assert errors_of(function_tool(take), {"a": "x", "item": {"sku": 1}, "other": {}}) == [
        "a must be an integer, not a string",
        "item.sku must be a string, not an integer",
        "item.quantity is required",
        "b is required",
        "other.a is required",
    ]


def test_unknown_arguments_are_ignored_beside_models() -> None:
    def take(item: t.Closed, n: int = 3): ...

    found = function_tool(take).bind(b'{"item": {"a": 1}, "z": 1}')
    assert found.arguments.item == t.Closed(a=1)
    assert found.arguments.n == 3
    assert [each.code for each in found.warnings] == ["UNKNOWN_ARGUMENT"]


def test_unknown_arguments_of_a_strict_tool_are_reported_with_the_others() -> None:
    tool = taking(t.Closed, strict=True)
    assert errors_of(tool, {"x": {}, "z": 1}) == ["x.a is required", "z is not a known field"]


def test_one_point_zero_is_an_integer_beside_a_model() -> None:
    def take(n: int, item: t.Closed): ...

    record = function_tool(take).bind(b'{"n": 2.0, "item": {"a": 1}}').arguments
    assert (record.n, record.item) == (2, t.Closed(a=1))


SECRET = "sk-live-4f9a"


@pytest.mark.parametrize(
    "hint",
    [
        t.Item,
        t.Household,
        t.Everything,
        t.Booking,
        list[t.Closed],
        t.Closed | int,
        t.Pet,
        t.Checked,
    ],
)
@pytest.mark.parametrize(
    "value",
    [SECRET, [SECRET], {"kind": SECRET}, dict.fromkeys([*EVERYTHING, "pet", "a", "sku"], SECRET)],
)
def test_messages_have_no_value_of_the_caller(hint: Any, value: Any) -> None:
    assert SECRET not in str(errors_of(taking(hint), {"x": value}))


def test_very_many_errors_are_cut() -> None:
    wrong = json.dumps({"x": [{"a": None}] * 50_000}).encode()
    found = errors_of(taking(list[t.Closed]), wrong)
    assert found == [f"x[{i}].a must be an integer, not null" for i in range(20)]


def test_errors_far_from_the_beginning_are_counted() -> None:
    wrong = json.dumps({"x": [{"a": 1}] * 50 + [{"a": None}] * 2_000}).encode()
    assert errors_of(taking(list[t.Closed]), wrong) == ["x has 2,000 errors"]


def test_a_missing_path_of_aliases_is_named() -> None:
    class First(BaseModel):
        name: str = Field(validation_alias=AliasPath("names", 0))

    assert bound(taking(First), x={"names": ["Ada"]}).x.name == "Ada"
    assert errors_of(taking(First), {"x": {}}) == ["x.names[0] is required"]
    assert errors_of(taking(First), {"x": {"names": []}}) == ["x.names[0] is required"]


def test_headers_and_docs_around_a_type_of_pydantic_are_in_the_schema() -> None:
    hint = Annotated[t.EmailStr, Header("Mail"), Doc("Where to")]
    assert taking(hint).input_schema["properties"]["x"] == {
        "type": "string",
        "format": "email",
        "x-mcp-header": "Mail",
        "description": "Where to",
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_tools_with_models_are_listed_as_the_protocol_has_them(revision: str) -> None:
    server = Server("shop")
    for number, (hint, _, _) in enumerate(ACCEPTED.values()):
        server.add(taking(hint, name=f"take_{number}"))
    listed = Peer(server, revision).ask("tools/list")["result"]["tools"]
    assert len(listed) == min(len(ACCEPTED), len(listed))
    assert all(tool["inputSchema"]["type"] == "object" for tool in listed)


def test_a_value_nested_too_deeply_is_rejected() -> None:
    deep = b'{"x": ' + b'{"name": "a", "children": [' * 150 + b"]}" * 150 + b"}"
    assert errors_of(taking(t.Node), deep) == ["x is nested too deeply"]


def test_an_unexpected_exception_of_a_validator_passes() -> None:
    with pytest.raises(KeyError):
        bound(taking(t.Broken), x={"name": "z"})


def test_a_problem_of_a_validator_is_for_the_caller() -> None:
    class Known(BaseModel):
        id: int

        def model_post_init(self, _context: Any) -> None:
            raise Problem.not_found(f"No customer {self.id}")

    with pytest.raises(Problem, match="No customer 7"):
        bound(taking(Known), x={"id": 7})


def test_custom_errors_keep_their_words() -> None:
    def check(value: str) -> str:
        raise PydanticCustomError("odd_word", "the word is {kind}", {"kind": "odd"})

    hint = Annotated[str, t.AfterValidator(check)]
    assert errors_of(taking(hint), {"x": "a"}) == ["x is not valid: the word is odd"]


def test_a_discriminator_function_names_the_value() -> None:
    def kind_of(value: Any) -> str:
        return "cat" if "lives" in value else "none"

    hint = Annotated[
        Annotated[t.Cat, Tag("cat")] | Annotated[t.Dog, Tag("dog")], Discriminator(kind_of)
    ]
    assert errors_of(taking(hint), {"x": {}}) == ["x must be one of cat, dog"]


def test_a_plain_field_around_a_parameter_stays_with_msgspec() -> None:
    """So does its treatment of numbers: msgspec does not take `"2"` for an integer."""
    tool = taking(Annotated[int, Field(gt=0, description="d", title="t", examples=[1])])
    assert errors_of(tool, {"x": "2"}) == ["x must be an integer, not a string"]
    assert bound(tool, x=2).x == 2


# Schemas


def test_titles_that_repeat_the_name_are_left_out() -> None:
    class Titled(BaseModel):
        plain_name: int
        named: int = Field(title="A title")
        title: str = "x"

    schema = taking(Titled).input_schema["$defs"]["Titled"]
    assert schema["properties"] == {
        "plain_name": {"type": "integer"},
        "named": {"type": "integer", "title": "A title"},
        "title": {"type": "string", "default": "x"},
    }
    assert schema["title"] == "Titled"


def test_definitions_are_at_the_root_and_shared() -> None:
    def take(a: t.Item, b: list[t.Item], n: int): ...

    schema = function_tool(take).input_schema
    assert schema["properties"] == {
        "a": {"$ref": "#/$defs/Item"},
        "b": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "n": {"type": "integer"},
    }
    assert list(schema["$defs"]) == ["Item"]
    assert schema["$defs"]["Item"]["description"] == "An item of the shop."
    assert schema["required"] == ["a", "b", "n"]


def test_definitions_of_one_name_are_kept_apart() -> None:
    class Item(msgspec.Struct):
        title: str

    class Box(BaseModel):
        item: t.Item
        kind: Literal["Item"] = "Item"

    def take(theirs: Item, mine: t.Item, box: Box): ...

    take.__annotations__ |= {"theirs": Item, "box": Box}
    schema = function_tool(take).input_schema
    properties, defs = schema["properties"], schema["$defs"]
    assert properties["theirs"] == {"$ref": "#/$defs/Item"}
    assert properties["mine"] == {"$ref": "#/$defs/Item_2"}
    assert set(defs["Item"]["properties"]) == {"title"}
    assert set(defs["Item_2"]["properties"]) == {"sku", "quantity", "price"}
    assert defs["Box"]["properties"]["item"] == {"$ref": "#/$defs/Item_2"}
    assert defs["Box"]["properties"]["kind"]["enum"] == ["Item"]
    jsonschema_rs.Draft202012Validator(schema)


def test_two_models_of_one_name_are_kept_apart() -> None:
    one = type("Item", (BaseModel,), {"__annotations__": {"a": int}})
    two = type("Item", (BaseModel,), {"__annotations__": {"b": int}, "__module__": "elsewhere"})

    def take(x, y): ...

    take.__annotations__ |= {"x": one, "y": two}
    schema = function_tool(take).input_schema
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"x": {"a": 1}, "y": {"b": 1}})
    assert not validator.is_valid({"x": {"b": 1}, "y": {"b": 1}})
    assert not validator.is_valid({"x": {"a": 1}, "y": {"a": 1}})


def test_alternatives_are_in_the_form_that_apis_accept() -> None:
    schema = taking(t.Household).input_schema
    text = json.dumps(schema)
    assert '"oneOf"' not in text
    assert '"const"' not in text
    assert schema["$defs"]["Cat"]["properties"]["kind"] == {"type": "string", "enum": ["cat"]}
    pet = schema["$defs"]["Household"]["properties"]["pet"]
    assert pet["anyOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]


def test_mixed_choices_have_types_and_lists_have_items() -> None:
    class Odd(BaseModel):
        choice: Literal[1, "b", "a", None]
        anything: list
        const: int = 3
        oneOf: int = 4  # noqa: N815

    properties = taking(Odd).input_schema["$defs"]["Odd"]["properties"]
    assert properties["choice"] == {
        "anyOf": [
            {"type": "integer", "enum": [1]},
            {"type": "string", "enum": ["b", "a"]},
            {"type": "null"},
        ]
    }
    assert properties["anything"] == {"type": "array", "items": {}}
    assert properties["const"] == {"type": "integer", "default": 3}
    assert properties["oneOf"] == {"type": "integer", "default": 4}


def test_decimals_have_a_format_in_place_of_a_pattern() -> None:
    assert taking(t.Everything).input_schema["$defs"]["Everything"]["properties"]["amount"] == {
        "anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]
    }


DESCRIBED = {
    "the docstring": t.Item,
    "a plain text": Annotated[t.Item, "Which item"],
    "msgspec.Meta": Annotated[t.Item, msgspec.Meta(description="Which item")],
    "Field": Annotated[t.Item, Field(description="Which item")],
}


@pytest.mark.parametrize("hint", DESCRIBED.values(), ids=DESCRIBED)
def test_a_parameter_is_described_by(hint: Any) -> None:
    def take(x):
        """Take it.

        Args:
            x: Which item
        """

    take.__annotations__["x"] = hint
    assert function_tool(take).input_schema["properties"]["x"]["description"] == "Which item"


DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "a model": (t.Closed, t.Closed(a=3), {"a": 3}),
    "none": (t.Closed | None, None, None),
    "an empty list": (list[t.Closed], [], []),
    "a model with aliases": (t.ByName, t.ByName(userId=1), {"userId": 1}),
    "a date in a model": (
        t.Strict,
        t.Strict(count=1, day=date(2026, 1, 2)),
        {"count": 1, "day": "2026-01-02"},
    ),
    "other names for results": (
        t.Aliased,
        t.Aliased.model_validate({"firstName": "a", "surname": "b"}),
        ...,
    ),
}


@pytest.mark.parametrize(("hint", "default", "shown"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_may_be_a_model(hint: Any, default: Any, shown: Any) -> None:
    def take(x=default): ...

    take.__annotations__["x"] = hint
    tool = function_tool(take)
    assert tool.bind(b"{}").arguments.x is default
    assert tool.input_schema["properties"]["x"].get("default", ...) == shown
    assert tool.input_schema["required"] == []


def test_an_unset_parameter_has_no_default() -> None:
    def take(x: t.Closed | msgspec.UnsetType = msgspec.UNSET): ...

    tool = function_tool(take)
    assert tool.bind(b"{}").arguments.x is msgspec.UNSET
    assert bound(tool, x={"a": 1}).x == t.Closed(a=1)
    assert "default" not in tool.input_schema["properties"]["x"]


def test_models_are_passed_by_name_and_by_position() -> None:
    def take(first: t.Closed, /, second: int, *, third: t.Closed | None = None):
        return first.a, second, third

    tool = function_tool(take)
    record = bound(tool, first={"a": 1}, second=2, third={"a": 3})
    assert tool.invoke(record, None) == (1, 2, t.Closed(a=3))


# Prompts and resources


def test_a_prompt_takes_text_that_pydantic_validates() -> None:
    def greet(
        mail: t.EmailStr,
        on: Annotated[date, Field(strict=False)] = date(2026, 1, 1),
        how: t.Word = "hi",
    ):
        return f"{mail} {on:%d} {how}"

    prompt = function_prompt(greet)
    record = prompt.bind(b'{"mail": "ada@example.com", "on": "2026-01-02"}').arguments
    assert prompt.invoke(record, None) == "ada@example.com 02 hi"
    with pytest.raises(Problem) as caught:
        prompt.bind(b'{"mail": "ada", "on": "soon", "how": "a b"}')
    assert caught.value.fields == (
        FieldError("mail", "must be a valid email address"),
        FieldError("on", "must be a valid date"),
        FieldError("how", "is not valid: must not have spaces"),
    )


def test_choices_of_a_prompt_are_completed() -> None:
    def choose(metal: Annotated[t.Metal, t.AfterValidator(lambda value: value)]) -> str:
        return metal.name

    prompt = function_prompt(choose)
    assert list(prompt.arguments[0].choices) == ["tin", "gold"]
    assert prompt.invoke(prompt.bind(b'{"metal": "tin"}').arguments, None) == "TIN"


def test_a_resource_takes_text_that_pydantic_validates() -> None:
    def at(page: Annotated[int, Field(gt=0, strict=False)]) -> str:
        return str(page + 1)

    resource = function_resource(at, "pages://{page}")
    assert resource.invoke(resource.bind(b'{"page": "2"}').arguments, None) == "3"
    with pytest.raises(Problem, match="page must be more than 0"):
        resource.bind(b'{"page": "0"}')


def test_datetimes_keep_their_zone() -> None:
    found = bound(taking(t.Everything), x={**EVERYTHING, "at": "2026-01-02T03:04:05Z"}).x.at
    assert found == datetime.fromisoformat("2026-01-02T03:04:05+00:00")


# Whatever is sent


NAMES = st.sampled_from(
    ["sku", "quantity", "number", "lines", "kind", "lives", "tricks", "pet", "other", "a", "name"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["cat", "dog", "rope", "1", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
HINTS: list[Any] = [
    t.Item,
    t.Order | None,
    t.Household,
    t.Cat | t.Dog | list[t.Closed],
    dict[str, t.Pet],
    t.Node,
    t.Parcel,
    t.Page[t.Closed | int],
    tuple[t.Closed, t.Strict],
]
TOOLS = [(TypeAdapter(hint), taking(hint)) for hint in HINTS]


@given(VALUES, st.sampled_from(TOOLS))
def test_any_argument_is_accepted_as_by_pydantic_or_has_errors(
    value: Any, case: tuple[TypeAdapter[Any], Tool]
) -> None:
    adapter, tool = case
    raw = json.dumps(value).encode()
    try:
        wanted = adapter.validate_json(raw)
    except ValidationError:
        errors = errors_of(tool, b'{"x": ' + raw + b"}")
        assert errors
        assert all(each.startswith("x") and len(each) > 2 for each in errors)
    else:
        assert tool.bind(b'{"x": ' + raw + b"}").arguments.x == wanted


def test_errors_of_a_large_object_do_not_copy_it() -> None:
    fields: dict[str, Any] = {f"field{n}": (int, ...) for n in range(100)}
    model = create_model("Wide", **fields)
    server = Server("shop")

    def use(wide: Any) -> int:
        return 1

    use.__annotations__["wide"] = model
    server.tool(use)
    unknown = {f"unknown{n}": "x" * 10 for n in range(20_000)}
    tracemalloc.start()
    try:
        reading = asyncio.run(server.call("use", {"wide": unknown}))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "'wide.field99'" in str(reading.response.to_dict())
    assert peak < 100_000_000  # 100 copies would take several times as much
    valid = unknown | dict.fromkeys(fields, 1)
    assert asyncio.run(server.call("use", {"wide": valid})).value == 1
