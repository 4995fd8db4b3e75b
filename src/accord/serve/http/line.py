"""A client's connection to our own HTTP server: requests come off it, and answers go onto it.

It takes the place of uvicorn's protocol, which does for every call what a call does not need: a
scope, an event, two timers, and two writes for one answer. uvicorn is left with the sockets, the
signals and the end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import httptools
from uvicorn.server import ServerState

from accord.serve.http.app import App
from accord.serve.http.exchange import Exchange, Message
from accord.serve.http.request import Fields, read_fields
from accord.serve.http.response import TEXT, Header, Response
from accord.serve.http.settings import Settings

log = logging.getLogger("accord")

_IDLE: Final = 5.0  # seconds that a connection may wait for its next request
_NEVER: Final = float("inf")
_MUCH: Final = 65_536  # bytes of a body that nobody has read yet; more of it waits outside
_MANY: Final = 16  # requests that came before the ones before them were answered; likewise
_LONGEST_HEAD: Final = 65_536  # bytes of a request line and its headers
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = (b"connection", b"close")
_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_STATUS: Final = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_TOO_LARGE: Final = Response(431, b"The headers are too large.", content_type=TEXT)
_INVALID: Final = Response(400, b"Invalid HTTP request received.", content_type=TEXT)
_FAILED: Final = Response(500, b"Internal Server Error", content_type=TEXT)


class Lines:
    """All connections of one server: what they share, and the clock that ends those that idle."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self._open: set[Line] = set()
        self._tick = min(settings.body_seconds / 4, 1.0)
        self._clock: asyncio.TimerHandle | None = None

    def __call__(self, *, server_state: ServerState, **_: Any) -> "Line":
        """What uvicorn calls for each connection."""
        return Line(self, server_state, asyncio.get_running_loop())

    def add(self, line: "Line") -> None:
        """A connection was made."""
        self._open.add(line)
        if self._clock is None:
            self._clock = line.loop.call_later(self._tick, self._look, line.loop)

    def discard(self, line: "Line") -> None:
        """A connection was lost."""
        self._open.discard(line)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what is late: a look at all of them costs less than a timer for each request."""
        now = loop.time()
        for line in self._open:
            if line.deadline < now:
                line.transport.close()
        self._clock = loop.call_later(self._tick, self._look, loop) if self._open else None


class Line(asyncio.Protocol):
    """One connection. Its methods are called by the transport, by the parser and by uvicorn."""

    transport: asyncio.Transport

    def __init__(self, lines: Lines, state: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.lines = lines
        self.loop = loop
        self.deadline = _NEVER
        """When the client has to have sent the headers of its next request."""
        self.drained: asyncio.Future[None] | None = None
        """To be awaited before anything is written: the client does not read."""
        self._connections: set[Any] = state.connections
        self._tasks: set[asyncio.Task[None]] = state.tasks
        self._parser = httptools.HttpRequestParser(self)
        self._is_deaf = False
        self._is_reading = True
        self._coming: Visit | None = None
        """The request that is being read, or was read last."""
        self._active: Visit | None = None
        """The one that is being answered."""
        self._waiting: deque[Visit] = deque()
        self._url = self._known_url = b""
        self._path = ""
        self._headers: list[Header] = []
        self._head_bytes = 0

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request."""
        self.transport = transport  # type: ignore[assignment]  # it is one, of whatever class
        self._connections.add(self)
        self.deadline = self.loop.time() + self.lines.settings.body_seconds
        self.lines.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell those who wait for the client."""
        self._connections.discard(self)
        self.lines.discard(self)
        self._waiting.clear()
        if self._active is not None:
            self._active.leave()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._is_deaf:
            return
        head = self._headers
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to what is not spoken here, nor is what follows
            self._hear_no_more()
        except httptools.HttpParserError:
            self._misunderstand(_INVALID)
        else:
            is_more = self._headers is head and self.deadline != _NEVER
            self._head_bytes = self._head_bytes + len(data) if is_more else 0
            if self._head_bytes > _LONGEST_HEAD:
                self._misunderstand(_TOO_LARGE)

    def pause_writing(self) -> None:
        """The client does not read."""
        if self.drained is None:
            self.drained = self.loop.create_future()

    def resume_writing(self) -> None:
        """It does again, or has left."""
        drained, self.drained = self.drained, None
        if drained is not None:
            drained.set_result(None)

    # The parser's side

    def on_message_begin(self) -> None:
        """A request begins."""
        self._url = b""
        self._headers = []
        self.deadline = self.loop.time() + self.lines.settings.body_seconds

    def on_url(self, url: bytes) -> None:
        """Where it goes, or a part of that."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Answer it in its turn."""
        self.deadline = _NEVER
        if self._url != self._known_url:
            self._path, self._known_url = _path(self._url), self._url
        parser = self._parser
        keep_alive = parser.should_keep_alive() and parser.get_http_version() != "1.0"
        method = parser.get_method().decode()
        visit = Visit(self, method, self._path, read_fields(self._headers), keep_alive)
        self._coming = visit
        if self._active is None:
            self._start(visit)
        else:
            self._waiting.append(visit)
            self.regulate()

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        assert self._coming is not None
        self._coming.add(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        assert self._coming is not None
        self._coming.complete()

    def _hear_no_more(self) -> None:
        """Answer what was asked, and close."""
        self._is_deaf = True
        self._waiting.clear()
        if self._active is not None:
            self._active.keep_alive = False

    def _misunderstand(self, response: Response) -> None:
        """Close, but not before what came whole is answered."""
        self._hear_no_more()
        if self._active is not None and self._active.is_whole:
            return
        if self._active is not None:
            self._active.leave()
        self.transport.write(_head(response.status, [*response.headers(), _CLOSE]) + response.body)
        self.transport.close()

    # uvicorn's side

    def shutdown(self) -> None:
        """The server is about to end."""
        if self._active is None:
            self.transport.close()
        else:
            self._active.keep_alive = False

    # The visits' side

    def _start(self, visit: "Visit") -> None:
        self._active = visit
        visit.task = self.loop.create_task(visit.run())
        self._tasks.add(visit.task)

    def turn(self, visit: "Visit") -> None:
        """A request was answered: it is the turn of the next."""
        self._active = None
        if not visit.keep_alive:
            self._waiting.clear()
            self.transport.close()
        elif self._waiting:
            self._start(self._waiting.popleft())
        elif self.deadline == _NEVER:  # no other request has begun
            self.deadline = self.loop.time() + _IDLE
        if not self._is_reading:
            self.regulate()

    def forget(self, visit: "Visit") -> None:
        """A request's task is about to end."""
        self._tasks.discard(visit.task)

    def regulate(self) -> None:
        """Read only as fast as what was read is taken."""
        unread = 0 if self._coming is None else self._coming.unread
        may_read = unread <= _MUCH and len(self._waiting) < _MANY
        if may_read == self._is_reading or self.transport.is_closing():
            return
        self._is_reading = may_read
        if may_read:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()


class Visit:
    """One request on a line, and the way to answer it; ASGI's, for all that is not usual."""

    __slots__ = (
        *("_expects", "_fields", "_has_begun", "_is_gone", "_is_over", "_is_told", "_line"),
        *("_method", "_news", "_parts", "_path", "is_whole", "keep_alive", "task", "unread"),
    )

    task: "asyncio.Task[None]"

    def __init__(
        self, line: Line, method: str, path: str, fields: Fields, keep_alive: bool
    ) -> None:
        self._line = line
        self._method = method
        self._path = path
        self._fields = fields
        self._expects = fields.get(b"expect", b"").lower() == b"100-continue"
        self._parts: list[bytes] = []
        self._news: asyncio.Future[None] | None = None
        self._is_told = False
        """Whether the app has all of the body."""
        self._has_begun = False
        """Whether a stream has been begun as the answer."""
        self._is_over = False
        self._is_gone = False
        self.keep_alive = keep_alive
        self.is_whole = False
        self.unread = 0

    def add(self, body: bytes) -> None:
        """More of the body is there."""
        if not self._is_over:
            self._parts.append(body)
            self.unread += len(body)
            if self.unread > _MUCH:
                self._line.regulate()
            self._tell()

    def complete(self) -> None:
        """All of the body is there."""
        self.is_whole = True
        self._tell()

    def leave(self) -> None:
        """The client has left."""
        self._is_gone = True
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def run(self) -> None:
        """Have the app answer."""
        line = self._line
        try:
            response = await line.lines.app.answer(self._exchange())
            if response is not None:
                if line.drained is not None:
                    await asyncio.shield(line.drained)
                self._write(response)
        except Exception:
            log.exception("A request failed")
            self._fail()
        finally:
            line.forget(self)
            if not self._is_over:  # and never will be
                self._end()

    def _fail(self) -> None:
        self.keep_alive = False
        if not self._has_begun:
            self._write(_FAILED)

    def _exchange(self) -> Exchange:
        body = self._take_parts() if self.is_whole and not self._is_gone else None
        settings = self._line.lines.settings
        return Exchange(
            self._method, self._path, self._fields, self.receive, self.send, settings, body
        )

    def _take_parts(self) -> bytes:
        body = b"".join(self._parts)
        self._parts.clear()
        self._is_told = self.is_whole
        self.unread = 0
        return body

    def _write(self, response: Response) -> None:
        """Answer with one write."""
        if self._is_gone:
            return
        if self._expects and not self.is_whole:  # who knows whether the body is still to come
            self.keep_alive = False
        headers = response.headers()
        if not self.keep_alive and _CLOSE not in headers:
            headers.append(_CLOSE)
        self.keep_alive = _CLOSE not in headers
        head = _head(response.status, headers)
        self._line.transport.write(head if self._method == "HEAD" else head + response.body)
        self._end()

    def _end(self) -> None:
        self._is_over = True
        self._parts.clear()
        self.unread = 0
        self._tell()
        self._line.turn(self)

    async def receive(self) -> Message:
        """What comes next: a part of the body, or that the client has left."""
        if self._expects and not self.is_whole and not self._is_gone:
            self._expects = False
            self._line.transport.write(_CONTINUE)
        while not (self._is_gone or self._is_over):
            if self._parts or (self.is_whole and not self._is_told):
                body = self._take_parts()
                self._line.regulate()
                return {"type": "http.request", "body": body, "more_body": not self.is_whole}
            if self._news is None:
                self._news = self._line.loop.create_future()
            await self._news
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of a stream."""
        line = self._line
        if line.drained is not None:
            await asyncio.shield(line.drained)
        if self._is_gone:
            return
        if message["type"] == "http.response.start":
            self._has_begun = True
            close = () if self.keep_alive else (_CLOSE,)
            headers = (*message["headers"], _CHUNKED, *close)
            line.transport.write(_head(message["status"], headers))
        elif message.get("more_body", False):
            line.transport.write(b"%x\r\n%b\r\n" % (len(message["body"]), message["body"]))
        else:
            line.transport.write(b"0\r\n\r\n")
            self._end()


def _path(url: bytes) -> str:
    path: str = httptools.parse_url(url).path.decode("ascii")
    return unquote(path) if "%" in path else path


def _head(status: int, headers: Iterable[Header]) -> bytes:
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"".join([_STATUS[status], *lines, b"\r\n"])
