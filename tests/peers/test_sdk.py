"""The official SDK's client against our server, in both eras, over stdio."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import TextContent

ROOT = Path(__file__).parents[2]
REVISIONS = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
ORDERS = [{"id": 2, "item": "moth trap", "price": 19.99}]


def talk(mode: str, say: Callable[[Client], Awaitable[Any]], target: str = "shop") -> Any:
    """Start our server as the SDK starts one, and return the result of `say`."""
    folder = ROOT / ("examples" if target == "shop" else "tests/samples")
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("accord")),
        args=["serve", target],
        cwd=folder,
        env=dict(os.environ),
    )

    async def session() -> Any:
        async with Client(command, mode=mode, read_timeout_seconds=30) as client:
            assert client.protocol_version == REVISIONS[mode]
            return await say(client)

    return asyncio.run(session())


def wrapped(mode: str, value: Any) -> Any:
    """Return the structured content for a value that is not an object."""
    return value if REVISIONS[mode] == "2026-07-28" else {"result": value}


pytestmark = [pytest.mark.slow, pytest.mark.parametrize("mode", REVISIONS)]


def test_it_lists_our_tools(mode: str) -> None:
    add, orders = talk(mode, lambda client: client.list_tools()).tools
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.input_schema["required"] == ["a", "b"]
    assert add.output_schema is not None
    assert orders.annotations.read_only_hint is True


def test_a_call_succeeds_with_text_and_structure(mode: str) -> None:
    result = talk(mode, lambda client: client.call_tool("add", {"a": 2, "b": 3}))
    assert result.is_error is False
    assert result.content == [TextContent(text="5")]
    assert result.structured_content == wrapped(mode, 5)


def test_rows_come_with_their_page_and_warnings(mode: str) -> None:
    result = talk(mode, lambda client: client.call_tool("orders", {"customer": "grace"}))
    details = {
        "page": {"limit": 20, "total": 1},
        "warnings": [{"message": "prices are from yesterday"}],
    }
    assert result.structured_content == {"result": ORDERS} | details
    assert result.meta["dev.accord-mcp/answer"] == details


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("orders", {"customer": "zoe"}, "No customer 'zoe'"),
        ("add", {"a": "two"}, "Invalid arguments for add"),
    ],
    ids=["a problem", "bad arguments"],
)
def test_a_call_fails_with_words(
    mode: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    result = talk(mode, lambda client: client.call_tool(tool, arguments))
    assert result.is_error is True
    assert result.content[0].text.startswith(f"Error executing tool: {words}")
    assert result.structured_content is None


def test_an_unknown_tool_is_a_protocol_error_and_the_next_call_works(mode: str) -> None:
    async def say(client: Client) -> Any:
        with pytest.raises(MCPError, match="Unknown tool: subtract") as caught:
            await client.call_tool("subtract", {})
        assert caught.value.code == -32602
        return await client.call_tool("add", {"a": 2, "b": 3})

    assert talk(mode, say).content == [TextContent(text="5")]


def test_calls_run_at_the_same_time(mode: str) -> None:
    async def say(client: Client) -> Any:
        calls = [client.call_tool("meet", {"parties": 20}) for _ in range(20)]
        return await asyncio.gather(*calls)

    results = talk(mode, say, target="faulty:blocking")
    assert [result.content for result in results] == [[TextContent(text="20")]] * 20


def test_a_call_that_the_client_gives_up_is_cancelled(mode: str) -> None:
    async def say(client: Client) -> Any:
        call = asyncio.create_task(client.call_tool("wait", {"name": "w", "until": "never"}))
        await client.call_tool("when", {"name": "w began"})
        call.cancel()
        return await client.call_tool("when", {"name": "w ended"})

    assert talk(mode, say, target="faulty:blocking").content == [TextContent(text="CancelledError")]
