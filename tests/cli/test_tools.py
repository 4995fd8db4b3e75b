"""`accord tools`: a table for a person, as wide as there is room."""

import subprocess
from pathlib import Path

import pytest

from cli.command import ACCORD, ENVIRONMENT, accord, accord_in_terminal, write

SHOP = """\
shop 1.0: 2 tools
  add(a, b)                 Add two numbers.
  orders(customer, limit?)  Orders of one customer, newest first. [read-only]
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


def test_it_is_plain_text_when_nobody_looks(folder: Path) -> None:
    done = accord("tools", "diary", cwd=folder)
    assert "\x1b" not in done.out
    assert all(line == line.rstrip() for line in done.out.splitlines())


def test_a_server_without_tools_is_said_to_have_none(folder: Path) -> None:
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
