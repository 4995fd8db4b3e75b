"""A server of FastMCP whose tools fail without saying so, over HTTP: `foreign.py PORT`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Image
from mcp.types import TextContent

server = FastMCP("foreign")
PICTURE = Path(__file__).with_name("lantern.png").read_bytes()


@server.tool
def close_door() -> dict[str, Any]:
    """Fail with a flag."""
    return {"success": False, "error": "The door is locked", "hint": "call unlock_door first"}


@server.tool
def run_query(sql: str = "SELECT * FROM users") -> str:
    """Fail in prose."""
    return "SQL error: no such table: users\nTables: shop, orders"


@server.tool
def fetch_item(id: int = 7) -> dict[str, Any]:
    """Fail with the JSON of an HTTP API."""
    return {"status": 404, "title": "Not Found", "detail": "No item 7"}


@server.tool
def find_user(name: str = "Ada") -> str:
    """Fail in prose that could be an answer."""
    return f"I could not find {name}"


@server.tool
async def wait() -> str:
    """Wait until the call is cancelled."""
    await asyncio.Event().wait()
    return "done"


@server.tool
def list_items(hurry: bool = True) -> list[dict[str, Any]]:
    """List two items."""
    return [{"id": 1}, {"id": 2}]


@server.tool
def list_users() -> ToolResult:
    """List users; the text has the page, and the structure the users."""
    text = TextContent(type="text", text="2 of 9 users; pass page=2 for more.")
    return ToolResult(content=[text], structured_content={"users": [{"id": 1}, {"id": 2}]})


@server.tool
def picture() -> ToolResult:
    """Return an image, and data that only the structure has."""
    return ToolResult(
        content=[Image(data=PICTURE, format="png").to_image_content()],
        structured_content={"caption": "a lantern"},
    )


if __name__ == "__main__":
    server.run("http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
