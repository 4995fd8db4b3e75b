"""The server that the examples of this folder deploy."""

import asyncio

from accord import Context, Server

server = Server("shop")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(task=True, restartable=True)
async def report(year: int, ctx: Context) -> str:
    """Write the report of a year."""
    ctx.status("reading")
    await asyncio.sleep(5)
    return f"All was well in {year}."
