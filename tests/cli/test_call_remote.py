"""`accord call` with a remote server: by URL or command line."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

import wire
from accord.cli.targets import is_remote
from cli.command import (
    ACCORD,
    ENVIRONMENT,
    EXAMPLES,
    Done,
    accord,
    accord_each,
    accord_in_terminal,
    assert_one_line_of_misuse,
    write,
)
from client.connections import run, serving_shop
from commands import Popen
from http_peer import HttpServer
from peers.scripted_server import Request, scripted_server
from processes import children, is_gone
from serve.http.talk import eventually

COMMAND = f"{quote(ACCORD)} serve {quote(str(EXAMPLES / 'shop.py'))}"
ADA, ZOE = '{"customer": "ada"}', '{"customer": "zoe"}'
ODD = """
import sys, time
from accord import Answer, FieldError, Image, Page, Problem, Server

server = Server("odd", version="1.0")
HOSTILE = "\\x1b[2Jboo\\x9b31m\\u202e\\ttab\\nline"

@server.tool
def text() -> str:
    return HOSTILE

@server.tool
def listed() -> list[str]:
    return [HOSTILE]

@server.tool
def failing() -> str:
    raise Problem.not_found(HOSTILE, remediation=HOSTILE)

@server.tool
def warning() -> Answer[str]:
    return Answer(HOSTILE, warnings=[HOSTILE])

@server.tool(description=HOSTILE)
def described() -> None: ...

@server.tool
def search(limit: int = 1) -> Answer[list[int]]:
    return Answer([1], message="Found some:", page=Page(limit=1, total=5, has_more=True))

@server.tool
def picture() -> Answer[str]:
    return Answer("a picture", blocks=[Image(b"png", "image/png")])

@server.tool
def only_picture() -> Image:
    return Image(b"png", "image/png")

@server.tool
def half() -> Answer[list[int]]:
    return Answer([1], partial=True, truncated=True, warnings=["one shop is closed"])

@server.tool
def told() -> Answer[str]:
    return Answer("moth trap", message="Found in the lab")

@server.tool
def digits() -> str:
    return "0042"

@server.tool
def wrong() -> str:
    fields = [FieldError("when", "must be a day")]
    raise Problem.validation("Not so", fields=fields, remediation="say 2026-01-31")

@server.tool
def much() -> list[str]:
    return ["x" * 100] * 10_000

@server.tool
def sleep() -> None:
    open("begun", "w").close()
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def shop() -> Iterator[HttpServer]:
    with serving_shop() as server:
        yield server


@pytest.fixture(params=["a command line", "a URL"])
def target(request: pytest.FixtureRequest, shop: HttpServer) -> str:
    return COMMAND if request.param == "a command line" else shop.url


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("odd"), odd=ODD)


# What is said


def test_an_answer_is_shown_as_one_of_ours_would_be(target: str) -> None:
    assert accord("call", target, "add", '{"a": 2, "b": 3}') == (0, "5\n", "")
    ours = accord("call", "shop:server", "orders", ADA)
    assert accord("call", target, "orders", ADA) == ours


def test_a_failure_is_printed_on_stderr_with_exit_code_1(target: str) -> None:
    words = "error: No customer 'zoe'\nhint: try ada or grace\n"
    assert accord("call", target, "orders", ZOE) == (1, "", words)


def test_a_refusal_is_printed_on_stderr_with_exit_code_1(target: str) -> None:
    done = accord("call", target, "subtract")
    assert done == (1, "", "error: Unknown tool: subtract\n")


@pytest.mark.parametrize("revision", wire.REVISIONS)
def test_json_is_the_raw_result_in_the_revision_that_is_asked_for(
    target: str, revision: str
) -> None:
    done = accord("call", target, "orders", ADA, "--json", "--revision", revision)
    assert (done.code, done.err) == (0, "")
    reply = {"jsonrpc": "2.0", "id": 1, "result": json.loads(done.out)}
    wire.check(reply, revision=revision, method="tools/call")


def test_json_of_a_refusal_is_the_error(target: str) -> None:
    done = accord("call", target, "subtract", "--json")
    assert done.code == 1
    assert json.loads(done.out) == {"code": -32602, "message": "Unknown tool: subtract"}


def test_read_is_the_generic_response_whoever_answers(target: str) -> None:
    done = accord("call", target, "orders", ADA, "--read")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert (said["toolName"], said["responseType"]) == ("orders", "list")
    assert [order["id"] for order in said["data"]] == [3, 1]
    assert said["summary"] == {"total": 2, "returned": 2}
    assert accord("call", "shop", "orders", ADA, "--read") == done


@pytest.mark.parametrize("arguments", [ZOE, "{}"], ids=["a failure", "bad arguments"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_read_of_a_failure_is_exit_code_1(target: str, arguments: str, revision: str) -> None:
    words = ["orders", arguments, "--read", "--revision", revision]
    done = accord("call", target, *words)
    assert (done.code, json.loads(done.out)["responseType"]) == (1, "error")
    ours = accord("call", "shop", *words)
    assert (ours.code, json.loads(ours.out)["responseType"]) == (1, "error")


def test_arguments_can_come_from_stdin(target: str) -> None:
    assert accord("call", target, "add", "-", stdin=b'{"a": 2, "b": 3}') == (0, "5\n", "")


OURS_AND_THEIRS = {
    "ours": "odd",
    "theirs": f"{quote(ACCORD)} serve odd --profile envelope",
    "generic": f"{quote(ACCORD)} serve odd --profile generic",
}
SAID: dict[str, tuple[int, str, str]] = {
    "search": (
        0,
        "[\n  1\n]\n",
        'message: Found some:\npage: {"limit":1,"total":5,"hasMore":true}\n',
    ),
    "half": (
        0,
        "[\n  1\n]\n",
        "warning: one shop is closed\n"
        "partial: only a part could be done\n"
        "truncated: there is more than is shown\n",
    ),
    "picture": (0, "a picture\n", "saved: ours/picture.png (image/png, 3 bytes)\n"),
    "only_picture": (0, "", "saved: ours/only_picture.png (image/png, 3 bytes)\n"),
    "digits": (0, "0042\n", ""),
    "told": (0, "moth trap\n", "message: Found in the lab\n"),
    "wrong": (1, "", "error: Not so\nfield: when must be a day\nhint: say 2026-01-31\n"),
}


@pytest.mark.parametrize("whose", OURS_AND_THEIRS)
def test_all_of_an_answer_is_printed_for_local_and_remote_servers(odd: Path, whose: str) -> None:
    (odd / whose).mkdir()
    target, folder = OURS_AND_THEIRS[whose], ["--save-to", whose]
    done = accord_each({tool: ["call", target, tool, *folder] for tool in SAID}, cwd=odd)
    expected = {
        t: (code, out, err.replace("ours/", f"{whose}/")) for t, (code, out, err) in SAID.items()
    }
    assert done == expected
    assert (odd / whose / "only_picture.png").read_bytes() == b"png"


def test_a_call_of_ours_is_cut_where_a_client_would_see_it_cut(odd: Path) -> None:
    done = accord("call", "odd", "much", cwd=odd)
    assert (done.code, len(done.out) < 300 * 1024) == (0, True)
    assert "warning: Cut to fit 262,144 bytes" in done.err
    assert '"total":10000' in done.err


def assert_harmless(shown: str) -> None:
    assert "boo" in shown
    assert [each for each in "\x1b\x9b\u202e" if each in shown] == []


HOSTILE = [["text"], ["listed"], ["failing"], ["warning"], ["text", "--read"], ["text", "--json"]]
OURS = [["text", "--profile", "plain"], ["listed", "--profile", "envelope", "--json"]]


@pytest.mark.parametrize("words", HOSTILE, ids=" ".join)
def test_a_hostile_server_cannot_drive_the_terminal(odd: Path, words: list[str]) -> None:
    shown = accord_in_terminal(80, "call", f"{quote(ACCORD)} serve odd", *words, cwd=odd)
    assert_harmless(shown)


@pytest.mark.parametrize("words", [*HOSTILE, *OURS], ids=" ".join)
def test_nor_can_data_that_a_server_of_ours_has(odd: Path, words: list[str]) -> None:
    assert_harmless(accord_in_terminal(80, "call", "odd", *words, cwd=odd))


def test_nor_can_the_description_of_a_tool(odd: Path) -> None:
    assert_harmless(accord_in_terminal(80, "tools", "odd", cwd=odd))


@pytest.mark.parametrize("target", ["odd", f"{quote(ACCORD)} serve odd"], ids=["ours", "a peer"])
def test_text_goes_to_a_program_as_it_came(odd: Path, target: str) -> None:
    done = accord("call", target, "text", cwd=odd)
    assert done.out == "\x1b[2Jboo\x9b31m\u202e\ttab\nline\n"


def test_headers_go_along_to_a_url() -> None:
    async def ask() -> tuple[int | None, list[str | None]]:
        async def answer(request: Request) -> None:
            await request.reply(401, b"{}")

        async with scripted_server(answer) as scripted:
            child = await asyncio.create_subprocess_exec(
                *(ACCORD, "call", scripted.url, "add", "--header", "Authorization: Bearer x"),
                env=ENVIRONMENT,
                stderr=asyncio.subprocess.DEVNULL,
            )
            code = await child.wait()
            return code, [request.headers.get("authorization") for request in scripted.requests]

    code, seen = run(ask())
    assert code == 2
    assert seen
    assert set(seen) == {"Bearer x"}


# What cannot be

USELESS: dict[str, tuple[list[str], str]] = {
    "a header": (["shop", "add", "--header", "a: b"], "--header"),
    "a time": (["shop", "add", "--timeout", "1"], "--timeout"),
    "a folder": (["shop", "add", "--out", "x"], "--out"),
    "a folder for a peer": ([COMMAND, "add", "--out", "x"], "--out"),
    "a database's": ([COMMAND, "add", "--read-only"], "--read-only"),
    "a key": ([COMMAND, "add", "--key-file", "x"], "--key-file"),
}


def test_an_option_that_would_do_nothing_is_refused() -> None:
    table = {name: ["call", *words] for name, (words, _) in USELESS.items()}
    for name, done in accord_each(table).items():
        assert_one_line_of_misuse(done, USELESS[name][1])


MISUSE: dict[str, tuple[list[str], list[str]]] = {
    "a program that is not there": (["no-such-program --stdio", "add"], ["no-such-program"]),
    "a program that is no server": ([f"{sys.executable} -c pass", "add"], ["exited"]),
    "a URL where nobody is": (["http://127.0.0.1:9/mcp", "add"], ["127.0.0.1:9"]),
    "another scheme": (["ws://127.0.0.1/mcp", "add"], ["ws://"]),
    "quotes that do not end": (["some 'program", "add"], ["not a command line"]),
    "a profile": ([COMMAND, "add", "--profile", "envelope"], ["--profile"]),
    "json and read": ([COMMAND, "add", "--json", "--read"], ["--read"]),
    "a header without a value": (["http://127.0.0.1:9/", "add", "--header", "x"], ["--header"]),
    "a header for a command": ([COMMAND, "add", "--header", "a: b"], ["headers must not be given"]),
    "no time at all": ([COMMAND, "add", "--timeout", "-1"], ["--timeout"]),
    "arguments that are no object": ([COMMAND, "add", "[1]"], ["JSON object"]),
}


@pytest.fixture(scope="module")
def misused() -> dict[str, Done]:
    return accord_each({name: ["call", *words] for name, (words, _) in MISUSE.items()})


@pytest.mark.parametrize("name", MISUSE)
def test_what_cannot_be_is_one_line_and_exit_code_2(misused: dict[str, Done], name: str) -> None:
    assert_one_line_of_misuse(misused[name], *MISUSE[name][1])


def test_ctrl_c_ends_the_server_too(odd: Path) -> None:
    (odd / "begun").unlink(missing_ok=True)
    command = [ACCORD, "call", f"{quote(ACCORD)} serve odd --grace 0", "sleep"]
    with Popen(command, cwd=odd, env=ENVIRONMENT, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        assert eventually((odd / "begun").exists)
        (server,) = children(child.pid)
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(30) in (-signal.SIGINT, 128 + signal.SIGINT)
            assert b"Traceback" not in child.stderr.read()
        finally:
            child.kill()
    assert eventually(lambda: is_gone(server))


# Whose server it is

TARGETS = {
    "http://127.0.0.1:8000/mcp": True,
    "HTTPS://example.org/mcp": True,
    "python server.py": True,
    "npx -y some-server": True,
    "uvx mcp-server-sqlite --db-path test.db": True,
    "uvx mcp-server-sqlite --db-path shop.db": True,
    "./serve with.sqlite3": True,
    "no such file.db": True,
    f"serve {'x' * 5_000}.db": True,
    "shop.db": False,
    "no-such-file.db": False,
    "with blanks/my shop.db": False,
    "sqlite:///no such file.db": False,
    "./serve": True,
    "serve-it": True,
    "shop": False,
    "shop:server": False,
    "package.shop:Holder.server": False,
    "shop.py": False,
    "./shop.py:server": False,
    "no-such-file.py": False,
    "with blanks/shop.py:server": False,
    "no-such-program": False,
    "python3": False,
    "": False,
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_a_peer_or_a_module(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("serve", "serve-it", "shop.py"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "with blanks").mkdir()
    for name in ("with blanks/shop.py", "with blanks/my shop.db", "shop.db"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert is_remote(target) is TARGETS[target]


UNKNOWN = ["mysql://x@y/z", "ws://example.org", "file:///etc/passwd", "postgresql+asyncpg://h/d"]


@pytest.mark.parametrize("verb", ["serve", "tools", "call", "install", "inspect"])
def test_a_url_of_an_unknown_kind_is_refused_and_what_is_known_named(verb: str) -> None:
    before = {"install": ["cursor"]}.get(verb, [])
    after = {"call": ["add"], "install": ["--yes"]}.get(verb, [])
    for done in accord_each({url: [verb, *before, url, *after] for url in UNKNOWN}).values():
        assert_one_line_of_misuse(done, "http://", "https://", "sqlite:///", "postgresql://")


@pytest.mark.parametrize("target", ["127.0.0.1:8000/mcp", "localhost:8000", "[::1]:8000/mcp"])
@pytest.mark.parametrize("verb", ["serve", "tools", "call"])
def test_an_address_without_a_scheme_names_the_missing_one(verb: str, target: str) -> None:
    done = accord(verb, target, *(["add"] if verb == "call" else []))
    assert_one_line_of_misuse(done, f"http://{target}")


def test_a_program_that_is_not_installed_cannot_be_served() -> None:
    done = accord("serve", "some-program --stdio")
    assert_one_line_of_misuse(done, "some-program --stdio is not an installed program")


def test_a_database_that_does_not_exist_and_has_blanks_is_named_by_its_url(tmp_path: Path) -> None:
    done = accord("serve", "my new.db", cwd=tmp_path)
    assert_one_line_of_misuse(done, "not an installed program", "sqlite:///my new.db")
    sqlite3.connect(tmp_path / "my new.db").close()
    for target in ("my new.db", "sqlite:///my new.db"):
        assert "run_query" in accord("tools", target, cwd=tmp_path).out


def test_the_tools_of_a_command_line_that_ends_in_db_are_listed(tmp_path: Path) -> None:
    database = tmp_path / "test.db"
    sqlite3.connect(database).close()
    done = accord("tools", f"{quote(ACCORD)} serve test.db", cwd=tmp_path)
    assert (done.code, "run_query" in done.out) == (0, True)


def test_a_module_in_a_folder_with_blanks_is_still_ours(tmp_path: Path) -> None:
    folder = tmp_path / "with blanks"
    folder.mkdir()
    write(folder, odd=ODD)
    done = accord("call", f"{folder / 'odd.py'}:server", "search")
    assert (done.code, done.out) == (0, "[\n  1\n]\n")
