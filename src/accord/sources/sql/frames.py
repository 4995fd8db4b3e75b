"""Frames on a pipe: four bytes that say how long, and so many bytes."""

import os
import select
from collections.abc import Callable
from time import monotonic
from typing import Final

_HEAD: Final = 4
_CHUNK: Final = 65_536
_LONGEST: Final = 64 * 1024 * 1024
_GLANCE: Final = 0.1  # seconds after which we ask whether anybody still waits


class Ended(Exception):
    """There is nobody at the other end."""


class Late(Exception):
    """The time is up."""


class GivenUp(Exception):
    """Nobody waits for the answer any more."""


def frame(body: bytes) -> bytes:
    """A frame with this in it."""
    return len(body).to_bytes(_HEAD, "little") + body


def read_frame(descriptor: int) -> bytes | None:
    """The next frame, however long that takes; None where there are no more."""
    data = bytearray()
    while (missing := _missing(data)) > 0:
        chunk = os.read(descriptor, max(missing, _CHUNK) if len(data) < _HEAD else missing)
        if not chunk:
            return None
        data += chunk
    return bytes(data[_HEAD:])


def write_frame(descriptor: int, body: bytes) -> None:
    """Write a frame, however long that takes."""
    view = memoryview(frame(body))
    while view:
        view = view[os.write(descriptor, view) :]


def _missing(data: bytearray) -> int:
    """How many bytes are to come; a frame is alone on its pipe until it has been answered."""
    if len(data) < _HEAD:
        return _HEAD - len(data)
    return _HEAD + int.from_bytes(data[:_HEAD], "little") - len(data)


def _between(least: float, value: float, most: float) -> float:
    return max(least, min(value, most))


class Line:
    """Two descriptors that do not block, to somebody who may not answer in time."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        self._readable = select.poll()
        self._readable.register(reader, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(writer, select.POLLOUT)

    def send(self, body: bytes, deadline: float) -> None:
        """Send a frame, or raise Ended or Late."""
        data = frame(body)
        try:
            sent = os.write(self._writer, data)
            while sent < len(data):
                self._wait(self._writable, deadline)
                sent += self._write(data[sent : sent + _CHUNK])
        except BrokenPipeError as error:
            raise Ended from error

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._writer, data)
        except BlockingIOError:
            return 0

    def receive(self, deadline: float, is_given_up: Callable[[], bool] = lambda: False) -> bytes:
        """The next frame, or raise Ended, Late, or GivenUp where that is so."""
        while not self._readable.poll(_between(0, deadline - monotonic(), _GLANCE) * 1000):
            if monotonic() >= deadline:
                raise Late
            if is_given_up():
                raise GivenUp
        data = os.read(self._reader, _CHUNK)
        if len(data) >= _HEAD and len(data) == _HEAD + int.from_bytes(data[:_HEAD], "little"):
            return data[_HEAD:]
        return self._receive_rest(bytearray(data), deadline)

    def _receive_rest(self, data: bytearray, deadline: float) -> bytes:
        if not data:
            raise Ended
        while (missing := _missing(data)) > 0:
            if missing > _LONGEST:
                raise Ended
            self._wait(self._readable, deadline)
            chunk = os.read(self._reader, _CHUNK)
            if not chunk:
                raise Ended
            data += chunk
        return bytes(data[_HEAD:])

    def _wait(self, poll: "select.poll", deadline: float) -> None:
        if not poll.poll(max(deadline - monotonic(), 0) * 1000):
            raise Late

    def close(self) -> None:
        """Hang up."""
        os.close(self._reader)
        os.close(self._writer)
