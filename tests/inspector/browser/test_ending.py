"""What becomes of a call that is cancelled, of a server that stops, of a link, and of two pages."""

import json
from typing import Any

import pytest

from http_peer import HttpServer
from inspector.api_client import COMMAND, Api, inspecting, sample
from inspector.browser.tab import call, choose, home, opened, received

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def _cancelled(server: HttpServer) -> int:
    done: list[str] = Api(server).call("calls")["reading"]["response"]["data"]
    return done.count("cancelled")


def test_a_call_can_be_cancelled(page: Any, server: HttpServer) -> None:
    before = _cancelled(server)
    choose(page, "wait")
    page.click("main .primary")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=The call was cancelled")
    page.wait_for_function(
        """async ([before, token]) => {
            const headers = { 'content-type': 'application/json', 'x-accord-token': token };
            const body = '{"tool": "calls"}';
            const said = await fetch('/inspector/api/call', { method: 'POST', headers, body });
            const { reading } = await said.json();
            return reading.response.data.filter((each) => each === 'cancelled').length > before;
        }""",
        arg=[before, Api(server).token],
    )


def test_a_server_that_stops_is_reported_and_found_again(browser: Any) -> None:
    with sample() as first, opened(browser, home(first), quiet=False) as page:
        call(page, "letter")
        choose(page, "painter")
        page.get_by_label("name").fill("ada")
        first.process.terminate()
        first.wait()
        page.click("main .primary")
        page.wait_for_selector("#trouble:visible")
        assert "Start it again in your terminal" in page.inner_text("#trouble")
        page.click("text=Read a reply")
        page.wait_for_selector("#pasted")
        page.click("text=Activity")
        with sample("--http", f"127.0.0.1:{first.port}"):
            page.wait_for_selector("#trouble", state="hidden")
            choose(page, "painter")
            assert page.get_by_label("name").input_value() == "ada", "what was typed is kept"
            call(page)
            assert "London" in page.inner_text(".pane-person")
            choose(page, "letter")
            page.select_option("[aria-label=Profile]", "envelope")
            page.wait_for_selector("text=The answer is no longer stored")
            assert "Dear Grace" in page.inner_text(".pane-person"), "and it is still shown"


def test_a_remote_server_needs_the_link(browser: Any) -> None:
    with inspecting(COMMAND, "--revision", "2025-11-25") as inspected:
        address, _, token = inspected.url.partition("#token=")
        with opened(browser, inspected.url) as page:
            assert token not in page.url
            call(page, "painter", name="ada")
            assert page.inner_text("#target") == COMMAND
            page.select_option("[aria-label=Profile]", "envelope")
            page.wait_for_selector("text=Rendered by Accord")
            assert json.loads(received(page)["result"]["content"][0]["text"])["success"] is True
            call(page, "varnish")
            page.select_option(".inquiry select", label="Gloss")
            page.click(".inquiry .primary")
            page.wait_for_selector("text=gloss varnish")
            page.reload()
            page.wait_for_selector("#tools a")
        with opened(browser, address, "#trouble:visible", quiet=False) as stranger:
            assert "open the link in the terminal" in stranger.inner_text("#trouble")
            assert stranger.locator("#tools a").count() == 0
            stranger.evaluate("link => { location.href = link }", inspected.url)
            stranger.wait_for_selector("#tools a")
            assert not stranger.is_visible("#trouble")


def test_two_pages_at_once_are_strangers_to_each_other(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server)) as one, opened(browser, home(server)) as other:
        for page, name in ((one, "ada"), (other, "zoe")):
            call(page, "painter", name=name)
        call(other, "varnish")
        call(one, "varnish")
        for page, finish in ((other, "Gloss"), (one, "Matte")):
            page.select_option(".inquiry select", label=finish)
            page.click(".inquiry .primary")
            page.wait_for_selector(f"text={finish.lower()} varnish")
            assert page.locator("#history li").count() == 2
