"""What a server says stays text, whatever it is; and a page that is shown it stays a page."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from http_peer import HttpServer
from inspector import hostile
from inspector.browser.tab import PATIENCE, call, home, opened, word
from inspector.talk import HERE, inspecting

pytestmark = pytest.mark.timeout(240)
SIGNS = "\x1b\u202e\u202c\u200b\u2066\u2069"
"""None of them may be seen by anybody."""
SEEN = """() => {
    const all = [...document.querySelectorAll('*')];
    const names = ['title', 'alt', 'placeholder', 'aria-label', 'download'];
    const said = all.flatMap((each) => names.map((name) => each.getAttribute(name)).filter(Boolean));
    const bad = "main script, main b, main object, a[href^=javascript], a[href^='data:']";
    return {
        hacked: window.hacked ?? null,
        bad: document.querySelectorAll(bad).length,
        many: all.length,
        width: document.documentElement.scrollWidth,
        words: [document.title, document.body.innerText, ...said].join(' '),
    };
}"""


def test_data_never_becomes_more_than_text(page: Any) -> None:
    for tool in ("hostile", "letter"):
        call(page, tool)
        for profile in ("envelope", "generic", "prose"):
            word(page, profile)
            shown = page.inner_text(".pane-person")
            assert "<script>window.hacked=1</script>" in shown
            assert "\\u001b[31mred\\u001b[0m \\u202eevil" in shown
            text = page.inner_text("body")
            assert "\x1b" not in text
            assert "\u202e" not in text
    assert page.locator("main script, main b, main img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_the_browser_itself_would_refuse_markup(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), quiet=False) as page:
        refused = page.evaluate(
            "() => { try { document.body.innerHTML = '<b>x</b>'; return false }"
            " catch (error) { return error.name } }"
        )
        assert refused == "TypeError"
        assert page.evaluate("() => fetch('http://127.0.0.2:9/').catch((error) => error.name)")


@pytest.fixture(scope="module")
def enemy(browser: Any) -> Iterator[Any]:
    """One page of the enemy's for all that follows."""
    command = f"{sys.executable} {HERE / 'hostile.py'}"
    permissions = ["clipboard-read", "clipboard-write"]
    with (
        inspecting(command) as running,
        opened(browser, running.url, permissions=permissions) as page,
    ):
        yield page
    assert "Traceback" not in running.stderr


def visit(page: Any, name: str) -> None:
    """Open a tool of the enemy's, and call it."""
    page.evaluate("name => { location.hash = `#/tool/${encodeURIComponent(name)}` }", name)
    page.wait_for_function(
        """name => {
            const current = document.querySelector('#tools a[aria-current=true]');
            return current?.dataset.name === name;
        }""",
        arg=name,
    )
    page.evaluate(
        "document.querySelector('.answer')?.remove(); document.querySelector('main .primary').click()"
    )
    page.wait_for_selector(".answer:not([aria-busy]), .fault:visible", timeout=2 * PATIENCE)


def test_a_server_that_means_no_good_gets_nowhere(enemy: Any) -> None:
    tools = enemy.locator("#tools a")
    assert tools.count() == sum(isinstance(each.get("name"), str) for each in hostile.TOOLS)
    for name in tools.evaluate_all("all => all.map((each) => each.dataset.name)"):
        if not name.startswith("ask_"):
            visit(enemy, name)
            assert_harmless(enemy, name)


def assert_harmless(enemy: Any, name: str) -> None:
    seen = enemy.evaluate(SEEN)
    assert not set(SIGNS) & set(seen.pop("words")), name
    assert seen.pop("many") < 25_000, name
    assert seen == {"hacked": None, "bad": 0, "width": 1440}, name


def test_blocks_of_every_kind_are_shown_as_what_they_are(enemy: Any) -> None:
    visit(enemy, "blocks")
    shown = enemy.inner_text(".pane-person")
    for words in (
        "javascript:window.hacked=1",
        "data:text/html,<script>",
        "file:///etc/passwd",
    ):
        assert words in shown
    assert enemy.locator(".pane-person img").count() == 1, "the one that is a picture"
    assert enemy.locator(".pane-person a").count() == 1, "to save a document"
    frame = enemy.locator(".pane-person iframe")
    assert frame.get_attribute("src").startswith("blob:")


def test_questions_of_any_kind_are_answered(enemy: Any) -> None:
    for name in hostile.QUESTIONS:
        visit(enemy, f"ask_{name}")
        assert enemy.inner_text(".outcome") == "question"
        assert_harmless(enemy, name)
        enemy.click(".inquiry .primary")
        enemy.wait_for_selector(".answer:not([aria-busy]) .outcome:not(.question)")
        assert '"result"' in enemy.inner_text(".pane-wire"), name


def test_odd_names_are_names(enemy: Any) -> None:
    visit(enemy, "form_odd")
    for at, name in enumerate(hostile.ODD):
        enemy.locator("main .arguments textarea").nth(at).fill(f"value of {name[:20]}")
    enemy.click("text=Edit as JSON")
    given = json.loads(enemy.input_value("textarea.raw"))
    assert given == {name: f"value of {name[:20]}" for name in hostile.ODD}
    enemy.click("text=Edit as a form")
    values = enemy.locator("main .arguments .fields textarea")
    assert [values.nth(at).input_value() for at in range(len(hostile.ODD))] == [
        f"value of {name[:20]}" for name in hostile.ODD
    ]


def test_a_choice_among_many_is_searched_for(enemy: Any) -> None:
    visit(enemy, "form_choices")
    pick = enemy.get_by_label("pick")
    pick.fill("choice 1999")
    assert enemy.locator("datalist option").count() == 11
    pick.fill("choice 19999")
    enemy.click("text=Edit as JSON")
    assert '"pick": "choice 19999"' in enemy.input_value("textarea.raw")
    enemy.click("text=Edit as a form")
    pick.fill("none of them")
    enemy.click("main .primary")
    enemy.wait_for_selector("text=is none of the choices")


def test_what_is_copied_presses_no_keys(enemy: Any) -> None:
    visit(enemy, hostile.BAD)
    for kind in ("CLI", "Python"):
        enemy.click(f'[aria-label="Copy as {kind}"]')
        enemy.wait_for_selector(f"text=Copied as {kind}")
        copied = enemy.evaluate("navigator.clipboard.readText()")
        assert not set(SIGNS[:3]) & set(copied), kind
        assert "\\u001b" in copied
