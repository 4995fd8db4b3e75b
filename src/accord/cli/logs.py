"""Logging to standard error: at once, or so that it never holds up a server.

A record has at most `MAX_RECORD` bytes. Its message is one line, as is the message of an exception,
and control characters are escaped: a caller chooses parts of both. Tracebacks are indented, so that
none of their lines looks like a record.
"""

import logging
import re
from collections.abc import Iterator
from textwrap import indent
from traceback import TracebackException
from typing import Any, Final

from accord.cli.visible import visible
from accord.serve import log_writer

MAX_RECORD: Final = 16_384
"""Maximum bytes of a log record with its traceback; the middle of a longer one is left out."""
_MAX_LINE: Final = MAX_RECORD // 4
_MAX_PART: Final = 4 * MAX_RECORD  # before it is escaped
_FRAME: Final = re.compile(r'[ |]*File "|[ |]*Traceback |[ |]*\[Previous line')


def log_at_once() -> None:
    """Send all logging to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(BoundedFormatter())
    logging.basicConfig(handlers=[handler])


def log_in_background() -> None:
    """Send all logging to standard error, from a thread of its own."""
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
        """The text of a record; only the lines of a traceback are lines of their own."""
        head = f"{record.levelname} {record.name}: {_message(record)}"
        parts = [shorten(visible(shorten(head, _MAX_PART)), _MAX_LINE)]
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(_rendered(record.exc_info))
        if record.stack_info:
            parts.append(visible(shorten(record.stack_info, _MAX_PART), keeps_lines=True))
        return shorten("\n".join(parts), MAX_RECORD)


def shorten(text: str, most: int) -> str:
    """A text of at most so many bytes: its beginning, a note, and its end."""
    if len(text) * 4 <= most:
        return text
    encoded = text.encode(errors="backslashreplace")
    if len(encoded) <= most:
        return text
    note = f" … {len(encoded) - most:,} bytes left out … "
    room = (most - len(note.encode())) // 2
    head, tail = encoded[:room], encoded[-room:]
    return head.decode(errors="ignore") + note + tail.decode(errors="ignore")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a __str__ or __repr__ of the user's
        text = record.msg if isinstance(record.msg, str) else f"a {type(record.msg).__name__}"
        return f"{text:.200} (its arguments do not fit)"


def _rendered(exc_info: Any) -> str:
    try:
        found = TracebackException(*exc_info, compact=True)
        return indent("".join(_lines(found)).rstrip("\n"), "  ")
    except RecursionError:  # exception groups inside of each other
        return f"  {exc_info[0].__name__}: its traceback is nested too deeply to be shown"


def _lines(found: TracebackException) -> Iterator[str]:
    """Parts of a traceback: a frame has several lines, and what an exception says has one."""
    for part in found.format():
        cut = shorten(part, _MAX_PART)
        if _FRAME.match(part):
            yield visible(cut, keeps_lines=True)
        else:
            yield shorten(visible(cut.strip("\n")), _MAX_LINE) + "\n"
