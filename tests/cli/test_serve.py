"""`accord serve`: which server it is that answers, and under which name."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.command import ACCORD, ENVIRONMENT, EXAMPLES, accord, write
from commands import Popen
from http_peer import HttpServer
from stdio_peer import StdioPeer

OTHER = """
from accord import Server

server = Server("other", version="2.0", instructions="Ask politely.")

@server.tool
def shout(word: str) -> str:
    return word.upper()
"""


def serving(*words: str, cwd: Path = EXAMPLES) -> StdioPeer:
    return StdioPeer([ACCORD, "serve", *words], cwd=cwd, env=ENVIRONMENT)


def test_one_target_is_served_under_its_own_name() -> None:
    with serving("shop:server") as peer:
        result = peer.initialize()["result"]
        assert result == {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1.0"},
        }
        call = peer.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        assert call["result"] == {
            "content": [{"type": "text", "text": "5"}],
            "structuredContent": {"result": 5},
        }


def test_at_a_terminal_it_prints_what_it_waits_for() -> None:
    master, slave = pty.openpty()
    with Popen(
        [ACCORD, "serve", "shop"],
        cwd=EXAMPLES,
        env=ENVIRONMENT,
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline().startswith("shop: MCP on standard input and output")
        child.send_signal(signal.SIGINT)
        assert child.stderr.read() == ""
    os.close(master)
    os.close(slave)
    assert child.returncode in (0, -signal.SIGINT)


READY: dict[str, tuple[list[str], str]] = {
    "a server": (["shop"], "MCP at {top}/mcp and a page at {top}/"),
    "a server alone": (["shop", "--no-page"], "MCP at {top}/mcp"),
    "the reader": (
        ["reader"],
        "reader at {top}/read, MCP at {top}/mcp and a page at {top}/",
    ),
    "a server that reads": (
        ["shop", "reader", "--no-page"],
        "reader at {top}/read, MCP at {top}/mcp",
    ),
}


@pytest.mark.parametrize("what", READY)
def test_over_http_one_line_says_what_is_where(what: str) -> None:
    words, said = READY[what]
    command = [ACCORD, "serve", *words, "--name", "it", "--http", "127.0.0.1:0"]
    with HttpServer(command, cwd=EXAMPLES, env=ENVIRONMENT) as server:
        top = server.url.removesuffix("/mcp")
        assert server.said(re.compile("^it: .*$", re.M))[0] == f"it: {said.format(top=top)}"


@pytest.mark.parametrize(("everywhere", "here"), [("0.0.0.0", "127.0.0.1"), ("[::]", "[::1]")])
def test_a_server_on_all_addresses_names_one_that_it_answers_to(everywhere: str, here: str) -> None:
    words = ["serve", "shop", "--http", f"{everywhere}:0", "--allow-host", "shop.example"]
    with HttpServer([ACCORD, *words], cwd=EXAMPLES, env=ENVIRONMENT) as server:
        assert server.host == here
        line = server.said(re.compile("MCP at.*"))[0]
        assert line.endswith(f" and a page at http://{here}:{server.port}/")
        with urlopen(f"http://{here}:{server.port}/", timeout=10) as page:
            assert page.status == 200


def test_a_name_and_a_version_can_be_given() -> None:
    with serving("shop", "--name", "store", "--server-version", "7") as peer:
        identity = {"name": "store", "version": "7"}
        assert peer.initialize()["result"]["serverInfo"] == identity
        stamp = peer.modern("server/discover")["result"]["_meta"]
        assert stamp == {"io.modelcontextprotocol/serverInfo": identity}
        stamp = peer.modern("tools/list")["result"]["_meta"]
        assert stamp == {"io.modelcontextprotocol/serverInfo": identity}


def test_several_targets_are_one_server(tmp_path: Path) -> None:
    write(tmp_path, other=OTHER)
    with serving(f"{EXAMPLES / 'shop.py'}:server", "other:server", cwd=tmp_path) as peer:
        assert peer.initialize()["result"]["instructions"] == "Ask politely."
        tools = peer.request("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["add", "orders", "shout"]
        for name, arguments, text in (
            ("add", {"a": 2, "b": 3}, "5"),
            ("shout", {"word": "hi"}, "HI"),
        ):
            call = peer.request("tools/call", {"name": name, "arguments": arguments})
            assert call["result"]["content"] == [{"type": "text", "text": text}]


def test_a_server_without_tools_has_none(tmp_path: Path) -> None:
    write(tmp_path, empty='from accord import Server\nserver = Server("empty")\n')
    with serving("empty", cwd=tmp_path) as peer:
        assert peer.modern("tools/list")["result"]["tools"] == []


@pytest.mark.parametrize("targets", [["other", "other.py"], ["other", "twin"]])
def test_a_name_clash_stops_the_start_and_nothing_is_served(
    tmp_path: Path, targets: list[str]
) -> None:
    write(tmp_path, other=OTHER, twin=OTHER.replace("other", "twin"))
    request = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    done = accord("serve", *targets, cwd=tmp_path, stdin=request)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("accord serve: ")
    assert "'shout'" in done.err


def test_with_no_input_at_all_it_says_nothing_and_ends_well() -> None:
    assert accord("serve", "shop") == (0, "", "")


def test_a_bad_message_gets_an_error_and_the_next_one_an_answer() -> None:
    with serving("shop") as peer:
        peer.send(b"not json\n")
        error = peer.receive()
        assert (error["id"], error["error"]["code"]) == (None, -32700)
        assert "result" in peer.modern("tools/list")
