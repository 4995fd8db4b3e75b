"""Middleware: around tools, prompts and resources, on every way of serving."""

import asyncio
import gc
import logging
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from accord import (
    Answer,
    Client,
    Context,
    ContractError,
    Depends,
    MCPError,
    Problem,
    Reading,
    Server,
)
from accord import middleware as ready
from accord.middleware import Call, Next


def data_of(server: Server, name: str, **arguments: Any) -> Any:
    data = asyncio.run(server.call(name, arguments)).response.data
    return data["result"] if isinstance(data, dict) else data


def message_of(server: Server, name: str, **arguments: Any) -> str | None:
    reading = asyncio.run(server.call(name, arguments))
    assert reading.is_failure
    return reading.response.message


def shop() -> Server:
    server = Server("shop")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool(read_only=True)
    def subtract(a: int, b: int) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return a - b

    @server.tool
    async def fail() -> int:
        raise ValueError("secret")

    @server.tool
    def refuse() -> int:
        raise Problem.conflict("taken")

    @server.prompt
    def greet(name: str) -> str:
        return f"Hello {name}"

    @server.resource("shop://{name}")
    async def card(name: str) -> str:
        return f"card of {name}"

    return server


def test_it_runs_around_tools_prompts_and_resources_outermost_first() -> None:
    server, seen = shop(), list[str]()

    def named(label: str) -> ready.Middleware:
        async def note(call: Call, following: Next) -> Answer[Any]:
            seen.append(f"{label} {call.kind} {call.name} {dict(call.arguments)}")
            answer = await following(call)
            seen.append(f"{label} {answer.data}")
            return answer

        return note

    server.middleware(named("outer"))
    server.middleware(named("inner"))

    async def main() -> None:
        async with Client(server) as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            await client.call_tool("subtract", {"a": 1, "b": 2})
            await client.get_prompt("greet", {"name": "Ada"})
            await client.read_resource("shop://Ada")

    asyncio.run(main())
    assert seen == [
        *("outer tool add {'a': 1, 'b': 2}", "inner tool add {'a': 1, 'b': 2}"),
        *("inner 3", "outer 3"),
        *("outer tool subtract {'a': 1, 'b': 2}", "inner tool subtract {'a': 1, 'b': 2}"),
        *("inner -1", "outer -1"),
        *("outer prompt greet {'name': 'Ada'}", "inner prompt greet {'name': 'Ada'}"),
        *("inner Hello Ada", "outer Hello Ada"),
        *("outer resource shop://Ada {'name': 'Ada'}", "inner resource shop://Ada {'name': 'Ada'}"),
        *("inner card of Ada", "outer card of Ada"),
    ]


@pytest.mark.parametrize("name", ["add", "subtract"])
def test_it_changes_arguments_and_answers(name: str) -> None:
    server = shop()

    @server.middleware
    async def change(call: Call, following: Next) -> Answer[Any]:
        answer = await following(call.with_arguments(b=10))
        return Answer(answer.data * 2, warnings=["doubled"])

    reading = asyncio.run(server.call(name, {"a": 1, "b": 2}))
    assert reading.response.data == {"result": 22 if name == "add" else -18}
    assert [each.message for each in reading.warnings] == ["doubled"]


def test_changed_arguments_and_answers_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    server = shop()

    @server.middleware
    async def change(call: Call, following: Next) -> Answer[Any]:
        if call.name == "add":
            return await following(call.with_arguments(a="x"))
        return Answer("not a number")

    assert message_of(server, "add", a=1, b=2) == (
        "Invalid arguments for add: a must be an integer, not a string"
    )
    assert message_of(server, "subtract", a=1, b=2) == "Internal error"
    assert "tool subtract failed" in caplog.text


def test_it_refuses_with_a_problem_in_every_revision() -> None:
    server = shop()

    @server.middleware
    async def refuse(call: Call, following: Next) -> Answer[Any]:
        raise Problem.authorization("not you")

    async def main(revision: str) -> None:
        async with Client(server, revision=revision) as client:
            reading = await client.call_tool("add", {"a": 1, "b": 2})
            assert (reading.is_failure, reading.response.message) == (True, "not you")
            for act in (
                client.get_prompt("greet", {"name": "Ada"}),
                client.read_resource("shop://Ada"),
            ):
                with pytest.raises(MCPError, match="not you"):
                    await act

    for revision in ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"):
        asyncio.run(main(revision))


def test_invalid_arguments_are_a_protocol_error_in_old_revisions_with_middleware_too() -> None:
    server = shop()

    @server.middleware
    async def nothing(call: Call, following: Next) -> Answer[Any]:
        return await following(call)

    async def main() -> None:
        async with Client(server, revision="2025-06-18") as client:
            with pytest.raises(MCPError, match="a must be an integer"):
                await client.call_tool("add", {"a": "x", "b": 2})

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "seen"),
    [("fail", "ValueError"), ("refuse", "Problem"), ("missing", None)],
)
def test_it_sees_the_exception(name: str, seen: str | None) -> None:
    server, found = shop(), list[str]()

    @server.middleware
    async def watch(call: Call, following: Next) -> Answer[Any]:
        try:
            return await following(call)
        except Exception as error:
            found.append(type(error).__name__)
            raise

    async def main() -> None:
        async with Client(server) as client:
            try:
                assert (await client.call_tool(name)).is_failure
            except MCPError:
                assert name == "missing"

    asyncio.run(main())
    assert found == ([] if seen is None else [seen])


def test_it_can_answer_instead_of_a_failure_and_call_twice() -> None:
    server, calls = Server("shop"), list[int]()

    @server.tool
    def flaky() -> int:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError
        return len(calls)

    @server.middleware
    async def retry(call: Call, following: Next) -> Answer[Any]:
        for _ in range(2):
            try:
                return await following(call)
            except ConnectionError:
                await asyncio.sleep(0)
        return await following(call)

    assert data_of(server, "flaky") == 3


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, SystemExit, RuntimeError])
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("has_client", [True, False])
def test_any_error_of_a_tool_is_masked(
    error: type[BaseException], is_async: bool, has_client: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("shop")
    server.middleware(ready.timeout(60))

    async def fail_async() -> None:
        raise error

    def fail() -> None:
        raise error

    server.tool(name="fail")(fail_async if is_async else fail)

    async def main() -> Reading:
        if not has_client:
            return await server.call("fail")
        async with Client(server) as client:
            return await client.call_tool("fail")

    assert asyncio.run(asyncio.wait_for(main(), 30)).response.message == "Internal error"
    assert "tool fail failed" in caplog.text


async def _none(call: Call, following: Next) -> Any:
    await following(call)


async def _raises(call: Call, following: Next) -> Any:
    raise RuntimeError("middleware is broken")


@pytest.mark.parametrize(
    ("function", "logged"),
    [(_none, "returned NoneType, not an Answer"), (_raises, "middleware is broken")],
)
def test_a_faulty_middleware_is_masked_and_logged(
    function: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = shop()
    server.middleware(function)
    assert message_of(server, "add", a=1, b=2) == "Internal error"
    assert logged in caplog.text


def _plain(call: Call, following: Next) -> Any: ...
async def _one(call: Call) -> Any: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_plain, r"'_plain' must be async; write async def .*test_middleware.py:\d+"),
        (_one, r"'_one' must take a call and the next function.*test_middleware.py:\d+"),
        (3, "3 is not middleware"),
        (Answer, "must be async"),
    ],
)
def test_misuse_is_an_error_at_start(function: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        shop().middleware(function)


def test_a_cancelled_call_cancels_its_middleware_and_thread() -> None:
    server = Server("shop")
    events: list[str] = []
    started, ended = threading.Event(), threading.Event()

    @server.tool
    def wait(ctx: Context) -> None:
        started.set()
        while not ctx.cancelled:
            time.sleep(0.005)
        ended.set()

    @server.middleware
    async def watch(call: Call, following: Next) -> Answer[Any]:
        try:
            return await following(call)
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def main() -> None:
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool("wait"))
            await asyncio.to_thread(started.wait, 10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await asyncio.to_thread(ended.wait, 10)

    asyncio.run(main())
    assert events == ["cancelled"]


def test_progress_and_questions_work_inside_middleware() -> None:
    server = Server("shop")

    @server.tool
    async def order(ctx: Context) -> list[str]:
        answer = await ctx.elicit("How many?", int)
        await ctx.progress(1, 2)
        return [f"{answer.data}"]

    @server.middleware
    async def confirm(call: Call, following: Next) -> Answer[Any]:
        sure = await call.context.elicit("Sure?", bool)
        if not sure.data:
            raise Problem.conflict("not confirmed")
        return await following(call)

    async def main(revision: str) -> Any:
        def respond(request: Any) -> Any:
            return {"value": True if request.message == "Sure?" else 7}

        async with Client(server, revision=revision, on_elicit=respond) as client:
            data = (await client.call_tool("order")).response.data
            return data["result"] if isinstance(data, dict) else data

    for revision in ("2025-11-25", "2026-07-28"):
        assert list(asyncio.run(main(revision))) == ["7"]


def test_the_thread_limit_refuses_calls_that_wait_for_hanging_ones() -> None:
    server, release = Server("shop"), threading.Event()

    @server.tool(timeout=0.2)
    def hang() -> int:
        release.wait(60)
        return 1

    @server.tool
    def quick() -> int:
        return 2

    async def main() -> list[str | None]:
        async with Client(server) as client:
            messages: list[str | None] = []
            for _ in range(6):  # more calls than threads can be replaced
                calls = [client.call_tool("hang") for _ in range(40)]
                messages += [each.response.message for each in await asyncio.gather(*calls)]
            release.set()
            while (await client.call_tool("quick")).is_failure:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            return messages

    messages = asyncio.run(main())
    assert len(messages) == 240
    found = {str(each).partition(";")[0] for each in messages}
    expected = {"hang took longer than 0.2 seconds and was ended", "Too many calls are open"}
    assert found - {"Too many calls hang"} == expected  # some may be queued


@pytest.mark.parametrize("is_async", [True, False])
def test_a_cancelled_call_runs_nothing_more(is_async: bool) -> None:
    server, runs = Server("shop"), list[str]()
    started, ended = asyncio.Event(), asyncio.Event()

    async def delete_async(what: str = "everything") -> None:
        runs.append(what)

    def delete(what: str = "everything") -> None:
        runs.append(what)

    server.tool(name="delete")(delete_async if is_async else delete)

    @server.middleware
    async def stubborn(call: Call, following: Next) -> Answer[Any]:
        try:
            started.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            try:
                return await following(call)
            finally:
                ended.set()
        raise AssertionError

    async def main() -> None:
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool("delete", {"what": "one"}))
            await started.wait()
            call.cancel()
            await ended.wait()

    asyncio.run(main())
    assert runs == []


def test_arguments_can_only_be_changed_for_the_next_function() -> None:
    server = shop()

    @server.middleware
    async def change(call: Call, following: Next) -> Answer[Any]:
        with pytest.raises(TypeError):
            call.arguments["a"] = 5  # type: ignore[index]
        changed = call.with_arguments(b=10)
        assert (dict(call.arguments), dict(changed.arguments)) == (
            {"a": 1, "b": 2},
            {"a": 1, "b": 10},
        )
        return await following(changed)

    assert data_of(server, "add", a=1, b=2) == 11


def test_arguments_that_are_not_changed_stay_as_sent() -> None:
    server, seen = Server("shop"), list[Any]()

    @server.tool
    def pay(amount: Decimal, note: str = "") -> str:
        return f"{amount} {note}"

    @server.middleware
    async def change(call: Call, following: Next) -> Answer[Any]:
        seen.append(call.arguments["amount"])
        return await following(call.with_arguments(note="paid"))

    async def main(amount: str) -> Reading:
        async with Client(server) as client:
            return await client.call_tool("pay", {"amount": msgspec.Raw(amount.encode())})

    assert asyncio.run(main("0.10000000000000000000001")).value == "0.10000000000000000000001 paid"
    assert asyncio.run(main("123456789012345678901234567890")).value.endswith("7890 paid")


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_a_number_out_of_range_is_an_invalid_argument(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = shop()

    @server.middleware
    async def look(call: Call, following: Next) -> Answer[Any]:
        assert call.arguments["a"] == float("inf")
        return await following(call)

    async def main() -> str | None:
        async with Client(server, revision=revision) as client:
            try:
                reading = await client.call_tool("add", {"a": msgspec.Raw(b"1e999"), "b": 2})
            except MCPError as error:
                return error.message
            return reading.response.message

    assert "Invalid arguments for add: " in str(asyncio.run(main()))
    assert not caplog.records


def test_next_may_run_twice_at_once() -> None:
    server = Server("shop")

    @server.tool
    async def wait(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return f"{seconds:g} s"

    @server.middleware
    async def both(call: Call, following: Next) -> Answer[Any]:
        slow = call.with_arguments(seconds=0.02, unknown=1)
        first, second = await asyncio.gather(following(call), following(slow))
        assert (len(first.warnings), len(second.warnings)) == (0, 1)
        return first if first.data < second.data else second

    reading = asyncio.run(server.call("wait", {"seconds": 0}))
    assert (reading.value, reading.warnings) == ("0 s", ())


def test_a_resource_in_a_thread_sees_its_time_limit() -> None:
    server, ended = Server("shop"), threading.Event()

    @server.resource("shop://slow")
    def slow(ctx: Context) -> str:
        while not ctx.cancelled:
            time.sleep(0.005)
        ended.set()
        return ""

    server.middleware(ready.timeout(0.5))

    async def main() -> None:
        async with Client(server) as client:
            with pytest.raises(MCPError, match="took longer"):
                await client.read_resource("shop://slow")
            assert await asyncio.to_thread(ended.wait, 10)

    asyncio.run(main())


class TestContinuation:
    """An answer that was cut continues through the middleware with the same arguments."""

    def server(self) -> Server:
        server = Server("shop", max_bytes=1_024, read_more=True)

        @server.tool(read_only=True)
        def with_cursor(prefix: str = "a", cursor: str | None = None) -> list[str]:
            return [f"{prefix}{number:03}" for number in range(300)]

        @server.tool(read_only=True)
        async def without_cursor(prefix: str = "a") -> list[str]:
            return [f"{prefix}{number:03}" for number in range(300)]

        return server

    def pages(self, server: Server, tool: str, repeats: int) -> list[str]:
        """Return the answer from all its pages, each of them read so many times."""

        async def main() -> list[str]:
            found: list[str] = []
            async with Client(server) as client:
                name, arguments = tool, dict[str, Any]()
                while True:
                    for _ in range(repeats):
                        reading = await client.call_tool(name, arguments)
                    assert isinstance(reading.value, list)
                    found += reading.value
                    cursor = reading.page and reading.page.cursor
                    if cursor is None:
                        return found
                    name = tool if tool == "with_cursor" else "read_more"
                    arguments = {"cursor": cursor}

        return asyncio.run(main())

    @pytest.mark.parametrize("tool", ["with_cursor", "without_cursor"])
    def test_of_a_cached_answer(self, tool: str) -> None:
        server, runs = self.server(), list[str]()
        server.middleware(ready.cache(1_000))

        @server.middleware
        async def count(call: Call, following: Next) -> Answer[Any]:
            runs.append(call.name)
            return await following(call)

        assert self.pages(server, tool, 2) == [f"a{number:03}" for number in range(300)]
        assert runs == [tool]

    @pytest.mark.parametrize("tool", ["with_cursor", "without_cursor"])
    def test_of_an_answer_to_changed_arguments(self, tool: str) -> None:
        server = self.server()

        @server.middleware
        async def change(call: Call, following: Next) -> Answer[Any]:
            prefix = call.arguments.get("prefix", "a")
            return await following(call.with_arguments(prefix=f"{prefix}b"))

        assert self.pages(server, tool, 1) == [f"ab{number:03}" for number in range(300)]

    def test_a_cursor_that_is_not_ours_is_an_invalid_argument(self) -> None:
        server = self.server()
        server.middleware(ready.cache(1_000))
        message = str(message_of(server, "with_cursor", cursor="rest.accord.x"))
        assert "cursor" in message


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class TestRateLimit:
    def test_it_refuses_the_calls_above_the_rate_and_says_when(self) -> None:
        clock, server = Clock(), shop()
        server.middleware(ready.rate_limit(2, per=10, clock=clock))
        assert data_of(server, "add", a=1, b=2) == 3
        assert data_of(server, "subtract", a=1, b=2) == -1
        reading = asyncio.run(server.call("add", {"a": 1, "b": 2}))
        assert reading.response.error is not None
        assert reading.response.error.code == "RATE_LIMITED"
        assert "2 in 10 s" in (reading.response.message or "")
        clock.now += 5
        assert data_of(server, "add", a=1, b=2) == 3
        assert "Too many calls" in str(message_of(server, "add", a=1, b=2))
        clock.now += 1000
        assert [data_of(server, "add", a=1, b=2) for _ in range(2)] == [3, 3]
        assert "Too many calls" in str(message_of(server, "add", a=1, b=2))

    def test_a_key_of_its_own(self) -> None:
        server = shop()
        server.middleware(ready.rate_limit(1, per=1000, key=lambda call: call.name))
        assert data_of(server, "add", a=1, b=2) == 3
        assert data_of(server, "subtract", a=1, b=2) == -1
        assert "Too many calls" in str(message_of(server, "add", a=1, b=2))


class TestCache:
    def count(self, server: Server) -> list[str]:
        calls: list[str] = []

        @server.middleware
        async def count(call: Call, following: Next) -> Answer[Any]:
            calls.append(call.name)
            return await following(call)

        return calls

    def test_it_keeps_answers_of_read_only_tools_for_a_time(self) -> None:
        clock, server = Clock(), shop()
        server.middleware(ready.cache(10, clock=clock))
        calls = self.count(server)
        for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 2}):
            data_of(server, "subtract", **arguments)
            data_of(server, "add", **arguments)
        assert calls.count("subtract") == 2
        assert calls.count("add") == 3
        clock.now += 10
        data_of(server, "subtract", a=1, b=2)
        assert calls.count("subtract") == 3

    def test_failures_are_not_kept_and_entries_are_bounded(self) -> None:
        server = shop()
        server.middleware(ready.cache(1000, entries=2))
        calls = self.count(server)
        for _ in range(2):
            message_of(server, "subtract", a="x")
        assert len(calls) == 2
        for a in (1, 2, 3, 1):
            data_of(server, "subtract", a=a, b=0)
        assert len(calls) == 6

    @pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
    def test_answers_that_depend_on_the_user_are_not_kept(self, revision: str) -> None:
        server, responses = Server("shop"), iter(["tea", "milk"])
        server.middleware(ready.cache(1_000))

        @server.tool(read_only=True)
        async def choose(ctx: Context) -> str:
            return f"{(await ctx.elicit('Which?', str)).data}"

        async def main() -> list[Any]:
            def respond(request: Any) -> Any:
                return {"value": next(responses)}

            async with Client(server, revision=revision, on_elicit=respond) as client:
                return [(await client.call_tool("choose")).value for _ in range(2)]

        assert asyncio.run(main()) == ["tea", "milk"]

    def test_an_override_does_not_get_answers_of_the_real_dependency(self) -> None:
        server = Server("shop")
        server.middleware(ready.cache(1_000))

        def source() -> str:
            return "real"

        @server.tool(read_only=True)
        def origin(name: Annotated[str, Depends(source)]) -> str:
            return name

        def value() -> Any:
            return asyncio.run(server.call("origin")).value

        assert value() == "real"
        with server.override(source, lambda: "fake"):
            assert value() == "fake"
        assert value() == "real"

    def test_servers_with_one_cache_do_not_mix_their_tools(self) -> None:
        kept, first, second = ready.cache(1_000, shared=True), shop(), Server("other")
        first.middleware(kept)
        second.middleware(kept)

        @second.tool(read_only=True)
        def subtract(a: int, b: int) -> int:
            return 0

        assert data_of(first, "subtract", a=3, b=2) == 1
        assert data_of(second, "subtract", a=3, b=2) == 0

    def test_numbers_differ_by_all_their_digits(self) -> None:
        server = Server("shop")
        server.middleware(ready.cache(1_000))

        @server.tool(read_only=True)
        def echo(amount: Decimal) -> str:
            return f"{amount} EUR"

        async def main(*amounts: str) -> list[Any]:
            async with Client(server) as client:
                calls = [{"amount": msgspec.Raw(each.encode())} for each in amounts]
                return [(await client.call_tool("echo", each)).value for each in calls]

        amounts = ["0.1", "0.10000000000000000000001", "0.1"]
        assert asyncio.run(main(*amounts)) == [f"{each} EUR" for each in amounts]

    def test_large_arguments_are_not_kept(self) -> None:
        server = Server("shop")
        server.middleware(ready.cache(1_000))

        @server.tool(read_only=True)
        async def length(words: str) -> int:
            return len(words)

        async def main() -> None:
            for number in range(40):
                await server.call("length", {"words": f"{number}" + "x" * 500_000})

        data_of(server, "length", words="")
        tracemalloc.start()
        try:
            asyncio.run(main())
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < 5_000_000
        finally:
            tracemalloc.stop()

    def test_a_key_of_its_own(self) -> None:
        server = shop()
        tenants = iter(["a", "b", "a"])
        server.middleware(ready.cache(1_000, key=lambda call: next(tenants)))
        calls = self.count(server)
        for _ in range(3):
            data_of(server, "subtract", a=1, b=2)
        assert len(calls) == 2

    def test_warnings_about_arguments_are_kept_with_the_answer(self) -> None:
        server = shop()
        server.middleware(ready.cache(1000))
        for _ in range(2):
            reading = asyncio.run(server.call("subtract", {"a": 1, "b": 2, "c": 3}))
            assert "c" in str(reading.warnings)


class TestTimeout:
    @pytest.mark.parametrize("is_async", [True, False])
    @pytest.mark.parametrize("is_option", [True, False])
    def test_it_ends_a_call(self, is_async: bool, is_option: bool) -> None:
        server = Server("shop")
        ended = threading.Event()

        async def wait_async() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        def wait(ctx: Context) -> None:
            while not ctx.cancelled:
                time.sleep(0.005)
            ended.set()

        options: dict[str, Any] = {"timeout": 0.5} if is_option else {}
        server.tool(name="wait", **options)(wait_async if is_async else wait)
        if not is_option:
            server.middleware(ready.timeout(0.5))
        reading = asyncio.run(server.call("wait"))
        assert reading.response.error is not None
        assert reading.response.error.code == "TIMEOUT"
        assert ended.wait(10)

    def test_the_loop_does_not_wait_for_a_thread_that_hangs(self) -> None:
        server, release, ended = Server("shop"), threading.Event(), threading.Event()

        @server.tool(timeout=0.5)
        def hang() -> None:
            release.wait(60)
            ended.set()

        assert "took longer" in str(message_of(server, "hang"))  # in a loop that is closed then
        assert not ended.is_set()
        release.set()
        assert ended.wait(10)

    def test_a_timeout_of_the_tool_itself_is_not_ours(self) -> None:
        server = Server("shop")

        @server.tool(timeout=60)
        async def wait() -> None:
            raise TimeoutError

        assert message_of(server, "wait") == "Internal error"


@pytest.mark.parametrize(
    ("name", "logged"),
    [
        ("add", "tool add: ok in"),
        ("subtract", "tool subtract: ok in"),
        ("refuse", "tool refuse: conflict in"),
        ("fail", "tool fail: ValueError in"),
    ],
)
def test_logging(name: str, logged: str, caplog: pytest.LogCaptureFixture) -> None:
    server = shop()
    server.middleware(ready.logging())
    caplog.set_level(logging.INFO)
    arguments = {"a": 1, "b": 2} if name in ("add", "subtract") else {}
    asyncio.run(server.call(name, arguments))
    (line,) = [r.getMessage() for r in caplog.records if r.name == "accord.calls"]
    assert line.startswith(logged)
    assert line.endswith("ms, caller local")


def test_logging_shows_the_arguments_of_a_cancelled_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, started = Server("shop"), asyncio.Event()
    server.middleware(ready.logging(arguments=True))
    caplog.set_level(logging.INFO)

    @server.tool
    async def wait(what: str) -> None:
        started.set()
        await asyncio.sleep(60)

    async def main() -> None:
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool("wait", {"what": "tea"}))
            await started.wait()
            call.cancel()

    asyncio.run(main())
    (line,) = [r.getMessage() for r in caplog.records if r.name == "accord.calls"]
    assert line.startswith('tool wait {"what":"tea"}: cancelled in')


def test_logging_writes_one_line_of_limited_length(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("shop")
    server.middleware(ready.logging(arguments=True))
    caplog.set_level(logging.INFO)

    @server.resource("shop://{name}")
    def card(name: str) -> str:
        return name

    async def main() -> None:
        async with Client(server) as client:
            await client.read_resource("shop://a%0Atool forged: ok")
            for uri in ("shop://a\ntool forged: ok", f"shop://{'x' * 10_000}"):
                with suppress(MCPError):
                    await client.read_resource(uri)

    asyncio.run(main())
    lines = [r.getMessage() for r in caplog.records if r.name == "accord.calls"]
    assert lines
    assert all(line.startswith("resource ") and line.isprintable() for line in lines)
    assert all(len(line) < 3_000 for line in lines)


WRONG: dict[str, Callable[[], Any]] = {
    "no calls": lambda: ready.rate_limit(0),
    "negative time": lambda: ready.rate_limit(1, per=-1),
    "no time": lambda: ready.timeout(0),
    "no number": lambda: ready.timeout(float("nan")),
    "no time to keep": lambda: ready.cache(0),
    "no entries": lambda: ready.cache(1, entries=0),
    "text": lambda: ready.timeout("5"),  # type: ignore[arg-type]
    "nothing": lambda: ready.cache(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_options_of_ready_middleware_are_checked(make: Callable[[], Any]) -> None:
    with pytest.raises(ContractError, match="must be a number above 0"):
        make()


@pytest.mark.parametrize("make", [ready.cache, ready.rate_limit])
def test_the_key_of_ready_middleware_is_a_function(make: Any) -> None:
    with pytest.raises(ContractError, match="key must be a function of the call, not 'name'"):
        make(1, key="name")
