"""A server with tools that take long: `accord serve long_running:server`."""

import asyncio
import os
from pathlib import Path

import msgspec

from accord import Context, Server

server = Server("long")
server.tasks(lease=float(os.environ.get("LEASE", "1.0")), poll=0.1)


class Name(msgspec.Struct):
    name: str


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def pid() -> int:
    """Tell which process answers."""
    return os.getpid()


@server.tool(task=True)
async def report(seconds: float, ctx: Context, log: str = "") -> str:
    """Take some seconds; write a line to a file for each run."""
    _note(log, f"report {os.getpid()}")
    ctx.status("reading")
    await asyncio.sleep(seconds)
    return f"report of {os.getpid()}"


@server.tool(task=True, restartable=True)
async def again(seconds: float, log: str = "") -> str:
    """Take some seconds, again if need be."""
    _note(log, f"again {os.getpid()}")
    await asyncio.sleep(seconds)
    return f"again of {os.getpid()}"


@server.tool(task="required")
async def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("Your name?", Name)
    return f"Hello {answer.data.name if answer.data else 'you'}"


def _note(log: str, line: str) -> None:
    if log:
        with Path(log).open("a") as file:
            file.write(f"{line}\n")
