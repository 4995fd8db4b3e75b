"""`accord call`: the answer for a person, the result for a program, and an exit code for both."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

import wire
from cli.command import (
    ACCORD,
    ENVIRONMENT,
    EXAMPLES,
    Done,
    accord,
    accord_each,
    assert_one_line_of_misuse,
    write,
)

ORDERS = """\
[
  {
    "id": 3,
    "item": "difference engine",
    "price": 912.5
  },
  {
    "id": 1,
    "item": "punch cards",
    "price": 4.2
  }
]
"""
NOTES = """\
warning: prices are from yesterday
page: {"limit":20,"total":2}
"""
TOOLS = """
import time, sys
from accord import Answer, Problem, Server

server = Server("tools", version="1.0")
empty = Server("empty", version="1.0")

@server.tool
async def words() -> str:
    return "plain wörds\\nin lines"

@server.tool
def nothing() -> None:
    pass

@server.tool
def bug() -> int:
    raise RuntimeError("a bug")

@server.tool
async def busy() -> int:
    raise Problem.unavailable("The shop is closed")

@server.tool
def sleep() -> None:
    print("begun", file=sys.stderr, flush=True)
    time.sleep(600)

@server.tool
async def sleep_in_task() -> None:
    import asyncio
    print("begun", file=sys.stderr, flush=True)
    await asyncio.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("call"), tools=TOOLS)


# For a person


def test_an_answer_is_json_on_stdout() -> None:
    assert accord("call", "shop:server", "add", '{"a": 2, "b": 3}') == (0, "5\n", "")


def test_what_goes_along_with_an_answer_is_on_stderr() -> None:
    done = accord("call", "shop:server", "orders", '{"customer": "ada"}')
    assert done == (0, ORDERS, NOTES)


def test_where_both_go_to_one_place_the_answer_comes_first() -> None:
    done = subprocess.run(
        [ACCORD, "call", "shop:server", "orders", '{"customer": "ada"}'],
        cwd=EXAMPLES,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.stdout == ORDERS + NOTES


@pytest.mark.parametrize(
    ("tool", "shown"), [("words", "plain wörds\nin lines\n"), ("nothing", "null\n")]
)
def test_text_is_shown_as_it_is_and_arguments_may_be_left_out(
    folder: Path, tool: str, shown: str
) -> None:
    assert accord("call", "tools", tool, cwd=folder) == (0, shown, "")


def test_arguments_can_come_from_stdin() -> None:
    done = accord("call", "shop:server", "add", "-", stdin=b'{"a": 2,\n "b": 3}\n')
    assert done == (0, "5\n", "")


def test_a_failed_call_is_told_on_stderr_with_exit_code_1() -> None:
    done = accord("call", "shop", "orders", '{"customer": "zoe"}')
    assert done == (1, "", "error: No customer 'zoe'\nhint: try ada or grace\n")


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
def test_every_bad_argument_is_told_in_one_line(revision: str) -> None:
    done = accord("call", "shop", "add", '{"a": "two"}', "--revision", revision)
    assert (done.code, done.out) == (1, "")
    begin, faults = done.err.removesuffix("\n").split("for add: ")
    assert begin == "error: Invalid arguments "
    assert sorted(faults.split("; ")) == ["a must be an integer, not a string", "b is required"]


def test_a_problem_without_a_remedy_is_one_line(folder: Path) -> None:
    assert accord("call", "tools", "busy", cwd=folder) == (1, "", "error: The shop is closed\n")


def test_a_bug_in_a_tool_shows_its_author_where_it_is(folder: Path) -> None:
    done = accord("call", "tools", "bug", cwd=folder)
    assert (done.code, done.out) == (1, "")
    assert "RuntimeError: a bug" in done.err
    assert done.err.endswith("error: Internal error\n")


# For a program


@pytest.mark.parametrize(("customer", "code"), [("ada", 0), ("zoe", 1)])
def test_json_prints_a_result_that_is_right_in_its_revision(customer: str, code: int) -> None:
    words = ["call", "shop", "orders", json.dumps({"customer": customer}), "--json"]
    printed = accord_each({date: [*words, "--revision", date] for date in wire.REVISIONS})
    for revision, done in printed.items():
        assert (done.code, done.err) == (code, "")
        result = json.loads(done.out)
        reply = {"jsonrpc": "2.0", "id": 1, "result": result}
        wire.check(reply, revision=revision, method="tools/call")
        assert ("isError" in result) == bool(code)


STRUCTURE = {
    "2024-11-05": None,
    "2025-03-26": None,
    "2025-06-18": {"result": 5},
    "2025-11-25": {"result": 5},
    "2026-07-28": 5,
}


def test_json_has_the_structure_of_its_revision() -> None:
    words = ["call", "shop", "add", '{"a": 2, "b": 3}', "--json"]
    printed = accord_each({date: [*words, "--revision", date] for date in STRUCTURE})
    results = {date: json.loads(done.out) for date, done in printed.items()}
    assert {date: result.get("structuredContent") for date, result in results.items()} == STRUCTURE
    assert all(r["content"] == [{"type": "text", "text": "5"}] for r in results.values())


def test_json_is_of_the_newest_revision_and_indented_unless_told_otherwise() -> None:
    done = accord("call", "shop", "add", '{"a": 2, "b": 3}', "--json")
    assert done.out == (
        json.dumps(
            {
                "content": [{"type": "text", "text": "5"}],
                "structuredContent": 5,
                "resultType": "complete",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "shop", "version": "1.0"}},
            },
            indent=2,
        )
        + "\n"
    )


def test_json_of_arguments_that_an_old_revision_refuses_is_the_error() -> None:
    words = ["call", "shop", "add", '{"a": "two"}', "--json", "--revision", "2025-06-18"]
    done = accord(*words)
    assert (done.code, done.err) == (1, "")
    error = json.loads(done.out)
    wire.check({"jsonrpc": "2.0", "id": 1, "error": error}, revision=None, method=None)
    assert error["code"] == -32602


# Misuse

DEEP = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BAD_ARGUMENTS: dict[str, tuple[str | bytes, bytes]] = {
    "not JSON": ("{a: 1}", b""),
    "cut off": ('{"a": 1', b""),
    "an empty word": ("", b""),
    "an array": ("[1, 2]", b""),
    "a number": ("5", b""),
    "null": ("null", b""),
    "NaN": ('{"a": NaN, "b": 1}', b""),
    "two values": ("{} {}", b""),
    "no UTF-8": (b'{"a": "\xff"}', b""),
    "nothing on stdin": ("-", b""),
    "not JSON on stdin": ("-", b"{"),
    "no UTF-8 on stdin": ("-", b'{"a": "\xff"}'),
    "too deep on stdin": ("-", DEEP),
}


@pytest.fixture(scope="module")
def refused() -> dict[str, Done]:
    words = {name: ["call", "shop", "add", word] for name, (word, _) in BAD_ARGUMENTS.items()}
    return accord_each(words, stdin={name: stdin for name, (_, stdin) in BAD_ARGUMENTS.items()})


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_arguments_that_are_no_json_object_are_one_line(
    refused: dict[str, Done], name: str
) -> None:
    assert_one_line_of_misuse(refused[name], "accord call: ", "JSON")
    assert len(refused[name].err) < 500


def test_an_unknown_tool_is_one_line_that_lists_the_tools() -> None:
    done = accord("call", "shop", "subtract", "{}")
    assert_one_line_of_misuse(done, "'subtract'", "add", "orders")


def test_a_tool_of_a_server_without_tools_is_one_line_that_says_so(folder: Path) -> None:
    done = accord("call", "tools:empty", "add", cwd=folder)
    assert_one_line_of_misuse(done, "'add'", "none")


# Ctrl-C


@pytest.mark.parametrize("tool", ["sleep", "sleep_in_task"])
def test_ctrl_c_ends_a_call_at_once_and_without_a_traceback(folder: Path, tool: str) -> None:
    command = [ACCORD, "call", "tools", tool]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=pipe) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == b"begun\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(5) in (-signal.SIGINT, 128 + signal.SIGINT)
            assert b"Traceback" not in child.stderr.read()
        finally:
            child.kill()
