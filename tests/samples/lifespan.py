"""A shop with a lifespan, served in every way; each event is a line of the file `SHOP_LOG`.

`SHOP_KIND` chooses how the lifespan is written, and where it fails.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from accord import Context, Server


class Shop:
    """The state: it knows where it was opened, and notes what happens."""

    def __init__(self) -> None:
        self.is_open = True
        self.thread = threading.current_thread()
        try:
            self.loop: Any = asyncio.get_running_loop()
        except RuntimeError:
            self.loop = None

    def look(self) -> str:
        return "open" if self.is_open else "closed"


def note(event: str) -> None:
    with Path(os.environ["SHOP_LOG"]).open("a") as log:
        log.write(f"{event}\n")


def events() -> list[str]:
    log = Path(os.environ["SHOP_LOG"])
    return log.read_text().splitlines() if log.exists() else []


def close(shop: Shop) -> None:
    shop.is_open = False
    on_loop = True
    if shop.loop is not None:
        on_loop = shop.loop is asyncio.get_running_loop()
    note(f"exit {'same' if on_loop and shop.thread is threading.current_thread() else 'elsewhere'}")


@asynccontextmanager
async def in_task(server: Server) -> AsyncIterator[Shop]:
    note(f"enter {server.identity.name}")
    shop = Shop()
    await asyncio.sleep(0)
    yield shop
    await asyncio.sleep(0)
    close(shop)


@contextmanager
def in_thread(server: Server) -> Iterator[Shop]:
    note(f"enter {server.identity.name}")
    shop = Shop()
    yield shop
    close(shop)


class InClass:
    """A lifespan that is a class."""

    def __init__(self, server: Server) -> None:
        self._name = server.identity.name

    async def __aenter__(self) -> Shop:
        note(f"enter {self._name}")
        self._shop = Shop()
        return self._shop

    async def __aexit__(self, *_: object) -> None:
        close(self._shop)


@asynccontextmanager
async def in_group(server: Server) -> AsyncIterator[Shop]:
    """A task group has to be left in the task that has entered it."""
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(asyncio.sleep(600))
        async with in_task(server) as shop:
            yield shop
        ticking.cancel()


@asynccontextmanager
async def fails(server: Server) -> AsyncIterator[Shop]:
    note("enter")
    raise RuntimeError("no database")
    yield Shop()


@contextmanager
def fails_in_thread(server: Server) -> Iterator[Shop]:
    note("enter")
    raise RuntimeError("no database")
    yield Shop()


@asynccontextmanager
async def hangs(server: Server) -> AsyncIterator[Shop]:
    note("enter")
    try:
        await asyncio.sleep(600)
        yield Shop()
    finally:
        note("cancelled")


@contextmanager
def hangs_in_thread(server: Server) -> Iterator[Shop]:
    note("enter")
    time.sleep(600)
    yield Shop()


@asynccontextmanager
async def exit_fails(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:
        yield shop
    raise RuntimeError("not flushed")


@asynccontextmanager
async def exit_hangs(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:
        yield shop
    await asyncio.sleep(600)


@contextmanager
def exit_hangs_in_thread(server: Server) -> Iterator[Shop]:
    with in_thread(server) as shop:
        yield shop
    time.sleep(600)


@asynccontextmanager
async def exit_ignores_cancellation(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:
        yield shop
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            note("ignored")


@asynccontextmanager
async def exit_blocks_the_loop(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:
        yield shop
    time.sleep(600)  # noqa: ASYNC251 - as careless code does


@asynccontextmanager
async def yields_twice(server: Server) -> AsyncIterator[Shop]:
    note("enter")
    yield Shop()
    yield Shop()


@asynccontextmanager
async def never_yields(server: Server) -> AsyncIterator[Shop]:
    if server.identity.name != "shop":
        yield Shop()


@asynccontextmanager
async def loses_a_task(server: Server) -> AsyncIterator[Shop]:
    """A task of the lifespan fails while it is served."""

    async def fail() -> None:
        while "lose" not in events():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        raise RuntimeError("the feed is gone")

    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
        async with in_task(server) as shop:
            yield shop


@asynccontextmanager
async def adds_tools(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:

        @server.tool
        async def added() -> str:
            """Say if the shop is open."""
            return shop.look()

        yield shop


@asynccontextmanager
async def leaves_a_thread(server: Server) -> AsyncIterator[Shop]:
    async with in_task(server) as shop:
        threading.Thread(target=time.sleep, args=[600]).start()
        yield shop


def make(kind: str) -> Server:
    """Return a new server whose lifespan is the function of this name."""
    server = Server("shop", lifespan=globals()[kind])

    @server.tool
    async def look(ctx: Context[Shop]) -> str:
        """Say if the shop is open, from a task."""
        shop = ctx.state
        if shop.loop is not None and shop.loop is not asyncio.get_running_loop():
            return "on another loop"
        note("look")
        return shop.look()

    @server.tool
    def peek(ctx: Context[Shop]) -> str:
        """Say if the shop is open, from a thread."""
        note("peek")
        return ctx.state.look()

    @server.tool
    async def nap(ctx: Context[Shop], seconds: float) -> str:
        """Say if the shop is open after a while."""
        note("nap")
        try:
            await asyncio.sleep(seconds)
        finally:
            note(f"napped {ctx.state.look()}")
        return ctx.state.look()

    @server.tool
    def nap_in_thread(ctx: Context[Shop], seconds: float) -> str:
        """Say if the shop is open after a while, from a thread."""
        note("nap")
        time.sleep(seconds)
        note(f"napped {ctx.state.look()}")
        return ctx.state.look()

    @server.tool
    async def lose() -> None:
        """Let the task of the lifespan fail."""
        note("lose")

    @server.prompt
    def greet(ctx: Context[Shop]) -> str:
        """Greet."""
        return f"The shop is {ctx.state.look()}"

    @server.resource("shop://door")
    async def door(ctx: Context[Shop]) -> str:
        """Whether the shop is open."""
        return ctx.state.look()

    return server


if "SHOP_KIND" in os.environ:
    server = make(os.environ["SHOP_KIND"])

    from fastapi import FastAPI
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = server.asgi(grace=float(os.environ.get("SHOP_GRACE", "5")))
    starlette = Starlette(routes=[Mount("/", app=app)])
    starlette_with_lifespan = Starlette(routes=[Mount("/", app=app)], lifespan=app.lifespan)
    fastapi = FastAPI()
    fastapi.mount("/", app)
    fastapi_with_lifespan = FastAPI(lifespan=app.lifespan)
    fastapi_with_lifespan.mount("/", app)

    @asynccontextmanager
    async def host(of: FastAPI) -> AsyncIterator[dict[str, str]]:
        async with app.lifespan(of):
            note("host")
            yield {"of": "host"}

    fastapi_with_both = FastAPI(lifespan=host)
    fastapi_with_both.mount("/", app)

if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        server.run()
