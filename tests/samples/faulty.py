"""A sample server whose tools block, raise, exit, fork or print: `build` switches groups of them on.

`accord serve faulty:blocking` in this folder, or `accord serve faulty.py:blocking`, serves one of
`SERVERS`.
"""

# ruff: noqa: C901 - a group is a function that defines its tools

import asyncio
import builtins
import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from accord import Answer, Context, Problem, Server


def build(
    name: str = "faulty",
    *,
    waiting: bool = False,
    stuck: bool = False,
    ending: bool = False,
    raising: bool = False,
    large: bool = False,
    printing: bool = False,
    **settings: Any,
) -> Server:
    """Return a server with the groups that are switched on; `settings` are those of `Server`."""
    server = Server(name, version="1.0", **settings)
    groups = {
        _add_waiting: waiting,
        _add_stuck: stuck,
        _add_ending: ending,
        _add_raising: raising,
        _add_large: large,
        _add_printing: printing,
    }
    for add_group, is_on in groups.items():
        if is_on:
            add_group(server)
    return server


# Waiting: tools that wait for each other, so that a test decides what happens when

MARKS: defaultdict[str, "Future[str]"] = defaultdict(Future)


"""Events by name. Each is set once, by a client or a tool, and any tool can wait for it."""


MEETINGS: defaultdict[int, list["Future[None]"]] = defaultdict(list)


TURNS = asyncio.Lock()


LABEL: ContextVar[str] = ContextVar("LABEL", default="unset")


LABEL.set("set at import")


BARRIERS: defaultdict[int, threading.Barrier] = defaultdict(lambda: threading.Barrier(3))


def _stuck() -> None:
    MARKS["stuck"].set_result("")


TASKS: set["asyncio.Task[None]"] = set()


def _add_waiting(server: Server) -> None:
    """Add tools that wait for marks, for each other and for time to pass."""

    @server.tool
    async def mark(name: str) -> None:
        """Set a mark."""
        MARKS[name].set_result("marked by the client")

    @server.tool
    async def when(name: str) -> str:
        """Wait for a mark, and return its text."""
        return await asyncio.shield(asyncio.wrap_future(MARKS[name]))

    @server.tool
    async def has(name: str) -> bool:
        """Return true if a mark is set."""
        return MARKS[name].done()

    @server.tool
    async def wait(name: str, until: str) -> str:
        """Wait as a task."""
        MARKS[f"{name} began"].set_result("")
        try:
            await when(until)
        except BaseException as error:
            MARKS[f"{name} ended"].set_result(type(error).__name__)
            raise
        MARKS[f"{name} ended"].set_result("returned")
        return name

    @server.tool
    def block(name: str, until: str, context: Context) -> str:
        """Wait in a thread."""
        MARKS[f"{name} began"].set_result("")
        MARKS[until].result()
        MARKS[f"{name} ended"].set_result("cancelled" if context.cancelled else "wanted")
        return name

    @server.tool
    def give_up(name: str, until: str, context: Context) -> str:
        """Wait in a thread, and raise if the call was cancelled."""
        block(name, until, context)
        if context.cancelled:
            raise RuntimeError("nobody wants this any more")
        return name

    @server.tool
    async def fail_when_cancelled() -> None:
        """Raise an error when cancelled."""
        _stuck()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise RuntimeError("the work was interrupted") from error

    @server.tool
    async def meet(parties: int) -> int:
        """Wait until so many calls have come."""
        here: Future[None] = Future()
        MEETINGS[parties].append(here)
        if len(MEETINGS[parties]) == parties:
            for other in MEETINGS.pop(parties):
                other.set_result(None)
        await asyncio.wrap_future(here)
        return parties

    @server.tool
    def meet_in_threads() -> int:
        """Wait until three calls have come."""
        return BARRIERS[3].wait()

    @server.tool
    async def run_out_of_time() -> str:
        """Stop waiting by a timeout inside the tool."""
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "ended"

    @server.tool
    async def task_name() -> str:
        """Return the name of the task that runs this call."""
        task = asyncio.current_task()
        return "no task" if task is None else task.get_name()

    @server.tool
    async def relabel_task(label: str) -> str:
        """Set a context variable, and return its value before."""
        before = LABEL.get()
        LABEL.set(label)
        await asyncio.sleep(0)
        return before

    @server.tool
    def relabel_thread(label: str) -> str:
        """Set a context variable, and return its value before."""
        before = LABEL.get()
        LABEL.set(label)
        return before

    @server.tool
    def thread_name() -> str:
        """Return the name of the thread that runs this call."""
        return threading.current_thread().name

    @server.tool
    async def text(size: int, padding: str = "") -> str:
        """Return so many characters, without repeating a kilobyte. Padding makes a request long."""
        return "".join(f"{n:>8}" for n in range(-(-size // 8)))[:size]

    @server.tool
    def echo(word: str) -> str:
        """Return the word, from a thread."""
        return word

    @server.tool
    async def nap(seconds: float) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "rested"

    @server.tool
    async def take_turns() -> str:
        """Wait for all earlier calls, each of which yields to the loop once."""
        async with TURNS:
            await asyncio.sleep(0)
        return "done"

    @server.tool
    async def report(times: int, context: Context) -> str:
        """Report progress so many times, with a message of a kilobyte."""
        for n in range(times):
            await context.progress(n, message="x" * 1_000)
        return "reported"

    @server.tool
    def nap_in_thread(seconds: float) -> str:
        """Sleep in a thread."""
        time.sleep(seconds)
        return "rested"

    @server.tool
    async def doze(name: str, seconds: float) -> str:
        """Set a mark, then sleep."""
        MARKS[name].set_result("")
        await asyncio.sleep(seconds)
        return "rested"

    @server.tool
    def doze_in_thread(name: str, seconds: float) -> str:
        """Set a mark in a thread, then sleep."""
        MARKS[name].set_result("")
        time.sleep(seconds)
        return "rested"

    @server.tool
    def look_around(name: str, context: Context) -> str:
        """Wait in a thread until the call is cancelled, then set a mark."""
        MARKS[f"{name} began"].set_result("")
        end = time.monotonic() + 10
        while not context.cancelled and time.monotonic() < end:
            time.sleep(0.01)
        if context.cancelled:
            MARKS[f"{name} left"].set_result("")
        return "alone"

    @server.tool
    async def act(scenes: int, until: str, context: Context) -> str:
        """Report progress for each scene; wait for a mark after the first."""
        for scene in range(scenes):
            await context.progress(scene, total=scenes)
            if not scene:
                await asyncio.wrap_future(MARKS[until])
        return f"{scenes} scenes"

    @server.tool
    async def brag(context: Context) -> str:
        """Report progress after the result was returned."""

        async def later() -> None:
            await asyncio.wrap_future(MARKS["bragged"])
            await context.progress(2, message="and another thing")

        TASKS.add(asyncio.create_task(later()))
        return "done"


# Stuck: tools that do not end by themselves


def _add_stuck(server: Server) -> None:
    """Add tools that mark that they have begun, and then never end."""

    @server.tool
    async def sleep_in_task() -> None:
        _stuck()
        await asyncio.sleep(600)

    @server.tool
    def sleep_in_thread() -> None:
        _stuck()
        time.sleep(600)

    @server.tool
    def spin_in_thread() -> None:
        _stuck()
        while True:
            pass

    @server.tool
    async def refuse_to_be_cancelled() -> None:
        _stuck()
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                continue

    @server.tool
    async def await_asyncios_thread() -> None:
        _stuck()
        await asyncio.to_thread(time.sleep, 600)

    @server.tool
    async def leave_a_thread_behind() -> None:
        threading.Thread(target=time.sleep, args=[600]).start()
        _stuck()

    @server.tool
    def leave_an_executor_behind() -> None:
        ThreadPoolExecutor().submit(time.sleep, 600)
        _stuck()

    @server.tool
    async def leave_a_task_behind() -> None:
        TASKS.add(asyncio.create_task(refuse_to_be_cancelled()))

    @server.tool
    async def block_the_loop() -> None:
        print("stuck", file=sys.stderr, flush=True)
        _stuck()
        time.sleep(600)  # noqa: ASYNC251 - the very mistake that is to be survived


# Ending: tools that end their task or the process


def _add_ending(server: Server) -> None:
    """Add tools that cancel themselves, exit, or raise a problem."""

    @server.tool
    async def cancel_itself(context: Context) -> str:
        """Cancel the task of this call, and return."""
        await context.progress(1)
        return await cancel_at_once()

    @server.tool
    async def cancel_at_once() -> str:
        """Cancel the task of this call, and return without an await."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "went on"

    @server.tool
    async def raise_cancelled() -> str:
        """Raise CancelledError without a cancellation."""
        raise asyncio.CancelledError

    @server.tool
    async def leave() -> str:
        """Exit from a task."""
        raise SystemExit(3)

    @server.tool
    def leave_from_thread() -> str:
        """Exit from a thread."""
        raise SystemExit(3)

    @server.tool
    async def lose(secret: str) -> str:
        """Raise a problem."""
        raise Problem.not_found(f"No {secret} here")


# Raising: tools that fail in the ways that Python has

SURROGATE = "\ud800"


def _error(name: str) -> BaseException:
    if name == "CancelledError":
        return asyncio.CancelledError()
    error: BaseException = getattr(builtins, name)("secret")
    return error


@dataclass
class Odd:
    value: int

    def __post_init__(self) -> None:
        raise KeyError(self.value)


def _add_raising(server: Server) -> None:
    """Add tools that raise, return what cannot be encoded, fork, and stop the loop."""

    @server.tool
    async def throw(error: str) -> None:
        raise _error(error)

    @server.tool
    def throw_in_thread(error: str) -> None:
        raise _error(error)

    @server.tool
    async def leak() -> None:
        raise RuntimeError("cannot log in with password hunter2")

    @server.tool
    async def fine() -> str:
        return "fine"

    @server.tool
    def fine_in_thread() -> str:
        return "fine"

    @server.tool
    async def lone_surrogate() -> str:
        return SURROGATE

    @server.tool
    def lone_surrogate_in_thread() -> str:
        return SURROGATE

    @server.tool
    async def lone_surrogate_inside() -> dict[str, str]:
        return {"name": SURROGATE}

    @server.tool
    async def lone_surrogate_in_problem() -> None:
        raise Problem.not_found(f"No customer {SURROGATE}")

    @server.tool
    async def lone_surrogate_in_warning() -> Answer[int]:
        return Answer(1, warnings=[f"careful {SURROGATE}"])

    @server.tool
    async def endless_recursion() -> Any:
        knot: list[Any] = []
        knot.append(knot)
        return knot

    @server.tool
    async def no_json() -> Any:
        return object()

    @server.tool
    async def no_block() -> Answer[int]:
        return Answer(1, blocks=[5])  # type: ignore[list-item]

    @server.tool
    async def other_than_promised() -> int:
        return "five"  # type: ignore[return-value]

    @server.tool
    async def arguments_that_raise(odd: Odd) -> None:
        """Take an argument that fits the schema and raises when it is created."""

    @server.tool
    async def exit_in_a_subtask() -> None:
        async def leave() -> None:
            raise SystemExit(3)

        task = asyncio.create_task(leave())
        await asyncio.wait([task])

    @server.tool
    async def interrupt_in_a_subtask() -> None:
        async def interrupt() -> None:
            raise KeyboardInterrupt

        task = asyncio.create_task(interrupt())
        await asyncio.wait([task])

    @server.tool
    async def count_tasks() -> int:
        return len(asyncio.all_tasks())

    @server.tool
    async def stop_the_loop() -> None:
        asyncio.get_running_loop().stop()

    @server.tool
    async def cancel_every_task() -> None:
        for task in asyncio.all_tasks():
            task.cancel()

    @server.tool
    async def complain(times: int) -> None:
        """Raise an error whose message fills the pipe of stderr."""
        raise RuntimeError("x" * times)

    @server.tool
    def fork_and_end_the_child() -> float:
        """Return the seconds that a forked child takes to end after SIGTERM."""
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=[30])
        child.start()
        begin = time.monotonic()
        child.terminate()
        child.join()
        return time.monotonic() - begin

    @server.tool
    def fork_and_return() -> int:
        """Fork, and return in both processes."""
        return os.fork()

    @server.tool
    async def fork_and_return_on_the_loop() -> int:
        return os.fork()


# Large: results of any size

STARTED: dict[str, int] = {}


def _add_large(server: Server) -> None:
    """Add tools with large results: at once, from a thread, and after a wait."""

    @server.tool
    async def now(size: int) -> str:
        """Return at once."""
        return "x" * size

    @server.tool
    def in_thread(size: int) -> str:
        """Return from a thread."""
        return "x" * size

    @server.tool
    async def later(size: int, seconds: float = 0.05) -> str:
        """Return after a wait."""
        await asyncio.sleep(seconds)
        return "x" * size

    @server.tool
    async def start(name: str) -> None:
        """Count how often a name was given."""
        STARTED[name] = STARTED.get(name, 0) + 1

    @server.tool
    async def started(name: str) -> int:
        """Return how often a name was given."""
        return STARTED.get(name, 0)

    @server.tool
    async def wait(name: str) -> None:
        """Wait until cancelled, and count that as `name`."""
        try:
            await asyncio.Event().wait()
        finally:
            await start(name)


# Printing: tools that use standard input and output, which belong to the protocol


def _add_printing(server: Server) -> None:
    """Add tools that write to standard output and read standard input in many ways."""

    @server.tool
    async def quiet() -> str:
        return "quiet"

    @server.tool
    async def print_it() -> None:
        print("NOISE")

    @server.tool
    def print_it_in_a_thread() -> None:
        print("NOISE")

    @server.tool
    async def print_and_flush_it() -> None:
        print("NOISE", flush=True)

    @server.tool
    async def write_to_the_first_stdout() -> None:
        assert sys.__stdout__ is not None
        sys.__stdout__.write("NOISE\n")

    @server.tool
    async def write_to_a_stdout_that_was_replaced() -> None:
        first, sys.stdout = sys.stdout, sys.stderr
        first.write("NOISE\n")

    @server.tool
    async def write_to_the_descriptor() -> None:
        os.write(1, b"NOISE\n")

    @server.tool
    async def print_from_c() -> None:
        ctypes.CDLL(None).printf(b"NOISE\n")

    @server.tool
    def start_a_chatty_child() -> None:
        subprocess.run(["echo", "NOISE"], check=True)

    @server.tool
    def start_a_chatty_shell() -> None:
        os.system("echo NOISE")

    @server.tool
    def fork_a_chatty_child() -> None:
        child = os.fork()
        if not child:
            os.write(1, b"NOISE\n")
            os._exit(0)
        os.waitpid(child, 0)

    @server.tool
    async def print_when_python_ends() -> None:
        """Print from a thread that outlives the main thread."""

        def wait_and_print() -> None:
            threading.main_thread().join()
            print("NOISE", flush=True)

        threading.Thread(target=wait_and_print).start()

    @server.tool
    async def close_stdout() -> None:
        sys.stdout.close()

    @server.tool
    async def close_stdin() -> None:
        sys.stdin.close()

    @server.tool
    async def close_the_descriptors() -> None:
        os.close(0)
        os.close(1)

    @server.tool
    async def replace_the_descriptors() -> None:
        with open(os.devnull, "r+") as other:  # noqa: ASYNC230, PTH123
            os.dup2(other.fileno(), 0)
            os.dup2(other.fileno(), 1)

    @server.tool
    def ask_a_person() -> str:
        try:
            return input("NOISE, your name? ")
        except EOFError:
            return "nobody"

    @server.tool
    def read_stdin() -> str:
        return sys.stdin.read() or "nobody"

    @server.tool
    def read_the_descriptor() -> str:
        return os.read(0, 100).decode() or "nobody"

    @server.tool
    def start_a_curious_child() -> str:
        return (
            subprocess.run(["cat"], capture_output=True, check=True, text=True).stdout or "nobody"
        )


SERVERS: dict[str, dict[str, Any]] = {
    "blocking": {"waiting": True, "stuck": True, "ending": True, "max_bytes": 16 * 1024 * 1024},
    "raising": {"raising": True},
    "large": {"large": True, "max_bytes": 64 * 1024 * 1024},
    "printing": {"printing": True},
}
"""The servers of this module, by the name that a command gives: arguments of `build`."""


def __getattr__(name: str) -> Server:
    """Build a server of `SERVERS` when it is first used."""
    if name not in SERVERS:
        raise AttributeError(name)
    server = globals()[name] = build(name, **SERVERS[name])
    return server
