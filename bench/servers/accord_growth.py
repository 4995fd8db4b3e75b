"""Accord with `BENCH_TOOLS` tools; the last one is `add`."""

import os
from collections.abc import Awaitable, Callable

from accord import Server

server = Server("bench", version="1.0")


def numbered(number: int) -> Callable[[int, int], Awaitable[int]]:
    async def tool(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    tool.__name__ = f"add_{number}"
    return tool


for number in range(int(os.environ["BENCH_TOOLS"]) - 1):
    server.tool(numbered(number))


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
