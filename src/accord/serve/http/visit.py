"""One request on a line: its body as it comes, and the answer as it goes."""

import asyncio
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from accord.serve.http.exchange import Exchange, Message
from accord.serve.http.request import Head, Header
from accord.serve.http.response import TEXT, Response

if TYPE_CHECKING:
    from accord.serve.http.line import Line

log = logging.getLogger("accord")

MUCH: Final = 65_536
"""Bytes of a body that nobody has read yet; more of it waits outside."""
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Final = (b"connection", b"close")
_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_STATUS: Final = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_FAILED: Final = Response(500, b"Internal Server Error", content_type=TEXT)


class Visit:
    """One request on a line, and the way to answer it; ASGI's, for all that is not usual."""

    __slots__ = (
        *("_expects", "_has_begun", "_head", "_is_gone", "_is_old", "_is_over", "_is_told"),
        *("_line", "_method", "_news", "_parts", "_path"),
        *("is_whole", "keep_alive", "task", "unread"),
    )

    task: "asyncio.Task[None]"

    def __init__(
        self,
        line: "Line",
        method: str,
        path: str,
        head: Head,
        keep_alive: bool,
        is_old: bool,
    ) -> None:
        self._line = line
        self._method = method
        self._path = path
        self._head = head
        self._expects = head.fields.get(b"expect", b"").lower() == b"100-continue"
        self._parts: list[bytes] = []
        self._news: asyncio.Future[None] | None = None
        self._is_told = False
        """Whether the app has all of the body."""
        self._has_begun = False
        """Whether a stream has been begun as the answer."""
        self._is_over = False
        self._is_gone = False
        self._is_old = is_old
        """Whether it is of HTTP/1.0, which has no chunks."""
        self.keep_alive = keep_alive
        self.is_whole = False
        self.unread = 0

    def add(self, body: bytes) -> None:
        """More of the body is there."""
        if not self._is_over:
            self._parts.append(body)
            self.unread += len(body)
            if self.unread > MUCH:
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
            if line.drained is not None:  # an answer to one before it is still unread
                await asyncio.shield(line.drained)
            found = line.lines.app.answer(self._exchange())
            response = found if isinstance(found, Response) else await found
            if response is not None:
                if line.drained is not None:
                    await asyncio.shield(line.drained)
                self._write(response)
        except Exception:
            log.exception("A request failed")
            self._fail()
        except asyncio.CancelledError:  # the time is up
            self._fail()
            raise
        finally:
            line.forget(self)
            if not self._is_over:  # and never will be
                self.keep_alive = False
                self._end()

    def _fail(self) -> None:
        self.keep_alive = False
        if not self._has_begun:
            self._write(_FAILED)

    def _exchange(self) -> Exchange:
        body = self._take_parts() if self.is_whole and not self._is_gone else None
        settings = self._line.lines.settings
        return Exchange(
            self._method,
            self._path,
            self._head,
            self.receive,
            self.send,
            settings,
            self._line.scope,
            body,
        )

    def _take_parts(self) -> bytes:
        body = b"".join(self._parts)
        self._parts.clear()
        self._is_told = self.is_whole
        self.unread = 0
        if not self._line.is_reading:
            self._line.regulate()
        return body

    def _write(self, response: Response) -> None:
        """Answer with one write."""
        if self._is_gone:
            return
        headers = response.headers()
        if CLOSE in headers:
            self.keep_alive = False
        elif not self._may_keep_alive():
            headers.append(CLOSE)
        head, body = head_of(response.status, headers), response.body
        if self._method == "HEAD":
            body = b""
        if len(body) > MUCH:  # two writes cost less than a copy
            self._line.transport.write(head)
            self._line.transport.write(body)
        else:
            self._line.transport.write(head + body)
        self._end()

    def _may_keep_alive(self) -> bool:
        """Whether another request may follow: not if who knows how much of this one is to come."""
        self.keep_alive = self.keep_alive and self.is_whole
        return self.keep_alive

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
            close = () if self._may_keep_alive() else (CLOSE,)
            chunked = () if self._is_old else (_CHUNKED,)
            headers = (*message["headers"], *chunked, *close)
            line.transport.write(head_of(message["status"], headers))
        elif message.get("more_body", False):
            body = message["body"]
            line.transport.write(body if self._is_old else b"%x\r\n%b\r\n" % (len(body), body))
        else:
            if not self._is_old:  # else the end of the connection is the end of the stream
                line.transport.write(b"0\r\n\r\n")
            self._end()


def head_of(status: int, headers: Iterable[Header]) -> bytes:
    """The beginning of an answer, up to its body."""
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"".join([_STATUS[status], *lines, b"\r\n"])
