"""One HTTP request and its response: a body in, JSON or a stream of events out."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, TypeVar

import msgspec

from accord.answer import Problem
from accord.protocol import Call
from accord.protocol.messages import Wanted
from accord.questions import Question
from accord.serve.desk import Desk
from accord.serve.eager import Pending, start
from accord.serve.http.request import Fields, Head, Refusal, refuse
from accord.serve.http.sessions import Session
from accord.serve.http.settings import Settings
from accord.serve.http.streams import Stream

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")

_EVENTS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
_MOST_DIGITS: Final = 18  # of a length: with more it is too large anyway
_LINGER: Final = 0.25  # seconds to take in what nobody will read


class Exchange(msgspec.Struct, eq=False):
    """A request as an ASGI server hands it over, and the way to answer it."""

    method: str
    path: str
    head: Head
    receive: Receive
    send: Send
    settings: Settings
    scope: Mapping[str, Any]
    """What is known of its connection, under ASGI's names."""
    body: bytes | None = None
    """All of the body, if the server has it before it is asked."""
    session: Session | None = None
    _first: Message | Pending[Message] | None = None
    stream: Stream | None = None
    """What the answer is, once something was sent before the result."""
    desk: Desk | None = None
    """Where its calls wait."""
    _pump: "asyncio.Task[None] | None" = None
    _is_too_slow: bool = False

    def read_at_once(self) -> bytes | Refusal | None:
        """The body, if all of it is there already; else None, and `read` waits for it."""
        body = self.body
        if body is None:
            message = start(self.receive())
            if isinstance(message, Pending) or message.get("more_body") or "body" not in message:
                self._first = message
                return None
            body = message["body"]
        return body if len(body) <= self.settings.max_request else self._refuse_size()

    async def read(self, loop: asyncio.AbstractEventLoop) -> bytes | Refusal | None:
        """The body, a refusal of one that is too large or too slow, or None if the client left."""
        length = self.head.fields.get(b"content-length", b"").lstrip(b"0")[:_MOST_DIGITS]
        if length and (not length.isdigit() or int(length) > self.settings.max_request):
            return await self._too_large()
        task = asyncio.current_task(loop)
        too_slow = loop.call_later(self.settings.body_seconds, self._hurry, task)
        try:
            return await self._read()
        except asyncio.CancelledError:
            if not self._is_too_slow or task is None:
                raise
            task.uncancel()
            return refuse(408, "The request took too long to arrive")
        finally:
            too_slow.cancel()

    def _hurry(self, task: "asyncio.Task[Any] | None") -> None:
        self._is_too_slow = True
        if task is not None:
            task.cancel()

    async def _next(self) -> Message:
        """What comes next, beginning with what `read_at_once` met."""
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
        if message["type"] == "http.disconnect":
            return None
        return b"".join(parts) if size <= limit else await self._too_large()

    async def _too_large(self) -> Refusal:
        """Let go of some of the rest: a client that is still sending would not hear the answer."""
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

    def push(self, message: bytes) -> None:
        """Send something before the result: from then on the answer is a stream."""
        self._open_stream().append(message)

    def tell(self, change: bytes) -> None:
        """Send that something has changed, which is said once until it is read."""
        self._open_stream().tell(change)

    def _open_stream(self) -> Stream:
        if self.stream is None:
            self.stream = self.session.open_stream() if self.session else Stream()
            self._pump = asyncio.create_task(self._send_events(self.stream, 0))
        return self.stream

    @property
    def sender(self) -> "Exchange":
        """What a tool may want to know of whoever sends this: see `fields` and `address`."""
        return self

    @property
    def fields(self) -> Fields:
        """The headers."""
        return self.head.fields

    @property
    def address(self) -> str | None:
        """Where it comes from; None behind a socket that is a file."""
        client = self.scope.get("client")
        return client[0] if client else None

    @property
    def principal(self) -> bytes | None:
        """Who sends this, by what it shows for it."""
        return self.head.principal

    def detach(self, seconds: float) -> None:
        """End the response here; in a session the client can come back for the rest."""
        if self.session is not None:
            self._open_stream().pause(seconds)

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send questions to the client and wait for its answers, which come as other requests."""
        if self.session is None or self.desk is None:
            raise Problem.unavailable("Only in a session can be asked", retryable=False)
        return await self.desk.ask(self.session.connection, call, questions)

    async def hold(self, call: Call, wanted: Wanted) -> None:
        """Tell the client of changes until it leaves."""
        if self.desk is not None:
            await self.desk.hold(call, wanted)

    async def end_stream(self, reply: bytes | None) -> None:
        """Send the result where the rest of the answer went."""
        assert self.stream is not None
        assert self._pump is not None
        if reply is not None:
            self.stream.append(reply)
        self.stream.close()
        await self._pump

    def drop(self) -> None:
        """Send nothing more: nobody waits for it."""
        if self.stream is not None:
            self.stream.close()
        if self._pump is not None:
            self._pump.cancel()

    async def follow(self, stream: Stream, start: int) -> None:
        """Send a stream until it ends or the client leaves."""
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
        """Wait until the client has left."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def while_connected(self, work: Awaitable[T]) -> T | None:
        """Await some work, or cancel it and return None once the client has left."""
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
        headers = list(_EVENTS)
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in stream.follow(start, self.settings.keep_alive_seconds):
            await self.send({"type": "http.response.body", "body": event, "more_body": True})
        await self.send({"type": "http.response.body", "body": b""})
