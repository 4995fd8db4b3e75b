"""The access log: one line a call, with the tool, how it ended and how long it took."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from commands import SAMPLES, Popen
from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, serving
from serve.talk import ACCORD, UNWATCHED

SECRET = "hunter2"
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("keep", {"secret": SECRET}, "success"),
    ("lose", {"secret": SECRET}, "not_found"),
    ("keep", {"secret": [SECRET]}, "validation"),
    ("echo", {"word": SECRET}, "success"),
    ("echo", {"word": ""}, "empty"),
]
FORGED = "x\nkeep success 1.0 ms"


def _talk(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as peer:
        peer.ask("tools/list")
        for tool, arguments, _ in CALLS:
            peer.post(peer.calling(tool, **arguments))


def _end(server: HttpServer) -> list[str]:
    server.process.terminate()
    server.wait()
    return server.stderr.splitlines()


@pytest.mark.parametrize("revision", ERAS)
def test_a_line_of_text_says_tool_outcome_and_time(revision: str) -> None:
    with serving() as server:
        _talk(server, revision)
        lines = _end(server)
    assert [line.split()[:2] for line in lines] == [[tool, outcome] for tool, _, outcome in CALLS]
    assert all(re.fullmatch(r"\S+ \S+ \d+\.\d+ ms", line) for line in lines)
    assert SECRET not in server.stderr


@pytest.mark.parametrize("revision", ERAS)
def test_a_line_of_json_says_the_same(revision: str) -> None:
    with serving("--log-format", "json") as server:
        _talk(server, revision)
        entries = [json.loads(line) for line in _end(server)]
    assert [(entry["tool"], entry["outcome"]) for entry in entries] == [
        (tool, outcome) for tool, _, outcome in CALLS
    ]
    assert all(entry["ms"] >= 0 for entry in entries)
    assert SECRET not in server.stderr


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_name_that_a_client_made_up_is_no_line_of_its_own_and_no_long_one(style: str) -> None:
    with serving("--log-format", style) as server, HttpPeer(server.port, "2025-11-25") as peer:
        for name in (FORGED, "\x1b[2J", "x" * 1_000_000, "a b", "\u2028", "\ud7ff"):
            peer.post(peer.calling(name))
        _end(server)
    *lines, end = server.stderr.split("\n")
    assert (len(lines), end) == (6, ""), [line[:80] for line in lines]
    assert [line[:80] for line in lines if len(line) > 500] == []
    if style == "text":
        assert all(line.isprintable() for line in lines)


ODD = """
from accord import Server

server = Server("odd")

@server.prompt(name="a\\nb\\x1b[2J")
def odd() -> str:
    return "odd"
"""


def test_a_name_that_its_author_made_up_is_one_line_too(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    command = [ACCORD, "serve", "odd", "--http", "127.0.0.1:0"]
    with HttpServer(command, cwd=tmp_path, env=UNWATCHED) as server:
        with HttpPeer(server.port, "2025-11-25") as peer:
            peer.ask("prompts/get", {"name": "a\nb\x1b[2J"})
        (line,) = _end(server)
    assert line.startswith("a\\nb\\x1b[2J success ")


def test_a_call_that_was_taken_back_is_cancelled() -> None:
    with serving() as server, HttpPeer(server.port, "2025-11-25") as peer, peer.again() as other:
        for tool in ("wait", "block"):
            peer.send(peer.calling(tool, id=tool, name=tool, until=f"{tool} may end"))
            other.call("when", name=f"{tool} began")
            other.notify("notifications/cancelled", {"requestId": tool})
            peer.receive()
            other.call("mark", name=f"{tool} may end")
        lines = [line.split()[:2] for line in _end(server)]
    assert [line for line in lines if line[0] in ("wait", "block")] == [
        ["wait", "cancelled"],
        ["block", "cancelled"],
    ]


def test_a_log_that_nobody_reads_holds_up_no_call() -> None:
    unread, stderr = os.pipe()
    command = [ACCORD, "serve", "faulty:blocking", "--http", "127.0.0.1:0", "--grace", "0.2"]
    with (
        os.fdopen(unread, "rb", buffering=0) as log,
        Popen(command, cwd=SAMPLES, env=UNWATCHED, stderr=stderr) as process,
    ):
        try:
            port = int(re.search(rb":(\d+)/mcp", log.readline())[1])  # type: ignore[index]
            _fill(stderr)
            with HttpPeer(port) as peer:
                assert [peer.call("echo", word="hi") for _ in range(100)] == ["hi"] * 100
        finally:
            process.terminate()
    os.close(stderr)


def _fill(pipe: int) -> None:
    os.set_blocking(pipe, False)
    for size in (4_096, 1):
        try:
            while True:
                os.write(pipe, b"." * size)
        except BlockingIOError:
            pass
    os.set_blocking(pipe, True)
