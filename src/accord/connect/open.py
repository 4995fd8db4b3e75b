"""The way in: what a target is, and a connection to it."""

import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from typing import Any, Final

from accord.connect.begin import Era, Plan, begin
from accord.connect.child import Child, Command
from accord.connect.dialogue import Dialogue
from accord.connect.inbox import Consider, Hear, Inbox
from accord.connect.messages import refusal
from accord.connect.peer import Peer
from accord.connect.wire import Wire
from accord.errors import ContractError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_MAX_BYTES: Final = 64 * 1024 * 1024


@asynccontextmanager
async def connect(
    target: str | Sequence[str],
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 - of each request, not of this
    era: Era = "auto",
    revision: str | None = None,
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_notification: Hear | None = None,
    on_request: Consider | None = None,
    capabilities: Mapping[str, Any] | None = None,
    max_bytes: int = _MAX_BYTES,
) -> AsyncIterator[Peer]:
    """A connection to an MCP server, by its URL or by the command line that starts it.

    `timeout` is for each request, in seconds. `era` is found out unless given; a `revision`, by
    its date, decides it. `headers` go with every message to a URL; `cwd` and the whole `env` are
    for a command. `on_notification` hears what comes unasked. `on_request` answers what the server
    asks, now or by `Peer.answer` later, where `capabilities` say that it may ask. No message may
    have more than `max_bytes`. A server that cannot be reached, or that nothing can be agreed
    with, is a PeerError.
    """
    plan = Plan.make(era, revision)
    inbox = Inbox(on_notification, on_request or refusal)
    url = _url(target)
    if url is None:
        if headers:
            raise ContractError("headers are for a URL; a command has an environment")
        open_wire = _by_command(Command(_words(target), cwd, env), inbox, max_bytes)
    else:
        if cwd is not None or env is not None:
            raise ContractError("cwd and env are for a command; a URL has headers")
        open_wire = _by_url(url, headers or {}, inbox, max_bytes)
    dialogue = Dialogue(open_wire, inbox, timeout, capabilities)
    try:
        yield Peer(dialogue, await begin(dialogue, plan))
    finally:
        await dialogue.close()


def _url(target: str | Sequence[str]) -> str | None:
    if not isinstance(target, str):
        return None
    scheme = _SCHEME.match(target)
    if scheme is None:
        return None
    if scheme[1].lower() not in ("http", "https"):
        raise ContractError(f"{scheme[1]}:// is no way to a server: say https:// or a command")
    return target


def _words(target: str | Sequence[str]) -> list[str]:
    try:
        words = shlex.split(target) if isinstance(target, str) else list(target)
    except ValueError as error:
        raise ContractError(f"{target!r} is no command line: {error}") from error
    if not words:
        raise ContractError("the command line is empty")
    return words


def _by_command(command: Command, inbox: Inbox, max_bytes: int) -> Callable[[], Awaitable[Wire]]:
    async def start() -> Wire:
        return await Child.start(command, inbox, max_bytes)

    return start


def _by_url(
    url: str, headers: Mapping[str, str], inbox: Inbox, max_bytes: int
) -> Callable[[], Awaitable[Wire]]:
    async def start() -> Wire:
        from accord.connect.http import Http  # the extra [connect]

        return Http(url, headers, inbox, max_bytes)

    return start
