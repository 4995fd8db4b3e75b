"""`accord tools`: a table for a person, as wide as there is room."""

import subprocess
from pathlib import Path
from shlex import quote

import pytest

from cli.command import (
    ACCORD,
    ENVIRONMENT,
    accord,
    accord_each,
    accord_in_terminal,
    assert_one_line_of_misuse,
    write,
)
from connect.client import serving_shop

SHOP = """\
shop 1.0: 2 tools
  add(a, b)                 Add two numbers.
  orders(customer, limit?)  List a customer's orders, newest first. [read-only]
"""
DIARY = '''
from accord import Server

server = Server("diary", version="2.0", instructions="Write daily.")
empty = Server("empty", version="1.0")

@server.tool(destructive=True)
def burn(page: int) -> None:
    """Burn a page: what was written on it is gone for good, and nobody can bring it back.

    A second paragraph, which the table leaves out.
    """

@server.tool
def write_down_what_happened(day: str, weather: str = "", people: str = "", places: str = "") -> None:
    """Write."""

@server.tool(description="")
def silent() -> None:
    pass
'''
MANY = """
from accord import Server

server = Server("many", version="1.0")
for number in range(2000):
    server.tool(name=f"tool_{number}", description="One of many.")(lambda: None)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tools"), diary=DIARY, many=MANY)


def test_each_tool_is_a_row() -> None:
    assert accord("tools", "shop:server") == (0, SHOP, "")


def test_it_looks_the_same_in_a_terminal() -> None:
    assert accord_in_terminal(80, "tools", "shop:server") == SHOP


def test_it_is_plain_text_in_a_pipe(folder: Path) -> None:
    done = accord("tools", "diary", cwd=folder)
    assert "\x1b" not in done.out
    assert all(line == line.rstrip() for line in done.out.splitlines())


def test_a_server_without_tools_prints_none(folder: Path) -> None:
    assert accord("tools", "diary:empty", cwd=folder) == (0, "empty 1.0: 0 tools\n", "")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_rows_fit_the_terminal_and_lose_no_word(folder: Path, columns: int) -> None:
    shown = accord_in_terminal(columns, "tools", "diary", cwd=folder)
    assert max(map(len, shown.splitlines())) <= columns
    words = shown.split()
    for word in (
        "burn(page)",
        "gone",
        "[destructive]",
        "write_down_what_happened(day,",
        "people?,",
        "places?)",
        "Write.",
        "silent()",
    ):
        assert word in words


def test_in_a_wide_terminal_what_a_tool_does_is_one_line(folder: Path) -> None:
    lines = accord_in_terminal(200, "tools", "diary", cwd=folder).splitlines()
    assert lines[0] == "diary 2.0: 3 tools"
    assert lines[1].startswith("  burn(page)  ")
    assert lines[1].endswith(
        "  Burn a page: what was written on it is gone for good, and nobody can bring it back. "
        "[destructive]"
    )


def test_several_targets_are_one_table(folder: Path) -> None:
    write(folder, tiny='from accord import Server\nserver = Server("tiny", version="3")\n')
    done = accord("tools", "diary", "tiny", cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert "3 tools" in done.out.splitlines()[0]


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{ACCORD} tools many | head -n 1"],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "many 1.0: 2000 tools\n"
    assert done.stderr == ""


# Of somebody else's server

SHAMELESS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}},
        "tools/list": {"tools": [
            {"name": "none"},
            {"name": "odd", "inputSchema": 5, "description": ["\x1b[2Jx"], "annotations": "yes"},
            {"name": "kept", "inputSchema": {"properties": {"a": 1, "b": {}}, "required": ["b", 7]},
             "description": "Keeps.", "annotations": {"readOnlyHint": True, "destructiveHint": 1}},
        ]},
    }
    if "id" in request:
        known = results.get(request["method"])
        said = {"error": {"code": -32601, "message": "no"}} if known is None else {"result": known}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)
"""


def test_remote_tools_are_listed_like_local_ones() -> None:
    with serving_shop() as shop:
        found = accord_each(
            {
                "a URL": ["tools", shop.url, "--header", "x-a: b"],
                "a command": ["tools", f"{quote(ACCORD)} serve shop:server", "--timeout", "20"],
            }
        )
    assert found == {"a URL": (0, SHOP, ""), "a command": (0, SHOP, "")}


def test_ours_are_one_table_and_each_of_theirs_has_its_own(folder: Path) -> None:
    done = accord("tools", "diary", f"{quote(ACCORD)} serve diary", "diary:empty", cwd=folder)
    heads = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert heads == ["diary+empty 2.0+1.0: 3 tools", "diary 2.0: 3 tools"]


def test_a_server_that_lists_nonsense_is_listed_as_far_as_it_goes(tmp_path: Path) -> None:
    write(tmp_path, shameless=SHAMELESS)
    done = accord("tools", "python3 shameless.py", cwd=tmp_path)
    assert done.code == 0
    assert done.out.splitlines() == [
        "python3 shameless.py: 3 tools",
        "  none()",
        "  odd()        ['\\x1b[2Jx']",
        "  kept(a?, b)  Keeps. [read-only]",
    ]


USELESS = {
    "a header for ours": ["shop", "--header", "a: b"],
    "a time for ours": ["shop", "--timeout", "3"],
    "a header for a command": [f"{quote(ACCORD)} serve shop", "--header", "a: b"],
    "a database's option": ["shop", "--read-only"],
    "to make a file": ["new.db", "--create"],
    "a number of rows": ["new.db", "--max-rows", "5"],
    "tables of no database": ["shop", "--allow", "users"],
    "the reader": ["reader"],
    "the reader beside others": ["shop", "reader"],
}


def test_what_would_do_nothing_is_refused() -> None:
    for done in accord_each({name: ["tools", *words] for name, words in USELESS.items()}).values():
        assert_one_line_of_misuse(done)
