"""A form filled in: values, what is seen of them, what found no room, and the proof."""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Final

import msgspec
import pikepdf
from pikepdf import Name, Object, String

from accord.sources.sheets.added import add_pages
from accord.sources.sheets.appearance import COMFORTABLE, Artist
from accord.sources.sheets.blank import Field, Widget
from accord.sources.sheets.form import Form
from accord.sources.sheets.ink import Ink
from accord.sources.sheets.sheet import Beyond, Sheet, Value, is_loss, label
from accord.sources.sheets.typeset import Typeface, set_lines
from accord.sources.sheets.update import Update, string

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
    return _Filling(form, sheet, face).run()


def read_back(form: Form, filled: Filled, stored: bytes) -> list[str]:
    """The names of fields that do not hold, as stored, what was written into them."""
    with pikepdf.open(BytesIO(stored), inherit_page_attributes=False) as pdf:
        kids: dict[tuple[int, ...], list[Object]] = {(): list(pdf.Root.AcroForm.Fields)}
        return [
            field.name
            for field in form.every_field()
            if field.name in filled.written
            and _value(_found(kids, field.place)) != filled.written[field.name]
        ]


def _found(kids: dict[tuple[int, ...], list[Object]], place: tuple[int, ...]) -> Object:
    """A field by its place; the lists on the way to it are read once."""
    above = place[:-1]
    if above not in kids:
        kids[above] = list(_found(kids, above).Kids)
    return kids[above][place[-1]]


def _value(node: Object) -> Value | None:
    value = node.get("/V")
    return str(value) if isinstance(value, String) else value is not None and value != _OFF


class _Filling:
    """One form while it is filled."""

    def __init__(self, form: Form, sheet: Sheet, face: Typeface) -> None:
        self._form = form
        self._values = {key: _clean(value) for key, value in sheet.values.items()}
        self._further = sheet.beyond
        self._update = Update(form.blank)
        self._ink = Ink(self._update, face)
        self._artist = Artist(self._update, self._ink)
        self._written: dict[str, Value] = {}
        self._beyond: dict[str, Beyond] = {}

    def run(self) -> Filled:
        """Fill everything, and save."""
        for key in list(self._values):
            self._place(key, self._values[key])
        self._beyond |= {each.key: each for each in self._further}
        title = str(self._values["character.name"])
        beyond = list(self._beyond.values())
        pages = add_pages(self._update, self._form.blank, self._ink, title, beyond)
        self._ink.embed()
        data = self._update.finish(title)
        return Filled(data, self._written, tuple(self._beyond), dict(self._undrawn()), pages)

    def _place(self, key: str, value: Value) -> None:
        fields = self._form.fields.get(key, ())
        for field in fields:
            if field.kind == "checkbox":
                self._check(field, is_on=bool(value))
            elif field.kind == "text" and value:
                self._write(key, field, value if isinstance(value, str) else _CHECKED)
        is_placed = any(field.kind != "other" for field in fields)
        if not is_placed and is_loss(key, value) and not self._is_further_row(key):
            self._overflow(key, str(value))

    def _overflow(self, key: str, text: str) -> None:
        """Put a text on an added page, whole."""
        self._beyond.setdefault(key, Beyond(key, label(key), text))

    def _is_further_row(self, key: str) -> bool:
        """Whether it is of a line that the form does not have: the sheet has told of it as such."""
        row = _ROW.fullmatch(key)
        return row is not None and int(row["index"]) >= self._form.rows(row["list"])

    def _write(self, key: str, field: Field, text: str) -> None:
        text = self._flow(key, field, text)
        if field.most is not None and len(text) > field.most:
            self._overflow(key, text)
            text = text[: field.most]
        self._written[field.name] = text
        drawings = [self._artist.text(field, widget, text) for widget in field.widgets]
        looks = [b"/AP<</N %d 0 R>>" % drawing for drawing, _ in drawings]
        self._put(field, b"/V " + string(text), looks)
        if not all(is_whole for _, is_whole in drawings):
            self._overflow(key, text)

    def _put(self, field: Field, value: bytes, looks: list[bytes]) -> None:
        """Give a field its value, and each of its widgets its looks."""
        entries = field.entries + value
        for widget, look in zip(field.widgets, looks, strict=True):
            if widget.number == field.number:
                entries += look
            else:
                self._update.put(widget.number, b"<<%b%b>>" % (widget.entries, look))
        self._update.put(field.number, b"<<%b>>" % entries)

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
        if not is_on and not field.is_checked:
            return
        if is_on:
            self._written[field.name] = True
        state = field.widgets[0].on if is_on else b"/Off"
        looks = [self._checked(widget, is_on=is_on) for widget in field.widgets]
        self._put(field, b"/V" + state, looks)

    def _checked(self, widget: Widget, *, is_on: bool) -> bytes:
        state = widget.on if is_on else b"/Off"
        if widget.has_mark:
            return b"/AP %b/AS%b" % (widget.looks, state)
        mark, nothing = self._artist.mark(widget), self._artist.nothing(widget)
        drawings = b"%b %d 0 R/Off %d 0 R" % (widget.on, mark, nothing)
        return b"/AP<</N<<%b>>>>/AS%b" % (drawings, state)

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
