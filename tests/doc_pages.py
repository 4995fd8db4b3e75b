"""Finds and runs the code of pages in Markdown; test_docs.py describes how."""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from accord.cli.main import VERBS, parser_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
TERMINAL = {
    "COLUMNS": "80",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONUNBUFFERED": "1",  # in a terminal standard output and error keep their order
}
BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- environment: (?P<environments>[\w, -]+) -->\n(?P=indent))?"
    r"```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
FILE = re.compile(r"(?:#|--) (?P<name>[\w./-]+\.(?:py|toml|sql))\n")


class Block(NamedTuple):
    """A fenced block, and the text that follows at once if that is what it prints."""

    language: str
    text: str
    line: int
    printed: str | None = None
    environments: frozenset[str] = frozenset()
    """The environments of frameworks that it runs in; none if it runs in the main one."""


class Command(NamedTuple):
    """A command in a console, and what it shows."""

    text: str
    shown: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in their order."""
    found = [*BLOCK.finditer(page), None]
    return [
        Block(
            block["language"],
            textwrap.dedent(block["text"]),
            page.count("\n", 0, block.start()) + 1,
            _printed(page, block, following),
            frozenset((block["environments"] or "").replace(",", " ").split()),
        )
        for block, following in pairwise(found)
        if block
    ]


def _printed(page: str, block: re.Match[str], following: re.Match[str] | None) -> str | None:
    if following is None or following["language"] != "text":
        return None
    between = page[block.end() : following.start()]
    return None if between.strip() else textwrap.dedent(following["text"])


def commands(console: str) -> list[Command]:
    """The commands of a console block, each with what it shows."""
    parts = re.split(r"^\$ (.*\n(?:> .*\n)*)", console, flags=re.M)
    typed = [re.sub(r"^> ", "", part, flags=re.M) for part in parts[1::2]]
    return [Command(text.strip(), shown) for text, shown in zip(typed, parts[2::2], strict=True)]


def check(page: str, folder: Path) -> int:
    """Run the blocks of a page in a folder; how many there were to run."""
    return sum(
        _check_block(block, folder) if not block.environments else _check_syntax(block)
        for block in blocks(page)
    )


def check_in_environment(page: str, folder: Path, environment: str) -> int:
    """Run the blocks of a page that need a framework; how many there were."""
    ran = 0
    for block in blocks(page):
        if environment in block.environments:
            ran += _check_block(block, folder)
        elif not block.environments and block.language == "python" and FILE.match(block.text):
            _check_block(block, folder)
    return ran


def _check_syntax(block: Block) -> int:
    compile(block.text, f"line {block.line}", "exec")
    return 1


def _check_block(block: Block, folder: Path) -> int:
    place = f"line {block.line}"
    match block.language:
        case "python":
            _check_python(block, folder, place)
        case "toml" | "sql" if FILE.match(block.text):
            _write(block, folder)
        case "console" | "sh":
            shown = commands(block.text)
            if not shown:
                _check_told(block.text, place)
            return sum(_check_command(command, folder, place) for command in shown)
        case "json":
            json.loads(block.text)
        case _:
            return 0
    return 1


def _write(block: Block, folder: Path) -> bool:
    """Write a block that names its file; False if it names none."""
    named = FILE.match(block.text)
    if named is None:
        return False
    path = folder / named["name"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)
    return True


def _check_python(block: Block, folder: Path, place: str) -> None:
    if _write(block, folder):
        compile(block.text, place, "exec")
        return
    done = _run([sys.executable, "-c", block.text], folder)
    assert done.returncode == 0, f"{place}: {done.stdout}"
    if block.printed is not None:
        assert done.stdout == block.printed, f"{place}: {done.stdout}"


def _check_command(command: Command, folder: Path, place: str) -> int:
    done = _run(["sh", "-c", command.text], folder)
    assert done.stdout == command.shown, f"{place}: $ {command.text}\n{done.stdout}"
    return 1


def _check_told(block: str, place: str) -> None:
    for line in block.replace("\\\n", " ").splitlines():
        split = shlex.shlex(line, posix=True, punctuation_chars=True)
        split.whitespace_split = True
        words = [*split]
        parts = [i for i, word in enumerate(words) if set(word) <= set("|><&;")]
        for begin, end in pairwise([-1, *parts, len(words)]):
            _check_words(words[begin + 1 : end], f"{place}: {line}")


def _check_words(words: list[str], place: str) -> None:
    match words:
        case [program, verb, *rest] if Path(program).name == "accord":
            assert verb in VERBS, place
            try:
                parser_of(verb).parse_args(rest)
            except SystemExit as error:
                raise AssertionError(place) from error
        case ["make", job, *_]:
            assert f"\n{job}:" in (ROOT / "Makefile").read_text(), place


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | TERMINAL,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=50,
    )
