"""A server whose tools take long, ask, fail and count how often they ran."""

import asyncio
import threading
from collections import Counter
from typing import Annotated, Any

import msgspec

from accord import Context, Elicit, Problem, Server


class Agreement(msgspec.Struct):
    ok: bool


class Name(msgspec.Struct):
    name: str


class Shop:
    """A server, and what its tools wait for and have done; replicas may share the latter."""

    def __init__(
        self, store: str = "memory", *, like: "Shop | None" = None, **settings: Any
    ) -> None:
        self.runs: Counter[str] = Counter() if like is None else like.runs
        self.ended: Counter[str] = Counter() if like is None else like.ended
        self.gate: threading.Event = threading.Event() if like is None else like.gate
        """Lets `wait` and `block` go on."""
        self.server = Server("shop", key=b"k" * 32)
        self.server.tasks(**{"store": store, "lease": 0.6, **settings})
        add_tools(self)

    async def opened(self) -> None:
        """Wait for the gate."""
        while not self.gate.is_set():  # noqa: ASYNC110 - tools in threads wait for it too
            await asyncio.sleep(0.01)


def add_tools(shop: Shop) -> None:  # noqa: C901 - many small functions
    """Add the tools."""
    server = shop.server

    @server.tool(task=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def plain(a: int) -> int:
        """Answer at once, always."""
        return a

    @server.tool(task=True)
    async def long(size: int) -> str:
        """Return a text of so many characters."""
        return "x" * size

    @server.tool(task=True)
    async def wait(ctx: Context, status: str = "waiting") -> str:
        """Wait for the gate."""
        shop.runs["wait"] += 1
        ctx.status(status)
        try:
            await shop.opened()
        except asyncio.CancelledError:
            shop.ended["cancelled"] += 1
            raise
        return "done"

    @server.tool(task=True, restartable=True)
    async def again(ctx: Context, ask: bool = False) -> str:
        """Wait for the gate; may run again."""
        shop.runs["again"] += 1
        name = "nobody"
        if ask:
            answer = await ctx.elicit("Your name?", Name)
            name = answer.data.name if answer.data else "nobody"
        await shop.opened()
        return f"run {shop.runs['again']} for {name} by {ctx.caller_key}"

    @server.tool(task=True)
    def block(ctx: Context) -> str:
        """Wait for the gate in a thread."""
        shop.runs["block"] += 1
        ctx.status("in a thread")
        shop.gate.wait(10)
        return "cancelled" if ctx.cancelled else "done"

    @server.tool(task=True)
    async def steps(ctx: Context) -> str:
        """Tell how far it has come."""
        await ctx.progress(12, 40, "reading")
        await asyncio.sleep(0.6)
        await ctx.log("debug", "not for clients")
        await ctx.log("info", "writing")
        await asyncio.sleep(0.6)
        await ctx.log("info", {"rows": 40})
        await asyncio.sleep(0.6)
        return "done"

    @server.tool(task=True)
    async def confirm(ctx: Context) -> str:
        """Ask twice, one after the other."""
        first = await ctx.elicit("Sure?", Agreement)
        second = await ctx.elicit("Really?", Agreement)
        return f"{first.action} {second.action}"

    @server.tool(task=True)
    async def both(ctx: Context) -> str:
        """Ask two questions at once."""
        found = await ctx.ask(name=Elicit("Name?", Name), sure=Elicit("Sure?", Agreement))
        return f"{found['name'].data.name} {found['sure'].data.ok}"

    @server.tool(task=True)
    async def sampling(ctx: Context) -> str:
        """Ask for what few clients have."""
        return (await ctx.sample("hello")).text

    @server.tool(task=True)
    async def faulty() -> str:
        """Fail, as tools do."""
        raise Problem.not_found("No such thing")

    @server.tool(task=True)
    async def buggy() -> str:
        """Fail in a way that nobody should see."""
        raise RuntimeError("secret")

    @server.tool(task="auto", after=0.2)
    async def soon(ctx: Context, seconds: float, ask: bool = False) -> str:
        """Take some seconds, after a question if wanted."""
        name = ""
        if ask:
            name = (await ctx.ask(name=Elicit("Name?", Name)))["name"].data.name
        await asyncio.sleep(seconds)
        ctx.status("late")
        return f"slept {seconds:g} {name}".strip()

    @server.tool(task="auto", after=0.1)
    async def late_question(ctx: Context) -> str:
        """Ask once it is a task."""
        await asyncio.sleep(0.3)
        return str((await ctx.elicit("Sure?", Agreement)).action)

    @server.tool(task="required")
    async def required(size: Annotated[int, msgspec.Meta(ge=1)] = 1) -> str:
        """Be a task or nothing."""
        return "x" * size
