"""The page of a database, of sheets, and of a server without tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.tab import call, home, opened, word
from inspector.talk import HERE, serving
from sources.sheets.characters import THORIN
from sources.sql.shop import SEED, make

pytestmark = pytest.mark.timeout(120)


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


def test_a_server_without_tools_has_a_page_too(browser: Any) -> None:
    with (
        serving("reader", cwd=HERE) as server,
        opened(browser, f"{home(server)}#/tool/%E0", "text=No such tool") as page,
    ):
        page.click("text=Read a reply")
        page.click("text=Use an example")
        page.wait_for_selector(".rules")
