"""Reads and writes the protocol's pipes without blocking the event loop."""

import asyncio
import contextlib
import io
import os
import select
import signal
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from accord.errors import ContractError

_CHUNK: Final = 16_384  # some hundred calls: more would only pile up their replies
_PIECE: Final = 32_768  # bytes: short lines are joined up to this, longer ones are not copied
_GATHERS: Final = hasattr(os, "writev")  # not on Windows
_STDERR: Final = 2
_HANGUP_CHECK: Final = 0.1  # seconds between looks for a peer that is gone
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Pipes(NamedTuple):
    """The descriptors that carry the protocol, apart from standard input and output."""

    reader: int
    writer: int


def keep_from_forks(pipes: Pipes) -> None:
    """Close the pipes and restore the signals in processes that a tool forks.

    A signal that comes while it is being forked waits until the child can die of it.
    """

    def forget() -> None:
        for descriptor in pipes:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        _let_through()

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS),
        after_in_parent=_let_through,
        after_in_child=forget,
    )


def _let_through() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def take_pipes() -> Pipes:
    """Reserve standard input and output for the protocol, for the rest of the process.

    Prints, writes to descriptor 1 and the output of child processes then go to standard error;
    standard input is empty.
    """
    for descriptor, name in ((0, "input"), (1, "output")):
        try:
            os.fstat(descriptor)
        except OSError as error:
            raise ContractError(f"standard {name} is closed; a client talks through it") from error
    nothing = os.open(os.devnull, os.O_RDWR)  # becomes standard error where that is closed
    pipes = Pipes(os.dup(0), os.dup(1))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    os.dup2(nothing, 0)
    os.dup2(_STDERR, 1)
    if nothing != _STDERR:
        os.close(nothing)
    return pipes


class Input:
    """Reads chunks from a descriptor and passes them to `take`; `b""` at the end.

    `take` returns a function to call next, on a shorter stack.
    """

    def __init__(
        self,
        descriptor: int,
        loop: asyncio.AbstractEventLoop,
        take: Callable[[bytes], Callable[[], None]],
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._take = take
        self._wanted = threading.Event()
        self._polls = True
        self._stopped = False
        self.paused: bool = False

    async def closed(self) -> None:
        """Wait until the peer has closed the pipe, before reading starts; of a file, for ever."""
        poll: Any = getattr(select, "poll", None)  # not on Windows
        if poll is None or stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            await asyncio.Event().wait()
        hangups = poll()
        hangups.register(self._descriptor, getattr(select, "POLLRDHUP", 0))
        while not hangups.poll(0):  # noqa: ASYNC110 - the loop cannot wait for this alone
            await asyncio.sleep(_HANGUP_CHECK)

    def start(self) -> None:
        """Start reading: by polling if the descriptor can be polled, else in a thread."""
        try:
            self._loop.add_reader(self._descriptor, self._read)
        except (OSError, NotImplementedError):  # a plain file, or Windows
            self._polls = False
            self._wanted.set()
            threading.Thread(target=self._read_all, name="accord-input", daemon=True).start()

    def pause(self) -> None:
        """Stop reading, so that the peer's writes block."""
        self.paused = True
        if self._polls:
            self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        """Read again after `pause`; does nothing after `stop`."""
        if self._stopped or not self.paused:
            return
        self.paused = False
        if self._polls:
            self._loop.add_reader(self._descriptor, self._read)
        else:
            self._wanted.set()

    def stop(self) -> None:
        """Stop reading for good."""
        self.pause()
        self._stopped = True

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        run = self._take(chunk)
        run()

    def _read_all(self) -> None:
        """Read chunks in a thread, one at a time: the loop takes each before the next is read."""
        chunk = b"\n"
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while chunk:
                self._wanted.wait()
                self._wanted.clear()
                chunk = os.read(self._descriptor, _CHUNK)
                self._loop.call_soon_threadsafe(self._take_from_thread, chunk)

    def _take_from_thread(self, chunk: bytes) -> None:
        if not self._stopped:
            run = self._take(chunk)
            run()
        if not self.paused:
            self._wanted.set()


class Output:
    """Writes lines to a descriptor: short ones of one turn of the loop together, long ones alone.

    `on_unsent` is given the number of unsent bytes where that may be many; `on_progress` is called
    after each write, `on_broken` when the peer is gone.
    """

    def __init__(
        self,
        descriptor: int,
        loop: asyncio.AbstractEventLoop,
        *,
        on_unsent: Callable[[int], None],
        on_progress: Callable[[], None],
        on_broken: Callable[[], None],
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._on_unsent = on_unsent
        self._on_progress = on_progress
        self._on_broken = on_broken
        self._lines: deque[bytes] = deque()
        self._piece: bytes | None = None
        """The line, or the short lines, being written."""
        self._written = 0
        """Written bytes of the piece and its newline."""
        self._is_waiting = False
        self.backlog: int = 0
        """Bytes that the peer has not taken yet."""
        self._reported = 0
        """The backlog as last given to `on_unsent`."""
        mode = os.fstat(descriptor).st_mode
        self._polls = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)  # not a file, nor a terminal
        os.set_blocking(descriptor, not self._polls)
        if stat.S_ISFIFO(mode):  # readable only when the other end is closed
            loop.add_reader(descriptor, self._break)

    def send(self, line: bytes) -> None:
        """Send a line at the end of this turn of the loop."""
        if not self.backlog:
            self._loop.call_soon(self._write)
        self._lines.append(line)
        self.backlog += len(line) + 1
        if self.backlog > _PIECE:
            if not self._is_waiting:
                with contextlib.suppress(OSError):  # which the end of the turn will meet as well
                    self._push()
            self._report()

    def _write(self) -> None:
        try:
            self._push()
        except BlockingIOError:
            pass
        except OSError:
            self._break()
            return
        if self.backlog or self._is_waiting:
            self._wait_for_peer(self.backlog > 0)
        if self.backlog or self._reported:
            self._report()
        self._on_progress()

    def _report(self) -> None:
        self._reported = self.backlog
        self._on_unsent(self.backlog)

    def _push(self) -> None:
        """Write all, or raise BlockingIOError."""
        while self.backlog:
            piece = self._piece
            if piece is None:
                piece = self._piece = self._next_piece()
            sent = self._write_some(piece)
            self.backlog -= sent
            self._written += sent
            if self._written > len(piece):
                self._piece = None
                self._written = 0

    def _next_piece(self) -> bytes:
        """Take lines off the queue: a long one as it is, or as many short ones as fit together."""
        lines = self._lines
        piece = lines.popleft()
        if len(piece) > _PIECE or not lines:
            return piece
        short, size = [piece], len(piece)
        while lines and size + len(lines[0]) <= _PIECE:
            size += len(lines[0])
            short.append(lines.popleft())
        return b"\n".join(short)

    def _write_some(self, piece: bytes) -> int:
        """Write what is left of a piece, and a newline after it, as far as there is room."""
        rest = memoryview(piece)[self._written :] if self._written else piece
        if _GATHERS:
            return os.writev(self._descriptor, (rest, b"\n"))
        return os.write(self._descriptor, rest or b"\n")

    def _break(self) -> None:
        """Drop the output: the peer is gone."""
        self._loop.remove_reader(self._descriptor)
        self._wait_for_peer(False)
        self._lines.clear()
        self._piece = None
        self._written = 0
        self.backlog = 0
        self._on_broken()

    def _wait_for_peer(self, wait: bool) -> None:
        if wait and not self._is_waiting:
            self._loop.add_writer(self._descriptor, self._write)
        elif self._is_waiting and not wait:
            self._loop.remove_writer(self._descriptor)
        self._is_waiting = wait
