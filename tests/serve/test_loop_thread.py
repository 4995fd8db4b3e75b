"""The event loop for calls of other threads."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from accord import ContractError
from accord.serve.loop_thread import LoopThread, RunHere, run_on_own_loop
from commands import ENVIRONMENT, TESTS

WORD: ContextVar[str] = ContextVar("WORD")


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    found = LoopThread()
    yield found
    found.stop()


@pytest.fixture(params=["shared", "own"])
def run(request: pytest.FixtureRequest, thread: LoopThread) -> Callable[..., Any]:
    return thread.run if request.param == "shared" else run_on_own_loop


async def name_of_thread() -> str:
    return threading.current_thread().name


def test_all_coroutines_run_on_one_loop(thread: LoopThread) -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    with ThreadPoolExecutor(8) as pool:
        loops = set(pool.map(lambda _: thread.run(lambda _: loop()), range(40)))
    assert loops == {thread.loop}
    assert thread.run(lambda _: name_of_thread()) == "accord-loop"


def test_it_starts_at_need_and_again_after_its_end(thread: LoopThread) -> None:
    assert thread.loop is None
    others = set(threading.enumerate())
    for _ in range(2):
        assert thread.run(lambda _: name_of_thread()) == "accord-loop"
        thread.stop()
        thread.stop()
        assert thread.loop is None
        left = set(threading.enumerate()) - others
        assert "accord-loop" not in {each.name for each in left}


@pytest.mark.parametrize(
    "error", [ValueError("x"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()]
)
def test_an_exception_is_raised_to_the_thread_that_waits(
    run: Callable[..., Any], error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise error

    async def fail_there(run_here: RunHere) -> None:
        await run_here(lambda: asyncio.run(fail()))

    for start in (lambda _: fail(), fail_there):
        with pytest.raises(type(error)):
            run(start)
    gc.collect()
    assert not [each for each in caplog.records if each.name == "asyncio"]
    name = threading.current_thread().name if run is run_on_own_loop else "accord-loop"
    assert run(lambda _: name_of_thread()) == name


def test_the_coroutine_and_its_functions_have_the_context_of_the_thread(
    run: Callable[..., Any],
) -> None:
    async def word(run_here: RunHere) -> tuple[str, str, str]:
        outside = WORD.get()
        WORD.set("set on the loop")
        inside: str = await run_here(WORD.get)
        return outside, inside, await run_here(lambda: threading.current_thread().name)

    WORD.set("set in the thread")
    found = run(word)
    assert found == ("set in the thread", "set on the loop", threading.current_thread().name)
    assert WORD.get() == "set in the thread"


def test_an_exception_of_a_function_in_the_thread_is_raised_where_it_is_awaited(
    run: Callable[..., Any],
) -> None:
    async def catch(run_here: RunHere) -> str:
        try:
            await run_here(lambda: 1 / 0)
        except ZeroDivisionError as error:
            return str(error)
        return "nothing"

    assert run(catch) == "division by zero"


def test_a_function_that_takes_too_long_times_out_as_soon_as_it_ends(
    run: Callable[..., Any],
) -> None:
    async def hurry(run_here: RunHere) -> str:
        try:
            async with asyncio.timeout(0.01):
                await run_here(lambda: time.sleep(0.1))
        except TimeoutError:
            return "timed out"
        return "in time"

    assert run(hurry) == "timed out"


def test_functions_do_not_run_inside_a_loop(run: Callable[..., Any]) -> None:
    async def look(run_here: RunHere) -> list[bool]:
        functions = (run_here(lambda: asyncio._get_running_loop() is None) for _ in range(3))
        return list(await asyncio.gather(*functions))

    assert run(look) == [True] * 3


def test_tasks_that_are_left_on_a_loop_of_its_own_are_cancelled() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append("task")

    async def leave(run_here: RunHere) -> str:
        left.append(asyncio.ensure_future(linger()))
        await run_here(lambda: None)
        return "left"

    left: list[asyncio.Future[None]] = []
    assert run_on_own_loop(leave) == "left"
    assert ended == ["task"]


def test_a_function_whose_await_was_cancelled_is_not_begun(thread: LoopThread) -> None:
    begun: list[str] = []

    async def give_up(run_here: RunHere) -> str:
        first = asyncio.ensure_future(run_here(lambda: time.sleep(0.1)))
        second = asyncio.ensure_future(run_here(lambda: begun.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([first, second])
        return "given up"

    assert thread.run(give_up) == "given up"
    assert begun == []


def test_a_call_of_the_loop_itself_is_an_error(thread: LoopThread) -> None:
    async def nested() -> None:
        coroutine = name_of_thread()
        try:
            thread.run(lambda _: coroutine)
        finally:
            coroutine.close()

    with pytest.raises(ContractError, match="would wait for itself"):
        thread.run(lambda _: nested())


def test_the_end_cancels_what_runs_and_frees_threads_that_wait(thread: LoopThread) -> None:
    ended = threading.Event()
    begun = threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    async def ignore() -> None:
        begun.set()
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)

    released = threading.Event()
    for coroutine in (wait, ignore):
        begun.clear()
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(_run, thread, coroutine)
            assert begun.wait(20)
            thread.stop(0.1)
            assert isinstance(call.exception(20), asyncio.CancelledError)
    released.set()
    assert ended.is_set()


def _run(thread: LoopThread, coroutine: Callable[[], Any]) -> None:
    thread.run(lambda _: coroutine())


def test_an_interrupted_thread_cancels_its_coroutine(thread: LoopThread) -> None:
    ended = threading.Event()

    async def interrupt(run_here: RunHere) -> None:
        try:
            await run_here(lambda: None)  # from now on the thread waits
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.sleep(600)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        thread.run(interrupt)
    assert ended.wait(20)


PROGRAM = """
import asyncio, os, sys, threading
sys.path.insert(0, {tests!r})
from accord.serve.call import OneWay
from accord.serve.http.sync import SyncApp
from accord.serve.loop_thread import loop_thread
from samples import lifespan
from serve.test_lifespan_edges import _SyncClient, post

app = SyncApp(lifespan.make({kind!r}))

def look():
    return post(_SyncClient(app), "tools/call", {{"name": "look"}})["content"][0]["text"]
"""


def program(tmp_path: Path, kind: str, end: str) -> subprocess.CompletedProcess[str]:
    """Run a program that uses a server from threads, as a WSGI server does."""
    text = PROGRAM.format(tests=str(TESTS), kind=kind) + end
    env = {**ENVIRONMENT, "SHOP_LOG": str(tmp_path / "log")}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", ["in_task", "in_thread"])
def test_a_lifespan_ends_with_the_interpreter(tmp_path: Path, kind: str) -> None:
    done = program(tmp_path, kind, "print(look(), look())")
    assert (done.returncode, done.stdout, done.stderr) == (0, "open open\n", "")
    assert (tmp_path / "log").read_text().split("\n")[:-1] == [
        *("enter shop", "look", "look", "exit same"),
    ]


def test_a_thread_that_the_lifespan_ends_does_not_hold_the_interpreter(tmp_path: Path) -> None:
    end = """
from contextlib import asynccontextmanager
import aiosqlite
from accord import Context, Server

@asynccontextmanager
async def database(server):
    async with aiosqlite.connect(":memory:") as found:
        yield found
    print("closed")

server = Server("db", lifespan=database)

@server.tool
async def one(ctx: Context) -> int:
    async with ctx.state.execute("SELECT 1") as cursor:
        return (await cursor.fetchone())[0]

client = _SyncClient(SyncApp(server))
print(post(client, "tools/call", {"name": "one"})["content"][0]["text"])
"""
    done = program(tmp_path, "in_task", end)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\nclosed\n", "")


def test_an_end_that_hangs_holds_the_interpreter_for_the_grace_period(tmp_path: Path) -> None:
    end = """
import accord.serve.lifespan
accord.serve.lifespan.DEFAULT_GRACE = 0.2
print(look())
"""
    done = program(tmp_path, "exit_hangs", end)
    assert (done.returncode, done.stdout) == (0, "open\n")
    assert "the lifespan of 'shop' did not end in time" in done.stderr


def test_a_forked_process_has_its_own(tmp_path: Path) -> None:
    end = """
print(look(), flush=True)
child = os.fork()
if child:
    print(os.waitpid(child, 0)[1])
else:
    print(look(), flush=True)
"""
    done = program(tmp_path, "in_task", end)
    assert (done.returncode, done.stdout) == (0, "open\nopen\n0\n"), done.stderr
    log = (tmp_path / "log").read_text().split()
    assert log.count("enter") == 2
    assert log.count("exit") == 2


def test_threads_that_call_at_once_start_the_lifespan_once(tmp_path: Path) -> None:
    end = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as pool:
    print(set(pool.map(lambda _: look(), range(64))))
"""
    done = program(tmp_path, "in_task", end)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'open'}\n", "")
    assert (tmp_path / "log").read_text().count("enter") == 1
