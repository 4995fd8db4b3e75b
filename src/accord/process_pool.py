"""A pool of child processes that take messages in turn, and whose results keep their order.

A message is a short header and a body of any length. `ProcessPool` is for the parent; a child reads
with `messages` and replies with `write_message`.
"""

import contextlib
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from accord.child_process import FramedPipe, PipeClosed, spawn_piped, write_frame
from accord.errors import ContractError

_LENGTH: Final = 8  # bytes; they come before the header
_MAX_PIECE: Final = 16 * 1024 * 1024  # bytes of a body in one frame
_PIPE_SIZE: Final = 1024 * 1024
_QUEUED: Final = 2  # messages at a worker: one in work, and one so that it need not wait
_AHEAD: Final = 4  # times the number of workers: messages that may be in the pool
_MAX_ATTEMPTS: Final = 2
_MAIN: Final = (  # Ctrl-C is for the parent, also while the child starts
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "import importlib\n"
    "name, parent, *sys.path[:] = sys.argv[1:]\n"
    "importlib.import_module(name).main(int(parent))"
)


class Message(NamedTuple):
    """What the parent sends, or a child replies."""

    header: bytes
    body: bytes


class WorkerDied(Exception):
    """The workers that had this message ended before they replied to it."""

    def __init__(self, message: Message, status: int) -> None:
        super().__init__(status)
        self.message = message
        self.status = status
        """The exit code, or a negative signal number."""


def frames_of(message: Message) -> Iterator[bytes]:
    """Yield the frames of a message: the length of the body with the header, then the body."""
    header, body = message
    yield len(body).to_bytes(_LENGTH, "little") + header
    for start in range(0, len(body), _MAX_PIECE):
        yield body[start : start + _MAX_PIECE]


class MessageDecoder:
    """Puts messages together from their frames."""

    def __init__(self) -> None:
        self._header: bytes | None = None
        self._pieces: list[bytes] = []
        self._missing = 0

    def feed(self, frame: bytes) -> Message | None:
        """Take a frame; return the message that it completes, if it does."""
        if self._header is None:
            self._missing = int.from_bytes(frame[:_LENGTH], "little")
            self._header = frame[_LENGTH:]
        else:
            self._missing -= len(frame)
            self._pieces.append(frame)
        if self._missing:
            return None
        message = Message(self._header, b"".join(self._pieces))
        self._header, self._pieces = None, []
        return message


def messages(frames: Iterator[bytes]) -> Iterator[Message]:
    """Yield the messages in a stream of frames."""
    decoder = MessageDecoder()
    for frame in frames:
        message = decoder.feed(frame)
        if message is not None:
            yield message


def write_message(descriptor: int, message: Message) -> None:
    """Write a whole message; blocks."""
    for frame in frames_of(message):
        write_frame(descriptor, frame)


class _Entry:
    """A message in the pool, and its result once there is one."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.attempts = 0
        self.result: Message | None = None


class _Worker:
    """A child process, and the messages that it has not replied to, oldest first."""

    def __init__(self, module: str, settings: bytes) -> None:
        self.pid, self.pipe = _spawn(module)
        self.entries: deque[_Entry] = deque()
        self._decoder = MessageDecoder()
        with contextlib.suppress(PipeClosed):  # reported by the first read
            self.pipe.send(settings)

    def send(self, entry: _Entry) -> None:
        self.entries.append(entry)
        with contextlib.suppress(PipeClosed):
            self.pipe.send(*frames_of(entry.message))

    def exchange(self, events: int, descriptor: int) -> None:
        """Go on sending or receiving, or raise PipeClosed."""
        if descriptor == self.pipe.writer:
            self.pipe.flush()
            return
        for frame in self.pipe.receive():
            result = self._decoder.feed(frame)
            if result is not None:
                self.entries.popleft().result = result

    def kill(self) -> int:
        """End the process and return its status."""
        self.pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:
            return 0


def _spawn(module: str) -> tuple[int, FramedPipe]:
    """Start Python with the modules of this one, and neither its variables nor the folder."""
    home = str(Path(__file__).parents[1])
    path = [home, *(each for each in sys.path if each)]
    pid, pipe = spawn_piped([sys.executable, "-I", "-c", _MAIN, module, str(os.getpid()), *path])
    for descriptor in (pipe.reader, pipe.writer):
        _enlarge(descriptor)
    return pid, pipe


def _enlarge(descriptor: int) -> None:
    """Enlarge a pipe, where the system can, so that its ends wait for each other less often."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # the limit of this user
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


class ProcessPool:
    """Up to `jobs` child processes that run `main` of a module; they start when needed.

    A message whose worker dies is sent to a new one, once.
    """

    def __init__(self, module: str, settings: bytes, jobs: int) -> None:
        if not hasattr(os, "posix_spawn"):
            raise ContractError("several processes need Linux or macOS")
        self._module = module
        self._settings = settings
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._entries: deque[_Entry] = deque()

    @property
    def has_room(self) -> bool:
        """True if `submit` may be called."""
        return len(self._entries) < self._jobs * _AHEAD and (
            len(self._workers) < self._jobs
            or any(len(worker.entries) < _QUEUED for worker in self._workers)
        )

    @property
    def is_idle(self) -> bool:
        """True if all results were taken."""
        return not self._entries

    def submit(self, message: Message) -> None:
        """Send a message to the worker that has the fewest."""
        entry = _Entry(message)
        self._entries.append(entry)
        self._assign(entry)

    def _assign(self, entry: _Entry) -> None:
        worker = min(self._workers, key=lambda each: len(each.entries), default=None)
        if worker is None or (worker.entries and len(self._workers) < self._jobs):
            worker = _Worker(self._module, self._settings)
            self._workers.append(worker)
        worker.send(entry)

    def wait(self, descriptor: int | None = None) -> bool:
        """Wait for a worker or for input on the descriptor; return True if there is input.

        Raises WorkerDied if a message has cost two workers their life.
        """
        poll = select.poll()
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
        by_descriptor = {}
        for worker in self._workers:
            poll.register(worker.pipe.reader, select.POLLIN)
            by_descriptor[worker.pipe.reader] = worker
            if worker.pipe.is_full:
                poll.register(worker.pipe.writer, select.POLLOUT)
                by_descriptor[worker.pipe.writer] = worker
        ready = poll.poll()
        dead = []
        for number, events in ready:
            ready_worker = by_descriptor.get(number)
            if ready_worker is not None and ready_worker in self._workers:
                try:
                    ready_worker.exchange(events, number)
                except PipeClosed:
                    self._workers.remove(ready_worker)
                    dead.append(ready_worker)
        for worker in dead:  # only now: none of them must get the messages of another
            self._replace(worker)
        return any(number == descriptor for number, _ in ready)

    def _replace(self, worker: _Worker) -> None:
        """Give the messages of a dead worker to others."""
        status = worker.kill()
        if worker.entries:
            worker.entries[0].attempts += 1
            if worker.entries[0].attempts == _MAX_ATTEMPTS:
                raise WorkerDied(worker.entries[0].message, status)
        for entry in worker.entries:
            self._assign(entry)

    def results(self) -> Iterator[Message]:
        """Yield the results that are next in order, without waiting."""
        while self._entries and self._entries[0].result is not None:
            yield self._entries.popleft().result  # type: ignore[misc]

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *exception: Any) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
