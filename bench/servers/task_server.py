"""A server with `add` and a task, for the benchmark of stores: `accord serve bench.servers.task_server:server`."""

import asyncio

from accord import Server

server = Server("tasks")
server.tasks(max_tasks=20_000, max_tasks_per_caller=20_000)


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(task=True)
async def wait(seconds: float) -> str:
    """Take some seconds."""
    await asyncio.sleep(seconds)
    return "done"


@server.tool
async def touch() -> None:
    """Change the watched resource."""
    server.updated("tasks://watched")


@server.resource("tasks://watched", watched=True)
def watched() -> str:
    """Return a text."""
    return "text"
