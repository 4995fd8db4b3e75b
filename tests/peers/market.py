"""A server whose tools end in every way that a tool can end."""

from typing import Any

from accord import Answer, FieldError, Image, Link, Notice, Page, Problem, Server

server = Server("market", version="1.0")
ROWS = [{"id": 1, "item": "moth trap"}]


@server.tool(read_only=True)
def rows() -> Answer[list[dict[str, Any]]]:
    """A list with its page."""
    page = Page(offset=0, limit=1, total=7, has_more=True, next_offset=1)
    return Answer(ROWS, message="Found 1 rows:", page=page, name="orders")


@server.tool(read_only=True)
def row() -> dict[str, Any]:
    """An object."""
    return ROWS[0]


@server.tool
def count() -> int:
    """A number."""
    return 5


@server.tool
def words() -> str:
    """Text."""
    return "two\nlines"


@server.tool
def anything() -> Any:
    """A list of which nothing was said."""
    return ROWS


@server.tool
def nothing() -> None:
    """No data at all."""


@server.tool
def none() -> int | None:
    """No number."""
    return None


@server.tool(read_only=True)
def no_rows() -> Answer[list[int]]:
    """An empty list."""
    return Answer([], message="Found 0 rows:")


@server.tool
def partial() -> Answer[dict[str, int]]:
    """Some of the work."""
    warnings: list[Notice | str] = [
        "the last is locked",
        Notice("slow", code="SLOW", severity="info"),
    ]
    return Answer({"done": 3}, partial=True, warnings=warnings)


@server.tool(read_only=True)
def cut() -> Answer[list[int]]:
    """A part of what there is."""
    return Answer([1, 2], truncated=True, page=Page(has_more=True, cursor="next"))


@server.tool
def picture() -> Answer[None]:
    """No data, but a picture."""
    return Answer(None, blocks=[Image(b"hi", "image/png"), Link("market://a", "a")])


@server.tool
def missing() -> int:
    """A failure."""
    raise Problem.not_found("No customer 7", remediation="try 1")


@server.tool
def misfit() -> int:
    """A failure with field errors."""
    raise Problem.validation("Invalid sheet", fields=[FieldError("race", "is required")])


@server.tool
def broken() -> int:
    """A bug."""
    raise RuntimeError("secret")
