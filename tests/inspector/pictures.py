"""Take the pictures of the page that docs/ shows: `python -m inspector.pictures`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

from inspector.browser.tab import ARGUMENTS, call, choose, find_chromium, settled
from inspector.talk import studio

FOLDER = Path(__file__).parents[2] / "docs/pictures"
WIDE, PHONE = (1280, 800), (390, 780)


class Picture(NamedTuple):
    """What is to be seen, and how large."""

    name: str
    arrange: Callable[[Any], None]
    scheme: str = "light"
    size: tuple[int, int] = WIDE


def _list(page: Any) -> None:
    call(page, "painter", name="zoe")
    call(page, "paintings", limit="12")


def _phone(page: Any) -> None:
    call(page, "paintings", limit="12")
    page.locator(".answer").evaluate("element => element.scrollIntoView()")


def _form(page: Any) -> None:
    choose(page, "commission")
    page.get_by_label("title").fill("Moth trap")
    page.get_by_label("copies").fill("99")
    page.click("main .actions .primary")
    page.wait_for_selector(".fault:visible")
    page.locator("main").evaluate("element => element.scrollTo(0, 0)")


def _envelope(page: Any) -> None:
    call(page, "painter", name="ada")
    page.check("input[value=envelope]")
    settled(page)


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
    Picture("question", _question),
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
    page.screenshot(path=FOLDER / f"{picture.name}.png")
    context.close()


def main() -> None:
    """All of them."""
    FOLDER.mkdir(exist_ok=True)
    with studio("--http", "127.0.0.1:8000") as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for picture in PICTURES:
            take(browser, f"http://127.0.0.1:{server.port}/", picture)
        browser.close()


if __name__ == "__main__":
    main()
