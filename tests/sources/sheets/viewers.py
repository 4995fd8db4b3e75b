"""What viewers draw: pages and text of a PDF by Poppler and by PDFium."""

import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pikepdf
import pypdfium2
import pytest
from PIL import Image, ImageChops

DPI: Final = 72
Box = tuple[float, float, float, float]


def _poppler(data: bytes, page: int) -> Image.Image:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.pdf"
        path.write_bytes(data)
        only = ["-f", str(page), "-l", str(page), "-singlefile"]
        command = [
            "pdftoppm",
            "-png",
            "-cropbox",
            "-r",
            str(DPI),
            *only,
            str(path),
            f"{folder}/page",
        ]
        subprocess.run(command, check=True, capture_output=True)
        return Image.open(BytesIO((Path(folder) / "page.png").read_bytes())).convert("RGB")


def _poppler_text(data: bytes, page: int) -> str:
    command = ["pdftotext", "-f", str(page), "-l", str(page), "-", "-"]
    done = subprocess.run(command, input=data, check=True, capture_output=True)
    return done.stdout.decode()


def _pdfium(data: bytes, page: int) -> Image.Image:
    pdf = pypdfium2.PdfDocument(data)
    pdf.init_forms()
    picture: Image.Image = pdf[page - 1].render(scale=DPI / 72, may_draw_forms=True).to_pil()
    pdf.close()
    return picture.convert("RGB")


def _pdfium_text(data: bytes, page: int) -> str:
    pdf = pypdfium2.PdfDocument(data)
    pdf.init_forms()
    pdf[page - 1].flatten()
    text: str = pdf[page - 1].get_textpage().get_text_range()
    pdf.close()
    return text


VIEWERS: Final = {"poppler": (_poppler, _poppler_text), "pdfium": (_pdfium, _pdfium_text)}
every_viewer = pytest.mark.parametrize(
    "viewer",
    [
        pytest.param(
            "poppler",
            marks=pytest.mark.skipif(
                shutil.which("pdftoppm") is None,
                reason="needs poppler: apt-get install poppler-utils",
            ),
        ),
        "pdfium",
    ],
)


def picture(viewer: str, data: bytes, page: int = 1) -> Image.Image:
    """A page as a viewer draws it, a pixel for each point."""
    return VIEWERS[viewer][0](data, page)


def text(viewer: str, data: bytes, page: int = 1) -> str:
    """The text of a page with its fields, with single spaces."""
    return " ".join(VIEWERS[viewer][1](data, page).split())


def blank_boxes(viewer: str, before: bytes, after: bytes) -> list[str]:
    """The widgets of a filled form in whose rectangle a viewer draws what it drew in the empty one."""
    blank = []
    with pikepdf.open(BytesIO(after)) as pdf, pikepdf.open(BytesIO(before)) as empty:
        for number, page in enumerate(empty.pages, 1):
            boxes = [
                (str(w.get("/T", w.get("/Parent", w).get("/T", ""))), _box(w))
                for w in pdf.pages[number - 1].obj.get("/Annots", ())
            ]
            if not boxes:
                continue
            height = float(page.mediabox[3])
            ink = ImageChops.difference(
                picture(viewer, before, number), picture(viewer, after, number)
            )
            for name, (left, bottom, right, top) in boxes:
                area = ink.crop(
                    (round(left), round(height - top), round(right), round(height - bottom))
                )
                if area.getbbox() is None:
                    blank.append(name)
    return blank


def _box(widget: pikepdf.Object) -> Box:
    left, bottom, right, top = (float(edge) for edge in widget.Rect)
    return left, bottom, right, top
