"""FastMCP, without its banner.

Arguments, for HTTP instead of stdio: the port, and `json` for JSON replies without sessions.
"""

import sys

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
    if len(sys.argv) == 1:
        server.run(transport="stdio", show_banner=False, log_level="WARNING")
    else:
        is_json = "json" in sys.argv
        server.run(
            transport="http",
            port=int(sys.argv[1]),
            json_response=is_json,
            stateless_http=is_json,
            show_banner=False,
            log_level="WARNING",
        )
