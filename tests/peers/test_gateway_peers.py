"""Servers of the official SDK, FastMCP and Accord behind one endpoint, used by the SDK's client."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult, TextContent

from commands import ACCORD, PEERS, TESTS
from gateway.gateways import SAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.requirement("gateway.1.real-servers")]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    entries = {
        "sdk": {"command": sys.executable, "args": [str(PEERS / "sdk_server.py"), "stdio"]},
        "fast": {"command": sys.executable, "args": [str(PEERS / "fastmcp_upstream.py")]},
        "own": {"command": SAMPLE[0], "args": SAMPLE[1:], "prefix": "own_"},
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


def text(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_uses_all_of_them(config: Path, mode: str) -> None:
    async def answer(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def main() -> None:
        command = StdioServerParameters(
            command=ACCORD, args=["serve", str(config)], cwd=TESTS, env={"PYTHONWARNINGS": ""}
        )
        async with Client(
            command, mode=mode, read_timeout_seconds=40, elicitation_callback=answer
        ) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"add", "fast_add", "multiply", "own_add", "ask"} <= set(names)
            assert text(await client.call_tool("add", {"a": 2, "b": 3})) == "5"
            assert text(await client.call_tool("fast_add", {"a": 2, "b": 3})) == "5"
            assert text(await client.call_tool("multiply", {"a": 2, "b": 3})) == "6"
            assert text(await client.call_tool("own_add", {"a": 2, "b": 3})) == "5"
            failed = await client.call_tool("fail", {})
            assert failed.is_error
            assert text(await client.call_tool("ask", {})) == "Ada"
            steps: list[float] = []

            async def note(progress: float, total: float | None, message: str | None) -> None:
                steps.append(progress)

            await client.call_tool("own_steps", {}, progress_callback=note)
            assert steps == [1, 2, 3]

    asyncio.run(main())
