"""A blank form: a PDF, its fields, and the widgets that show them.

Filling appends to the bytes of the PDF (see pdf_update.py), so a field's entries are kept as PDF
source.
"""

import copy
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final, Literal, NamedTuple

import pikepdf
from pikepdf import Dictionary, Name, Object, ObjectStreamMode, Pdf, String

from accord.errors import ContractError
from accord.sources.sheets import field_tree
from accord.sources.sheets.text_layout import TextBox
from accord.sources.sheets.widget_style import (
    SHOW_TEXT,
    UNREADABLE,
    Appearances,
    decoration,
)

PADDING: Final = 2.0
_MAX_FIELDS: Final = 20_000
_MAX_DEPTH: Final = 32
_MULTILINE: Final = 1 << 12
_PASSWORD: Final = 1 << 13
_COMB: Final = 1 << 24
_HIDDEN: Final = (1 << 1) | (1 << 5)  # hidden, or not shown on screen
_BUTTON_KINDS: Final = (1 << 15) | (1 << 16)  # radio buttons and push buttons
_MIN_SIZE: Final = 6.0
_MIN_LINE_SIZE: Final = 5.5
_DEFAULT_SIZE: Final = 9.0
_MAX_AUTO_SIZE: Final = 14.0
_MAX_GIVEN_SIZE: Final = 72.0
_MAX_SIDE: Final = 14_400.0  # as ISO 32000-1 has it for pages
_MAX_STYLE: Final = 1024  # characters of a field's text style that are looked at
_SIZE: Final = re.compile(r"(-?(?:\d{1,9}(?:\.\d{0,9})?+|\.\d{1,9}))\s{1,20}+Tf")
_START: Final = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*$")

_REPLACED: Final = ("/V", "/AP", "/AS", "/RV", "/I")
"""Entries that a value replaces: rich text and list indices would differ from it."""
_INHERITED: Final = ("/FT", "/Ff", "/MaxLen")
Kind = Literal["text", "checkbox", "other"]


class Widget(NamedTuple):
    """A field's widget: its object, where it is, its size, and its text box."""

    number: int
    entries: bytes
    """The object's entries, without value and appearance."""
    appearance: bytes
    """The original appearance."""
    page: int
    """The number of the page that lists the widget; 0 if none does."""
    position: int
    """The widget's index in the annotations of the page."""
    is_visible: bool
    """True if a viewer draws it: a page lists it, within its edges, and it is not hidden."""
    width: float
    height: float
    """Width and height as the text has them, before the rotation."""
    rotation: int
    """Degrees counterclockwise."""
    decoration: str
    """Operators that draw the background and the border."""
    box: TextBox
    align: int
    on: bytes
    """The name of the checked state."""
    has_mark: bool
    """True if the form has an appearance of the checked state that every viewer can draw."""
    style: str
    """The check mark's style, as a character of ZapfDingbats."""

    @property
    def padding(self) -> float:
        """The margin on the left and right."""
        return _padding(self.width)


class FormField(NamedTuple):
    """A form field."""

    name: str
    kind: Kind
    number: int
    entries: bytes
    """The object's entries, without value and appearance."""
    is_multiline: bool
    is_comb: bool
    """True if each character has a cell of its own; there are `max_length` cells."""
    holds_value: bool
    """True if the form has a value in this field, or shows one."""
    max_length: int | None
    """Maximum number of characters; None if unlimited."""
    widgets: tuple[Widget, ...]

    @property
    def is_visible(self) -> bool:
        """True if a viewer draws a widget of the field."""
        return any(widget.is_visible for widget in self.widgets)


class BlankForm(NamedTuple):
    """A fillable PDF that is not filled in yet."""

    data: bytes
    fields: tuple[FormField, ...]
    start: int
    """Offset of the last cross-reference table."""
    size: int
    """The highest object number plus one."""
    root: bytes
    identity: str
    """The permanent part of the file's ID."""
    pages: int
    """Object number of the page tree."""
    pages_entries: bytes
    page_list: bytes
    page_count: int
    paper: tuple[float, float]


def read_blank_form(data: bytes, name: str) -> BlankForm:
    """Return the form in a PDF; raise ContractError if it cannot be read or has no fields."""
    try:
        with _silenced():
            clean = _cleaned(data, name)
            with pikepdf.open(BytesIO(clean)) as pdf:
                blank = _blank(pdf, clean)
    except pikepdf.PasswordError as error:
        raise _encrypted(name) from error
    except UNREADABLE as error:
        raise ContractError(f"{name} is not a readable PDF") from error
    if not blank.fields:
        raise ContractError(f"{name} has no fields to fill in")
    return blank


@contextmanager
def _silenced() -> Iterator[None]:
    """Silence pikepdf: a PDF that cannot be read is reported once, as an error."""
    log = logging.getLogger("pikepdf._core")
    was_disabled, log.disabled = log.disabled, True
    try:
        with warnings.catch_warnings():  # unreadable appearances, orphaned widgets
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        log.disabled = was_disabled


def _encrypted(name: str) -> ContractError:
    return ContractError(f"{name} is encrypted; remove its protection first")


def _cleaned(data: bytes, name: str) -> bytes:
    """Return the PDF with each field joined with its widgets, and without XFA."""
    with pikepdf.open(BytesIO(data)) as pdf:
        if pdf.is_encrypted:
            raise _encrypted(name)
        field_tree.join(pdf)
        for entry in ("/NeedAppearances", "/XFA"):
            if entry in pdf.Root.AcroForm:
                del pdf.Root.AcroForm[entry]
        return _saved(pdf)


def _saved(pdf: Pdf) -> bytes:
    target = BytesIO()
    pdf.save(target, object_stream_mode=ObjectStreamMode.generate, deterministic_id=True)
    return target.getvalue()


def _blank(pdf: Pdf, data: bytes) -> BlankForm:
    start = _START.search(data)
    if start is None:
        raise ValueError("no table of objects")
    tree, paper = pdf.Root.Pages, pdf.pages[0].mediabox
    left, bottom, right, top = (float(edge) for edge in paper)
    kids = b" ".join(kid.unparse() for kid in tree.Kids)
    return BlankForm(
        data,
        tuple(_fields(pdf)),
        int(start[1]),
        int(pdf.trailer.Size),
        pdf.Root.unparse(),
        bytes(pdf.trailer.ID[0]).hex(),
        tree.objgen[0],
        _entries(tree, "/Kids", "/Count"),
        kids,
        int(tree.Count),
        (_side(left, right), _side(bottom, top)),
    )


def _entries(node: Object, *without: str) -> bytes:
    """Return the source of a dictionary's entries, without some of them."""
    copied = copy.copy(node)
    for name in without:
        if name in copied:
            del copied[name]
    return copied.unparse(resolved=True).strip()[2:-2]


class _Leaf(NamedTuple):
    """A field in the tree: its full name, object, and inherited attributes."""

    name: str
    node: Object
    attributes: dict[str, Any]


class _Spot(NamedTuple):
    """Where a page lists a widget: page number, index, and the visible part of the page."""

    page: int
    position: int
    edges: tuple[float, ...]


_NO_SPOT: Final = _Spot(0, 0, (0, 0, 0, 0))
Spots = dict[tuple[int, int], _Spot]


def _fields(pdf: Pdf) -> Iterator[FormField]:
    form, spots = pdf.Root.AcroForm, dict(_spots(pdf))
    style, appearances = _style(form), Appearances()
    for count, leaf in enumerate(_leaves(form.get("/Fields", ()), style, {})):
        if count == _MAX_FIELDS:
            raise ValueError("too many fields")
        yield _field(leaf, spots, appearances)


def _spots(pdf: Pdf) -> Iterator[tuple[tuple[int, int], _Spot]]:
    for number, page in enumerate(pdf.pages, 1):
        edges = _edges(page.cropbox)
        for index, annotation in enumerate(page.obj.get("/Annots", ())):
            if isinstance(annotation, Dictionary):
                yield annotation.objgen, _Spot(number, index, edges)


def _edges(rectangle: Any) -> tuple[float, ...]:
    """Return left, bottom, right and top of a rectangle between any two corners."""
    one, other, third, fourth = (float(edge) for edge in rectangle)
    return min(one, third), min(other, fourth), max(one, third), max(other, fourth)


def _leaves(
    nodes: Any,
    inherited: dict[str, Any],
    seen: dict[tuple[int, int], bool],
    prefix: str = "",
    depth: int = 0,
) -> Iterator[_Leaf]:
    """Yield the fields of a list and below it, each once; `seen` has which have fields below."""
    if depth > _MAX_DEPTH:
        raise ValueError("fields are nested too deeply")
    for node in nodes:
        if not isinstance(node, Dictionary):
            continue
        if node.objgen in seen:
            if seen[node.objgen]:
                raise ValueError("a field with fields below it is listed twice")
            continue
        kids = node.get("/Kids")
        has_fields = kids is not None and any("/T" in kid for kid in kids)
        seen[node.objgen] = has_fields
        attributes = {**inherited, **_own(node), **_style(node)}
        name = field_tree.long_name(prefix, node)
        if has_fields:
            yield from _leaves(kids, attributes, seen, f"{name}.", depth + 1)
        else:
            yield _Leaf(name, node, attributes)


def _own(node: Object) -> dict[str, Any]:
    """Return what nodes below inherit; of a value only whether there is one."""
    own: dict[str, Any] = {key: node[key] for key in _INHERITED if key in node}
    if "/V" in node:
        own["/V"] = node["/V"] not in (Name.Off, String(""))
    return own


def _field(leaf: _Leaf, spots: Spots, appearances: Appearances) -> FormField:
    name, node, attributes = leaf
    entries = _entries(node, *_REPLACED)
    widgets = tuple(_widgets(leaf, entries, spots, appearances))
    flags = int(attributes.get("/Ff", 0))
    kind = _kind(attributes.get("/FT"), flags, has_widgets=bool(widgets))
    max_length = int(attributes["/MaxLen"]) if "/MaxLen" in attributes else None
    return FormField(
        name,
        kind,
        node.objgen[0],
        entries,
        bool(flags & _MULTILINE),
        bool(flags & _COMB) and not flags & (_MULTILINE | _PASSWORD) and bool(max_length),
        _holds_value(node, attributes, kind, appearances),
        max_length,
        widgets,
    )


def _widgets(
    leaf: _Leaf, entries: bytes, spots: Spots, appearances: Appearances
) -> Iterator[Widget]:
    """Yield the widgets of a field: those below it, or the field itself with its entries."""
    kids = leaf.node.get("/Kids", None)
    for node in kids or [leaf.node]:
        if "/Rect" in node:
            own = _entries(node, *_REPLACED) if kids else entries
            attributes = {**leaf.attributes, **_style(node)} if kids else leaf.attributes
            yield _widget(node, attributes, own, spots, appearances)


def _holds_value(
    node: Object, attributes: dict[str, Any], kind: Kind, appearances: Appearances
) -> bool:
    """True if a field has a value, or a widget of a text field shows one."""
    if attributes.get("/V", False):
        return True
    if kind == "checkbox":
        return any(each.get("/AS", Name.Off) != Name.Off for each in node.get("/Kids", [node]))
    return kind == "text" and any(
        appearances.operators(each.AP.get("/N")) & SHOW_TEXT
        for each in node.get("/Kids", [node])
        if isinstance(each.get("/AP"), Dictionary)
    )


def _style(widget: Object) -> dict[str, Any]:
    """Return the text style of a node, shortened, and its alignment."""
    style: dict[str, Any] = {"/Q": widget["/Q"]} if "/Q" in widget else {}
    return {**style, "/DA": str(widget["/DA"])[:_MAX_STYLE]} if "/DA" in widget else style


def _kind(kind: Object | None, flags: int, *, has_widgets: bool) -> Kind:
    """Return the kind of a field; a check box without a widget has no state to set."""
    if kind in (Name.Tx, Name.Ch) and not flags & _PASSWORD:
        return "text"
    is_box = kind == Name.Btn and not flags & _BUTTON_KINDS
    return "checkbox" if is_box and has_widgets else "other"


def _widget(
    node: Object,
    attributes: dict[str, Any],
    entries: bytes,
    spots: Spots,
    appearances: Appearances,
) -> Widget:
    left, bottom, right, top = _edges(node.Rect)
    spot = spots.get(node.objgen, _NO_SPOT)
    characteristics = node.get("/MK")
    if not isinstance(characteristics, Dictionary):
        characteristics = Dictionary()
    rotation = int(characteristics.get("/R", 0)) % 360
    width, height = _side(left, right), _side(bottom, top)
    if rotation in (90, 270):
        width, height = height, width
    size = _SIZE.search(attributes.get("/DA", ""))
    is_multiline = bool(int(attributes.get("/Ff", 0)) & _MULTILINE)
    on = appearances.checked_state(node)
    return Widget(
        node.objgen[0],
        entries,
        node.AP.unparse() if "/AP" in node else b"<<>>",
        spot.page,
        spot.position,
        _is_visible(node, (left, bottom, right, top), spot.edges),
        width,
        height,
        rotation,
        decoration(node, characteristics, width, height),
        _text_box(width, height, _given_size(size), is_multiline=is_multiline),
        int(attributes.get("/Q", 0)),
        Name(on or "/Yes").unparse(),
        bool(on) and appearances.is_drawable(node.AP.N[on]),
        str(characteristics.get("/CA", ""))[:1],
    )


def _is_visible(node: Object, box: tuple[float, ...], edges: tuple[float, ...]) -> bool:
    """True if a widget is not hidden, and a part of it is within the edges of its page."""
    left, bottom, right, top = box
    across = min(right, edges[2]) - max(left, edges[0])
    along = min(top, edges[3]) - max(bottom, edges[1])
    return not int(node.get("/F", 0)) & _HIDDEN and across >= 1 and along >= 1


def _side(one: float, other: float) -> float:
    return min(_MAX_SIDE, abs(other - one))


def _given_size(size: re.Match[str] | None) -> float:
    return min(abs(float(size[1])), _MAX_GIVEN_SIZE) if size else 0.0


def _text_box(width: float, height: float, size: float, *, is_multiline: bool) -> TextBox:
    """Return the text box of a widget; without a font size, text is as large as fits."""
    inner = max(width - 2 * _padding(width), 1.0)
    if is_multiline:
        return TextBox(inner, max(height - PADDING, 1.0), size or _DEFAULT_SIZE, _MIN_SIZE)
    size = size or min(height * 0.72, _MAX_AUTO_SIZE)
    return TextBox(inner, height, min(size, height), _MIN_LINE_SIZE)


def _padding(width: float) -> float:
    return min(PADDING, width / 16)
