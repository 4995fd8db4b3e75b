"""Frames on a pipe: four bytes that say how long, and so many bytes."""

import os
from collections.abc import Iterator
from typing import Final

_HEAD: Final = 4
_CHUNK: Final = 64 * 1024
_LONGEST: Final = 64 * 1024 * 1024


class Ended(Exception):
    """There is nobody at the other end, or nobody who makes sense."""


def frame(body: bytes) -> bytes:
    """A frame with this in it."""
    return len(body).to_bytes(_HEAD, "little") + body


class Frames:
    """Cuts what comes in at one end of a pipe into what went in at the other."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that are whole with this."""
        data: bytes | bytearray = chunk
        if self._begun:
            self._begun += chunk
            data = self._begun
        found = []
        start = 0
        while (body := start + _HEAD) <= len(data):
            end = body + int.from_bytes(data[start:body], "little")
            if end - body > _LONGEST:
                raise Ended
            if end > len(data):
                break
            found.append(bytes(data[body:end]))
            start = end
        if data is self._begun:
            del self._begun[:start]
        else:
            self._begun += data[start:]
        return found


def frames_from(descriptor: int) -> Iterator[bytes]:
    """All frames, however long they take, until the other end hangs up."""
    frames = Frames()
    while chunk := os.read(descriptor, _CHUNK):
        yield from frames.feed(chunk)


def write_frame(descriptor: int, body: bytes) -> None:
    """Write a frame, however long that takes."""
    view = memoryview(frame(body))
    while view:
        view = view[os.write(descriptor, view) :]


class Line:
    """Two descriptors, of which neither ever blocks, to somebody who may be gone."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        self._frames = Frames()
        self._unsent = memoryview(b"")

    @property
    def is_full(self) -> bool:
        """Whether there is something left to `flush`."""
        return bool(self._unsent)

    def send(self, *bodies: bytes) -> None:
        """Send frames, as far as there is room for them, or raise Ended."""
        self._unsent = memoryview(b"".join([self._unsent, *map(frame, bodies)]))
        self.flush()

    def flush(self) -> None:
        """Send more of what had no room, or raise Ended."""
        try:
            sent = os.write(self.writer, self._unsent)
        except BlockingIOError:
            return
        except BrokenPipeError as error:
            raise Ended from error
        self._unsent = self._unsent[sent:] or memoryview(b"")

    def receive(self) -> list[bytes]:
        """The frames that have come, or raise Ended."""
        try:
            chunk = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return []
        if not chunk:
            raise Ended
        return self._frames.feed(chunk)

    def close(self) -> None:
        """Hang up."""
        os.close(self.reader)
        os.close(self.writer)
