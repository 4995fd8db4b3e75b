"""A server whose tasks docket runs: `docket worker --tasks queued:tasks --docket accord-queued`."""

import asyncio
import os
from pathlib import Path

import msgspec

from accord import Context, Problem, Server
from accord.tasks.docket import docket_tasks

server = Server("queued", key=b"k" * 32)
server.tasks(store=os.environ["STORE"], engine="docket", lease=1.0, poll=0.1)
tasks = docket_tasks(server)


class Name(msgspec.Struct):
    name: str


@server.tool
async def pid() -> int:
    """Tell which process answers."""
    return os.getpid()


@server.tool(task=True)
async def report(seconds: float, ctx: Context, log: str = "") -> str:
    """Take some seconds; write a line to a file for each run."""
    _note(log)
    ctx.status("reading")
    await asyncio.sleep(seconds)
    return f"report of {os.getpid()}"


@server.tool(task=True)
def blocking(year: int, ctx: Context) -> str:
    """Work in a thread."""
    ctx.status("counting")
    return f"{year} of {os.getpid()}"


@server.tool(task=True, restartable=True)
async def again(seconds: float, log: str = "") -> str:
    """Take some seconds, again if need be."""
    _note(log)
    await asyncio.sleep(seconds)
    return f"again of {os.getpid()}"


@server.tool(task="required")
async def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("Your name?", Name)
    return f"Hello {answer.data.name if answer.data else 'you'}"


@server.tool(task=True)
async def faulty() -> str:
    """Fail, as tools do."""
    raise Problem.not_found("No such thing")


def _note(log: str) -> None:
    if log:
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
