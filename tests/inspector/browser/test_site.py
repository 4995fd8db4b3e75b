"""The site of docs/, opened from a folder: it is read whole, searched and copied from, without a network."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doc_pages import blocks, commands
from inspector.browser.tab import PATIENCE

pytest.importorskip("zensical", reason="make .venv/.docs installs what builds the site")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
ROOT = Path(__file__).parents[3]
WIDE, PHONE = (1280, 800), (390, 780)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, in a copy: processes of other tests may build too."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=folder, check=True, timeout=100)
    return folder / "build/site"


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab that may load files, and nothing else."""
    width, height = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height},
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(PATIENCE)
    asked: list[str] = []
    context.on("request", lambda each: asked.append(each.url))
    yield context.new_page()
    context.close()
    assert [url for url in asked if not url.startswith("file:")] == []


def address(site: Path, name: str) -> str:
    return (site / f"{name}.html").as_uri()


def test_every_page_fits_and_what_is_printed_is_not_cut(page: Any, site: Path) -> None:
    for each in sorted(site.glob("*.html")):
        page.goto(each.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), each.name
        assert page.evaluate(CUT) == [], each.name


CUT = """() => [...document.querySelectorAll('.language-json, .language-text, .language-console')]
    .map((each) => each.querySelector('code'))
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.innerText)"""


def test_every_option_is_whole_and_has_its_words_in_sight(page: Any, site: Path) -> None:
    page.goto(address(site, "cli"))
    assert page.locator("td:first-child code").count() > 50
    assert page.evaluate(UNSEEN) == []


UNSEEN = """() => [...document.querySelectorAll('td')]
    .filter((each) => {
        const { left, right } = each.getBoundingClientRect();
        const name = each.matches(':first-child') && each.querySelector('code');
        return left < 0 || right > innerWidth || (name && name.getClientRects().length > 1);
    })
    .map((each) => each.innerText)"""


def test_no_backslash_shows_that_was_for_markdown(page: Any, site: Path) -> None:
    page.goto(address(site, "reading"))
    cells = page.locator("td code").all_inner_texts()
    assert "| id | name |⏎|---|---|⏎| 1 | Ada |" in cells
    assert [cell for cell in cells if "\\|" in cell] == []


def test_it_is_searched(page: Any, site: Path) -> None:
    page.goto(address(site, "index"))
    page.keyboard.press("Control+k")
    page.get_by_placeholder("Search").press_sequentially("remediation")
    found = page.locator("a[href*='h=remediation']").first
    found.wait_for()
    target = found.evaluate("(link) => link.href")
    assert target.startswith(site.as_uri())


def test_what_is_copied_from_a_terminal_is_what_was_typed(page: Any, site: Path) -> None:
    page.goto(address(site, "tutorial"))
    shown = (ROOT / "docs/tutorial.md").read_text()
    consoles = [block.text for block in blocks(shown) if block.language == "console"]
    for at, console in enumerate(consoles):
        block = page.locator(".language-console").nth(at)
        block.hover()
        block.locator("[data-clipboard-target]").click()
        typed = "\n".join(command.text for command in commands(console))
        page.wait_for_function(
            "async (text) => await navigator.clipboard.readText() === text", arg=typed
        )
    assert len(consoles) == 3
