"""A server whose tools say something before they are done."""

import asyncio
import json
import os
import threading
from collections import defaultdict
from concurrent.futures import Future
from pathlib import Path

from accord import Context, Problem, Server

server = Server("stage", version="1.0")

CUES: defaultdict[str, "Future[None]"] = defaultdict(Future)
TASKS: set["asyncio.Task[None]"] = set()


@server.tool
async def cue(name: str) -> None:
    """Let those go on that wait for this."""
    CUES[name].set_result(None)


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
    status = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    return json.dumps(
        {
            "tasks": len(asyncio.all_tasks()),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "kilobytes": int(status["VmRSS"].split()[0]),
        }
    )


@server.tool
async def keep(secret: str) -> str:
    """Take something that is nobody's business."""
    return secret


@server.tool
async def lose(secret: str) -> str:
    """Fail, and say why."""
    raise Problem.not_found(f"No {secret} here")
