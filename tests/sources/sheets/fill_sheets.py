"""Fill sheets in tests, and read PDFs with other libraries."""

import json
import subprocess
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf

from accord.sources.sheets import Filler, Typeface, bind, load
from accord.sources.sheets.fill import FilledForm
from accord.sources.sheets.tool import FilledSheet

Values = dict[str, str | bool]


@cache
def own_filler() -> Filler:
    """The filler of our own form."""
    return Filler(load(), Typeface())


def draw(
    character: dict[str, Any], *, filler: Filler | None = None, **arguments: Any
) -> FilledSheet:
    """A filled sheet of a character."""
    request = bind(json.dumps({"character_data": character, **arguments}).encode())
    return (filler or own_filler()).draw(request.arguments, "sheet.pdf")


def values(data: bytes) -> Values:
    """Every field that has a value, by its full name, as pikepdf's own form reader finds them."""
    found: Values = {}

    def walk(nodes: Any, prefix: str) -> None:
        for node in nodes:
            name = f"{prefix}{node.T}"
            kids = node.get("/Kids", ())
            if any("/T" in kid for kid in kids):
                walk(kids, f"{name}.")
            elif "/V" in node:
                held = node.V
                is_text = isinstance(held, pikepdf.String)
                found[name] = str(held) if is_text else str(held) != "/Off"

    with pikepdf.open(BytesIO(data)) as pdf:
        walk(pdf.Root.AcroForm.Fields, "")
    return {name: value for name, value in found.items() if value}


def appearance(filled: FilledForm, name: str) -> bytes:
    """Return the appearance of a field, by the last part of its name."""
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        for page in pdf.pages:
            for widget in page.obj.Annots:
                if str(widget.get("/T", "")) == name:
                    drawing = widget.AP.N
                    return bytes(drawing.read_bytes())
    raise LookupError(name)


def words(data: bytes, folder: Path) -> str:
    """The text of a PDF, as poppler reads it."""
    path = folder / "words.pdf"
    path.write_bytes(data)
    command = ["pdftotext", "-layout", str(path), "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
