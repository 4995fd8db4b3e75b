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
    """Where it is, if it is here."""
    return shutil.which(os.environ.get("CHROMIUM", "chromium"))


def home(server: HttpServer) -> str:
    """Where the page of a server is."""
    return f"http://127.0.0.1:{server.port}/"


@contextmanager
def opened(
    browser: Any, address: str, sign: str = "#tools a", *, quiet: bool = True, **settings: Any
) -> Iterator[Any]:
    """The page at an address; whatever it complains of, or asks of others, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **settings})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: complaints.extend(_complaints(said)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector(sign)
    yield page
    context.close()
    own = re.match(r"http://[^/]+/", address)
    assert own is not None
    assert [url for url in asked if not url.startswith((own[0], *_OWN))] == []
    if quiet:
        assert complaints == []


def _complaints(said: Any) -> list[str]:
    return [said.text] if said.type in ("error", "warning") else []


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
    page.check(f"input[value={profile}]")
    settled(page)


def generic(page: Any) -> Any:
    """What the pane with the generic response shows."""
    return json.loads(page.inner_text(".pane-generic .code"))


def received(page: Any) -> Any:
    """The last message in the pane with the wire."""
    return json.loads(page.inner_text(".pane-wire .received:last-child .code"))
