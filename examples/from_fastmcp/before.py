"""A help desk with FastMCP: `python before.py` serves it over stdio."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import aiosqlite
import mcp.types as mt
from fastmcp import Context, FastMCP
from fastmcp.dependencies import CurrentContext, Depends
from fastmcp.exceptions import ResourceError, ToolError
from fastmcp.prompts import Message
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from pydantic import BaseModel, Field

log = logging.getLogger("desk")


class Ticket(BaseModel):
    id: int
    title: str
    priority: Literal["low", "high"] = "low"
    is_open: bool = True


@asynccontextmanager
async def open_desk(server: FastMCP[Any]) -> AsyncIterator[dict[str, Any]]:
    async with aiosqlite.connect(":memory:") as db:
        db.row_factory = aiosqlite.Row
        await db.execute(
            "CREATE TABLE tickets (id INTEGER PRIMARY KEY, title, priority, is_open DEFAULT 1)"
        )
        yield {"db": db, "lock": asyncio.Lock()}


@asynccontextmanager
async def transaction(ctx: Context = CurrentContext()) -> AsyncIterator[aiosqlite.Connection]:
    db = ctx.lifespan_context["db"]
    async with ctx.lifespan_context["lock"]:  # calls share the connection
        try:
            yield db
        except BaseException:
            await db.rollback()
            raise
        await db.commit()


class Audit(Middleware):
    async def on_call_tool(
        self,
        context: MiddlewareContext[mt.CallToolRequestParams],
        call_next: CallNext[mt.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        begun = time.perf_counter()
        try:
            return await call_next(context)
        finally:
            log.info("%s: %.3f s", context.message.name, time.perf_counter() - begun)


faq = FastMCP("faq")


@faq.tool(annotations={"readOnlyHint": True})
def search(words: str) -> list[str]:
    """Search the answers to frequent questions."""
    answers = ["Restart the printer", "Reset the password"]
    return [each for each in answers if words.lower() in each.lower()]


mcp = FastMCP("desk", version="1.0", lifespan=open_desk, middleware=[Audit()])
mcp.mount(faq, namespace="faq")


@mcp.tool
async def file_ticket(
    title: Annotated[str, Field(min_length=3, description="The problem in a few words")],
    priority: Literal["low", "high"] = "low",
    db: aiosqlite.Connection = Depends(transaction),
) -> Ticket:
    """File a ticket."""
    done = await db.execute(
        "INSERT INTO tickets (title, priority) VALUES (?, ?) RETURNING *", (title, priority)
    )
    return Ticket.model_validate(dict(await done.fetchone() or {}))


@mcp.tool(annotations={"readOnlyHint": True})
async def tickets(
    open_only: bool = True, db: aiosqlite.Connection = Depends(transaction)
) -> list[Ticket]:
    """List the tickets, newest first."""
    found = await db.execute_fetchall(
        "SELECT * FROM tickets WHERE is_open >= ? ORDER BY id DESC", (open_only,)
    )
    return [Ticket.model_validate(dict(row)) for row in found]


@mcp.tool
async def close_tickets(
    ids: list[int], ctx: Context, db: aiosqlite.Connection = Depends(transaction)
) -> int:
    """Close tickets, all or none; return their number."""
    for done, id in enumerate(ids):
        await ctx.report_progress(done, len(ids), f"ticket {id}")
        closed = await db.execute("UPDATE tickets SET is_open = 0 WHERE id = ? AND is_open", (id,))
        if closed.rowcount == 0:
            raise ToolError(f"No open ticket {id}")
    await ctx.info(f"closed {len(ids)}")
    return len(ids)


@mcp.resource("desk://tickets/{id}", mime_type="application/json")
async def ticket(id: int, db: aiosqlite.Connection = Depends(transaction)) -> str:
    """One ticket."""
    found = await db.execute("SELECT * FROM tickets WHERE id = ?", (id,))
    row = await found.fetchone()
    if row is None:
        raise ResourceError(f"No ticket {id}")
    return Ticket.model_validate(dict(row)).model_dump_json()


@mcp.prompt
def reply(title: str, tone: str = "friendly") -> list[Message]:
    """Draft a reply to the author of a ticket."""
    return [
        Message(f"Reply to the author of the ticket {title!r}, in a {tone} tone."),
        Message("Dear colleague,", role="assistant"),
    ]


if __name__ == "__main__":
    mcp.run(show_banner=False)
