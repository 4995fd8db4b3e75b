"""Somebody else's server, asked once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from accord.cli.patience import Patience, tell_progress
from accord.cli.visible import visible
from accord.connect import Peer, Reply, connect

_TOKEN: Final = "accord"  # noqa: S105 - of no secret
_T = TypeVar("_T")


class Offered(NamedTuple):
    """What a server says of itself, and its tools as it lists them."""

    server: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]]


def call(
    target: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    revision: str | None,
    within: float,
) -> Reply:
    """What the server answers. Ctrl-C ends its process first."""

    async def ask(peer: Peer) -> Reply:
        return await peer.call(tool, arguments, progress_token=_TOKEN)

    doing = f"calling {visible(tool)}"
    return _once(doing, target, ask, headers=headers, revision=revision, timeout=within)


def tools(target: str, *, headers: Mapping[str, str], within: float) -> Offered:
    """The tools of a server, all of them."""

    async def ask(peer: Peer) -> Offered:
        return Offered(peer.server, await peer.tools())

    return _once(f"reaching {visible(target)}", target, ask, headers=headers, timeout=within)


def _once(doing: str, target: str, ask: Callable[[Peer], Awaitable[_T]], **how: Any) -> _T:
    """Connect, ask, and leave; whoever waits at a terminal sees what goes on."""

    async def once() -> _T:
        async with connect(target, on_notification=hear, **how) as peer:
            return await ask(peer)

    def hear(notification: dict[str, Any]) -> None:
        tell_progress(patience, notification)

    with Patience(doing) as patience:
        return asyncio.run(once())
