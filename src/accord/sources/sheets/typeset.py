"""Text set in a typeface: how wide it is, how it breaks into lines, how small it has to be."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from accord.sources.sheets.font import FONTS, Font, load
from accord.sources.sheets.script import visual

LEADING: Final = 1.18
"""From one line to the next, in sizes."""
_STEP: Final = 0.5
_REPLACEMENT: Final = "□"
_UNSEEN: Final = frozenset({"Cc", "Cf", "Mn", "Zs", "Zl", "Zp"})
_EAST: Final = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # breaks anywhere
_WORD: Final = re.compile(rf"(?:[{_EAST}]|[^\s{_EAST}]+|(?=\s))\s*")
OWN_FONTS: Final = (FONTS / "DejaVuSansCondensed.ttf", FONTS / "DroidSansFallback.ttf")


class Glyph(NamedTuple):
    """A character drawn: by which of the fonts, as which of its glyphs, how wide."""

    font: int
    number: int
    width: float


class Typeface:
    """Several fonts as one: the first that has a character draws it."""

    def __init__(self, further: Sequence[Path] = ()) -> None:
        self._paths = (OWN_FONTS[0], *further, OWN_FONTS[1])
        self._widths = _Widths(self)
        self.glyphs: dict[str, Glyph] = {}
        for path in further:
            load(path)

    def font(self, index: int) -> Font:
        """One of the fonts; it is read when it is first needed."""
        return load(self._paths[index])

    def glyph(self, character: str) -> Glyph:
        """How a character is drawn; one that no font has is drawn as an empty box."""
        found = self.glyphs.get(character)
        if found is None:
            found = self.glyphs[character] = self._find(character) or self._stand_in(character)
        return found

    def lacks(self, text: str) -> list[str]:
        """The characters of a text that no font here can draw, and that should be seen."""
        return [
            character
            for character in dict.fromkeys(text)
            if not character.isascii()
            and unicodedata.category(character) not in _UNSEEN
            and self._find(character) is None
        ]

    def width(self, text: str) -> float:
        """How wide a text is at size 1."""
        return sum(map(self._widths.__getitem__, text)) / 1000

    def _find(self, character: str) -> Glyph | None:
        for index in range(len(self._paths)):
            font = self.font(index)
            number = font.glyph(character)
            if number:
                return Glyph(index, number, font.width(number))
        return None

    def _stand_in(self, character: str) -> Glyph:
        if character.isspace():
            return self.glyph(" ")
        if unicodedata.category(character) in _UNSEEN:
            return self.glyph("\u200b")
        return self.glyph(_REPLACEMENT)


class _Widths(dict[str, float]):
    """The width of each character, looked up once."""

    def __init__(self, face: Typeface) -> None:
        self._face = face

    def __missing__(self, character: str) -> float:
        width = self[character] = self._face.glyph(character).width
        return width


class Block(NamedTuple):
    """Lines of text, as they are drawn, at one size; `rest` is what found no room."""

    lines: tuple[str, ...]
    size: float
    rest: str = ""


class Room(NamedTuple):
    """A place for text: its width and height, and how large text is there at most and at least."""

    width: float
    height: float
    size: float
    least: float

    @property
    def smallest(self) -> "Room":
        """The same place with text as small as it gets."""
        size = min(self.size, self.least)
        return self._replace(size=size, least=size)

    def lines(self, size: float) -> int:
        """How many lines there are at a size; one at least."""
        return max(int((self.height + 0.01) / (size * LEADING)), 1)

    @property
    def sizes(self) -> Iterator[float]:
        """The sizes to try, from the largest to the smallest."""
        size = self.size
        while size > self.least:
            yield size
            size -= _STEP
        yield self.smallest.size


def set_line(face: Typeface, text: str, room: Room) -> Block:
    """One line, as large as there is room for; what does not fit ends in an ellipsis."""
    drawn = visual(" ".join(text.split()))
    needed = face.width(drawn)
    size = next((each for each in room.sizes if needed * each <= room.width), None)
    if size is not None:
        return Block((drawn,), size)
    size = room.smallest.size
    kept = _cut(face, drawn, room.width / size - face.width("…"))
    return Block((f"{kept.rstrip()}…",), size, rest=text[len(kept) :])


def set_lines(face: Typeface, text: str, room: Room) -> Block:
    """Lines of text, as large as there is room for; at the least size, as many as fit."""
    needed = face.width(text)
    for size in room.sizes:
        if needed * size <= room.width * room.lines(size):
            block = set_some_lines(face, text, room._replace(size=size))
            if not block.rest:
                return block
    return set_some_lines(face, text, room.smallest)


def set_some_lines(face: Typeface, text: str, room: Room) -> Block:
    """As many lines as fit at the room's size, and the text that is left."""
    lines = list(islice(_lines(face, text, room.width / room.size), room.lines(room.size)))
    drawn = tuple(visual(line.rstrip()) for line in lines)
    return Block(drawn, room.size, text[sum(map(len, lines)) :])


def wrap(face: Typeface, text: str, width: float) -> list[str]:
    """Text in lines no wider than this at size 1; together they are the text."""
    return list(_lines(face, text, width))


def _lines(face: Typeface, text: str, width: float) -> Iterator[str]:
    for paragraph in text.splitlines(keepends=True):
        yield from _wrapped(face, paragraph, width)


def _wrapped(face: Typeface, paragraph: str, width: float) -> Iterator[str]:
    """The lines of one paragraph; a word that is too long for a line is broken."""
    if face.width(paragraph.rstrip()) <= width:
        yield paragraph
        return
    line, used = "", 0.0
    for word in _words(face, paragraph, width):
        if line and used + face.width(word.rstrip()) > width:
            yield line
            line, used = "", 0.0
        line += word
        used += face.width(word)
    if line:
        yield line


def _words(face: Typeface, paragraph: str, width: float) -> Iterator[str]:
    """The words of a paragraph with the blanks after them; long ones in parts that fit a line."""
    for word in _WORD.findall(paragraph):
        rest = word
        while len(rest) > 1 and face.width(rest.rstrip()) > width:
            kept = _cut(face, rest, width) or rest[0]
            yield kept
            rest = rest[len(kept) :]
        yield rest


def _cut(face: Typeface, text: str, width: float) -> str:
    """The beginning of a text that is no wider than this at size 1."""
    used = 0.0
    for index, character in enumerate(text):
        used += face.glyph(character).width / 1000
        if used > width:
            return text[:index]
    return text
