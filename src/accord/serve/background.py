"""Lines on standard error that never hold up a server: not even if nobody reads them."""

import atexit
import os
import threading
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from time import sleep
from typing import Final

_STDERR: Final = 2
_MOST_WAITING: Final = 10_000
_PAUSE: Final = 0.05  # seconds between two writes: under load a thread is woken for many lines
_LAST_WORDS: Final = 0.2  # seconds for what is still to be written when Python ends


class Writer:
    """Hands text to a thread that writes it, and drops it when that is far behind."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        threading.Thread(target=self._serve, name="accord-log", daemon=True).start()
        atexit.register(self._finish)

    def write(self, text: str) -> None:
        """Have it written soon. Safe in any thread."""
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(text.encode(errors="backslashreplace"))

    def _finish(self) -> None:
        """Let the last lines out, if they are wanted."""
        written = threading.Event()
        self._waiting.put(written)
        written.wait(_LAST_WORDS)

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
        with suppress(OSError):  # nobody is there to read it
            while text:
                text = text[os.write(self._descriptor, text) :]


@cache
def stderr() -> Writer:
    """The one that all of this process shares, so that lines keep their order."""
    return Writer(_STDERR)
