"""Fill a form: values, appearances, added pages, and a check of the stored file."""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final

import msgspec
import pikepdf
from pikepdf import Name, Object, String

from accord.model.answer import Problem
from accord.sources.sheets.blank_form import FormField, Widget
from accord.sources.sheets.drawing import (
    MIN_COMFORTABLE_SIZE,
    AppearanceWriter,
    TextWriter,
    add_pages,
)
from accord.sources.sheets.form import SheetForm
from accord.sources.sheets.pdf_update import PdfUpdate, pdf_string
from accord.sources.sheets.sheet import Overflow, Sheet, Value, label, needs_field
from accord.sources.sheets.text_layout import Typeface, layout_lines

_OFF: Final = Name.Off
_CHECKED: Final = "✓"
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_ROW: Final = re.compile(r"(?P<list>.+)\[(?P<index>\d+)\]\.\w+")


class FilledForm(msgspec.Struct, frozen=True):
    """A filled form: its bytes, the values by field name, and what is on added pages."""

    data: bytes
    written: Mapping[str, Value]
    """Values that the form's own pages show, by field name."""
    drawings: Mapping[int, bytes]
    """The compressed drawings of the text in widgets, by object number."""
    overflowed: tuple[str, ...]
    """Keys of values that are on added pages in full."""
    hidden: tuple[str, ...]
    """Fields that have a value, but no widget that a viewer draws."""
    cleared: tuple[str, ...]
    """Fields whose value in the form was removed."""
    undrawn: Mapping[str, str]
    """Characters that no font has, by the key of their value."""
    pages: int


def fill(form: SheetForm, sheet: Sheet, face: Typeface) -> FilledForm:
    """Fill a form with a sheet; text that does not fit is on added pages in full."""
    return _FormFiller(form, sheet, face).run()


def read_back(form: SheetForm, filled: FilledForm, stored: bytes) -> list[str]:
    """Return the names of fields whose widgets on the pages do not show the written value."""
    with pikepdf.open(BytesIO(stored), inherit_page_attributes=False) as pdf:
        annotations: list[Any] = [page.obj.get("/Annots", ()) for page in pdf.pages]
        return [
            field.name
            for field in form.every_field()
            if field.name in filled.written
            and not all(
                _shows(annotations[widget.page - 1][widget.position], field, widget, filled)
                for widget in field.widgets
                if widget.is_visible
            )
        ]


def _shows(node: Object, field: FormField, widget: Widget, filled: FilledForm) -> bool:
    """True if a widget of a page has the written value and its drawing."""
    appearance = node.get("/AP")
    if appearance is None or _value(node) != filled.written[field.name]:
        return False
    drawing: Any = appearance.get("/N")
    if field.kind == "text":
        return bool(drawing.read_raw_bytes() == filled.drawings[widget.number])
    return isinstance(drawing.get(str(node.AS)), pikepdf.Stream)


def _value(widget: Object) -> Value | None:
    value = widget.get("/V")
    if value is None and "/Parent" in widget:
        value = widget.Parent.get("/V")
    return str(value) if isinstance(value, String) else value is not None and value != _OFF


class _FormFiller:
    """Fills one form with one sheet."""

    def __init__(self, form: SheetForm, sheet: Sheet, face: Typeface) -> None:
        self._form = form
        self._values = {key: _clean(value) for key, value in sheet.values.items()}
        self._sheet_overflow = sheet.overflow
        self._update = PdfUpdate(form.blank)
        self._writer = TextWriter(self._update, face)
        self._appearances = AppearanceWriter(self._update, self._writer)
        self._written: dict[str, Value] = {}
        self._drawings: dict[int, bytes] = {}
        self._hidden: dict[str, None] = {}
        self._cleared: list[str] = []
        self._overflow: dict[str, Overflow] = {}

    def run(self) -> FilledForm:
        """Fill every field, clear the others, add pages, and return the file."""
        for key in list(self._values):
            self._put_value(key, self._values[key])
        if not self._written:
            raise _nothing_visible()
        self._clear_others()
        self._overflow |= {each.key: each for each in self._sheet_overflow}
        title = str(self._values["character.name"])
        overflow = list(self._overflow.values())
        pages = add_pages(self._update, self._form.blank, self._writer, title, overflow)
        self._writer.embed()
        return FilledForm(
            self._update.finish(title),
            self._written,
            self._drawings,
            tuple(self._overflow),
            tuple(self._hidden),
            tuple(self._cleared),
            dict(self._undrawn()),
            pages,
        )

    def _put_value(self, key: str, value: Value) -> None:
        fields = self._form.fields.get(key, ())
        if not value:
            return
        for field in fields:
            if field.kind == "checkbox":
                self._check(field)
            elif field.kind == "text":
                self._write(key, field, value if isinstance(value, str) else _CHECKED)
        is_shown = any(field.kind != "other" and field.is_visible for field in fields)
        if not is_shown:
            self._hidden |= dict.fromkeys(field.name for field in fields)
            if needs_field(key, value) and not self._is_further_row(key):
                self._add_overflow(key, str(value))

    def _clear_others(self) -> None:
        """Clear fields that the form has a value in, and this sheet has none for."""
        for field in self._form.held:
            if field.name in self._written or field.name in self._hidden:
                continue
            self._cleared.append(field.name)
            if field.kind == "checkbox":
                self._set_state(field, is_on=False)
                continue
            empty = [b"/AP<</N %d 0 R>>" % self._appearances.empty(each) for each in field.widgets]
            self._update_field(field, b"/V()", empty)

    def _add_overflow(self, key: str, text: str) -> None:
        """Put a text on an added page, in full."""
        self._overflow.setdefault(key, Overflow(key, label(key), text))

    def _is_further_row(self, key: str) -> bool:
        """True if a key is of a row that the form does not have; the sheet lists those itself."""
        row = _ROW.fullmatch(key)
        return row is not None and int(row["index"]) >= self._form.rows(row["list"])

    def _write(self, key: str, field: FormField, text: str) -> None:
        text = self._flow(key, field, text)
        if field.max_length is not None and len(text) > field.max_length:
            self._add_overflow(key, text)
            text = text[: field.max_length]
        drawings = [self._appearances.text(field, widget, text) for widget in field.widgets]
        appearances = [b"/AP<</N %d 0 R>>" % drawing for drawing, _ in drawings]
        self._update_field(field, b"/V " + pdf_string(text), appearances)
        self._record(field, text)
        for widget, (drawing, _) in zip(field.widgets, drawings, strict=True):
            self._drawings[widget.number] = self._appearances.data[drawing]
        if not all(fits for _, fits in drawings):
            self._add_overflow(key, text)

    def _record(self, field: FormField, value: Value) -> None:
        """Record a value as written if a viewer draws it."""
        if field.is_visible:
            self._written[field.name] = value

    def _update_field(self, field: FormField, value: bytes, appearances: list[bytes]) -> None:
        """Set a field's value and the appearance of each of its widgets."""
        entries = field.entries + value
        for widget, appearance in zip(field.widgets, appearances, strict=True):
            if widget.number == field.number:
                entries += appearance
            else:
                self._update.put(widget.number, b"<<%b%b>>" % (widget.entries, appearance))
        self._update.put(field.number, b"<<%b>>" % entries)

    def _flow(self, key: str, field: FormField, text: str) -> str:
        """Return the part of a long text for this field; the remainder goes to its `more` field."""
        more = f"{key.rpartition('.')[0]}.more"
        has_more = self._form.has(more) and more not in self._values
        if not (has_more and field.is_multiline and field.widgets):
            return text
        box = field.widgets[0].box
        min_size = min(box.size, MIN_COMFORTABLE_SIZE)
        block = layout_lines(self._writer.face, text, box._replace(min_size=min_size))
        if not block.overflow:
            return text
        self._values[more] = block.overflow
        for further in self._form.fields[more]:
            self._write(more, further, block.overflow)
        return text[: len(text) - len(block.overflow)].rstrip()

    def _check(self, field: FormField) -> None:
        self._set_state(field, is_on=True)
        self._record(field, True)

    def _set_state(self, field: FormField, *, is_on: bool) -> None:
        """Set a box and its widgets; of several widgets those that have the state are on."""
        state = field.widgets[0].on if is_on else b"/Off"
        appearances = [self._box(widget, state) for widget in field.widgets]
        self._update_field(field, b"/V" + state, appearances)

    def _box(self, widget: Widget, state: bytes) -> bytes:
        state = state if state == widget.on else b"/Off"
        if widget.has_mark:
            return b"/AP %b/AS%b" % (widget.appearance, state)
        mark, unchecked = self._appearances.check_mark(widget), self._appearances.empty(widget)
        drawings = b"%b %d 0 R/Off %d 0 R" % (widget.on, mark, unchecked)
        return b"/AP<</N<<%b>>>>/AS%b" % (drawings, state)

    def _undrawn(self) -> Iterator[tuple[str, str]]:
        for key, value in self._values.items():
            if isinstance(value, str) and not value.isascii():
                lost = self._writer.face.missing_characters(value)
                if lost:
                    yield key, "".join(lost)


def _nothing_visible() -> Problem:
    return Problem.unavailable(
        "The sheet was not written: no field of the form shows a value",
        remediation=(
            "use a form whose fields are on its pages and not hidden, or complete the mapping"
            " (accord sheet --fields FORM prints one)"
        ),
        retryable=False,
    )


def _clean(value: Value) -> Value:
    """Return text with normalized line ends and without control characters."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return _CONTROLS.sub("", text)
