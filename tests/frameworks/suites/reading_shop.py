"""A server whose results the reading suites get through the client of each framework."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from accord import Answer, Image, Page, Problem, Server, read

COMMAND: Final = sys.executable
ARGUMENTS: Final = ["-m", "accord", "serve", "reading_shop:server"]
FOLDER: Final = str(Path(__file__).parent)

server = Server("reading-shop", version="1.0")


@dataclass
class Row:
    id: int
    name: str


@server.tool(read_only=True)
def list_rows() -> list[Row]:
    """Return all rows."""
    return [Row(1, "a"), Row(2, "b")]


@server.tool(read_only=True)
def get_row() -> Row:
    """Return a row."""
    return Row(1, "a")


@server.tool(read_only=True)
def get_weather() -> str:
    """Return words."""
    return "It is sunny today."


@server.tool(read_only=True)
def get_missing() -> Row:
    """Fail."""
    raise Problem.not_found("No such row", remediation="try 1")


@server.tool(read_only=True)
def list_numbers() -> Answer[list[int]]:
    """Return numbers with a page, a warning and a picture."""
    page = Page(total=5, has_more=True, cursor="x")
    picture = Image(b"abc", "image/png")
    return Answer([1, 2], page=page, warnings=["old index"], blocks=[picture])


TOOLS: Final = ("list_rows", "get_row", "get_weather", "get_missing", "list_numbers")
ROWS: Final = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
PICTURE: Final = {"type": "image", "mimeType": "image/png", "bytes": 3}


def require(tool: str, reply: Any, *, has_details: bool = True) -> None:
    """Raise AssertionError unless a reply says what the tool returned.

    Without `has_details`, the framework has dropped `_meta`: code and remediation are lost.
    """
    reading = read(reply, tool)
    response = reading.response
    assert reading.raw is reply
    assert response.tool_name == tool
    if tool == "get_missing":
        assert response.error is not None, reading
        assert response.error.message == ("No such row" if has_details else "No such row. Try 1.")
        assert response.error.code == ("NOT_FOUND" if has_details else "error")
        return
    assert not reading.is_failure, reading
    expected = {"list_rows": ROWS, "get_row": ROWS[0], "list_numbers": [1, 2]}
    assert response.data == expected.get(tool, {"text": "It is sunny today."}), reading
    if tool == "list_numbers":
        assert reading.page == Page(total=5, has_more=True, cursor="x")
        assert [each.message for each in reading.warnings] == ["old index"]
        assert (response.metadata or {})["attachments"] == [PICTURE]
