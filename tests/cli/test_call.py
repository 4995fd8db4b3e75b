"""`accord call`: the answer for a person, the result for a program, and an exit code for both."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import wire
from accord.model import schemas
from accord.profiles import PROFILES
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
from commands import Popen
from stdio_peer import StdioPeer

requirement = pytest.mark.requirement

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


def test_a_failed_call_is_printed_on_stderr_with_exit_code_1() -> None:
    done = accord("call", "shop", "orders", '{"customer": "zoe"}')
    assert done == (1, "", "error: No customer 'zoe'\nhint: try ada or grace\n")


BUSY = """\
from accord import Problem, Server

server = Server("busy")


@server.tool
def ask(words: str) -> str:
    raise Problem.rate_limit("Too many questions", remediation=words, retry_after=2.5)
"""


@pytest.mark.parametrize(
    ("words", "shown"),
    [("ask later", "hint: ask later\nretry: in 2.5 s\n"), ("wait 2.5 s", "hint: wait 2.5 s\n")],
)
def test_the_time_to_wait_is_printed_once(tmp_path: Path, words: str, shown: str) -> None:
    arguments = json.dumps({"words": words})
    done = accord("call", "busy", "ask", arguments, cwd=write(tmp_path, busy=BUSY))
    assert done == (1, "", f"error: Too many questions\n{shown}")


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
def test_every_bad_argument_is_reported_in_one_line(revision: str) -> None:
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


# In a profile

FOUND = (
    '[{"id":3,"item":"difference engine","price":912.5},{"id":1,"item":"punch cards","price":4.2}]'
)
ROWS = json.loads(FOUND)
DETAILS = '"page":{"limit":20,"total":2},"warnings":[{"message":"prices are from yesterday"}]'
DETAILED = f'{{"result":{FOUND},{DETAILS}}}'
ERROR = "Error executing tool: No customer 'zoe'. Try ada or grace."
WORDS: dict[str, tuple[str, str]] = {
    # what a person sees of an answer and of a failure, where the profile has no shape of its own
    "plain": (f"{DETAILED}\n", f"{ERROR}\n"),
    "bare": (f"{DETAILED}\n", f"{ERROR}\n"),
    "prose": (
        f"{ORDERS}\n2 of 2 rows; limit 20.\nWarning: prices are from yesterday\n",
        "Error executing orders: No customer 'zoe'. Try ada or grace.\n",
    ),
}
SHAPES = {"envelope": "response-v2", "generic": "generic"}


@pytest.fixture(scope="module")
def called() -> dict[str, Done]:
    """A call that succeeds and one that fails, in each profile, for a person and as JSON."""
    return accord_each(
        {
            f"{profile} {customer} {form}".rstrip(): [
                *("call", "shop", "orders", json.dumps({"customer": customer})),
                *("--profile", profile, *([form] if form else [])),
            ]
            for profile in PROFILES
            for customer in ("ada", "zoe")
            for form in ("", "--json")
        }
    )


def test_each_profile_has_its_words_or_its_shape() -> None:
    assert {*WORDS, *SHAPES} == set(PROFILES)


@pytest.mark.parametrize("profile", WORDS)
def test_a_profile_prints_the_words_that_a_client_would_show(
    called: dict[str, Done], profile: str
) -> None:
    answer, failure = WORDS[profile]
    assert called[f"{profile} ada"] == (0, answer, "")
    assert called[f"{profile} zoe"] == (1, failure, "")


@pytest.mark.parametrize("profile", WORDS)
@pytest.mark.parametrize(("customer", "code"), [("ada", 0), ("zoe", 1)])
def test_json_in_a_profile_is_the_result_that_the_profile_words(
    called: dict[str, Done], profile: str, customer: str, code: int
) -> None:
    done = called[f"{profile} {customer} --json"]
    assert (done.code, done.err) == (code, "")
    result = json.loads(done.out)
    reply = {"jsonrpc": "2.0", "id": 1, "result": result}
    wire.check(reply, revision="2026-07-28", method="tools/call")
    jsonschema_rs.validate(schemas.load(profile), result)
    assert ("isError" in result) == bool(code)
    if profile == "bare" and not code:
        assert result["result"] == ROWS


def shapes(called: dict[str, Done], profile: str, customer: str) -> list[Any]:
    """Return the output with and without --json, as JSON."""
    both = [called[f"{profile} {customer}"], called[f"{profile} {customer} --json"]]
    assert [done.err for done in both] == ["", ""]
    return [json.loads(done.out) for done in both]


@pytest.mark.parametrize("profile", SHAPES)
@pytest.mark.parametrize("customer", ["ada", "zoe"])
def test_a_profile_with_a_shape_of_its_own_prints_that_and_nothing_around_it(
    called: dict[str, Done], profile: str, customer: str
) -> None:
    words, printed = shapes(called, profile, customer)
    assert words == printed
    jsonschema_rs.validate(schemas.load(SHAPES[profile]), printed)
    done = called[f"{profile} {customer} --json"]
    assert done.out == json.dumps(printed, indent=2) + "\n"


@requirement("001.testing.cli", "001.envelope.version")
def test_the_envelope_of_a_success_is_printed(called: dict[str, Done]) -> None:
    done = called["envelope ada --json"]
    envelope = json.loads(done.out)
    assert envelope["meta"]["version"] == "response-v2"
    assert done.code == 0
    assert envelope == {
        "success": True,
        "data": {"items": ROWS},
        "error": None,
        "meta": {
            "version": "response-v2",
            "wrapper": "items",
            "pagination": {"cursor": None, "has_more": None, "page_size": 20, "total_count": 2},
            "warnings": ["prices are from yesterday"],
        },
    }


@requirement("001.testing.cli", "001.envelope.version", "001.edge.missing")
def test_the_envelope_of_a_failure_is_printed(called: dict[str, Done]) -> None:
    done = called["envelope zoe --json"]
    envelope = json.loads(done.out)
    assert envelope["meta"]["version"] == "response-v2"
    assert done.code == 1
    assert (envelope["success"], envelope["data"]) == (False, {})
    assert envelope["error"] == "No customer 'zoe'"
    assert envelope["meta"]["error"]["remediation"] == "try ada or grace"


@requirement("001.testing.cli")
def test_the_command_line_prints_the_envelope_in_every_revision() -> None:
    words = ["call", "shop", "orders", '{"customer": "ada"}', "--profile", "envelope", "--json"]
    printed = accord_each({date: [*words, "--revision", date] for date in wire.REVISIONS})
    envelopes = [json.loads(done.out) for done in printed.values()]
    assert envelopes == [envelopes[0]] * len(wire.REVISIONS)
    assert envelopes[0]["meta"]["version"] == "response-v2"


@requirement("001.testing.cli")
def test_the_command_line_prints_the_same_envelope_as_the_server_sends() -> None:
    call = {"name": "orders", "arguments": {"customer": "ada"}}
    with StdioPeer([ACCORD, "serve", "shop", "--profile", "envelope"], cwd=EXAMPLES) as peer:
        sent = peer.modern("tools/call", call)["result"]
    done = accord(
        *("call", "shop", "orders", '{"customer": "ada"}', "--profile", "envelope", "--json")
    )
    assert json.loads(done.out) == json.loads(sent["content"][0]["text"])


@requirement("001.testing.cli", "001.edge.invalid")
def test_arguments_that_do_not_fit_are_in_the_envelope_too() -> None:
    done = accord("call", "shop", "add", '{"a": "two"}', "--profile", "envelope", "--json")
    envelope = json.loads(done.out)
    jsonschema_rs.validate(schemas.load("response-v2"), envelope)
    assert (done.code, envelope["meta"]["version"]) == (1, "response-v2")
    assert {field["field"] for field in envelope["meta"]["error"]["fields"]} == {"a", "b"}


def test_field_errors_in_bare_are_the_error_of_json_rpc() -> None:
    done = accord("call", "shop", "add", '{"a": "two"}', "--profile", "bare")
    error = json.loads(done.out)
    wire.check({"jsonrpc": "2.0", "id": 1, "error": error}, revision=None, method=None)
    assert (done.code, error["code"]) == (1, -32602)
    assert {each["field"] for each in error["data"]["validation_errors"]} == {"a", "b"}


def test_a_profile_that_there_is_not_is_one_line_that_lists_them() -> None:
    done = accord("call", "shop", "add", "{}", "--profile", "fancy")
    assert_one_line_of_misuse(done, "'fancy'", *PROFILES)


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
def test_arguments_that_are_not_a_json_object_are_one_line(
    refused: dict[str, Done], name: str
) -> None:
    assert_one_line_of_misuse(refused[name], "accord call: ", "JSON")
    assert len(refused[name].err) < 500
    if not b"".join(map(os.fsencode, BAD_ARGUMENTS[name])).strip(b"-"):
        assert "must not be empty" in refused[name].err


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
    with Popen(command, cwd=folder, env=ENVIRONMENT, stderr=pipe) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == b"begun\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(30) in (-signal.SIGINT, 128 + signal.SIGINT)
            assert b"Traceback" not in child.stderr.read()
        finally:
            child.kill()
