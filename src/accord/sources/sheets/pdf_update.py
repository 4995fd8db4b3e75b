"""Incremental PDF updates: objects appended to a form, with a cross-reference table.

The form itself is not rewritten: changed objects follow it (ISO 32000-1, 7.5.6), which is faster
than writing the whole file.
"""

import zlib
from hashlib import blake2b
from itertools import count, groupby
from struct import pack
from typing import Final

from accord.sources.sheets.blank_form import BlankForm

_SMALL_WINDOW: Final = 10
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "(": "\\(", ")": "\\)", "\n": "\\n", "\r": "\\r"})


class PdfUpdate:
    """The new and changed objects of one file."""

    def __init__(self, form: BlankForm) -> None:
        self._form = form
        self._next = count(form.size)
        self._objects: dict[int, bytes] = {}
        self._streams: dict[int, bytes] = {}

    def reserve(self) -> int:
        """Return the number of an object that is set later."""
        return next(self._next)

    def put(self, number: int, body: bytes) -> None:
        """Set the body of an object."""
        self._objects[number] = body

    def add(self, body: bytes) -> int:
        """Add an object and return its number."""
        number = self.reserve()
        self._objects[number] = body
        return number

    def stream(self, data: bytes, entries: str = "") -> int:
        """Add a stream with compressed data and return its number."""
        number = self.reserve()
        self._streams[number] = _stream(data, entries)
        return number

    def finish(self, title: str) -> bytes:
        """Return the file: the form and the update."""
        info = self.add(b"<</Title " + pdf_string(title) + b">>")
        parts, offsets = [self._form.data], {}
        at = len(self._form.data)
        object_stream = self.reserve()
        self._streams[object_stream] = self._object_stream()
        for number, body in self._streams.items():
            written = b"\n%d 0 obj\n%b\nendobj" % (number, body)
            offsets[number] = (1, at + 1, 0)
            parts.append(written)
            at += len(written)
        offsets |= {number: (2, object_stream, i) for i, number in enumerate(self._objects)}
        parts.append(self._cross_reference(offsets, at + 1, info))
        return b"".join(parts)

    def _object_stream(self) -> bytes:
        """Return the object stream with all objects that are not streams."""
        index, at = [], 0
        for number, body in self._objects.items():
            index.append(b"%d %d" % (number, at))
            at += len(body) + 1
        head = b" ".join(index) + b"\n"
        data = zlib.compress(head + b"\n".join(self._objects.values()), 3)
        return _stream(data, f"/Type/ObjStm/N {len(self._objects)}/First {len(head)}")

    def _cross_reference(
        self, offsets: dict[int, tuple[int, int, int]], at: int, info: int
    ) -> bytes:
        number = self.reserve()
        offsets[number] = (1, at, 0)
        order = sorted(offsets)
        runs = [
            list(run) for _, run in groupby(enumerate(order), key=lambda pair: pair[1] - pair[0])
        ]
        index = " ".join(f"{run[0][1]} {len(run)}" for run in runs)
        rows = b"".join(pack(">BIH", *offsets[each]) for each in order)
        form, changed = self._form, blake2b(rows, digest_size=16).hexdigest()
        entries = (
            f"/Type/XRef/Size {number + 1}/W[1 4 2]/Index[{index}]/Prev {form.start}"
            f"/Root {form.root.decode('ascii')}/Info {info} 0 R/ID[<{form.identity}><{changed}>]"
        )
        body = _stream(zlib.compress(rows, 3), entries)
        return b"\n%d 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF\n" % (number, body, at)


def _stream(data: bytes, entries: str) -> bytes:
    head = f"<<{entries}/Filter/FlateDecode/Length {len(data)}>>stream\n".encode("latin-1")
    return b"%b%b\nendstream" % (head, data)


def deflate_small(data: bytes) -> bytes:
    """Compress a few bytes fast: a small window avoids clearing zlib's usual 256 KB."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, _SMALL_WINDOW, 1)
    return compressor.compress(data) + compressor.flush()


def pdf_string(text: str) -> bytes:
    """Return a text as a PDF string."""
    if text.isascii():
        return b"(" + text.translate(_ESCAPED).encode("ascii") + b")"
    return b"<FEFF" + text.encode("utf-16-be").hex().encode("ascii") + b">"
