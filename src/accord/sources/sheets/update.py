"""An update to a PDF: objects appended to it, and a table that says where they are.

A form is the same for every sheet, so it is not written again: what changed is put after it, as PDF
has it for files that are saved again and again (ISO 32000-1, 7.5.6). That takes a third of the time
that writing it all anew would.
"""

import zlib
from hashlib import blake2b
from itertools import count, groupby
from struct import pack
from typing import Final

from accord.sources.sheets.blank import Blank

_SMALL_WINDOW: Final = 10
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "(": "\\(", ")": "\\)", "\n": "\\n", "\r": "\\r"})


class Update:
    """What is new in one file."""

    def __init__(self, blank: Blank) -> None:
        self._blank = blank
        self._next = count(blank.size)
        self._objects: dict[int, bytes] = {}
        self._streams: dict[int, bytes] = {}

    def reserve(self) -> int:
        """The number of an object that is to come."""
        return next(self._next)

    def put(self, number: int, body: bytes) -> None:
        """What an object is from now on."""
        self._objects[number] = body

    def add(self, body: bytes) -> int:
        """A new object."""
        number = self.reserve()
        self._objects[number] = body
        return number

    def stream(self, data: bytes, entries: str = "") -> int:
        """A new stream; its data are compressed already."""
        number = self.reserve()
        self._streams[number] = _stream(data, entries)
        return number

    def finish(self, title: str) -> bytes:
        """The file: the form, and all that is new."""
        info = self.add(b"<</Title " + string(title) + b">>")
        parts, places = [self._blank.data], {}
        at = len(self._blank.data)
        pack_number = self.reserve()
        self._streams[pack_number] = self._packed()
        for number, body in self._streams.items():
            written = b"\n%d 0 obj\n%b\nendobj" % (number, body)
            places[number] = (1, at + 1, 0)
            parts.append(written)
            at += len(written)
        places |= {number: (2, pack_number, i) for i, number in enumerate(self._objects)}
        parts.append(self._table(places, at + 1, info))
        return b"".join(parts)

    def _packed(self) -> bytes:
        """All objects that are no streams, in one that is."""
        index, at = [], 0
        for number, body in self._objects.items():
            index.append(b"%d %d" % (number, at))
            at += len(body) + 1
        head = b" ".join(index) + b"\n"
        data = zlib.compress(head + b"\n".join(self._objects.values()), 3)
        return _stream(data, f"/Type/ObjStm/N {len(self._objects)}/First {len(head)}")

    def _table(self, places: dict[int, tuple[int, int, int]], at: int, info: int) -> bytes:
        number = self.reserve()
        places[number] = (1, at, 0)
        order = sorted(places)
        runs = [
            list(run) for _, run in groupby(enumerate(order), key=lambda pair: pair[1] - pair[0])
        ]
        index = " ".join(f"{run[0][1]} {len(run)}" for run in runs)
        rows = b"".join(pack(">BIH", *places[each]) for each in order)
        blank, changed = self._blank, blake2b(rows, digest_size=16).hexdigest()
        entries = (
            f"/Type/XRef/Size {number + 1}/W[1 4 2]/Index[{index}]/Prev {blank.start}"
            f"/Root {blank.root.decode('ascii')}/Info {info} 0 R/ID[<{blank.identity}><{changed}>]"
        )
        body = _stream(zlib.compress(rows, 3), entries)
        return b"\n%d 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF\n" % (number, body, at)


def _stream(data: bytes, entries: str) -> bytes:
    head = f"<<{entries}/Filter/FlateDecode/Length {len(data)}>>stream\n".encode("latin-1")
    return b"%b%b\nendstream" % (head, data)


def squeezed(data: bytes) -> bytes:
    """Few bytes compressed in little time: zlib's usual window is a quarter megabyte to clear."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, _SMALL_WINDOW, 1)
    return compressor.compress(data) + compressor.flush()


def string(text: str) -> bytes:
    """A text as a PDF has it."""
    if text.isascii():
        return b"(" + text.translate(_ESCAPED).encode("ascii") + b")"
    return b"<FEFF" + text.encode("utf-16-be").hex().encode("ascii") + b">"
