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

from cli.command import ACCORD, EXAMPLES
from commands import SAMPLES
from http_peer import HttpServer
from inspector.api_client import sample, serving
from inspector.browser.tab import ARGUMENTS, call, choose, find_chromium, generic, settled
from serve.talk import ENVIRONMENT

FOLDER = Path(__file__).parents[2] / "docs/pictures"
GATEWAY = Path(__file__).parents[1] / "gateway"
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


def _long_running(folder: str) -> HttpServer:
    return serving("long_running:server", "--http", f"127.0.0.1:{PORT}", cwd=SAMPLES)


def _gateway(folder: str) -> HttpServer:
    """A gateway before the sample, a server with faults and one that does not exist."""
    settings = Path(folder, "settings.json")
    settings.write_text("{}")
    odd = [str(GATEWAY / "odd_upstream.py"), str(settings)]
    servers = {
        "paintings": {"command": ACCORD, "args": ["serve", f"{SAMPLES / 'features.py'}:display"]},
        "legacy": {"command": sys.executable, "args": odd},
        "archive": {"command": "archive-server"},
    }

    Path(folder, "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return serving("mcp.json", "--http", f"127.0.0.1:{PORT}", cwd=Path(folder))


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
    page.select_option("[aria-label=Profile]", "envelope")
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


def _progress(page: Any) -> None:
    choose(page, "count_stock")
    page.get_by_label("shelves").fill("48")
    page.select_option("[aria-label='Log level']", "info")
    page.click("main .actions .primary")
    page.wait_for_selector(".live .log li >> nth=4")
    page.get_by_role("button", name="Cancel", exact=True).wait_for()


def _prompt(page: Any) -> None:
    page.click("#kinds [data-kind=prompt]")
    page.click('#tools a[data-name="packing_list"]')
    page.get_by_label("journey").fill("Amberfall")
    page.get_by_label("days").fill("5")
    page.get_by_label("category").fill("light")
    page.click("main .actions .primary")
    settled(page)


def _task(page: Any) -> None:
    choose(page, "greet")
    page.check("text=As a task")
    page.click("main .actions .primary")
    page.wait_for_selector(".task .inquiry")
    page.get_by_label("name").fill("Ada")


def _upstream(page: Any) -> None:
    choose(page, "say")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", json.dumps({"raw": json.dumps(FAULTY)}))
    call(page)


def _sheet(page: Any) -> None:
    call(page, "roll_character", name="Mira")
    text = generic(page)["data"]
    choose(page, "fill_dnd_character_sheet")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", json.dumps(text))
    call(page)
    page.wait_for_timeout(3000)  # the viewer of PDFs tells nobody that it has drawn


FAULTY = {
    "content": {"type": "text", "text": '[{"id": 1, "name": "rope"}, {"id": 2, "name": "lamp"}]'},
    "isError": "false",
}
PICTURES = [
    Picture("list", _list),
    Picture("form", _form),
    Picture("envelope-dark", _envelope, "dark"),
    Picture("question", _question, server=_sample),
    Picture("read", _pasted),
    Picture("progress", _progress),
    Picture("prompt", _prompt),
    Picture("task", _task, "dark", server=_long_running),
    Picture("upstream", _upstream, server=_gateway),
    Picture("sheet", _sheet),
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
    """Take all pictures, or those named on the command line."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for picture in PICTURES:
            if sys.argv[1:] and picture.name not in sys.argv[1:]:
                continue
            with picture.server(folder) as server:
                take(browser, f"http://127.0.0.1:{server.port}/", picture)
        browser.close()


if __name__ == "__main__":
    main()
