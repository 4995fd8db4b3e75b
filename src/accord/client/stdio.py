"""The stdio transport: a server as a child process, one message per line."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Final, NamedTuple, cast

from accord.client.dispatcher import Dispatcher
from accord.client.guard import Guard
from accord.client.messages import Disconnected, Outgoing, Reply
from accord.errors import PeerError
from accord.protocol.framing import Lines, Overlong

_GRACE: Final = 2.0  # seconds for each step of shutting a server down
_EXIT_WAIT: Final = 1.0  # seconds for the exit code and the end of stderr to arrive
_MAX_STDERR: Final = 16_384  # bytes of stderr that are kept
_STDERR_LINES: Final = 10  # shown in error messages
_MAX_UNREAD: Final = 1 << 20  # buffered bytes beyond which its requests get no response
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL
_MAX_LOGGED: Final = 1_024  # bytes of an overlong line in the message log


class Command(NamedTuple):
    """The command line of a server, its folder and environment."""

    arguments: Sequence[str]
    cwd: str | PathLike[str] | None = None
    env: Mapping[str, str] | None = None
    is_guarded: bool = False
    """True to end its process group also if this process is killed."""


class _Pipes(asyncio.SubprocessProtocol):
    """The pipes of a child process.

    asyncio's own protocol would wait for a grandchild that holds one of them open.
    """

    def __init__(self) -> None:
        self.on_output: Callable[[bytes], None] = lambda _: None
        self.output_ended: asyncio.Event = asyncio.Event()
        self.stderr: asyncio.StreamReader = asyncio.StreamReader()
        self.writable: asyncio.Event = asyncio.Event()
        self.writable.set()
        self.is_input_closed: bool = False
        self.exited: asyncio.Event = asyncio.Event()
        self.closed: asyncio.Event = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        process = cast(asyncio.SubprocessTransport, transport)  # that of uvloop is no subclass
        pipe = process.get_pipe_transport(2)
        assert pipe is not None
        self.stderr.set_transport(pipe)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.on_output(data)
        else:
            self.stderr.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.is_input_closed = True
            self.writable.set()
        elif fd == 1:
            self.output_ended.set()
        else:
            self.stderr.feed_eof()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


class StdioTransport:
    """A transport to a child process in its own process group."""

    has_headers = False
    in_session = False

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        pipes: _Pipes,
        dispatcher: Dispatcher,
        limit: int,
    ) -> None:
        stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        self._transport = transport
        self._pipes = pipes
        self._stdin = stdin
        self._dispatcher = dispatcher
        self._limit = limit
        self._lines = Lines(limit)
        self._stderr = b""
        self._end_reason = ""
        self._guard: Guard | None = None
        self._stderr_task = asyncio.create_task(self._read_stderr())
        self._end_task = asyncio.create_task(self._end())
        pipes.on_output = self._receive

    @classmethod
    async def start(cls, command: Command, dispatcher: Dispatcher, limit: int) -> "StdioTransport":
        """Start the process, or raise a PeerError with the reason."""
        try:
            transport, pipes = await asyncio.get_running_loop().subprocess_exec(
                _Pipes,
                *command.arguments,
                cwd=command.cwd,
                env=command.env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            reason = getattr(error, "strerror", None) or str(error)
            raise PeerError(f"could not start {command.arguments[0]!r}: {reason}") from error
        started = cls(transport, pipes, dispatcher, limit)
        if command.is_guarded:
            started._guard = Guard(transport.get_pid())
        return started

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        """Write a request; its reply is read from stdout."""
        await self.send(request)

    async def send(self, message: Outgoing) -> None:
        """Write a message, once the server has read the ones before it."""
        if not self._pipes.is_input_closed:
            self._write(message)
            await self._pipes.writable.wait()
        if self._pipes.is_input_closed:
            await asyncio.wait([self._end_task], timeout=_EXIT_WAIT)
            raise Disconnected(
                self._end_reason or f"the server has closed its input{self.diagnostics()}"
            )
        if self._end_reason:
            raise Disconnected(self._end_reason)

    def send_now(self, message: Outgoing) -> bool:
        """Write a message at once; False if the server has to read the ones before it first."""
        pipes = self._pipes
        if self._end_reason or pipes.is_input_closed or not pipes.writable.is_set():
            return False
        self._write(message)
        return True

    async def listening(self) -> None:
        """Return at once: every message arrives in the same way."""

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        """Send the cancellation, unless the server has exited."""
        if not self._end_reason and not self._pipes.is_input_closed:
            self._write(notification)

    def diagnostics(self) -> str:
        """Return the last lines of the server's stderr."""
        lines = self._stderr.decode(errors="replace").split("\n")
        text = "\n".join(lines[-_STDERR_LINES - 1 :]).strip()
        return f"; its stderr ends:\n{text}" if text else ""

    async def close(self) -> None:
        """End the server: close its stdin, then SIGTERM, then SIGKILL the process group."""
        try:
            self._stdin.close()
            if not await _wait_for(self._pipes.exited, _GRACE):
                self._signal(signal.SIGTERM)
                await _wait_for(self._pipes.exited, _GRACE)
        finally:
            self._signal(_KILL)
            if self._guard is not None:
                self._guard.close()
            await _wait_for(self._pipes.exited, _EXIT_WAIT)
            if self._stdin.get_write_buffer_size():
                self._stdin.abort()
            self._transport.close()
            self._end_task.cancel()
            self._stderr_task.cancel()
            await asyncio.wait([self._end_task, self._stderr_task])
            await _wait_for(self._pipes.closed, _EXIT_WAIT)

    def _write(self, message: Outgoing) -> None:
        self._dispatcher.log.add("sent", message.raw)
        self._stdin.write(message.raw + b"\n")

    def _receive(self, chunk: bytes) -> None:
        """Deliver the messages in a chunk of output, without a turn of the loop for each."""
        self._deliver(self._lines.feed(chunk))

    def _deliver(self, lines: Iterable[bytes | Overlong]) -> None:
        for line in lines:
            if isinstance(line, Overlong):
                self._reject_line(line.head)
                continue
            if not line.strip():
                continue
            for reply in self._dispatcher.receive(line.rstrip(b"\r")):
                if self._stdin.get_write_buffer_size() < _MAX_UNREAD:
                    self._write(reply)

    async def _end(self) -> None:
        """Fail what is open once the output has ended, with the reason."""
        await self._pipes.output_ended.wait()
        self._deliver(self._lines.end())
        await _wait_for(self._pipes.exited, _EXIT_WAIT)
        await asyncio.wait([self._stderr_task], timeout=_EXIT_WAIT)
        self._end_reason = f"{self._describe_exit()}{self.diagnostics()}"
        self._dispatcher.fail_all(Disconnected(self._end_reason))

    def _reject_line(self, head: bytes) -> None:
        """Fail all requests: the id of an overlong reply may be at the end of its line."""
        self._dispatcher.add_invalid(head[:_MAX_LOGGED])
        self._dispatcher.fail_all(
            PeerError(f"the server sent a line longer than {self._limit} bytes")
        )

    async def _read_stderr(self) -> None:
        while chunk := await self._pipes.stderr.read(_MAX_STDERR):
            self._stderr = (self._stderr + chunk)[-_MAX_STDERR:]

    def _describe_exit(self) -> str:
        code = self._transport.get_returncode()
        if code is None:
            return "the server has closed its output"
        if code < 0:
            return f"the server was killed by {_signal_name(-code)}"
        return f"the server exited with code {code}"

    def _signal(self, number: int) -> None:
        # macOS raises PermissionError for a process that is dead but not yet reaped.
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


async def _wait_for(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
