"""Writes log lines to standard error from a thread, so that no call waits for them."""

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from time import sleep
from typing import Final

_STDERR: Final = 2
_MAX_QUEUED: Final = 10_000
_PAUSE: Final = 0.05  # seconds between two writes: under load a thread is woken for many lines
_FLUSH_SECONDS: Final = 0.2  # for what is still queued when Python exits


class LogWriter:
    """Queues text for a thread that writes it; drops it when the queue is full."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.lock: int | None = None
        """The descriptor of a file that is locked while it writes."""
        self._waiting: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        threading.Thread(target=self._serve, name="accord-log", daemon=True).start()
        atexit.register(self._finish)

    def write(self, text: str) -> None:
        """Queue a text. Safe in any thread."""
        if self._waiting.qsize() < _MAX_QUEUED:
            self._waiting.put(text.encode(errors="backslashreplace"))

    def _finish(self) -> None:
        """Wait a moment for the queued lines to be written."""
        written = threading.Event()
        self._waiting.put(written)
        written.wait(_FLUSH_SECONDS)

    def _serve(self) -> None:
        while True:
            items = [self._waiting.get()]
            items += [self._waiting.get() for _ in range(self._waiting.qsize())]
            self._write(b"".join(item for item in items if isinstance(item, bytes)))
            for item in items:
                if isinstance(item, threading.Event):
                    item.set()
            sleep(_PAUSE)

    def _write(self, text: bytes) -> None:
        with suppress(OSError), self._locked():  # standard error is closed
            while text:
                text = text[os.write(self._descriptor, text) :]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self.lock is None:
            yield
            return
        from fcntl import LOCK_EX, LOCK_UN, flock  # not on Windows

        flock(self.lock, LOCK_EX)
        try:
            yield
        finally:
            flock(self.lock, LOCK_UN)


def lock_with(path: Path) -> None:
    """Lock a file while writing to standard error: lines of several processes stay whole."""
    stderr().lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


@cache
def stderr() -> LogWriter:
    """Return the writer of this process; sharing it keeps lines in order."""
    return LogWriter(_STDERR)
