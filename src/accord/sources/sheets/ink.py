"""What is written into one PDF: glyphs as they are used, and the fonts that go in with them."""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

import msgspec

from accord.sources.sheets.font import Font
from accord.sources.sheets.typeset import Typeface
from accord.sources.sheets.update import Update

COLOUR: Final = "0.11 0.13 0.22 rg"
"""Dark ink: what is filled in differs from what is printed, and is black to a copier."""
_ASCII: Final = "".join(map(chr, range(32, 127)))
_SYMBOLIC: Final = 4
_QUICK: Final = 3


class _Subset(msgspec.Struct, frozen=True):
    """A font with a few glyphs, ready to be embedded; compressed."""

    tag: str
    file: bytes
    length: int
    widths: tuple[int, ...]
    to_unicode: bytes


class _Used:
    """The glyphs of one font that a document uses, numbered in order of use."""

    def __init__(self, font: Font, beginning: str) -> None:
        self.font = font
        self.numbers: dict[int, int] = {0: 0}
        self.characters: dict[int, str] = {}
        self.codes: dict[str, str] = {}
        for character in beginning:
            self.add(font.glyph(character), character)

    def add(self, glyph: int, character: str) -> None:
        """Number a glyph, as a PDF has it in its text."""
        number = self.numbers.setdefault(glyph, len(self.numbers))
        self.characters.setdefault(number, character)
        self.codes[character] = f"{number:04X}"

    def subset(self) -> _Subset:
        """The font with these glyphs alone."""
        file = self.font.subset(list(self.numbers))
        return _Subset(
            _tag(self.numbers),
            zlib.compress(file, _QUICK),
            len(file),
            tuple(round(self.font.width(glyph)) for glyph in self.numbers),
            zlib.compress(_to_unicode(self.characters), _QUICK),
        )


@lru_cache
def _plain(font: Font) -> tuple[dict[int, str], _Subset]:
    """The codes of ASCII in a font, and the subset of just these: most sheets need no more."""
    used = _Used(font, _ASCII)
    return str.maketrans(used.codes), used.subset()


class Ink:
    """Draws text into one document; `embed` puts its fonts there in the end."""

    def __init__(self, update: Update, face: Typeface) -> None:
        self.face = face
        self._update = update
        self._used: dict[int, _Used] = {}
        self._fonts: dict[str, int] = {}
        self._ascii, self._ascii_subset = _plain(face.font(0))
        self.resources = update.reserve()

    def show(self, text: str, size: float) -> str:
        """The operators that show a text, which is in visual order already."""
        if text.isascii():
            self._using(0)
            return f"/F0 {size:g} Tf <{text.translate(self._ascii)}> Tj"
        shown = []
        for font, run in groupby(text, key=self._font_of):
            codes = "".join(map(self._used[font].codes.__getitem__, run))
            shown.append(f"/F{font} {size:g} Tf <{codes}> Tj")
        return " ".join(shown)

    def _font_of(self, character: str) -> int:
        font = self._fonts.get(character)
        if font is None:
            glyph = self.face.glyph(character)
            font = self._fonts[character] = glyph.font
            self._using(font).add(glyph.number, character)
        return font

    def _using(self, font: int) -> _Used:
        used = self._used.get(font)
        if used is None:
            used = self._used[font] = _Used(self.face.font(font), _ASCII if font == 0 else "")
        return used

    def embed(self) -> None:
        """Put every font that was used into the document, with the glyphs that were used."""
        named = "".join(f"/F{index} {self._embed(index)} 0 R" for index in self._used)
        self._update.put(self.resources, f"<</Font<<{named}>>>>".encode("ascii"))

    def _embed(self, index: int) -> int:
        used = self._used[index]
        is_plain = index == 0 and len(used.numbers) == len(self._ascii_subset.widths)
        subset = self._ascii_subset if is_plain else used.subset()
        name = f"/{subset.tag}+{used.font.name}"
        descendant = self._add(
            f"<</Type/Font/Subtype/CIDFontType2/BaseFont{name}"
            "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
            f"/FontDescriptor {self._descriptor(used.font, subset, name)} 0 R"
            f"/W[0[{' '.join(map(str, subset.widths))}]]/CIDToGIDMap/Identity>>"
        )
        meaning = self._update.stream(subset.to_unicode)
        return self._add(
            f"<</Type/Font/Subtype/Type0/BaseFont{name}/Encoding/Identity-H"
            f"/DescendantFonts[{descendant} 0 R]/ToUnicode {meaning} 0 R>>"
        )

    def _descriptor(self, font: Font, subset: _Subset, name: str) -> int:
        file = self._update.stream(subset.file, f"/Length1 {subset.length}")
        box = " ".join(str(font.thousandths(edge)) for edge in font.box)
        ascent, descent = font.thousandths(font.ascent), font.thousandths(font.descent)
        return self._add(
            f"<</Type/FontDescriptor/FontName{name}/Flags {_SYMBOLIC}/FontBBox[{box}]"
            f"/ItalicAngle 0/Ascent {ascent}/Descent {descent}/CapHeight 729/StemV 80"
            f"/FontFile2 {file} 0 R>>"
        )

    def _add(self, body: str) -> int:
        return self._update.add(body.encode("ascii"))


def _tag(numbers: Iterable[int]) -> str:
    """Six letters that say which glyphs are in it."""
    check = zlib.crc32(",".join(map(str, numbers)).encode())
    return "".join(chr(ord("A") + (check >> 4 * index) % 16) for index in range(6))


def _to_unicode(characters: dict[int, str]) -> bytes:
    """What the glyphs mean, for whoever copies or searches the text."""
    pairs = [
        f"<{number:04X}> <{character.encode('utf-16-be').hex().upper()}>"
        for number, character in characters.items()
    ]
    chunks = [_chunk(pairs[at : at + 100]) for at in range(0, len(pairs), 100)]
    return "\n".join([_CMAP_HEAD, *chunks, _CMAP_TAIL]).encode("ascii")


def _chunk(pairs: Sequence[str]) -> str:
    return "\n".join([f"{len(pairs)} beginbfchar", *pairs, "endbfchar"])


_CMAP_HEAD: Final = """\
/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange"""
_CMAP_TAIL: Final = """\
endcmap
CMapName currentdict /CMap defineresource pop
end
end"""
