"""A test of the help desk with FastMCP: `pytest test_before.py`."""

import asyncio

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from before import mcp


def test_tickets_are_closed_all_or_none() -> None:
    async def main() -> None:
        async with Client(mcp) as client:
            filed = await client.call_tool("file_ticket", {"title": "No coffee"})
            with pytest.raises(ToolError, match="No open ticket 9"):
                await client.call_tool("close_tickets", {"ids": [1, 9]})
            result = await client.call_tool("tickets", {})
            assert result.structured_content == {"result": [filed.structured_content]}

    asyncio.run(main())
