"""A server that its own program serves or calls."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Answer, Context, ContractError, FieldError, Problem, Server
from commands import Popen
from stdio_peer import StdioPeer

PROGRAM = """
import atexit, sys, time
from accord import Server

server = Server("own", version="1.0")

@server.tool
def add(a: int, b: int) -> int:
    print("adding")
    return a + b

@server.tool
def sleep() -> None:
    time.sleep(600)

if __name__ == "__main__":
    server.run()
    print("after", file=sys.stderr)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "own.py").write_text(PROGRAM)
    return [sys.executable, str(tmp_path / "own.py")]


def test_run_serves_until_the_peer_is_gone_and_gives_the_process_back(program: list[str]) -> None:
    with StdioPeer(program) as peer:
        assert peer.initialize()["result"]["serverInfo"]["name"] == "own"
        called = peer.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        assert called["result"]["content"][0]["text"] == "5"
        peer.close_input()
        assert peer.wait() == 0
    assert peer.stderr == "adding\nafter\n"


def test_a_person_who_starts_it_is_told_what_it_waits_for(program: list[str]) -> None:
    master, slave = pty.openpty()
    with Popen(program, stdin=slave, stdout=slave, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith(b"own: MCP on standard input and output")
        os.write(master, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        shown = b""
        while b'"result"' not in shown:  # so it serves, and hears signals
            shown += os.read(master, 1024)
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == b"after\n"
    os.close(slave)
    os.close(master)
    assert running.returncode == 0


def test_a_tool_that_never_ends_does_not_hold_it(program: list[str]) -> None:
    with StdioPeer(program) as peer:
        peer.initialize()
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "sleep"}})
        peer.request("ping")
        peer.process.terminate()
        peer.process.terminate()
        assert peer.wait() == 0


def shop(profile: str) -> Server:
    server = Server("shop", profile=profile)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def blocking() -> str:
        return asyncio.run(asyncio.sleep(0, "a loop of its own"))

    @server.tool
    def half() -> Answer[list[int]]:
        return Answer([1], message="Some", warnings=["closed"], partial=True)

    @server.tool
    def wrong() -> str:
        raise Problem.validation("No", fields=[FieldError("when", "must be a day")])

    @server.tool
    async def asks(ctx: Context) -> str:
        return str((await ctx.elicit("Sure?", bool)).data)

    return server


@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_an_answer_is_read_as_a_peer_would_read_it(profile: str) -> None:
    async def check() -> None:
        server = shop(profile)
        assert (await server.call("add", {"a": 2, "b": 3})).value == 5
        assert (await server.call("blocking")).value == "a loop of its own"
        half = await server.call("half")
        assert (half.value, half.is_partial, half.warnings[0].message) == ([1], True, "closed")
        wrong = await server.call("wrong")
        assert (wrong.is_failure, wrong.response.error and wrong.response.error.message) == (
            True,
            "No",
        )

    asyncio.run(check())


FAILURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such tool": ("nothing", {}, "Unknown tool: nothing"),
    "no such argument": ("add", {"a": "x", "b": 3}, "a must be an integer"),
    "a question": ("asks", {}, "elicitation"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_a_peer_would_be_refused_is_a_failure(name: str) -> None:
    tool, arguments, said = FAILURES[name]
    reading = asyncio.run(shop("plain").call(tool, arguments))
    assert reading.is_failure
    assert said in str(reading.response.to_dict())


def test_a_profile_can_be_asked_for() -> None:
    reading = asyncio.run(shop("plain").call("add", {"a": 2, "b": 3}, profile="envelope"))
    assert b'"success":true' in reading.raw
    with pytest.raises(ContractError, match="fancy"):
        asyncio.run(shop("plain").call("add", profile="fancy"))


def test_arguments_that_no_peer_could_send_are_refused() -> None:
    with pytest.raises(ContractError, match=re.escape("the arguments of add cannot be JSON")):
        asyncio.run(shop("plain").call("add", {"a": object()}))
