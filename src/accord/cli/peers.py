"""One call to somebody else's server."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from accord.cli.patience import Patience, tell_progress
from accord.cli.visible import visible
from accord.connect import Reply, connect

_TOKEN: Final = "accord"  # noqa: S105 - of no secret


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

    async def once() -> Reply:
        async with connect(
            target, headers=headers, revision=revision, timeout=within, on_notification=hear
        ) as peer:
            return await peer.call(tool, arguments, progress_token=_TOKEN)

    def hear(notification: dict[str, Any]) -> None:
        tell_progress(patience, notification)

    with Patience(f"calling {visible(tool)}") as patience:
        return asyncio.run(once())
