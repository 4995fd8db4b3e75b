"""One HTTP request and its response: a body in, JSON or a stream of events out."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from accord.protocol import messages
from accord.serve.http.request import Headers, Refusal, refuse
from accord.serve.http.settings import Settings
from accord.serve.http.streams import Stream

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_JSON: Final = (b"content-type", b"application/json")
_EVENTS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_LINGER: Final = 0.25  # seconds to take in what nobody will read
_UNREAD: Final = (408, 413)  # what is left of the request would be taken for the next one


class Exchange:
    """What an ASGI server hands over for one request."""

    def __init__(self, receive: Receive, send: Send, settings: Settings) -> None:
        self._receive = receive
        self._send = send
        self._settings = settings
        self._stream: Stream | None = None
        self._pump: asyncio.Task[None] | None = None
        self._is_too_slow = False

    async def read(
        self, headers: Headers, loop: asyncio.AbstractEventLoop
    ) -> bytes | Refusal | None:
        """The body, a refusal of one that is too large or too slow, or None if the client left."""
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._settings.max_request:
            return await self._too_large()
        task = asyncio.current_task(loop)
        too_slow = loop.call_later(self._settings.body_seconds, self._hurry, task)
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

    async def _read(self) -> bytes | Refusal | None:
        message = await self._receive()
        body: bytes = message.get("body", b"")
        parts, size = [body], len(body)
        while message.get("more_body", False) and size <= self._settings.max_request:
            message = await self._receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        if message["type"] == "http.disconnect":
            return None
        return b"".join(parts) if size <= self._settings.max_request else await self._too_large()

    async def _too_large(self) -> Refusal:
        """Let go of some of the rest: a client that is still sending would not hear the answer."""
        left = self._settings.max_request
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                while left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        return refuse(413, f"A request has at most {self._settings.max_request} bytes")

    async def reply(
        self, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        """Answer with JSON, or with nothing but a status."""
        fields = [(b"content-length", b"%d" % len(body)), *(headers or ())]
        if body:
            fields.append(_JSON)
        await self._send({"type": "http.response.start", "status": status, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: Refusal, *, allow: str | None = None) -> None:
        """Answer that it cannot be done, and why."""
        reply = messages.failure(None, refusal.error).without_null_id()
        headers = [(b"allow", allow.encode())] if allow else []
        if refusal.status in _UNREAD:
            headers.append((b"connection", b"close"))
        await self.reply(refusal.status, reply, headers)

    def push(self, message: bytes, open_stream: Callable[[], Stream]) -> None:
        """Send something before the result: from then on the answer is a stream."""
        if self._stream is None:
            self._stream = open_stream()
            self._pump = asyncio.create_task(self._send_events(self._stream, 0))
        self._stream.append(message)

    async def finish(self, status: int, reply: bytes | None) -> None:
        """Answer with the result, where the rest of the answer went."""
        if self._stream is None or self._pump is None:
            await self.reply(status if reply else 202, reply or b"")
            return
        if reply is not None:
            self._stream.append(reply)
        self._stream.close()
        await self._pump

    async def follow(self, stream: Stream, start: int) -> None:
        """Send a stream until it ends or the client leaves."""
        pump = asyncio.create_task(self._send_events(stream, start))
        gone = asyncio.create_task(self.gone())
        await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (pump, gone):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def gone(self) -> None:
        """Wait until the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _send_events(self, stream: Stream, start: int) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
        async for event in stream.follow(start, self._settings.keep_alive_seconds):
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})
