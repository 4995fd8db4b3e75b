"""The page in a tab, and what a person does with it."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from http_peer import HttpServer

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking"
    " --disable-component-update --disable-sync --no-first-run"
).split()
PATIENCE = 30_000
"""Milliseconds: a machine may be slow, and is none the worse for it."""

_OWN = ("data:", "blob:", "chrome://", "chrome-extension://")
"""What a browser asks of itself: the last two are the viewer that draws a PDF."""


def find_chromium() -> str | None:
    """Return the path of chromium, if it is installed."""
    return shutil.which(os.environ.get("CHROMIUM", "chromium"))


def home(server: HttpServer) -> str:
    """Return the URL of the page of a server."""
    return f"http://127.0.0.1:{server.port}/"


class Tab:
    """A page that is watched: what it complains of, and what it asks of others, is a fault."""

    def __init__(self, browser: Any, address: str, **settings: Any) -> None:
        self._context = browser.new_context(
            **{"viewport": {"width": 1440, "height": 900}, **settings}
        )
        self._context.set_default_timeout(PATIENCE)
        own = re.match(r"http://[^/]+/", address)
        assert own is not None
        self._own = (own[0], *_OWN)
        self._complaints: list[str] = []
        self._strange: list[str] = []
        self.page = self._context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self.page.on("request", self._watch)

    def _hear(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self._complaints.append(said.text)

    def _watch(self, request: Any) -> None:
        if not request.url.startswith(self._own):
            self._strange.append(request.url)

    def check(self, *, quiet: bool = True, besides: str | None = None) -> None:
        """There was nothing to complain of `besides`; not to be `quiet` is no fault."""
        assert self._strange == []
        complaints, self._complaints = self._complaints, []
        if besides is not None:
            complaints = [each for each in complaints if besides not in each]
        assert not quiet or complaints == [], complaints

    def close(self) -> None:
        """Leave it."""
        self._context.close()


@contextmanager
def opened(
    browser: Any,
    address: str,
    sign: str = "#tools a",
    *,
    quiet: bool = True,
    besides: str | None = None,
    **settings: Any,
) -> Iterator[Any]:
    """The page at an address, in a tab of its own."""
    tab = Tab(browser, address, **settings)
    try:
        tab.page.goto(address)
        tab.page.wait_for_selector(sign)
        yield tab.page
    finally:
        tab.close()
    tab.check(quiet=quiet, besides=besides)


def choose(page: Any, tool: str) -> None:
    """Open a tool."""
    page.click(f'#tools a[data-name="{tool}"]')
    page.wait_for_selector(f'h1:has-text("{tool}")')


def call(page: Any, tool: str | None = None, /, **fields: str) -> None:
    """Fill in a form, call, and wait for the answer."""
    if tool is not None:
        choose(page, tool)
    for name, value in fields.items():
        page.get_by_label(re.compile(rf"^{name}\b")).fill(value)
    page.evaluate("document.querySelector('.answer')?.remove()")
    page.click("main .actions .primary")
    settled(page)


def settled(page: Any) -> None:
    """Wait until what was asked for is shown."""
    page.wait_for_selector(".answer:not([aria-busy])")


def word(page: Any, profile: str) -> None:
    """Have the answer in other words."""
    page.select_option('[aria-label="Profile"]', profile)
    settled(page)


def generic(page: Any) -> Any:
    """Return the generic response that its pane shows."""
    return json.loads(page.inner_text(".pane-generic .code"))


def received(page: Any) -> Any:
    """The last message in the pane with the wire."""
    return json.loads(page.inner_text(".pane-wire .received:last-child .code"))
