"""An upstream whose calls become tasks."""

import asyncio

from accord import Context, Problem, Server

server = Server("task-upstream", version="1.0")
server.tasks(experimental=True)
_waiting: list[str] = []
_cancelled: list[str] = []


@server.tool(task="required")
async def count(to: int, context: Context) -> int:
    """Count, which takes a while."""
    for number in range(to):
        context.status(f"at {number}")
        await asyncio.sleep(0.05)
    return to


@server.tool(task="required")
async def fail() -> int:
    """Fail after a while."""
    await asyncio.sleep(0.05)
    raise Problem.not_found("No lamp here")


@server.tool(task="required")
async def ask(context: Context) -> str:
    """Ask the user in the middle of a task."""
    answer = await context.elicit("Which colour?", str)
    return f"{answer.action}: {answer.data}"


@server.tool(task="required")
async def wait() -> str:
    """Wait until the task is cancelled."""
    _waiting.append("wait")
    try:
        await asyncio.Event().wait()
    finally:
        _cancelled.append("wait")
    return "never"


@server.tool
async def waits() -> list[int]:
    """Return how many tasks wait or waited, and how many were cancelled."""
    return [len(_waiting), len(_cancelled)]
