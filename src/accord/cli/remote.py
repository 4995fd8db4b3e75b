"""One call, or one list of tools, of a remote server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from accord.cli.terminal import StatusLine, show_progress, visible
from accord.client.messages import Reply
from accord.client.peer import Peer, connect

_TOKEN: Final = "accord"  # noqa: S105 - not a secret
_T = TypeVar("_T")


class Listing(NamedTuple):
    """The information of a server about itself, and its tools as listed."""

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
    """Return the reply to one call. Ctrl-C ends the server's process first."""

    async def request(peer: Peer) -> Reply:
        return await peer.call(tool, arguments, meta={"progressToken": _TOKEN})

    activity = f"calling {visible(tool)}"
    return _with_peer(activity, target, request, headers=headers, revision=revision, timeout=within)


def tools(target: str, *, headers: Mapping[str, str], within: float) -> Listing:
    """Return all tools of a server."""

    async def request(peer: Peer) -> Listing:
        return Listing(peer.server, await peer.tools())

    return _with_peer(
        f"reaching {visible(target)}", target, request, headers=headers, timeout=within
    )


def _with_peer(
    activity: str, target: str, request: Callable[[Peer], Awaitable[_T]], **options: Any
) -> _T:
    """Connect, send one request and disconnect, with a status line."""

    async def main() -> _T:
        async with connect(target, on_notification=on_notification, **options) as peer:
            return await request(peer)

    def on_notification(notification: dict[str, Any]) -> None:
        show_progress(line, notification)

    with StatusLine(activity) as line:
        return asyncio.run(main())
