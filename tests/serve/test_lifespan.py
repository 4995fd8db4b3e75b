"""The lifespan of a server: its users, its loop, and its failures."""

import asyncio
import gc
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from accord import Client, Context, ContractError, LifespanError, Server
from samples import lifespan

Test = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOP_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No thread of a lifespan outlives its test."""
    yield
    gc.collect()
    threads = [each for each in threading.enumerate() if each.name.startswith("lifespan of")]
    for each in threads:
        each.join(20)
    assert [each.name for each in threads if each.is_alive()] == []


def run(test: Test) -> Callable[..., None]:
    @wraps(test)
    def runs(*arguments: Any, **named: Any) -> None:
        async def alone() -> None:
            await test(*arguments, **named)
            await asyncio.sleep(0)
            tasks = {task.get_name() for task in asyncio.all_tasks()} - {"test"}
            assert {name for name in tasks if name.startswith("lifespan of")} == set()

        async def main() -> None:
            await asyncio.create_task(alone(), name="test")

        asyncio.run(main())

    return runs


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what happens in another task."""
    while not holds():  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.001)


@run
async def test_several_users_share_it_and_the_last_one_ends_it() -> None:
    server = lifespan.make("in_task")
    async with Client(server) as first:
        async with Client(server) as second, server.lifespan():
            assert (await second.call_tool("look")).value == "open"
        assert (await first.call_tool("look")).value == "open"
    assert lifespan.events() == ["enter shop", "look", "look", "exit same"]


@run
async def test_it_can_run_again() -> None:
    server = lifespan.make("in_task")
    for _ in range(3):
        async with server.lifespan():
            await server.call("look")
    assert lifespan.events() == ["enter shop", "look", "exit same"] * 3


def test_each_event_loop_starts_it_again() -> None:
    server = lifespan.make("in_task")
    for _ in range(3):
        assert asyncio.run(server.call("look")).value == "open"
    assert lifespan.events() == ["enter shop", "look", "exit same"] * 3


def test_a_loop_that_was_closed_without_an_end_does_not_count() -> None:
    server = lifespan.make("in_task")
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(server.call("look")).value == "open"
    for task in asyncio.all_tasks(loop):
        task.get_coro().close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    assert asyncio.run(server.call("look")).value == "open"
    assert lifespan.events().count("enter shop") == 2


@run
async def test_many_first_calls_start_it_once() -> None:
    server = lifespan.make("in_task")
    async with server.lifespan():
        pass
    readings = await asyncio.gather(*(server.call("look") for _ in range(50)))
    assert {reading.value for reading in readings} == {"open"}
    assert lifespan.events().count("enter shop") == 2
    for task in asyncio.all_tasks():
        if task.get_name() == "lifespan of shop":
            task.cancel()
            await asyncio.wait([task])
    assert lifespan.events()[-1] == "exit same"


@run
async def test_a_call_during_its_end_starts_it_again() -> None:
    is_leaving = asyncio.Event()
    may_leave = asyncio.Event()
    entered = 0

    @asynccontextmanager
    async def slow(server: Server) -> AsyncIterator[int]:
        nonlocal entered
        entered += 1
        yield entered
        is_leaving.set()
        await may_leave.wait()

    server = Server("shop", lifespan=slow)

    @server.tool
    async def count(ctx: Context[int]) -> int:
        return ctx.state

    async def use() -> None:
        async with server.lifespan():
            pass

    first = asyncio.create_task(use())
    await is_leaving.wait()
    call = asyncio.create_task(server.call("count"))
    await asyncio.sleep(0)
    may_leave.set()
    assert (await call).value == 2
    await first
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "lifespan of shop"]
    task.cancel()
    await asyncio.wait([task])


@run
async def test_on_another_loop_it_is_an_error_while_it_runs() -> None:
    server = lifespan.make("in_task")
    async with server.lifespan():
        with pytest.raises(ContractError, match=r"runs on another event loop; .*lifespan\.py:\d+"):
            await asyncio.to_thread(asyncio.run, server.call("look"))
        assert (await server.call("look")).value == "open"
    assert (await asyncio.to_thread(asyncio.run, server.call("look"))).value == "open"


def test_the_lifespans_of_included_servers_start_after_and_end_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outer, inner = lifespan.make("in_task"), Server("inner", lifespan=lifespan.in_thread)
    inner.tool(_shop)
    outer.registry.add(inner.tools["_shop"], inner.registry.scope)

    async def within() -> None:
        async with outer.lifespan():
            assert (await outer.call("_shop")).value == "inner"
            async with inner.lifespan():  # served alone too: it starts once
                assert (await outer.call("look")).value == "open"

    asyncio.run(within())
    assert lifespan.events() == ["enter shop", "enter inner", "look", "exit same", "exit same"]
    asyncio.run(_call_both(outer))  # ended by the loop, in the same order
    assert lifespan.events()[5:] == ["enter shop", "enter inner", "look", "exit same", "exit same"]


def _shop(ctx: Context[lifespan.Shop]) -> str:
    return "inner" if ctx.state.loop is None else "outer"


async def _call_both(outer: Server) -> None:
    assert (await outer.call("_shop")).value == "inner"
    assert (await outer.call("look")).value == "open"


def test_inner_lifespans_are_left_first_also_by_the_end_of_the_loop() -> None:
    events: list[str] = []

    def noting(name: str) -> Callable[[Server], Any]:
        @asynccontextmanager
        async def note(server: Server) -> AsyncIterator[None]:
            events.append(f"enter {name}")
            yield
            await asyncio.sleep(0.01)
            events.append(f"exit {name}")

        return note

    outer = Server("outer", lifespan=noting("outer"))
    for name in ("b", "c"):
        part = Server(name, lifespan=noting(name))
        part.tool(_named(name))
        outer.registry.add(part.tools[name], part.registry.scope)
    asyncio.run(outer.call("b"))
    assert events == ["enter outer", "enter b", "enter c", "exit c", "exit b", "exit outer"]


def _named(name: str) -> Callable[[], str]:
    def tool() -> str:
        return name

    tool.__name__ = name
    return tool


@run
async def test_if_one_fails_those_before_it_are_left() -> None:
    outer, inner = lifespan.make("in_task"), Server("inner", lifespan=lifespan.fails)
    inner.tool(_shop)
    outer.registry.add(inner.tools["_shop"], inner.registry.scope)
    with pytest.raises(LifespanError, match="the lifespan of 'inner' failed"):
        async with outer.lifespan():
            pass
    assert lifespan.events() == ["enter shop", "enter", "exit same"]


@pytest.mark.parametrize("kind", ["fails", "fails_in_thread"])
@run
async def test_a_failed_start_names_the_cause_and_is_tried_again(kind: str) -> None:
    server = lifespan.make(kind)
    for count in (1, 2):
        with pytest.raises(LifespanError) as raised:
            await server.call("look")
        assert lifespan.events() == ["enter"] * count
    text = r"the lifespan of 'shop' failed: RuntimeError: no database \(.*lifespan\.py:\d+\)"
    assert raised.match(text)
    assert isinstance(raised.value.__cause__, RuntimeError)


@run
async def test_all_that_wait_for_a_failed_start_are_told() -> None:
    server = lifespan.make("fails")
    calls = [server.call("look") for _ in range(5)]
    failures = await asyncio.gather(*calls, return_exceptions=True)
    assert {str(failure).partition(" (")[0] for failure in failures} == {
        "the lifespan of 'shop' failed: RuntimeError: no database"
    }
    assert lifespan.events() == ["enter"]


class Leaves(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), Leaves()]
)
@pytest.mark.parametrize("kind", ["task", "thread"])
@run
async def test_whatever_a_start_raises_is_its_failure(kind: str, error: BaseException) -> None:
    class Manager:
        async def __aenter__(self) -> None:
            raise error

        async def __aexit__(self, *_: object) -> None:
            pass

    class Plain:
        def __enter__(self) -> None:
            raise error

        def __exit__(self, *_: object) -> None:
            pass

    server = Server("shop", lifespan=lambda _: Manager() if kind == "task" else Plain())
    with pytest.raises(LifespanError, match=f"failed: {type(error).__name__}"):
        await server.call("look")


@run
async def test_a_failed_end_is_raised_to_its_last_user() -> None:
    server = lifespan.make("exit_fails")
    text = r"the lifespan of 'shop' failed at its end: RuntimeError: not flushed \(.*lifespan\.py"
    with pytest.raises(LifespanError, match=text):
        async with server.lifespan():
            pass
    with pytest.raises(LifespanError, match=text):
        async with Client(server):
            pass


@run
async def test_a_second_yield_is_a_failed_end() -> None:
    with pytest.raises(LifespanError, match=r"'shop' yields twice; yield the state once \(.*py:\d"):
        async with lifespan.make("yields_twice").lifespan():
            pass


def test_a_failed_end_with_the_loop_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(lifespan.make("exit_fails").call("look"))
    (record,) = [record for record in caplog.records if record.name == "accord"]
    assert record.levelno == logging.ERROR
    assert "failed at its end: RuntimeError: not flushed" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.parametrize(
    "kind", ["exit_hangs", "exit_hangs_in_thread", "exit_ignores_cancellation"]
)
def test_an_end_that_hangs_is_given_up(
    kind: str, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    monkeypatch.setattr("accord.serve.inprocess.DEFAULT_GRACE", 0.1)
    forever = threading.Event()
    monkeypatch.setattr("samples.lifespan.time.sleep", lambda _: forever.wait())

    async def main() -> None:
        with pytest.raises(LifespanError, match=r"'shop' did not end in time \(.*lifespan\.py"):
            async with lifespan.make(kind).lifespan():
                pass

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(main(), 20))
        if kind != "exit_ignores_cancellation":
            assert asyncio.all_tasks(loop) == set()
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.call_soon(task.get_coro().close)
        loop.run_until_complete(asyncio.sleep(0))
    except RuntimeError:
        if kind != "exit_ignores_cancellation":
            raise
    finally:
        forever.set()
        loop.close()


@run
async def test_a_cancelled_start_is_left() -> None:
    server = lifespan.make("hangs")
    starting = asyncio.create_task(server.call("look"))
    await until(lambda: lifespan.events() == ["enter"])
    starting.cancel()
    await asyncio.wait([starting])
    assert starting.cancelled()
    await until(lambda: lifespan.events() == ["enter", "cancelled"])


@run
async def test_a_cancelled_start_goes_on_for_those_that_wait_too() -> None:
    may_start = asyncio.Event()

    @asynccontextmanager
    async def waits(server: Server) -> AsyncIterator[str]:
        await may_start.wait()
        yield "open"

    server = Server("shop", lifespan=waits)

    @server.tool
    async def look(ctx: Context[str]) -> str:
        return ctx.state

    async def use() -> str:
        async with server.lifespan():
            return str((await server.call("look")).value)

    first, second = asyncio.create_task(use()), asyncio.create_task(use())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    may_start.set()
    assert await second == "open"


@run
async def test_a_thread_whose_start_was_cancelled_leaves_at_once_when_it_is_entered() -> None:
    is_entering, may_enter, left = threading.Event(), threading.Event(), threading.Event()

    @contextmanager
    def slow(server: Server) -> Iterator[None]:
        is_entering.set()
        may_enter.wait()
        try:
            yield
        finally:
            left.set()

    starting = asyncio.create_task(Server("shop", lifespan=slow).call("look"))
    await until(is_entering.is_set)
    starting.cancel()
    await asyncio.wait([starting])
    may_enter.set()
    assert await asyncio.to_thread(left.wait, 20)


@run
async def test_a_lifespan_that_ends_by_itself_is_logged_and_starts_again(
    caplog: pytest.LogCaptureFixture, log: Path
) -> None:
    server = lifespan.make("loses_a_task")
    assert (await server.call("look")).value == "open"
    await server.call("lose")
    await until(lambda: "exit same" in lifespan.events())
    os.unlink(log)  # noqa: PTH108
    await asyncio.sleep(0)
    assert (await server.call("look")).value == "open"
    assert lifespan.events() == ["enter shop", "look"]
    (record,) = [record for record in caplog.records if record.name == "accord"]
    assert "failed at its end: RuntimeError: the feed is gone" in record.getMessage()
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "lifespan of shop"]
    await server.call("lose")
    await asyncio.wait([task])


@run
async def test_a_tool_in_flight_ends_before_the_lifespan_of_its_client() -> None:
    server = lifespan.make("in_task")
    async with Client(server) as client:
        call = asyncio.create_task(client.call_tool("nap", {"seconds": 600}))
        await until(lambda: "nap" in lifespan.events())
    await asyncio.wait([call])
    assert lifespan.events() == ["enter shop", "nap", "napped open", "exit same"]


def test_without_a_lifespan_the_state_is_none_and_nothing_starts() -> None:
    server = Server("plain")

    @server.tool
    async def state(ctx: Context[None]) -> str:
        return repr(ctx.state)

    async def main() -> None:
        before = len(asyncio.all_tasks())
        async with server.lifespan() as found:
            assert found is None
            assert (await server.call("state")).value == "None"
            assert len(asyncio.all_tasks()) == before

    asyncio.run(main())


def test_the_state_is_gone_after_the_end() -> None:
    server = lifespan.make("in_task")
    asyncio.run(server.call("look"))
    assert server.registry.scope.state is None
    assert server.registry.scope.lifespan_run is None


def test_an_included_server_without_features_adds_them_in_its_lifespan() -> None:
    @asynccontextmanager
    async def add(server: Server) -> AsyncIterator[str]:
        @server.tool
        async def added(ctx: Context[str]) -> str:
            return ctx.state

        yield "inner"

    outer, inner = lifespan.make("in_task"), Server("inner", lifespan=add, changing=["tools"])
    outer.include(inner, prefix="in_")

    async def main() -> None:
        async with Client(outer) as client:
            assert "in_added" in {tool.name for tool in await client.list_tools()}
            assert (await client.call_tool("in_added")).value == "inner"
            assert (await client.call_tool("look")).value == "open"

    asyncio.run(main())
    assert lifespan.events() == ["enter shop", "look", "exit same"]
