"""Targets of the command line, and the errors for those that do not exist."""

import json
from pathlib import Path

import pytest

from cli.command import EXAMPLES, Done, accord, accord_each, assert_one_line_of_misuse, write

GOOD = """
from accord import Server

class Holder:
    server = Server("held", version="1.0")

server = Server("good", version="1.0")
admin = Server("admin", version="1.0")
thing = 5

@server.tool
def add(a: int) -> int:
    return a
"""


SERVERS = {
    "good:server": "good",
    "good": "good",
    "good:admin": "admin",
    "good:Holder.server": "held",
    "good.py": "good",
    "good.py:admin": "admin",
    "./good.py:server": "good",
    "./good": "good",
    "./good:admin": "admin",
    "package/inner:server": "inner",
    "package/inner.py:server": "inner",
    "package.inner:server": "inner",
}


def test_a_target_is_a_module_or_a_file_and_perhaps_a_name(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", inner=GOOD.replace('"good"', '"inner"'))
    shown = accord_each({target: ["tools", target] for target in SERVERS}, tmp_path)
    assert {target: done.out.partition(" ")[0] for target, done in shown.items()} == SERVERS


RESERVED = {
    "sheets": "dnd-character-sheet-filler",
    "./sheets": "good",
    "./sheets.py": "good",
    "./sheets.py:admin": "admin",
    "./sheets:admin": "admin",
    "sheets.py": "good",
    "sheets:server": "good",
    "./reader": "good",
    "reader:server": "good",
    "./django": "good",
    "django.py": "good",
}


@pytest.fixture
def with_reserved_files(tmp_path: Path) -> Path:
    """A folder whose files are called as the reserved targets are."""
    (tmp_path / "sheets").mkdir()  # as `accord serve sheets --out ./sheets` makes it
    return write(tmp_path, sheets=GOOD, reader=GOOD, django=GOOD)


def test_reserved_names_win_over_files_and_a_path_is_a_file(with_reserved_files: Path) -> None:
    commands = {target: ["tools", target] for target in RESERVED}
    shown = accord_each(commands, with_reserved_files)
    assert {target: done.out.partition(" ")[0] for target, done in shown.items()} == RESERVED


def test_so_they_do_for_every_verb(with_reserved_files: Path) -> None:
    here = with_reserved_files
    done = accord_each(
        {
            "call": ["call", "sheets", "add"],
            "call a file": ["call", "./sheets", "add", '{"a": 3}'],
            "serve": ["serve", "sheets", "--paper", "letter"],
            "serve a file": ["serve", "./sheets"],
            "serve the reader": ["serve", "reader"],
            "tools of the reader": ["tools", "reader"],
            "inspect": ["inspect", "sheets"],
            "inspect a file": ["inspect", "./sheets"],
            "install": ["install", "cursor", "sheets", "--print"],
            "install a file": ["install", "cursor", "./sheets:admin", "--print"],
            "complete": ["completion", "candidates", "accord call sheets "],
            "complete a file": ["completion", "candidates", "accord call ./sheets "],
            "a project without settings": ["serve", "django"],
        },
        here,
    )
    assert "fill_dnd_character_sheet" in done["call"].err
    assert done["call a file"].out == "3\n"
    assert done["serve"] == Done(0, "", "")
    assert done["serve a file"] == Done(0, "", "")
    assert_one_line_of_misuse(done["serve the reader"], "requires HTTP")
    assert_one_line_of_misuse(done["tools of the reader"], "has no tools")
    assert_one_line_of_misuse(done["inspect"], "accord serve sheets --http")
    assert_one_line_of_misuse(done["inspect a file"], "accord serve ./sheets --http")
    assert json.loads(done["install"].out)["mcpServers"].popitem()[1]["args"][1] == "sheets"
    written = json.loads(done["install a file"].out)["mcpServers"].popitem()[1]["args"]
    assert written == ["serve", f"{here}/sheets.py:admin"]
    assert "fill_dnd_character_sheet" in done["complete"].out
    assert done["complete a file"].out == "add\n"
    assert_one_line_of_misuse(done["a project without settings"], "django:shop.settings")


def test_an_option_for_sheets_is_refused_for_a_file_of_that_name(with_reserved_files: Path) -> None:
    done = accord("serve", "./sheets", "--paper", "letter", cwd=with_reserved_files)
    assert_one_line_of_misuse(done, "--paper")


def test_a_program_wins_over_a_file_beside_it(tmp_path: Path) -> None:
    """The path is exactly its own; the file needs `.py`."""
    write(tmp_path, serve=GOOD)
    program = tmp_path / "serve"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    done = accord("call", "./serve", "add", cwd=tmp_path)
    assert "the server exited with code 3" in done.err
    assert accord("tools", "./serve.py", cwd=tmp_path).out.startswith("good 1.0")


def test_a_file_can_import_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder", inner=GOOD + "import beside", beside="")
    assert accord("tools", "folder/inner.py", cwd=tmp_path).code == 0


def test_a_file_is_found_from_elsewhere(tmp_path: Path) -> None:
    done = accord("tools", f"{EXAMPLES / 'shop.py'}:server", cwd=tmp_path)
    assert done.out.startswith("shop 1.0: 2 tools\n")


BROKEN = {
    "raises": "raise ValueError('no licence')",
    "raises_in_lines": "raise ValueError('first line\\nsecond line')",
    "raises_without_words": "raise ValueError",
    "raises_no_exception": "class Stop(BaseException): pass\nraise Stop('stopped')",
    "exits": "import sys; sys.exit('bye')",
    "exits_well": "import sys; sys.exit()",
    "unparsable": "def f(:",
    "not_utf8": "",
    "imports_nothing": "import there_is_no_such_module",
    "bad_tool": "from accord import Server\nserver = Server('x')\nserver.tool(5)",
    "same_tool_twice": (
        "from accord import Server\nserver = Server('x')\n"
        "@server.tool\ndef a(): pass\n@server.tool(name='a')\ndef b(): pass\n"
    ),
    "good": GOOD,
    "other": GOOD.replace("good", "other"),
    "nothing": "",
    "number": "server = 5",
    "further": "import inner_part\ninner_part.go()",
    "inner_part": "def go():\n    raise ValueError('deep')",
    "in_python": "import json\njson.loads('{')",
    "lazy": "def __getattr__(name): raise RuntimeError('not today')",
}
BAD: dict[str, tuple[list[str], list[str]]] = {
    "no such module": (["missing"], ["missing"]),
    "no such package": (["missing.inner:server"], ["missing"]),
    "no such module inside": (["good.inner:server"], ["good.inner"]),
    "no such file": (["missing.py:server"], ["missing.py"]),
    "a folder": (["folder.py"], ["folder.py"]),
    "no module at all": ([":server"], [":server"]),
    "an empty word": ([""], []),
    "a program that is not there": (["no-such-program"], ["installed program"]),
    "a relative module": ([".good"], [".good"]),
    "raises": (["raises"], ["raises", "ValueError", "no licence (raises.py:1)"]),
    "raises in lines": (["raises_in_lines"], ["first line"]),
    "raises without words": (["raises_without_words"], ["raises_without_words", "ValueError"]),
    "raises no Exception": (["raises_no_exception"], ["raises_no_exception", "Stop"]),
    "exits": (["exits"], ["exits", "SystemExit"]),
    "exits well": (["exits_well"], ["exits_well", "SystemExit"]),
    "syntax error": (["unparsable"], ["unparsable", "SyntaxError", "line 1"]),
    "syntax error in a file": (["unparsable.py"], ["unparsable.py", "SyntaxError", "line 1"]),
    "not UTF-8": (["not_utf8"], ["not_utf8", "SyntaxError"]),
    "imports what is missing": (
        ["imports_nothing"],
        ["there_is_no_such_module", "(imports_nothing.py:1)"],
    ),
    "raises further in": (["further.py"], ["ValueError: deep", "(inner_part.py:2)"]),
    "raises in Python's own": (["in_python"], ["JSONDecodeError", "(in_python.py:2)"]),
    "a file of another kind": (["good.txt"], ["good.txt", ".py", ".db"]),
    "a file that is no server": (
        ["nothing.py"],
        ["nothing.py: there is no 'server', and nothing.py has no accord.Server\n"],
    ),
    "no server, and none else": (
        ["number.py"],
        ["number.py: 'server' is not an accord.Server, and number.py has no accord.Server\n"],
    ),
    "no function": (["bad_tool"], ["bad_tool"]),
    "one tool twice": (["same_tool_twice"], ["same_tool_twice", "'a'"]),
    "no such name": (["good:missing"], ["missing", "server", "admin"]),
    "no such name inside": (["good:Holder.missing"], ["Holder.missing", "server", "admin"]),
    "no server": (["good:thing"], ["thing", "server", "admin"]),
    "a class": (["good:Server"], ["Server", "admin"]),
    "no server anywhere": (["nothing"], ["nothing", "no accord.Server"]),
    "a lazy module that fails": (["lazy"], ["lazy", "not today"]),
    "the same twice": (["good:server", "good:server"], ["good:server", "twice"]),
    "the same in other words": (["good", "good:server"], ["good and good:server are the same"]),
    "a clash": (
        ["good:server", "other:server"],
        ["good:server", "other:server", "'add'", "give each a name: good=good:server other=other"],
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("targets"), **BROKEN)
    (folder / "not_utf8.py").write_bytes(b"x = '\xff'")
    (folder / "folder.py").mkdir()
    (folder / "good.txt").touch()
    return folder


@pytest.fixture(scope="module")
def refused(folder: Path) -> dict[str, Done]:
    return accord_each({name: ["tools", *targets] for name, (targets, _) in BAD.items()}, folder)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_target_is_one_line(refused: dict[str, Done], name: str) -> None:
    assert_one_line_of_misuse(refused[name], *BAD[name][1])


@pytest.mark.parametrize("words", [["serve", "missing"], ["call", "missing", "add"]])
def test_a_bad_target_is_one_line_for_each_verb(folder: Path, words: list[str]) -> None:
    assert_one_line_of_misuse(accord(*words, cwd=folder), f"accord {words[0]}: ", "missing")


UNUSABLE = """
import socket
from accord import Server

server = Server("x")

def send(to: socket.socket): ...

server.tool(send)
"""


def test_a_tool_that_cannot_be_used_is_named_with_its_own_line(tmp_path: Path) -> None:
    """Its function's line, once; not the line that registers it."""
    write(tmp_path, unusable=UNUSABLE)
    done = accord("serve", "unusable:server", cwd=tmp_path)
    assert_one_line_of_misuse(done, "parameter 'to' of tool 'send' is socket.socket")
    assert done.err.rstrip().endswith("or a pydantic model (unusable.py:7)")
