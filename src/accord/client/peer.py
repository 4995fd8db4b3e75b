"""`connect`, and the `Peer` it yields: an MCP server as its client sees it."""

import asyncio
import logging
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.client.dispatcher import Dispatcher, OnNotification, OnRequest
from accord.client.inprocess import InProcessTransport
from accord.client.messages import (
    ArgumentPath,
    Message,
    Reply,
    Response,
    SessionExpired,
    Transport,
    argument_headers,
    find_header_params,
    mcp_error,
    method_not_found,
    require_seconds,
)
from accord.client.session import (
    Era,
    Negotiated,
    Params,
    Session,
    VersionPreference,
    initialize,
    negotiate,
)
from accord.client.stdio import Command, StdioTransport
from accord.errors import HEADER_MISMATCH, ContractError, PeerError
from accord.server import Server

if TYPE_CHECKING:
    from accord.auth.sign_in import Auth

Target = Server | str | Sequence[str]
"""A server in this process, a URL, or a command line."""

OnPage = Callable[[Mapping[str, Any]], object]

log: logging.Logger = logging.getLogger("accord")

_SESSION_ERRORS: Final = (-32600, -32001)
"""Codes with which servers reject a session that they do not know, beside HTTP 404."""
_MAX_PAGES: Final = 1_000
_MAX_LIST: Final = 16 * 1024 * 1024  # bytes of all pages of tools/list
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
MAX_MESSAGE: Final = 64 * 1024 * 1024  # bytes


class Peer:
    """A connected MCP server. Replies are returned as received, JSON-RPC errors included.

    A PeerError is raised if there is no reply. `within`, in seconds, replaces the connection's
    time limit for one request.
    """

    def __init__(self, session: Session, negotiated: Negotiated) -> None:
        self._session = session
        self._negotiated = negotiated
        self._renew_lock = asyncio.Lock()
        self._header_params: dict[str, dict[ArgumentPath, str]] = {}
        self.session_state: dict[tuple[str, str], Mapping[str, Any]] = {}
        """Params of requests that set up a session, by method and subject; a new one gets them."""

    @property
    def revision(self) -> str:
        """The date of the negotiated MCP revision."""
        return self._negotiated.revision.date

    @property
    def server(self) -> dict[str, Any]:
        """The server's `serverInfo`: `name`, `version` and more; may be empty."""
        return self._negotiated.server

    @property
    def capabilities(self) -> dict[str, Any]:
        """The server's capabilities."""
        return self._negotiated.capabilities

    @property
    def instructions(self) -> str | None:
        """The server's instructions, if it has any."""
        return self._negotiated.instructions

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher of the server's messages."""
        return self._session.dispatcher

    @property
    def messages(self) -> Sequence[Message]:
        """The most recent messages, sent and received, and data that is not one."""
        return self._session.dispatcher.log.messages

    @property
    def notifications(self) -> Sequence[dict[str, Any]]:
        """The notifications of the server among the most recent messages."""
        return self._session.dispatcher.log.notifications

    async def request(
        self,
        method: str,
        params: Params = None,
        *,
        within: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_start: Callable[[int], None] | None = None,
    ) -> Reply:
        """Send any request; `on_start` is called with its id, `headers` are for HTTP."""
        return await self._request(method, params, within, headers, on_start)

    async def notify(self, method: str, params: Params = None) -> None:
        """Send a notification."""
        await self._session.notify(method, params, revision=self._negotiated.revision)

    async def call(
        self,
        tool: str,
        arguments: Params = None,
        *,
        within: float | None = None,
        meta: Params = None,
        answers: Params = None,
        headers: Mapping[str, str] | None = None,
        on_start: Callable[[int], None] | None = None,
    ) -> Reply:
        """Call a tool. With a `progressToken` in `meta` the server may send progress notifications.

        `answers` are `inputResponses` and `requestState`, for a call that is retried; `headers` are
        for HTTP. `on_start` is called with the id of the request.
        """
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}, **(answers or {})}
        if meta:
            params["_meta"] = meta
        reply = await self._call(params, within, headers, on_start)
        if self._is_header_mismatch(reply):  # only tools/list names the headers
            await self.tools()
            if self._header_params.get(tool):
                return await self._call(params, within, headers, on_start)
        return reply

    async def answer(self, request_id: Any, answer: Response) -> None:
        """Respond to a request of the server that `on_request` left open."""
        await self._session.respond(request_id, answer, self._negotiated.revision)

    async def listening(self) -> None:
        """Return once messages of the server that belong to no request can arrive."""
        await self._session.transport.listening()

    async def tools(self) -> list[dict[str, Any]]:
        """Return all tools, from every page of `tools/list`."""
        return await self.entries("tools/list", "tools")

    async def entries(
        self,
        method: str,
        key: str,
        *,
        meta: Params = None,
        within: float | None = None,
        on_page: OnPage = lambda _: None,
    ) -> list[dict[str, Any]]:
        """Return the entries of all pages of a list, within limits for pages and bytes.

        `on_page` is called with the result of each page.
        """
        found: list[dict[str, Any]] = []
        count = size = 0
        pages = self.pages(method, key, meta=meta, within=within, on_page=on_page)
        async for page, page_size in pages:
            count += 1
            size += page_size
            if size > _MAX_LIST:
                raise PeerError(f"{method} has more than {_MAX_LIST} bytes")
            if count > _MAX_PAGES:
                raise PeerError(f"{method} has more than {_MAX_PAGES} pages")
            found += page
        return found

    async def pages(
        self,
        method: str,
        key: str,
        *,
        meta: Params = None,
        within: float | None = None,
        on_page: OnPage = lambda _: None,
    ) -> AsyncIterator[tuple[list[dict[str, Any]], int]]:
        """Yield the pages of a list: the entries and the size of each in bytes."""
        common: dict[str, Any] = {"_meta": meta} if meta else {}
        params = common
        seen: set[str] = set()
        while True:
            reply = await self._request(method, params, within)
            result = _page(reply, method, key)
            entries = result[key]
            on_page(result)
            yield (self._usable(entries) if key == "tools" else entries), len(reply.raw)
            cursor = result.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or cursor in seen:
                raise PeerError(f"{method} repeats the cursor {cursor!r}")
            seen.add(cursor)
            params = {**common, "cursor": cursor}

    async def _request(
        self,
        method: str,
        params: Params,
        within: float | None,
        headers: Mapping[str, str] | None = None,
        on_start: Callable[[int], None] | None = None,
    ) -> Reply:
        negotiated = self._negotiated
        send = partial(
            self._session.request, method, params, within=within, headers=headers, on_start=on_start
        )
        try:
            reply = await send(revision=negotiated.revision)
            if not self._has_lost_session(reply):
                return reply
        except SessionExpired:
            pass
        await self._renew(negotiated)
        return await send(revision=self._negotiated.revision)

    def _has_lost_session(self, reply: Reply) -> bool:
        """True if a server says in a JSON-RPC error that it does not know the session."""
        error = reply.error
        if not isinstance(error, dict) or error.get("code") not in _SESSION_ERRORS:
            return False
        is_in_session = self._session.transport.in_session
        return is_in_session and "session" in str(error.get("message")).lower()

    async def _renew(self, lost: Negotiated) -> None:
        """Begin a new MCP session, once for all requests that failed."""
        async with self._renew_lock:
            if self._negotiated is not lost:
                return
            try:
                self._negotiated = await initialize(self._session, lost.revision)
            except PeerError as error:
                text = f"the session has ended, and no new one began: {error}"
                raise SessionExpired(text) from error
            revision = self._negotiated.revision
            for (method, _), params in list(self.session_state.items()):
                with suppress(PeerError):
                    await self._session.request(method, params, revision=revision)

    async def _call(
        self,
        params: Mapping[str, Any],
        within: float | None,
        given: Mapping[str, str] | None,
        on_start: Callable[[int], None] | None,
    ) -> Reply:
        names, arguments = self._header_params.get(params["name"], {}), params["arguments"]
        if names and isinstance(arguments, msgspec.Raw):
            arguments = msgspec.json.decode(arguments)
        headers = {**(given or {}), **argument_headers(names, arguments)} if names else given
        return await self._request("tools/call", params, within, headers, on_start)

    def _is_header_mismatch(self, reply: Reply) -> bool:
        error = reply.error
        return (
            self._needs_headers and isinstance(error, dict) and error.get("code") == HEADER_MISMATCH
        )

    @property
    def _needs_headers(self) -> bool:
        return self._negotiated.revision.stateless and self._session.transport.has_headers

    def _usable(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Over HTTP, leave out tools whose header annotations are invalid."""
        if not self._needs_headers:
            return tools
        usable = []
        for tool in tools:
            try:
                self._header_params[str(tool.get("name"))] = find_header_params(
                    tool.get("inputSchema")
                )
            except PeerError as error:
                log.warning("tool %.80r is left out: %.200r", tool.get("name"), str(error))
            else:
                usable.append(tool)
        return usable


def _page(reply: Reply, method: str, key: str) -> dict[str, Any]:
    if reply.error is not None:
        raise mcp_error(method, reply.error)
    result = reply.result
    entries = result.get(key) if isinstance(result, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PeerError(f"{method} did not return a list of {key}")
    return dict(result)


@asynccontextmanager
async def connect(
    target: Target,
    *,
    headers: Mapping[str, str] | None = None,
    auth: "Auth | str | None" = None,
    timeout: float = 30.0,  # noqa: ASYNC109 - for each request, not for this call
    era: Era = "auto",
    revision: str | None = None,
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_notification: OnNotification | None = None,
    on_request: OnRequest | None = None,
    capabilities: Mapping[str, Any] | None = None,
    max_bytes: int = MAX_MESSAGE,
    is_guarded: bool = False,
) -> AsyncIterator[Peer]:
    """Connect to an MCP server: in this process, at a URL, or started by a command line.

    `timeout` is for each request, in seconds. `era` is detected unless given; a `revision`, by its
    date, implies it. `headers` are sent with every message to a URL, and the token of `auth`, which
    is one or gets one, such as SignIn(); `cwd` and the whole `env` are for a command.
    `on_notification` receives notifications. `on_request` returns the response to a request of the
    server, or None if `Peer.answer` sends it later; `capabilities` declare which requests are
    supported. `max_bytes` limits each message. The processes of a command that `is_guarded` end
    also if this one is killed. Raises a PeerError if the server cannot be reached or no revision is
    common.
    """
    preference = VersionPreference.from_options(era, revision)
    require_seconds("timeout", timeout)
    _require_target(target)
    tokens = _auth(auth, target, headers or {})
    dispatcher = Dispatcher(on_notification, on_request or method_not_found)
    if isinstance(target, Server):
        if headers or cwd is not None or env is not None:
            raise ContractError("headers, cwd and env must not be given for a Server")
        open_transport = _inprocess_transport(target, dispatcher)
    elif (url := _url(target)) is None:
        if headers:
            raise ContractError("headers must not be given for a command; use env")
        open_transport = _command_transport(
            Command(_split(target), cwd, env, is_guarded), dispatcher, max_bytes
        )
    else:
        if cwd is not None or env is not None:
            raise ContractError("cwd and env must not be given for a URL; use headers")
        open_transport = _http_transport(url, headers or {}, dispatcher, max_bytes, tokens)
    session = Session(open_transport, dispatcher, timeout, capabilities)
    try:
        yield Peer(session, await negotiate(session, preference))
    finally:
        await session.close()


def _url(target: str | Sequence[str]) -> str | None:
    if not isinstance(target, str):
        return None
    scheme = _SCHEME.match(target)
    if scheme is None:
        return None
    if scheme[1].lower() not in ("http", "https"):
        raise ContractError(f"{scheme[1]}:// is not supported; use https:// or a command line")
    return target


def _require_target(target: object) -> None:
    is_command = isinstance(target, Sequence) and all(isinstance(each, str) for each in target)
    if not isinstance(target, Server) and not is_command:
        raise ContractError(
            f"connect to a Server, a URL or a command line of strings, not {target!r}"
        )


def _split(target: str | Sequence[str]) -> list[str]:
    try:
        arguments = shlex.split(target) if isinstance(target, str) else list(target)
    except ValueError as error:
        raise ContractError(f"{target!r} is not a command line: {error}") from error
    if not arguments:
        raise ContractError("the command line is empty")
    return arguments


def _inprocess_transport(
    server: Server, dispatcher: Dispatcher
) -> Callable[[], Awaitable[Transport]]:
    async def start() -> Transport:
        return await InProcessTransport.start(server, dispatcher)

    return start


def _command_transport(
    command: Command, dispatcher: Dispatcher, max_bytes: int
) -> Callable[[], Awaitable[Transport]]:
    async def start() -> Transport:
        return await StdioTransport.start(command, dispatcher, max_bytes)

    return start


def _http_transport(
    url: str,
    headers: Mapping[str, str],
    dispatcher: Dispatcher,
    max_bytes: int,
    auth: "Auth | None",
) -> Callable[[], Awaitable[Transport]]:
    async def start() -> Transport:
        from accord.client.http import HTTPTransport  # the extra [connect]

        if auth is None:
            return HTTPTransport(url, headers, dispatcher, max_bytes)
        from accord.client.authorization import Authorization

        authorization = Authorization(auth, url, dispatcher)
        return HTTPTransport(url, headers, dispatcher, max_bytes, authorization)

    return start


def _auth(given: "Auth | str | None", target: Target, headers: Mapping[str, str]) -> "Auth | None":
    """Return what `auth=` stands for; its module is loaded only then."""
    if given is None:
        return None
    if isinstance(target, Server) or _url(target) is None:
        raise ContractError("auth is for a URL; a Server and a command have no sign-in")
    if any(name.lower() == "authorization" for name in headers):
        raise ContractError("give either auth or the header Authorization")
    from accord.auth.sign_in import as_auth

    return as_auth(given)
