"""Logging to standard error: at once, or so that it never holds up a server."""

import logging
from typing import Final

from accord.serve import background

_FORMAT: Final = "%(levelname)s %(name)s: %(message)s"


def log_at_once() -> None:
    """Send all logging to standard error."""
    logging.basicConfig(format=_FORMAT)


def log_in_background() -> None:
    """Send all logging to standard error, from a thread of its own."""
    handler = _Background()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler])


class _Background(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._writer = background.stderr()

    def emit(self, record: logging.LogRecord) -> None:
        self._writer.write(self.format(record) + "\n")
