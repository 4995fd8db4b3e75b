"""Drawing into a PDF: text with embedded fonts, field appearances and added pages."""

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from accord.sources.sheets.blank_form import PADDING, BlankForm, FormField, Widget
from accord.sources.sheets.font import Font
from accord.sources.sheets.pdf_update import PdfUpdate, deflate_small
from accord.sources.sheets.sheet import Overflow
from accord.sources.sheets.text_layout import (
    LEADING,
    TextBlock,
    TextBox,
    Typeface,
    layout_line,
    layout_lines,
    to_visual_order,
    wrap,
)

COLOUR: Final = "0.11 0.13 0.22 rg"
"""Dark blue: distinct from the printed form, and black on a copier."""
_ASCII: Final = "".join(map(chr, range(32, 127)))
_SYMBOLIC: Final = 4
_COMPRESSION: Final = 3
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
MIN_COMFORTABLE_SIZE: Final = 7.5
"""The font size below which text continues in another field, if there is one."""
_ASCENT: Final = 0.9
_CAPITALS: Final = 0.72
_CONTINUED: Final = "… in full on the added page"
_TICK: Final = "0.11 0.13 0.22 RG 0.125 w 1 J 1 j 0.2 0.5 m 0.42 0.25 l 0.82 0.8 l S"
_DISC: Final = (
    "0.5 0.2 m 0.666 0.2 0.8 0.334 0.8 0.5 c 0.8 0.666 0.666 0.8 0.5 0.8 c"
    " 0.334 0.8 0.2 0.666 0.2 0.5 c 0.2 0.334 0.334 0.2 0.5 0.2 c f"
)
_MARKS: Final = {
    "8": "0.11 0.13 0.22 RG 0.125 w 1 J 0.22 0.22 m 0.78 0.78 l 0.22 0.78 m 0.78 0.22 l S",
    "l": f"{COLOUR} {_DISC}",
    "n": f"{COLOUR} 0.22 0.22 0.56 0.56 re f",
    "u": f"{COLOUR} 0.5 0.14 m 0.86 0.5 l 0.5 0.86 l 0.14 0.5 l f",
}
"""Check marks in a square of side 1, by their characters in ZapfDingbats; others are ticks."""
_MATRICES: Final = {
    90: "/Matrix[0 1 -1 0 0 0]",
    180: "/Matrix[-1 0 0 -1 0 0]",
    270: "/Matrix[0 -1 1 0 0 0]",
}
_MARGIN: Final = 48.0
_MIN_PAGE: Final = (300.0, 300.0)  # minimum page size, however small the form is
_SIZE: Final = 9.5
_LEADING: Final = 13.5
_LABEL_SIZE: Final = 11.0
_TITLE_SIZE: Final = 15.0
_ACCENT: Final = "0.52 0.13 0.12"
_BAR: Final = f"q {_ACCENT} rg {{:.2f}} {{:.2f}} {{:.2f}} 2.6 re f Q"
_RULE: Final = "q 0.11 0.13 0.22 RG 1.4 w {:.2f} {:.2f} m {:.2f} {:.2f} l S Q"


class _Subset(msgspec.Struct, frozen=True):
    """A font subset, compressed, ready to be embedded."""

    tag: str
    file: bytes
    length: int
    widths: tuple[int, ...]
    to_unicode: bytes


class _UsedGlyphs:
    """The glyphs of one font used in a document, numbered in order of use."""

    def __init__(self, font: Font, beginning: str) -> None:
        self.font = font
        self.numbers: dict[int, int] = {0: 0}
        self.characters: dict[int, str] = {}
        self.codes: dict[str, str] = {}
        for character in beginning:
            self.add(font.glyph(character), character)

    def add(self, glyph: int, character: str) -> None:
        """Number a glyph and set the code of its character."""
        number = self.numbers.setdefault(glyph, len(self.numbers))
        self.characters.setdefault(number, character)
        self.codes[character] = f"{number:04X}"

    def subset(self) -> _Subset:
        """Return the font subset with these glyphs."""
        file = self.font.subset(list(self.numbers))
        return _Subset(
            _tag(self.numbers),
            zlib.compress(file, _COMPRESSION),
            len(file),
            tuple(round(self.font.width(glyph)) for glyph in self.numbers),
            zlib.compress(_to_unicode(self.characters), _COMPRESSION),
        )


@lru_cache
def _ascii_subset(font: Font) -> tuple[dict[int, str], _Subset]:
    """Return a font's ASCII codes and their subset, cached: most sheets need no more."""
    used = _UsedGlyphs(font, _ASCII)
    return str.maketrans(used.codes), used.subset()


class TextWriter:
    """Writes text into one document; `embed` adds its fonts at the end."""

    def __init__(self, update: PdfUpdate, face: Typeface) -> None:
        self.face = face
        self._update = update
        self._used: dict[int, _UsedGlyphs] = {}
        self._fonts: dict[str, int] = {}
        self._ascii, self._ascii_font = _ascii_subset(face.font(0))
        self.resources: int = update.reserve()

    def show(self, text: str, size: float) -> str:
        """Return the PDF operators that show a text in visual order."""
        if text.isascii():
            self._glyphs_of(0)
            return f"/F0 {size:g} Tf <{text.translate(self._ascii)}> Tj"
        operators = []
        for font, run in groupby(text, key=self._font_of):
            codes = "".join(map(self._used[font].codes.__getitem__, run))
            operators.append(f"/F{font} {size:g} Tf <{codes}> Tj")
        return " ".join(operators)

    def _font_of(self, character: str) -> int:
        font = self._fonts.get(character)
        if font is None:
            glyph = self.face.glyph(character)
            font = self._fonts[character] = glyph.font
            self._glyphs_of(font).add(glyph.number, character)
        return font

    def _glyphs_of(self, font: int) -> _UsedGlyphs:
        used = self._used.get(font)
        if used is None:
            used = self._used[font] = _UsedGlyphs(self.face.font(font), _ASCII if font == 0 else "")
        return used

    def embed(self) -> None:
        """Add a subset of every used font to the document."""
        named = "".join(f"/F{index} {self._embed(index)} 0 R" for index in self._used)
        self._update.put(self.resources, f"<</Font<<{named}>>>>".encode("ascii"))

    def _embed(self, index: int) -> int:
        used = self._used[index]
        is_plain = index == 0 and len(used.numbers) == len(self._ascii_font.widths)
        subset = self._ascii_font if is_plain else used.subset()
        name = f"/{subset.tag}+{used.font.name}"
        descendant = self._add(
            f"<</Type/Font/Subtype/CIDFontType2/BaseFont{name}"
            "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
            f"/FontDescriptor {self._descriptor(used.font, subset, name)} 0 R"
            f"/W[0[{' '.join(map(str, subset.widths))}]]/CIDToGIDMap/Identity>>"
        )
        to_unicode = self._update.stream(subset.to_unicode)
        return self._add(
            f"<</Type/Font/Subtype/Type0/BaseFont{name}/Encoding/Identity-H"
            f"/DescendantFonts[{descendant} 0 R]/ToUnicode {to_unicode} 0 R>>"
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
    """Return a subset tag of six letters, derived from its glyphs."""
    check = zlib.crc32(",".join(map(str, numbers)).encode())
    return "".join(chr(ord("A") + (check >> 4 * index) % 16) for index in range(6))


def _to_unicode(characters: dict[int, str]) -> bytes:
    """Return the ToUnicode map, for copying and searching."""
    pairs = [
        f"<{number:04X}> <{character.encode('utf-16-be').hex().upper()}>"
        for number, character in characters.items()
    ]
    chunks = [_chunk(pairs[at : at + 100]) for at in range(0, len(pairs), 100)]
    return "\n".join([_CMAP_HEAD, *chunks, _CMAP_TAIL]).encode("ascii")


def _chunk(pairs: Sequence[str]) -> str:
    return "\n".join([f"{len(pairs)} beginbfchar", *pairs, "endbfchar"])


class AppearanceWriter:
    """Writes field appearances into one document; equal ones are written once.

    They are drawn here, because viewers differ in how they draw a value. `data` has each one's
    compressed operators, by object number.
    """

    def __init__(self, update: PdfUpdate, writer: TextWriter) -> None:
        self._update = update
        self._writer = writer
        self._drawn: dict[tuple[str, float, float, int], int] = {}
        self.data: dict[int, bytes] = {}

    def text(self, field: FormField, widget: Widget, text: str) -> tuple[int, bool]:
        """Write the appearance of a text; return its object, and True if the text fits."""
        if field.is_comb and field.max_length:
            block = layout_line(self._writer.face, text, _cell(widget, field.max_length))
            operators = " ".join(self._cells(widget, field.max_length, block))
        else:
            setting = layout_lines if field.is_multiline else layout_line
            block = setting(self._writer.face, text, widget.box)
            operators = " ".join(self._lines(field, widget, block))
        clip = f"0 0 {widget.width:.2f} {widget.height:.2f} re W n"
        content = f"{widget.decoration}/Tx BMC q {clip} BT {COLOUR} {operators} ET Q EMC"
        return self._drawing(widget, content), not block.overflow

    def check_mark(self, widget: Widget) -> int:
        """Write a check mark, for a form without one that every viewer can draw."""
        side = min(widget.width, widget.height)
        left, bottom = (widget.width - side) / 2, (widget.height - side) / 2
        mark = _MARKS.get(widget.style, _TICK)
        place = f"{side:.2f} 0 0 {side:.2f} {left:.2f} {bottom:.2f} cm"
        return self._drawing(widget, f"{widget.decoration}q {place} {mark} Q")

    def empty(self, widget: Widget) -> int:
        """Write the appearance of an empty field or an unchecked box."""
        return self._drawing(widget, widget.decoration)

    def _lines(self, field: FormField, widget: Widget, block: TextBlock) -> Iterator[str]:
        lines, size = block.lines, block.size
        if field.is_multiline:
            baseline = widget.height - PADDING / 2 - _ASCENT * size
            lines = (*lines[:-1], _CONTINUED) if block.overflow else lines
        else:
            baseline = (widget.height - _CAPITALS * size) / 2
        for number, line in enumerate(lines):
            left = _left(widget, self._writer.face.width(line) * size)
            bottom = baseline - number * size * LEADING
            yield f"1 0 0 1 {left:.2f} {bottom:.2f} Tm {self._writer.show(line, size)}"

    def _cells(self, widget: Widget, count: int, block: TextBlock) -> Iterator[str]:
        """Yield the characters of a line, each in the middle of its cell."""
        (line,), size = block.lines, block.size
        cell, baseline = widget.width / count, (widget.height - _CAPITALS * size) / 2
        skipped = {0: 0, 1: (count - len(line)) // 2, 2: count - len(line)}.get(widget.align, 0)
        for index, character in enumerate(line, skipped):
            left = index * cell + (cell - self._writer.face.width(character) * size) / 2
            yield f"1 0 0 1 {left:.2f} {baseline:.2f} Tm {self._writer.show(character, size)}"

    def _drawing(self, widget: Widget, content: str) -> int:
        key = (content, widget.width, widget.height, widget.rotation)
        if key not in self._drawn:
            box = f"/BBox[0 0 {widget.width:.2f} {widget.height:.2f}]"
            matrix = _MATRICES.get(widget.rotation, "")
            entries = f"/Subtype/Form{box}{matrix}/Resources {self._writer.resources} 0 R"
            data = deflate_small(content.encode("ascii"))
            self._drawn[key] = number = self._update.stream(data, entries)
            self.data[number] = data
        return self._drawn[key]


def _cell(widget: Widget, count: int) -> TextBox:
    """Return a box for a line whose characters each fit a cell; its width sets no limit."""
    size = max(min(widget.box.size, 1.2 * widget.width / count), 1.0)
    return TextBox(float("inf"), widget.height, size, size)


def _left(widget: Widget, width: float) -> float:
    match widget.align:
        case 1:
            return (widget.width - width) / 2
        case 2:
            return widget.width - widget.padding - width
    return widget.padding


class _Line(NamedTuple):
    """A line of an added page: its text, whether it is a label, and its height."""

    text: str
    is_label: bool
    height: float


def add_pages(
    update: PdfUpdate, form: BlankForm, writer: TextWriter, title: str, overflow: Sequence[Overflow]
) -> int:
    """Add pages for the overflow; return the number of pages of the document."""
    width, height = (
        max(side, minimum) for side, minimum in zip(form.paper, _MIN_PAGE, strict=True)
    )
    lines, added = deque(_lines(writer, overflow, width - 2 * _MARGIN)), []
    while lines:
        content = _page(writer, title, lines, width, height)
        drawn = update.stream(deflate_small(content.encode("ascii")))
        page = (
            f"<</Type/Page/Parent {form.pages} 0 R/Rotate 0"
            f"/MediaBox[0 0 {width:.2f} {height:.2f}]/CropBox[0 0 {width:.2f} {height:.2f}]"
            f"/Resources {writer.resources} 0 R/Contents {drawn} 0 R>>"
        )
        added.append(update.add(page.encode("ascii")))
    count = form.page_count + len(added)
    if added:
        kids = form.page_list + b"".join(b" %d 0 R" % number for number in added)
        tree = b"<<%b/Kids[%b]/Count %d>>" % (form.pages_entries, kids, count)
        update.put(form.pages, tree)
    return count


def _lines(writer: TextWriter, overflow: Sequence[Overflow], width: float) -> Iterator[_Line]:
    for each in overflow:
        yield _Line(each.label, is_label=True, height=2.2 * _LEADING)
        for line in wrap(writer.face, each.text, width / _SIZE):
            yield _Line(to_visual_order(line.rstrip()), is_label=False, height=_LEADING)


def _page(writer: TextWriter, title: str, lines: deque[_Line], width: float, height: float) -> str:
    """Return the content of one page, with as many lines as fit."""
    edge = height - _MARGIN
    box = TextBox(width - 2 * _MARGIN, _TITLE_SIZE, _TITLE_SIZE, _SIZE)
    heading = layout_line(writer.face, title, box)
    operators = [_BAR.format(_MARGIN, edge, width - 2 * _MARGIN)]
    operators.append(_text(writer, heading.lines[0], _MARGIN, edge - 24, heading.size, COLOUR))
    operators.append(_RULE.format(_MARGIN, edge - 34, width - _MARGIN, edge - 34))
    position = edge - 34
    while lines and position - _needed(lines) >= _MARGIN:
        line = lines.popleft()
        position -= line.height
        size = _LABEL_SIZE if line.is_label else _SIZE
        colour = f"{_ACCENT} rg" if line.is_label else COLOUR
        operators.append(_text(writer, line.text, _MARGIN, position, size, colour))
    return "\n".join(operators)


def _needed(lines: deque[_Line]) -> float:
    """Return the height of the next line; a label needs the line after it too."""
    follows = lines[1].height if lines[0].is_label and len(lines) > 1 else 0.0
    return lines[0].height + follows


def _text(
    writer: TextWriter, text: str, left: float, baseline: float, size: float, colour: str
) -> str:
    return f"BT {colour} 1 0 0 1 {left:.2f} {baseline:.2f} Tm {writer.show(text, size)} ET"
