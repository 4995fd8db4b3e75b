"""Splits a stream of bytes into lines of limited length."""

import msgspec


class Overlong(msgspec.Struct, frozen=True):
    """The beginning of a line that is too long; the rest of it is dropped."""

    head: bytes


class Lines:
    """Collects chunks and returns complete lines, without their ends."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Add a chunk and return the lines that it completes."""
        first, *others = chunk.split(b"\n")
        lines: list[bytes | Overlong] = []
        self._grow(first, lines)
        if not others:
            return lines
        if not self._skipping:
            lines.append(self._take())
        self._skipping = False
        rest = others.pop()
        if len(chunk) <= self._limit:
            lines += others
        else:
            lines += (line if len(line) <= self._limit else Overlong(line) for line in others)
        self._grow(rest, lines)
        return lines

    def end(self) -> list[bytes | Overlong]:
        """Return the last line of a stream that ends without a newline."""
        return [self._take()] if self._size else []

    def _grow(self, part: bytes, lines: list[bytes | Overlong]) -> None:
        if self._skipping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            lines.append(Overlong(self._take()))
            self._skipping = True

    def _take(self) -> bytes:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line
