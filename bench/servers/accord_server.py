"""Accord; started as `accord serve bench.servers.accord_server:server`."""

from accord import Server
from bench.servers.data import Row, make_rows

server = Server("bench", version="1.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(read_only=True)
async def rows() -> list[Row]:
    """A hundred rows of six columns."""
    return make_rows()
