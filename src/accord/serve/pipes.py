"""Standard input and output for the protocol alone, read and written without blocking the loop."""

import asyncio
import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_CHUNK: Final = 65_536


class Pipes(NamedTuple):
    """The descriptors that carry the protocol, out of everybody else's reach."""

    reader: int
    writer: int


@contextlib.contextmanager
def protected_pipes() -> Iterator[Pipes]:
    """Take standard input and output away from everybody else, until the end of the block.

    Whatever prints, writes to descriptor 1 or starts a chatty child then reaches standard error,
    and whatever reads standard input finds it empty.
    """
    pipes = Pipes(os.dup(0), os.dup(1))
    _flush_stdout()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    try:
        yield pipes
    finally:
        _flush_stdout()
        os.set_blocking(pipes.writer, True)
        os.dup2(pipes.reader, 0)
        os.dup2(pipes.writer, 1)
        os.close(pipes.reader)
        os.close(pipes.writer)


def _flush_stdout() -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


class Input:
    """Chunks of bytes from a descriptor, given to a callback on the loop; `b""` at the end."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None]
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._take = take
        self._wanted = threading.Event()
        self._polls = True
        self._stopped = False
        self.paused = False

    def start(self) -> None:
        """Begin to read: by polling where the system can poll it, else from a thread."""
        try:
            self._loop.add_reader(self._descriptor, self._read)
        except (OSError, NotImplementedError):  # a plain file, or Windows
            self._polls = False
            self._wanted.set()
            threading.Thread(target=self._read_all, name="accord-input", daemon=True).start()

    def pause(self) -> None:
        """Leave what comes in the pipe, so that the peer has to wait."""
        self.paused = True
        self._wanted.clear()
        if self._polls:
            self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        """Go on after `pause`; nothing once stopped."""
        if self._stopped:
            return
        self.paused = False
        self._wanted.set()
        if self._polls:
            self._loop.add_reader(self._descriptor, self._read)

    def stop(self) -> None:
        """Read no more."""
        self.pause()
        self._stopped = True

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._take(chunk)

    def _read_all(self) -> None:
        chunk = b"\n"
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads on
            while chunk:
                self._wanted.wait()
                chunk = os.read(self._descriptor, _CHUNK)
                self._loop.call_soon_threadsafe(self._take, chunk)


class Output:
    """Lines to a descriptor: all that one turn of the loop brings goes out in one write."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, broken: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._broken = broken
        self._lines: list[bytes] = []
        self._unsent = memoryview(b"")
        self._is_waiting = False
        self._drained: asyncio.Future[None] | None = None
        self.backlog = 0
        """How many bytes the peer has not taken yet."""
        mode = os.fstat(descriptor).st_mode
        self._polls = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)  # not a file, nor a terminal
        os.set_blocking(descriptor, not self._polls)

    def send(self, line: bytes) -> None:
        """Send a line at the end of this turn of the loop."""
        if not self.backlog:
            self._loop.call_soon(self._write)
        self._lines.append(line)
        self.backlog += len(line) + 1

    async def drain(self) -> None:
        """Wait until the peer has taken everything."""
        if self.backlog:
            self._drained = self._loop.create_future()
            await self._drained

    def _write(self) -> None:
        try:
            while self._unsent or self._lines:
                if not self._unsent:
                    self._unsent = memoryview(b"\n".join([*self._lines, b""]))
                    self._lines.clear()
                sent = os.write(self._descriptor, self._unsent)
                self._unsent = self._unsent[sent:]
                self.backlog -= sent
        except BlockingIOError:
            pass
        except OSError:
            self._drop()
            self._broken()
        self._wait_for_peer(self.backlog > 0)

    def _drop(self) -> None:
        self._lines.clear()
        self._unsent = memoryview(b"")
        self.backlog = 0

    def _wait_for_peer(self, wait: bool) -> None:
        if wait and not self._is_waiting:
            self._loop.add_writer(self._descriptor, self._write)
        elif self._is_waiting and not wait:
            self._loop.remove_writer(self._descriptor)
        self._is_waiting = wait
        if not wait and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
