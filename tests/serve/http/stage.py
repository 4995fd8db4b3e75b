"""A server whose tools say something before they are done."""

import asyncio
import json
import time
from collections import defaultdict
from concurrent.futures import Future
from pathlib import Path

from accord import Context, Problem, Server

server = Server("stage", version="1.0")

CUES: defaultdict[str, "Future[None]"] = defaultdict(Future)
TASKS: set["asyncio.Task[None]"] = set()
PROCESS = {name: Path("/proc/self", name) for name in ("status", "fd")}


@server.tool
async def cue(name: str) -> None:
    """Let those go on that wait for this."""
    CUES[name].set_result(None)


@server.tool
async def until(name: str) -> None:
    """Wait for a cue."""
    await asyncio.shield(asyncio.wrap_future(CUES[name]))


@server.tool
async def doze(name: str, seconds: float) -> str:
    """Take a while, and give a cue when it begins."""
    CUES[name].set_result(None)
    await asyncio.sleep(seconds)
    return "rested"


@server.tool
def doze_in_thread(name: str, seconds: float) -> str:
    """The same in a thread."""
    CUES[name].set_result(None)
    time.sleep(seconds)
    return "rested"


@server.tool
def look_around(name: str, context: Context) -> str:
    """Wait in a thread for the caller to leave, and give a cue then."""
    CUES[f"{name} began"].set_result(None)
    end = time.monotonic() + 10
    while not context.cancelled and time.monotonic() < end:
        time.sleep(0.01)
    if context.cancelled:
        CUES[f"{name} left"].set_result(None)
    return "alone"


@server.tool
async def say_slowly(seconds: float, context: Context) -> str:
    """Say something, take a while, and say it again."""
    await context.progress(1)
    await asyncio.sleep(seconds)
    await context.progress(2)
    return "said"


@server.tool
async def say(message: str, context: Context) -> str:
    """Say something on the way."""
    await context.progress(1, total=2, message=message)
    return message


@server.tool
async def act(scenes: int, until: str, context: Context) -> str:
    """Say that each scene begins; after the first, wait."""
    for scene in range(scenes):
        await context.progress(scene, total=scenes)
        if not scene:
            await asyncio.wrap_future(CUES[until])
    return f"{scenes} scenes"


@server.tool
async def brag(context: Context) -> str:
    """Say something when the answer has long been given."""

    async def later() -> None:
        await asyncio.wrap_future(CUES["bragged"])
        await context.progress(2, message="and another thing")

    TASKS.add(asyncio.create_task(later()))
    return "done"


@server.tool
async def revision(context: Context) -> str:
    """The revision that the caller speaks."""
    return context.revision


@server.tool
def whence(context: Context) -> str:
    """Where the caller is, and what it shows for itself."""
    sender = context.sender
    shown = sender.fields.get(b"authorization", b"nothing").decode()
    return f"{sender.address} shows {shown}"


@server.tool
async def need_sampling(context: Context) -> str:
    """Work for a client alone that can sample."""
    context.require("sampling")
    return "sampled"


@server.tool
async def echo_later(word: str) -> str:
    """The same word, after others had their turn."""
    await asyncio.sleep(0)
    return word


@server.tool
async def census() -> str:
    """What this process holds."""
    status = dict(line.split(":", 1) for line in PROCESS["status"].read_text().splitlines())
    return json.dumps(
        {
            "tasks": len(asyncio.all_tasks()),
            "descriptors": len(list(PROCESS["fd"].iterdir())),
            "kilobytes": int(status["VmRSS"].split()[0]),
        }
    )


@server.tool
async def cancel_itself(context: Context) -> str:
    """Cancel the task that this runs in, and go on."""
    await context.progress(1)
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "went on"


@server.tool
async def cancel_at_once() -> str:
    """The same without waiting for anything."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "went on"


@server.tool
async def length(word: str) -> int:
    """How long a word is."""
    return len(word)


@server.tool
async def raise_cancelled() -> str:
    """End as if somebody had cancelled it."""
    raise asyncio.CancelledError


@server.tool
async def leave() -> str:
    """End everything."""
    raise SystemExit(3)


@server.tool
def leave_from_thread() -> str:
    """The same from a thread."""
    raise SystemExit(3)


@server.tool
async def keep(secret: str) -> str:
    """Take something that is nobody's business."""
    return secret


@server.tool
async def lose(secret: str) -> str:
    """Fail, and say why."""
    raise Problem.not_found(f"No {secret} here")
