"""`accord tools`: a table for a person, as wide as there is room; or JSON."""

import json
import subprocess
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from accord.cli.tool_names import name_warnings
from cli.command import (
    ACCORD,
    ENVIRONMENT,
    accord,
    accord_each,
    accord_in_terminal,
    assert_one_line_of_misuse,
    write,
)
from client.connections import serving_shop

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


# As JSON


def test_json_is_the_entries_of_the_list(folder: Path) -> None:
    done = accord("tools", "diary", "--json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    burn, write_down, silent = json.loads(done.out)
    assert burn["annotations"] == {"destructiveHint": True}
    assert list(write_down["inputSchema"]["properties"]) == ["day", "weather", "people", "places"]
    assert silent == {
        "name": "silent",
        "description": "",
        "inputSchema": {"type": "object", "properties": {}},
    }


def test_json_is_the_same_for_local_and_remote_servers() -> None:
    remote = f"{quote(ACCORD)} serve shop:server"
    with serving_shop() as shop:
        found = accord_each(
            {
                "local": ["tools", "shop:server", "--json"],
                "a URL": ["tools", shop.url, "--json"],
                "a command": ["tools", remote, "--json"],
                "several": ["tools", "shop:server", remote, "--json"],
            }
        )
    assert {(done.code, done.err) for done in found.values()} == {(0, "")}
    listed = {name: json.loads(done.out) for name, done in found.items()}
    assert [entry["name"] for entry in listed["local"]] == ["add", "orders"]
    assert listed["a URL"] == listed["a command"] == listed["local"]
    assert listed["several"] == listed["local"] * 2


def test_no_tools_are_an_empty_array(folder: Path) -> None:
    assert accord("tools", "diary:empty", "--json", cwd=folder) == (0, "[]\n", "")


def test_json_shows_what_a_server_sent(tmp_path: Path) -> None:
    write(tmp_path, shameless=SHAMELESS)
    done = accord("tools", "python3 shameless.py", "--json", cwd=tmp_path)
    assert (done.code, "\x1b" in done.out) == (0, False)
    none, odd, kept = json.loads(done.out)
    assert none == {"name": "none"}
    assert odd["description"] == ["\x1b[2Jx"]
    assert kept["inputSchema"]["required"] == ["b", 7]


# Names that some clients refuse

NAMES = """
from accord import Server

server = Server("names", version="1.0")
fine = Server("fine", version="1.0")

@server.tool(name="shop.price")
def price(item: str) -> int:
    return 1

@server.tool(name="a" * 65)
def long() -> int:
    return 1

@server.tool(name="b." * 40)
def both() -> int:
    return 1

@server.tool
def paint(größe: int, color: str, 色: str = "red") -> int:
    return 1

@fine.tool(name="a" * 64)
def longest(a_b: int) -> int:
    return 1
"""
REFUSED = "WARNING accord: some clients refuse tool"
ONLY = "must have letters, digits, _ and - only"
ASCII_ONLY = "must have ASCII letters, digits, _ . and - only"
WARNED = [
    f"{REFUSED} 'shop.price': its name {ONLY}",
    f"{REFUSED} '{'a' * 65}': its name has 65 characters, and the most is 64",
    f"{REFUSED} '{'b.' * 40}': its name {ONLY}, and has 80 characters, and the most is 64",
    f"{REFUSED} 'paint': the name of its parameter 'größe' {ASCII_ONLY}",
    f"{REFUSED} 'paint': the name of its parameter '色' {ASCII_ONLY}",
]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "JSON"])
def test_names_that_some_clients_refuse_are_warnings(tmp_path: Path, form: list[str]) -> None:
    write(tmp_path, names=NAMES)
    ours = accord("tools", "names", *form, cwd=tmp_path)
    assert (ours.code, ours.err.splitlines()) == (0, WARNED)
    assert "WARNING" not in ours.out
    theirs = accord("tools", f"{quote(ACCORD)} serve names", *form, cwd=tmp_path)
    assert (theirs.code, theirs.err.splitlines()[-len(WARNED) :]) == (0, WARNED)
    assert accord("tools", "names:fine", *form, cwd=tmp_path).err == ""


def test_a_server_warns_of_them_once_at_its_start_and_never_on_stdout(tmp_path: Path) -> None:
    write(tmp_path, names=NAMES)
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2
    done = accord("serve", "names", cwd=tmp_path, stdin=request)
    assert done.err.splitlines() == WARNED
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == [1, 1]
    assert accord("serve", "names:fine", cwd=tmp_path, stdin=b"").err == ""


ODD_NAMES: dict[str, tuple[str, dict[str, Any], int]] = {
    # a name, an input schema, and the number of warnings
    "empty": ("", {}, 1),
    "the longest": ("a" * 64, {}, 0),
    "a slash": ("a/b", {}, 1),
    "a newline at the end": ("a\n", {}, 1),
    "other letters": ("größe", {}, 1),
    "a dot in a parameter": ("a", {"properties": {"a.b": {}}}, 0),
    "a long parameter": ("a", {"properties": {"a" * 65: {}}}, 1),
    "a dollar in a parameter": ("a", {"properties": {"$filter": {}}}, 1),
    "properties that are none": ("a", {"properties": ["größe"]}, 0),
    "a huge name": ("ü" * 1_000_000, {}, 1),
}


@pytest.mark.parametrize(("name", "schema", "count"), ODD_NAMES.values(), ids=list(ODD_NAMES))
def test_each_name_has_at_most_one_short_line(
    name: str, schema: dict[str, Any], count: int
) -> None:
    warnings = list(name_warnings(name, schema))
    assert len(warnings) == count
    assert all(len(each) < 300 and "\n" not in each for each in warnings)


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
