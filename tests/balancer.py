"""A balancer that never sticks: each request goes to the next server, on a connection of its own."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Self

_HEAD_END: Final = b"\r\n\r\n"
_GONE: Final = (OSError, EOFError, asyncio.LimitOverrunError)


class Balancer:
    """Runs in a thread; a context manager. A server that refuses a connection is passed over."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        """The servers; a test may change them."""
        self._turn = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        server = loop.run_until_complete(listening)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        loop.run_forever()
        server.close()
        while open_tasks := asyncio.all_tasks(loop):  # connections may just have come
            for task in open_tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*open_tasks, return_exceptions=True))
        loop.run_until_complete(asyncio.sleep(0.05))  # transports close in later turns
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)  # the loop has weak references only
        task.add_done_callback(self._tasks.discard)
        with suppress(*_GONE, asyncio.CancelledError):
            head = await reader.readuntil(_HEAD_END)
            lines = head[: -len(_HEAD_END)].split(b"\r\n")
            fields = [line for line in lines[1:] if not line.lower().startswith(b"connection:")]
            lengths = [f for f in fields if f.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0].partition(b":")[2])) if lengths else b""
            one = b"\r\n".join([lines[0], *fields, b"Connection: close", b"", b""]) + body
            theirs, ours = await self._next()
            ours.write(one)
            gone = asyncio.ensure_future(_until_gone(reader, ours))
            try:
                while part := await theirs.read(1 << 16):
                    writer.write(part)
                    await writer.drain()
            finally:
                gone.cancel()
                await _close(ours)
        await _close(writer)

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the next server that accepts one."""
        for _ in range(2 * len(self.ports)):
            self._turn += 1
            port = self.ports[self._turn % len(self.ports)]
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        raise EOFError


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection; at once if this is cancelled, or nobody reads."""
    writer.close()
    try:
        async with asyncio.timeout(5):
            await writer.wait_closed()
    except (OSError, TimeoutError, asyncio.CancelledError):
        writer.transport.abort()


async def _until_gone(reader: asyncio.StreamReader, ours: asyncio.StreamWriter) -> None:
    """Close the connection to a server once the client has left."""
    with suppress(OSError):
        await reader.read()
        ours.close()


class Forwarder:
    """Forwards the connections of a port to that of a server; a context manager.

    A connection ends with its server, or once another one is the `target`.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=[ours], daemon=True).start()

    def _forward(self, ours: socket.socket) -> None:
        with (
            ours,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.target)) as theirs,
        ):
            back = threading.Thread(target=_copy, args=[theirs, ours], daemon=True)
            back.start()
            _copy(ours, theirs)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
