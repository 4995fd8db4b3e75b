"""Every kind of callable as a tool."""

import asyncio
import functools
from typing import Any

import msgspec
import pytest

import wire
from accord import Server
from accord.sources.functions import function_tool
from peer import Peer
from sources.functions.sample_types import arguments, received


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
    """Drive the coroutine by hand: a loop may already be running."""
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
def test_every_kind_of_callable_can_be_a_tool(function: Any) -> None:
    server = Server("shop")
    server.tool(name="add")(function)
    peer = Peer(server, wire.STATELESS)
    (listed,) = peer.ask("tools/list")["result"]["tools"]
    data, _with_details = listed.pop("outputSchema")["anyOf"]
    assert data == {"type": "integer"}
    assert listed == {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
        },
    }
    assert peer.call("add", a=3)["result"]["structuredContent"] == 5
    assert peer.call("add", a=3, b=4)["result"]["structuredContent"] == 7


def test_a_partial_does_not_require_bound_arguments() -> None:
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


def test_the_decorated_function_is_unchanged() -> None:
    server = Server("shop")
    assert server.tool(add) is add
    assert server.tool(name="plus")(add) is add
