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


class Exchange:
    """What an ASGI server hands over for one request."""

    def __init__(self, receive: Receive, send: Send, settings: Settings) -> None:
        self._receive = receive
        self._send = send
        self._settings = settings
        self._stream: Stream | None = None
        self._pump: asyncio.Task[None] | None = None

    async def read(self, headers: Headers) -> bytes | Refusal | None:
        """The body, a refusal of one that is too large or too slow, or None if the client left."""
        limit = self._settings.max_request
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > limit:
            return self._too_large()
        message = await self._receive()
        if message["type"] == "http.disconnect":
            return None
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            try:
                async with asyncio.timeout(self._settings.body_seconds):
                    return await self._read_on(body) or self._too_large()
            except TimeoutError:
                return refuse(408, "The request took too long to arrive")
        return body if len(body) <= limit else self._too_large()

    def _too_large(self) -> Refusal:
        return refuse(413, f"A request has at most {self._settings.max_request} bytes")

    async def _read_on(self, body: bytes) -> bytes | None:
        parts, size = [body], len(body)
        more = True
        while more and size <= self._settings.max_request:
            message = await self._receive()
            more = message["type"] == "http.request" and message.get("more_body", False)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        return b"".join(parts) if size <= self._settings.max_request else None

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
        await self.reply(refusal.status, reply, [(b"allow", allow.encode())] if allow else None)

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
