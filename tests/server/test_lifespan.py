"""Lifespans that cannot be one: an error at start that says where, and what to write instead."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from accord import ContractError, Server

FILE = Path(__file__)


async def bare_async_generator(server: Server) -> AsyncIterator[int]:
    yield 1


def bare_generator(server: Server) -> Iterator[int]:
    yield 1


async def coroutine_function(server: Server) -> int:
    return 1


@asynccontextmanager
async def without_a_parameter() -> AsyncIterator[int]:
    yield 1


@asynccontextmanager
async def with_two_parameters(server: Server, path: str) -> AsyncIterator[int]:
    yield 1


@contextmanager
def by_keyword_only(*, server: Server) -> Iterator[int]:
    yield 1


class WithoutParameter:
    async def __aenter__(self) -> int:
        return 1

    async def __aexit__(self, *_: object) -> None:
        pass


class Callable:
    async def __call__(self, server: Server) -> int:
        return 1


MISUSES: dict[str, tuple[Any, str]] = {
    "an async generator function": (bare_async_generator, "decorate it with @asynccontextmanager"),
    "a generator function": (bare_generator, "decorate it with @contextmanager"),
    "a coroutine function": (coroutine_function, "@asynccontextmanager and yield the state"),
    "a partial of one": (partial(coroutine_function), "@asynccontextmanager and yield the state"),
    "an object that is one": (Callable(), "@asynccontextmanager and yield the state"),
    "no parameter": (without_a_parameter, "write `async def open_shop(server)`"),
    "two parameters": (with_two_parameters, "write `async def open_shop(server)`"),
    "a keyword": (by_keyword_only, "write `async def open_shop(server)`"),
    "a class without parameters": (WithoutParameter, "write `async def open_shop(server)`"),
}


@pytest.mark.parametrize("case", MISUSES)
def test_it_must_be_a_function_that_returns_a_context_manager_for_the_server(case: str) -> None:
    function, advice = MISUSES[case]
    with pytest.raises(ContractError) as raised:
        Server("shop", lifespan=function)
    assert advice in str(raised.value)
    assert raised.value.location is not None
    assert FILE.name in raised.value.location
    assert str(raised.value).endswith(f"({raised.value.location})")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (nullcontext(), "a context manager that exists already"),
        (without_a_parameter(), "a context manager that exists already"),
        (3, "3"),
        ("shop", "'shop'"),
    ],
    ids=["nullcontext", "entered", "number", "text"],
)
def test_it_must_be_callable(given: Any, named: str) -> None:
    with pytest.raises(ContractError, match="lifespan=open_shop") as raised:
        Server("shop", lifespan=given)
    assert f"not {named};" in str(raised.value)


def returns_nothing(server: Server) -> None:
    pass


def returns_a_coroutine(server: Server) -> Any:
    return coroutine_function(server)


def returns_an_async_generator(server: Server) -> Any:
    return bare_async_generator(server)


def returns_a_generator(server: Server) -> Any:
    return bare_generator(server)


@asynccontextmanager
async def never_yields(server: Server) -> AsyncIterator[int]:
    if server is None:
        yield 1


@contextmanager
def never_yields_in_a_thread(server: Server) -> Iterator[int]:
    if server is None:
        yield 1


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (returns_nothing, "returned NoneType, not a context manager; decorate the function with"),
        (returns_a_coroutine, "returned a coroutine; decorate it with @asynccontextmanager"),
        (returns_an_async_generator, "decorate the function with @asynccontextmanager"),
        (returns_a_generator, "decorate the function with @contextmanager"),
        (never_yields, "does not yield; yield the state once"),
        (never_yields_in_a_thread, "does not yield; yield the state once"),
    ],
)
def test_it_must_return_a_context_manager_that_yields_once(function: Any, advice: str) -> None:
    server = Server("shop", lifespan=function)
    with pytest.raises(ContractError) as raised:
        asyncio.run(server.call("anything"))
    assert advice in str(raised.value)
    line = function.__wrapped__ if hasattr(function, "__wrapped__") else function
    assert f"{FILE.name}:{line.__code__.co_firstlineno}" in str(raised.value)


class Shop:
    """A class as lifespan."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def __aenter__(self) -> str:
        return self.server.identity.name

    async def __aexit__(self, *_: object) -> None:
        pass

    def of(self, server: Server) -> "Shop":
        return Shop(server)


@asynccontextmanager
async def with_a_path(path: str, server: Server) -> AsyncIterator[str]:
    yield f"{path} of {server.identity.name}"


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (Shop, "shop"),
        (Shop(Server("other")).of, "shop"),
        (partial(with_a_path, "a.db"), "a.db of shop"),
        (lambda server: nullcontext(server.identity.name), "shop"),
        (lambda _: ExitStack(), ExitStack),
        (lambda _: AsyncExitStack(), AsyncExitStack),
    ],
    ids=["class", "method", "partial", "lambda", "exit stack", "async exit stack"],
)
def test_any_function_that_returns_a_context_manager_will_do(given: Any, state: Any) -> None:
    async def run() -> Any:
        async with Server("shop", lifespan=given).lifespan() as found:
            return found

    found = asyncio.run(run())
    assert found == state if isinstance(state, str) else isinstance(found, state)
