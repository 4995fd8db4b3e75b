"""Tools, search and keys; a call for elsewhere, and again; replies that are read; counters."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command import ENVIRONMENT
from http_peer import HttpPeer, HttpServer
from inspector.api_client import MANY
from inspector.browser.tab import call, choose, home, opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_the_first_paint_is_small_and_has_tools_that_can_be_searched(page: Any) -> None:
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').map((each) => each.transferSize)"
    )
    first = page.evaluate("performance.getEntriesByType('navigation')[0].transferSize")
    assert 0 < first + sum(sizes) < 100_000
    assert page.inner_text("#server") == "Display"
    assert page.locator("#tools a").count() == MANY
    page.click("text=Server instructions")
    assert page.inner_text("#instructions-text") == "Ask for paintings <b>first</b>."
    page.keyboard.press("/")
    page.keyboard.type("catalogue oldest")
    assert page.locator("#tools a .tool-name").all_inner_texts() == ["paintings"]
    assert page.inner_text("#many") == f"1 of {MANY}"
    page.fill("#search", "nothing like it")
    assert "No tools match" in page.inner_text("#tools")


def test_it_is_used_without_a_mouse(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("painter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector('h1:has-text("painter")')
    page.get_by_label("name").focus()
    page.keyboard.type("ada")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".answer .card")
    assert "London" in page.inner_text(".pane-person")
    page.focus("#skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.inner_text("h1 code") == "painter", "and nothing else has changed"
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")


def test_a_call_can_be_made_again_elsewhere(browser: Any, server: HttpServer) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with opened(browser, home(server), permissions=permissions) as page:
        choose(page, "painter")
        page.get_by_label("name").fill("it's ada")
        copied = {}
        for kind in ("curl", "CLI", "Python"):
            page.click(f'[aria-label="Copy as {kind}"]')
            page.wait_for_selector(f"text=Copied as {kind}")
            copied[kind] = page.evaluate("navigator.clipboard.readText()")
    url = f"http://127.0.0.1:{server.port}/mcp"
    assert copied["curl"].startswith(f"curl {url} ")
    assert copied["CLI"].startswith(f"accord call {url} painter ")
    compile(copied["Python"], "copied", "exec")
    _run_copied(copied)


def _run_copied(copied: dict[str, str]) -> None:
    """Each of them is the same call."""
    path = {"PATH": f"{Path(sys.executable).parent}:{ENVIRONMENT['PATH']}"}
    for kind, text in copied.items():
        command = [sys.executable, "-c", text] if kind == "Python" else ["sh", "-c", text]
        done = subprocess.run(command, env=ENVIRONMENT | path, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert "No painter" in said, (kind, said)
        assert "s ada" in said, (kind, said)


def test_what_was_called_is_remembered(page: Any) -> None:
    call(page, "painter", name="ada")
    call(page, "painter", name="zoe")
    choose(page, "letter")
    page.locator("#history button").nth(1).click()
    page.wait_for_selector(".answer .card")
    assert page.input_value("main .fields input >> nth=0") == "ada"
    assert page.locator("#history .dot.error").count() == 1


def test_a_pasted_reply_is_read_with_the_rules_that_fired(page: Any) -> None:
    page.click("text=Read a reply")
    reply = {"content": [{"type": "text", "text": "Found 2 tables:\n- users\n- <i>posts</i>"}]}
    page.fill("#pasted", json.dumps(reply))
    page.fill("#pasted-tool", "list_tables")
    page.keyboard.press("Tab")
    page.click("main .actions .primary")
    page.wait_for_selector(".rules")
    assert page.locator(".rules code").all_inner_texts() == ["text", "itemised", "bullets"]
    assert page.locator(".pane tbody td:nth-child(2)").all_inner_texts() == [
        "users",
        "<i>posts</i>",
    ]
    page.fill("#pasted", "Error: no such table")
    page.press("#pasted", "Control+Enter")
    page.wait_for_selector(".banner")


def test_counters_live(page: Any, server: HttpServer) -> None:
    with HttpPeer(server.port) as peer:
        peer.call("count", steps=0)
        page.click("text=Activity")
        page.locator("main tbody tr", has_text="count").wait_for()
        before = page.evaluate(COUNTED)
        for _ in range(3):
            peer.call("count", steps=0)
    page.wait_for_function(f"before => ({COUNTED})() === before + 3", arg=before)
    assert page.locator(".chart rect.calls").count() >= 1


COUNTED = """() => {
    const rows = [...document.querySelectorAll('main tbody tr')];
    const row = rows.find((each) => each.cells[0].innerText === 'count');
    return Number(row.cells[1].innerText);
}"""
