"""Make PDF forms for tests: text fields and check boxes."""

import json
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
