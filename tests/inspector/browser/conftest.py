"""A real browser, where there is one: Debian's chromium, driven by playwright."""

from collections.abc import Iterator
from typing import Any

import pytest

from http_peer import HttpServer
from inspector.browser.tab import ARGUMENTS, Tab, find_chromium, home


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One browser for this folder: playwright's loop is in the way of any other in its thread."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS, timeout=60_000)
        yield running
        running.close()


@pytest.fixture(scope="package")
def tab(browser: Any, server: HttpServer) -> Iterator[Tab]:
    """One tab for all who leave nothing behind in it."""
    tab = Tab(browser, home(server))
    yield tab
    tab.close()


@pytest.fixture
def page(tab: Tab, server: HttpServer) -> Iterator[Any]:
    """Return the page of the sample server, in its first state."""
    tab.page.emulate_media(color_scheme="light")
    tab.page.goto("about:blank")
    tab.page.goto(home(server))
    tab.page.wait_for_selector("#tools a")
    yield tab.page
    tab.page.evaluate("localStorage.clear()")
    tab.check()
