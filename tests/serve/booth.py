"""A server that asks and tells of changes: `python -m serve.booth stdio|http <settings>`.

The settings are JSON, for the limits of one edge or the other.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

import msgspec

from accord import Context, Elicit, Server
from accord.serve import stdio
from accord.serve.pipes import take_pipes

server = Server("booth", version="1.0", changing={"tools", "prompts", "resources"})
FD = "/proc/self/fd"
FLAG = Path(tempfile.gettempdir(), f"accord-booth-{os.getuid()}")
"""Is there when `update_later` has been at work."""


class Word(msgspec.Struct):
    word: str


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
async def echo(word: str, rounds: int = 0) -> str:
    """The same word, after others had their turn."""
    for _ in range(rounds):
        await asyncio.sleep(0)
    return word


@server.tool
async def detach(seconds: float, context: Context) -> str:
    """Say something, let the caller go, and say the rest."""
    await context.progress(1)
    await context.detach(seconds)
    await asyncio.sleep(0.05)
    await context.progress(2)
    return "detached"


@server.tool
async def change(kinds: list[str]) -> str:
    """Put something in and take it out again."""
    for kind in kinds:
        if kind == "tools":
            server.tool(name="extra")(lambda: 1)
            server.remove(server.tools["extra"])
        elif kind == "prompts":
            server.prompt(name="extra")(lambda: "x")
            server.remove(server.prompts["extra"])
        else:
            server.resource("booth://extra")(lambda: "x")
            server.remove(server.resources["booth://extra"])
    return "changed"


@server.tool
async def update(uri: str, times: int = 1) -> str:
    """Say that a resource has changed."""
    for _ in range(times):
        server.updated(uri)
    return "updated"


@server.tool
async def update_all(uris: list[str]) -> str:
    """Say that many resources have changed, all at once."""
    for uri in uris:
        server.updated(uri)
    return "updated"


@server.tool
async def update_later(uri: str) -> str:
    """Say that a resource has changed a thousand times, when nobody reads any longer."""

    def tell() -> None:
        for _ in range(1_000):
            server.updated(uri)
        FLAG.touch()

    asyncio.get_running_loop().call_later(0.3, tell)
    return "later"


@server.tool
async def many_words(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool
async def census() -> dict[str, int]:
    """What this process holds."""
    return {"tasks": len(asyncio.all_tasks()), "descriptors": len(os.listdir(FD))}  # noqa: PTH208


@server.prompt
def greeting() -> str:
    """Something to say."""
    return "Hello"


@server.resource("booth://{name}", watched=True)
def thing(name: str) -> str:
    """Something to watch."""
    return name


@server.resource("booth://still")
def still() -> str:
    """Something that never changes."""
    return "still"


def main() -> None:
    way, settings = sys.argv[1], json.loads(sys.argv[2])
    if way == "stdio":
        stdio.serve(server, take_pipes(), stdio.Settings(**settings))
        return
    from accord.serve.http import listen

    listen.serve(
        server,
        listen.Address.parse("127.0.0.1:0"),
        listen.Settings(**settings),
        ready=lambda url: print(f"booth: MCP at {url}", file=sys.stderr),
    )


if __name__ == "__main__":
    from serve import booth  # the server that tools of this module change

    booth.main()
