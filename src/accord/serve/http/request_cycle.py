"""One request on an HTTP connection, and its response."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from accord.serve.http.exchange import Exchange, Message
from accord.serve.http.request import Head, Header
from accord.serve.http.response import TEXT, Response

if TYPE_CHECKING:
    from accord.serve.http.connection import HTTPConnection

log: logging.Logger = logging.getLogger("accord")

Answering = Coroutine[Any, Any, Response | None]
"""The rest of an answer: a response, or None if that was a stream."""

BODY_HIGH_WATER: Final = 65_536
"""Bytes of a body that the app has not read, above which reading pauses."""
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Final = (b"connection", b"close")
_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_STATUS: Final = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_JSON_HEAD: Final = b"%bcontent-length: %d\r\ncontent-type: application/json\r\n\r\n"
_FAILED: Final = Response(500, b"Internal Server Error", content_type=TEXT)


class RequestCycle:
    """A request and its response: one write for most, ASGI's receive and send for streams."""

    __slots__ = (
        "_body_taken",
        "_connection",
        "_expects_continue",
        "_has_started",
        "_head",
        "_is_complete",
        "_is_disconnected",
        "_is_http10",
        "_method",
        "_parts",
        "_path",
        "_waiter",
        "is_body_complete",
        "is_new",
        "keep_alive",
        "task",
        "unread",
    )

    def __init__(
        self,
        connection: "HTTPConnection",
        method: str,
        path: str,
        head: Head,
        keep_alive: bool,
        is_http10: bool,
    ) -> None:
        self._connection = connection
        self._method = method
        self._path = path
        self._head = head
        self._expects_continue = head.fields.get(b"expect", b"").lower() == b"100-continue"
        self._parts: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None
        self._body_taken = False
        """True once the app has taken the whole body."""
        self._has_started = False
        """True once the response has started as a stream."""
        self._is_complete = False
        self._is_disconnected = False
        self._is_http10 = is_http10
        """True for HTTP/1.0, which has no chunked encoding."""
        self.keep_alive: bool = keep_alive
        self.is_body_complete: bool = False
        self.is_new: bool = True
        """True until the app is called."""
        self.task: asyncio.Task[None] | None = None
        self.unread: int = 0

    def feed(self, body: bytes) -> None:
        """Add a part of the body."""
        if not self._is_complete:
            self._parts.append(body)
            self.unread += len(body)
            if self.unread > BODY_HIGH_WATER:
                self._connection.regulate()
            self._wake()

    def feed_eof(self) -> None:
        """Mark the body as complete."""
        self.is_body_complete = True
        self._wake()

    def disconnect(self) -> None:
        """Mark the client as gone."""
        self._is_disconnected = True
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    @property
    def is_ready(self) -> bool:
        """True if its body is complete and the app was not called yet."""
        return self.is_new and self.is_body_complete and not self._is_disconnected

    async def run(self, found: Answering | None = None) -> None:
        """Call the app, unless that has `found` a coroutine already, and write its response."""
        connection = self._connection
        try:
            if found is None:
                if connection.drained is not None:  # an earlier response is still unread
                    await asyncio.shield(connection.drained)
                answer = connection.connections.app.answer(self.take_exchange())
                response = answer if isinstance(answer, Response) else await answer
            else:
                response = await found
            if response is not None:
                if connection.drained is not None:
                    await asyncio.shield(connection.drained)
                self.write(response)
        except Exception:
            log.exception("A request failed")
            self.fail()
        except asyncio.CancelledError:  # the time is up
            self.fail()
            raise
        finally:
            connection.discard_task(self)
            if not self._is_complete:  # and never will be
                self.keep_alive = False
                self._end()

    def fail(self) -> None:
        """Answer with status 500, unless the response has started."""
        self.keep_alive = False
        if not self._has_started:
            self.write(_FAILED)

    def take_exchange(self) -> Exchange:
        """Return the request for the app."""
        self.is_new = False
        body = self._take_body() if self.is_body_complete and not self._is_disconnected else None
        settings = self._connection.connections.settings
        return Exchange(
            self._method,
            self._path,
            self._head,
            self.receive,
            self.send,
            settings,
            self._connection.scope,
            body,
        )

    def _take_body(self) -> bytes:
        body = b"".join(self._parts)
        self._parts.clear()
        self._body_taken = self.is_body_complete
        self.unread = 0
        if not self._connection.is_reading:
            self._connection.regulate()
        return body

    def write(self, response: Response) -> None:
        """Write the whole response."""
        if self._is_disconnected:
            return
        body = response.body
        if body and response.is_plain_json and self._may_keep_alive():
            head = _JSON_HEAD % (_STATUS[response.status], len(body))  # headers() takes 2 us more
        else:
            headers = response.headers()
            if CLOSE in headers:
                self.keep_alive = False
            elif not self._may_keep_alive():
                headers.append(CLOSE)
            head = head_of(response.status, headers)
        if self._method == "HEAD":
            body = b""
        if len(body) > BODY_HIGH_WATER:  # two writes cost less than a copy
            self._connection.transport.write(head)
            self._connection.transport.write(body)
        else:
            self._connection.transport.write(head + body)
        self._end()

    def _may_keep_alive(self) -> bool:
        """True if another request may follow: not while the body of this one is incomplete."""
        self.keep_alive = self.keep_alive and self.is_body_complete
        return self.keep_alive

    def _end(self) -> None:
        self._is_complete = True
        self._parts.clear()
        self.unread = 0
        self._wake()
        self._connection.finish_cycle(self)

    async def receive(self) -> Message:
        """ASGI receive: a part of the body, or http.disconnect."""
        if self._expects_continue and not self.is_body_complete and not self._is_disconnected:
            self._expects_continue = False
            self._connection.transport.write(_CONTINUE)
        while not (self._is_disconnected or self._is_complete):
            if self._parts or (self.is_body_complete and not self._body_taken):
                body = self._take_body()
                return {
                    "type": "http.request",
                    "body": body,
                    "more_body": not self.is_body_complete,
                }
            if self._waiter is None:
                self._waiter = self._connection.loop.create_future()
            await self._waiter
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """ASGI send, for streams."""
        connection = self._connection
        if connection.drained is not None:
            await asyncio.shield(connection.drained)
        if self._is_disconnected:
            return
        if message["type"] == "http.response.start":
            self._has_started = True
            close = () if self._may_keep_alive() else (CLOSE,)
            chunked = () if self._is_http10 else (_CHUNKED,)
            headers = (*message["headers"], *chunked, *close)
            connection.transport.write(head_of(message["status"], headers))
        elif message.get("more_body", False):
            body = message["body"]
            connection.transport.write(
                body if self._is_http10 else b"%x\r\n%b\r\n" % (len(body), body)
            )
        else:
            if not self._is_http10:  # else the end of the connection is the end of the stream
                connection.transport.write(b"0\r\n\r\n")
            self._end()


def head_of(status: int, headers: Iterable[Header]) -> bytes:
    """Return the status line and headers of a response."""
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"".join([_STATUS[status], *lines, b"\r\n"])
