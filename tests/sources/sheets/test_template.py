"""The bundled form: drawn by the script, complete and accessible."""

import subprocess
import sys
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest

from accord.sources.sheets import PAPERS, load
from accord.sources.sheets.form import PACKAGE
from accord.sources.sheets.sheet import is_key
from sources.sheets.characters import FIGHTER, LINES
from sources.sheets.fill_sheets import draw

ROOT = Path(__file__).parents[3]
FONTS = Path("/usr/share/fonts")
HAS_TOOLS = (
    find_spec("reportlab") is not None
    and find_spec("fontTools") is not None
    and (FONTS / "truetype/lato").is_dir()
    and (FONTS / "opentype/ebgaramond").is_dir()
)


@pytest.mark.skipif(
    not HAS_TOOLS, reason="needs fonts: apt-get install fonts-lato fonts-ebgaramond"
)
def test_the_bundled_form_is_what_the_script_draws(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tools.draw_sheet", str(tmp_path)], cwd=ROOT, check=True)
    for paper in PAPERS:
        name = f"sheet-{paper}.pdf"
        assert (tmp_path / name).read_bytes() == (PACKAGE / "forms" / name).read_bytes()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_field_is_named_by_its_key(paper: str) -> None:
    blank = load(paper=paper).blank
    assert [field.name for field in blank.fields if not is_key(field.name)] == []
    assert len({field.name for field in blank.fields}) == len(blank.fields) > 350


def test_there_are_rows_for_attacks_and_for_spells_of_each_level() -> None:
    form = load()
    assert form.rows("attacks") == 5
    assert {place: form.rows(f"spells.{place}") for place in LINES} == LINES


@pytest.mark.parametrize(("paper", "size"), [("a4", (595.28, 841.89)), ("letter", (612, 792))])
def test_a_page_has_the_size_of_its_paper_and_a_margin_to_print(
    paper: str, size: tuple[float, float]
) -> None:
    with pikepdf.open(PACKAGE / "forms" / f"sheet-{paper}.pdf") as pdf:
        assert len(pdf.pages) == 3
        for page in pdf.pages:
            _, _, width, height = (float(edge) for edge in page.mediabox)
            assert (width, height) == pytest.approx(size, abs=0.01)
            for widget in page.obj.Annots:
                left, bottom, right, top = (float(edge) for edge in widget.Rect)
                assert min(left, bottom, width - right, height - top) > 17


def test_fields_have_labels_for_screen_readers_and_are_printed() -> None:
    with pikepdf.open(PACKAGE / "forms/sheet-a4.pdf") as pdf:
        for page in pdf.pages:
            for widget in page.obj.Annots:
                owner = widget if "/TU" in widget else widget.Parent
                assert str(owner.TU)
                assert widget.F == 4


def test_no_two_fields_of_a_page_overlap() -> None:
    with pikepdf.open(PACKAGE / "forms/sheet-a4.pdf") as pdf:
        for page in pdf.pages:
            boxes = [tuple(float(edge) for edge in w.Rect) for w in page.obj.Annots]
            for index, (left, bottom, right, top) in enumerate(boxes):
                for other in boxes[:index]:
                    across = min(right, other[2]) - max(left, other[0])
                    along = min(top, other[3]) - max(bottom, other[1])
                    assert across <= 0.6 or along <= 0.6, (index, other)


def test_a_sheet_is_its_form_with_an_appended_update() -> None:
    """So that filling costs what is new, and the form is whole in every sheet."""
    filled = draw(FIGHTER).filled
    assert filled.data.startswith(load().blank.data)
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        assert pdf.check_pdf_syntax() == []
        assert pdf.trailer.ID[0] != pdf.trailer.ID[1]
