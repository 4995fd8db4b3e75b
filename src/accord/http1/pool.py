"""Requests over connections that are kept for reuse."""

import asyncio
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from accord.errors import ContractError
from accord.http1.connection import Connection, Response
from accord.http1.dial import dial
from accord.http1.errors import ConnectFailed, ConnectionLost, HTTPError, InvalidURL
from accord.http1.proxies import Proxies
from accord.http1.tls import system_trust
from accord.http1.url import URL

IDLE_SECONDS: Final = 4.0
"""How long a connection is kept: less than the 5 s after which uvicorn and Node close it."""
MAX_IDLE: Final = 10
"""Maximum number of idle connections to one origin."""
_CLOSE_SECONDS: Final = 1.0  # for the event loop to close what was aborted
_METHOD: Final = re.compile(r"[A-Z]+")
_LINES: Final = re.compile(r"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: (?:[!-~](?:[\t -~]*[!-~])?)?\r\n)*")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_OURS: Final = frozenset({"content-length", "transfer-encoding", "connection", "upgrade"})
_KEEP_ALIVE: Final = re.compile(r"\btimeout=(\d{1,6})\b")


class Complete(msgspec.Struct, frozen=True):
    """A whole response, of whatever status."""

    status: int
    headers: Mapping[str, str]
    """The headers, by lower-case names."""
    body: bytes


class Pool:
    """Connections of one event loop: each for one request at a time, idle ones kept for reuse."""

    def __init__(
        self,
        *,
        tls: Callable[[], ssl.SSLContext] = system_trust,
        proxies: Proxies | None = None,
        accepts: Callable[[str], bool] | None = None,
        max_idle: int = MAX_IDLE,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._tls = tls
        self._proxies = Proxies.of_environment() if proxies is None else proxies
        self._accepts = accepts
        self._max_idle = max_idle
        self._idle_seconds = idle_seconds
        self._idle: dict[tuple[str, str, int], list[Connection]] = {}
        self._open: set[Connection] = set()
        self._all_ended = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def open(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        is_safe: bool = False,
    ) -> Response:
        """Send a request and return its response, once its head is here; the caller closes it.

        A kept connection may end just when a request is sent on it. The request is then sent again
        if none of it was sent before, or if it is safe to repeat: by its method or `is_safe`.
        """
        if url.scheme not in ("http", "https"):
            raise InvalidURL("the URL is not an http(s) one")
        proxy = self._proxies.find(url)
        head = encode_head(method, url, headers, body, proxy if not url.is_tls else None)
        connection = self._take_idle(url.origin)
        if connection is not None:
            is_sent = connection.send(method, head, body or b"")
            try:
                if is_sent:
                    return await self._receive(connection, url)
            except ConnectionLost:
                if connection.has_begun or not (is_safe or method in _SAFE):
                    raise
        connection = await self._connect(url, proxy)
        if not connection.send(method, head, body or b""):
            connection.abort()
            raise ConnectionLost("the server closed the connection at once")
        return await self._receive(connection, url)

    async def close(self) -> None:
        """Close every connection, also of responses that are still being read."""
        self._is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._idle.clear()
        for connection in self._open:
            connection.abort()
        if self._open:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._all_ended.wait()

    @property
    def idle_count(self) -> int:
        """The number of idle connections."""
        return sum(map(len, self._idle.values()))

    async def _connect(self, url: URL, proxy: URL | None) -> Connection:
        connection = Connection(self._forget)
        await dial(url, proxy, connection, self._tls)
        if proxy is None and self._accepts is not None:
            self._require_accepted(connection)
        if connection.is_open:
            self._open.add(connection)
        if self._is_closed:
            connection.abort()
            raise HTTPError("this client is closed")
        return connection

    def _require_accepted(self, connection: Connection) -> None:
        """Close a connection to an address that is not accepted, before anything is sent."""
        assert self._accepts is not None
        address = connection.transport.get_extra_info("peername")
        if address is None or not self._accepts(address[0]):
            connection.abort()
            raise ConnectFailed("its address is not allowed")

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if self._is_closed and not self._open:
            self._all_ended.set()

    async def _receive(self, connection: Connection, url: URL) -> Response:
        parser = await connection.receive_head()
        return Response(connection, parser, lambda ended: self._release(ended, url, parser.headers))

    # Idle connections

    def _take_idle(self, origin: tuple[str, str, int]) -> Connection | None:
        """Return the connection used last that is still usable."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    def _release(self, connection: Connection, url: URL, headers: Mapping[str, str]) -> None:
        if not connection.finish():
            return
        idle = self._idle.setdefault(url.origin, [])
        if self._is_closed or len(idle) >= self._max_idle:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_until = loop.time() + self._idle_limit(headers)
        idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._idle_seconds, self._sweep)

    def _idle_limit(self, headers: Mapping[str, str]) -> float:
        stated = _KEEP_ALIVE.search(headers.get("keep-alive", ""))
        return min(self._idle_seconds, int(stated[1]) - 1) if stated else self._idle_seconds

    def _sweep(self) -> None:
        """Close the connections that have been idle for too long."""
        for origin, idle in list(self._idle.items()):
            kept = [connection for connection in idle if connection.is_usable]
            for connection in set(idle).difference(kept):
                connection.abort()
            self._idle[origin] = kept
            if not kept:
                del self._idle[origin]
        self._sweeper = None
        if self._idle:
            loop = asyncio.get_running_loop()
            self._sweeper = loop.call_later(self._idle_seconds / 2, self._sweep)


async def fetch(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    seconds: float,
    limit: int,
    tls: Callable[[], ssl.SSLContext] = system_trust,
    accepts: Callable[[str], bool] | None = None,
) -> Complete:
    """Send one request on a connection of its own, and return the whole response.

    `accepts` is asked about the address that a connection without a proxy leads to, before anything
    is sent. A redirect is returned. Raises TimeoutError after `seconds` for everything, from the
    lookup of the name to the last byte; TooLarge if the body has more than `limit` bytes.
    """
    pool = Pool(tls=tls, accepts=accepts)
    try:
        async with asyncio.timeout(seconds):
            response = await pool.open(method, URL.parse(url), headers, body)
            return Complete(response.status, response.headers, await response.read(limit))
    finally:
        await pool.close()


def encode_head(
    method: str,
    url: URL,
    headers: Mapping[str, str],
    body: bytes | None = None,
    proxy: URL | None = None,
) -> bytes:
    """Encode the head of a request; raise ContractError if a header is invalid.

    Header names are sent in lower case. With a proxy the target is the whole URL.
    """
    fields = {name.lower(): value for name, value in headers.items()}
    if not _METHOD.fullmatch(method) or not _OURS.isdisjoint(fields):
        raise ContractError("the headers are invalid: the connection and its framing are not yours")
    fields = {"host": url.host_header, "accept-encoding": "identity", **fields}
    if url.credentials is not None:
        fields.setdefault("authorization", url.credentials)
    if body is not None:
        fields["content-length"] = str(len(body))
    target = url.target
    if proxy is not None:
        target = f"{url.scheme}://{url.host_header}{target}"
        if proxy.credentials is not None:
            fields["proxy-authorization"] = proxy.credentials
    lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
    if not _LINES.fullmatch(lines) or lines.count("\n") != len(fields):
        raise ContractError(f"the headers are invalid: {_invalid(fields)} must be printable ASCII")
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


def _invalid(fields: Mapping[str, str]) -> str:
    wrong = (name for name, value in fields.items() if not _LINES.fullmatch(f"{name}: {value}\r\n"))
    name = next(wrong, "a value")
    return f"the value of {name!r}" if name.isascii() and name.isprintable() else "a name"
