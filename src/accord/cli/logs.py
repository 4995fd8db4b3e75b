"""Logging to standard error that never holds up a server."""

import logging

from accord.serve import background


def log_in_background() -> None:
    """Send all logging to standard error, from a thread of its own."""
    handler = _Background()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])


class _Background(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._writer = background.stderr()

    def emit(self, record: logging.LogRecord) -> None:
        self._writer.write(self.format(record) + "\n")
