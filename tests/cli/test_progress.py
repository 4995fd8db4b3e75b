"""Status lines during long commands: shown at a terminal, never in a pipe."""

import re
from pathlib import Path
from shlex import quote

import pytest

from cli.command import ACCORD, ENVIRONMENT, accord, accord_in_terminal, write

SLOW = """
import asyncio
from accord import Context, Server

server = Server("slow", version="1.0")

@server.tool
async def count(context: Context) -> str:
    for step in range(8):
        await context.progress(step, total=8, message="s\\x1b[31mtep")
        await asyncio.sleep(0.25)
    return "done"

@server.tool
def sleep() -> str:
    import time
    time.sleep(2)
    return "done"

@server.tool
async def quick() -> str:
    return "done"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("slow"), slow=SLOW)


@pytest.mark.parametrize("target", ["slow", f"{quote(ACCORD)} serve slow"], ids=["ours", "theirs"])
def test_a_call_that_takes_long_tells_how_far_it_is(folder: Path, target: str) -> None:
    shown = accord_in_terminal(80, "call", target, "count", cwd=folder)
    assert re.search(r"calling count \[#+\.+\] +\d+% \d s s\\u001b\[31mtep", shown), shown
    assert shown.rstrip("\n").endswith("\rdone"), "and nothing of it is left"
    assert "\x1b" not in shown


def test_one_that_does_not_say_how_far_it_is_tells_how_long_it_takes(folder: Path) -> None:
    shown = accord_in_terminal(40, "call", "slow", "sleep", cwd=folder)
    assert re.search(r"\rcalling sleep \d s", shown), shown


@pytest.mark.parametrize(
    "words",
    [
        ["tools", "late"],
        ["call", "late", "quick"],
        ["install", "cursor", "late", "--print"],
        ["serve", "late", "--http", "nowhere"],
    ],
    ids=" ".join,
)
def test_so_does_a_server_that_takes_long_to_load(tmp_path: Path, words: list[str]) -> None:
    folder = write(tmp_path, late=f"import time\ntime.sleep(2)\n{SLOW}")
    shown = accord_in_terminal(40, *words, cwd=folder)
    assert re.search(r"\rloading late \d s", shown), shown


def test_a_quick_one_is_quiet(folder: Path) -> None:
    """Unless the machine is busy; so we look again."""
    assert any(
        accord_in_terminal(80, "call", "slow", "quick", cwd=folder) == "done\n" for _ in range(5)
    )


@pytest.mark.parametrize("target", ["slow", f"{quote(ACCORD)} serve slow"], ids=["ours", "theirs"])
def test_a_pipe_gets_the_answer_alone(folder: Path, target: str) -> None:
    assert accord("call", target, "sleep", cwd=folder) == (0, "done\n", "")


COMMANDS: list[list[str]] = [
    ["--help"],
    ["serve", "--help"],
    ["tools", "slow"],
    ["call", "slow", "quick"],
    ["call", "slow", "quick", "--json"],
    ["call", "slow", "quick", "--read"],
    ["call", "slow", "nobody"],
    ["schema", "generic"],
    ["completion", "bash"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_is_coloured_or_boxed(
    folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = accord(*words, cwd=folder)
    monkeypatch.setitem(ENVIRONMENT, "NO_COLOR", "1")
    shown = accord_in_terminal(80, *words, cwd=folder)
    for text in (piped.out, piped.err, shown):
        assert "\x1b" not in text
        assert not re.search("[\u2500-\u259f]", text)
