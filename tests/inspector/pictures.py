"""Take the pictures of the page that docs/ shows: `python -m inspector.pictures`.

They are of the demo, which anybody can look at with `make demo`, but where it has nothing to show.
"""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

from cli.command import EXAMPLES
from http_peer import HttpServer
from inspector.api_client import sample
from inspector.browser.tab import ARGUMENTS, call, choose, find_chromium, settled
from serve.talk import ENVIRONMENT

FOLDER = Path(__file__).parents[2] / "docs/pictures"
PORT = "8000"
WIDE, PHONE = (1280, 800), (390, 780)
SUNDAY = {
    "to": {"name": "Ada", "town": "Amberfall"},
    "parcels": [{"weight": 2.5}],
    "leaves_on": "2026-11-15",
}


def _demo(folder: str) -> HttpServer:
    command = [sys.executable, str(EXAMPLES / "demo"), "--port", PORT, "--folder", folder]
    return HttpServer(command, cwd=EXAMPLES.parent, env=ENVIRONMENT, timeout=30)


def _sample(folder: str) -> HttpServer:
    return sample("--http", f"127.0.0.1:{PORT}")


class Picture(NamedTuple):
    """A picture to take: the page's state and size."""

    name: str
    arrange: Callable[[Any], None]
    scheme: str = "light"
    size: tuple[int, int] = WIDE
    server: Callable[[str], AbstractContextManager[HttpServer]] = _demo


def _list(page: Any) -> None:
    call(page, "order_status", order="1234")
    call(page, "run_query", query="SELECT * FROM best_sellers")
    call(page, "catalogue")
    page.locator(".answer").evaluate("element => element.scrollIntoView()")


def _phone(page: Any) -> None:
    call(page, "catalogue")
    page.locator(".answer").evaluate("element => element.scrollIntoView()")


def _form(page: Any) -> None:
    choose(page, "shipping_quote")
    page.get_by_label("name").fill("Ada")
    page.click("text=Add an item")
    page.get_by_label("weight").fill("99")
    page.click("main .actions .primary")
    page.wait_for_selector(".fault:visible")
    page.locator("main").evaluate("element => element.scrollTo(0, 0)")


def _envelope(page: Any) -> None:
    choose(page, "shipping_quote")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", json.dumps(SUNDAY))
    call(page)
    page.check("input[value=envelope]")
    settled(page)
    page.locator(".answer").evaluate("element => element.scrollIntoView()")


def _question(page: Any) -> None:
    call(page, "interview")
    page.get_by_label("name").fill("Ada")
    page.locator(".inquiry", has_text="the client's model").locator("textarea").fill("Well done")
    page.locator("main").evaluate("element => element.scrollTo(0, 0)")


def _pasted(page: Any) -> None:
    page.click("text=Read a reply")
    page.click("text=Use an example")
    page.wait_for_selector(".rules")


PICTURES = [
    Picture("list", _list),
    Picture("form", _form),
    Picture("envelope-dark", _envelope, "dark"),
    Picture("question", _question, server=_sample),
    Picture("read", _pasted),
    Picture("phone", _phone, size=PHONE),
]


def take(browser: Any, address: str, picture: Picture) -> None:
    """One picture, into its file."""
    width, height = picture.size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=picture.scheme
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#tools a")
    picture.arrange(page)
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"{picture.name}.png")
    context.close()


def main() -> None:
    """All of them."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for picture in PICTURES:
            with picture.server(folder) as server:
                take(browser, f"http://127.0.0.1:{server.port}/", picture)
        browser.close()


if __name__ == "__main__":
    main()
