"""A real browser, where there is one: Debian's chromium, driven by playwright."""

from collections.abc import Iterator
from typing import Any

import pytest

from http_peer import HttpServer
from inspector.browser.tab import ARGUMENTS, find_chromium, home, opened


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


@pytest.fixture
def page(browser: Any, server: HttpServer) -> Iterator[Any]:
    with opened(browser, home(server)) as page:
        yield page
