"""Types of pydantic that cannot be used are rejected at start, with file, line and what to do."""

import dataclasses
import re
import subprocess
import sys
import textwrap
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import annotated_types
import attrs
import msgspec
import pydantic.v1
import pytest
from pydantic import BaseModel, ConfigDict, Field, computed_field

from accord import ContractError, Server
from accord.errors import location_of
from accord.sources.functions import function_prompt, function_resource, function_tool
from sources.functions.pydantic_types import Closed, Item


class Socket:
    pass


class Arbitrary(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    ok: int
    sockets: list[Socket]


class Outer(BaseModel):
    inner: dict[str, Arbitrary]


class Computed(BaseModel):
    a: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def call(self) -> Callable[[], int]:
        return lambda: 1


class Undefined(BaseModel):
    x: "Missing"  # type: ignore[name-defined]  # noqa: F821


class Old(pydantic.v1.BaseModel):
    a: int


@dataclasses.dataclass
class Mixed:
    item: Item
    socket: Socket


@dataclasses.dataclass
class WithMeta:
    item: Item
    count: Annotated[int, msgspec.Meta(gt=0)]


class Struct(msgspec.Struct):
    item: Item


@attrs.define
class Attrs:
    item: Item


class FieldStruct(msgspec.Struct):
    count: Annotated[int, Field(gt=0)]


class DescribedStruct(msgspec.Struct):
    count: Annotated[int, Field(description="How many")]


class BoundTyped(typing.TypedDict):
    count: Annotated[int, annotated_types.Gt(0)]


USE = "use a dataclass, a TypedDict or a pydantic model of JSON types"
UNUSABLE: dict[str, tuple[Any, str]] = {
    "an arbitrary type": (Arbitrary, f"Arbitrary.sockets is list[{__name__}.Socket]; {USE}"),
    "deep inside": (Outer, f"Arbitrary.sockets is list[{__name__}.Socket]; {USE}"),
    "in a list": (list[Arbitrary], f"Arbitrary.sockets is list[{__name__}.Socket]; {USE}"),
    "in a dataclass": (Mixed, f"Mixed.socket is {__name__}.Socket; {USE}"),
    "msgspec.Meta": (WithMeta, "has msgspec.Meta in WithMeta, which has fields for pydantic; use pydantic.Field in its place"),
    "a Struct": (Struct, "mixes types of pydantic with Struct, a msgspec.Struct; make Struct a dataclass, a TypedDict or a pydantic model"),
    "a Struct in a union": (Item | Struct, "mixes types of pydantic with Struct, a msgspec.Struct"),
    "an attrs class": (Attrs, "mixes types of pydantic with Attrs, an attrs class; make Attrs a dataclass"),
    "a Field in a Struct": (FieldStruct, "has bounds that cannot be checked: FieldStruct.count needs them as msgspec.Meta ("),
    "annotated-types": (BoundTyped, "BoundTyped.count needs them as msgspec.Meta or pydantic.Field"),
    "pydantic 1": (Old, "is Old, a model of pydantic 1: derive it from the BaseModel of pydantic 2"),
    "pydantic 1 in a list": (list[Old] | None, "is Old, a model of pydantic 1"),
    "an undefined type": (Undefined, "has a type that is not defined: name 'Missing' is not defined"),
    "bounds of nothing": (Annotated[Any, Field(strict=True)], "has bounds that cannot be checked: Unable to apply constraint 'strict'"),
    "no known type": (Socket, "which is not a JSON type: use a dataclass, a TypedDict, a msgspec.Struct, an attrs class or a pydantic model"),
}  # fmt: skip


@pytest.mark.parametrize(("hint", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_parameter_that_cannot_be_used_says_what_to_do(hint: Any, reason: str) -> None:
    def take(x): ...

    take.__annotations__["x"] = hint
    with pytest.raises(ContractError) as caught:
        Server("shop").tool(take)
    message = str(caught.value)
    assert message.startswith("parameter 'x' of tool 'take' ")
    assert reason in message
    assert message.endswith(f"({location_of(take)})")
    assert "\n" not in message


RESULTS = {
    **UNUSABLE,
    "a computed field": (Computed, "Computed.call is collections.abc.Callable[[], int]; use"),
}


@pytest.mark.parametrize(("hint", "reason"), RESULTS.values(), ids=RESULTS)
def test_a_result_that_cannot_be_used_says_what_to_do(hint: Any, reason: str) -> None:
    def give(): ...

    give.__annotations__["return"] = hint
    with pytest.raises(ContractError) as caught:
        Server("shop").tool(give)
    message = str(caught.value)
    assert message.startswith("the result of tool 'give' ")
    assert reason in message
    assert message.endswith(f"({location_of(give)})")


def test_a_description_in_a_struct_is_no_matter_of_pydantic() -> None:
    def take(x: DescribedStruct): ...

    assert function_tool(take).bind(b'{"x": {"count": 1}}').arguments.x == DescribedStruct(1)


def with_alias(x: Annotated[int, Field(alias="y")]): ...
def with_validation_alias(x: Annotated[Item, Field(validation_alias="y")]): ...
def with_default(x: Annotated[int, Field(default=3)]): ...
def with_factory(x: Annotated[list[int], Field(default_factory=list)]): ...
def with_field(x: int = Field(3, gt=1)): ...
def with_other_default(x: Item = 3): ...  # type: ignore[assignment]
def with_none(x: Item = None): ...  # type: ignore[assignment]
def with_model_for_number(x: int = Closed(a=1)): ...  # type: ignore[assignment]


MISUSED: dict[Callable[..., Any], str] = {
    with_alias: "has a Field with alias; rename the parameter instead",
    with_validation_alias: "has a Field with validation_alias; rename the parameter instead",
    with_default: "has a Field with default; write NAME: TYPE = VALUE instead",
    with_factory: "has a Field with default_factory; write NAME: TYPE = VALUE instead",
    with_field: "has a Field as default; write Annotated[TYPE, Field(...)] as its type",
    with_other_default: "has a default that does not fit its type: must be an object, not an integer",
    with_none: "has a default that does not fit its type: must be an object, not null",
    with_model_for_number: "has a default that is not a JSON value",
}


@pytest.mark.parametrize("function", MISUSED, ids=lambda function: function.__name__)
def test_a_parameter_that_is_misused_says_what_to_write(function: Callable[..., Any]) -> None:
    with pytest.raises(ContractError, match=re.escape(MISUSED[function])) as caught:
        function_tool(function)
    assert str(caught.value).endswith(f"({location_of(function)})")


def test_text_cannot_be_read_as_a_model() -> None:
    def show(item: Item) -> str: ...  # type: ignore[empty-body]

    for build in (function_prompt, lambda function: function_resource(function, "a://{item}")):
        with pytest.raises(ContractError, match="must be a type that can be read from text"):
            build(show)


class Usual(typing.TypedDict, total=False):
    item: typing.Required[Item]
    count: Annotated[int, Field(gt=0)]


class Recursive(typing.TypedDict):
    item: Item
    more: "list[Recursive]"


def test_the_usual_typeddict_takes_models() -> None:
    def take(x: list[Usual]) -> Usual: ...  # type: ignore[empty-body]

    tool = function_tool(take)
    assert tool.bind(b'{"x": [{"item": {"sku": "ab", "quantity": 1}}]}').arguments.x == [
        {"item": Item(sku="ab", quantity=1)}
    ]
    schema = tool.input_schema["$defs"]["Usual"]
    assert schema["required"] == ["item"]
    assert schema["properties"]["count"] == {"type": "integer", "exclusiveMinimum": 0}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it from Python 3.12 on")
def test_a_recursive_typeddict_says_which_one_to_use() -> None:
    def take(x: Recursive): ...

    with pytest.raises(ContractError, match=r"use `typing_extensions\.TypedDict` instead"):
        function_tool(take)


# pydantic is not needed, and not imported


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SERVER = """
import asyncio, sys
from dataclasses import dataclass
from accord import Answer, Server

@dataclass
class Order:
    id: int

server = Server("shop")

@server.tool
def add(order: Order, n: int = 1) -> Answer[Order]:
    return Answer(Order(order.id + n))

@server.prompt
def ask(n: int) -> str:
    return str(n)

@server.resource("shop://{n}")
def read(n: int) -> Order:
    return Order(n)

answer = asyncio.run(server.call("add", {"order": {"id": 1}, "n": "x"}))
print(answer.response.message)
print(asyncio.run(server.call("add", {"order": {"id": 1}})).value)
"""


def test_pydantic_is_not_imported_when_it_is_not_used(tmp_path: Path) -> None:
    found = run(
        f"{SERVER}\nprint([n for n in sys.modules if n.startswith(('pydantic', 'attr'))])", tmp_path
    )
    assert found.splitlines() == [
        "Invalid arguments for add: n must be an integer, not a string",
        "{'id': 2}",
        "[]",
    ]


def test_accord_works_where_pydantic_is_absent(tmp_path: Path) -> None:
    blocked = "import sys\nsys.modules['pydantic'] = sys.modules['pydantic_core'] = None\n"
    assert run(blocked + SERVER, tmp_path).splitlines()[-1] == "{'id': 2}"


def test_pydantic_that_is_imported_for_something_else_changes_nothing(tmp_path: Path) -> None:
    found = run(f"import pydantic\n{SERVER}", tmp_path)
    assert found.splitlines()[-1] == "{'id': 2}"
