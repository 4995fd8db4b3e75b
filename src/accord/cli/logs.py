"""Logging to standard error that never holds up a server: not even if nobody reads it."""

import logging
import os
import threading
from queue import Queue
from typing import Final

_STDERR: Final = 2
_MOST_WAITING: Final = 10_000
_LAST_WORDS: Final = 0.2  # seconds for what is still to be written when Python ends


def log_in_background() -> None:
    """Send all logging to standard error, from a thread of its own."""
    handler = _Background()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])


class _Background(logging.Handler):
    """Hands records to a thread; drops them when it is far behind."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: Queue[bytes | threading.Event] = Queue(_MOST_WAITING)
        threading.Thread(target=self._write, name="accord-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record) + "\n"
        if not self._waiting.full():
            self._waiting.put(line.encode(errors="backslashreplace"))

    def close(self) -> None:
        """Called when logging shuts down: let the last lines out, if they are wanted."""
        written = threading.Event()
        if not self._waiting.full():
            self._waiting.put(written)
            written.wait(_LAST_WORDS)
        super().close()

    def _write(self) -> None:
        while True:
            item = self._waiting.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            try:
                os.write(_STDERR, item)
            except OSError:  # nobody is there to read it
                return
