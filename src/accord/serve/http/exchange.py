"""One HTTP request and its response: a body in, JSON or a stream of events out."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from time import time
from typing import Any, Final, TypeVar

import msgspec

from accord.budget import Budget
from accord.model.caller import Caller, Grant
from accord.model.context import MissingCapability
from accord.model.questions import Question
from accord.protocol.messages import Wanted
from accord.serve.call import RunningCall
from accord.serve.eager_task import Pending, start
from accord.serve.http.request import Fields, Head, Refusal, refuse
from accord.serve.http.sessions import Session
from accord.serve.http.settings import Settings
from accord.serve.http.streams import Drained, Stream
from accord.serve.pending_requests import PendingRequests

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")

EVENT_STREAM: Final = b"text/event-stream"
_SSE_HEADERS: Final = (
    (b"content-type", EVENT_STREAM),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
_MAX_DIGITS: Final = 18  # of a length: with more it is too large anyway
_BODIES: Final = Budget(64 * 1024 * 1024)
"""For the bodies of open requests in this process that come in several parts."""
_MAX_LISTENING: Final = 3_600.0  # seconds; a token may be withdrawn before it expires
_CLOCKS: Final = 0.05  # seconds by which the clock of an event loop may be ahead
_LINGER: Final = 0.25  # seconds to drain a body that is refused


class Exchange(msgspec.Struct, eq=False):
    """A request from an ASGI server, and the means to answer it; the Edge of its calls."""

    method: str
    path: str
    head: Head
    receive: Receive
    send: Send
    settings: Settings
    scope: Mapping[str, Any]
    """The ASGI scope of its connection."""
    body: bytes | None = None
    """The whole body, if the server has it already."""
    grant: Grant | None = None
    """The verified caller, if the server verifies tokens."""
    session: Session | None = None
    _first: Message | Pending[Message] | None = None
    stream: Stream | None = None
    """The event stream, once something was sent before the result."""
    requests: PendingRequests | None = None
    """Sends requests to the client, and its subscriptions."""
    _sender: "asyncio.Task[None] | None" = None
    is_relayed: bool = False
    """True if another worker has relayed it."""
    has_started: bool = False
    """True if the response of another worker is sent as a stream."""
    _is_too_slow: bool = False
    _held: int = 0
    """Bytes of the body that count in the budget of all large ones."""

    def read_at_once(self) -> bytes | Refusal | None:
        """Return the body if it is complete, else None: then `read` waits for it."""
        body = self.body
        if body is None:
            message = start(self.receive())
            if isinstance(message, Pending) or message.get("more_body") or "body" not in message:
                self._first = message
                return None
            body = message["body"]
        return body if len(body) <= self.settings.max_request else self._refuse_size()

    async def read(self, loop: asyncio.AbstractEventLoop) -> bytes | Refusal | None:
        """Return the body, a refusal of it, or None if the client disconnected."""
        length = self.head.fields.get(b"content-length", b"").lstrip(b"0")[:_MAX_DIGITS]
        if length and (not length.isdigit() or int(length) > self.settings.max_request):
            return await self._too_large()
        task = asyncio.current_task(loop)
        too_slow = loop.call_later(self.settings.body_seconds, self._time_out, task)
        try:
            return await self._read()
        except asyncio.CancelledError:
            if not self._is_too_slow or task is None:
                raise
            task.uncancel()
            return refuse(408, "The request took too long to arrive")
        finally:
            too_slow.cancel()

    def _time_out(self, task: "asyncio.Task[Any] | None") -> None:
        self._is_too_slow = True
        if task is not None:
            task.cancel()

    async def _next(self) -> Message:
        """Receive the next message, beginning with the one of `read_at_once`."""
        first, self._first = self._first, None
        if first is None:
            return await self.receive()
        return await first if isinstance(first, Pending) else first

    async def _read(self) -> bytes | Refusal | None:
        limit = self.settings.max_request
        message = await self._next()
        body: bytes = message.get("body", b"")
        parts, size = [body], len(body)
        while message.get("more_body", False) and size <= limit:
            message = await self._next()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if not self._hold(len(parts[-1])):
                return refuse(503, "The server holds too many large requests; try again later")
        if message["type"] == "http.disconnect":
            return None
        return b"".join(parts) if size <= limit else await self._too_large()

    def _hold(self, size: int) -> bool:
        """Count a part of the body until `release`; False if there is no room for it."""
        if not _BODIES.take(size):
            return False
        self._held += size
        return True

    def release(self) -> None:
        """Stop counting the body: the request is answered."""
        _BODIES.add(-self._held)
        self._held = 0

    async def _too_large(self) -> Refusal:
        """Drain some of the body: a client that is still sending would not read the response."""
        left = self.settings.max_request
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                while left > 0:
                    message = await self._next()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        return self._refuse_size()

    def _refuse_size(self) -> Refusal:
        return refuse(413, f"A request has at most {self.settings.max_request} bytes")

    def push(self, message: bytes) -> Drained | None:
        """Send a message before the result: the response becomes a stream."""
        stream = self._open_stream()
        stream.append(message)
        return stream.drained() if stream.is_behind else None

    def tell(self, change: bytes) -> None:
        """Send a notification of a change, once until it is read."""
        self._open_stream().tell(change)

    def _open_stream(self) -> Stream:
        if self.stream is None:
            self.stream = self.session.open_stream() if self.session else Stream()
            self._sender = asyncio.create_task(self._send_events(self.stream, 0))
        return self.stream

    @property
    def sender(self) -> "Exchange":
        """The request itself, for tools: see `fields` and `address`."""
        return self

    @property
    def fields(self) -> Fields:
        """The headers."""
        return self.head.fields

    @property
    def address(self) -> str | None:
        """The client's IP address; None for a Unix socket."""
        client = self.scope.get("client")
        return client[0] if client else None

    @property
    def principal(self) -> bytes | None:
        """The client's identity: the verified caller, else its Authorization header."""
        return self.head.principal if self.grant is None else self.grant.caller.principal

    @property
    def caller(self) -> Caller | None:
        """The sender by its verified token, if the server verifies tokens."""
        return None if self.grant is None else self.grant.caller

    @property
    def listening_seconds(self) -> float | None:
        """For how long it may wait for changes; None if the server verifies no tokens.

        Then the client comes back, with a token that is still valid.
        """
        if self.grant is None:
            return None
        return max(0.0, min(self.grant.expires - time(), _MAX_LISTENING)) + _CLOCKS

    def detach(self, seconds: float) -> None:
        """End the response; in a session the client can resume its stream."""
        if self.session is not None:
            self._open_stream().pause(seconds)

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send requests to the client and wait for its responses, which come as HTTP requests."""
        if self.session is None or self.requests is None:
            raise MissingCapability({"session": {}})
        return await self.requests.ask(self.session.connection, call, questions)

    async def hold(self, call: RunningCall, wanted: Wanted) -> None:
        """Send changes to the client until it disconnects, or its token has expired."""
        if self.requests is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.listening_seconds):
                    await self.requests.hold(call, wanted)

    async def end_stream(self, reply: bytes | None) -> None:
        """Send the result on the stream and close it."""
        assert self.stream is not None
        assert self._sender is not None
        if reply is not None:
            self.stream.append(reply)
        self.stream.close()
        await self._sender

    def drop(self) -> None:
        """Close the stream and send nothing more."""
        if self.stream is not None:
            self.stream.close()
        if self._sender is not None:
            self._sender.cancel()

    async def follow(self, stream: Stream, start: int) -> None:
        """Send a stream until it ends or the client disconnects."""
        pump = asyncio.create_task(self._send_events(stream, start))
        gone = asyncio.create_task(self.gone())
        try:
            await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pump.cancel()
            gone.cancel()
        await asyncio.wait({pump, gone})
        if not pump.cancelled():
            pump.result()

    async def gone(self) -> None:
        """Wait until the client has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def while_connected(self, work: Awaitable[T]) -> T | None:
        """Await some work, or cancel it and return None once the client has disconnected."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self.gone())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    async def _send_events(self, stream: Stream, start: int) -> None:
        headers = list(_SSE_HEADERS)
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in stream.follow(start, self.settings.keep_alive_seconds):
            await self.send({"type": "http.response.body", "body": event, "more_body": True})
        await self.send({"type": "http.response.body", "body": b""})
