"""A fillable PDF before it is filled: made clean once, with everything that filling needs to know.

Filling itself appends to these bytes (see update.py), so what a field says of itself is kept here
as a PDF writes it.
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
from pikepdf import Array, Dictionary, Name, Object, ObjectStreamMode, Pdf

from accord.errors import ContractError
from accord.sources.sheets.typeset import Room

PADDING: Final = 2.0
_MOST_FIELDS: Final = 20_000
_DEEPEST: Final = 32
_MULTILINE: Final = 1 << 12
_PASSWORD: Final = 1 << 13
_BUTTON_KINDS: Final = (1 << 15) | (1 << 16)  # radio buttons and push buttons
_LEAST_SIZE: Final = 6.0
_LEAST_LINE_SIZE: Final = 5.5
_USUAL_SIZE: Final = 9.0
_LARGEST_SIZE: Final = 14.0
_LARGEST_GIVEN_SIZE: Final = 72.0
_LONGEST_SIDE: Final = 14_400.0  # as ISO 32000-1 has it for pages
_SIZE: Final = re.compile(r"(-?\d{0,9}\.?\d{1,9})\s+Tf")
_START: Final = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*$")
_UNREADABLE: Final = (
    *(pikepdf.PdfError, pikepdf.PikepdfError, ValueError, TypeError),
    *(LookupError, AttributeError, RuntimeError, OverflowError),
)

Kind = Literal["text", "checkbox", "other"]


class Widget(NamedTuple):
    """Where a field stands on a page: its object, its size, and how its text is set."""

    number: int
    entries: bytes
    """The object, without its value and without how it looks."""
    looks: bytes
    """How it looks as it came."""
    page: int
    width: float
    height: float
    room: Room
    align: int
    on: bytes
    """The name of its state when it is checked."""
    has_mark: bool
    """Whether the form itself draws that state."""

    @property
    def padding(self) -> float:
        """What stays free at its left and right."""
        return _padding(self.width)


class Field(NamedTuple):
    """One field by its full name."""

    name: str
    kind: Kind
    number: int
    entries: bytes
    """The object, without its value; of a field that is its own widget, that of the widget."""
    place: tuple[int, ...]
    """Where it stands in the tree of fields."""
    is_multiline: bool
    is_checked: bool
    most: int | None
    """How many characters it takes."""
    widgets: tuple[Widget, ...]


class Blank(NamedTuple):
    """A form that nobody has filled in yet."""

    data: bytes
    fields: tuple[Field, ...]
    start: int
    """Where its last table of objects begins."""
    size: int
    """One more than its highest object."""
    root: bytes
    identity: str
    """What it is known by, whatever is changed in it."""
    pages: int
    """The object that holds the pages."""
    pages_entries: bytes
    page_list: bytes
    page_count: int
    paper: tuple[float, float]


def read_blank(data: bytes, name: str) -> Blank:
    """A form from a PDF; one clear error if it is none, or has no fields."""
    try:
        with _in_silence():
            clean = _cleaned(data, name)
            with pikepdf.open(BytesIO(clean)) as pdf:
                blank = _blank(pdf, clean)
    except pikepdf.PasswordError as error:
        raise _encrypted(name) from error
    except _UNREADABLE as error:
        raise ContractError(f"{name} is no PDF that can be read") from error
    if not blank.fields:
        raise ContractError(f"{name} has no fields to fill in")
    return blank


@contextmanager
def _in_silence() -> Iterator[None]:
    """What the library finds odd on its way is no news: what comes of it is said once."""
    log = logging.getLogger("pikepdf._core")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was_disabled


def _encrypted(name: str) -> ContractError:
    return ContractError(f"{name} is encrypted; take its protection off first")


def _cleaned(data: bytes, name: str) -> bytes:
    """The same form in one piece, each field an object of its own, drawn by nobody but us."""
    with pikepdf.open(BytesIO(data)) as pdf:
        if pdf.is_encrypted:
            raise _encrypted(name)
        form = pdf.Root.get("/AcroForm")
        if not isinstance(form, Dictionary):
            raise ContractError(f"{name} has no fields to fill in")
        for entry in ("/NeedAppearances", "/XFA"):
            if entry in form:
                del form[entry]
        _make_objects(pdf, form.get("/Fields", Array()), set())
        return _saved(pdf)


def _saved(pdf: Pdf) -> bytes:
    target = BytesIO()
    with warnings.catch_warnings():  # widgets that belong to no field: that is how it came
        warnings.simplefilter("ignore", pikepdf.PageCopyWarning)
        pdf.save(target, object_stream_mode=ObjectStreamMode.generate, deterministic_id=True)
    return target.getvalue()


def _make_objects(pdf: Pdf, nodes: Any, seen: set[tuple[int, int]]) -> None:
    """Make each node of a tree an object; one that stands there several times is met once."""
    for index, node in enumerate(nodes):
        if not node.is_indirect:
            nodes[index] = pdf.make_indirect(node)
        elif node.objgen in seen:
            continue
        seen.add(nodes[index].objgen)
        if "/Kids" in node:
            _make_objects(pdf, node.Kids, seen)


def _blank(pdf: Pdf, data: bytes) -> Blank:
    start = _START.search(data)
    if start is None:
        raise ValueError("no table of objects")
    tree, paper = pdf.Root.Pages, pdf.pages[0].mediabox
    left, bottom, right, top = (float(edge) for edge in paper)
    kids = b" ".join(kid.unparse() for kid in tree.Kids)
    return Blank(
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
    """What a dictionary says, but for some of it."""
    kept = copy.copy(node)
    for name in without:
        if name in kept:
            del kept[name]
    return kept.unparse(resolved=True).strip()[2:-2]


class _Leaf(NamedTuple):
    """A field as it is found: its full name, its place, the object, what its parents say too."""

    name: str
    place: tuple[int, ...]
    node: Object
    said: dict[str, Any]


def _fields(pdf: Pdf) -> Iterator[Field]:
    form = pdf.Root.AcroForm
    pages = {
        annotation.objgen: number
        for number, page in enumerate(pdf.pages, 1)
        for annotation in page.obj.get("/Annots", ())
    }
    style = {"/DA": str(form.get("/DA", ""))}
    for count, leaf in enumerate(_leaves(form.get("/Fields", ()), style)):
        if count == _MOST_FIELDS:
            raise ValueError("too many fields")
        yield _field(leaf, pages)


def _leaves(
    nodes: Any, inherited: dict[str, Any], prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[_Leaf]:
    if len(above) > _DEEPEST:
        raise ValueError("fields are nested too deeply")
    for index, node in enumerate(nodes):
        own = {key: node[key] for key in ("/FT", "/Ff", "/DA", "/Q", "/MaxLen") if key in node}
        said = {**inherited, **own}
        name, place = prefix + str(node.get("/T", "")), (*above, index)
        kids = node.get("/Kids")
        if kids is not None and any("/T" in kid for kid in kids):
            yield from _leaves(kids, said, f"{name}.", place)
        else:
            yield _Leaf(name, place, node, said)


def _field(leaf: _Leaf, pages: dict[tuple[int, int], int]) -> Field:
    name, place, node, said = leaf
    widgets = tuple(
        _widget(each, {**said, **_style(each)}, pages)
        for each in node.get("/Kids", None) or [node]
        if "/Rect" in each
    )
    flags = int(said.get("/Ff", 0))
    return Field(
        name,
        _kind(said.get("/FT"), flags, has_widgets=bool(widgets)),
        node.objgen[0],
        _entries(node, "/V", "/AP", "/AS"),
        place,
        bool(flags & _MULTILINE),
        node.get("/V", Name.Off) != Name.Off,
        int(said["/MaxLen"]) if "/MaxLen" in said else None,
        widgets,
    )


def _style(widget: Object) -> dict[str, Any]:
    return {key: widget[key] for key in ("/DA", "/Q") if key in widget}


def _kind(kind: Object | None, flags: int, *, has_widgets: bool) -> Kind:
    """A box that stands nowhere cannot be checked: there is no name for that state."""
    if kind in (Name.Tx, Name.Ch) and not flags & _PASSWORD:
        return "text"
    is_box = kind == Name.Btn and not flags & _BUTTON_KINDS
    return "checkbox" if is_box and has_widgets else "other"


def _widget(node: Object, said: dict[str, Any], pages: dict[tuple[int, int], int]) -> Widget:
    left, bottom, right, top = (float(edge) for edge in node.Rect)
    width, height = _side(left, right), _side(bottom, top)
    size = _SIZE.search(str(said.get("/DA", "")))
    is_multiline = bool(int(said.get("/Ff", 0)) & _MULTILINE)
    on = [state for state in _states(node) if state != "/Off"]
    return Widget(
        node.objgen[0],
        _entries(node, "/V", "/AP", "/AS"),
        node.AP.unparse() if "/AP" in node else b"<<>>",
        pages.get(node.objgen, 0),
        width,
        height,
        _room(width, height, _given_size(size), is_multiline=is_multiline),
        int(said.get("/Q", 0)),
        Name(on[0] if on else "/Yes").unparse(),
        bool(on),
    )


def _side(one: float, other: float) -> float:
    return min(_LONGEST_SIDE, abs(other - one))


def _given_size(size: re.Match[str] | None) -> float:
    return min(abs(float(size[1])), _LARGEST_GIVEN_SIZE) if size else 0.0


def _room(width: float, height: float, size: float, *, is_multiline: bool) -> Room:
    """The room for text; without a size of its own, text is as large as fits."""
    inner = max(width - 2 * _padding(width), 1.0)
    if is_multiline:
        return Room(inner, max(height - PADDING, 1.0), size or _USUAL_SIZE, _LEAST_SIZE)
    size = size or min(height * 0.72, _LARGEST_SIZE)
    return Room(inner, height, min(size, height), _LEAST_LINE_SIZE)


def _padding(width: float) -> float:
    return min(PADDING, width / 16)


def _states(node: Object) -> list[str]:
    """The states of a check box that the form has drawings for."""
    drawings = node.get("/AP")
    if not isinstance(drawings, Dictionary):
        return []
    usual = drawings.get("/N")
    return [str(state) for state, _ in usual.items()] if isinstance(usual, Dictionary) else []
