"""The command itself: help, version, and words it does not know."""

import shutil
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from accord.extras import extras as extras_of
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
from sources.sql.shop import make


def test_version_is_the_one_of_the_installed_package_with_its_extras() -> None:
    for option in ("--version", "-V"):
        done = accord(option)
        assert (done.code, done.err) == (0, "")
        first, extras = done.out.splitlines()
        assert first == f"accord {version('accord-mcp')}"
        assert extras == f"extras: {', '.join(extras_of())}"


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["tools", "call", "schema"])
def test_the_examples_in_the_help_work(verb: str, tmp_path: Path) -> None:
    path = {"PATH": f"{Path(ACCORD).parent}:{ENVIRONMENT['PATH']}"}
    shutil.copy(EXAMPLES / "shop.py", tmp_path)
    for name in ("shop", "chinook", "northwind"):
        make(tmp_path / f"{name}.db")
    (tmp_path / "accord.toml").write_text('[shop]\ntarget = "shop.db"\n')
    for line in accord(verb, "--help").out.split("Examples:\n")[1].splitlines():
        done = subprocess.run(
            ["sh", "-c", line.strip()], cwd=tmp_path, env=ENVIRONMENT | path, capture_output=True
        )
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("verb", ["serve", "tools"])
def test_ctrl_c_while_a_target_is_loaded_ends_it_without_a_traceback(
    verb: str, tmp_path: Path
) -> None:
    slow = "import os, time\nos.write(2, b'loading\\n')\ntime.sleep(60)\n"
    write(tmp_path, slow=slow)
    with Popen(
        [ACCORD, verb, "slow"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == b"loading\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(30) == -signal.SIGINT
            assert child.stderr.read() == b""
        finally:
            child.kill()


MISUSE: dict[str, tuple[list[str], list[str]]] = {
    "an unknown verb": (["dance"], ["dance", "serve", "tools", "call"]),
    "an unknown option": (["--dance"], []),
    "an unknown option of a verb": (["tools", "shop", "--dance"], ["--dance"]),
    "a command that is nearly one": (["srve", "shop"], ["'srve'; did you mean 'serve'?"]),
    "an option that is nearly one": (["call", "a", "b", "--jsno"], ["did you mean '--json'?"]),
    "a choice that is nearly one": (["schema", "genric"], ["did you mean 'generic'?"]),
    "a tool that is nearly one": (["call", "shop", "ad"], ["'ad'; did you mean 'add'?"]),
    "a module that is nearly one": (["tools", "shp:server"], ["did you mean 'shop'?"]),
    "a file that is nearly one": (["tools", "shp.py"], ["did you mean 'shop.py'?"]),
    "a server that is nearly one": (["tools", "shop:sever"], ["did you mean 'server'?"]),
    "dashes before the verb": (["--", "tools"], []),
    "serve without a target": (["serve"], ["TARGET"]),
    "tools without a target": (["tools"], ["TARGET"]),
    "call without a target": (["call"], ["TARGET"]),
    "call without a tool": (["call", "shop"], ["TOOL"]),
    "inspect without a target": (["inspect"], ["TARGET"]),
    "read without a file": (["read"], ["FILE"]),
    "call with too much": (["call", "shop", "add", "{}", "more"], ["more"]),
    "no such revision": (
        ["call", "shop", "add", "{}", "--revision", "1999"],
        ["1999", "2026-07-28"],
    ),
    "no number": (["serve", "shop", "--grace", "soon"], ["--grace", "soon"]),
    "a negative number": (["serve", "shop", "--grace", "-1"], ["--grace"]),
    "the reader without HTTP": (["serve", "shop", "reader"], ["reader", "--http"]),
    "a call of the reader": (["call", "reader", "read"], ["reader", "accord read"]),
    "no page without HTTP": (["serve", "shop", "--no-page"], ["--no-page", "--http"]),
    "a host without HTTP": (["serve", "shop", "--allow-host", "x"], ["--allow-host", "--http"]),
    "a log without HTTP": (["serve", "shop", "--log-format", "text"], ["--log-format", "--http"]),
    "no finite number": (["serve", "shop", "--grace", "nan"], ["--grace", "nan"]),
}


@pytest.fixture(scope="module")
def misused() -> dict[str, Done]:
    return accord_each({name: words for name, (words, _) in MISUSE.items()})


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_one_line_and_exit_code_2(misused: dict[str, Done], name: str) -> None:
    assert_one_line_of_misuse(misused[name], *MISUSE[name][1])


CODES: dict[str, tuple[int, list[str]]] = {
    "a tool that fails": (1, ["call", "shop", "orders", '{"customer": "zoe"}']),
    "a reply that is an error": (0, ["read", "failed.json"]),
    "the same, checked": (1, ["read", "failed.json", "--check"]),
    "a reply that is not there": (2, ["read", "nowhere.json"]),
    "a sheet that is not there": (1, ["sheet", "nowhere.json"]),
    "a form that is not there": (2, ["sheet", "--fields", "nowhere.pdf"]),
    "a server that is not there": (2, ["tools", "nowhere"]),
}


def test_the_exit_code_is_the_one_that_the_page_says(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "shop.py", tmp_path)
    (tmp_path / "failed.json").write_text('{"isError": true, "content": []}')
    done = accord_each({name: words for name, (_, words) in CODES.items()}, cwd=tmp_path)
    assert {name: each.code for name, each in done.items()} == {
        name: code for name, (code, _) in CODES.items()
    }


@pytest.mark.parametrize("words", ["--version", "tools shop", 'call shop add \'{"a": 2, "b": 3}\''])
def test_without_a_stdout_there_is_no_traceback(words: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {ACCORD} {words} >&-"],
        cwd=EXAMPLES,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "Traceback" not in done.stderr
