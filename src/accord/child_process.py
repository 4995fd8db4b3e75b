"""Child processes: started with a pipe of frames, and ended when their parent dies.

The parent starts a child with `spawn_piped`, and passes its own process id on the command line. The
child calls `take_pipes` and `end_with_parent`. A frame is a length in four bytes, then the body.
"""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from time import sleep
from typing import Any, Final

_HEADER_SIZE: Final = 4
_READ_SIZE: Final = 64 * 1024
_MAX_FRAME: Final = 64 * 1024 * 1024

_PR_SET_PDEATHSIG: Final = 1
_INTERVAL: Final = 0.2  # seconds between two checks of the parent

_FileAction = tuple[Any, ...]
_Reply = SimpleQueue[int | Exception]
_Request = tuple[list[str], Sequence[_FileAction], _Reply]


class PipeClosed(Exception):
    """The other end of the pipe is closed, or sent something that is not a frame."""


def encode_frame(body: bytes) -> bytes:
    """Return a frame with this body."""
    return len(body).to_bytes(_HEADER_SIZE, "little") + body


class FrameDecoder:
    """Splits a stream of bytes into the bodies of its frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the bodies of all frames that this chunk completes."""
        data: bytes | bytearray = chunk
        if self._buffer:
            self._buffer += chunk
            data = self._buffer
        bodies = []
        start = 0
        while (body := start + _HEADER_SIZE) <= len(data):
            end = body + int.from_bytes(data[start:body], "little")
            if end - body > _MAX_FRAME:
                raise PipeClosed
            if end > len(data):
                break
            bodies.append(bytes(data[body:end]))
            start = end
        if data is self._buffer:
            del self._buffer[:start]
        else:
            self._buffer += data[start:]
        return bodies


def read_frames(descriptor: int) -> Iterator[bytes]:
    """Yield the body of each frame until the other end is closed; blocks."""
    decoder = FrameDecoder()
    while chunk := os.read(descriptor, _READ_SIZE):
        yield from decoder.feed(chunk)


def write_frame(descriptor: int, body: bytes) -> None:
    """Write a whole frame; blocks."""
    view = memoryview(encode_frame(body))
    while view:
        view = view[os.write(descriptor, view) :]


class FramedPipe:
    """Sends and receives frames on two non-blocking descriptors."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        self._decoder = FrameDecoder()
        self._unsent = memoryview(b"")

    @property
    def is_full(self) -> bool:
        """True if bytes are waiting for `flush`."""
        return bool(self._unsent)

    def send(self, *bodies: bytes) -> None:
        """Send frames as far as the pipe has room, or raise PipeClosed."""
        self._unsent = memoryview(b"".join([self._unsent, *map(encode_frame, bodies)]))
        self.flush()

    def flush(self) -> None:
        """Send more of the unsent bytes, or raise PipeClosed."""
        try:
            sent = os.write(self.writer, self._unsent)
        except BlockingIOError:
            return
        except BrokenPipeError as error:
            raise PipeClosed from error
        self._unsent = self._unsent[sent:] or memoryview(b"")

    def receive(self) -> list[bytes]:
        """Return the bodies of the frames that have arrived, or raise PipeClosed."""
        try:
            chunk = os.read(self.reader, _READ_SIZE)
        except BlockingIOError:
            return []
        if not chunk:
            raise PipeClosed
        return self._decoder.feed(chunk)

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self.reader)
        os.close(self.writer)


def spawn_piped(command: list[str]) -> tuple[int, FramedPipe]:
    """Start a child with our environment; return its process id, and the pipe to it.

    Its standard input and output are the other end of the pipe.
    """
    child_in, parent_out = os.pipe()
    try:
        parent_in, child_out = os.pipe()
    except OSError:
        os.close(child_in)
        os.close(parent_out)
        raise
    pipe = FramedPipe(parent_in, parent_out)
    try:
        pid = _spawn(
            command, [(os.POSIX_SPAWN_DUP2, child_in, 0), (os.POSIX_SPAWN_DUP2, child_out, 1)]
        )
    except OSError:
        pipe.close()
        raise
    finally:
        os.close(child_in)
        os.close(child_out)
    return pid, pipe


def take_pipes() -> tuple[int, int]:
    """Return duplicates of standard input and output; `print` then writes to standard error."""
    source, target = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return source, target


def end_with_parent(parent: int, *, can_be_released: bool = False) -> None:
    """Make this process end when its parent, whose process id is `parent`, dies.

    On Linux the kernel kills it, also if it is stopped or inside a C function. Elsewhere a thread
    checks the parent; also in a child that `can_be_released`, which outlives its parent if that
    calls `release`.
    """
    if can_be_released:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])  # so that it stays pending
    if can_be_released or not _set_parent_death_signal():
        threading.Thread(target=_watch, args=[parent], name="accord-watch", daemon=True).start()
    elif os.getppid() != parent:  # it died before prctl was called
        _kill_self()


def release(child: int) -> None:
    """Let a child that can be released outlive this process."""
    os.kill(child, signal.SIGUSR1)


def _set_parent_death_signal() -> bool:
    """Make the kernel kill this process with its parent; False if it cannot."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, or a static one
        return False
    return bool(prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)) == 0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_INTERVAL)
    if signal.SIGUSR1 not in signal.sigpending():
        _kill_self()


def _kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _spawn(command: list[str], file_actions: Sequence[_FileAction]) -> int:
    """Start a child with our environment, like `os.posix_spawn`, and return its process id.

    To the kernel, a child's parent is the thread that started it. So all are started by one
    thread, which lives as long as this process.
    """
    reply: _Reply = SimpleQueue()
    _requests().put((command, file_actions, reply))
    started = reply.get()
    if isinstance(started, Exception):
        raise started
    return started


_lock = threading.Lock()
_queue: SimpleQueue[_Request] | None = None


def _requests() -> SimpleQueue[_Request]:
    """Return the request queue of the thread that starts children; start the thread if needed."""
    global _queue  # noqa: PLW0603 - there is one such thread in a process
    with _lock:
        if _queue is None:
            queue: SimpleQueue[_Request] = SimpleQueue()
            thread = threading.Thread(
                target=_start_children, args=[queue], name="accord-spawn", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise OSError(errno.EAGAIN, "No thread could be started") from error
            _queue = queue
        return _queue


def _start_children(queue: SimpleQueue[_Request]) -> None:
    while True:
        command, file_actions, reply = queue.get()
        try:
            pid = os.posix_spawn(command[0], command, os.environ, file_actions=file_actions)
        except (OSError, ValueError, TypeError) as error:
            reply.put(error)
        else:
            reply.put(pid)


def _forget_thread() -> None:
    """Forget the thread in a fork, which has none of its parent's threads."""
    global _lock, _queue
    _lock, _queue = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)
