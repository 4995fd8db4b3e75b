"""Several servers on one page: those of `accord inspect`, the upstreams of a gateway, a sign-in."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auth.sign_in.authorization_server import Site, Variant
from auth.sign_in.authorization_server import serving as serving_site
from cli.command import ACCORD, ENVIRONMENT
from client.connections import run
from commands import SAMPLES
from http_peer import HttpServer
from inspector.api_client import COMMAND, LINK, SHOP, serving
from inspector.browser.tab import call, choose, home, opened, received, word

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
ODD = Path(__file__).parents[2] / "gateway/odd_upstream.py"
FAULTY = {"content": {"type": "text", "text": '[{"id": 1}, {"id": 2}]'}, "isError": "false"}


def inspecting(*words: str, cwd: Path, environment: dict[str, str] | None = None) -> HttpServer:
    """`accord inspect` of several targets; its `url` is the link that is printed."""
    command = [ACCORD, "inspect", *words, "--http", "127.0.0.1:0"]
    return HttpServer(command, cwd=cwd, env=ENVIRONMENT | (environment or {}), url=LINK, timeout=30)


def options(page: Any) -> list[str]:
    """Return the servers that can be chosen."""
    found: list[str] = page.locator("#servers option").all_inner_texts()
    return found


def test_several_servers_are_one_page_each_with_its_own_history(
    browser: Any, tmp_path: Path
) -> None:
    with (
        inspecting(f"shop={SHOP}", COMMAND, "gone=no-such-program now", cwd=tmp_path) as running,
        opened(browser, running.url, besides="status of 502") as page,
    ):
        call(page, "add", a="1", b="2")
        assert options(page)[0] == "shop"
        page.select_option("#servers select", "1")
        page.wait_for_selector('#tools a[data-name="paintings"]')
        assert not page.is_visible("#history")
        call(page, "painter", name="ada")
        page.select_option("#servers select", "2")
        page.wait_for_selector(".banner >> text=Not connected")
        assert "no-such-program" in page.inner_text("main .banner")
        page.reload()
        page.wait_for_selector(".banner >> text=Not connected")
        assert options(page)[2] == "gone (not connected)"
        page.click("text=Connect again")
        page.wait_for_selector(".banner >> text=Not connected")
        page.select_option("#servers select", "0")
        page.wait_for_selector('#tools a[data-name="add"]')
        assert page.locator("#history .tool-name").all_inner_texts() == ["add"]


def test_two_tabs_may_show_two_servers(browser: Any, tmp_path: Path) -> None:
    with (
        inspecting(f"shop={SHOP}", COMMAND, cwd=tmp_path) as running,
        opened(browser, running.url) as one,
    ):
        other = one.context.new_page()
        other.goto(running.url)
        other.wait_for_selector("#tools a")
        other.select_option("#servers select", "1")
        call(other, "painter", name="ada")
        call(one, "add", a="1", b="2")
        assert "paintings" not in one.inner_text("#tools")


def configured(folder: Path) -> Path:
    """Write a file of servers: one that is well, one with faults, one that does not exist."""
    (folder / "settings.json").write_text("{}")
    servers = {
        "display": {"command": ACCORD, "args": ["serve", f"{SAMPLES / 'features.py'}:display"]},
        "odd": {"command": sys.executable, "args": [str(ODD), str(folder / "settings.json")]},
        "gone": {"command": "no-such-program"},
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def test_all_servers_of_a_file_are_shown(browser: Any, tmp_path: Path) -> None:
    with (
        inspecting(str(configured(tmp_path)), cwd=tmp_path) as running,
        opened(browser, running.url, besides="status of 502") as page,
    ):
        call(page, "painter", name="ada")
        page.reload()
        page.wait_for_selector("#tools a")
        assert [each.partition(" ")[0] for each in options(page)] == ["display", "odd", "gone"]
        page.select_option("#servers select", "1")
        call_odd(page, FAULTY)
        assert received(page)["result"] == FAULTY, "as it is, without a gateway between"


def call_odd(page: Any, result: Any) -> None:
    """Let the odd server send a result."""
    page.wait_for_selector('#tools a[data-name="say"]')
    choose(page, "say")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", json.dumps({"raw": json.dumps(result)}))
    call(page)


@pytest.fixture
def gateway(browser: Any, tmp_path: Path) -> Iterator[Any]:
    configured(tmp_path)
    with serving("mcp.json", cwd=tmp_path) as server, opened(browser, home(server)) as page:
        yield page


def test_a_gateway_shows_its_upstreams_and_their_replies(gateway: Any) -> None:
    call_odd(gateway, FAULTY)
    pane = gateway.inner_text(".pane-upstream")
    assert "odd: say" in pane
    assert "isError: not a boolean" in pane
    assert '"isError": "false"' in pane
    assert received(gateway)["result"]["content"] == [FAULTY["content"]]
    call(gateway, "painter", name="ada")
    assert "nothing to repair" in gateway.inner_text(".pane-upstream")
    word(gateway, "envelope")
    assert received(gateway)["result"]["structuredContent"]["data"]["name"] == "Ada Lovelace"
    assert "display: painter" in gateway.inner_text(".pane-upstream")
    gateway.click("nav >> text=Upstreams")
    cards = gateway.locator(".upstream")
    cards.nth(2).wait_for()
    texts = [" ".join(each.split()) for each in cards.all_inner_texts()]
    assert texts[0].startswith("ok display display 1.0 Runs accord Revision 2026-07-28")
    assert "Calls 1 Repaired 0" in texts[0]
    assert texts[1].startswith("ok odd")
    assert "Calls 1 Repaired 1" in texts[1]
    assert "Repairs by tool" in texts[1]
    assert texts[2].startswith("unavailable gone could not start 'no-such-program'")


def test_an_upstream_that_dies_and_one_that_floods_are_shown_as_such(gateway: Any) -> None:
    call(gateway, "huge")
    assert gateway.locator(".answer *").count() < 10_000
    choose(gateway, "chatter")
    gateway.select_option("[aria-label='Log level']", "info")
    call(gateway)
    assert "enough" in gateway.inner_text(".pane-person")
    choose(gateway, "leave")
    call(gateway)
    assert gateway.inner_text(".outcome") == "error"
    call(gateway, "painter", name="ada")
    assert gateway.inner_text(".outcome") != "error"


@contextmanager
def site() -> Iterator[str]:
    """Serve an MCP server that needs a sign-in, in a thread; yield its URL."""
    found: list[Any] = []
    started = threading.Event()

    async def serve() -> None:
        async with serving_site(Site(Variant())) as url:
            ending = asyncio.Event()
            found.extend([url, asyncio.get_running_loop(), ending])
            started.set()
            await ending.wait()

    thread = threading.Thread(target=run, args=[serve()])
    thread.start()
    assert started.wait(20)
    url, loop, ending = found
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(20)


def test_a_server_that_needs_a_sign_in_shows_its_page(browser: Any, tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path / "state"), "BROWSER": "true"}
    with (
        site() as url,
        inspecting(f"shop={SHOP}", url, cwd=tmp_path, environment=environment) as running,
        opened(browser, running.url, besides="status of 502", quiet=False) as page,
    ):
        page.select_option("#servers select", "1")
        link = page.locator("#sign-in a")
        link.wait_for()
        assert link.get_attribute("rel") == "noopener noreferrer"
        signing = page.context.new_page()
        signing.goto(link.get_attribute("href"))
        assert "close this window" in signing.inner_text("body")
        signing.close()
        page.wait_for_selector("text=This server has no tools")
        page.wait_for_selector("#sign-in", state="hidden")
        assert "not connected" not in options(page)[1]
        page.click("text=Sign out")
        page.wait_for_selector("#sign-in a")
