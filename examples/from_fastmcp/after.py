"""The help desk with Accord: `python after.py` or `accord serve after.py`, over stdio."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import aiosqlite
from pydantic import BaseModel, Field

from accord import Answer, Context, Depends, Message, Problem, Server
from accord.middleware import Call, Next

log = logging.getLogger("desk")


class Ticket(BaseModel):
    id: int
    title: str
    priority: Literal["low", "high"] = "low"
    is_open: bool = True


@dataclass
class Desk:
    db: aiosqlite.Connection
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@asynccontextmanager
async def open_desk(server: Server) -> AsyncIterator[Desk]:
    async with aiosqlite.connect(":memory:") as db:
        db.row_factory = aiosqlite.Row
        await db.execute(
            "CREATE TABLE tickets (id INTEGER PRIMARY KEY, title, priority, is_open DEFAULT 1)"
        )
        yield Desk(db)


async def transaction(ctx: Context[Desk]) -> AsyncIterator[aiosqlite.Connection]:
    db = ctx.state.db
    async with ctx.state.lock:  # calls share the connection
        try:
            yield db
        except BaseException:
            await db.rollback()
            raise
        await db.commit()


Database = Annotated[aiosqlite.Connection, Depends(transaction)]

faq = Server("faq")


@faq.tool(read_only=True)
def search(words: str) -> list[str]:
    """Search the answers to frequent questions."""
    answers = ["Restart the printer", "Reset the password"]
    return [each for each in answers if words.lower() in each.lower()]


server = Server("desk", version="1.0", lifespan=open_desk)
server.include(faq, "faq_")


@server.middleware
async def audit(call: Call, next: Next) -> Answer[Any]:
    begun = time.perf_counter()
    try:
        return await next(call)
    finally:
        log.info("%s: %.3f s", call.name, time.perf_counter() - begun)


@server.tool
async def file_ticket(
    title: Annotated[str, Field(min_length=3, description="The problem in a few words")],
    priority: Literal["low", "high"] = "low",
    *,
    db: Database,
) -> Ticket:
    """File a ticket."""
    done = await db.execute(
        "INSERT INTO tickets (title, priority) VALUES (?, ?) RETURNING *", (title, priority)
    )
    return Ticket.model_validate(dict(await done.fetchone() or {}))


@server.tool(read_only=True)
async def tickets(open_only: bool = True, *, db: Database) -> list[Ticket]:
    """List the tickets, newest first."""
    found = await db.execute_fetchall(
        "SELECT * FROM tickets WHERE is_open >= ? ORDER BY id DESC", (open_only,)
    )
    return [Ticket.model_validate(dict(row)) for row in found]


@server.tool
async def close_tickets(ids: list[int], ctx: Context, db: Database) -> int:
    """Close tickets, all or none; return their number."""
    for done, id in enumerate(ids):
        await ctx.progress(done, len(ids), f"ticket {id}")
        closed = await db.execute("UPDATE tickets SET is_open = 0 WHERE id = ? AND is_open", (id,))
        if closed.rowcount == 0:
            raise Problem.not_found(f"No open ticket {id}")
    await ctx.log("info", f"closed {len(ids)}")
    return len(ids)


@server.resource("desk://tickets/{id}", mime_type="application/json")
async def ticket(id: int, db: Database) -> Ticket:
    """One ticket."""
    found = await db.execute("SELECT * FROM tickets WHERE id = ?", (id,))
    row = await found.fetchone()
    if row is None:
        raise Problem.not_found(f"No ticket {id}")
    return Ticket.model_validate(dict(row))


@server.prompt
def reply(title: str, tone: str = "friendly") -> list[Message]:
    """Draft a reply to the author of a ticket."""
    return [
        Message(f"Reply to the author of the ticket {title!r}, in a {tone} tone."),
        Message("Dear colleague,", role="assistant"),
    ]


if __name__ == "__main__":
    server.run()
