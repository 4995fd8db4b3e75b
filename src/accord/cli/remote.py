"""One call, or one list of tools, of a remote server."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from accord.auth.sign_in import SignIn, browser
from accord.cli import targets
from accord.cli.elicitation import TerminalUser
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, visible
from accord.client import Client, Reply
from accord.errors import ContractError, PeerError


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


def require_url(target: str) -> None:
    """Raise unless a target is the URL of a server, which alone has a sign-in."""
    if not targets.is_url(target):
        raise ContractError(f"{visible(target)} is not the URL of a server (https://…)")


def auth_for(
    target: str, headers: Mapping[str, str], line: StatusLine | None = None
) -> SignIn | None:
    """Return the stored sign-in at a URL, unless a header has the token.

    With a status line, which the page's URL interrupts, a new sign-in can be started.
    """
    if not targets.is_url(target) or any(name.lower() == "authorization" for name in headers):
        return None
    if line is None:
        return SignIn(interactive=False)

    def announce(url: str) -> None:
        with line.paused():
            browser.announce(url)

    return SignIn(announce=announce)


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
            auth=auth_for(target, headers),
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
        auth = auth_for(target, headers)
        async with Client(target, headers=headers, auth=auth, timeout=within) as client:
            return Listing(client.server_info, [tool.raw for tool in await client.list_tools()])

    with StatusLine(f"reaching {visible(target)}"):
        return asyncio.run(main())
