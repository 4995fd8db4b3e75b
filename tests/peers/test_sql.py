"""A database behind the official SDK's client, the Inspector, and a desktop client's configuration."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from sources.sql.shop import make

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
INSPECTOR = Path(sys.prefix, "peers/node_modules/.bin/mcp-inspector")
JOHN = [{"id": 1, "name": "John Doe", "email": "john@example.com"}]
TOOLS = ["list_tables", "describe_table", "run_query", "insert_row", "update_row", "delete_row"]


def talk(command: StdioServerParameters, mode: str, say: Callable[[Client], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        async with Client(command, mode=mode, read_timeout_seconds=30) as client:
            return await say(client)

    return asyncio.run(session())


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def use(client: Client) -> list[str]:
    """Call all six tools, and one that is refused; return their texts."""
    said = [",".join(tool.name for tool in (await client.list_tools()).tools)]
    for name, arguments in (
        ("list_tables", {}),
        ("describe_table", {"table_name": "users"}),
        ("insert_row", {"table_name": "users", "data": {"name": "Jane Smith"}}),
        ("update_row", {"table_name": "users", "data": {"email": "x"}, "where": {"id": 2}}),
        ("delete_row", {"table_name": "users", "where": {"id": 2}}),
        ("run_query", {"query": "SELECT * FROM users"}),
        ("run_query", {"query": "DELETE FROM users"}),
    ):
        result = await client.call_tool(name, arguments)
        assert result.is_error is (arguments.get("query") == "DELETE FROM users")
        said.append(text_of(result))
    return said


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_uses_all_six_tools(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "shop.db")
    command = StdioServerParameters(
        command=str(BIN / "accord"), args=["serve", str(path)], env=dict(os.environ)
    )
    said = talk(command, mode, use)
    assert said[0].split(",") == TOOLS
    assert said[1] == "Found 2 tables:\n- users\n- posts"
    assert said[3:6] == [
        "Row inserted successfully. Last insert ID: 2, Changes: 1",
        "Rows updated successfully. Changes: 1",
        "Rows deleted successfully. Changes: 1",
    ]
    assert json.loads(said[6].partition("\n")[2]) == JOHN
    assert said[7].endswith("Only SELECT queries are allowed for security reasons")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls_the_tools(tmp_path: Path, era: str) -> None:
    if not INSPECTOR.exists():
        pytest.fail(f"there is no {INSPECTOR}: `make test` installs it")
    path = make(tmp_path / "shop.db")

    def inspect(*words: str) -> Any:
        server = [str(BIN / "accord"), "serve", str(path)]
        options = ["--protocol-era", era, "--format", "json", "--quiet"]
        done = subprocess.run(
            [BIN / "node", INSPECTOR, "--cli", *server, *options, *words],
            env=os.environ | {"HOME": str(tmp_path)},
            capture_output=True,
            timeout=40,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["result"]

    listed = inspect("--method", "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == TOOLS
    words = ["--method", "tools/call", "--tool-name", "run_query", "--tool-arg"]
    called = inspect(*words, "query=SELECT * FROM users")
    found = called["structuredContent"]
    assert (found["result"] if era == "legacy" else found) == JOHN


def test_the_configuration_in_the_tutorial_works(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial.md").read_text()
    (books,) = re.findall(r"```python\n(# books\.py\n.*?)```", page, re.S)
    (tmp_path / "books.py").write_text(books)
    blocks = map(json.loads, re.findall(r"```json\n(.*?)```", page, re.S))
    (server,) = [block["mcpServers"]["books"] for block in blocks if "mcpServers" in block]
    arguments = [word.replace("/path/to", str(tmp_path)) for word in server["args"]]
    assert arguments != server["args"]
    program = server["command"].replace("/path/to/.venv/bin", str(BIN))
    assert Path(program).is_absolute()
    command = StdioServerParameters(command=program, args=arguments, cwd=tmp_path)

    async def ask(client: Client) -> str:
        await client.call_tool("add_book", {"title": "Emma"})
        return text_of(await client.call_tool("list_books", {}))

    assert json.loads(talk(command, "legacy", ask)) == [{"title": "Emma", "read": False}]
