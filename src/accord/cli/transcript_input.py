"""The input of `accord read`: one reply, or batches of lines as they arrive."""

import io
import json
import select
from collections import deque
from typing import Final, NamedTuple

MAX_BATCH: Final = 512 * 1024
"""Bytes of a batch, unless one line is longer."""


class Batch(NamedTuple):
    """Whole lines, and the number of the first, from 1."""

    lines: bytes
    first: int


class Input:
    """A file or standard input, unbuffered, so that its descriptor can be waited for."""

    def __init__(self, file: io.FileIO, size: int = MAX_BATCH) -> None:
        self._file = file
        self._size = size
        self._peeked: deque[bytes] = deque()
        self._is_exhausted = False
        self._unfinished: list[bytes] = []  # the pieces of a line that has not ended
        self._line = 1

    @property
    def at_end(self) -> bool:
        """True if all of it was returned."""
        return self._is_exhausted and not self._peeked and not self._unfinished

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._file.fileno()

    def is_ready(self) -> bool:
        """True if `batch` need not wait."""
        if self._peeked or self._is_exhausted:
            return True
        poll = select.poll()
        poll.register(self._file, select.POLLIN)
        return bool(poll.poll(0))

    def has_documents(self) -> bool:
        """True if the first two lines that are not blank are JSON documents; returns none of it."""
        found = self._head()
        return len(found) > 1 and _is_document(found[0]) and _is_document(found[1])

    def _head(self) -> list[bytes]:
        """Return the lines up to the second that is not blank, without the blank ones."""
        found: list[bytes] = []
        begun: list[bytes] = []
        while len(found) < 2 and (piece := self._receive()):
            self._peeked.append(piece)
            end, *others = piece.split(b"\n")
            begun.append(end)
            if others:
                found += filter(bytes.strip, [b"".join(begun), *others[:-1]])
                begun = [others[-1]]
        if self._is_exhausted:
            found += filter(bytes.strip, [b"".join(begun)])
        return found

    def read_all(self) -> bytes:
        """Return the whole input."""
        pieces = []
        while piece := self._read():
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def batch(self) -> Batch | None:
        """Return the whole lines of what has arrived; None if no line has ended."""
        lines: list[bytes] = []
        received = 0
        while not received or (received < self._size and self.is_ready()):
            piece = self._read()
            received += len(piece)
            end = piece.rfind(b"\n") + 1
            if end or not piece:
                lines += [*self._unfinished, piece[:end]]
                self._unfinished.clear()
            if end < len(piece):
                self._unfinished.append(piece[end:])
            if not piece:
                break
        whole = b"".join(lines)
        if not whole:
            return None
        batch = Batch(whole, self._line)
        self._line += whole.count(b"\n")
        return batch

    def _read(self) -> bytes:
        return self._peeked.popleft() if self._peeked else self._receive()

    def _receive(self) -> bytes:
        """Return the next piece of the file; nothing at its end, however often it is asked."""
        if self._is_exhausted:
            return b""
        piece = self._file.read(self._size)
        self._is_exhausted = not piece
        return piece


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False
