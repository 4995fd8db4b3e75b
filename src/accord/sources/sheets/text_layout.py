"""Text layout: widths, line breaks, font sizes and right-to-left order.

Hebrew and Arabic run from right to left, and Arabic letters change with their neighbours. Nested
directions are not supported.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Final, NamedTuple

from accord.sources.sheets.font import FONTS, Font, load

_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED: Final = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_FORMS: Final = range(0xFE70, 0xFEFD)
_LAM: Final = "\u0644"
LEADING: Final = 1.22
"""Line height, as a multiple of the font size."""
_STEP: Final = 0.5
_REPLACEMENT: Final = "□"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Mn", "Zs", "Zl", "Zp"})
_EAST: Final = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # breaks anywhere
_WORD: Final = re.compile(rf"(?:[{_EAST}]|[^\s{_EAST}]+|(?=\s))\s*")
BUNDLED_FONTS: Final = (
    FONTS / "Lato-Regular.ttf",  # the face of the bundled form's labels
    FONTS / "DejaVuSansCondensed.ttf",
    FONTS / "DroidSansFallback.ttf",
)


def to_visual_order(text: str) -> str:
    """Return the characters in visual order, from left to right."""
    text = unicodedata.normalize("NFC", text)
    if not _RIGHT_TO_LEFT.search(text):
        return text
    runs = [(is_right, "".join(run)) for is_right, run in groupby(_shaped(text), _direction)]
    runs = list(_joined(runs))
    turned = [run[::-1].translate(_MIRRORED) if is_right else run for is_right, run in runs]
    return "".join(reversed(turned) if _is_right_to_left(text) else turned)


def _direction(character: str) -> bool | None:
    """True if right-to-left, False if left-to-right, None if neutral."""
    match unicodedata.bidirectional(character):
        case "R" | "AL" | "NSM":
            return True
        case "L" | "EN" | "AN":
            return False
    return None


def _joined(runs: list[tuple[bool | None, str]]) -> Iterator[tuple[bool, str]]:
    """Merge neutral runs into the runs around them."""
    base = next((is_right for is_right, _ in runs if is_right is not None), False)
    resolved = []
    for index, (direction, run) in enumerate(runs):
        before = runs[index - 1][0] if index else base
        after = runs[index + 1][0] if index + 1 < len(runs) else base
        neighbour = before if before == after else base
        resolved.append((bool(neighbour if direction is None else direction), run))
    for is_right, group in groupby(resolved, lambda each: each[0]):
        yield is_right, "".join(run for _, run in group)


def _is_right_to_left(text: str) -> bool:
    return next((direction for direction in map(_direction, text) if direction is not None), False)


@cache
def _shapes() -> dict[str, dict[str, str]]:
    """Return the forms of each Arabic letter, by its position in a word."""
    shapes: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        position, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        if position.startswith("<") and letters:
            base = "".join(chr(int(letter, 16)) for letter in letters)
            shapes.setdefault(base, {})[position.strip("<>")] = chr(code)
    return shapes


def _shaped(text: str) -> str:
    shapes, shaped = _shapes(), []
    letters = list(_ligatures(text))
    for index, letter in enumerate(letters):
        forms = shapes.get(letter)
        if forms is None:
            shaped.append(letter)
            continue
        before = index > 0 and "initial" in shapes.get(letters[index - 1], {})
        after = index + 1 < len(letters) and "final" in shapes.get(letters[index + 1], {})
        joins_on = after and "initial" in forms
        position = (
            "medial"
            if before and joins_on
            else "final"
            if before
            else "initial"
            if joins_on
            else "isolated"
        )
        shaped.append(forms.get(position) or forms.get("isolated") or letter)
    return "".join(shaped)


def _ligatures(text: str) -> Iterator[str]:
    """Yield the letters; lam and alef are one ligature."""
    index = 0
    while index < len(text):
        pair = text[index : index + 2]
        width = 2 if pair[0] == _LAM and pair in _shapes() else 1
        yield pair[:width]
        index += width


class Glyph(NamedTuple):
    """A character's font, glyph number and width."""

    font: int
    number: int
    width: float


class Typeface:
    """Several fonts as one: the first that has a character is used."""

    def __init__(self, further: Sequence[Path] = ()) -> None:
        self._paths = (*BUNDLED_FONTS[:2], *further, BUNDLED_FONTS[2])
        self._widths = _Widths(self)
        self.glyphs: dict[str, Glyph] = {}
        for path in further:
            load(path)

    def font(self, index: int) -> Font:
        """Return a font, read on first use."""
        return load(self._paths[index])

    def glyph(self, character: str) -> Glyph:
        """Return the glyph of a character; an empty box if no font has it."""
        found = self.glyphs.get(character)
        if found is None:
            found = self.glyphs[character] = self._find(character) or self._replacement(character)
        return found

    def missing_characters(self, text: str) -> list[str]:
        """Return the visible characters of a text that no font has."""
        return [
            character
            for character in dict.fromkeys(text)
            if not character.isascii()
            and unicodedata.category(character) not in _INVISIBLE
            and self._find(character) is None
        ]

    def width(self, text: str) -> float:
        """Return the width of a text at size 1."""
        return sum(map(self._widths.__getitem__, text)) / 1000

    def _find(self, character: str) -> Glyph | None:
        for index in range(len(self._paths)):
            font = self.font(index)
            number = font.glyph(character)
            if number:
                return Glyph(index, number, font.width(number))
        return None

    def _replacement(self, character: str) -> Glyph:
        if character.isspace():
            return self.glyph(" ")
        if unicodedata.category(character) in _INVISIBLE:
            return self.glyph("\u200b")
        return self.glyph(_REPLACEMENT)


class _Widths(dict[str, float]):
    """Cache of character widths."""

    def __init__(self, face: Typeface) -> None:
        self._face = face

    def __missing__(self, character: str) -> float:
        width = self[character] = self._face.glyph(character).width
        return width


class TextBlock(NamedTuple):
    """Lines of text in visual order at one size; `overflow` is the text that did not fit."""

    lines: tuple[str, ...]
    size: float
    overflow: str = ""


class TextBox(NamedTuple):
    """A box for text: its width and height, and the maximum and minimum font size."""

    width: float
    height: float
    size: float
    min_size: float

    @property
    def smallest(self) -> "TextBox":
        """This box with the minimum font size."""
        size = min(self.size, self.min_size)
        return self._replace(size=size, min_size=size)

    def lines(self, size: float) -> int:
        """Return the number of lines at a size; at least one."""
        return max(int((self.height + 0.01) / (size * LEADING)), 1)

    @property
    def sizes(self) -> Iterator[float]:
        """The font sizes to try, from the largest to the smallest."""
        size = self.size
        while size > self.min_size:
            yield size
            size -= _STEP
        yield self.smallest.size


def layout_line(face: Typeface, text: str, box: TextBox) -> TextBlock:
    """Lay out one line at the largest size that fits; cut it with an ellipsis if none does."""
    drawn = to_visual_order(" ".join(text.split()))
    needed = face.width(drawn)
    size = next((each for each in box.sizes if needed * each <= box.width), None)
    if size is not None:
        return TextBlock((drawn,), size)
    size = box.smallest.size
    start = _cut(face, drawn, box.width / size - face.width("…"))
    return TextBlock((f"{start.rstrip()}…",), size, overflow=text[len(start) :])


def layout_lines(face: Typeface, text: str, box: TextBox) -> TextBlock:
    """Lay out lines at the largest size that fits; at the minimum, as many lines as fit."""
    needed = face.width(text)
    for size in box.sizes:
        if needed * size <= box.width * box.lines(size):
            block = layout_lines_at_size(face, text, box._replace(size=size))
            if not block.overflow:
                return block
    return layout_lines_at_size(face, text, box.smallest)


def layout_lines_at_size(face: Typeface, text: str, box: TextBox) -> TextBlock:
    """Lay out as many lines as fit at the box's size."""
    lines = list(islice(_lines(face, text, box.width / box.size), box.lines(box.size)))
    drawn = tuple(to_visual_order(line.rstrip()) for line in lines)
    return TextBlock(drawn, box.size, text[sum(map(len, lines)) :])


def wrap(face: Typeface, text: str, width: float) -> list[str]:
    """Split text into lines of at most this width at size 1; joined they are the text."""
    return list(_lines(face, text, width))


def _lines(face: Typeface, text: str, width: float) -> Iterator[str]:
    for paragraph in text.splitlines(keepends=True):
        yield from _wrapped(face, paragraph, width)


def _wrapped(face: Typeface, paragraph: str, width: float) -> Iterator[str]:
    """Yield the lines of one paragraph; a word longer than a line is broken."""
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
    """Yield the words of a paragraph with trailing spaces; long ones in parts that fit."""
    for word in _WORD.findall(paragraph):
        remainder = word
        while len(remainder) > 1 and face.width(remainder.rstrip()) > width:
            start = _cut(face, remainder, width) or remainder[0]
            yield start
            remainder = remainder[len(start) :]
        yield remainder


def _cut(face: Typeface, text: str, width: float) -> str:
    """Return the longest start of a text that fits this width at size 1."""
    used = 0.0
    for index, character in enumerate(text):
        used += face.glyph(character).width / 1000
        if used > width:
            return text[:index]
    return text
