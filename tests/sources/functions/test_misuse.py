"""Functions that cannot be tools are rejected in one sentence."""

import enum
import functools
import math
import re
from typing import Annotated, Any, Literal

import annotated_types as at
import msgspec
import pydantic
import pytest

from accord import ContractError
from accord.sources.functions import function_tool
from sources.functions.sample_types import Arbitrary, Line, Order, Slot


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


class Mixed(enum.Enum):
    A = "a"
    ONE = 1


class Half(enum.Enum):
    HALF = 0.5


class Nothing(enum.Enum):
    pass


def mixed_enum(x: Mixed): ...


def enum_of_floats(x: Half): ...


def enum_without_members(x: Nothing): ...


def literal_of_a_member(x: Literal[Mixed.A]): ...


def literal_of_bytes(x: Literal[b"a"]): ...


def huge_literal(x: Literal[100000000000000000000]): ...  # type: ignore[valid-type]


def misfit_literal(x: Literal["a", "b"] = "c"): ...  # type: ignore[assignment]


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
    "an undefined hint": (unknown_name, {}, ["unknown_name", "Missing"]),
    "a hint its module lacks": (unknown_member, {}, ["unknown_member", "Missing"]),
    "a hint that is not an expression": (no_expression, {}, ["no_expression", "int["]),
    "an undefined result": (unknown_result, {}, ["unknown_result", "Missing"]),
    "a type that is not JSON": (no_json, {}, ["no_json", "x", "Arbitrary"]),
    "a list of a type that is not JSON": (no_json_inside, {}, ["no_json_inside", "x", "Arbitrary"]),
    "types JSON cannot tell apart": (two_alike, {}, ["two_alike", "x", "Line", "Order"]),
    "a result that is not JSON": (no_json_result, {}, ["no_json_result", "result", "Arbitrary"]),
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
    "a default that is not JSON": (odd_default, {}, ["odd_default", "x", "default"]),
    "a default with odd keys": (odd_default_key, {}, ["odd_default_key", "x", "default"]),
    "a default beyond numbers": (endless_default, {}, ["endless_default", "x", "default"]),
    "a default that does not fit": (misfit_default, {}, ["misfit_default", "x", "default"]),
    "a default of None for a number": (absent_default, {}, ["absent_default", "x", "default"]),
    "an enum of several types": (mixed_enum, {}, ["mixed_enum", "x", "Mixed"]),
    "an enum of floats": (enum_of_floats, {}, ["enum_of_floats", "x", "Half"]),
    "an enum without members": (enum_without_members, {}, ["enum_without_members", "x"]),
    "a Literal of a member": (literal_of_a_member, {}, ["literal_of_a_member", "x"]),
    "a Literal of bytes": (literal_of_bytes, {}, ["literal_of_bytes", "x", "Literal"]),
    "a Literal beyond 64 bits": (huge_literal, {}, ["huge_literal", "x", "Literal"]),
    "a default that is not a choice": (misfit_literal, {}, ["misfit_literal", "x", "default"]),
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
def test_a_function_that_cannot_be_a_tool_is_rejected_in_one_sentence(
    function: Any, options: Any, named: list[str]
) -> None:
    with pytest.raises(ContractError) as caught:
        function_tool(function, **options)
    sentence = str(caught.value)
    assert [word for word in named if word not in sentence] == []
    assert re.fullmatch(r"[^\n]*[^\n:]", sentence)
