"""What is written into one PDF: glyphs as they are used, and the fonts that go in with them."""

import zlib
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from pikepdf import Array, Dictionary, Name, Object, Pdf, Stream

from accord.sources.sheets.font import Font
from accord.sources.sheets.typeset import Typeface

COLOUR: Final = "0.11 0.13 0.22 rg"
"""Dark ink: what is filled in differs from what is printed, and is black to a copier."""
_SYMBOLIC: Final = 4


class _Used:
    """The glyphs of one font that a document uses, numbered in order of use."""

    def __init__(self, reference: Object) -> None:
        self.reference = reference
        self.numbers: dict[int, int] = {0: 0}
        self.characters: dict[int, str] = {}
        self.codes: dict[str, str] = {}

    def code(self, glyph: int, character: str) -> str:
        """The number of a character's glyph, as a PDF has it in its text."""
        number = self.numbers.setdefault(glyph, len(self.numbers))
        self.characters.setdefault(number, character)
        return f"{number:04X}"


class Ink:
    """Draws text into one document; `embed` puts its fonts there in the end."""

    def __init__(self, pdf: Pdf, face: Typeface) -> None:
        self.face = face
        self._pdf = pdf
        self._used: dict[int, _Used] = {}
        self._fonts: dict[str, int] = {}
        self.resources = pdf.make_indirect(Dictionary(Font=Dictionary()))

    def show(self, text: str, size: float) -> str:
        """The operators that show a text, which is in visual order already."""
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
            used = self._using(font)
            used.codes[character] = used.code(glyph.number, character)
        return font

    def _using(self, font: int) -> _Used:
        if font not in self._used:
            reference = self._pdf.make_indirect(Dictionary())
            self.resources.Font[f"/F{font}"] = reference
            self._used[font] = _Used(reference)
        return self._used[font]

    def embed(self) -> None:
        """Put every font that was used into the document, with the glyphs that were used."""
        for index, used in self._used.items():
            self._embed(self.face.font(index), used)

    def _embed(self, font: Font, used: _Used) -> None:
        pdf, name = self._pdf, Name(f"/{_tag(used)}+{font.name}")
        widths = Array([round(font.width(glyph)) for glyph in used.numbers])
        descendant = Dictionary(
            Type=Name.Font,
            Subtype=Name.CIDFontType2,
            BaseFont=name,
            CIDSystemInfo=Dictionary(Registry=b"Adobe", Ordering=b"Identity", Supplement=0),
            FontDescriptor=pdf.make_indirect(self._descriptor(font, used, name)),
            W=Array([0, widths]),
            CIDToGIDMap=Name.Identity,
        )
        used.reference.update(
            {
                "/Type": Name.Font,
                "/Subtype": Name.Type0,
                "/BaseFont": name,
                "/Encoding": Name("/Identity-H"),
                "/DescendantFonts": Array([pdf.make_indirect(descendant)]),
                "/ToUnicode": _compressed(pdf, _to_unicode(used.characters)),
            }
        )

    def _descriptor(self, font: Font, used: _Used, name: Name) -> Dictionary:
        file = font.subset(list(used.numbers))
        return Dictionary(
            Type=Name.FontDescriptor,
            FontName=name,
            Flags=_SYMBOLIC,
            FontBBox=Array([font.thousandths(edge) for edge in font.box]),
            ItalicAngle=0,
            Ascent=font.thousandths(font.ascent),
            Descent=font.thousandths(font.descent),
            CapHeight=729,
            StemV=80,
            FontFile2=_compressed(self._pdf, file, Length1=len(file)),
        )


def _compressed(pdf: Pdf, data: bytes, **entries: int) -> Stream:
    """A stream that is small already: qpdf would take its time to do the same."""
    return Stream(pdf, zlib.compress(data, 6), Filter=Name.FlateDecode, **entries)


def _tag(used: _Used) -> str:
    """Six letters that say which glyphs are in it."""
    check = zlib.crc32(",".join(map(str, used.numbers)).encode())
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
