"""Make PDF forms for tests: text fields and check boxes, well-formed and as programs leave them."""

import json
import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pikepdf
from pikepdf import Array, Dictionary, Name, Pdf, String

OFFICIAL = Path(__file__).with_name("official_fields.json")
MULTILINE = 1 << 12


class Made(NamedTuple):
    """A field to make: where it stands, and of which kind it is."""

    name: str
    page: int
    box: tuple[float, float, float, float]
    kind: str


def official_fields() -> list[Made]:
    """The fields of the widespread official form: facts about it, without the form."""
    rows = json.loads(OFFICIAL.read_text())
    return [Made(name, page, (a, b, c, d), kind) for name, page, a, b, c, d, kind in rows]


def make_form(
    fields: list[Made], *, pages: int = 1, paper: tuple[int, int] = (612, 792), **extra: Any
) -> bytes:
    """A PDF with these fields, drawn as plainly as a form can be."""
    pdf = Pdf.new()
    for _ in range(pages):
        pdf.add_blank_page(page_size=paper)
    made: dict[str, Any] = {}
    for field in fields:
        if field.name in made:  # the official form has three pictures of one name in one place
            continue
        page = pdf.pages[field.page - 1]
        widget = pdf.make_indirect(_widget(pdf, field))
        widget.P = page.obj
        if "/Annots" not in page.obj:
            page.obj.Annots = Array()
        page.obj.Annots.append(widget)
        made[field.name] = widget
    pdf.Root.AcroForm = Dictionary(Fields=Array(list(made.values())), NeedAppearances=True, **extra)
    target = BytesIO()
    pdf.save(target)
    return target.getvalue()


def _widget(pdf: Pdf, field: Made) -> Dictionary:
    base = Dictionary(
        Type=Name.Annot,
        Subtype=Name.Widget,
        T=String(field.name),
        Rect=Array(list(field.box)),
        F=4,
        DA=String("/Helv 0 Tf 0 g"),
    )
    match field.kind:
        case "check" | "check-without-marks":
            base.FT, base.V, base.AS = Name.Btn, Name.Off, Name.Off
            if field.kind == "check":
                drawn = pdf.make_stream(
                    b"0 0 4 4 re f", Subtype=Name.Form, BBox=Array([0, 0, 4, 4])
                )
                empty = pdf.make_stream(b"", Subtype=Name.Form, BBox=Array([0, 0, 4, 4]))
                base.AP = Dictionary(N=Dictionary(Yes=drawn, Off=empty))
        case "image":
            base.FT, base.Ff = Name.Btn, 1 << 16
        case "multiline":
            base.FT, base.Ff = Name.Tx, MULTILINE
        case _:
            base.FT = Name.Tx
    return base


def encrypted(data: bytes, *, password: str) -> bytes:
    """Return the form, encrypted with a user password."""
    target = BytesIO()
    with pikepdf.open(BytesIO(data)) as pdf:
        pdf.save(target, encryption=pikepdf.Encryption(owner="owner", user=password))
    return target.getvalue()


# Forms as programs leave them: the same fields, written otherwise


def changed(data: bytes, change: Callable[[Pdf], None]) -> bytes:
    """Return the form after a change."""
    target = BytesIO()
    with pikepdf.open(BytesIO(data)) as pdf:
        change(pdf)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pikepdf.PageCopyWarning)
            pdf.save(target)
    return target.getvalue()


def _widgets(pdf: Pdf) -> Iterator[Any]:
    return (widget for page in pdf.pages for widget in page.obj.get("/Annots", ()))


def _copy(pdf: Pdf, node: Any, *without: str) -> Any:
    return pdf.make_indirect(
        Dictionary({key: value for key, value in node.items() if key not in without})
    )


FIELD_ONLY = ("/Rect", "/Subtype", "/Type", "/P", "/F", "/AP", "/AS")


def separate_fields(pdf: Pdf) -> None:
    """Fields and page widgets are separate objects of one name, as macOS Preview writes them."""
    fields = [_copy(pdf, widget, *FIELD_ONLY) for widget in _widgets(pdf)]
    pdf.Root.AcroForm.Fields = Array(fields)


def separate_copies(pdf: Pdf) -> None:
    """The fields are whole widgets, of which the pages have copies."""
    pdf.Root.AcroForm.Fields = Array([_copy(pdf, widget) for widget in _widgets(pdf)])


def no_form(pdf: Pdf) -> None:
    """The pages have widgets, and there is no form."""
    del pdf.Root.AcroForm


def no_fields(pdf: Pdf) -> None:
    """The form lists no fields."""
    pdf.Root.AcroForm.Fields = Array()


def fields_are_null(pdf: Pdf) -> None:
    """The form lists objects that are gone."""
    pdf.Root.AcroForm.Fields = Array([None, None])


def direct_widgets(pdf: Pdf) -> None:
    """Widgets stand directly in the lists of their pages."""
    separate_fields(pdf)
    for page in pdf.pages:
        page.obj.Annots = Array([Dictionary(dict(w.items())) for w in page.obj.Annots])


def nameless_widgets(pdf: Pdf) -> None:
    """Each field has a kid that no page has; its copy on the page has no name and no parent."""
    fields = []
    for widget in _widgets(pdf):
        field = _copy(pdf, widget, *FIELD_ONLY)
        kid = _copy(pdf, widget, "/T", "/FT", "/V", "/Ff")
        kid.Parent, field.Kids = field, Array([kid])
        for key in ("/T", "/FT", "/V", "/Ff"):
            if key in widget:
                del widget[key]
        fields.append(field)
    pdf.Root.AcroForm.Fields = Array(fields)


def parents_are_copies(pdf: Pdf) -> None:
    """Each widget of a page has a copy of its field for a parent."""
    fields = []
    for widget in _widgets(pdf):
        field = _copy(pdf, widget, *FIELD_ONLY)
        field.Kids = Array([_copy(pdf, widget, "/T", "/FT", "/V", "/Ff")])
        fields.append(field)
        widget.Parent = _copy(pdf, field)
        for key in ("/T", "/FT", "/V", "/Ff"):
            if key in widget:
                del widget[key]
    pdf.Root.AcroForm.Fields = Array(fields)


def kids_of_fields(pdf: Pdf) -> None:
    """Each field has its widget as a kid, as a form should."""
    fields = []
    for widget in _widgets(pdf):
        field = _copy(pdf, widget, *FIELD_ONLY)
        field.Kids, widget.Parent = Array([widget]), field
        for key in ("/T", "/FT", "/V", "/Ff"):
            if key in widget:
                del widget[key]
        fields.append(field)
    pdf.Root.AcroForm.Fields = Array(fields)


def kids_without_fields(pdf: Pdf) -> None:
    """The same, and the form lists no fields."""
    kids_of_fields(pdf)
    no_fields(pdf)


LAYOUTS: dict[str, Callable[[Pdf], None]] = {
    "separate fields": separate_fields,
    "separate copies": separate_copies,
    "no form": no_form,
    "no fields": no_fields,
    "null fields": fields_are_null,
    "direct widgets": direct_widgets,
    "nameless widgets": nameless_widgets,
    "copied parents": parents_are_copies,
    "kids": kids_of_fields,
    "kids without fields": kids_without_fields,
}
