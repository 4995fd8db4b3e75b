"""Dependencies: hidden from the schema, run once for each call, closed after it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from typing import Annotated, Any

import pytest

from accord import Answer, Client, Context, ContractError, Depends, Problem, Server

Events = list[str]


def value_of(server: Server, name: str, **arguments: Any) -> Any:
    data = asyncio.run(server.call(name, arguments)).response.data
    return data["result"] if isinstance(data, dict) else data


def error_of(server: Server, name: str, **arguments: Any) -> Any:
    reading = asyncio.run(server.call(name, arguments))
    assert reading.is_failure
    return reading.response.message


def kinds(events: Events) -> dict[str, Callable[..., Any]]:
    """Return a dependency of each kind; each provides 7."""

    def plain() -> int:
        events.append("open")
        return 7

    async def coroutine() -> int:
        await asyncio.sleep(0)
        events.append("open")
        return 7

    def generator() -> Iterator[int]:
        events.append("open")
        try:
            yield 7
        except BaseException as error:
            events.append(type(error).__name__)
            raise
        finally:
            events.append("close")

    async def async_generator() -> AsyncIterator[int]:
        await asyncio.sleep(0)
        events.append("open")
        try:
            yield 7
        except BaseException as error:
            events.append(type(error).__name__)
            raise
        finally:
            await asyncio.sleep(0)
            events.append("close")

    class Provider:
        def __call__(self) -> int:
            return plain()

    class AsyncCallable:
        async def __call__(self) -> int:
            return await coroutine()

    return {
        "plain": plain,
        "coroutine": coroutine,
        "generator": generator,
        "async_generator": async_generator,
        "context_manager": contextmanager(generator),
        "async_context_manager": asynccontextmanager(async_generator),
        "callable": Provider(),
        "async_callable": AsyncCallable(),
        "partial": partial(plain),
        "async_partial": partial(coroutine),
        "class": lambda: 7,
    }


KINDS = list(kinds([]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "def"])
def test_a_dependency_of_each_kind(kind: str, is_async: bool) -> None:
    events: Events = []
    provide = kinds(events)[kind]
    server = Server("shop")

    def use(number: int, seven: Annotated[int, Depends(provide)]) -> int:
        events.append("use")
        return number * seven

    async def use_async(number: int, seven: Annotated[int, Depends(provide)]) -> int:
        return use(number, seven)

    server.tool(name="use")(use_async if is_async else use)
    assert server.tools["use"].input_schema["properties"].keys() == {"number"}
    for _ in range(2):
        assert value_of(server, "use", number=6) == 42
    once = [each for each in events if each != "open" or kind != "class"]
    expected = ["open", "use", "close"] if "close" in events else ["open", "use"]
    assert once == (expected if kind != "class" else ["use"]) * 2


@pytest.mark.parametrize("kind", ["generator", "async_generator", "context_manager"])
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "def"])
@pytest.mark.parametrize("error", [Problem.not_found("gone"), ValueError("secret")])
def test_a_generator_sees_the_exception(kind: str, is_async: bool, error: Exception) -> None:
    events: Events = []
    provide = kinds(events)[kind]
    server = Server("shop")

    def use(seven: Annotated[int, Depends(provide)]) -> None:
        raise error

    async def use_async(seven: Annotated[int, Depends(provide)]) -> None:
        raise error

    server.tool(name="use")(use_async if is_async else use)
    shown = error_of(server, "use")
    assert shown == ("gone" if isinstance(error, Problem) else "Internal error")
    assert events == ["open", type(error).__name__, "close"]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "def"])
def test_dependencies_are_shared_within_a_call_and_closed_in_reverse(is_async: bool) -> None:
    events: Events = []

    def connection(ctx: Context) -> Iterator[str]:
        events.append(f"connect for {ctx.tool}")
        yield "connection"
        events.append("disconnect")

    async def session(
        on: Annotated[str, Depends(connection)], retries: int = 3
    ) -> AsyncIterator[str]:
        events.append("begin")
        yield f"session {retries} on {on}"
        events.append("end")

    def cursor(on: Annotated[str, Depends(connection)]) -> Iterator[str]:
        events.append("cursor")
        yield f"cursor on {on}"
        events.append("close cursor")

    server = Server("shop")

    def use(
        a: Annotated[str, Depends(session)],
        b: Annotated[str, Depends(cursor)],
        *,
        c: Annotated[str, Depends(connection)],
        word: str,
    ) -> list[str]:
        return [a, b, c, word]

    async def use_async(
        a: Annotated[str, Depends(session)],
        b: Annotated[str, Depends(cursor)],
        c: str = Depends(connection),  # type: ignore[assignment]
        word: str = "",
    ) -> list[str]:
        return use(a, b, c=c, word=word)

    server.tool(name="use")(use_async if is_async else use)
    data = value_of(server, "use", word="w")
    assert list(data) == [
        *("session 3 on connection", "cursor on connection", "connection", "w"),
    ]
    assert events == [
        *("connect for use", "begin", "cursor", "close cursor", "end", "disconnect"),
    ]


class Pool:
    """A pool whose sessions are context managers, as most libraries have it."""

    def __init__(self) -> None:
        self.events: Events = []

    @contextmanager
    def session(self) -> Iterator[int]:
        self.events.append("open")
        yield 7
        self.events.append("close")

    @asynccontextmanager
    async def async_session(self) -> AsyncIterator[int]:
        self.events.append("open")
        yield 7
        self.events.append("close")


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("name", ["session", "async_session"])
@pytest.mark.parametrize("is_partial", [True, False])
def test_a_context_manager_may_be_a_method(name: str, is_async: bool, is_partial: bool) -> None:
    server, pool = Server("shop"), Pool()
    method = getattr(pool, name)
    use(server, partial(method) if is_partial else method, is_async=is_async)
    assert value_of(server, "use") == 7
    assert pool.events == ["open", "close"]


@pytest.mark.parametrize("is_async", [True, False])
def test_the_decorator_of_a_generator_runs(is_async: bool) -> None:
    server, events = Server("shop"), Events()

    def traced(function: Callable[[], Iterator[int]]) -> Callable[[], Iterator[int]]:
        @wraps(function)
        def trace() -> Iterator[int]:
            events.append("traced")
            return function()

        return trace

    @traced
    def session() -> Iterator[int]:
        yield 7

    use(server, session, is_async=is_async)
    assert value_of(server, "use") == 7
    assert events == ["traced"]


def use(server: Server, dependency: Callable[..., Any], *, is_async: bool) -> None:
    """Add a tool that returns the value of a dependency."""
    if is_async:

        async def use(value: Annotated[int, Depends(dependency)]) -> int:
            return value

        server.tool(use)
    else:

        def use_in_thread(value: Annotated[int, Depends(dependency)]) -> int:
            return value

        server.tool(name="use")(use_in_thread)


def test_plain_dependencies_run_in_the_thread_of_a_plain_tool() -> None:
    server = Server("shop")

    def here() -> int:
        return threading.get_ident()

    async def on_loop() -> int:
        return threading.get_ident()

    @server.tool
    def use(a: Annotated[int, Depends(here)], b: Annotated[int, Depends(on_loop)]) -> list[bool]:
        return [a == threading.get_ident(), b == threading.get_ident()]

    assert list(value_of(server, "use")) == [True, False]


def test_prompts_and_resources_have_dependencies() -> None:
    server = Server("shop")

    async def greeting() -> str:
        return "Hello"

    @server.prompt
    def greet(name: str, greeting: Annotated[str, Depends(greeting)]) -> str:
        return f"{greeting} {name}"

    @server.resource("shop://{name}")
    async def card(name: str, greeting: Annotated[str, Depends(greeting)]) -> str:
        return f"{greeting} {name}"

    async def main() -> tuple[Any, Any]:
        async with Client(server) as client:
            return await client.get_prompt("greet", {"name": "Ada"}), await client.read_resource(
                "shop://Ada"
            )

    prompt, resource = map(str, asyncio.run(main()))
    assert "Hello Ada" in prompt
    assert "Hello Ada" in resource


def test_dependencies_see_the_state_and_run_after_the_arguments_are_checked() -> None:
    events: Events = []

    def provide() -> int:
        events.append("open")
        return 1

    server = Server("shop")

    @server.tool
    async def use(number: int, one: Annotated[int, Depends(provide)]) -> int:
        return number + one

    assert "must be an integer" in error_of(server, "use", number="x")
    assert events == []
    assert value_of(server, "use", number=1, one=5) == 2  # a caller cannot provide it


class TestOverride:
    def server(self) -> tuple[Server, Any]:
        def real() -> str:
            return "real"

        def outer(inner: Annotated[str, Depends(real)]) -> str:
            return f"outer of {inner}"

        server = Server("shop")

        @server.tool
        def both(a: Annotated[str, Depends(real)], b: Annotated[str, Depends(outer)]) -> list[str]:
            return [a, b]

        return server, real

    def values(self, server: Server) -> list[str]:
        return list(value_of(server, "both"))

    def test_at_any_depth_until_the_end_of_the_block(self) -> None:
        server, real = self.server()
        with server.override(real, lambda: "fake"):
            assert self.values(server) == ["fake", "outer of fake"]
            with server.override(real, lambda: "fake 2"):
                assert self.values(server) == ["fake 2", "outer of fake 2"]
            assert self.values(server) == ["fake", "outer of fake"]
        assert self.values(server) == ["real", "outer of real"]

    def test_by_another_kind_of_function(self) -> None:
        server, real = self.server()
        events: Events = []

        async def fake() -> AsyncIterator[str]:
            await asyncio.sleep(0)
            yield "async"
            events.append("closed")

        server.override(real, fake)
        assert self.values(server) == ["async", "outer of async"]
        assert events == ["closed"]

    def test_of_an_unknown_dependency_is_an_error(self) -> None:
        server, _ = self.server()
        with pytest.raises(ContractError, match="depend on outer, real"):
            server.override(self.server, lambda: "x")

    def test_by_a_function_that_does_not_fit_changes_nothing(self) -> None:
        server, real = self.server()

        def fake(url: str) -> str:
            return url

        with pytest.raises(ContractError, match="'url' of dependency 'fake' has no value"):
            server.override(real, fake)
        assert self.values(server) == ["real", "outer of real"]

    def test_with_a_context_manager(self) -> None:
        @contextmanager
        def real() -> Iterator[str]:
            yield "real"

        server = Server("shop")

        @server.tool
        async def use(a: Annotated[str, Depends(real)]) -> list[str]:
            return [a]

        with server.override(real, lambda: "fake"):
            assert list(value_of(server, "use")) == ["fake"]


def _no_value(url: str) -> None: ...
def _first(b: "Annotated[int, Depends(_second)]") -> int: ...  # type: ignore[empty-body]
def _second(a: Annotated[int, Depends(_first)]) -> int: ...  # type: ignore[empty-body]
def _positional(ctx: Context, /) -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Depends(3), "Depends takes a function, not 3"),  # type: ignore[arg-type]
        (lambda: _tool(Depends), "write Depends\\(get_session\\)"),
        (
            lambda: _tool(Depends(_no_value)),
            r"parameter 'url' of dependency '_no_value' has no value.*test_dependencies.py:\d+",
        ),
        (lambda: _tool(Depends(_first)), "form a cycle: _first -> _second -> _first"),
        (lambda: _tool(Depends(_positional)), "positional-only"),
    ],
)
def test_misuse_is_an_error_at_start(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        make()


def _tool(depends: Any) -> None:
    def use(a: int) -> None: ...

    use.__annotations__["a"] = Annotated[int, depends]
    Server("shop").tool(use)


def _yields_nothing() -> Iterator[int]:
    yield from ()


def _yields_twice() -> Iterator[int]:
    yield 1
    yield 2


async def _async_yields_twice() -> AsyncIterator[int]:
    yield 1
    yield 2


def _fails_at_the_end() -> Iterator[int]:
    yield 1
    raise ValueError("at the end")


@pytest.mark.parametrize(
    ("function", "logged"),
    [
        (_yields_nothing, "'_yields_nothing' yielded nothing"),
        (_yields_twice, "'_yields_twice' yielded twice"),
        (_async_yields_twice, "'_async_yields_twice' yielded twice"),
        (_fails_at_the_end, "at the end"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "def"])
def test_a_faulty_generator_is_masked_and_logged(
    function: Any, logged: str, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    events: Events = []
    other = kinds(events)["generator"]
    server = Server("shop")

    def use(a: Annotated[int, Depends(other)], b: Annotated[int, Depends(function)]) -> int:
        return a + b

    async def use_async(
        a: Annotated[int, Depends(other)], b: Annotated[int, Depends(function)]
    ) -> int:
        return a + b

    server.tool(name="use")(use_async if is_async else use)
    assert error_of(server, "use") == "Internal error"
    assert logged in caplog.text
    assert [events[0], events[-1]] == ["open", "close"]
    is_apart = function is _async_yields_twice and not is_async  # the other one is in the thread
    assert len(events) == (2 if is_apart else 3)  # else it is closed with the exception


@pytest.mark.parametrize("swallows", [True, False])
def test_a_generator_may_replace_the_exception_but_not_swallow_it(swallows: bool) -> None:
    def guard() -> Iterator[None]:
        try:
            yield
        except KeyError as error:
            if not swallows:
                raise Problem.not_found("translated") from error

    server = Server("shop")

    @server.tool
    async def use(a: Annotated[None, Depends(guard)]) -> Answer[int]:
        raise KeyError("x")

    assert error_of(server, "use") == ("Internal error" if swallows else "translated")


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "def"])
def test_a_cancelled_call_closes_its_dependencies(is_async: bool) -> None:
    events: Events = []
    provide = kinds(events)["async_generator"]
    server = Server("shop")
    release = threading.Event()

    async def use_async(seven: Annotated[int, Depends(provide)]) -> None:
        await asyncio.sleep(60)

    def use(seven: Annotated[int, Depends(provide)], ctx: Context) -> None:
        while not ctx.cancelled:
            release.wait(0.01)
        events.append("thread ended")
        release.set()

    server.tool(name="use", timeout=0.5)(use_async if is_async else use)
    assert "took longer" in error_of(server, "use")
    assert events[:3] == ["open", "CancelledError", "close"] or "thread ended" in events
    if not is_async:
        assert release.wait(10)
