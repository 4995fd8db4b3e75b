"""The official SDK's high-level server.

Arguments, for HTTP instead of stdio: the port, and `json` for JSON replies without sessions.
"""

import sys

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
    if len(sys.argv) == 1:
        server.run()
    else:
        is_json = "json" in sys.argv
        port = int(sys.argv[1])
        server.run("streamable-http", port=port, json_response=is_json, stateless_http=is_json)
