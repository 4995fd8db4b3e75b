"""A client's connection to our own HTTP server: requests come off it, and answers go onto it.

It takes the place of uvicorn's protocol, which does for every call what a call does not need: a
scope, an event, two timers, and two writes for one answer. uvicorn is left with the sockets, the
signals and the end.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Final, Protocol
from urllib.parse import unquote

import httptools
from uvicorn.server import ServerState

from accord.serve.flow_control import OutputGate
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Header, Heads
from accord.serve.http.response import TEXT, Response
from accord.serve.http.settings import Settings
from accord.serve.http.visit import CLOSE, MUCH, Visit, head_of

_IDLE: Final = 5.0  # seconds that a connection may wait for its next request
_LINGER: Final = 1.0  # seconds to let go of what a client still sends, so that it hears the answer
_LAST_PATIENCE: Final = 1.0  # seconds for a client that reads nothing, once the server is to end
_MAX_STALL: Final = 0.5  # seconds for a client that reads nothing, while no call can start
_MAX_SLOW: Final = 5.0  # seconds for a client that reads slowly, likewise
_TICK_WHEN_FULL: Final = 0.25  # seconds between looks at the clock, likewise
_NEVER: Final = float("inf")
_HIGH_WATER: Final = 16_384  # unsent bytes of one connection at which it is not written to
_MANY: Final = 16  # requests that came before the ones before them were answered: more wait outside
_LONGEST_HEAD: Final = 65_536  # bytes of a request line and its headers, or of trailers
_TOO_LARGE: Final = Response(431, b"The headers are too large.", content_type=TEXT)
_INVALID: Final = Response(400, b"Invalid HTTP request received.", content_type=TEXT)


class Served(Protocol):
    """What can be served: `App`, or something like it. It is called for its lifespan alone."""

    @property
    def heads(self) -> Heads: ...
    @property
    def gate(self) -> OutputGate: ...
    def answer(self, exchange: Exchange) -> Response | Coroutine[Any, Any, Response | None]: ...
    def stop(self, *, at_once: bool = False) -> None: ...
    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None: ...


class Lines:
    """All connections of one server: what they share, and the clock that ends those that idle."""

    def __init__(self, app: Served, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.patience = settings.body_seconds
        """How long a client may read nothing of what is there for it."""
        self._open: set[Line] = set()
        self._unsent = 0
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

    def count_unsent(self, size: int) -> None:
        """A client has left so many bytes more, or less, unread."""
        self._unsent += size
        self.app.gate.update(self._unsent)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what is late: a look at all of them costs less than a timer for each request.

        While too much is unsent for calls to start, clients that read slowly are late sooner.
        """
        now = loop.time()
        is_full = not self.app.gate.is_open
        for line in [line for line in self._open if line.is_late(now, is_full=is_full)]:
            line.transport.abort()
        tick = min(self._tick, _TICK_WHEN_FULL) if is_full else self._tick
        self._clock = loop.call_later(tick, self._look, loop) if self._open else None


class Line(asyncio.Protocol):
    """One connection. Its methods are called by the transport, by the parser and by uvicorn."""

    transport: asyncio.Transport

    def __init__(self, lines: Lines, state: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.lines = lines
        self.loop = loop
        self.scope: dict[str, Any] = {}
        """Where the client is, as ASGI says it."""
        self.drained: asyncio.Future[None] | None = None
        """To be awaited before anything is written: the client does not read."""
        self._deadline = _NEVER
        """When the client has to have sent the headers of its next request."""
        self._unsent = 0
        """How much the client had not read when we last looked."""
        self._read_at = 0.0
        """When it read some of that."""
        self._counted = 0
        """How much of it counts as unsent, since the client stopped reading."""
        self._stopped_at = 0.0
        """When that was."""
        self._connections: set[Any] = state.connections
        self._tasks: set[asyncio.Task[None]] = state.tasks
        self._parser = httptools.HttpRequestParser(self)
        self._is_deaf = False
        self.is_reading = True
        self._in_head = False
        """Whether a request has begun whose headers are not all there."""
        self._overhead = 0
        """Bytes since the last headers or part of a body: of a head, of trailers, of nothing."""
        self._coming: Visit | None = None
        """The request that is being read, or was read last."""
        self._active: Visit | None = None
        """The one that is being answered."""
        self._waiting: deque[Visit] = deque()
        self._url = self._known_url = b""
        self._path = ""
        self._headers: list[Header] = []

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request."""
        self.transport = transport  # type: ignore[assignment]  # it is one, of whatever class
        self.transport.set_write_buffer_limits(_HIGH_WATER)
        peer = transport.get_extra_info("peername")
        self.scope = {"client": peer if isinstance(peer, tuple) else None}
        self._connections.add(self)
        self._deadline = self.loop.time() + self.lines.settings.body_seconds
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
        self._overhead += len(data)
        if self._is_deaf:
            if self._overhead > self.lines.settings.max_request:
                self.transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to what is not spoken here, nor is what follows
            self._hear_no_more()
        except httptools.HttpParserError:
            self._misunderstand(_INVALID)
        else:
            if self._overhead > _LONGEST_HEAD:
                self._misunderstand(_TOO_LARGE)

    def pause_writing(self) -> None:
        """The client does not read."""
        if self.drained is None:
            self.drained = self.loop.create_future()
            self._stopped_at = self._read_at = self.loop.time()
            self._counted = self._unsent = self.transport.get_write_buffer_size()
            self.lines.count_unsent(self._counted)

    def resume_writing(self) -> None:
        """It does again, or has left."""
        drained, self.drained = self.drained, None
        if drained is not None:
            self.lines.count_unsent(-self._counted)
            drained.set_result(None)

    def is_late(self, now: float, *, is_full: bool) -> bool:
        """Whether the client has not sent, or not read, what it had to by now."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent or not self._unsent:
            self._read_at = now
        self._unsent = unsent
        if not unsent:
            return self._deadline < now
        if is_full and self.drained is not None and now - self._stopped_at > _MAX_SLOW:
            return True
        patience = min(self.lines.patience, _MAX_STALL) if is_full else self.lines.patience
        return now - self._read_at > patience

    # The parser's side

    def on_message_begin(self) -> None:
        """A request begins."""
        self._url = b""
        self._headers = []
        self._in_head = True
        self._deadline = self.loop.time() + self.lines.settings.body_seconds

    def on_url(self, url: bytes) -> None:
        """Where it goes, or a part of that."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers; trailers are let go."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Answer it in its turn."""
        self._in_head = False
        self._overhead = 0
        self._deadline = _NEVER
        if self._url != self._known_url:
            self._path, self._known_url = _path(self._url), self._url
        parser = self._parser
        is_old = parser.get_http_version() != "1.1"
        keep_alive = parser.should_keep_alive() and not is_old
        head = self.lines.app.heads.find(self._headers)
        visit = Visit(self, parser.get_method().decode(), self._path, head, keep_alive, is_old)
        self._coming = visit
        if self._active is None:
            self._start(visit)
        else:
            self._waiting.append(visit)
            self.regulate()

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        assert self._coming is not None
        self._overhead = 0
        self._coming.add(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        assert self._coming is not None
        self._coming.complete()

    def _hear_no_more(self) -> None:
        """Answer what came whole, and close."""
        self._is_deaf = True
        if self._waiting and not self._waiting[-1].is_whole:
            self._waiting.pop()
        last = self._waiting[-1] if self._waiting else self._active
        if last is not None:
            last.keep_alive = False

    def _misunderstand(self, response: Response) -> None:
        """Close, but not before what came whole is answered."""
        self._hear_no_more()
        if self._active is not None and self._active.is_whole:
            return
        if self._active is not None:
            self._active.leave()
        self.transport.write(head_of(response.status, [*response.headers(), CLOSE]) + response.body)
        self._see_off()

    def _see_off(self) -> None:
        """Close, but first let a client that is still sending read why."""
        if self.transport.is_closing():
            return
        self._is_deaf = True
        self._overhead = 0
        self._in_head = False
        self._deadline = self.loop.time() + _LINGER
        self.transport.write_eof()
        self.regulate()

    # uvicorn's side

    def shutdown(self) -> None:
        """The server is about to end."""
        self.lines.patience = min(self.lines.patience, _LAST_PATIENCE)
        if self._active is None:
            self.transport.close()
        else:
            self._active.keep_alive = False

    # The visits' side

    def _start(self, visit: Visit) -> None:
        self._active = visit
        visit.task = self.loop.create_task(visit.run())
        self._tasks.add(visit.task)

    def turn(self, visit: Visit) -> None:
        """A request was answered: it is the turn of the next."""
        self._active = None
        if not visit.keep_alive:
            self._waiting.clear()
            if visit.is_whole and not self._is_deaf:
                self.transport.close()
            else:
                self._see_off()
        elif self._waiting:
            self._start(self._waiting.popleft())
        elif not self._in_head:
            self._deadline = self.loop.time() + _IDLE
        if not self.is_reading:
            self.regulate()

    def forget(self, visit: Visit) -> None:
        """A request's task is about to end."""
        self._tasks.discard(visit.task)

    def regulate(self) -> None:
        """Read only as fast as what was read is taken."""
        unread = 0 if self._coming is None else self._coming.unread
        may_read = unread <= MUCH and len(self._waiting) < _MANY
        if may_read == self.is_reading or self.transport.is_closing():
            return
        self.is_reading = may_read
        if may_read:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()
        if self._in_head:  # which takes no time while we do not read it
            now, allowed = self.loop.time(), self.lines.settings.body_seconds
            self._deadline = now + allowed if may_read else _NEVER


def _path(url: bytes) -> str:
    path: str = httptools.parse_url(url).path.decode("ascii")
    return unquote(path) if "%" in path else path
