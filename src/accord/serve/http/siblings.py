"""Links between the workers of one port, over Unix sockets in a folder that only they can open.

Each worker has a socket there, named after it, and a link to every other worker, for small messages
that concern a session in all workers. A request whose state is in another worker is relayed to it,
on a connection of its own.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from accord.child_process import PipeClosed
from accord.serve.http.exchange import Exchange
from accord.serve.http.links import (
    ACK_SECONDS,
    GONE,
    Ack,
    AnswerRelayed,
    Figures,
    Frame,
    Hello,
    Linked,
    Sent,
    SessionState,
    Wanted,
    decode_frame,
    encode_frame,
    no_owner,
    relay_through,
    serve_relayed,
)
from accord.serve.http.response import Response
from accord.signing import Signer

log: logging.Logger = logging.getLogger("accord")

_PURPOSE: Final = "worker"
_SUFFIX: Final = ".sock"
_NAME_BYTES: Final = 4
_HEADER: Final = 4  # bytes of the length of a frame
_MAX_FRAME: Final = 64 * 1024 * 1024
_MAX_UNSENT: Final = 64 * 1024 * 1024  # bytes for a worker that reads nothing: its link is closed
_RETRY_SECONDS: Final = 0.5


class Siblings:
    """The links of one worker to the others."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self.name: str = secrets.token_hex(_NAME_BYTES)
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
            await asyncio.wait(self._relayed, timeout=ACK_SECONDS)
        for link in list(self._links.values()):
            link.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send(self, worker: str, message: Linked) -> "Awaitable[list[bytes]]":
        """Send a message to one worker that is linked."""
        self._links[worker].send(Sent(0, message))
        return _Acks([])

    def tell(self, message: Linked) -> None:
        """Send a message to all workers."""
        for link in self._links.values():
            link.send(Sent(0, message))

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
            return no_owner()
        return await relay_through(_SocketPipe(reader, writer), exchange, body, self._closing)

    async def _connect(
        self, worker: str, *, is_relay: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path = self._folder / (worker + _SUFFIX)
        reader, writer = await asyncio.open_unix_connection(path)
        proof = self._signer.sign(_PURPOSE, self.name.encode())
        _write(writer, Hello(self.name, proof, is_relay))
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
            link.send(Sent(0, message))
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
            if not isinstance(hello, Hello):
                return
            if self._signer.verify(_PURPOSE, hello.proof) != hello.name.encode():
                return
            if hello.is_relay:
                self._relayed.add(task)
                await serve_relayed(_SocketPipe(reader, writer), self._answer)
                writer.close()
                await writer.wait_closed()
            else:
                await self._follow(hello.name, reader, writer)
        except GONE:
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
                if isinstance(frame, Ack):
                    link.acknowledge(frame)
                elif isinstance(frame, Sent):
                    body = self._take(worker, frame.message)
                    if frame.number:
                        link.send(Ack(frame.number, body))
        except GONE:
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


class _Link:
    """The connection to one worker."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    def send(self, frame: Sent | Ack) -> None:
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
        self.send(Sent(number, message))
        return future

    def acknowledge(self, ack: Ack) -> None:
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
        done, late = await asyncio.wait(self._futures, timeout=ACK_SECONDS)
        for future in late:
            future.cancel()
        return [future.result() for future in done if not future.cancelled()]


class _SocketPipe:
    """A connection for one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_closing(self) -> bool:
        """True if nothing can be written any more."""
        return self._writer.is_closing()

    async def read(self) -> Frame:
        """Return the next frame."""
        return await _read(self._reader)

    async def ended(self) -> None:
        """Wait until the other side has closed it."""
        with suppress(OSError):
            await self._reader.read()

    async def write(self, frame: Frame) -> None:
        """Write a frame, and wait until there is room for more."""
        _write(self._writer, frame)
        await self._writer.drain()

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def _read(reader: asyncio.StreamReader) -> Frame:
    length = int.from_bytes(await reader.readexactly(_HEADER), "little")
    if length > _MAX_FRAME:
        raise PipeClosed
    found: Frame = decode_frame(await reader.readexactly(length))
    return found


def _write(writer: asyncio.StreamWriter, frame: Frame) -> None:
    body = encode_frame(frame)
    writer.write(len(body).to_bytes(_HEADER, "little") + body)
