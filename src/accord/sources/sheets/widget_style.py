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


def is_drawable(drawing: Object) -> bool:
    """True if an appearance draws a mark by paths, images or embedded fonts.

    Viewers without ZapfDingbats draw nothing for a mark in that font.
    """
    operators = operators_of(drawing)
    if not operators & (_PAINT | SHOW_TEXT) or "/BBox" not in drawing:
        return False
    return not operators & SHOW_TEXT or _has_embedded_fonts(drawing)


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


def operators_of(drawing: Object | None) -> frozenset[str]:
    """Return the operators in the first part of an appearance; none if it cannot be read."""
    if not isinstance(drawing, pikepdf.Stream):
        return frozenset()
    bare = _OPERANDS.sub(b" ", _content(drawing))
    return frozenset(word.decode("ascii") for word in _OPERATOR.findall(bare))


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
