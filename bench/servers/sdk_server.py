"""The official SDK's high-level server."""

from mcp.server import MCPServer

from bench.servers.data import Row, make_rows

server = MCPServer("bench", version="1.0", log_level="WARNING")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def rows() -> list[Row]:
    """A hundred rows of six columns."""
    return make_rows()


if __name__ == "__main__":
    server.run()
