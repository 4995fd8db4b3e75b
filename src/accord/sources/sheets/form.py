"""A fillable PDF: its fields, where they stand, and which value each is for."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import pikepdf
from pikepdf import Name, Object, Pdf

from accord.errors import ContractError
from accord.sources.sheets.sheet import is_key
from accord.sources.sheets.typeset import Room

HERE: Final = Path(__file__).parent
PAPERS: Final = ("a4", "letter")
_MOST_BYTES: Final = 64 << 20
_MOST_FIELDS: Final = 20_000
_DEEPEST: Final = 32
_MULTILINE: Final = 1 << 12
_PASSWORD: Final = 1 << 13
_BUTTON_KINDS: Final = (1 << 15) | (1 << 16)  # radio buttons and push buttons
PADDING: Final = 2.0
_LEAST_SIZE: Final = 6.0
_LEAST_LINE_SIZE: Final = 5.5
_USUAL_SIZE: Final = 9.0
_LARGEST_SIZE: Final = 14.0
_SIZE: Final = re.compile(r"(-?\d*\.?\d+)\s+Tf")

Kind = Literal["text", "checkbox", "other"]


class Widget(NamedTuple):
    """Where a field stands on a page: the object, its size, and how its text is set."""

    reference: tuple[int, int]
    page: int
    width: float
    height: float
    room: Room
    align: int
    on: str
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
    reference: tuple[int, int]
    place: tuple[int, ...]
    """Where it stands in the tree of fields, which stays so when the form is saved."""
    is_multiline: bool
    most: int | None
    """How many characters it takes."""
    widgets: tuple[Widget, ...]

    def seek(self, roots: Object) -> Object:
        """This field in a file that the form was saved to."""
        first, *below = self.place
        node = roots[first]
        for index in below:
            node = node.Kids[index]
        return node


class Form(msgspec.Struct, frozen=True):
    """A form that can be filled: its bytes, its fields by key, and its page size."""

    data: bytes
    fields: Mapping[str, tuple[Field, ...]]
    absent: tuple[str, ...]
    """Names in the mapping that the form does not have."""

    def has(self, key: str) -> bool:
        """Whether there is a field for a value."""
        return key in self.fields

    def rows(self, name: str) -> int:
        """How many lines there are for a list."""
        count = 0
        while f"{name}[{count}].name" in self.fields:
            count += 1
        return count

    def every_field(self) -> Iterator[Field]:
        """The fields that are for something."""
        return (field for fields in self.fields.values() for field in fields)

    def open(self) -> Pdf:
        """The form, to be filled once."""
        return open_quickly(self.data)


def open_quickly(data: bytes) -> Pdf:
    """A PDF without what only work on its pages would need."""
    return pikepdf.open(BytesIO(data), inherit_page_attributes=False)


def load(template: Path | None = None, mapping: Path | None = None, paper: str = "a4") -> Form:
    """A form to fill: our own, or somebody's with the mapping that it needs."""
    path = template or HERE / "forms" / f"sheet-{paper}.pdf"
    data = _read(path)
    fields = read_fields(data, path.name)
    keys = _keys(path, fields, mapping)
    named = {field.name: field for field in fields}
    by_key: dict[str, tuple[Field, ...]] = {}
    for name, key in keys.items():
        if name in named:
            by_key[key] = (*by_key.get(key, ()), named[name])
    if not by_key:
        raise ContractError(f"{path.name} has none of the fields that its mapping names")
    absent = tuple(name for name in keys if name not in named)
    return Form(data, by_key, absent)


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ContractError(f"there is no file {path.name}")
        if path.stat().st_size > _MOST_BYTES:
            raise ContractError(f"{path.name} is too large for a form")
        return path.read_bytes()
    except OSError as error:
        raise ContractError(f"cannot read {path.name}: {error.strerror}") from error


def read_fields(data: bytes, name: str) -> list[Field]:
    """The fields of a PDF; one clear error if it is none, or has none."""
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            if pdf.is_encrypted:
                raise ContractError(f"{name} is encrypted; take its protection off first")
            fields = list(_fields(pdf))
    except pikepdf.PasswordError as error:
        raise ContractError(f"{name} is encrypted; take its protection off first") from error
    except (
        pikepdf.PdfError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,
    ) as error:
        raise ContractError(f"{name} is no PDF that can be read") from error
    if not fields:
        raise ContractError(f"{name} has no fields to fill in")
    return fields


def _fields(pdf: Pdf) -> Iterator[Field]:
    form = pdf.Root.get("/AcroForm")
    if not isinstance(form, pikepdf.Dictionary):
        return
    pages = _pages_of_widgets(pdf)
    style = str(form.get("/DA", ""))
    for count, leaf in enumerate(_leaves(form.get("/Fields", ()), {"/DA": style})):
        if count == _MOST_FIELDS:
            raise ValueError("too many fields")
        yield _field(leaf, pages)


class _Leaf(NamedTuple):
    """A field as it is found: its full name, its place, the object, what its parents say too."""

    name: str
    place: tuple[int, ...]
    node: Object
    said: dict[str, Any]


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
        _kind(said.get("/FT"), flags),
        node.objgen,
        place,
        bool(flags & _MULTILINE),
        int(said["/MaxLen"]) if "/MaxLen" in said else None,
        widgets,
    )


def _style(widget: Object) -> dict[str, Any]:
    return {key: widget[key] for key in ("/DA", "/Q") if key in widget}


def _kind(kind: Object | None, flags: int) -> Kind:
    if kind in (Name.Tx, Name.Ch) and not flags & _PASSWORD:
        return "text"
    return "checkbox" if kind == Name.Btn and not flags & _BUTTON_KINDS else "other"


def _widget(node: Object, said: dict[str, Any], pages: dict[tuple[int, int], int]) -> Widget:
    left, bottom, right, top = (float(edge) for edge in node.Rect)
    width, height = abs(right - left), abs(top - bottom)
    size = _SIZE.search(str(said.get("/DA", "")))
    is_multiline = bool(int(said.get("/Ff", 0)) & _MULTILINE)
    on = [state for state in _states(node) if state != "/Off"]
    return Widget(
        node.objgen,
        pages.get(node.objgen, 0),
        width,
        height,
        _room(width, height, abs(float(size[1])) if size else 0.0, is_multiline=is_multiline),
        int(said.get("/Q", 0)),
        on[0] if on else "/Yes",
        bool(on),
    )


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
    if not isinstance(drawings, pikepdf.Dictionary):
        return []
    usual = drawings.get("/N")
    return (
        [str(state) for state, _ in usual.items()] if isinstance(usual, pikepdf.Dictionary) else []
    )


def _pages_of_widgets(pdf: Pdf) -> dict[tuple[int, int], int]:
    return {
        annotation.objgen: number
        for number, page in enumerate(pdf.pages, 1)
        for annotation in page.obj.get("/Annots", ())
    }


# Which field is for what


def _keys(path: Path, fields: list[Field], mapping: Path | None) -> dict[str, str]:
    """The keys of a form's fields by their names."""
    if mapping is not None:
        return read_mapping(mapping)
    names = {field.name for field in fields}
    own = {name: name for name in names if is_key(name)}
    if own:
        return own
    official = read_mapping(HERE / "forms" / "official.toml")
    if len(names & official.keys()) * 2 > len(official):
        return official
    raise ContractError(
        f"{path.name} has fields that are not known here; say what they are for with --map"
    )


def list_fields(path: Path) -> list[tuple[Field, str]]:
    """The fields of a form, each with the key of its value where that is known, else nothing."""
    fields = read_fields(_read(path), path.name)
    try:
        keys = _keys(path, fields, None)
    except ContractError:
        keys = {}
    return [(field, keys.get(field.name, "")) for field in fields]


def read_mapping(path: Path) -> dict[str, str]:
    """A mapping file: the names of fields, and the key of the value that each is for."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = msgspec.convert(read.get("fields"), dict[str, str])
    except OSError as error:
        raise ContractError(f"cannot read {path.name}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{path.name} is no mapping of fields: {reason}") from error
    unknown = sorted(key for key in fields.values() if not is_key(key))
    if unknown:
        named = ", ".join(unknown[:5])
        raise ContractError(f"{path.name} names values that there are not: {named}")
    return fields
