"""What the entries of a widget make viewers draw: background, border, and the form's own marks."""

import re
import zlib
from typing import Final

import pikepdf
from pikepdf import Array, Dictionary, Name, Object

UNREADABLE: Final = (
    *(pikepdf.PdfError, pikepdf.PikepdfError, ValueError, TypeError),
    *(LookupError, AttributeError, RuntimeError, OverflowError),
)
"""Exceptions of pikepdf for what it cannot read."""
_FILL: Final = {1: "g", 3: "rg", 4: "k"}
_STROKE: Final = {1: "G", 3: "RG", 4: "K"}
SHOW_TEXT: Final = frozenset({"Tj", "TJ", "'", '"'})
_PAINT: Final = frozenset({"f", "F", "f*", "B", "B*", "b", "b*", "S", "s", "Do", "sh", "BI"})

Identity = tuple[int, int]
_MAX_CONTENT: Final = 16 << 10  # bytes of an appearance that are looked at
_OPERANDS: Final = re.compile(
    rb"\((?:\\.|[^\\)])*+\)?|<[0-9A-Fa-f\s]*+>|/[^\s()<>\[\]{}/%]*+", re.S
)
"""Strings and names: what may look like an operator, and is none."""
_OPERATOR: Final = re.compile(rb"(?<![^\s\[\]>)])(?:[A-Za-z]{1,3}\*?|['\"])(?![^\s\[(</])")
_SET_FONT: Final = re.compile(rb"/([^\s()<>\[\]{}/%]{1,127})\s+-?[\d.]{1,20}\s+Tf")


def decoration(node: Object, characteristics: Object, width: float, height: float) -> str:
    """Return the operators for the background and the border of a widget."""
    background = _colour(characteristics.get("/BG"), _FILL)
    border = _colour(characteristics.get("/BC"), _STROKE)
    style = node.get("/BS")
    weight = float(style.get("/W", 1)) if isinstance(style, Dictionary) else 1.0
    weight = min(max(weight, 0.0), width / 2, height / 2)
    parts = []
    if background:
        parts.append(f"{background} 0 0 {width:.2f} {height:.2f} re f")
    if border and weight:
        inset = weight / 2
        edge = f"{inset:.2f} {inset:.2f} {width - weight:.2f} {height - weight:.2f} re S"
        parts.append(f"{border} {weight:g} w {edge}")
    return f"q {' '.join(parts)} Q " if parts else ""


def _colour(components: Object | None, operators: dict[int, str]) -> str:
    """Return the operator that sets a colour; empty if there is none."""
    if not isinstance(components, Array) or len(components) not in operators:
        return ""
    shown = " ".join(f"{min(max(float(each), 0.0), 1.0):g}" for each in components)
    return f"{shown} {operators[len(components)]}"


class Appearances:
    """What the appearances of one PDF draw; each is read once, however many widgets share it."""

    def __init__(self) -> None:
        self._operators: dict[Identity, frozenset[str]] = {}
        self._drawable: dict[Identity, bool] = {}
        self._checked: dict[Identity, str] = {}

    def operators(self, drawing: Object | None) -> frozenset[str]:
        """Return the operators in the first part of an appearance; none if it cannot be read."""
        if not isinstance(drawing, pikepdf.Stream):
            return frozenset()
        if drawing.objgen not in self._operators:
            bare = _OPERANDS.sub(b" ", _content(drawing))
            found = frozenset(word.decode("ascii") for word in _OPERATOR.findall(bare))
            self._operators[drawing.objgen] = found
        return self._operators[drawing.objgen]

    def is_drawable(self, drawing: Object) -> bool:
        """True if an appearance draws a mark by paths, images or embedded fonts.

        Viewers without ZapfDingbats draw nothing for a mark in that font.
        """
        operators = self.operators(drawing)
        if not operators & (_PAINT | SHOW_TEXT) or "/BBox" not in drawing:
            return False
        if not operators & SHOW_TEXT:
            return True
        if drawing.objgen not in self._drawable:
            self._drawable[drawing.objgen] = _has_embedded_fonts(drawing)
        return self._drawable[drawing.objgen]

    def checked_state(self, widget: Object) -> str:
        """Return the first state of a check box, except Off, with an appearance; "" if none has."""
        drawings = widget.get("/AP")
        usual = drawings.get("/N") if isinstance(drawings, Dictionary) else None
        if not isinstance(usual, Dictionary):
            return ""
        if not usual.is_indirect:
            return _first_state(usual)
        if usual.objgen not in self._checked:
            self._checked[usual.objgen] = _first_state(usual)
        return self._checked[usual.objgen]


def _first_state(drawings: Object) -> str:
    return next((str(state) for state, _ in drawings.items() if state != "/Off"), "")


def _has_embedded_fonts(drawing: Object) -> bool:
    """True if the resources of an appearance have every font that it sets, embedded."""
    fonts = drawing.get("/Resources", Dictionary()).get("/Font", Dictionary())
    used = [match[1].decode("latin-1") for match in _SET_FONT.finditer(_content(drawing))]
    return bool(used) and all(_is_embedded(fonts.get(name)) for name in used)


def _is_embedded(font: Object | None) -> bool:
    if not isinstance(font, Dictionary):
        return False
    for each in (font, *font.get("/DescendantFonts", ())):
        descriptor = each.get("/FontDescriptor", Dictionary())
        if any(f"/FontFile{number}" in descriptor for number in ("", "2", "3")):
            return True
    return font.get("/Subtype") == Name.Type3


def _content(drawing: Object) -> bytes:
    """Return the first bytes of a stream; of a compressed one no more is decompressed."""
    kind, raw = drawing.get("/Filter"), drawing.read_raw_bytes()
    if isinstance(kind, Array) and len(kind) == 1:
        kind = kind[0]
    if kind is None or (isinstance(kind, Array) and not len(kind)):
        return raw[:_MAX_CONTENT]
    if kind != Name.FlateDecode:
        return b""
    try:
        return zlib.decompressobj().decompress(raw, _MAX_CONTENT)
    except zlib.error:
        return b""
