"""A library: functions whose answers have every shape that an envelope can hold."""

from dataclasses import dataclass
from typing import Any

from accord import Answer, FieldError, Image, Notice, Page, Problem, Server

server = Server("library", version="1.0")
SHELF = ["Emma", "Persuasion", "Ulysses"]


@dataclass
class Book:
    title: str
    pages: int | None = None


def _book(title: str) -> Book:
    if title not in SHELF:
        raise Problem.not_found(f"There is no book {title!r}", remediation="call books")
    return Book(title)


@server.tool(read_only=True)
def book(title: str) -> Book:
    """One book: an object."""
    return _book(title)


@server.tool(read_only=True)
async def books(limit: int = 2) -> Answer[list[Book]]:
    """Some books: a list with a name, and its page."""
    if limit < 1:
        fault = FieldError("limit", "must be at least 1")
        raise Problem.validation("There is no such page", fields=[fault])
    found = [_book(title) for title in SHELF[:limit]]
    page = Page(limit=limit, total=len(SHELF), has_more=limit < len(SHELF))
    return Answer(found, name="books", page=page)


@server.tool(read_only=True)
def titles(containing: str) -> list[str]:
    """Titles: a list without a name, which may be empty."""
    if not containing:
        raise Problem.validation("Say what the title contains")
    return [title for title in SHELF if containing in title]


@server.tool(read_only=True)
def count(author: str) -> int:
    """How many there are: a number."""
    if author == "anonymous":
        raise Problem.unavailable("The catalogue is closed", retry_after=60)
    return len(SHELF)


@server.tool(read_only=True)
def blurb(title: str) -> str:
    """What is on the back: text."""
    return f"{_book(title).title}, a novel.\n"


@server.tool
def lend(title: str, days: int) -> Answer[dict[str, Any]]:
    """Lend a book, for a month at most: work that is done in part."""
    if days < 1:
        raise RuntimeError("a bug that nobody should see")
    lent = min(days, 30)
    warnings = [Notice("30 days is the longest", code="SHORTENED")] if lent < days else []
    return Answer(
        {"title": _book(title).title, "days": lent}, warnings=warnings, partial=lent < days
    )


@server.tool(destructive=True)
def discard(title: str) -> None:
    """Throw a book away: nothing to say."""
    if title == "Emma":
        raise Problem.conflict(f"{title!r} is lent")


@server.tool(read_only=True)
def cover(title: str) -> Answer[None]:
    """The cover: a picture, and no data."""
    _book(title)
    return Answer(blocks=[Image(b"\x89PNG", "image/png")])


@server.tool(strict=True)
async def bill(title: str, price: float) -> dict[str, float]:
    """Bill a book: a tool that takes nothing else."""
    if price < 0:
        raise Problem.validation("A price is not negative")
    return {_book(title).title: price}
