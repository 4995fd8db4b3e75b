"""FastMCP, without its banner."""

from fastmcp import FastMCP

from bench.servers.data import Row, make_rows

server = FastMCP("bench", version="1.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def rows() -> list[Row]:
    """A hundred rows of six columns."""
    return make_rows()


if __name__ == "__main__":
    server.run(transport="stdio", show_banner=False, log_level="WARNING")
