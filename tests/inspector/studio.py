"""A server with one tool for each thing that the page has to show."""

import asyncio
import struct
import threading
import zlib
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any

from msgspec import Meta

from accord import (
    Answer,
    Context,
    Elicit,
    Embedded,
    Image,
    Link,
    ListRoots,
    Notice,
    Page,
    Problem,
    Sample,
    Server,
)

server = Server(
    "studio",
    version="1.0",
    title="Studio",
    instructions="Ask for paintings <b>first</b>.",
    max_bytes=8_000_000,
)

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
    """Everything at once, however much that is."""
    return [painting(n) for n in range(1, rows + 1)]


@server.tool
def commission(
    title: Annotated[str, Meta(min_length=3, max_length=60, description="What it is to be called")],
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
    """Rows that would like to be more than data."""
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


def _png(width: int, height: int) -> bytes:
    """Colours that run into each other."""
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
    """One page that says Sketch."""
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


@server.tool(read_only=True, max_bytes=2_000)
def negative() -> bytes:
    """A file that is just small enough for those who say it in few words."""
    return b"x" * 1_480


@server.tool(read_only=True, max_bytes=4_000)
def inventory(cursor: str | None = None) -> list[Painting]:
    """More paintings than an answer may have."""
    return [painting(n) for n in range(1, 101)]


@server.tool
async def count(steps: int, context: Context) -> str:
    """Count, and say how far it is."""
    for step in range(steps):
        await context.progress(step + 1, total=steps, message=f"step {step + 1}")
    return f"counted to {steps}"


@server.tool
async def varnish(context: Context) -> str:
    """Ask which finish somebody wants."""
    answer = await context.elicit("Which <i>finish</i>?", Varnish)
    return f"{answer.data.finish.value if answer.data else 'no'} varnish"


@server.tool
async def wait(context: Context) -> str:
    """Wait until somebody cancels it."""
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        CALLS.append("cancelled")
        raise
    return "done"


@server.tool
def block() -> str:
    """The same in a thread, until somebody calls `unblock`."""
    UNBLOCKED.wait(60)
    return "done"


@server.tool
def unblock() -> str:
    """Let go of what blocks."""
    UNBLOCKED.set()
    return "done"


@dataclass
class Visitor:
    name: Annotated[str, Meta(min_length=2, max_length=40, description="<b>Who</b> is it?")]
    visits: Annotated[int, Meta(ge=1, le=9)] = 3
    finish: Finish = Finish.GLOSS


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
    """Send somebody to a page, and then ask for their name."""
    visit = await context.elicit_url("Sign in first", "https://example.com/sign-in?a=<b>")
    if not visit.accepted:
        return f"signed in: {visit.action}"
    name = await context.elicit("Your name?", Visitor)
    return f"signed in: {name.data.name if name.data else name.action}"


@server.tool(read_only=True)
def calls() -> list[str]:
    """What was really done."""
    return CALLS
