"""The server that the tests of the protocol talk to, in the same process or as a child.

As a script it serves over stdio with narrow limits: lines of 1,000 bytes, four calls, one thread.
"""

import asyncio
import threading
from typing import Any

from accord import Context, Server
from accord.serve import stdio
from accord.serve.pipes import take_pipes

server = Server("office", version="1.0")
SECRET = "the combination is 4711"
_waiting: list[int] = []


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def echo(value: Any = None) -> Any:
    """Say the same again."""
    return value


@server.tool(strict=True)
def exact(a: int) -> int:
    """Take one number and nothing else."""
    return a


@server.tool
def caller(context: Context) -> dict[str, Any]:
    """Say for whom, and under which revision, this call is served."""
    return {"revision": context.revision, "capabilities": context.client.capabilities}


@server.tool
def broken() -> int:
    """Fail with something that nobody should see."""
    raise RuntimeError(SECRET)


@server.tool
def unspeakable() -> str:
    """Return text that has no UTF-8."""
    return "\ud800"


@server.tool
async def forever() -> int:
    """Wait in a task until the call is cancelled."""
    _waiting.append(1)
    try:
        await asyncio.Event().wait()
    finally:
        _waiting.pop()
    return 0


@server.tool
def patient(context: Context) -> int:
    """Wait in a thread until the call is cancelled, and then fail."""
    _waiting.append(1)
    while not context.cancelled:
        threading.Event().wait(0.001)
    _waiting.pop()
    raise InterruptedError(SECRET)


@server.tool
async def waiting() -> int:
    """Count the calls of those two that wait."""
    return len(_waiting)


if __name__ == "__main__":
    settings = stdio.Settings(grace=1, max_request=1_000, max_calls=4, threads=1)
    stdio.serve(server, take_pipes(), settings)
