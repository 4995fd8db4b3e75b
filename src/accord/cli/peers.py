"""One call to somebody else's server."""

import asyncio
import os
import signal
from collections.abc import Mapping
from typing import Any

from accord.connect import Reply, connect


def call(
    target: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    revision: str | None,
    within: float,
) -> Reply:
    """What the server answers. Ctrl-C ends its process first, and then us."""

    async def once() -> Reply:
        async with connect(target, headers=headers, revision=revision, timeout=within) as peer:
            return await peer.call(tool, arguments)

    try:
        return asyncio.run(once())
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise
