"""`accord read`: any reply as the generic response; for a program and for a person."""

import json
import os
import pty
import subprocess
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from accord.cli.terminal import visible
from cli.command import ACCORD, ENVIRONMENT, Done, accord, accord_in_terminal
from commands import Popen

CHANNELS = {
    "totalChannels": 150,
    "showing": 2,
    "offset": 0,
    "limit": 2,
    "hasMore": True,
    "channels": [{"id": "1", "name": "general"}, {"id": "2", "name": "random", "topic": "any"}],
}
FAILED = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Missing Access"}}


def reply(payload: Any) -> bytes:
    """A whole message with this as JSON in its text."""
    content = [{"type": "text", "text": json.dumps(payload)}]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).encode()


def read(*words: str, stdin: bytes) -> Done:
    return accord("read", "-", *words, stdin=stdin)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "reply.json"
    path.write_bytes(reply(CHANNELS))
    return path


# One reply


def test_a_reply_is_printed_as_the_generic_response(file: Path) -> None:
    done = accord("read", str(file), "--tool", "discord_list_channels")
    said = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert done.out == json.dumps(said, indent=2) + "\n"
    assert said["toolName"] == "discord_list_channels"
    assert said["responseType"] == "list"
    assert said["data"] == CHANNELS["channels"]
    assert said["pagination"] == {"offset": 0, "limit": 2, "hasMore": True, "nextOffset": 2}
    assert said["summary"] == {"total": 150, "returned": 2, "hasMore": True}


def test_full_says_how_we_know_it(file: Path) -> None:
    said = json.loads(accord("read", str(file), "--full").out)
    assert list(said) == ["response", "origin", "confidence", "findings", "rules"]
    assert said["origin"].startswith("content[0].text")
    assert said["confidence"] in ("certain", "likely", "guess")
    assert said["findings"] == ["tool name not given"]
    assert said["rules"]


def test_arguments_help_to_tell_what_was_done() -> None:
    words = ["--tool", "query", "--arguments", '{"sql": "DELETE FROM users WHERE id = 1"}']
    said = json.loads(read(*words, stdin=b'{"rowcount": 1}').out)
    assert said["responseType"] == "action"


def test_indented_json_is_one_reply() -> None:
    done = read(stdin=json.dumps({"items": [1, 2]}, indent=2).encode())
    assert json.loads(done.out)["data"] == [1, 2]


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"\n\n",
        b"not JSON {",
        b"\x00\xff\xfe binary",
        b"\xff\xfe",
        b'{"a": "\\ud800"}',
        b'{"a": NaN}',
        b"[" * 100_000,
        b"{" * 10 + b"\n" + b"}" * 10,
        b"null",
        b"123456789012345678901234567890",
    ],
    ids=[
        "nothing",
        "blank lines",
        "broken",
        "binary",
        "no UTF-8",
        "half a character",
        "NaN",
        "deep",
        "lines that are no JSON",
        "null",
        "a large number",
    ],
)
@pytest.mark.parametrize("words", [(), ("--full",), ("--table", "--full"), ("--lines",)])
def test_bad_input_is_a_reading_too(stdin: bytes, words: tuple[str, ...]) -> None:
    done = read(*words, stdin=stdin)
    assert (done.code, done.err) == (0, "")


def test_half_a_character_stays_what_it_is() -> None:
    assert json.loads(read(stdin=b'{"a": "\\ud800"}').out)["data"] == {"a": "\ud800"}


# Exit codes


@pytest.mark.parametrize(
    ("payload", "words", "code"),
    [
        (FAILED, [], 0),
        (FAILED, ["--check"], 1),
        ({"success": False, "error": "no"}, ["--check"], 1),
        ({"items": []}, ["--check"], 0),
    ],
)
def test_a_failure_is_exit_code_1_where_that_is_asked_for(
    payload: Any, words: list[str], code: int
) -> None:
    assert read(*words, stdin=json.dumps(payload).encode()).code == code


def test_a_failure_among_many_is_exit_code_1_as_well() -> None:
    lines = b"\n".join([b"{}", json.dumps(FAILED).encode(), b"{}"])
    assert [read(*words, stdin=lines).code for words in (["--check"], [])] == [1, 0]


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["no-such-file.json"], "no-such-file.json"),
        (["."], "could not read"),
        (["-", "--arguments", "[1]"], "JSON object"),
        (["-", "--arguments", "{"], "JSON object"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(words: list[str], fragment: str) -> None:
    done = accord("read", *words)
    assert (done.code, done.out) == (2, "")
    assert fragment in done.err
    assert done.err.count("\n") == 1


# Many replies

MANY = [CHANNELS, {"user": {"id": "1"}}, {"success": True, "messageId": "9"}]


def test_lines_that_are_json_documents_are_many_replies() -> None:
    stdin = b"\n".join([reply(MANY[0]), b"", reply(MANY[1]), b"   ", reply(MANY[2])])
    done = read(stdin=stdin)
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [each["responseType"] for each in said] == ["list", "single", "action"]
    assert (done.code, done.err) == (0, "")


def test_a_broken_line_among_many_is_a_reading_like_the_others() -> None:
    done = read(stdin=reply(CHANNELS) + b"\n{}\n{broken\n" + reply(CHANNELS))
    assert [json.loads(line)["responseType"] for line in done.out.splitlines()] == [
        *("list", "single", "single", "list")
    ]


def test_lines_can_be_forced() -> None:
    done = read("--lines", "--full", stdin=b"sunny\nrainy\n")
    assert [json.loads(line)["response"]["data"] for line in done.out.splitlines()] == [
        {"text": "sunny"},
        {"text": "rainy"},
    ]


def test_text_of_several_lines_is_one_reply() -> None:
    assert json.loads(read(stdin=b"1\n2\n3").out)["responseType"] in ("single", "list")
    assert read(stdin=b"sunny\nrainy\n").out.startswith("{\n")


def test_many_replies_may_be_tables() -> None:
    done = read("--table", stdin=reply(CHANNELS) + b"\n" + reply(CHANNELS))
    assert done.out.count("unknown: list, 2 items of 150, and more\n") == 2


def test_a_reply_is_answered_before_the_next_one_comes() -> None:
    with Popen(
        [ACCORD, "read", "-", "--lines"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(3):
            child.stdin.write(b"[%d]\n" % number)
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["data"] == [number]
        child.stdin.close()
        assert child.wait(30) == 0


@pytest.mark.slow
def test_many_replies_take_no_more_memory_than_few(tmp_path: Path) -> None:
    line = reply({"items": [{"id": n, "name": "x" * 100} for n in range(50)]}) + b"\n"
    path = tmp_path / "many.jsonl"
    with path.open("wb") as file:
        file.writelines([line] * 4_000)
    few = tmp_path / "few.jsonl"
    few.write_bytes(line * 2)
    assert path.stat().st_size > 25_000_000
    assert _peak(path) < _peak(few) + 10_000_000


def _peak(path: Path) -> int:
    """The most memory that it takes to read this, in bytes."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", code, ACCORD, "read", str(path)]
    return int(subprocess.check_output(command, env=ENVIRONMENT, timeout=50))


def test_progress_is_shown_where_somebody_looks_on() -> None:
    master, slave = pty.openpty()
    lines = b"[1]\n" * 1_000
    with Popen(
        [ACCORD, "read", "-"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=slave,
    ) as child:
        os.close(slave)
        child.communicate(lines, timeout=30)
    shown = b""
    with suppress(OSError):  # the terminal ends with the process
        while part := os.read(master, 65_536):
            shown += part
    os.close(master)
    assert shown.endswith(b"\r1,000 replies read\r\n")


# For a person


def test_a_table_has_a_row_an_item_and_a_column_a_member(file: Path) -> None:
    done = accord("read", str(file), "--tool", "discord_list_channels", "--table")
    assert done == (
        0,
        "discord_list_channels: list, 2 items of 150, and more\n"
        "  id  name     topic\n"
        "  1   general\n"
        "  2   random   any\n"
        'page: {"offset":0,"limit":2,"total":150,"hasMore":true,"nextOffset":2}\n',
        "",
    )


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ([], "t: list, 0 items\n"),
        ([1, "two"], "t: list, 2 items\n  1\n  two\n"),
        ({"name": "Ada", "tags": ["a"]}, 't: single\n  name  Ada\n  tags  ["a"]\n'),
        ({"error": {"code": 7, "message": "no\nway"}}, "t: error 7: no way\n"),
        ({"success": False, "error": "no", "hint": "ask"}, "t: error: no\n  hint  ask\n"),
        (
            {"error": {"code": -32602, "message": "no", "data": {"field": "a"}}},
            "t: error -32602: no\n  field  a\n",
        ),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "data": "cG5n"}]},
            "t: single\nattachment: image image/png 3 bytes\n",
        ),
        ({"a": {}}, "t: single\n  a  {}\n"),
        ({}, "t: single\n"),
    ],
    ids=[
        *("no items", "items without members", "an object", "an error", "an error that says more"),
        *("an error of JSON-RPC", "a picture", "an object in an object", "nothing"),
    ],
)
def test_every_type_has_a_table(payload: Any, shown: str) -> None:
    assert read("--table", "--tool", "t", stdin=json.dumps(payload).encode()).out == shown


def test_a_table_in_a_pipe_is_not_cut() -> None:
    done = read("--table", "--tool", "t", stdin=reply([{"id": 1, "words": "x" * 300}]))
    assert done.out == f"t: list, 1 item\n  id  words\n   1  {'x' * 300}\n"


def test_text_is_shown_whole() -> None:
    done = read("--table", "--tool", "forecast", stdin=b"sunny\n" + b"x" * 200)
    assert done.out == "forecast: single\nsunny\n" + "x" * 200 + "\n"


def test_a_full_table_says_how_we_know_it(file: Path) -> None:
    lines = accord("read", str(file), "--table", "--full").out.splitlines()
    assert [line.partition(":")[0] for line in lines[-4:]] == [
        *("origin", "confidence", "finding", "rules")
    ]


@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_a_table_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    items = [
        {f"member{n}": "日本語 wörds " * n for n in range(30)} | {"id": 1},
        {f"member{n}": {"deep": ["x" * 50]} for n in range(30)},
    ]
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(items))
    shown = accord_in_terminal(columns, "read", str(path), "--table")
    lines = shown.splitlines()
    assert len(lines) == 5
    assert max(map(_columns, lines)) <= columns
    assert "not shown: " in lines[-1]


def _columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\x7f\r\u202egnp.exe\u2066\u200b\u2028\ufeff"


@pytest.mark.parametrize("words", [(), ("--table",), ("--table", "--full"), ("--lines",)])
@pytest.mark.parametrize(
    "payload",
    [
        {"items": [{HOSTILE: HOSTILE, "a": [HOSTILE]}], "total": 5, "nextCursor": HOSTILE},
        {HOSTILE: HOSTILE},
        {"success": False, "error": HOSTILE},
        {"error": {"code": HOSTILE, "message": HOSTILE}},
        HOSTILE,
    ],
    ids=["a list", "an object", "a failure", "an error", "text"],
)
def test_a_hostile_reply_cannot_drive_the_terminal(payload: Any, words: tuple[str, ...]) -> None:
    stdin = reply(payload)
    done = read(*words, "--tool", f"t{HOSTILE}", stdin=stdin)
    assert done.code == 0
    assert {each for each in done.out if each != "\n" and _drives(each)} == set()


def _drives(character: str) -> bool:
    directions = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in directions
    )


def test_every_character_that_drives_a_terminal_is_escaped_as_in_json() -> None:
    for code in range(0x110000):
        character = chr(code)
        if _drives(character):
            assert json.loads(f'"{visible(character)}"') == character
    assert visible("plain wörds, 日本語 🙂") == "plain wörds, 日本語 🙂"
    assert json.loads(f'"{visible(chr(0xE0041))}"') == chr(0xE0041)


def test_what_does_not_fit_into_memory_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as hole:
        hole.truncate(600 << 20)  # of zeros, that take no room
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (400 << 20,) * 2);"
    start = f"{limit} from accord.cli.main import main; sys.exit(main(['read', '{file}']))"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 2
    words = "accord read: the reply is too large for the available memory\n"
    assert done.stderr.decode() == words


def test_blank_lines_before_a_reply_cost_no_more_than_themselves() -> None:
    """With each as dear as all before it, they would take far longer than a command may."""
    done = accord("read", "-", stdin=b"\n" * 200_000 + b"Found 2 rows:\n- a\n- b\n")
    assert json.loads(done.out)["data"] == ["a", "b"]
