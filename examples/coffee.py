"""A coffee shop: `accord call coffee.py order '{"order": {"drink": "mocha", "cups": 2}}'`."""

import os
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, computed_field
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from accord import Answer, Context, Depends, Image, Problem, Server
from accord.middleware import Call, Next

PRICES = {"espresso": 2.5, "mocha": 4.0}


class Order(BaseModel):
    drink: Literal["espresso", "mocha"]
    cups: int = Field(default=1, ge=1, le=12)


class Receipt(Order):
    id: int

    @computed_field
    def total(self) -> float:
        return self.cups * PRICES[self.drink]


@asynccontextmanager
async def open_shop(server: Server) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ.get('COFFEE_DB', 'coffee.db')}")
    try:
        async with engine.begin() as db:
            await db.execute(
                text("CREATE TABLE IF NOT EXISTS sold (id INTEGER PRIMARY KEY, drink, cups)")
            )
        yield engine
    finally:
        await engine.dispose()


server = Server("coffee", version="1.0", lifespan=open_shop)


async def transaction(ctx: Context[AsyncEngine]) -> AsyncIterator[AsyncConnection]:
    async with ctx.state.begin() as db:  # commits if the call succeeds
        yield db


Database = Annotated[AsyncConnection, Depends(transaction)]


@server.middleware
async def closing_time(call: Call, next: Next) -> Answer[Any]:
    if call.name == "order" and "COFFEE_CLOSED" in os.environ:
        raise Problem.unavailable("The shop is closed", remediation="come back tomorrow")
    return await next(call)


@server.tool
async def order(order: Order, ctx: Context, db: Database) -> Receipt:
    """Order a drink."""
    if order.cups > 4:
        answer = await ctx.elicit(f"{order.cups} cups of {order.drink}, really?", bool)
        if not answer.data:
            raise Problem.conflict("Nothing was ordered")
    for cup in range(order.cups):
        await ctx.progress(cup + 1, total=order.cups, message=f"brewing {order.drink}")
    sold = await db.execute(
        text("INSERT INTO sold (drink, cups) VALUES (:drink, :cups) RETURNING id"), dict(order)
    )
    return Receipt(id=sold.scalar_one(), **dict(order))


@server.tool(read_only=True)
async def chart(db: Database) -> Image:
    """Draw the cups sold of each drink as a bar."""
    found = await db.execute(text("SELECT drink, sum(cups) FROM sold GROUP BY drink"))
    cups = {row.drink: row[1] for row in found}
    rows = [bytes(255 * (x >= cups.get(drink, 0)) for x in range(100)) for drink in PRICES]
    return Image(png([row for row in rows for _ in range(20)]), "image/png")


def png(rows: list[bytes]) -> bytes:
    """Return rows of grey pixels as a PNG file."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = {b"IHDR": header, b"IDAT": pixels, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )
