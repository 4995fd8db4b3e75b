"""Server-sent events out of a stream of bytes, as the HTML standard reads them.

Data stays bytes: it is a message, which has to be kept exactly as it came.
"""

import re
from typing import Final

import msgspec

from accord.errors import PeerError

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"
_MOST_DIGITS: Final = 9


class Event(msgspec.Struct, frozen=True):
    """One event, with the id that was the last one when it came."""

    data: bytes
    type: str = "message"
    id: str = ""


class Events:
    """Feed it chunks as they come; it gives back the events that are complete.

    `last_id` and `retry`, in milliseconds, are what the stream has said so far, for whoever has
    to come back to it.
    """

    def __init__(self, limit: int) -> None:
        self.last_id = ""
        self.retry: int | None = None
        self._limit = limit
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._is_first = True
        self._after_cr = False
        self._id = ""
        self._type = ""
        self._data: bytearray | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes. An event beyond the limit is a PeerError."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):  # the other half of a CRLF
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        *lines, rest = _LINE_END.split(chunk)
        events = []
        for line in lines:
            self._grow(line)
            event = self._take(self._whole_line())
            if event is not None:
                events.append(event)
        self._grow(rest)
        return events

    def _grow(self, part: bytes) -> None:
        if part:
            self._partial.append(part)
            self._partial_size += len(part)
            if self._partial_size + len(self._data or b"") > self._limit:
                raise PeerError(f"an event of the stream is longer than {self._limit} bytes")

    def _whole_line(self) -> bytes:
        line = b"".join(self._partial)
        self._partial.clear()
        self._partial_size = 0
        if self._is_first:
            self._is_first = False
            return line.removeprefix(_BOM)
        return line

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._add(value)
            case b"event":
                self._type = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) <= _MOST_DIGITS:
                self.retry = int(value)
        return None

    def _add(self, line: bytes) -> None:
        """One more line of data, in one piece with the others: each alone would take more room."""
        if self._data is None:
            self._data = bytearray(line)
        else:
            self._data += b"\n"
            self._data += line

    def _dispatch(self) -> Event | None:
        self.last_id = self._id
        event = None
        if self._data is not None:
            event = Event(bytes(self._data), self._type or "message", self.last_id)
        self._type = ""
        self._data = None
        return event
