"""Logging to standard error: directly, or from a background thread that never blocks a server.

A record has at most `MAX_RECORD` bytes. Its message and that of an exception are one line each, and
control characters are escaped, because callers choose parts of both. Tracebacks are indented, so
that none of their lines looks like a record.
"""

import logging
import re
from collections.abc import Iterator
from textwrap import indent
from traceback import TracebackException
from typing import Any, Final

from accord.cli.terminal import visible
from accord.serve import log_writer

MAX_RECORD: Final = 16_384
"""Maximum bytes of a log record with its traceback; the middle of a longer one is left out."""
_MAX_LINE: Final = MAX_RECORD // 4
_MAX_PART: Final = 4 * MAX_RECORD  # before it is escaped
_FRAME: Final = re.compile(r'[ |]*File "|[ |]*Traceback |[ |]*\[Previous line')
_FORMAT_ERRORS: Final = (TypeError, ValueError, KeyError, IndexError, RecursionError)


def log_directly() -> None:
    """Send all logging to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(BoundedFormatter())
    logging.basicConfig(handlers=[handler])


def log_in_background() -> None:
    """Send all logging to standard error, written by a background thread."""
    handler = _Background()
    handler.setFormatter(BoundedFormatter())
    logging.basicConfig(handlers=[handler])


class _Background(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._writer = log_writer.stderr()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._writer.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 - as in every handler: logging raises nothing
            self.handleError(record)


class BoundedFormatter(logging.Formatter):
    """Formats a record within `MAX_RECORD` bytes: `LEVEL NAME: MESSAGE`, then its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; only a traceback has several lines."""
        head = f"{record.levelname} {record.name}: {_message(record)}"
        parts = [shorten(visible(shorten(head, _MAX_PART)), _MAX_LINE)]
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(_rendered(record.exc_info))
        if record.stack_info:
            parts.append(visible(shorten(record.stack_info, _MAX_PART), keeps_lines=True))
        return shorten("\n".join(parts), MAX_RECORD)


def shorten(text: str, max_bytes: int) -> str:
    """Cut a text to `max_bytes` bytes: its beginning, a note, and its end."""
    if len(text) * 4 <= max_bytes:
        return text
    encoded = text.encode(errors="backslashreplace")
    if len(encoded) <= max_bytes:
        return text
    note = f" … {len(encoded) - max_bytes:,} bytes left out … "
    room = (max_bytes - len(note.encode())) // 2
    head, tail = encoded[:room], encoded[-room:]
    return head.decode(errors="ignore") + note + tail.decode(errors="ignore")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except _FORMAT_ERRORS:
        return f"{record.msg!s:.200} (invalid arguments)"


def _rendered(exc_info: Any) -> str:
    try:
        found = TracebackException(*exc_info, compact=True)
        return indent("".join(_lines(found)).rstrip("\n"), "  ")
    except RecursionError:  # exception groups inside of each other
        return f"  {exc_info[0].__name__}: the traceback is nested too deeply"


def _lines(found: TracebackException) -> Iterator[str]:
    """Yield the parts of a traceback; the message of an exception is one line."""
    for part in found.format():
        cut = shorten(part, _MAX_PART)
        if _FRAME.match(part):
            yield visible(cut, keeps_lines=True)
        else:
            yield shorten(visible(cut.strip("\n")), _MAX_LINE) + "\n"
