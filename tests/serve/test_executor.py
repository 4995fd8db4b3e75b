"""The executor: which frames, tasks and turns of the loop a call takes, and how it ends."""

import asyncio
import contextvars
import gc
import json
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import accord
from accord import Context, Server
from accord.model.context import ClientInfo
from accord.protocol import Request
from accord.revisions import REVISIONS
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import Executor, run_blocking
from accord.server.operation import Done, Operation, drive, perform
from commands import ACCORD, ENVIRONMENT
from http_peer import HttpPeer, HttpServer
from stdio_peer import StdioPeer, modern_params
from wire import STATELESS

PACKAGE = accord.__path__[0]
FRAMES = f"""
import inspect
from accord import Server

server = Server("frames")

def frames():
    own = [frame for frame in inspect.stack() if frame.filename.startswith({PACKAGE!r})]
    names = [frame.function for frame in own]
    return names[: names.index("serve")]

@server.tool
async def begin() -> list[str]:
    return frames()

"""


def frames(reply: Any) -> list[str]:
    found: list[str] = reply["result"]["structuredContent"]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "frames.py").write_text(FRAMES)
    return tmp_path


def test_three_frames_are_between_stdin_and_a_tool(folder: Path) -> None:
    with StdioPeer([ACCORD, "serve", "./frames.py"], cwd=folder, env=ENVIRONMENT) as peer:
        alone = frames(peer.modern("tools/call", {"name": "begin", "arguments": {}}))
        params = modern_params({"name": "begin", "arguments": {}})
        message = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
        lines = [json.dumps(message | {"id": f"call {n}"}).encode() + b"\n" for n in range(3)]
        peer.send(b"".join(lines))
        together = [frames(peer.receive()) for _ in lines]
    assert len(alone) <= 3, alone
    assert max(map(len, together)) <= 3, together


def test_five_frames_are_between_an_http_request_and_a_tool(folder: Path) -> None:
    command = [ACCORD, "serve", "./frames.py", "--http", "127.0.0.1:0"]
    with HttpServer(command, cwd=folder, env=ENVIRONMENT) as server, HttpPeer(server.port) as peer:
        found = [json.loads(peer.call("begin")) for _ in range(3)]
    assert max(map(len, found)) <= 5, found


# In one process

State = contextvars.ContextVar("State", default="unset")


class Runner:
    """An executor on the running loop, with the outcomes of its calls in order."""

    def __init__(self, server: Server, **limits: Any) -> None:
        self.executor = Executor(server.dispatcher, asyncio.get_running_loop(), **limits)
        self.executor.wake()
        self.outcomes: list[Any] = []

    def call(self, name: str, **arguments: Any) -> RunningCall:
        client = ClientInfo(REVISIONS[STATELESS])
        request = Request(1, client, name=name, arguments=json.dumps(arguments).encode())
        return RunningCall(request, None, OneWay(), self.deliver)

    def start(self, *names: str) -> list[RunningCall]:
        calls = [self.call(name) for name in names]
        for call in calls:
            self.executor.submit(call)
        self.executor.run_queued()
        return calls

    def deliver(self, call: RunningCall, done: Done | None) -> None:
        self.outcomes.append(None if done is None else text(done))

    async def settle(self) -> list[Any]:
        while self.executor.open:  # noqa: ASYNC110 - one turn of the loop at a time
            await asyncio.sleep(0)
        return self.outcomes


def text(done: Done) -> Any:
    return json.loads(done.reply)["result"]["content"][0]["text"]


def server_of(*tools: Callable[..., Any]) -> Server:
    server = Server("sample")
    for tool in tools:
        server.tool(tool)
    return server


def run(test: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(20):
            return await test()

    return asyncio.run(limited())


def test_calls_run_in_the_turn_of_the_loop_in_which_they_arrive() -> None:
    async def now() -> str:
        return "now"

    async def test() -> None:
        runner = Runner(server_of(now))
        await asyncio.sleep(0)  # the worker starts
        runner.start("now")
        assert runner.outcomes == ["now"]
        runner.start("now", "now")
        assert runner.outcomes == ["now"] * 3

    run(test)


def test_a_call_is_a_task_of_its_own_from_its_first_step() -> None:
    tasks = []

    async def first() -> str:
        tasks.append(asyncio.current_task())
        async with asyncio.timeout(5):
            await asyncio.sleep(0.01)
        tasks.append(asyncio.current_task())
        return "first"

    async def second() -> str:
        tasks.append(asyncio.current_task())
        return "second"

    async def test() -> None:
        runner = Runner(server_of(first, second))
        await asyncio.sleep(0)
        caller = asyncio.current_task()
        runner.start("first")
        assert asyncio.current_task() is caller
        runner.start("second")
        assert sorted(await runner.settle()) == ["first", "second"]
        assert tasks[0] is not None
        assert tasks[0] in tasks[1:], "it stays in its task"
        assert tasks.count(tasks[0]) == 2, "and no other call runs there meanwhile"
        assert caller not in tasks

    run(test)


def test_a_call_has_a_context_of_its_own() -> None:
    async def change() -> str:
        before = State.get()
        State.set("changed")
        await asyncio.sleep(0)
        return f"{before}, {State.get()}"

    async def test() -> None:
        State.set("outside")
        runner = Runner(server_of(change))
        await asyncio.sleep(0)
        runner.start("change", "change")
        assert await runner.settle() == ["outside, changed"] * 2
        assert State.get() == "outside"

    run(test)


def test_a_call_runs_in_the_context_of_its_request_when_it_has_to_queue() -> None:
    async def show() -> str:
        return State.get()

    async def test() -> None:
        runner = Runner(server_of(show))
        for user in ("ada", "bob"):  # the worker that runs both starts in the first one's context
            State.set(user)
            runner.start("show")
        State.set("cleo")
        assert await runner.settle() == ["ada", "bob"]

    run(test)


@pytest.mark.parametrize("outer_waits", [True, False])
def test_a_call_that_another_one_submits_in_its_first_step_is_not_lost(outer_waits: bool) -> None:
    async def outer() -> str:
        runners[0].start("inner")
        if outer_waits:
            await asyncio.sleep(0.01)
        return "outer"

    async def inner() -> str:
        await asyncio.sleep(0.01)
        return "inner"

    runners: list[Runner] = []

    async def test() -> None:
        runner = Runner(server_of(outer, inner))
        runners.append(runner)
        runner.start("inner")
        await runner.settle()  # now a worker is idle
        await asyncio.sleep(0)
        runner.start("outer", "inner")
        assert sorted(await runner.settle()) == ["inner", "inner", "inner", "outer"]

    run(test)


def tool_that(raises: Callable[[], BaseException], *, after_wait: bool) -> Callable[..., Any]:
    async def fail() -> str:
        if after_wait:
            await asyncio.sleep(0)
        raise raises()

    return fail


@pytest.mark.parametrize("after_wait", [False, True])
@pytest.mark.parametrize(
    "error", [RuntimeError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit]
)
def test_whatever_a_tool_raises_is_an_outcome_and_the_next_call_runs(
    error: type[BaseException], after_wait: bool
) -> None:
    async def fine() -> str:
        return "fine"

    async def test() -> list[Any]:
        runner = Runner(server_of(tool_that(error, after_wait=after_wait), fine))
        await asyncio.sleep(0)
        runner.start("fail", "fine")
        await runner.settle()
        runner.start("fine")
        return await runner.settle()

    outcomes = run(test)
    assert sorted(outcomes) == ["Error executing tool: Internal error", "fine", "fine"]


@pytest.mark.parametrize("wait_first", [False, True])
def test_a_tool_that_cancels_its_own_task_gets_an_outcome(wait_first: bool) -> None:
    async def cancel_itself() -> str:
        if wait_first:
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(5)
        return "never"

    async def cancel_and_return() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "returned"

    async def fine() -> str:
        return "fine"

    async def test() -> list[Any]:
        runner = Runner(server_of(cancel_itself, cancel_and_return, fine))
        await asyncio.sleep(0)
        for name in ("cancel_itself", "cancel_and_return", "fine"):
            runner.start(name)
            await runner.settle()
        runner.start("cancel_and_return", "cancel_itself", "fine")
        return await runner.settle()

    outcomes = run(test)
    assert sorted(outcomes) == sorted(
        ["Error executing tool: Internal error", "returned", "fine"] * 2
    )


@pytest.mark.parametrize("seconds", [0, 0.01])
def test_a_timeout_inside_a_tool_works_from_its_first_step(seconds: float) -> None:
    async def limited() -> str:
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(5)
        except TimeoutError:
            return "timeout"
        return "never"

    async def test() -> list[Any]:
        runner = Runner(server_of(limited))
        await asyncio.sleep(0)
        runner.start("limited", "limited")
        return await runner.settle()

    assert run(test) == ["timeout"] * 2


def test_a_task_group_inside_a_tool_works_from_its_first_step() -> None:
    async def grouped() -> int:
        async def one() -> int:
            await asyncio.sleep(0)
            return 1

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one()) for _ in range(3)]
        return sum(task.result() for task in tasks)

    async def test() -> list[Any]:
        runner = Runner(server_of(grouped))
        await asyncio.sleep(0)
        runner.start("grouped")
        return await runner.settle()

    assert run(test) == ["3"]


def test_cancelling_a_call_raises_cancelled_error_in_the_tool_and_delivers_nothing() -> None:
    seen = []

    async def wait() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "never"

    async def stubborn() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            seen.append("caught")
        return "returned"

    async def test() -> list[Any]:
        runner = Runner(server_of(wait, stubborn))
        await asyncio.sleep(0)
        calls = runner.start("wait", "stubborn")
        await asyncio.sleep(0.01)
        queued = runner.call("wait")
        runner.executor.submit(queued)
        for call in [*calls, queued]:
            runner.executor.cancel(call)
        runner.executor.run_queued()
        outcomes = await runner.settle()
        assert all(call.task is None for call in calls)
        return outcomes

    outcomes = run(test)
    assert sorted(outcomes, key=str) == [None, None, "returned"]
    assert sorted(seen) == ["cancelled", "caught"]


def test_cancelling_run_cancels_the_call() -> None:
    seen = []

    async def wait(context: Context) -> str:
        try:
            await asyncio.sleep(5)
        finally:
            seen.append(context.cancelled)
        return "never"

    async def test() -> None:
        runner = Runner(server_of(wait))
        waiting = asyncio.create_task(runner.executor.run(runner.call("wait")))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await runner.settle()

    run(test)
    assert seen == [True]


def test_more_calls_than_the_limit_are_refused_and_nothing_is_lost() -> None:
    async def wait() -> str:
        await asyncio.sleep(0.01)
        return "waited"

    async def test() -> list[Any]:
        runner = Runner(server_of(wait), max_calls=3)
        runner.start(*["wait"] * 5)
        return await runner.settle()

    outcomes = run(test)
    busy = "Error executing tool: Too many calls are open; try again later"
    assert sorted(outcomes) == [busy, busy, "waited", "waited", "waited"]


def test_a_worker_that_is_cancelled_before_it_begins_is_replaced() -> None:
    async def wait() -> str:
        await asyncio.sleep(0.01)
        return "waited"

    async def now() -> str:
        return "now"

    async def test() -> None:
        runner = Runner(server_of(wait, now))
        await asyncio.sleep(0)
        runner.start("wait")  # which keeps its task, so there is a new worker
        runner.start("now")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        assert "now" in await runner.settle()

    run(test)


def test_a_closed_executor_leaves_no_task() -> None:
    async def test() -> int:
        runner = Runner(Server("empty"))
        await asyncio.sleep(0)
        runner.executor.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert run(test) == 1, "the test's own"


def test_every_edge_uses_the_executor() -> None:
    """No other module executes operations."""
    users = {
        str(path.relative_to(PACKAGE))
        for path in Path(PACKAGE).rglob("*.py")
        if "perform(" in path.read_text() or "drive(" in path.read_text()
    }
    assert users == {"server/operation.py", "serve/executor.py", "serve/thread_runner.py"}


# Threads


def test_a_call_that_is_cancelled_as_its_thread_begins_does_not_run_without_its_arguments() -> None:
    removed = []

    def remove(which: str = "everything") -> None:
        removed.append(which)

    async def test() -> None:
        server = server_of(remove)
        call = Runner(server).call("remove", which="one")
        operation = server.dispatcher.prepare(call)
        assert isinstance(operation, Operation)
        call.cancel()
        assert "cancelled" in text(drive(perform(operation)))

    run(test)
    assert removed == []


@pytest.mark.filterwarnings("error")
def test_a_call_that_is_cancelled_before_asyncio_has_a_thread_for_it_leaves_no_coroutine() -> None:
    async def test() -> None:
        server = server_of(len_of)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        may_end = threading.Event()
        busy = asyncio.create_task(asyncio.to_thread(may_end.wait))
        await asyncio.sleep(0)  # it takes the only thread
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server.call("len_of", {"text": "abc"}), 0.05)
        may_end.set()
        await busy
        gc.collect()

    run(test)


def len_of(text: str) -> int:
    return len(text)


def test_what_a_call_on_the_current_thread_sets_stays_in_that_call() -> None:
    def relabel(label: str) -> str:
        before = State.get()
        State.set(label)
        return before

    server = server_of(relabel)
    client = ClientInfo(REVISIONS[STATELESS])
    request = Request(1, client, name="relabel", arguments=b'{"label": "mine"}')
    for _ in range(2):
        done = run_blocking(server.dispatcher, RunningCall(request, None, OneWay()))
        assert text(done) == "unset"
