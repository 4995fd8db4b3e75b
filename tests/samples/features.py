"""A well-behaved sample server: `build` switches its groups of features on.

`accord serve features:pages` in this folder, or `accord serve features.py:pages`, serves one of
`SERVERS`. Groups that have a tool of the same name do not go together.
"""

# ruff: noqa: C901 - a group is a function that defines its tools

import asyncio
import json
import re
import struct
import threading
import zlib
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from accord import (
    Annotations,
    Answer,
    Audio,
    Completion,
    Context,
    Cursors,
    Elicit,
    Embedded,
    FieldError,
    Header,
    Icon,
    Image,
    Link,
    ListRoots,
    Message,
    Notice,
    Page,
    Problem,
    Sample,
    Server,
)


def build(
    name: str = "features",
    *,
    basics: bool = False,
    outcomes: bool = False,
    shapes: bool = False,
    pages: bool = False,
    questions: bool = False,
    changes: bool = False,
    progress: bool = False,
    display: bool = False,
    every_feature: bool = False,
    **settings: Any,
) -> Server:
    """Return a server with the groups that are switched on; `settings` are those of `Server`."""
    server = Server(name, version="1.0", **settings)
    groups = {
        _add_basics: basics,
        _add_outcomes: outcomes,
        _add_shapes: shapes,
        _add_pages: pages,
        _add_questions: questions,
        _add_changes: changes,
        _add_progress: progress,
        _add_display: display,
        _add_every_feature: every_feature,
    }
    for add_group, is_on in groups.items():
        if is_on:
            add_group(server)
    return server


def _held_by_this_process() -> dict[str, int]:
    """Return how many tasks and file descriptors this process has."""
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return {"tasks": len(asyncio.all_tasks()), "descriptors": descriptors}


def _kilobytes_of_this_process() -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"^VmRSS:\s+(\d+)", status, re.M)[0])


# Basics: tools that the tests of the protocol call

SECRET = "the combination is 4711"


_waiting: list[int] = []


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def echo(value: Any = None) -> Any:
    """Return the value."""
    return value


def _add_basics(server: Server) -> None:
    """Add tools that compute, echo, name their caller, fail and wait."""

    server.tool(add)
    server.tool(echo)

    @server.tool(strict=True)
    def exact(a: int) -> int:
        """Take one number and nothing else."""
        return a

    @server.tool
    def caller(context: Context) -> dict[str, Any]:
        """Return the revision and the client's capabilities."""
        return {"revision": context.revision, "capabilities": context.client.capabilities}

    @server.tool
    def broken() -> int:
        """Fail with a message that must be masked."""
        raise RuntimeError(SECRET)

    @server.tool
    def unspeakable() -> str:
        """Return text that UTF-8 cannot encode."""
        return "\ud800"

    @server.tool
    async def forever() -> int:
        """Wait in a task until the call is cancelled."""
        _waiting.append(1)
        try:
            await asyncio.Event().wait()
        finally:
            _waiting.pop()
        return 0

    @server.tool
    def patient(context: Context) -> int:
        """Wait in a thread until the call is cancelled, then raise."""
        _waiting.append(1)
        while not context.cancelled:
            threading.Event().wait(0.001)
        _waiting.pop()
        raise InterruptedError(SECRET)

    @server.tool
    async def waiting() -> int:
        """Count the calls of `forever` and `patient` that wait."""
        return len(_waiting)


# Outcomes: tools without arguments, one for each way in which a call can end

ROWS = [{"id": 1, "item": "moth trap"}]


def _add_outcomes(server: Server) -> None:
    """Add a tool for each outcome that a tool can have."""

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
        """A list without a declared type."""
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
        """A truncated list."""
        return Answer([1, 2], truncated=True, page=Page(has_more=True, cursor="next"))

    @server.tool
    def picture() -> Answer[None]:
        """No data, but a picture."""
        return Answer(None, blocks=[Image(b"hi", "image/png"), Link("sample://a", "a")])

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


# Shapes: tools with arguments, one for each shape of result

SHELF = ["Emma", "Persuasion", "Ulysses"]


@dataclass
class Book:
    title: str
    pages: int | None = None


def _book(title: str) -> Book:
    if title not in SHELF:
        raise Problem.not_found(f"There is no book {title!r}", remediation="call books")
    return Book(title)


def _add_shapes(server: Server) -> None:
    """Add tools whose results have every shape that an envelope can hold."""

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
        """The number of books: a number."""
        if author == "anonymous":
            raise Problem.unavailable("The catalogue is closed", retry_after=60)
        return len(SHELF)

    @server.tool(read_only=True)
    def blurb(title: str) -> str:
        """The text of the back cover: text."""
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


# Pages: one list, paged in the ways of many servers

CURSORS = Cursors(b"a key of thirty-two bytes or more")


ITEMS = [{"id": str(1_000 + n), "name": f"item {n} of the list"} for n in range(25)]


SIZE = 10


def window(start: int, size: int = SIZE) -> list[dict[str, str]]:
    return ITEMS[start : start + size]


def _add_pages(server: Server) -> None:
    """Add tools that return one list in pages, each tool with its own kind of paging."""

    @server.tool(read_only=True)
    def list_by_offset(offset: int = 0, limit: int = SIZE) -> dict[str, Any]:
        """`nextOffset`."""
        end = offset + limit
        page = {"offset": offset, "limit": limit, "hasMore": end < len(ITEMS)}
        return {"items": window(offset, limit), **page, **({"nextOffset": end} if end < 25 else {})}

    @server.tool(read_only=True)
    def list_channels(offset: int = 0, limit: int = SIZE) -> dict[str, Any]:
        """As Discord's tools do: `hasMore`, without an offset to go on from."""
        found = window(offset, limit)
        more = offset + len(found) < len(ITEMS)
        return {
            "totalChannels": len(ITEMS),
            "showing": len(found),
            "offset": offset,
            "limit": limit,
            "hasMore": more,
            "channels": found,
        }

    @server.tool(read_only=True)
    def list_by_skip(skip: int = 0) -> dict[str, Any]:
        """Nothing but a total."""
        return {"total": len(ITEMS), "items": window(skip)}

    @server.tool(read_only=True)
    def list_by_cursor(cursor: str | None = None) -> dict[str, Any]:
        """`nextCursor`, an opaque word, null at the end."""
        start = int((cursor or "at-0").removeprefix("at-"))
        end = start + SIZE
        return {"items": window(start), "nextCursor": f"at-{end}" if end < len(ITEMS) else None}

    @server.tool(read_only=True)
    def list_by_token(page_token: str = "", max_results: int = SIZE) -> dict[str, Any]:
        """`next_page_token`, left out at the end."""
        start = int(page_token or 0)
        end = start + max_results
        token = {"next_page_token": f"{end:03d}"} if end < len(ITEMS) else {}
        return {"files": window(start, max_results), **token}

    @server.tool(read_only=True)
    def list_by_graph(first: int = SIZE, after: str | None = None) -> dict[str, Any]:
        """`pageInfo` with an `endCursor` on every page."""
        start = 0 if after is None else int(after.removeprefix("node:"))
        end = min(start + first, len(ITEMS))
        info = {"hasNextPage": end < len(ITEMS), "endCursor": f"node:{end}"}
        return {"data": {"nodes": window(start, first), "pageInfo": info}}

    @server.tool(read_only=True)
    def list_by_number(page: int = 1, per_page: int = SIZE) -> dict[str, Any]:
        """`page` and `total_pages`."""
        found = window((page - 1) * per_page, per_page)
        return {
            "items": found,
            "page": page,
            "per_page": per_page,
            "total_pages": -(-25 // per_page),
        }

    @server.tool(read_only=True)
    def list_issues(page: int = 1, perPage: int = SIZE) -> list[dict[str, str]]:  # noqa: N803
        """A bare array, as GitHub's tools give it."""
        return window((page - 1) * perPage, perPage)

    @server.tool(read_only=True)
    def read_channel(channel: str, before: str | None = None, limit: int = SIZE) -> dict[str, Any]:
        """The newest messages first, as Discord's tool gives them."""
        older = [item for item in reversed(ITEMS) if before is None or item["id"] < before]
        found = older[:limit]
        ids = (
            {"oldestMessageId": found[-1]["id"], "newestMessageId": found[0]["id"]} if found else {}
        )
        page = {"limit": limit, "count": len(found), **ids, "hasMore": len(older) > limit}
        return {
            "channel": {"id": channel, "name": "general"},
            "messages": found,
            "pagination": page,
        }

    @server.tool(read_only=True)
    def list_charges(starting_after: str | None = None, limit: int = SIZE) -> dict[str, Any]:
        """`has_more`, and the last id that is here: as Stripe does it."""
        newer = [item for item in ITEMS if starting_after is None or item["id"] > starting_after]
        return {"object": "list", "data": newer[:limit], "has_more": len(newer) > limit}

    @server.tool(read_only=True)
    def customers_list(query: dict[str, Any] | None = None) -> dict[str, Any]:
        """A page of Django REST framework, which names the next one by a link."""
        number = int((query or {}).get("page", 1))
        link = f"http://testserver/customers/?page={number + 1}" if number < 3 else None
        previous = f"http://testserver/customers/?page={number - 1}" if number > 1 else None
        found = window((number - 1) * SIZE)
        return {"count": len(ITEMS), "next": link, "previous": previous, "results": found}

    @server.tool(read_only=True)
    def orders_list(limit: int = SIZE, offset: int = 0) -> dict[str, Any]:
        """A page of Django REST framework with `limit` and `offset` in the link."""
        end = offset + limit
        link = f"http://testserver/orders/?limit={limit}&offset={end}" if end < 25 else None
        return {"count": 25, "next": link, "previous": None, "results": window(offset, limit)}

    @server.tool(read_only=True)
    def list_sealed(cursor: str | None = None) -> Answer[list[dict[str, str]]]:
        """Pages of our own, with a signed cursor."""
        start = 0 if cursor is None else int(CURSORS.decode(cursor, "list_sealed"))
        end = start + SIZE
        more = end < len(ITEMS)
        sealed = CURSORS.encode(end, "list_sealed") if more else None
        page = Page(limit=SIZE, total=len(ITEMS), has_more=more, cursor=sealed)
        return Answer(window(start), page=page, name="items")

    @server.tool(read_only=True, max_bytes=1_024)
    def list_whole(cursor: str | None = None) -> list[dict[str, str]]:
        """More than fits into one answer; the rest is behind a cursor that the tool takes."""
        return ITEMS

    @server.tool(read_only=True, max_bytes=1_024)
    def list_anything() -> list[dict[str, str]]:
        """More than fits into one answer; another tool takes the cursor."""
        return ITEMS


# Questions: elicitation, sampling, and calls that outlive their connection


class Word(msgspec.Struct):
    word: str


def _add_questions(server: Server) -> None:
    """Add tools that ask the client for input."""

    @server.tool
    async def ask(question: str, context: Context) -> str:
        """Ask for a word."""
        said = await context.elicit(question, Word)
        return said.action if said.data is None else f"{question}: {said.data.word}"

    @server.tool
    async def ask_both(context: Context) -> str:
        """Ask for two words at once."""
        said = await context.ask(a=Elicit("a", Word), b=Elicit("b", Word))
        return f"{said['a'].data.word} {said['b'].data.word}"

    @server.tool
    async def detach(seconds: float, context: Context) -> str:
        """Report progress, detach, and report progress again."""
        await context.progress(1)
        await context.detach(seconds)
        await asyncio.sleep(0.05)
        await context.progress(2)
        return "detached"

    @server.tool
    async def sample(context: Context) -> str:
        """Ask a model."""
        return (await context.sample("Say hi")).text


# Changes: lists and resources that change while the server runs


def _add_changes(server: Server) -> None:
    """Add tools that change what the server has, and what clients can subscribe to."""

    @server.tool
    async def echo(word: str, rounds: int = 0) -> str:
        """Return the word after yielding to the loop."""
        for _ in range(rounds):
            await asyncio.sleep(0)
        return word

    @server.tool
    async def change(kinds: list[str]) -> str:
        """Add something and remove it again."""
        for kind in kinds:
            if kind == "tools":
                server.tool(name="extra")(lambda: 1)
                server.remove(server.tools["extra"])
            elif kind == "prompts":
                server.prompt(name="extra")(lambda: "x")
                server.remove(server.prompts["extra"])
            else:
                server.resource("sample://extra")(lambda: "x")
                server.remove(server.resources["sample://extra"])
        return "changed"

    @server.tool
    async def update(uri: str, times: int = 1) -> str:
        """Notify that a resource has changed."""
        for _ in range(times):
            server.updated(uri)
        return "updated"

    @server.tool
    async def update_all(uris: list[str]) -> str:
        """Notify that several resources have changed."""
        for uri in uris:
            server.updated(uri)
        return "updated"

    @server.tool
    async def update_later(uri: str, flag: str) -> str:
        """Update a resource a thousand times after a while, then create the file `flag`."""

        def tell() -> None:
            for _ in range(1_000):
                server.updated(uri)
            Path(flag).touch()

        asyncio.get_running_loop().call_later(0.3, tell)
        return "later"

    @server.tool
    async def many_words(size: int) -> str:
        """A long text."""
        return "x" * size

    @server.tool
    async def census() -> dict[str, int]:
        """Count the tasks and descriptors of this process."""
        return _held_by_this_process()

    @server.prompt
    def greeting() -> str:
        """Something to say."""
        return "Hello"

    @server.resource("sample://{name}", watched=True)
    def thing(name: str) -> str:
        """Something to watch."""
        return name

    @server.resource("sample://still")
    def still() -> str:
        """Something that never changes."""
        return "still"


# Progress: notifications before the result, and what a call knows of its request


def _add_progress(server: Server) -> None:
    """Add tools that report progress, and tools that tell about their request."""

    @server.tool
    async def say_slowly(seconds: float, context: Context) -> str:
        """Report progress before and after a sleep."""
        await context.progress(1)
        await asyncio.sleep(seconds)
        await context.progress(2)
        return "said"

    @server.tool
    async def say(message: str, context: Context) -> str:
        """Report progress with a message."""
        await context.progress(1, total=2, message=message)
        return message

    @server.tool
    async def revision(context: Context) -> str:
        """Return the revision of the client."""
        return context.revision

    @server.tool
    def whence(context: Context) -> str:
        """Return the address of the caller and its Authorization header."""
        sender = context.sender
        shown = sender.fields.get(b"authorization", b"nothing").decode()
        return f"{sender.address} shows {shown}"

    @server.tool
    async def need_sampling(context: Context) -> str:
        """Require a client with sampling."""
        context.require("sampling")
        return "sampled"

    @server.tool
    async def echo_later(word: str) -> str:
        """Return the word after yielding to the loop."""
        await asyncio.sleep(0)
        return word

    @server.tool
    async def census() -> str:
        """Count the tasks, descriptors and kilobytes of this process."""
        return json.dumps({**_held_by_this_process(), "kilobytes": _kilobytes_of_this_process()})

    @server.tool
    async def length(word: str) -> int:
        """Return the length of a word."""
        return len(word)

    @server.tool
    async def keep(secret: str) -> str:
        """Return an argument that must not be logged."""
        return secret


# Display: a tool for each thing that the web page shows

HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    "\x1b[31mred\x1b[0m \u202eevil"
)


BIG = 9007199254740993123


CALLS: list[str] = []


UNBLOCKED = threading.Event()


class Finish(Enum):
    MATTE = "matte"
    GLOSS = "gloss"


@dataclass
class Size:
    width: Annotated[float, Meta(gt=0, le=300, description="Centimetres")]
    height: Annotated[float, Meta(gt=0, le=300)]


@dataclass
class Part:
    colour: Annotated[str, Meta(min_length=3, max_length=20)]
    layers: Annotated[int, Meta(ge=1, le=9)] = 1


@dataclass
class Painting:
    id: int
    title: str
    painter: str
    year: int
    price: float
    sold: bool


@dataclass
class Varnish:
    finish: Finish


def painting(number: int) -> Painting:
    painters = ["Ada Lovelace", "Grace Hopper", "Katherine Johnson", "Mary Somerville"]
    titles = ["Difference engine", "Moth trap", "Orbit by hand", "Spectrum at noon", "Punch cards"]
    return Painting(
        number,
        f"{titles[number % 5]} {number}",
        painters[number % 4],
        1840 + number % 120,
        round(120 + number * 7.5, 2),
        number % 3 == 0,
    )


def _png(width: int, height: int) -> bytes:
    """Return a PNG with a gradient."""
    rows = b"".join(
        b"\0" + b"".join(bytes((15 + x, 110 + y // 2, 102)) for x in range(width))
        for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _pdf() -> bytes:
    """Return a PDF of one page with the text Sketch."""
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 160]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length 45>>stream\nBT /F1 36 Tf 60 70 Td (Sketch) Tj ET          \nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        offsets.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(body)
    return body + (
        b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, start)
    )


@dataclass
class Visitor:
    name: Annotated[str, Meta(min_length=2, max_length=40, description="<b>Who</b> is it?")]
    visits: Annotated[int, Meta(ge=1, le=9)] = 3
    finish: Finish = Finish.GLOSS


def _add_display(server: Server) -> None:
    """Add a tool for each kind of form, result, question and running call."""

    @server.tool(read_only=True, title="Paintings")
    def paintings(limit: int = 20, offset: int = 0) -> Answer[list[Painting]]:
        """Paintings in the catalogue, oldest first.

        Ask for a page at a time; there are 240 of them.
        """
        found = [painting(n) for n in range(offset + 1, min(offset + limit, 240) + 1)]
        more = offset + limit < 240
        page = Page(
            offset=offset,
            limit=limit,
            total=240,
            has_more=more,
            next_offset=offset + limit if more else None,
        )
        return Answer(found, page=page, warnings=["prices are from yesterday"])

    @server.tool(read_only=True)
    def everything(rows: Annotated[int, Meta(ge=0, le=20_000)] = 10_000) -> list[Painting]:
        """Every painting in one result."""
        return [painting(n) for n in range(1, rows + 1)]

    @server.tool
    def commission(
        title: Annotated[
            str, Meta(min_length=3, max_length=60, description="What it is to be called")
        ],
        size: Size,
        finish: Finish,
        due: date,
        copies: Annotated[int, Meta(ge=1, le=50)] = 1,
        signed: bool = True,
        palette: Annotated[list[Part], Meta(max_length=5)] | None = None,
        frame: Size | None = None,
        extra: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Commission a painting: what it shows, how large, and until when."""
        CALLS.append(title)
        return {
            "number": len(CALLS),
            "title": title,
            "size": {"width": size.width, "height": size.height},
            "finish": finish.value,
            "due": due.isoformat(),
            "copies": copies,
        }

    @server.tool(read_only=True)
    def painter(name: str) -> dict[str, Any]:
        """All there is to know about one painter."""
        if name != "ada":
            raise Problem.not_found(f"No painter {name!r}", remediation="try ada")
        return {
            "id": BIG,
            "name": "Ada Lovelace",
            "born": "1815-12-10",
            "address": {"street": "12 St James's Square", "city": "London"},
            "tags": ["engine", "notes"],
            "agent": None,
        }

    @server.tool(destructive=True)
    def discard(id: int) -> Answer[dict[str, Any]]:
        """Throw a painting away."""
        return Answer(
            {"discarded": id},
            message=f"Painting {id} is gone",
            warnings=[Notice("there is no way back", severity="info")],
        )

    @server.tool(read_only=True)
    def hostile() -> list[dict[str, str]]:
        """Rows with markup, scripts and control characters."""
        return [{"name": HOSTILE, "<b>bold</b>": "javascript:alert(1)"}]

    @server.tool(read_only=True)
    def letter() -> str:
        """A text of several lines."""
        return "Dear Grace,\n\nthe moth is back.\n" + HOSTILE + "\n\nAda"

    @server.tool(read_only=True)
    def sketch() -> Answer[dict[str, str]]:
        """A picture and a document."""
        return Answer(
            {"title": "Sketch"},
            blocks=[
                Image(_png(160, 90), "image/png"),
                Embedded("file:///sketch.pdf", _pdf(), "application/pdf"),
                Link("file:///sketch.pdf", "sketch.pdf", "application/pdf"),
            ],
        )

    @server.tool(read_only=True, max_bytes=2_000)
    def negative() -> bytes:
        """A file that fits the limit in the shorter profiles only."""
        return b"x" * 1_480

    @server.tool(read_only=True, max_bytes=4_000)
    def inventory(cursor: str | None = None) -> list[Painting]:
        """More paintings than an answer may have."""
        return [painting(n) for n in range(1, 101)]

    @server.tool
    async def count(steps: int, context: Context) -> str:
        """Count, and report progress."""
        for step in range(steps):
            await context.progress(step + 1, total=steps, message=f"step {step + 1}")
        return f"counted to {steps}"

    @server.tool
    async def varnish(context: Context) -> str:
        """Ask for a finish."""
        answer = await context.elicit("Which <i>finish</i>?", Varnish)
        return f"{answer.data.finish.value if answer.data else 'no'} varnish"

    @server.tool
    async def wait(context: Context) -> str:
        """Wait until the call is cancelled."""
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            CALLS.append("cancelled")
            raise
        return "done"

    @server.tool
    def block() -> str:
        """Block in a thread until `unblock` is called."""
        UNBLOCKED.wait(60)
        return "done"

    @server.tool
    def unblock() -> str:
        """Let `block` return."""
        UNBLOCKED.set()
        return "done"

    @server.tool
    async def interview(context: Context) -> dict[str, Any]:
        """Ask a person, a model, and which folders there are, all at once."""
        answers = await context.ask(
            visitor=Elicit("Who comes?", Visitor),
            advice=Sample("Say <i>something</i> kind", max_tokens=20),
            folders=ListRoots(),
        )
        visitor = answers["visitor"]
        return {
            "action": visitor.action,
            "visitor": visitor.data and f"{visitor.data.name} {visitor.data.visits}",
            "advice": answers["advice"].text,
            "folders": [root.uri for root in answers["folders"]],
        }

    @server.tool
    async def sign_in(context: Context) -> str:
        """Ask for a sign-in on a page, and then for a name."""
        visit = await context.elicit_url("Sign in first", "https://example.com/sign-in?a=<b>")
        if not visit.accepted:
            return f"signed in: {visit.action}"
        name = await context.elicit("Your name?", Visitor)
        return f"signed in: {name.data.name if name.data else name.action}"

    @server.tool(read_only=True)
    def calls() -> list[str]:
        """Return the calls that were executed."""
        return CALLS


# Every feature: all that a client can use, for the official SDK's client

ICON = Icon("https://example.org/icon.png", "image/png", ["48x48"])


PICTURE = b"\x89PNG\r\n"


class CupSize(Enum):
    SMALL_CUP = "s"
    LARGE_CUP = "l"


class Wish(msgspec.Struct):
    drink: Annotated[str, msgspec.Meta(description="What to drink")]
    size: CupSize = CupSize.SMALL_CUP
    cups: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    extras: list[Literal["milk", "sugar"]] = []


MENU = ["coffee", "tea"]


def _add_every_feature(server: Server) -> None:
    """Add at least one tool, prompt, resource and completion of each kind."""

    @server.tool(title="Order a drink", icons=[ICON], meta={"example.org/counter": 3})
    async def order(context: Context) -> str:
        """Ask for a drink."""
        wish = await context.elicit("What would you like?", Wish)
        if not wish.accepted or wish.data is None:
            return wish.action
        return (
            f"{wish.data.cups} {wish.data.drink} {wish.data.size.name} {'+'.join(wish.data.extras)}"
        )

    @server.tool
    async def pay(context: Context) -> str:
        """Ask for a payment on a page."""
        return (await context.elicit_url("Please pay", "https://example.org/pay")).action

    @server.tool
    async def praise(context: Context) -> str:
        """Ask a model for a text."""
        said = await context.sample(
            ["Praise the coffee", Message("Mmh", "assistant"), Image(PICTURE, "image/png")],
            max_tokens=20,
            system="You are a poet.",
            temperature=0.5,
            stop=["."],
            preferences={"hints": [{"name": "poet"}]},
        )
        return f"{said.model}: {said.text}"

    @server.tool
    async def folders(context: Context) -> list[str]:
        """Ask for the roots of the client."""
        return [root.uri for root in await context.roots()]

    @server.tool
    async def greet(context: Context) -> str:
        """Ask for three things at once, and then for one more."""
        said = await context.ask(
            name=Elicit("Your name?", str), blurb=Sample("Greet them"), where=ListRoots()
        )
        again = await context.ask(name=Elicit("And your family name?", str))
        names = f"{said['name'].data} {again['name'].data}"
        return f"{said['blurb'].text}, {names} of {said['where'][0].uri}"

    @server.tool
    async def brew(context: Context) -> str:
        """Report progress, and log messages."""
        await context.log("debug", "grinding")
        await context.progress(1, total=2, message="grinding")
        await context.log("warning", {"beans": 3}, logger="grinder")
        await context.progress(2, total=2, message="brewing")
        return "coffee"

    @server.tool
    async def tray() -> list[str | Image | Audio | Embedded | Link]:
        """Hand out all kinds of things."""
        return [
            "Here you are:",
            Image(PICTURE, "image/png", Annotations(audience=["user"], priority=0.5)),
            Audio(b"RIFF", "audio/wav"),
            "and",
            Embedded("sample://note", "Enjoy", "text/plain"),
            Link("sample://menu", "menu", "text/plain", "What there is"),
        ]

    @server.tool
    async def forever(context: Context) -> str:
        """Ask, and wait for the answer."""
        return (await context.elicit("Are you there?", bool)).action

    @server.tool
    async def shelf(
        region: Annotated[str, Header("Region")], row: Annotated[int, Header("Row")]
    ) -> str:
        """Find a shelf by arguments that HTTP headers repeat."""
        return f"{region} {row}"

    @server.tool
    async def open_counter() -> str:
        """Add a tool, a prompt and a resource."""

        def extra() -> str:
            """Something that was not there before."""
            return "extra"

        server.tool(name="extra")(extra)
        server.prompt(name="extra")(extra)
        server.resource("sample://extra")(extra)
        return "open"

    @server.tool
    def close_counter() -> str:
        """Take it away again, from a thread."""
        server.remove(server.tools["extra"])
        server.remove(server.prompts["extra"])
        server.remove(server.resources["sample://extra"])
        return "closed"

    @server.tool
    def rewrite_menu(dish: str) -> str:
        """Write something on the menu, from a thread."""
        MENU.append(dish)
        server.updated("sample://menu")
        server.updated("sample://orders/7")
        return "written"

    @server.resource(
        "sample://menu",
        title="Menu",
        watched=True,
        fresh_for=2.5,
        is_public=True,
        size=10,
        icons=[ICON],
        annotations=Annotations(audience=["user", "assistant"], priority=1.0),
        meta={"example.org/wall": "north"},
    )
    def menu() -> str:
        """What there is."""
        return "\n".join(MENU)

    @server.resource("sample://logo", mime_type="image/png")
    async def logo() -> bytes:
        """The picture over the door."""
        return PICTURE

    @server.resource("sample://diary")
    async def diary(context: Context) -> str:
        """A resource that asks for a name first."""
        name = await context.elicit("Who wants to read?", str)
        return f"Dear {name.data}"

    @server.resource("sample://box")
    def box() -> list[Embedded]:
        """Several things in one."""
        return [Embedded("sample://box/1", "one", "text/plain"), Embedded("sample://box/2", b"two")]

    @server.resource("sample://orders/{number}", watched=True)
    def one_order(number: int) -> dict[str, Any]:
        """One order."""
        if number > 9:
            raise Problem.not_found(f"No order {number}")
        return {"number": number, "drink": "tea"}

    @server.resource("sample://files/{+path}")
    def file(path: str) -> str:
        """A file."""
        return f"file {path}"

    @server.resource("sample://search{?query,limit}")
    def search(query: str = "", limit: int = 3) -> list[str]:
        """Some of the menu."""
        return [dish for dish in MENU if query in dish][:limit]

    @server.prompt(title="Recommend", icons=[ICON], meta={"example.org/tone": "warm"})
    def recommend(drink: Literal["coffee", "tea"], guest: str = "you", cups: int = 1) -> str:
        """Recommend a drink.

        Args:
            drink: What to recommend
            guest: To whom
        """
        return f"Recommend {cups} {drink} to {guest}"

    @server.prompt
    async def chat(context: Context) -> list[Message | str | Image]:
        """A conversation that begins with a question to the user."""
        topic = await context.elicit("About what?", str)
        return [
            f"Let us talk about {topic.data}",
            Message("Gladly", "assistant"),
            Image(PICTURE, "image/png"),
        ]

    @server.completion("recommend", "guest")
    async def guests(value: str, others: dict[str, str]) -> Completion:
        """Guests who drink this."""
        known = {"coffee": ["ada", "alan"], "tea": ["grace"]}.get(others.get("drink", ""), [])
        return Completion([each for each in known if each.startswith(value)], total=len(known))

    @server.completion("sample://orders/{number}", "number")
    def numbers(value: str) -> list[str]:
        """Numbers of orders: more than fit into one answer."""
        return [str(n) for n in range(1, 200) if str(n).startswith(value)]

    @server.tool
    async def census() -> dict[str, int]:
        """Count the tasks of this process."""
        return {"tasks": len(asyncio.all_tasks())}

    @server.tool
    def refuse(context: Context) -> Answer[str]:
        """Ask from a function that is not async, which is an error."""
        context.elicit("Well?", bool)
        return Answer("never")


LISTS = {"tools", "prompts", "resources"}
SERVERS: dict[str, dict[str, Any]] = {
    "basics": {"basics": True},
    "outcomes": {"outcomes": True},
    "shapes": {"shapes": True},
    "pages": {"pages": True, "read_more": True},
    "interactive": {"questions": True, "changes": True, "changing": LISTS},
    "progress": {"progress": True},
    "display": {
        "display": True,
        "title": "Display",
        "instructions": "Ask for paintings <b>first</b>.",
        "max_bytes": 8_000_000,
    },
    "every_feature": {
        "every_feature": True,
        "title": "Every feature",
        "website_url": "https://example.org",
        "icons": [ICON],
        "page_size": 2,
        "changing": LISTS,
    },
}
"""The servers of this module, by the name that a command gives: arguments of `build`."""


def __getattr__(name: str) -> Server:
    """Build a server of `SERVERS` when it is first used."""
    if name not in SERVERS:
        raise AttributeError(name)
    server = globals()[name] = build(name, **SERVERS[name])
    return server
