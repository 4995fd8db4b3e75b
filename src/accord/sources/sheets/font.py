"""TrueType fonts: glyphs, widths and subsets.

A font is embedded as a subset with glyphs renumbered in order of use, and without hints.
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from sys import byteorder
from typing import Final

from accord.errors import ContractError

FONTS: Final = Path(__file__).parent / "fonts"
_WORDS, _OFFSETS = 0x0001, 0x0002
_SCALE, _MORE, _BOTH_SCALES, _MATRIX, _HINTS = 0x0008, 0x0020, 0x0040, 0x0080, 0x0100
_KEPT_TABLES: Final = ("head", "hhea", "maxp")


class Font:
    """A TrueType font file."""

    def __init__(self, path: Path) -> None:
        self.name: str = path.stem
        try:
            self._data = path.read_bytes()
            self._tables = _directory(self._data)
            self._read()
        except (OSError, struct.error, KeyError, IndexError, ValueError) as error:
            raise ContractError(
                f"{path.name} is not a TrueType font that can be embedded"
            ) from error

    def _read(self) -> None:
        head, hhea = self._table("head"), self._table("hhea")
        self.units: int = struct.unpack_from(">H", head, 18)[0]
        self.box: tuple[int, ...] = struct.unpack_from(">4h", head, 36)
        (is_long,) = struct.unpack_from(">h", head, 50)
        self.ascent: int
        self.descent: int
        self.ascent, self.descent = struct.unpack_from(">2h", hhea, 4)
        self._metrics: int = struct.unpack_from(">H", hhea, 34)[0]
        if not (self.units and self._metrics):
            raise ValueError("no glyph widths")
        self.count: int = struct.unpack_from(">H", self._table("maxp"), 4)[0]
        offsets = _numbers(self._table("loca"), "I" if is_long else "H")
        self._offsets = offsets if is_long else array("I", (offset * 2 for offset in offsets))
        self._widths = _numbers(self._table("hmtx")[: self._metrics * 4], "H")
        self._characters = _CharacterMap(self._table("cmap"))
        self._glyphs = self._tables["glyf"][0]

    def _table(self, tag: str) -> bytes:
        start, length = self._tables[tag]
        return self._data[start : start + length]

    def glyph(self, character: str) -> int:
        """Return the glyph of a character; 0 if the font has none."""
        return self._characters.glyph(ord(character))

    def width(self, glyph: int) -> float:
        """Return the advance width of a glyph, in thousandths of the font size."""
        return self._widths[2 * min(glyph, self._metrics - 1)] * 1000 / self.units

    def thousandths(self, units: int) -> int:
        """Convert font units to thousandths of the font size."""
        return round(units * 1000 / self.units)

    def subset(self, glyphs: Sequence[int]) -> bytes:
        """Return a font file with these glyphs, renumbered from 0 in this order."""
        order = list(dict.fromkeys(glyphs))
        numbers = {glyph: number for number, glyph in enumerate(order)}
        outlines: list[bytes] = []
        for glyph in order:  # grows during iteration: components of a glyph are glyphs
            outline = self._outline(glyph)
            for part in _component_glyphs(outline):
                if part not in numbers:
                    numbers[part] = len(order)
                    order.append(part)
            outlines.append(_without_hints(outline, numbers))
        return _file(self._subset_tables(order, outlines))

    def _subset_tables(self, order: list[int], outlines: list[bytes]) -> dict[str, bytes]:
        tables = {tag: bytearray(self._table(tag)) for tag in _KEPT_TABLES}
        struct.pack_into(">h", tables["head"], 50, 1)
        struct.pack_into(">H", tables["hhea"], 34, len(order))
        struct.pack_into(">H", tables["maxp"], 4, len(order))
        offsets, padded = [0], []
        for outline in outlines:
            padded.append(outline + bytes(-len(outline) % 4))
            offsets.append(offsets[-1] + len(padded[-1]))
        metrics = b"".join(self._metric(glyph) for glyph in order)
        return {
            **{tag: bytes(table) for tag, table in tables.items()},
            "hmtx": metrics,
            "loca": struct.pack(f">{len(offsets)}I", *offsets),
            "glyf": b"".join(padded),
        }

    def _metric(self, glyph: int) -> bytes:
        """Return a glyph's width and left bearing."""
        start = self._tables["hmtx"][0]
        if glyph < self._metrics:
            return self._data[start + 4 * glyph : start + 4 * glyph + 4]
        bearing = start + 4 * self._metrics + 2 * (glyph - self._metrics)
        width = struct.pack(">H", self._widths[2 * (self._metrics - 1)])
        return width + self._data[bearing : bearing + 2]

    def _outline(self, glyph: int) -> bytes:
        start, end = self._offsets[glyph], self._offsets[glyph + 1]
        return self._data[self._glyphs + start : self._glyphs + end]


class _CharacterMap:
    """The character map (cmap) of a font."""

    def __init__(self, table: bytes) -> None:
        (count,) = struct.unpack_from(">H", table, 2)
        records = [struct.unpack_from(">HHI", table, 4 + 8 * index) for index in range(count)]
        offsets = {(platform, encoding): offset for platform, encoding, offset in records}
        if (3, 10) in offsets:
            self._read_groups(table[offsets[3, 10] :])
        else:
            self._read_segments(table[offsets[3, 1] :])

    def _read_groups(self, table: bytes) -> None:
        form, _, _, _, count = struct.unpack_from(">HHIII", table)
        if form != 12:
            raise ValueError(form)
        numbers = _numbers(table[16 : 16 + 12 * count], "I")
        self._starts, self._ends, self._firsts = numbers[::3], numbers[1::3], numbers[2::3]

    def _read_segments(self, table: bytes) -> None:
        form, _, _, twice = struct.unpack_from(">4H", table)
        if form != 4:
            raise ValueError(form)
        columns = _numbers(table[14:], "H")
        count = twice // 2
        ends, starts = columns[:count], columns[count + 1 : 2 * count + 1]
        deltas, offsets = columns[2 * count + 1 : 3 * count + 1], columns[3 * count + 1 :]
        found: list[tuple[int, int]] = []
        for index in range(count):
            for code in range(starts[index], min(ends[index], 0xFFFE) + 1):
                glyph = _segment_glyph(code, index, starts[index], deltas[index], offsets)
                if glyph:
                    found.append((code, glyph))
        self._starts = self._ends = array("I", (code for code, _ in found))
        self._firsts = array("I", (glyph for _, glyph in found))

    def glyph(self, code: int) -> int:
        """Return the glyph of a code point, or 0."""
        at = bisect_left(self._ends, code)
        if at == len(self._ends) or code < self._starts[at]:
            return 0
        return self._firsts[at] + code - self._starts[at]


def _segment_glyph(code: int, index: int, start: int, delta: int, offsets: "array[int]") -> int:
    if not offsets[index]:
        return (code + delta) & 0xFFFF
    glyph = offsets[index + offsets[index] // 2 + code - start]
    return (glyph + delta) & 0xFFFF if glyph else 0


def _directory(data: bytes) -> dict[str, tuple[int, int]]:
    if data[:4] not in (b"\0\1\0\0", b"true"):
        raise ValueError("not TrueType outlines")
    (count,) = struct.unpack_from(">H", data, 4)
    entries = (struct.unpack_from(">4sIII", data, 12 + 16 * index) for index in range(count))
    return {tag.decode("latin-1"): (start, length) for tag, _, start, length in entries}


def _numbers(data: bytes, kind: str) -> "array[int]":
    numbers = array(kind)
    numbers.frombytes(data[: len(data) // numbers.itemsize * numbers.itemsize])
    if byteorder == "little":
        numbers.byteswap()
    return numbers


def _is_composite(outline: bytes) -> bool:
    return len(outline) > 10 and outline[0] >= 0x80


def _components(outline: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the offset, flags and glyph of each component; the end offset last."""
    at, flags = 10, _MORE
    while flags & _MORE:
        flags, glyph = struct.unpack_from(">HH", outline, at)
        yield at, flags, glyph
        at += 8 if flags & _WORDS else 6
        at += 2 if flags & _SCALE else 4 if flags & _BOTH_SCALES else 8 if flags & _MATRIX else 0
    yield at, 0, 0


def _component_glyphs(outline: bytes) -> list[int]:
    if not _is_composite(outline):
        return []
    return [glyph for _, _, glyph in _components(outline)][:-1]


def _without_hints(outline: bytes, numbers: dict[int, int]) -> bytes:
    """Return a glyph without hints, its components renumbered."""
    if not outline:
        return outline
    return (
        _composite_without_hints(outline, numbers)
        if _is_composite(outline)
        else _simple_without_hints(outline)
    )


def _composite_without_hints(outline: bytes, numbers: dict[int, int]) -> bytes:
    changed = bytearray(outline)
    *components, (end, _, _) = _components(outline)
    for at, flags, glyph in components:
        struct.pack_into(">HH", changed, at, flags & ~_HINTS, numbers[glyph])
    return bytes(changed[:end])


def _simple_without_hints(outline: bytes) -> bytes:
    (contours,) = struct.unpack_from(">h", outline)
    at = 10 + 2 * contours
    (length,) = struct.unpack_from(">H", outline, at)
    return outline[:at] + b"\0\0" + outline[at + 2 + length :]


def _file(tables: dict[str, bytes]) -> bytes:
    """Return tables as a font file, without checksums: PDF readers ignore them."""
    start = 12 + 16 * len(tables)
    header = struct.pack(">IHHHH", 0x00010000, len(tables), 0, 0, 0)
    records, bodies = [], []
    for tag in sorted(tables):
        body = tables[tag]
        records.append(struct.pack(">4sIII", tag.encode(), 0, start, len(body)))
        bodies.append(body + bytes(-len(body) % 4))
        start += len(bodies[-1])
    return header + b"".join(records) + b"".join(bodies)


@cache
def load(path: Path) -> Font:
    """Return a font, cached per process."""
    return Font(path)
