"""A test of the help desk with Accord: `pytest test_after.py`."""

import asyncio

from accord import Client
from after import server


def test_tickets_are_closed_all_or_none() -> None:
    async def main() -> None:
        async with Client(server) as client:
            filed = await client.call_tool("file_ticket", {"title": "No coffee"})
            refused = await client.call_tool("close_tickets", {"ids": [1, 9]})
            assert refused.response.message == "No open ticket 9"
            result = await client.call_tool("tickets", {})
            assert result.value == [filed.value]

    asyncio.run(main())
