"""Nine servers that people use, behind one endpoint: by the official client and by LangChain."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from commands import ACCORD, PEERS
from gateway.gateways import SAMPLE
from http_peer import HttpServer

pytestmark = [pytest.mark.slow, pytest.mark.requirement("gateway.1.real-servers")]

BIN = Path(sys.executable).parent
SERVERS = Path(sys.prefix, "peers/node_modules/@modelcontextprotocol")
FRAMEWORKS = Path(sys.prefix, "frameworks")
INSTALLED = FRAMEWORKS / "mcp-servers/bin"
OFFERED = {  # a tool of each of them, under the name that it is listed by
    *("get-sum", "read_text_file", "create_entities", "git_log", "convert_time", "fetch"),
    *("read_query", "multiply", "rows"),
}


def node(package: str, *words: str, **members: Any) -> dict[str, Any]:
    script = str(SERVERS / f"server-{package}/dist/index.js")
    return {"command": str(BIN / "node"), "args": [script, *words], **members}


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    data, repository = tmp_path / "data", tmp_path / "repository"
    data.mkdir()
    repository.mkdir()
    (data / "lamp.txt").write_text("a brass lamp")
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "The first one")
    memory = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    sqlite = FRAMEWORKS / "mcp-server-sqlite/bin/mcp-server-sqlite"
    entries = {
        "everything": node("everything"),
        "files": node("filesystem", str(data)),
        "memory": node("memory", env=memory),
        "git": {
            "command": str(INSTALLED / "mcp-server-git"),
            "args": ["--repository", str(repository)],
        },
        "time": {"command": str(INSTALLED / "mcp-server-time")},
        "fetch": {
            "command": str(INSTALLED / "mcp-server-fetch"),
            "args": ["--ignore-robots-txt", "--allow-private-ips"],
        },
        "sqlite": {"command": str(sqlite), "args": ["--db-path", str(tmp_path / "shop.db")]},
        "fast": {"command": sys.executable, "args": [str(PEERS / "fastmcp_upstream.py")]},
        "own": {"command": SAMPLE[0], "args": SAMPLE[1:]},
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


def calls(folder: Path) -> dict[str, tuple[dict[str, Any], str]]:
    """The arguments of a call of each server, and a part of its text."""
    entity = {"name": "lamp", "entityType": "item", "observations": ["made of brass"]}
    return {
        "get-sum": ({"a": 2, "b": 3}, "sum of 2 and 3 is 5"),
        "read_text_file": ({"path": str(folder / "data/lamp.txt")}, "a brass lamp"),
        "create_entities": ({"entities": [entity]}, "made of brass"),
        "git_log": ({"repo_path": str(folder / "repository")}, "The first one"),
        "convert_time": (
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            "21:00",
        ),
        "read_query": ({"query": "SELECT 6 * 7 AS answer"}, "42"),
        "multiply": ({"a": 6, "b": 7}, "42"),
        "rows": ({"count": 2}, "xxxxxxxxxx"),
    }


def text(result: Any) -> str:
    return "\n".join(each.text for each in result.content if isinstance(each, TextContent))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_uses_them_in_both_eras(config: Path, mode: str) -> None:
    page = HttpServer([ACCORD, "serve", SAMPLE[-1], "--http", "127.0.0.1:0"])

    async def main(url: str) -> None:
        command = StdioServerParameters(
            command=ACCORD, args=["serve", str(config)], env={"PYTHONWARNINGS": ""}
        )
        async with Client(command, mode=mode, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            names = [tool.name for tool in listed.tools]
            assert set(names) >= OFFERED
            assert len(names) == len(set(names)) > 70
            for name, (arguments, part) in calls(config.parent).items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result
                assert part in text(result), name
            fetched = await client.call_tool("fetch", {"url": f"{url}/health", "raw": True})
            assert '"status":"ok"' in text(fetched)
            missing = await client.call_tool("read_text_file", {"path": "/nowhere"})
            assert missing.is_error
            failed = await client.call_tool("read_query", {"query": "SELECT nothing"})
            assert failed.is_error  # the server itself says so in its text only
            assert {each.name for each in (await client.list_prompts()).prompts} >= {"greet"}

    with page as served:
        asyncio.run(main(served.url.removesuffix("/mcp")))


LANGCHAIN = """\
import asyncio, json, sys
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

async def main():
    accord, config, calls = sys.argv[1:]
    server = {"command": accord, "args": ["serve", config], "transport": "stdio"}
    async with MultiServerMCPClient({"all": server}).session("all") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        found = {}
        for name, arguments in json.loads(calls).items():
            message = await tools[name].ainvoke(
                {"type": "tool_call", "id": "1", "name": name, "args": arguments}
            )
            found[name] = [message.status, json.dumps(message.content)]
    print(json.dumps([len(tools), found]))

asyncio.run(main())
"""


@pytest.mark.timeout(180)
def test_langchain_uses_them(config: Path, tmp_path: Path) -> None:
    wanted = calls(tmp_path)
    arguments = json.dumps({name: given for name, (given, _) in wanted.items()})
    python = FRAMEWORKS / "langchain/bin/python"
    done = subprocess.run(
        [str(python), "-c", LANGCHAIN, ACCORD, str(config), arguments],
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    count, found = json.loads(done.stdout.splitlines()[-1])
    assert count > 70
    for name, (status, content) in found.items():
        assert status == "success", (name, content)
        assert wanted[name][1] in content, name
