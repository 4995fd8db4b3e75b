"""A form to fill: a blank PDF, its fields and widgets, and the mapping of fields to value keys.

Filling appends to the bytes of the PDF (see pdf_update.py), so a field's entries are kept as PDF
source.
"""

import copy
import logging
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import pikepdf
from pikepdf import Array, Dictionary, Name, Object, ObjectStreamMode, Pdf

from accord.errors import ContractError
from accord.sources.sheets.sheet import is_key
from accord.sources.sheets.text_layout import TextBox

PADDING: Final = 2.0
_MAX_FIELDS: Final = 20_000
_MAX_DEPTH: Final = 32
_MULTILINE: Final = 1 << 12
_PASSWORD: Final = 1 << 13
_BUTTON_KINDS: Final = (1 << 15) | (1 << 16)  # radio buttons and push buttons
_MIN_SIZE: Final = 6.0
_MIN_LINE_SIZE: Final = 5.5
_DEFAULT_SIZE: Final = 9.0
_MAX_AUTO_SIZE: Final = 14.0
_MAX_GIVEN_SIZE: Final = 72.0
_MAX_SIDE: Final = 14_400.0  # as ISO 32000-1 has it for pages
_SIZE: Final = re.compile(r"(-?\d{0,9}\.?\d{1,9})\s+Tf")
_START: Final = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*$")
_UNREADABLE: Final = (
    *(pikepdf.PdfError, pikepdf.PikepdfError, ValueError, TypeError),
    *(LookupError, AttributeError, RuntimeError, OverflowError),
)

Kind = Literal["text", "checkbox", "other"]
PACKAGE: Final = Path(__file__).parent
PAPERS: Final = ("a4", "letter")
_MAX_BYTES: Final = 64 << 20


class Widget(NamedTuple):
    """A field's widget on a page: its object, its size, and its text box."""

    number: int
    entries: bytes
    """The object's entries, without value and appearance."""
    appearance: bytes
    """The original appearance."""
    page: int
    width: float
    height: float
    box: TextBox
    align: int
    on: bytes
    """The name of the checked state."""
    has_mark: bool
    """True if the form has an appearance for the checked state."""

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
    position: tuple[int, ...]
    """The field's position in the field tree."""
    is_multiline: bool
    is_checked: bool
    max_length: int | None
    """Maximum number of characters; None if unlimited."""
    widgets: tuple[Widget, ...]


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
    except _UNREADABLE as error:
        raise ContractError(f"{name} is not a readable PDF") from error
    if not blank.fields:
        raise ContractError(f"{name} has no fields to fill in")
    return blank


@contextmanager
def _silenced() -> Iterator[None]:
    """Silence pikepdf's log: a PDF that cannot be read is reported once, as an error."""
    log = logging.getLogger("pikepdf._core")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was_disabled


def _encrypted(name: str) -> ContractError:
    return ContractError(f"{name} is encrypted; remove its protection first")


def _cleaned(data: bytes, name: str) -> bytes:
    """Return the PDF with every field as an indirect object, and without XFA."""
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
    with warnings.catch_warnings():  # orphaned widgets of the original
        warnings.simplefilter("ignore", pikepdf.PageCopyWarning)
        pdf.save(target, object_stream_mode=ObjectStreamMode.generate, deterministic_id=True)
    return target.getvalue()


def _make_objects(pdf: Pdf, nodes: Any, seen: set[tuple[int, int]]) -> None:
    """Make every node of a field tree an indirect object; visit each node once."""
    for index, node in enumerate(nodes):
        if not node.is_indirect:
            nodes[index] = pdf.make_indirect(node)
        elif node.objgen in seen:
            continue
        seen.add(nodes[index].objgen)
        if "/Kids" in node:
            _make_objects(pdf, node.Kids, seen)


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
    """A field in the tree: its full name, position, object, and inherited attributes."""

    name: str
    position: tuple[int, ...]
    node: Object
    attributes: dict[str, Any]


def _fields(pdf: Pdf) -> Iterator[FormField]:
    form = pdf.Root.AcroForm
    pages = {
        annotation.objgen: number
        for number, page in enumerate(pdf.pages, 1)
        for annotation in page.obj.get("/Annots", ())
    }
    style = {"/DA": str(form.get("/DA", ""))}
    for count, leaf in enumerate(_leaves(form.get("/Fields", ()), style)):
        if count == _MAX_FIELDS:
            raise ValueError("too many fields")
        yield _field(leaf, pages)


def _leaves(
    nodes: Any, inherited: dict[str, Any], prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[_Leaf]:
    if len(above) > _MAX_DEPTH:
        raise ValueError("fields are nested too deeply")
    for index, node in enumerate(nodes):
        direct = {key: node[key] for key in ("/FT", "/Ff", "/DA", "/Q", "/MaxLen") if key in node}
        attributes = {**inherited, **direct}
        name, position = prefix + str(node.get("/T", "")), (*above, index)
        kids = node.get("/Kids")
        if kids is not None and any("/T" in kid for kid in kids):
            yield from _leaves(kids, attributes, f"{name}.", position)
        else:
            yield _Leaf(name, position, node, attributes)


def _field(leaf: _Leaf, pages: dict[tuple[int, int], int]) -> FormField:
    name, position, node, attributes = leaf
    widgets = tuple(
        _widget(each, {**attributes, **_style(each)}, pages)
        for each in node.get("/Kids", None) or [node]
        if "/Rect" in each
    )
    flags = int(attributes.get("/Ff", 0))
    return FormField(
        name,
        _kind(attributes.get("/FT"), flags, has_widgets=bool(widgets)),
        node.objgen[0],
        _entries(node, "/V", "/AP", "/AS"),
        position,
        bool(flags & _MULTILINE),
        node.get("/V", Name.Off) != Name.Off,
        int(attributes["/MaxLen"]) if "/MaxLen" in attributes else None,
        widgets,
    )


def _style(widget: Object) -> dict[str, Any]:
    return {key: widget[key] for key in ("/DA", "/Q") if key in widget}


def _kind(kind: Object | None, flags: int, *, has_widgets: bool) -> Kind:
    """Return the kind of a field; a check box without a widget has no state to set."""
    if kind in (Name.Tx, Name.Ch) and not flags & _PASSWORD:
        return "text"
    is_box = kind == Name.Btn and not flags & _BUTTON_KINDS
    return "checkbox" if is_box and has_widgets else "other"


def _widget(node: Object, attributes: dict[str, Any], pages: dict[tuple[int, int], int]) -> Widget:
    left, bottom, right, top = (float(edge) for edge in node.Rect)
    width, height = _side(left, right), _side(bottom, top)
    size = _SIZE.search(str(attributes.get("/DA", "")))
    is_multiline = bool(int(attributes.get("/Ff", 0)) & _MULTILINE)
    on = [state for state in _states(node) if state != "/Off"]
    return Widget(
        node.objgen[0],
        _entries(node, "/V", "/AP", "/AS"),
        node.AP.unparse() if "/AP" in node else b"<<>>",
        pages.get(node.objgen, 0),
        width,
        height,
        _text_box(width, height, _given_size(size), is_multiline=is_multiline),
        int(attributes.get("/Q", 0)),
        Name(on[0] if on else "/Yes").unparse(),
        bool(on),
    )


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


def _states(node: Object) -> list[str]:
    """Return the states of a check box that have an appearance."""
    drawings = node.get("/AP")
    if not isinstance(drawings, Dictionary):
        return []
    usual = drawings.get("/N")
    return [str(state) for state, _ in usual.items()] if isinstance(usual, Dictionary) else []


class SheetForm(msgspec.Struct, frozen=True):
    """A blank form, and its fields by value key."""

    blank: BlankForm
    fields: Mapping[str, tuple[FormField, ...]]
    absent: tuple[str, ...]
    """Field names in the mapping that the form does not have."""

    def has(self, key: str) -> bool:
        """True if the form has a field for a key."""
        return key in self.fields

    def rows(self, name: str) -> int:
        """Return the number of rows for a list."""
        count = 0
        while f"{name}[{count}].name" in self.fields:
            count += 1
        return count

    def every_field(self) -> Iterator[FormField]:
        """Yield the mapped fields."""
        return (field for fields in self.fields.values() for field in fields)


def load(template: Path | None = None, mapping: Path | None = None, paper: str = "a4") -> SheetForm:
    """Load a form: the bundled one, or a template with its mapping."""
    path = template or PACKAGE / "forms" / f"sheet-{paper}.pdf"
    blank = read_blank_form(_read(path), path.name)
    keys = _keys(path, blank.fields, mapping)
    named = _by_name(blank.fields)
    by_key: dict[str, tuple[FormField, ...]] = {}
    for name, key in keys.items():
        if name in named:
            by_key[key] = (*by_key.get(key, ()), *named[name])
    if not by_key:
        raise ContractError(f"{path.name} has none of the fields in its mapping")
    absent = tuple(name for name in keys if name not in named)
    return SheetForm(blank, by_key, absent)


def _by_name(fields: Sequence[FormField]) -> dict[str, tuple[FormField, ...]]:
    """Return the fields by name, without duplicates; several fields may share a name."""
    named: dict[str, tuple[FormField, ...]] = {}
    for field in {field.number: field for field in fields}.values():
        named[field.name] = (*named.get(field.name, ()), field)
    return named


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ContractError(f"file {path.name} does not exist")
        if path.stat().st_size > _MAX_BYTES:
            raise ContractError(f"{path.name} is larger than {_MAX_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise ContractError(f"could not read {path.name}: {error.strerror}") from error


# Mappings


def _keys(path: Path, fields: Sequence[FormField], mapping: Path | None) -> dict[str, str]:
    """Return the keys of a form's fields by field name."""
    if mapping is not None:
        return read_mapping(mapping)
    names = {field.name for field in fields}
    by_name = {name: name for name in names if is_key(name)}
    if by_name:
        return by_name
    official = read_mapping(PACKAGE / "forms" / "official.toml")
    if len(names & official.keys()) * 2 > len(official):
        return official
    raise ContractError(f"{path.name} has unknown fields; map them with --map")


def list_fields(path: Path) -> list[tuple[FormField, str]]:
    """Return the fields of a form, each with its key, or "" if it is unknown."""
    fields = read_blank_form(_read(path), path.name).fields
    try:
        keys = _keys(path, fields, None)
    except ContractError:
        keys = {}
    return [(field, keys.get(field.name, "")) for field in fields]


def read_mapping(path: Path) -> dict[str, str]:
    """Read a mapping file: keys by field name, without empty ones."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = msgspec.convert(read.get("fields"), dict[str, str])
    except OSError as error:
        raise ContractError(f"could not read {path.name}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{path.name} is not a mapping of fields: {reason}") from error
    fields = {name: key for name, key in fields.items() if key}
    unknown = sorted(key for key in fields.values() if not is_key(key))
    if unknown:
        named = ", ".join(unknown[:5])
        raise ContractError(f"{path.name} has unknown keys: {named}")
    return fields
