"""Clients that others wrote, over HTTP: the official SDK's in every mode, and the Inspector's CLI."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import TextContent

from http_peer import HttpServer
from serve.http.talk import serving

BIN = Path(sys.executable).parent
INSPECTOR = Path(sys.prefix, "peers/node_modules/.bin/mcp-inspector")
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
TRICKY = "a\r\nb\u2028c\u2029d\u0085e"


@pytest.fixture(scope="module")
def quiet() -> Iterator[HttpServer]:
    """A server of their own, that has to end without a word but for its access lines."""
    with serving() as server:
        yield server
    assert [line for line in server.stderr.splitlines() if not line.endswith(" ms")] == []


def talk(server: HttpServer, mode: str, *say: Callable[[Client], Awaitable[Any]]) -> list[Any]:
    """A client for each of these, all at once."""

    async def one(speak: Callable[[Client], Awaitable[Any]]) -> Any:
        async with Client(server.url, mode=mode, read_timeout_seconds=30) as client:
            assert client.protocol_version == MODES[mode]
            return await speak(client)

    async def all_of_them() -> list[Any]:
        return list(await asyncio.gather(*(one(speak) for speak in say)))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_lists_our_tools(quiet: HttpServer, mode: str) -> None:
    (listed,) = talk(quiet, mode, lambda client: client.list_tools())
    assert {"say", "echo", "keep"} <= {tool.name for tool in listed.tools}


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_calls_succeed_and_fail(quiet: HttpServer, mode: str) -> None:
    async def say(client: Client) -> None:
        result = await client.call_tool("echo", {"word": "hi"})
        assert (result.is_error, result.content) == (False, [TextContent(text="hi")])
        failed = await client.call_tool("lose", {"secret": "key"})
        assert failed.is_error is True
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such_tool", {})
        assert (await client.call_tool("echo", {"word": "on"})).content == [TextContent(text="on")]

    talk(quiet, mode, say)


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_hears_of_progress(quiet: HttpServer, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def say(client: Client) -> Any:
        return await client.call_tool("say", {"message": TRICKY}, progress_callback=note)

    (result,) = talk(quiet, mode, say)
    assert result.content == [TextContent(text=TRICKY)]
    assert heard == [(1, 2, TRICKY)]


@pytest.mark.parametrize("mode", MODES)
def test_two_sdk_clients_at_once_are_not_mixed_up(quiet: HttpServer, mode: str) -> None:
    def saying(word: str) -> Callable[[Client], Awaitable[Any]]:
        async def say(client: Client) -> Any:
            calls = [client.call_tool("echo", {"word": f"{word}{n}"}) for n in range(20)]
            return [result.content for result in await asyncio.gather(*calls)]

        return say

    found = talk(quiet, mode, saying("a"), saying("b"))
    assert found == [[[TextContent(text=f"{word}{n}")] for n in range(20)] for word in "ab"]


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_an_sdk_client_gives_up_is_cancelled(quiet: HttpServer, mode: str) -> None:
    async def say(client: Client) -> Any:
        name = f"sdk {mode}"
        arguments = {"name": name, "until": "never"}
        call = asyncio.create_task(client.call_tool("wait", arguments))
        await client.call_tool("when", {"name": f"{name} began"})
        call.cancel()
        return await client.call_tool("when", {"name": f"{name} ended"})

    (result,) = talk(quiet, mode, say)
    assert result.content == [TextContent(text="CancelledError")]


@pytest.mark.slow
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--method", "tools/list", "--strict"], 0),
        (["--method", "tools/call", "--tool-name", "keep", "--tool-arg", "secret=s"], 0),
        (["--method", "tools/call", "--tool-name", "lose", "--tool-arg", "secret=s"], 5),
    ],
    ids=["list", "call", "failure"],
)
def test_the_inspector_gets_along(
    quiet: HttpServer, tmp_path: Path, era: str, words: list[str], code: int
) -> None:
    if not INSPECTOR.exists():
        pytest.fail(f"there is no {INSPECTOR}: `make test` installs it")
    options = ["--transport", "http", "--protocol-era", era, "--format", "json", "--quiet"]
    done = subprocess.run(
        [BIN / "node", INSPECTOR, "--cli", quiet.url, *options, *words],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == code, done.stderr
    result = json.loads(done.stdout)["result"]
    if "tools/list" in words:
        assert "keep" in [tool["name"] for tool in result["tools"]]
    elif code:
        assert result["isError"] is True
    else:
        assert result["content"] == [{"type": "text", "text": "s"}]
