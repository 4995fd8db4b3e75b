"""Starts servers and connects to them, for the tests of this folder."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import wire
from accord.client.messages import Reply
from accord.client.peer import Peer, connect
from commands import ACCORD, PEERS, TESTS
from http_peer import HttpServer

T = TypeVar("T")

SHOP = str(TESTS.parent / "examples/shop.py")
UNWATCHED = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
"""Coverage slows the start of what is not ours."""
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop in debug mode."""
    return asyncio.run(main, debug=True)


def misbehaving(fault: str) -> list[str]:
    """Return the command of a server with a fault."""
    return [sys.executable, str(PEERS / "misbehaving_server.py"), fault]


def with_misbehaving(fault: str, say: Callable[[Peer], Awaitable[T]], **options: Any) -> T:
    """Connect to a misbehaving server, and return the result of `say`."""

    async def main() -> T:
        async with connect(
            misbehaving(fault), **{"env": UNWATCHED, "timeout": 10, **options}
        ) as peer:
            return await say(peer)

    return run(main())


async def do_nothing(peer: Peer) -> None:
    """Do nothing; for connections that fail before."""


def text(reply: Reply) -> str:
    """The text of a call that succeeded."""
    return str(reply.result["content"][0]["text"])


def checked(reply: Reply, peer: Peer, method: str) -> Reply:
    """Check a reply of our server, and return it."""
    assert wire.check(reply.raw, revision=peer.revision, method=method) == reply.message
    assert json.loads(reply.raw) == reply.message
    return reply


def descriptors() -> int:
    """Count the files, pipes and sockets that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def serving_shop(*words: str) -> HttpServer:
    return HttpServer([ACCORD, "serve", SHOP, "--http", "127.0.0.1:0", *words])
