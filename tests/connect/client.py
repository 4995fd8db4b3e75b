"""Starts servers and connects to them, for the tests of this folder."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import wire
from accord.connect import Peer, Reply, connect
from commands import ACCORD
from http_peer import HttpServer

T = TypeVar("T")

HERE = Path(__file__).parent
SHOP = str(HERE.parents[1] / "examples/shop.py")
UNWATCHED = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
"""Coverage slows the start of what is not ours."""
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run something in a loop that complains about what it would otherwise forgive."""
    return asyncio.run(main, debug=True)


def rogue(habit: str) -> list[str]:
    return [sys.executable, str(HERE / "rogue.py"), habit]


def with_rogue(habit: str, say: Callable[[Peer], Awaitable[T]], **options: Any) -> T:
    """Connect to a rogue, say something, and give back what came of it."""

    async def main() -> T:
        async with connect(rogue(habit), **{"env": UNWATCHED, "timeout": 10, **options}) as peer:
            return await say(peer)

    return run(main())


async def do_nothing(peer: Peer) -> None:
    """For those who do not get this far."""


def text(reply: Reply) -> str:
    """The text of a call that succeeded."""
    return str(reply.result["content"][0]["text"])


def checked(reply: Reply, peer: Peer, method: str) -> Reply:
    """A reply of our own server, that the referee has seen."""
    assert wire.check(reply.raw, revision=peer.revision, method=method) == reply.message
    assert json.loads(reply.raw) == reply.message
    return reply


def descriptors() -> int:
    """How many files, pipes and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def serving_shop(*words: str) -> HttpServer:
    return HttpServer([ACCORD, "serve", SHOP, "--http", "127.0.0.1:0", *words])
