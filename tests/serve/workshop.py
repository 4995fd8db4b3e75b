"""A server whose tools wait for each other, so that a test decides what happens when."""

import asyncio
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar

from accord import Context, Server

server = Server("workshop", version="1.0", max_bytes=16 * 1024 * 1024)

MARKS: defaultdict[str, "Future[str]"] = defaultdict(Future)
"""What has happened, by name: anybody may set a mark, once, and anybody may wait for it."""

MEETINGS: defaultdict[int, list["Future[None]"]] = defaultdict(list)
TURNS = asyncio.Lock()
LABEL: ContextVar[str] = ContextVar("LABEL", default="unset")
LABEL.set("set at import")


@server.tool
async def mark(name: str) -> None:
    """Say that something has happened."""
    MARKS[name].set_result("marked by the client")


@server.tool
async def when(name: str) -> str:
    """Wait until something has happened, and say what."""
    return await asyncio.shield(asyncio.wrap_future(MARKS[name]))


@server.tool
async def has(name: str) -> bool:
    """Whether something has happened by now."""
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
    """Wait in a thread, and raise if the caller has gone meanwhile."""
    block(name, until, context)
    if context.cancelled:
        raise RuntimeError("nobody wants this any more")
    return name


@server.tool
async def fail_when_cancelled() -> None:
    """Make an error of a cancellation."""
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


BARRIERS: defaultdict[int, threading.Barrier] = defaultdict(lambda: threading.Barrier(3))


@server.tool
def meet_in_threads() -> int:
    """Wait until three calls have come."""
    return BARRIERS[3].wait()


@server.tool
async def run_out_of_time() -> str:
    """Let a timeout of its own end the work."""
    try:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    except TimeoutError:
        return "timed out"
    return "ended"


@server.tool
async def task_name() -> str:
    """The task that this call is."""
    task = asyncio.current_task()
    return "no task" if task is None else task.get_name()


@server.tool
async def relabel_task(label: str) -> str:
    """Set a context variable; what it was before."""
    before = LABEL.get()
    LABEL.set(label)
    await asyncio.sleep(0)
    return before


@server.tool
def relabel_thread(label: str) -> str:
    """Set a context variable; what it was before."""
    before = LABEL.get()
    LABEL.set(label)
    return before


@server.tool
def thread_name() -> str:
    """The thread that this call runs in."""
    return threading.current_thread().name


@server.tool
async def text(size: int) -> str:
    """So many characters, no two kilobytes alike."""
    return "".join(f"{n:>8}" for n in range(-(-size // 8)))[:size]


@server.tool
def echo(word: str) -> str:
    """The same word, by way of a thread."""
    return word


@server.tool
async def nap(seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return "rested"


@server.tool
async def take_turns() -> str:
    """Wait for all who came before, each of whom takes a turn of the loop."""
    async with TURNS:
        await asyncio.sleep(0)
    return "done"


@server.tool
async def report(times: int, context: Context) -> str:
    """Say so many times how far it is, each time with a kilobyte of words."""
    for n in range(times):
        await context.progress(n, message="x" * 1_000)
    return "reported"


@server.tool
def nap_in_thread(seconds: float) -> str:
    """Take a while in a thread."""
    time.sleep(seconds)
    return "rested"


# Tools that do not want to end. Each says that it has begun before it gets stuck.


def _stuck() -> None:
    MARKS["stuck"].set_result("")


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


TASKS: set["asyncio.Task[None]"] = set()


@server.tool
async def block_the_loop() -> None:
    print("stuck", file=sys.stderr, flush=True)
    _stuck()
    time.sleep(600)  # noqa: ASYNC251 - the very mistake that is to be survived
