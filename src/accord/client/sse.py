"""A decoder of server-sent events, after the HTML standard.

Data stays bytes: a message is logged exactly as it was received.
"""

import re
from typing import Final

import msgspec

from accord.errors import PeerError

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"
_MAX_DIGITS: Final = 9


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event, with the last event id of the stream."""

    data: bytes
    type: str = "message"
    id: str = ""


class EventStreamDecoder:
    """Decodes chunks of a stream into events.

    `last_id` and `retry`, in milliseconds, are for resuming the stream.
    """

    def __init__(self, limit: int) -> None:
        self.last_id: str = ""
        self.retry: int | None = None
        self._limit = limit
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._is_first = True
        self._after_cr = False
        self._id = ""
        self._type = ""
        self._data: bytearray | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that this chunk completes; PeerError if one is beyond the limit."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):  # the other half of a CRLF
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        *lines, partial = _LINE_END.split(chunk)
        events = []
        for line in lines:
            self._grow(line)
            event = self._take(self._whole_line())
            if event is not None:
                events.append(event)
        self._grow(partial)
        return events

    def _grow(self, part: bytes) -> None:
        if part:
            self._partial.append(part)
            self._partial_size += len(part)
            if self._partial_size + len(self._data or b"") > self._limit:
                raise PeerError(f"an event is longer than {self._limit} bytes")

    def _whole_line(self) -> bytes:
        line = b"".join(self._partial)
        self._partial.clear()
        self._partial_size = 0
        if self._is_first:
            self._is_first = False
            return line.removeprefix(_BOM)
        return line

    def _take(self, line: bytes) -> ServerSentEvent | None:
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
            case b"retry" if value.isdigit() and len(value) <= _MAX_DIGITS:
                self.retry = int(value)
        return None

    def _add(self, line: bytes) -> None:
        """Append a line of data; a list of short lines would take far more memory."""
        if self._data is None:
            self._data = bytearray(line)
        else:
            self._data += b"\n"
            self._data += line

    def _dispatch(self) -> ServerSentEvent | None:
        self.last_id = self._id
        event = None
        if self._data is not None:
            event = ServerSentEvent(bytes(self._data), self._type or "message", self.last_id)
        self._type = ""
        self._data = None
        return event
