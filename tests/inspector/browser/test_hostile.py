"""What a server says stays text, whatever it is; and a page that is shown it stays a page."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from http.client import HTTPException
from typing import Any, NamedTuple

import pytest

from commands import PEERS
from http_peer import HttpServer
from inspector.api_client import Api, inspecting
from inspector.browser.tab import PATIENCE, call, home, opened, word
from peers import markup_server
from processes import children, is_gone
from serve.http.talk import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
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
    command = f"{sys.executable} {PEERS / 'markup_server.py'}"
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
    assert tools.count() == sum(isinstance(each.get("name"), str) for each in markup_server.TOOLS)
    for name in tools.evaluate_all("all => all.map((each) => each.dataset.name)"):
        if not name.startswith("ask_"):
            visit(enemy, name)
            assert_harmless(enemy, name)


def assert_harmless(enemy: Any, name: str) -> None:
    seen = enemy.evaluate(SEEN)
    assert not set(SIGNS) & set(seen.pop("words")), name
    assert seen.pop("many") < 25_000, name
    assert seen == {"hacked": None, "bad": 0, "width": 1440}, name


@pytest.mark.parametrize("kind", ["prompt", "resource"])
def test_prompts_and_resources_of_such_a_server_are_text(enemy: Any, kind: str) -> None:
    enemy.click(f"#kinds [data-kind={kind}]")
    lists = {
        "prompt": markup_server.PROMPTS,
        "resource": [*markup_server.RESOURCES, *markup_server.TEMPLATES],
    }
    usable = [
        each
        for each in lists[kind]
        if isinstance(each.get("uri", each.get("uriTemplate", each.get("name"))), str)
    ]
    links = enemy.locator("#tools a")
    assert links.count() == len(usable)
    for at in range(len(usable)):
        links.nth(at).click()
        enemy.wait_for_function(
            "at => document.querySelectorAll('#tools a')[at].ariaCurrent === 'true'", arg=at
        )
        for field in enemy.locator("main .fields input").all()[:2]:
            field.fill("b/<c>")
            enemy.wait_for_selector(f"#{field.get_attribute('list')} option", state="attached")
        enemy.evaluate("document.querySelector('main .answer')?.remove()")
        enemy.click("main .actions .primary")
        enemy.wait_for_selector(".answer:not([aria-busy])")
        assert_harmless(enemy, f"{kind} {at}")
    enemy.click("nav >> text=Notifications")
    assert_harmless(enemy, "notifications")
    enemy.click("nav >> text=Explore")
    enemy.click("#kinds [data-kind=tool]")


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
    for name in markup_server.QUESTIONS:
        visit(enemy, f"ask_{name}")
        assert enemy.inner_text(".outcome") == "input request"
        assert_harmless(enemy, name)
        enemy.click(".inquiry .primary")
        enemy.wait_for_selector(".answer:not([aria-busy]) .outcome:not(.question)")
        assert '"result"' in enemy.inner_text(".pane-wire"), name


def test_odd_names_are_names(enemy: Any) -> None:
    visit(enemy, "form_odd")
    for at, name in enumerate(markup_server.ODD):
        enemy.locator("main .fields input").nth(at).fill(f"value of {name[:20]}")
    enemy.click("text=Edit as JSON")
    given = json.loads(enemy.input_value("textarea.raw"))
    assert given == {name: f"value of {name[:20]}" for name in markup_server.ODD}
    enemy.click("text=Edit as a form")
    values = enemy.locator("main .fields input")
    assert [values.nth(at).input_value() for at in range(len(markup_server.ODD))] == [
        f"value of {name[:20]}" for name in markup_server.ODD
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
    enemy.wait_for_selector("text=is not one of the choices")


def test_what_is_copied_presses_no_keys(enemy: Any) -> None:
    visit(enemy, markup_server.BAD)
    for kind in ("CLI", "Python"):
        enemy.click(f'[aria-label="Copy as {kind}"]')
        enemy.wait_for_selector(f"text=Copied as {kind}")
        copied = enemy.evaluate("navigator.clipboard.readText()")
        assert not set(SIGNS[:3]) & set(copied), kind
        assert "\\u001b" in copied


# A server that answers too much, too deep, too late, never, or to somebody else

SECONDS = "3"
TRANSPORTS = ("stdio", "http")
TOO_LONG = "than 16777216 bytes"
LATE = f"tools/call was not answered within {SECONDS} s"


class Shown(NamedTuple):
    """The text of the page for an answer, by transport."""

    stdio: str
    http: str


def both(words: str) -> Shown:
    return Shown(words, words)


CASES: dict[str, Shown] = {
    "fine": both("all is well"),
    "schema": both("all is well"),
    "tool_2999": both("all is well"),
    "large_text": both("words, and more words"),
    "large_nothing": both("the reply has more than 250000 values"),
    "large_delicate": both("1.0"),
    "huge_text": both(TOO_LONG),
    "huge_line": both(TOO_LONG),
    "huge_rows": both(TOO_LONG),
    "too_large": both(TOO_LONG),
    "endless": both(TOO_LONG),
    "dripping": both(LATE),
    "never": both(LATE),
    "deep": Shown(
        f"{LATE}; received messages that are not JSON-RPC, or nested too deep", "HTTP 200: "
    ),
    "deep_text": both('{"a":{"a":'),
    "dies": Shown("the server exited with code 7", "HTTP 200: "),
    "wrong_ids": Shown("received replies that match no open request", "without a reply"),
    "flood": both("after the flood"),
    "steps": both("after the steps"),
    "noise": Shown("after the noise", "HTTP 200: "),
    "failure": both("The call failed"),
    "questions": both("asked enough"),
}


@contextmanager
def attacked(transport: str, tools: str = "all_tools") -> Iterator[HttpServer]:
    """Start `accord inspect` with the oversized server."""
    command = [sys.executable, str(PEERS / "oversized_server.py"), transport, tools]
    foreign = HttpServer(command) if transport == "http" else nullcontext()
    with foreign as served:
        target = " ".join(command) if served is None else served.url
        with inspecting(target, "--timeout", SECONDS) as running:
            yield running
    assert "Traceback" not in running.stderr


@pytest.fixture(scope="module", params=TRANSPORTS)
def adverse(request: pytest.FixtureRequest, browser: Any) -> Iterator[tuple[str, Any]]:
    """A transport, and one page for all that follows."""
    with (
        attacked(request.param) as running,
        opened(browser, running.url, besides="status of 502") as page,
    ):
        yield request.param, page


def test_the_oversized_server_is_shown_and_searched_like_any_other(adverse: Any) -> None:
    _, page = adverse
    assert page.locator("#tools a").count() == 500
    assert "more: search for them" in page.inner_text("#tools")
    page.fill("#search", "tool_2999")
    assert page.locator("#tools a").count() == 1
    page.fill("#search", "")
    assert_harmless(page, "tools")


def open_tool(page: Any, name: str) -> None:
    page.evaluate("name => { location.hash = `#/tool/${encodeURIComponent(name)}` }", name)
    page.wait_for_selector(f'h1:has-text("{name}")')


def call_adverse(page: Any, name: str) -> None:
    open_tool(page, name)
    page.evaluate("document.querySelectorAll('.answer, .banner').forEach((each) => each.remove())")
    page.click("main .actions .primary")
    page.wait_for_selector(".answer:not([aria-busy]), .work > div > .banner", timeout=2 * PATIENCE)


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_answered_the_page_says_so_and_goes_on(adverse: Any, name: str) -> None:
    transport, page = adverse
    call_adverse(page, name)
    words = page.inner_text("main")
    assert getattr(CASES[name], transport) in words
    assert len(words) < 500_000
    assert_harmless(page, name)
    again = page.get_by_role("button", name="Connect again")
    if again.count():
        again.click()
        page.wait_for_selector("#announcer:has-text('Connected again')")
    call_adverse(page, "fine")
    assert "all is well" in page.inner_text(".pane-person")


def test_the_page_is_of_use_while_a_call_hangs(adverse: Any) -> None:
    _, page = adverse
    open_tool(page, "never")
    page.click("main .actions .primary")
    page.click("text=Read a reply")
    page.fill("#pasted", "[1, 2, 3]")
    page.click("main .primary")
    page.wait_for_selector("main .pane:has-text('list')")
    page.click("nav.tabs >> text=Activity")
    page.wait_for_selector('h1:has-text("Activity")')
    open_tool(page, "never")
    page.wait_for_selector("main .banner, main button:has-text('Cancel'):visible")
    assert_harmless(page, "never")


LISTS = {
    "deep": Shown("received messages that are not JSON-RPC, or nested too deep", "HTTP 200: "),
    "huge_rows": both(TOO_LONG),
    "more_and_more": both("tools/list has more than 16777216 bytes"),
    "failure": both("tools/list failed"),
    "never": both("tools/list was not answered within"),
}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("tools", LISTS)
def test_a_list_of_tools_that_fails_is_reported(browser: Any, transport: str, tools: str) -> None:
    with (
        attacked(transport, tools) as running,
        opened(browser, running.url, "text=Connect again", besides="status of 502") as page,
    ):
        words = page.inner_text("main")
        assert getattr(LISTS[tools], transport) in words
        assert len(words) < 5_000
        assert page.get_by_role("button", name="Connect again").is_visible()
        assert_harmless(page, tools)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", ["endless", "dripping", "never", "flood", "large_nothing"])
def test_accord_inspect_ends_on_a_signal(transport: str, name: str) -> None:
    with attacked(transport) as running:
        api = Api.linked(running)
        calling = threading.Thread(target=_call, args=[api, name])
        calling.start()
        assert api.post("about").status == 200
        workers = children(running.process.pid)
        running.process.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
        calling.join()
        assert eventually(lambda: all(map(is_gone, workers)))


def _call(api: Api, name: str) -> None:
    with suppress(OSError, HTTPException):
        api.post("call", {"tool": name})
