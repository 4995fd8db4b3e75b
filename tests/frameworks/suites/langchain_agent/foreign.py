"""A server of the official SDK whose failures look like successes."""

import base64
from collections.abc import Callable
from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.types import AudioContent, CallToolResult, ImageContent, TextContent, ToolAnnotations

mcp = FastMCP("foreign", port=0)
PIXEL = base64.b64encode(b"pixel").decode()
READ_ONLY = ToolAnnotations(readOnlyHint=True)


def text(words: str) -> list[TextContent]:
    return [TextContent(type="text", text=words)]


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a tool that sends text only."""
    return mcp.tool(annotations=READ_ONLY, structured_output=False)(function)


@plain
def cancel_order(number: int) -> str:
    return f"Error: order {number} has been shipped"


@plain
def get_customer(number: int) -> dict[str, Any]:
    return {"success": False, "error": f"no customer {number}", "known": [1, 2, 3]}


@plain
def run_query(sql: str) -> str:
    return "sqlite3.OperationalError: no such table: ordrs"


@plain
def fetch_page(path: str) -> dict[str, Any]:
    return {"statusCode": 404, "message": "Not Found", "path": path}


@plain
def read_log() -> str:
    return "10:00 started\n10:01 error: the disk is full\n10:02 stopped"


@plain
def declared(number: int) -> CallToolResult:
    return CallToolResult(content=text(f"Order {number} is locked"), isError=True)


@plain
def silent() -> CallToolResult:
    return CallToolResult(content=[], isError=True)


@mcp.tool()
def count_orders() -> CallToolResult:
    return CallToolResult(content=text("2 orders"), structuredContent={"open": 2, "late": [7, 9]})


@plain
def picture() -> list[Any]:
    return [*text("The lamp"), ImageContent(type="image", data=PIXEL, mimeType="image/png")]


@plain
def sound() -> list[Any]:
    return [*text("The bell"), AudioContent(type="audio", data=PIXEL, mimeType="audio/wav")]


def page(start: int) -> dict[str, Any]:
    found = [{"id": n} for n in range(start, min(start + 3, 8))]
    members: dict[str, Any] = {"orders": found, "currency": "EUR"}
    return members | ({"next_cursor": str(start + 3)} if start + 3 < 8 else {})


@mcp.tool(annotations=READ_ONLY)
def list_orders(cursor: str = "0") -> dict[str, Any]:
    return page(int(cursor))


@mcp.tool()
def list_unmarked(cursor: str = "0") -> dict[str, Any]:
    return page(int(cursor))


@plain
def list_failing(cursor: str = "0") -> dict[str, Any]:
    return page(0) if cursor == "0" else {"success": False, "error": "the cursor has expired"}


@plain
def list_circling(cursor: str = "0") -> dict[str, Any]:
    return page(0)


@plain
def list_crashing(cursor: str = "0") -> dict[str, Any]:
    if cursor != "0":
        raise ValueError("out of memory")
    return page(0)


if __name__ == "__main__":
    mcp.run("streamable-http")
