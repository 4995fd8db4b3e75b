"""HTTP connections of `accord serve --http`: an asyncio protocol for uvicorn.

It takes the place of uvicorn's protocol, which does for every call what a call does not need: a
scope, an event, two timers, and two writes for one answer. uvicorn is left with the sockets, the
signals and the end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol
from urllib.parse import unquote

import httptools
from uvicorn.server import ServerState

from accord.serve.flow_control import OutputGate
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Header, Heads
from accord.serve.http.request_cycle import (
    BODY_HIGH_WATER,
    CLOSE,
    Answering,
    RequestCycle,
    head_of,
)
from accord.serve.http.response import TEXT, Response
from accord.serve.http.settings import Settings

log: logging.Logger = logging.getLogger("accord")

_IDLE: Final = 5.0  # seconds that a connection may wait for its next request
_LINGER: Final = 1.0  # seconds to let go of what a client still sends, so that it hears the answer
_SHUTDOWN_STALL: Final = 1.0  # seconds for a client that reads nothing, once the server is to end
_MAX_STALL: Final = 0.5  # seconds for a client that reads nothing, while no call can start
_MAX_SLOW: Final = 5.0  # seconds for a client that reads slowly, likewise
_TICK_WHEN_FULL: Final = 0.25  # seconds between looks at the clock, likewise
_NEVER: Final = float("inf")
_HIGH_WATER: Final = 16_384  # unsent bytes of one connection at which it is not written to
_MAX_PIPELINED: Final = 16  # requests of one connection that wait for the ones before them
_MAX_HEAD: Final = 65_536  # bytes of a request line and its headers, or of trailers
_TOO_LARGE: Final = Response(431, b"The headers are too large.", content_type=TEXT)
_INVALID: Final = Response(400, b"Invalid HTTP request received.", content_type=TEXT)


class HTTPApp(Protocol):
    """The app that answers requests; uvicorn calls it for its lifespan only."""

    @property
    def heads(self) -> Heads: ...
    @property
    def gate(self) -> OutputGate: ...
    def answer(self, exchange: Exchange) -> Response | Coroutine[Any, Any, Response | None]: ...
    @property
    def has_lifespan(self) -> bool: ...
    async def start(self) -> None: ...
    def drain(self) -> None: ...
    def stop(self, *, at_once: bool = False) -> None: ...
    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None: ...


class Connections:
    """All connections of one server, and the timer that closes those that are late."""

    def __init__(self, app: HTTPApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.max_stall: float = settings.body_seconds
        """Seconds that a client may read nothing while output waits for it."""
        self.is_draining: bool = False
        """True if this process ends while others go on: no connection is kept for more requests."""
        self.on_count: Callable[[int], None] | None = None
        """Called with the number of open connections when it changes."""
        self._open: set[HTTPConnection] = set()
        self._unsent = 0
        self._interval = min(settings.body_seconds / 4, 1.0)
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, *, server_state: ServerState, **_: Any) -> "HTTPConnection":
        """Create the protocol of a new connection, for uvicorn."""
        return HTTPConnection(self, server_state, asyncio.get_running_loop())

    def drain(self) -> None:
        """Close each connection as soon as its next response is sent.

        Idle ones stay open for now: a proxy may just send a request on one.
        """
        self.is_draining = True
        for connection in list(self._open):
            connection.drain()

    @property
    def may_bring_requests(self) -> bool:
        """True if a connection is open on which no request is being answered."""
        return any(not connection.is_answering for connection in self._open)

    def add(self, connection: "HTTPConnection") -> None:
        """Add a connection."""
        self._open.add(connection)
        if self.on_count is not None:
            self.on_count(len(self._open))
        if self._timer is None:
            self._timer = connection.loop.call_later(
                self._interval, self._close_late, connection.loop
            )

    def discard(self, connection: "HTTPConnection") -> None:
        """Remove a connection."""
        self._open.discard(connection)
        if self.on_count is not None:
            self.on_count(len(self._open))

    def count_unsent(self, size: int) -> None:
        """Add to the number of unsent bytes of all connections."""
        self._unsent += size
        self.app.gate.update(self._unsent)

    def _close_late(self, loop: asyncio.AbstractEventLoop) -> None:
        """Abort late connections: checking all costs less than a timer for each request.

        While calls wait because too much is unsent, clients that read slowly are late sooner.
        """
        now = loop.time()
        is_full = self.app.gate.is_contended
        for connection in [
            connection for connection in self._open if connection.is_late(now, is_full=is_full)
        ]:
            connection.transport.abort()
        tick = min(self._interval, _TICK_WHEN_FULL) if is_full else self._interval
        self._timer = loop.call_later(tick, self._close_late, loop) if self._open else None


class HTTPConnection(asyncio.Protocol):
    """One connection. The transport, the parser and uvicorn call its methods."""

    transport: asyncio.Transport

    def __init__(
        self, connections: Connections, state: Any, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.connections = connections
        self.loop = loop
        self.scope: dict[str, Any] = {}
        """The client's address, as in an ASGI scope."""
        self.drained: asyncio.Future[None] | None = None
        """Set while the client does not read; to be awaited before more is written."""
        self._deadline = _NEVER
        """When the headers of the next request must be complete."""
        self._unsent = 0
        """Unsent bytes at the last check; they count for all connections while `drained` is set."""
        self._read_at = 0.0
        """When the client last read some of them."""
        self._stopped_at = 0.0
        """When the client stopped reading."""
        self._uvicorn_connections: set[Any] = state.connections
        self._uvicorn_tasks: set[asyncio.Task[None]] = state.tasks
        self._parser = httptools.HttpRequestParser(self)
        self._ignores_input = False
        self.is_reading: bool = True
        self._in_head = False
        """True while the headers of a request are incomplete."""
        self._overhead = 0
        """Bytes received since the last complete headers or part of a body."""
        self._incoming: RequestCycle | None = None
        """The request being read, or the last one read."""
        self._active: RequestCycle | None = None
        """The request being answered."""
        self._is_answering = False
        self._waiting: deque[RequestCycle] = deque()
        self._url = self._known_url = b""
        self._path = ""
        self._headers: list[Header] = []

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to wait for a request."""
        self.transport = transport  # type: ignore[assignment]  # it is one, of whatever class
        self.transport.set_write_buffer_limits(_HIGH_WATER)
        peer = transport.get_extra_info("peername")
        self.scope = {"client": peer if isinstance(peer, tuple) else None}
        if transport.get_extra_info("sslcontext") is not None:
            self.scope["scheme"] = "https"
        self._uvicorn_connections.add(self)
        self._deadline = self.loop.time() + self.connections.settings.body_seconds
        self.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the tasks that wait for the client."""
        self._uvicorn_connections.discard(self)
        self.connections.discard(self)
        self._waiting.clear()
        if self._active is not None:
            self._active.disconnect()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self._overhead += len(data)
        if self._ignores_input:
            if self._overhead > self.connections.settings.max_request:
                self.transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to what is not spoken here, nor is what follows
            self._stop_reading()
        except httptools.HttpParserError:
            self._reject(_INVALID)
        else:
            if self._overhead > _MAX_HEAD:
                self._reject(_TOO_LARGE)

    def pause_writing(self) -> None:
        """Count the output as unsent: the client does not read."""
        if self.drained is None:
            self.drained = self.loop.create_future()
            self._stopped_at = self._read_at = self.loop.time()
            self._unsent = self.transport.get_write_buffer_size()
            self.connections.count_unsent(self._unsent)

    def resume_writing(self) -> None:
        """Wake the writer: the client reads again, or is gone."""
        drained, self.drained = self.drained, None
        if drained is not None:
            self.connections.count_unsent(-self._unsent)
            drained.set_result(None)

    def is_late(self, now: float, *, is_full: bool) -> bool:
        """True if the client takes too long to send a request or to read its output."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent or not self._unsent:
            self._read_at = now
        if self.drained is not None and unsent != self._unsent:
            self.connections.count_unsent(unsent - self._unsent)
        self._unsent = unsent
        if not unsent:
            return self._deadline < now
        if is_full and self.drained is not None and now - self._stopped_at > _MAX_SLOW:
            return True
        max_stall = (
            min(self.connections.max_stall, _MAX_STALL) if is_full else self.connections.max_stall
        )
        return now - self._read_at > max_stall

    # Called by the parser

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url = b""
        self._headers = []
        self._in_head = True
        self._deadline = self.loop.time() + self.connections.settings.body_seconds

    def on_url(self, url: bytes) -> None:
        """Add a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are dropped."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Queue the request for an answer."""
        self._in_head = False
        self._overhead = 0
        self._deadline = _NEVER
        if self._url != self._known_url:
            self._path, self._known_url = _path(self._url), self._url
        parser = self._parser
        is_http10 = parser.get_http_version() != "1.1"
        keep_alive = parser.should_keep_alive() and not is_http10
        keep_alive = keep_alive and not self.connections.is_draining
        head = self.connections.app.heads.find(self._headers)
        cycle = RequestCycle(
            self, parser.get_method().decode(), self._path, head, keep_alive, is_http10
        )
        self._incoming = cycle
        if self._active is None:
            self._start(cycle)
        else:
            self._waiting.append(cycle)
            self.regulate()

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        assert self._incoming is not None
        self._overhead = 0
        self._incoming.feed(body)

    def on_message_complete(self) -> None:
        """Mark the body as complete."""
        assert self._incoming is not None
        self._incoming.feed_eof()

    def _stop_reading(self) -> None:
        """Answer the complete requests, then close."""
        self._ignores_input = True
        if self._waiting and not self._waiting[-1].is_body_complete:
            self._waiting.pop()
        last = self._waiting[-1] if self._waiting else self._active
        if last is not None:
            last.keep_alive = False

    def _reject(self, response: Response) -> None:
        """Reject malformed input once the complete requests are answered."""
        self._stop_reading()
        if self._active is not None and self._active.is_body_complete:
            return
        if self._active is not None:
            self._active.disconnect()
        self.transport.write(head_of(response.status, [*response.headers(), CLOSE]) + response.body)
        self._close_gently()

    def _close_gently(self) -> None:
        """Close, but let a client that is still sending read the response first."""
        if self.transport.is_closing():
            return
        self._ignores_input = True
        self._overhead = 0
        self._in_head = False
        self._deadline = self.loop.time() + _LINGER
        if not self.transport.can_write_eof():  # TLS
            self.transport.close()
            return
        self.transport.write_eof()
        self.regulate()

    @property
    def is_answering(self) -> bool:
        """True if the app has its request, and brings no further one."""
        return self._active is not None and not self._active.is_new

    def drain(self) -> None:
        """Close the connection after its response."""
        if self._active is not None:
            self._active.keep_alive = False

    # Called by uvicorn

    def shutdown(self) -> None:
        """Close the connection, after the response that is under way."""
        self.connections.max_stall = min(self.connections.max_stall, _SHUTDOWN_STALL)
        if self._active is None:
            self.transport.close()
        else:
            self._active.keep_alive = False

    # Answers

    def _start(self, cycle: RequestCycle) -> None:
        self._active = cycle
        if not self._is_answering:
            self.loop.call_soon(self._answer)

    def _answer(self) -> None:
        """Answer the requests that are complete; the others in tasks.

        A request that is answered at once needs no task. This runs after the data of all
        connections was received, since a client that is woken by a response costs more than one
        that is awake.
        """
        self._is_answering = True
        cycle = self._active
        while cycle is not None and cycle.is_ready and self.drained is None:
            try:
                found = self.connections.app.answer(cycle.take_exchange())
            except Exception:
                log.exception("A request failed")
                cycle.fail()
            else:
                if isinstance(found, Response):
                    cycle.write(found)
                else:
                    self._run(cycle, found)
            cycle = self._active
        self._is_answering = False
        if cycle is not None and cycle.is_new:
            self._run(cycle)

    def _run(self, cycle: RequestCycle, found: Answering | None = None) -> None:
        """Answer a request in a task; `found` is the rest of that, if it has begun."""
        cycle.is_new = False
        cycle.task = self.loop.create_task(cycle.run(found))
        self._uvicorn_tasks.add(cycle.task)

    # Called by request cycles

    def finish_cycle(self, cycle: RequestCycle) -> None:
        """Start the next request: this one is answered."""
        self._active = None
        if not cycle.keep_alive:
            self._waiting.clear()
            if cycle.is_body_complete and not self._ignores_input:
                self.transport.close()
            else:
                self._close_gently()
        elif self._waiting:
            self._start(self._waiting.popleft())
        elif not self._in_head:
            self._deadline = self.loop.time() + _IDLE
        if not self.is_reading:
            self.regulate()

    def discard_task(self, cycle: RequestCycle) -> None:
        """Forget the task of a request."""
        if cycle.task is not None:
            self._uvicorn_tasks.discard(cycle.task)

    def regulate(self) -> None:
        """Pause reading while requests wait or a body is not consumed."""
        unread = 0 if self._incoming is None else self._incoming.unread
        may_read = unread <= BODY_HIGH_WATER and len(self._waiting) < _MAX_PIPELINED
        if may_read == self.is_reading or self.transport.is_closing():
            return
        self.is_reading = may_read
        if may_read:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()
        if self._in_head:  # which takes no time while we do not read it
            now, allowed = self.loop.time(), self.connections.settings.body_seconds
            self._deadline = now + allowed if may_read else _NEVER


def _path(url: bytes) -> str:
    path: str = httptools.parse_url(url).path.decode("ascii")
    return unquote(path) if "%" in path else path
