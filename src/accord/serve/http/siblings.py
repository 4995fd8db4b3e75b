"""Links between the workers of one port, over Unix sockets in a folder that only they can open.

Each worker has a socket there, named after it, and a link to every other worker, for small messages
that concern a session in all workers. A request whose state is in another worker is relayed to it,
on a connection of its own.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from accord.child_process import PipeClosed
from accord.model.changes import Change, Kind, ListChanged, Updated
from accord.serve.http.exchange import EVENT_STREAM, Exchange, Message
from accord.serve.http.request import Header, refuse
from accord.serve.http.response import Response, refused
from accord.signing import BadSignature, Signer

log = logging.getLogger("accord")

_PURPOSE: Final = "worker"
_SUFFIX: Final = ".sock"
_NAME_BYTES: Final = 4
_HEADER: Final = 4  # bytes of the length of a frame
_MAX_FRAME: Final = 64 * 1024 * 1024
_MAX_UNSENT: Final = 64 * 1024 * 1024  # bytes for a worker that reads nothing: its link is closed
_ACK_SECONDS: Final = 1.0  # for a worker that is busy: after that it is not waited for
_RETRY_SECONDS: Final = 0.5
_ENDED: Final = "The worker that has what this request is about has ended; try again"


class Forwarded(msgspec.Struct, frozen=True, tag="forwarded"):
    """A message of a client for the session in another worker."""

    session: str
    message: bytes


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A session has ended."""

    session: str


class AllEnded(msgspec.Struct, frozen=True, tag="all ended"):
    """The sessions that have ended: their nonces, with the time at which their ids expire."""

    sessions: dict[str, int]


class Listening(msgspec.Struct, frozen=True, tag="listening"):
    """A worker has begun or ended to follow a session for its client."""

    session: str
    is_open: bool


class Used(msgspec.Struct, frozen=True, tag="used"):
    """A session is in use, and must not expire."""

    session: str


class Changed(msgspec.Struct, frozen=True, tag="changed"):
    """A list of the server has changed, or a resource."""

    kind: Kind | None
    uri: str | None

    @classmethod
    def of(cls, change: Change) -> "Changed":
        """Return the message for a change."""
        return cls(None, change.uri) if isinstance(change, Updated) else cls(change.kind, None)

    @property
    def change(self) -> Change:
        """The change."""
        return Updated(self.uri or "") if self.kind is None else ListChanged(self.kind)


class Wanted(msgspec.Struct, frozen=True, tag="wanted"):
    """A question for figures of a worker, such as its counters; the acknowledgement has them."""

    what: str


Linked = Forwarded | Ended | AllEnded | Listening | Used | Changed | Wanted
"""A message on a link."""
Figures = Mapping[str, Callable[[], bytes]]
"""Functions that return figures of this process, by name."""


class _Hello(msgspec.Struct, frozen=True, tag="hello"):
    name: str
    proof: str
    """The name, signed: the other side has the key."""
    is_relay: bool = False


class _Sent(msgspec.Struct, frozen=True, tag="sent"):
    number: int
    """For the acknowledgement; 0 if none is wanted."""
    message: Linked


class _Ack(msgspec.Struct, frozen=True, tag="ack"):
    number: int
    body: bytes = b""


class _Request(msgspec.Struct, frozen=True, tag="request"):
    method: str
    path: str
    headers: list[Header]
    body: bytes
    address: str | None


class _Start(msgspec.Struct, frozen=True, tag="start"):
    status: int
    headers: list[Header]


class _Body(msgspec.Struct, frozen=True, tag="body"):
    body: bytes
    more: bool


_Frame = _Hello | _Sent | _Ack | _Request | _Start | _Body
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Frame).decode
_FRAMING: Final = (b"content-type", b"content-length", b"connection")
_GONE: Final = (PipeClosed, OSError, EOFError, msgspec.MsgspecError, BadSignature)
"""The other side has ended, or is not a worker."""


class SessionState(Protocol):
    """The sessions of a worker."""

    def take(self, worker: str, message: Linked) -> None:
        """Take a message of another worker."""

    def greeting(self) -> Iterable[Linked]:
        """Return the messages that tell a new worker the state of all sessions."""

    def lose(self, worker: str) -> None:
        """Forget a worker that has ended."""


AnswerRelayed = Callable[
    [str, str, list[Header], bytes, "Relayed"],
    Response | Coroutine[Any, Any, Response | None],
]
"""Answers a request of another worker, by its method, path, headers, body and connection."""


class Siblings:
    """The links of one worker to the others."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self.name = secrets.token_hex(_NAME_BYTES)
        self._folder = folder
        self._signer = Signer(key)
        self._links: dict[str, _Link] = {}
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._relayed: set[asyncio.Task[None]] = set()
        """The tasks that answer requests for other workers."""
        self._closing = asyncio.Event()

    def has(self, worker: str) -> bool:
        """True if a worker of this name is linked."""
        return worker in self._links

    @property
    def first(self) -> str:
        """The worker that keeps what only one can keep."""
        return min([self.name, *self._links])

    async def start(self, sessions: SessionState, answer: AnswerRelayed, figures: Figures) -> None:
        """Open the socket of this worker, and link it to those that are there already."""
        self._sessions = sessions
        self._answer = answer
        self._figures = figures
        self._loop = asyncio.get_running_loop()
        path = self._folder / (self.name + _SUFFIX)
        self._server = await asyncio.start_unix_server(self._accept, path)
        for other in self._folder.glob("*" + _SUFFIX):
            if other != path:
                await self._link(other.stem)

    def stop(self) -> None:
        """End the requests that are relayed."""
        self._closing.set()

    async def close(self) -> None:
        """Close all links."""
        self._closing.set()
        if self._server is not None:
            self._server.close()
            with suppress(OSError):
                (self._folder / (self.name + _SUFFIX)).unlink()
        if self._relayed:  # their streams have ended, and are sent to the end
            await asyncio.wait(self._relayed, timeout=_ACK_SECONDS)
        for link in list(self._links.values()):
            link.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send(self, worker: str, message: Linked) -> bool:
        """Send a message to one worker; False if it has ended."""
        link = self._links.get(worker)
        if link is None:
            return False
        link.send(_Sent(0, message))
        return True

    def tell(self, message: Linked) -> None:
        """Send a message to all workers."""
        for link in self._links.values():
            link.send(_Sent(0, message))

    def tell_threadsafe(self, message: Linked) -> None:
        """Send a message to all workers, from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.tell, message)

    def broadcast(self, message: Linked) -> "Awaitable[list[bytes]]":
        """Send a message to all workers; the awaitable waits for their acknowledgements."""
        return _Acks([link.ask(message) for link in self._links.values()])

    def gather(self, what: str) -> "Awaitable[list[bytes]]":
        """Return figures of all other workers."""
        return self.broadcast(Wanted(what))

    async def relay(self, worker: str, exchange: Exchange, body: bytes) -> Response | None:
        """Let another worker answer a request; None if the response was a stream."""
        try:
            reader, writer = await self._connect(worker, is_relay=True)
        except OSError:
            return refused(refuse(502, _ENDED))
        fields = [*exchange.head.fields.items()]
        _write(writer, _Request(exchange.method, exchange.path, fields, body, exchange.address))
        waits = [
            asyncio.ensure_future(exchange.gone()),
            asyncio.ensure_future(self._closing.wait()),
        ]
        passing = asyncio.ensure_future(_pass_on(reader, exchange))
        try:
            await asyncio.wait({passing, *waits}, return_when=asyncio.FIRST_COMPLETED)
            if passing.done():
                return passing.result()
            if exchange.has_started:
                await exchange.send({"type": "http.response.body", "body": b""})
                return None
            return refused(refuse(503, "The server is about to end"))
        except _GONE:
            return None if exchange.has_started else refused(refuse(502, _ENDED))
        finally:
            for task in (*waits, passing):
                task.cancel()
            await asyncio.gather(passing, *waits, return_exceptions=True)
            writer.close()

    async def _connect(
        self, worker: str, *, is_relay: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path = self._folder / (worker + _SUFFIX)
        reader, writer = await asyncio.open_unix_connection(path)
        proof = self._signer.sign(_PURPOSE, self.name.encode())
        _write(writer, _Hello(self.name, proof, is_relay))
        return reader, writer

    async def _link(self, worker: str) -> None:
        try:
            reader, writer = await self._connect(worker, is_relay=False)
        except OSError:  # it has ended without removing its socket
            with suppress(OSError):
                (self._folder / (worker + _SUFFIX)).unlink()
            return
        self._follow(worker, reader, writer)

    def _follow(
        self, worker: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> "asyncio.Task[None]":
        link = _Link(writer)
        self._links[worker] = link
        for message in self._sessions.greeting():
            link.send(_Sent(0, message))
        task = asyncio.ensure_future(self._receive(worker, reader, link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            hello = await _read(reader)
            if not isinstance(hello, _Hello):
                return
            if self._signer.verify(_PURPOSE, hello.proof) != hello.name.encode():
                return
            if hello.is_relay:
                self._relayed.add(task)
                await self._serve_relayed(reader, writer)
                writer.close()
                await writer.wait_closed()
            else:
                await self._follow(hello.name, reader, writer)
        except _GONE:
            pass
        except asyncio.CancelledError:
            if not self._closing.is_set():
                raise
        finally:
            self._tasks.discard(task)
            self._relayed.discard(task)
            writer.close()

    async def _receive(self, worker: str, reader: asyncio.StreamReader, link: "_Link") -> None:
        try:
            while True:
                frame = await _read(reader)
                if isinstance(frame, _Ack):
                    link.acknowledge(frame)
                elif isinstance(frame, _Sent):
                    body = self._take(worker, frame.message)
                    if frame.number:
                        link.send(_Ack(frame.number, body))
        except _GONE:
            pass
        finally:
            link.close()
            if self._links.get(worker) is link:
                del self._links[worker]
                self._sessions.lose(worker)
        if not self._closing.is_set():
            await asyncio.sleep(_RETRY_SECONDS)
            if worker not in self._links and (self._folder / (worker + _SUFFIX)).exists():
                await self._link(worker)

    def _take(self, worker: str, message: Linked) -> bytes:
        try:
            if isinstance(message, Wanted):
                return self._figures[message.what]() if message.what in self._figures else b""
            self._sessions.take(worker, message)
        except Exception:
            log.exception("A message of another worker failed")
        return b""

    async def _serve_relayed(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        request = await _read(reader)
        if not isinstance(request, _Request):
            return
        connection = Relayed(reader, writer, request.address)
        try:
            found = self._answer(
                request.method, request.path, request.headers, request.body, connection
            )
            response = found if isinstance(found, Response) else await found
        except Exception:
            log.exception("A request failed")
            return
        if response is not None:
            start = {"type": "http.response.start", "status": response.status}
            await connection.send(start | {"headers": response.headers()})
            await connection.send({"type": "http.response.body", "body": response.body})


class _Link:
    """The connection to one worker."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    def send(self, frame: _Sent | _Ack) -> None:
        """Send a frame; a worker that reads nothing loses its link."""
        if self._writer.is_closing():
            return
        _write(self._writer, frame)
        if self._writer.transport.get_write_buffer_size() > _MAX_UNSENT:
            self._writer.transport.abort()

    def ask(self, message: Linked) -> "asyncio.Future[bytes]":
        """Send a message; the future is done once it is acknowledged."""
        self._numbers += 1
        number = self._numbers
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda _: self._waiting.pop(number, None))
        self._waiting[number] = future
        self.send(_Sent(number, message))
        return future

    def acknowledge(self, ack: _Ack) -> None:
        """Take an acknowledgement."""
        future = self._waiting.get(ack.number)
        if future is not None and not future.done():
            future.set_result(ack.body)

    def close(self) -> None:
        """Close the connection; nothing is acknowledged any more."""
        self._writer.close()
        for future in list(self._waiting.values()):
            future.cancel()


class _Acks:
    """Waits for acknowledgements when awaited, but not for long."""

    def __init__(self, futures: list["asyncio.Future[bytes]"]) -> None:
        self._futures = futures

    def __await__(self) -> Any:
        return self._wait().__await__()

    async def _wait(self) -> list[bytes]:
        if not self._futures:
            return []
        done, late = await asyncio.wait(self._futures, timeout=_ACK_SECONDS)
        for future in late:
            future.cancel()
        return [future.result() for future in done if not future.cancelled()]


class Relayed:
    """ASGI's receive and send for a request that another worker has relayed."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str | None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.scope = {"client": None if address is None else (address, 0)}

    async def receive(self) -> Message:
        """Wait until the client or its worker is gone."""
        with suppress(OSError):
            await self._reader.read()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the response to the worker of the client, unless that is gone."""
        if self._writer.is_closing():
            return
        if message["type"] == "http.response.start":
            _write(self._writer, _Start(message["status"], list(message["headers"])))
        else:
            _write(self._writer, _Body(bytes(message["body"]), message.get("more_body", False)))
        with suppress(OSError):
            await self._writer.drain()


async def _pass_on(reader: asyncio.StreamReader, exchange: Exchange) -> Response | None:
    """Pass the response of another worker on to the client."""
    start = await _read(reader)
    if not isinstance(start, _Start):
        raise PipeClosed
    kind = dict(start.headers).get(b"content-type", b"")
    if kind != EVENT_STREAM:
        more = tuple(each for each in start.headers if each[0] not in _FRAMING)
        return Response(start.status, (await _read_body(reader)).body, more, kind)
    exchange.has_started = True
    head = {"type": "http.response.start", "status": start.status, "headers": start.headers}
    await exchange.send(head)
    while (part := await _read_body(reader)).more:
        await exchange.send({"type": "http.response.body", "body": part.body, "more_body": True})
    await exchange.send({"type": "http.response.body", "body": part.body})
    return None


async def _read_body(reader: asyncio.StreamReader) -> _Body:
    found = await _read(reader)
    if not isinstance(found, _Body):
        raise PipeClosed
    return found


async def _read(reader: asyncio.StreamReader) -> _Frame:
    length = int.from_bytes(await reader.readexactly(_HEADER), "little")
    if length > _MAX_FRAME:
        raise PipeClosed
    found: _Frame = _decode(await reader.readexactly(length))
    return found


def _write(writer: asyncio.StreamWriter, frame: _Frame) -> None:
    body = _encode(frame)
    writer.write(len(body).to_bytes(_HEADER, "little") + body)
