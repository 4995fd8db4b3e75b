"""One call, or one list of tools, of a remote server."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from accord.cli.elicitation import TerminalUser
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, visible
from accord.client import Client, Reply
from accord.errors import PeerError


class Listing(NamedTuple):
    """The information of a server about itself, and its tools as listed."""

    server: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]]


@contextmanager
def hinting(target: Target) -> Iterator[None]:
    """Explain an error of a command whose name looks like an environment variable."""
    try:
        yield
    except PeerError as error:
        if target.name is None or not target.name.isupper():
            raise
        raise PeerError(
            f"{error}; {target.name}= is the name of this target: for a variable write"
            f" 'env {target.word}'"
        ) from error


def call(
    target: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    revision: str | None,
    within: float,
) -> Reply:
    """Return the reply to one call; its questions are asked at the terminal.

    Ctrl-C ends the server's process first.
    """

    async def main() -> Reply:
        async with Client(
            target,
            on_elicit=TerminalUser(line).elicit,
            headers=headers,
            revision=revision,
            timeout=within,
            answer_timeout=None,
        ) as client:
            return await client.call_tool_raw(tool, arguments, on_progress=line.progress)

    with StatusLine(f"calling {visible(tool)}") as line:
        return asyncio.run(main())


def tools(target: str, *, headers: Mapping[str, str], within: float) -> Listing:
    """Return all tools of a server."""

    async def main() -> Listing:
        async with Client(target, headers=headers, timeout=within) as client:
            return Listing(client.server_info, [tool.raw for tool in await client.list_tools()])

    with StatusLine(f"reaching {visible(target)}"):
        return asyncio.run(main())
