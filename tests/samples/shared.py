"""A server for several workers: its tools name their process, ask, wait, log and change resources.

What one worker has to know of another goes through files.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord import Context, Server

server = Server("shared", version="1.0", changing=["tools"])
_state = {"text": "as it began"}


async def _exists(file: Path) -> None:
    while not file.exists():  # noqa: ASYNC110, ASYNC240 - other processes create it
        await asyncio.sleep(0.01)


@dataclass
class Word:
    word: str


@server.tool
async def pid() -> int:
    """Return the id of the process."""
    return os.getpid()


@server.tool
async def caller(context: Context) -> dict[str, Any]:
    """Return what is known of the client."""
    client = context.client
    return {"revision": context.revision, "can": client.capabilities, "info": client.info}


@server.tool
async def ask(question: str, context: Context) -> str:
    """Ask the client."""
    said = await context.elicit(question, Word)
    return said.action if said.data is None else f"{os.getpid()} heard {said.data.word}"


@server.tool
async def forever(folder: str) -> None:
    """Wait until cancelled; files tell when that begins and ends."""
    (Path(folder) / "began").write_text(str(os.getpid()))
    try:
        await asyncio.Event().wait()
    finally:
        (Path(folder) / "ended").write_text(str(os.getpid()))


@server.tool
async def until(file: str, context: Context) -> str:
    """Report progress, then wait for a file and return."""
    await context.progress(1, message="one")
    await _exists(Path(file))
    await context.progress(2, message="two")
    return "found"


@server.tool
async def leave(file: str, context: Context) -> str:
    """End the response at once, then wait for a file and return."""
    await context.detach(0.01)
    await _exists(Path(file))
    return "found after all"


@server.tool
async def say(level: str, context: Context) -> str:
    """Log a message of a level."""
    await context.log(level, "said")  # type: ignore[arg-type]
    return "logged"


@server.tool
async def touch() -> int:
    """Change the watched resource."""
    server.updated("shared://watched")
    return os.getpid()


@server.tool
async def grow() -> int:
    """Change the list of tools."""

    def more() -> int:
        """Be one more tool."""
        return 1

    server.tool(name=f"more_{len(server.tools)}")(more)
    return os.getpid()


@server.resource("shared://watched", watched=True)
def watched() -> str:
    """Return a text that changes."""
    return _state["text"]
