"""A server whose answers are large: at once, from a thread, and after a wait."""

import asyncio

from accord import Server

server = Server("large", version="1.0", max_bytes=64 * 1024 * 1024)
STARTED: dict[str, int] = {}


@server.tool
async def now(size: int) -> str:
    """Answer at once."""
    return "x" * size


@server.tool
def in_thread(size: int) -> str:
    """Answer from a thread."""
    return "x" * size


@server.tool
async def later(size: int, seconds: float = 0.05) -> str:
    """Answer after a wait."""
    await asyncio.sleep(seconds)
    return "x" * size


@server.tool
async def start(name: str) -> None:
    """Count how often a name was given."""
    STARTED[name] = STARTED.get(name, 0) + 1


@server.tool
async def started(name: str) -> int:
    """How often a name was given."""
    return STARTED.get(name, 0)


@server.tool
async def wait(name: str) -> None:
    """Wait until cancelled, and count that as `name`."""
    try:
        await asyncio.Event().wait()
    finally:
        await start(name)
