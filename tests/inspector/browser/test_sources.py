"""The page of a database, of sheets, and of a server without tools."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command import EXAMPLES
from http_peer import HttpServer
from inspector.api_client import HERE, serving
from inspector.browser.tab import call, home, opened, word
from serve.talk import ENVIRONMENT
from sources.sheets.characters import THORIN
from sources.sql.shop import SEED, make

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_a_database_has_a_page(browser: Any, tmp_path: Path) -> None:
    make(tmp_path / "shop.db", SEED + "INSERT INTO posts (title) VALUES ('<i>One</i>'), ('Two');")
    with (
        serving("shop.db", "--max-rows", "1", cwd=tmp_path) as server,
        opened(browser, home(server)) as page,
    ):
        call(page, "run_query", query="SELECT title FROM posts ORDER BY id")
        rows = page.locator(".pane-person tbody td:nth-child(2)")
        assert rows.all_inner_texts() == ["<i>One</i>"]
        page.click("text=Get the next page")
        page.wait_for_selector("text=Two")
        word(page, "envelope")
        assert rows.all_inner_texts() == ["Two"]
        call(page, "run_query", query="SELECT nothing FROM posts", cursor="")
        assert "nothing" in page.inner_text(".banner")


def test_a_sheet_is_shown_as_its_pdf(browser: Any, tmp_path: Path) -> None:
    with (
        serving("sheets", "--out", str(tmp_path), cwd=tmp_path) as server,
        opened(browser, home(server)) as page,
    ):
        page.click("#tools a")
        page.click("text=Edit as JSON")
        page.fill("textarea.raw", json.dumps({"character_data": THORIN, "return_pdf": True}))
        call(page)
        page.wait_for_selector(".pane-person iframe")
        assert "application/pdf" in page.inner_text(".document figcaption")
        (sheet,) = tmp_path.glob("*.pdf")
        with page.expect_download() as saved:
            page.click(".document a")
        assert Path(saved.value.path()).read_bytes() == sheet.read_bytes()


@pytest.mark.parametrize("size", [(1280, 800), (390, 780)], ids=["wide", "phone"])
def test_the_demo_rolls_a_character_and_shows_its_sheet(
    browser: Any, tmp_path: Path, size: tuple[int, int]
) -> None:
    """As the quick start says, with every word whole."""
    width, height = size
    command = [sys.executable, str(EXAMPLES / "demo"), "--port", "0", "--folder", str(tmp_path)]
    with (
        HttpServer(command, cwd=tmp_path, env=ENVIRONMENT, timeout=30) as server,
        opened(browser, home(server), viewport={"width": width, "height": height}) as page,
    ):
        call(page, "roll_character", name="Mira")
        assert page.evaluate(BROKEN) == []
        rolled = json.loads(page.text_content(".pane-generic .code"))["data"]
        page.goto(f"{home(server)}#/tool/fill_dnd_character_sheet")
        page.click("text=Edit as JSON")
        page.fill("textarea.raw", json.dumps(rolled))
        call(page)
        page.wait_for_selector(".pane-person iframe")
        assert page.evaluate(DEPTH) < height / 2, "the sheet comes before its figures"


BROKEN = """() => [...document.querySelectorAll('.card > dt, .card > dd')]
    .filter((each) => !each.childElementCount && /^\\w+$/.test(each.textContent))
    .filter((each) => each.clientHeight > 40)
    .map((each) => each.textContent)"""
DEPTH = """() => {
    const top = (name) => document.querySelector(name).getBoundingClientRect().top;
    return top('.pane-person iframe') - top('.pane-person .body');
}"""


def test_a_server_without_tools_has_a_page_too(browser: Any) -> None:
    with (
        serving("reader", cwd=HERE) as server,
        opened(browser, f"{home(server)}#/tool/%E0", "text=No such tool") as page,
    ):
        page.click("text=Read a reply")
        page.click("text=Use an example")
        page.wait_for_selector(".rules")
