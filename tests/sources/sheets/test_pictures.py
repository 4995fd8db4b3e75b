"""Rendered pages of sheets (by poppler) against reviewed reference pictures.

`python -m pytest tests/sources/sheets/test_pictures.py` with ACCORD_NEW_PICTURES=1 makes new ones: look
at them before you commit them.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat

from accord.sources.sheets import Filler, Typeface, load
from sources.sheets.characters import FIGHTER, HOMEBREW, MULTICLASS, WIZARD, Given, thorin
from sources.sheets.fill_sheets import draw
from sources.sheets.viewers import text

PICTURES = Path(__file__).with_name("pictures")
RESOLUTION = "60"
BLOCK = 3
"""Pixels that are seen as one: other versions of poppler draw the edges of letters otherwise."""
MOST, MEAN = 48, 1.5
CHARACTERS: dict[str, Given] = {
    "fighter": FIGHTER,
    "wizard": WIZARD,
    "multiclass": MULTICLASS,
    "homebrew": HOMEBREW,
    "overflow": thorin(
        narrative={"backstory": "A long and winding tale of hammers and of halls. " * 160}
    ),
}
PAGES = ["fighter-1", "fighter-2", "wizard-1", "wizard-3", "multiclass-1", "multiclass-3"]
PAGES += ["homebrew-1", "homebrew-3", "overflow-2", "overflow-4"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("pdftoppm") is None, reason="needs pdftoppm: apt-get install poppler-utils"
    ),
]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pictures")

    @cache
    def of(name: str) -> None:
        data = draw(CHARACTERS[name], allow_rule_violations=True).filled.data
        render(data, folder / name)

    def picture(page: str) -> Image.Image:
        of(page.partition("-")[0])
        return Image.open(folder / f"{page}.png")

    return picture


def render(data: bytes, target: Path) -> None:
    target.with_suffix(".pdf").write_bytes(data)
    command = ["pdftoppm", "-gray", "-png", "-r", RESOLUTION]
    subprocess.run([*command, str(target.with_suffix(".pdf")), str(target)], check=True)


def distance(one: Image.Image, other: Image.Image) -> tuple[float, float]:
    """Return the maximum and mean difference of two pictures' blocks, of 255."""
    assert one.size == other.size
    apart = ImageChops.difference(one.convert("L").reduce(BLOCK), other.convert("L").reduce(BLOCK))
    return float(apart.getextrema()[1]), ImageStat.Stat(apart).mean[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_equals_its_reference_picture(rendered: Any, page: str) -> None:
    picture = rendered(page)
    if os.environ.get("ACCORD_NEW_PICTURES"):
        picture.convert("L").quantize(16).save(PICTURES / f"{page}.png", optimize=True)
    most, mean = distance(picture, Image.open(PICTURES / f"{page}.png"))
    assert most <= MOST
    assert mean <= MEAN


@pytest.mark.parametrize(
    "change",
    [
        {"character": {"race": "Elf"}},
        {"abilities": {"strength": 18}},
        {"proficiencies": {"skills": ["athletics"]}},
        {"combat": {"speed": 30}},
    ],
    ids=["another race", "another score", "a mark less", "another speed"],
)
def test_a_page_with_another_text_differs(tmp_path: Path, change: Given) -> None:
    character = {**FIGHTER, **{part: {**FIGHTER[part], **new} for part, new in change.items()}}
    render(draw(character).filled.data, tmp_path / "other")
    other = Image.open(tmp_path / "other-1.png")
    most, _ = distance(other, Image.open(PICTURES / "fighter-1.png"))
    assert most > MOST


def test_letter_paper_has_the_same_content_in_another_layout(tmp_path: Path) -> None:
    drawn = draw(FIGHTER, filler=Filler(load(paper="letter"), Typeface()))
    render(drawn.filled.data, tmp_path / "letter")
    with Image.open(tmp_path / "letter-1.png") as picture:
        assert picture.size == (510, 660)
    for page in (1, 2, 3):
        other = text("poppler", drawn.filled.data, page)
        own = text("poppler", draw(FIGHTER).filled.data, page)
        assert sorted(other.split()) == sorted(own.split())
