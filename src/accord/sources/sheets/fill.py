"""A form filled in: values, what is seen of them, what found no room, and the proof."""

import re
import warnings
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Final

import msgspec
import pikepdf
from pikepdf import Dictionary, Name, Object, Pdf, StreamDecodeLevel, String

from accord.sources.sheets.added import add_pages
from accord.sources.sheets.appearance import COMFORTABLE, Artist
from accord.sources.sheets.form import Field, Form, Widget, open_quickly
from accord.sources.sheets.ink import Ink
from accord.sources.sheets.sheet import Beyond, Sheet, Value, is_loss, label
from accord.sources.sheets.typeset import Typeface, set_lines

# A form may have widgets that belong to no field: that is how it came, and nothing to tell us.
warnings.filterwarnings("ignore", category=pikepdf.PageCopyWarning)

_OFF: Final = Name.Off
_CHECKED: Final = "✓"
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_ROW: Final = re.compile(r"(?P<list>.+)\[(?P<index>\d+)\]\.\w+")


class Filled(msgspec.Struct, frozen=True):
    """A filled form: its bytes, what was written by field name, and what went to added pages."""

    data: bytes
    written: Mapping[str, Value]
    overflowed: tuple[str, ...]
    """Keys of values that stand on added pages, whole."""
    undrawn: Mapping[str, str]
    """Characters that no font has, by the key of the value they stand in."""
    pages: int


def fill(form: Form, sheet: Sheet, face: Typeface) -> Filled:
    """Fill a form with a sheet; nothing is cut that is not on an added page."""
    with form.open() as pdf:
        return _Filling(pdf, form, sheet, face).run()


def read_back(form: Form, filled: Filled, stored: bytes) -> list[str]:
    """The names of fields that do not hold, as stored, what was written into them."""
    with open_quickly(stored) as pdf:
        root = pdf.Root.AcroForm.Fields
        return [
            field.name
            for field in form.every_field()
            if field.name in filled.written
            and _value(field.seek(root)) != filled.written[field.name]
        ]


def _value(node: Object) -> Value | None:
    value = node.get("/V")
    return str(value) if isinstance(value, String) else value is not None and value != _OFF


class _Filling:
    """One form while it is filled."""

    def __init__(self, pdf: Pdf, form: Form, sheet: Sheet, face: Typeface) -> None:
        self._pdf = pdf
        self._form = form
        self._values = {key: _clean(value) for key, value in sheet.values.items()}
        self._further = sheet.beyond
        self._ink = Ink(pdf, face)
        self._artist = Artist(pdf, self._ink)
        self._written: dict[str, Value] = {}
        self._beyond: list[Beyond] = []

    def run(self) -> Filled:
        """Fill everything, and save."""
        for key in list(self._values):
            self._place(key, self._values[key])
        self._beyond += self._further
        add_pages(self._pdf, self._ink, str(self._values["character.name"]), self._beyond)
        self._ink.embed()
        self._settle()
        target = BytesIO()
        self._pdf.save(target, stream_decode_level=StreamDecodeLevel.none)
        overflowed = tuple(dict.fromkeys(each.key for each in self._beyond))
        undrawn = dict(self._undrawn())
        return Filled(target.getvalue(), self._written, overflowed, undrawn, len(self._pdf.pages))

    def _place(self, key: str, value: Value) -> None:
        fields = self._form.fields.get(key, ())
        for field in fields:
            if field.kind == "checkbox":
                self._check(field, is_on=bool(value))
            elif field.kind == "text" and value:
                self._write(key, field, value if isinstance(value, str) else _CHECKED)
        is_placed = any(field.kind != "other" for field in fields)
        if not is_placed and is_loss(key, value) and not self._is_further_row(key):
            self._beyond.append(Beyond(key, label(key), str(value)))

    def _is_further_row(self, key: str) -> bool:
        """Whether it is of a line that the form does not have: the sheet has told of it as such."""
        row = _ROW.fullmatch(key)
        return row is not None and int(row["index"]) >= self._form.rows(row["list"])

    def _write(self, key: str, field: Field, text: str) -> None:
        text = self._flow(key, field, text)
        if field.most is not None and len(text) > field.most:
            self._beyond.append(Beyond(key, label(key), text))
            text = text[: field.most]
        node = self._pdf.get_object(field.reference)
        node.V = String(text)
        self._written[field.name] = text
        is_whole = True
        for widget in field.widgets:
            drawing, is_all = self._artist.text(field, widget, text)
            self._shown(field, widget, node).AP = Dictionary(N=drawing)
            is_whole = is_whole and is_all
        if not is_whole:
            self._beyond.append(Beyond(key, label(key), text))

    def _flow(self, key: str, field: Field, text: str) -> str:
        """What of a long text stands here, where there is a further field for the rest."""
        more = f"{key.rpartition('.')[0]}.more"
        has_more = self._form.has(more) and more not in self._values
        if not (has_more and field.is_multiline and field.widgets):
            return text
        place = field.widgets[0].room
        least = min(place.size, COMFORTABLE)
        block = set_lines(self._ink.face, text, place._replace(least=least))
        if not block.rest:
            return text
        self._values[more] = block.rest
        for further in self._form.fields[more]:
            self._write(more, further, block.rest)
        return text[: len(text) - len(block.rest)].rstrip()

    def _check(self, field: Field, *, is_on: bool) -> None:
        node = self._pdf.get_object(field.reference)
        if not is_on and node.get("/V", _OFF) == _OFF:
            return
        state = Name(field.widgets[0].on) if is_on and field.widgets else _OFF
        node.V = state
        if is_on:
            self._written[field.name] = True
        for widget in field.widgets:
            shown = self._shown(field, widget, node)
            shown.AS = Name(widget.on) if is_on else _OFF
            if not widget.has_mark:
                states = {
                    widget.on: self._artist.mark(widget),
                    "/Off": self._artist.nothing(widget),
                }
                shown.AP = Dictionary(N=Dictionary(states))

    def _shown(self, field: Field, widget: Widget, node: Object) -> Object:
        """The object of a widget: that of its field, where there is only one."""
        is_one = widget.reference == field.reference
        return node if is_one else self._pdf.get_object(widget.reference)

    def _settle(self) -> None:
        """What is drawn is what there is: no viewer has to draw it again, or knows better."""
        form = self._pdf.Root.AcroForm
        for name in ("/NeedAppearances", "/XFA"):
            if name in form:
                del form[name]
        self._pdf.docinfo["/Title"] = String(str(self._values["character.name"]))

    def _undrawn(self) -> Iterator[tuple[str, str]]:
        for key, value in self._values.items():
            if isinstance(value, str) and not value.isascii():
                lost = self._ink.face.lacks(value)
                if lost:
                    yield key, "".join(lost)


def _clean(value: Value) -> Value:
    """Text with lines that end as they should, and without what no paper can show."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return _CONTROLS.sub("", text)
