"""Log records of a failing call on the command line: bounded, one line per message."""

import json
import logging
import sys
from pathlib import Path

import pytest

from accord import Server
from accord.cli.logs import MAX_RECORD, BoundedFormatter, shorten
from cli.command import Done, accord, accord_each, write
from peer import Peer

FAILING = r"""
import logging
import sys

from accord import Server

server = Server("failing", version="1.0")


@server.tool
def long_message() -> int:
    raise ValueError("begin" + "x" * 10_000_000 + "end")


@server.tool
def wide_message() -> int:
    raise ValueError("\U0001f600" * 1_000_000)


@server.tool
def recursion() -> int:
    sys.setrecursionlimit(20_000)

    def down(n: int) -> int:
        return up(n + 1)

    def up(n: int) -> int:
        if n > 5_000:
            raise KeyError("bottom")
        return down(n + 1)

    return down(0)


@server.tool
def endless() -> int:
    return endless()


@server.tool
def group() -> int:
    raise ExceptionGroup("many", [ValueError(f"{n} " * 1000) for n in range(5_000)])


@server.tool
def nested_groups() -> int:
    error = ValueError("inside")
    for _ in range(2_000):
        error = ExceptionGroup("outside", [error])
    raise error


@server.tool
def causes() -> int:
    error = ValueError("first")
    for n in range(1_000):
        try:
            raise KeyError(n) from error
        except KeyError as next_error:
            error = next_error
    raise error


@server.tool
def notes() -> int:
    error = ValueError("noted")
    for n in range(10_000):
        error.add_note(f"note {n}\nERROR accord: forged")
    raise error


@server.tool
def own_line(words: str) -> int:
    logging.getLogger("mine").error("got %s", words)
    return 1


@server.tool
def own_mistake() -> int:
    logging.getLogger("mine").error("%d and %d", "x")
    return 1


@server.tool
def own_novel() -> int:
    logging.getLogger("mine").error("x" * 10_000_000)
    return 1


@server.tool
def echo(words: str) -> int:
    raise ValueError(words)
"""
HOSTILE = "a\nERROR accord: forged\r\x1b[2J\x00\u202e\x9b"
TOOLS = {
    "long_message": ("ValueError: begin", "end"),
    "wide_message": ("ValueError: \U0001f600",),
    "recursion": ("KeyError: 'bottom'", "frames left out"),
    "endless": ("RecursionError", "frames left out"),
    "group": ("ExceptionGroup: many", "and 4985 more exceptions"),
    "nested_groups": ("outside",),
    "causes": ("KeyError: 999",),
    "notes": ("ValueError: noted",),
    "own_novel": ("ERROR mine: xxx",),
    "own_mistake": ("ERROR mine: %d and %d (invalid arguments)",),
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("failing"), failing=FAILING)


@pytest.fixture(scope="module")
def called(failing: Path) -> dict[str, Done]:
    return accord_each({name: ["call", "failing", name] for name in TOOLS}, failing)


@pytest.mark.parametrize("tool", TOOLS)
def test_one_failing_call_logs_a_bounded_text(tool: str, called: dict[str, Done]) -> None:
    err = called[tool].err
    assert [words for words in TOOLS[tool] if words not in err] == []
    assert len(err.encode()) < MAX_RECORD + 200  # beside it, what `call` itself prints


@pytest.mark.parametrize("tool", [*TOOLS, "echo", "own_line"])
def test_every_line_at_the_margin_is_ours(
    tool: str, failing: Path, called: dict[str, Done]
) -> None:
    done = called.get(tool) or accord(
        "call", "failing", tool, json.dumps({"words": HOSTILE}), cwd=failing
    )
    lines = [line for line in done.err.split("\n") if not line.startswith("  ")]
    assert [line for line in lines if not line.startswith(("ERROR ", "error: ", "error "))] == [""]
    assert [line for line in lines if line.startswith("ERROR accord: forged")] == []
    assert {each for each in done.err if not each.isprintable()} <= {"\n"}


def test_a_server_over_stdio_logs_the_same(failing: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    names = ["long_message", "recursion", "echo"]
    said = ""
    for n, name in enumerate(names):
        arguments = {"words": HOSTILE} if name == "echo" else {}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        said += json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params})
        said += "\n"
    done = accord("serve", "failing", cwd=failing, stdin=said.encode())
    assert done.out.count("\n") == len(names)
    records = [line for line in done.err.split("\n") if line and not line.startswith("  ")]
    assert len(records) == len(names)
    assert len(done.err.encode()) <= len(names) * (MAX_RECORD + 1)


def test_whoever_embeds_a_server_gets_the_exception_and_a_short_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("embedded")
    error = ValueError("x" * 1_000_000)

    @server.tool
    def fail() -> int:
        raise error

    @server.tool
    def fall() -> int:
        return fall()

    Peer(server, "2026-07-28").call("fail")
    Peer(server, "2026-07-28").call("fall")
    failed, fell = caplog.records
    assert failed.getMessage() == "tool fail failed"
    assert failed.exc_info is not None
    assert failed.exc_info[1] is error
    assert fell.exc_info is not None
    assert isinstance(fell.exc_info[1], RecursionError)
    assert "frames left out" in fell.getMessage()
    assert len(logging.Formatter().format(fell)) < 8_192


@pytest.mark.parametrize("text", ["x" * 10_000, "é" * 10_000, "\U0001f600" * 10_000, "\ud800" * 99])
@pytest.mark.parametrize("most", [100, 1_000, 4_096])
def test_a_shortened_text_has_at_most_so_many_bytes(text: str, most: int) -> None:
    short = shorten(text, most)
    assert len(short.encode(errors="backslashreplace")) <= most
    assert (short == text) or "bytes left out" in short


def test_a_record_without_an_exception_is_one_line() -> None:
    record = logging.LogRecord("a", logging.INFO, "f", 1, "x\ny\x1b", (), (None, None, None))
    assert BoundedFormatter().format(record) == "INFO a: x\\ny\\u001b"


def test_other_formatters_get_the_traceback_as_it_is() -> None:
    """A handler of the user's beside ours is not given our text."""
    try:
        raise ValueError("x\ny")
    except ValueError:
        record = logging.LogRecord("a", logging.INFO, "f", 1, "x", (), sys.exc_info())
    BoundedFormatter().format(record)
    assert "ValueError: x\ny" in logging.Formatter().format(record)
