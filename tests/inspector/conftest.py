"""A real browser, where there is one: Debian's chromium, driven by playwright."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking"
    " --disable-component-update --disable-sync --no-first-run"
).split()


def find_chromium() -> str:
    """Where it is; a test that cannot find it is skipped."""
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for a module: playwright's loop is in the way of any other in its thread."""
    chromium = find_chromium()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()
