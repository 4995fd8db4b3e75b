"""One connection, and the response that is read from it."""

import asyncio
import select
from collections.abc import Callable
from typing import Final, cast

from accord.http1.errors import ConnectionLost, HTTPError, TooLarge
from accord.http1.parser import ResponseParser

_MAX_BUFFERED: Final = 65_536  # bytes of a body that wait for their reader; then reading pauses
_JOINED: Final = 65_536  # bytes; a longer body is written by itself


class Connection(asyncio.Protocol):
    """A connection to a server, for one request at a time.

    `on_lost` is called once it has ended.
    """

    transport: asyncio.Transport

    def __init__(self, on_lost: "Callable[[Connection], None]") -> None:
        self.is_open: bool = False
        self.idle_until: float = 0.0
        """The time of the event loop after which an idle connection is not reused."""
        self._loop = asyncio.get_running_loop()
        self._on_lost = on_lost
        self._parser: ResponseParser | None = None
        self._fault: HTTPError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._max_buffered = _MAX_BUFFERED
        self._is_paused = False

    # What the pool does

    def send(self, method: str, head: bytes, body: bytes) -> bool:
        """Write a request; False if not one byte of it was sent, as the connection has ended."""
        self._parser = ResponseParser(method)
        self._fault = None
        self._max_buffered = _MAX_BUFFERED
        if not self._is_alive:
            return False
        is_joined = len(body) <= _JOINED
        self.transport.write(head + body if is_joined else head)
        if self.transport.is_closing():
            return False
        if not is_joined:
            self.transport.write(body)
        return True

    async def receive_head(self) -> ResponseParser:
        """Wait for the head of the response; whatever is raised, the connection is closed."""
        parser = self._parser
        assert parser is not None
        try:
            while not parser.has_head:
                await self.wait()
        except BaseException:
            self.abort()
            raise
        return parser

    @property
    def is_usable(self) -> bool:
        """True if an idle connection can be reused: it is open, and nothing has arrived."""
        return (
            self._is_alive
            and self._loop.time() < self.idle_until
            and not _has_input(self.transport)
        )

    @property
    def has_begun(self) -> bool:
        """True if a byte of the response has arrived."""
        return self._parser is not None and self._parser.has_begun

    def finish(self) -> bool:
        """Make the connection idle, if its response is complete; else close it."""
        parser, self._parser = self._parser, None
        if (
            parser is None
            or not parser.can_reuse
            or not self._is_alive
            or self.transport.get_write_buffer_size()  # it has answered before it has read
        ):
            self.abort()
            return False
        self.resume()
        return True

    def abort(self) -> None:
        """Close the connection at once; a response that is not complete is an error."""
        parser = self._parser
        if parser is not None and self._fault is None and not parser.is_complete:
            self._fault = ConnectionLost(
                "the connection was closed before the response was complete"
            )
        if self.is_open:
            self.transport.abort()

    def begin_tunnel(self) -> None:
        """Take what follows the response to CONNECT for another protocol's."""
        self._parser = None

    # What a response does

    async def wait(self) -> None:
        """Wait until more has arrived; raise the error that has ended the response."""
        if self._fault is not None:
            raise self._fault
        if not self.is_open:
            raise ConnectionLost("the connection is closed")
        self.resume()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def expect(self, limit: int) -> None:
        """Let this many bytes of the body arrive before reading pauses."""
        self._max_buffered = limit

    def resume(self) -> None:
        """Read on, if reading has been paused."""
        if self._is_paused and self._is_alive:
            self._is_paused = False
            self.transport.resume_reading()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is of no such class
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:  # nothing was asked that this could answer
            self.abort()
            return
        try:
            parser.feed(data)
        except HTTPError as error:
            self._end(error)
            return
        if len(parser.body) > self._max_buffered and not self._is_paused and self._is_alive:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._end(_lost(exc) if exc is not None else None)
        self._on_lost(self)

    @property
    def _is_alive(self) -> bool:
        """True while the transport takes calls: uvloop's raises once it is being closed."""
        return self.is_open and not self.transport.is_closing()

    def _end(self, fault: HTTPError | None) -> None:
        """End the response with this error, or as the end of the connection does."""
        parser = self._parser
        if parser is not None and self._fault is None and not parser.is_complete:
            self._fault = fault or _fault_of_eof(parser)
        self.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Response:
    """A response whose body is still to be read; close it in any case."""

    def __init__(
        self,
        connection: Connection,
        parser: ResponseParser,
        on_finished: Callable[[Connection], None],
    ) -> None:
        self.status: int = parser.status
        self.headers: dict[str, str] = parser.headers
        """By lower-case names."""
        self._connection = connection
        self._parser = parser
        self._on_finished: Callable[[Connection], None] | None = on_finished

    @property
    def is_success(self) -> bool:
        """True for the statuses 200 to 299."""
        return 200 <= self.status <= 299

    async def read(self, limit: int) -> bytes:
        """Return the body, or what is left of it; raise TooLarge if that exceeds the limit."""
        parser = self._parser
        length = self.headers.get("content-length", "0")
        if not parser.is_complete and (len(length) > len(str(limit)) or int(length) > limit):
            raise TooLarge(limit)
        self._connection.expect(limit)
        while len(parser.body) <= limit:
            if parser.is_complete:
                return parser.take()
            await self._connection.wait()
        raise TooLarge(limit)

    def __aiter__(self) -> "Response":
        return self

    async def __anext__(self) -> bytes:
        """Return the next part of the body, as it arrives."""
        parser = self._parser
        while not parser.body:
            if parser.is_complete or self._on_finished is None:
                raise StopAsyncIteration
            await self._connection.wait()
        return parser.take()

    def close(self) -> None:
        """Return the connection to the pool if the response is complete; else close it."""
        on_finished, self._on_finished = self._on_finished, None
        if on_finished is not None:
            on_finished(self._connection)


def _fault_of_eof(parser: ResponseParser) -> HTTPError | None:
    try:
        parser.feed_eof()
    except HTTPError as error:
        return error
    return None


def _lost(error: Exception) -> ConnectionLost:
    reason = error.strerror if isinstance(error, OSError) else None
    return ConnectionLost(
        f"the connection was lost: {reason or str(error) or type(error).__name__}"
    )


def _has_input(transport: asyncio.Transport) -> bool:
    """True if the end of the connection, or a byte, waits to be read by the event loop."""
    descriptor = transport.get_extra_info("socket").fileno()
    if descriptor < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
