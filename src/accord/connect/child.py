"""A server as a child process: messages on its input and output, one a line."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from os import PathLike
from typing import Final, NamedTuple

from accord.connect.faults import Gone
from accord.connect.inbox import Inbox
from accord.connect.messages import Outgoing, Reply
from accord.errors import PeerError

_GRACE: Final = 2.0  # seconds that a server has at each step of its end
_MOMENT: Final = 1.0  # seconds for what follows from an end: the exit code, the last words
_KEPT: Final = 16_384  # bytes of its stderr
_LAST_LINES: Final = 10
_UNREAD: Final = 1 << 20  # bytes it has not read at which its own requests go unanswered
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has one way to end a process
_NOISE: Final = 1_024  # bytes that are kept of a line that is too long


class Command(NamedTuple):
    """What to run, and where."""

    words: Sequence[str]
    cwd: str | PathLike[str] | None = None
    env: Mapping[str, str] | None = None


class _Pipes(asyncio.SubprocessProtocol):
    """The three pipes of a child. asyncio's own waits for a grandchild that holds one of them."""

    def __init__(self, limit: int) -> None:
        self.stdout = asyncio.StreamReader(limit)
        self.stderr = asyncio.StreamReader()
        self.writable = asyncio.Event()
        self.writable.set()
        self.is_deaf = False
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        for descriptor, stream in ((1, self.stdout), (2, self.stderr)):
            pipe = transport.get_pipe_transport(descriptor)
            assert pipe is not None
            stream.set_transport(pipe)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.is_deaf = True
            self.writable.set()
        else:
            (self.stdout if fd == 1 else self.stderr).feed_eof()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


class Child:
    """A running server, alone in a process group of its own."""

    has_headers = False

    def __init__(
        self, transport: asyncio.SubprocessTransport, pipes: _Pipes, inbox: Inbox, limit: int
    ) -> None:
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._transport = transport
        self._pipes = pipes
        self._stdin = stdin
        self._inbox = inbox
        self._limit = limit
        self._stderr = b""
        self._end = ""
        self._hearing = asyncio.create_task(self._hear())
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Command, inbox: Inbox, limit: int) -> "Child":
        """Run it, or raise a PeerError that says why that cannot be."""
        try:
            transport, pipes = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Pipes(limit),
                *command.words,
                cwd=command.cwd,
                env=command.env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in one of the words
            reason = getattr(error, "strerror", None) or str(error)
            raise PeerError(f"cannot start {command.words[0]!r}: {reason}") from error
        return cls(transport, pipes, inbox, limit)

    async def exchange(self, request: Outgoing, answer: "asyncio.Future[Reply]") -> None:
        """Write a request; what is read brings its answer, or the news that none will come."""
        await self.send(request)

    async def send(self, message: Outgoing) -> None:
        """Write a message, as soon as the server has read what it was sent before."""
        if not self._pipes.is_deaf:
            self._write(message)
            await self._pipes.writable.wait()
        if self._pipes.is_deaf:
            await asyncio.wait([self._reading], timeout=_MOMENT)
            raise Gone(self._end or f"the server has closed its input{self.hint()}")
        if self._end:
            raise Gone(self._end)

    def cancel(self, request: Outgoing, notice: Outgoing) -> None:
        """Say that nobody waits any longer."""
        if not self._end and not self._pipes.is_deaf:
            self._write(notice)

    def hint(self) -> str:
        """The last lines of what the server wrote to stderr."""
        lines = self._stderr.decode(errors="replace").split("\n")
        words = "\n".join(lines[-_LAST_LINES - 1 :]).strip()
        return f"; its stderr ends:\n{words}" if words else ""

    async def close(self) -> None:
        """End the server: close its input, wait, ask, and at last kill it and its children."""
        try:
            self._stdin.close()
            if not await _comes(self._pipes.exited, _GRACE):
                self._signal(signal.SIGTERM)
                await _comes(self._pipes.exited, _GRACE)
        finally:
            self._signal(_KILL)
            await _comes(self._pipes.exited, _MOMENT)
            if self._stdin.get_write_buffer_size():
                self._stdin.abort()
            self._transport.close()
            self._reading.cancel()
            self._hearing.cancel()
            await asyncio.wait([self._reading, self._hearing])
            await _comes(self._pipes.closed, _MOMENT)

    def _write(self, message: Outgoing) -> None:
        self._inbox.record.add("sent", message.raw)
        self._stdin.write(message.raw + b"\n")

    async def _read(self) -> None:
        async for line in self._lines():
            for reply in self._inbox.receive(line):
                if self._stdin.get_write_buffer_size() < _UNREAD:
                    self._write(reply)
        await _comes(self._pipes.exited, _MOMENT)
        await asyncio.wait([self._hearing], timeout=_MOMENT)
        self._end = f"{self._how_it_ended()}{self.hint()}"
        self._inbox.lose(Gone(self._end))

    async def _lines(self) -> AsyncIterator[bytes]:
        stdout = self._pipes.stdout
        is_skipping = False
        is_open = True
        while is_open:
            try:
                line = await stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                is_open = False
            except asyncio.LimitOverrunError as overrun:
                head = await stdout.readexactly(overrun.consumed)
                if not is_skipping:
                    self._refuse(head)
                is_skipping = True
                continue
            if not is_skipping and line.strip():
                yield line.rstrip(b"\r\n")
            is_skipping = False

    def _refuse(self, head: bytes) -> None:
        """Whose answer it is may be said at the end of the line alone, so nobody waits on."""
        self._inbox.noise(head[:_NOISE])
        self._inbox.lose(PeerError(f"the server sent a line longer than {self._limit} bytes"))

    async def _hear(self) -> None:
        while chunk := await self._pipes.stderr.read(_KEPT):
            self._stderr = (self._stderr + chunk)[-_KEPT:]

    def _how_it_ended(self) -> str:
        code = self._transport.get_returncode()
        if code is None:
            return "the server has closed its output"
        if code < 0:
            return f"the server was ended by {_signal_name(-code)}"
        return f"the server ended with exit code {code}"

    def _signal(self, number: int) -> None:
        # PermissionError is what macOS says of a process that is dead but not yet reaped.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self._transport.get_pid(), number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _comes(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
