"""Prompts, resources, completion and notifications: what a server has beside its tools."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cli.command import ACCORD
from commands import SAMPLES
from inspector.api_client import inspecting, serving
from inspector.browser.tab import call, choose, home, opened, received, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
EVERYTHING = "features:every_feature"
KINDS = ("local", "stdio", "http")


@pytest.fixture(scope="module", params=KINDS)
def explored(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """The page of a server with every feature: its own, and those of `accord inspect`."""
    with serving(EVERYTHING, cwd=SAMPLES) as server:
        if request.param == "local":
            with opened(browser, home(server)) as page:
                yield page
            return
        command = f"{ACCORD} serve {SAMPLES / 'features.py'}:every_feature"
        with (
            inspecting(server.url if request.param == "http" else command) as running,
            opened(browser, running.url) as page,
        ):
            yield page


def show(page: Any, kind: str, name: str) -> None:
    """Open an entry of a list."""
    page.click(f"#kinds [data-kind={kind}]")
    page.click(f'#tools a[data-name="{name}"]')
    page.wait_for_selector(f"main .work .primary:text-is('{VERBS[kind]}')")


VERBS = {"tool": "Call", "prompt": "Get", "resource": "Read"}


def get(page: Any) -> str:
    """Get what is shown, and return its preview."""
    page.evaluate("document.querySelector('main .answer')?.remove()")
    page.click("main .actions .primary")
    settled(page)
    return str(page.inner_text(".pane-person"))


def assert_suggested(page: Any, label: str, value: str, wanted: list[str]) -> None:
    """Type a value, and wait until the server has completed it to these."""
    field = page.locator("main").get_by_label(re.compile(rf"^{label}\b"))
    field.fill(value)
    page.wait_for_function(
        """([id, wanted]) => {
            const options = [...document.getElementById(id).list.options];
            return options.map((each) => each.value).slice(0, wanted.length).join() === wanted.join();
        }""",
        arg=[field.get_attribute("id"), wanted],
    )


def test_a_prompt_is_completed_and_shown_as_its_messages(explored: Any) -> None:
    show(explored, "prompt", "recommend")
    explored.click("main .actions .primary")
    explored.wait_for_selector(".fault:text-is('is required'):visible")
    assert_suggested(explored, "drink", "t", ["tea"])
    explored.get_by_label(re.compile("^drink")).fill("tea")
    assert_suggested(explored, "guest", "", ["grace"])
    explored.get_by_label(re.compile("^guest")).fill("<b>grace</b>")
    shown = get(explored)
    assert "user\nRecommend 1 tea to <b>grace</b>" in shown
    assert received(explored)["result"]["messages"][0]["role"] == "user"
    assert explored.locator(".pane-generic, .models").count() == 0


def test_a_prompt_may_ask(explored: Any) -> None:
    show(explored, "prompt", "chat")
    get(explored)
    explored.locator(".inquiry input").fill("cats")
    explored.click(".inquiry .primary")
    explored.wait_for_selector(".said")
    assert "Let us talk about cats" in explored.inner_text(".pane-person")


def test_a_resource_is_read_by_its_template(explored: Any) -> None:
    show(explored, "resource", "sample://orders/{number}")
    assert_suggested(explored, "number", "7", ["7", "70", "71"])
    assert '"number":7' in get(explored).replace(" ", "")
    explored.locator("main").get_by_label("number").fill("99")
    assert "No order 99" in get(explored)
    assert explored.inner_text(".outcome") == "error"


def test_a_template_with_a_query_leaves_out_what_is_empty(explored: Any) -> None:
    show(explored, "resource", "sample://search{?query,limit}")
    explored.locator("main").get_by_label("query").fill("co&")
    assert explored.inner_text(".uri") == "sample://search?query=co%26"
    explored.locator("main").get_by_label("limit").fill("1")
    assert explored.inner_text(".uri") == "sample://search?query=co%26&limit=1"


def test_contents_of_a_resource_are_shown_as_what_they_are(explored: Any) -> None:
    show(explored, "resource", "sample://menu")
    assert "coffee" in get(explored)
    show(explored, "resource", "sample://box")
    shown = get(explored)
    assert "one" in shown
    assert "sample://box/2" in shown


def test_a_watched_resource_is_read_again_when_it_changes(explored: Any) -> None:
    show(explored, "resource", "sample://menu")
    get(explored)
    explored.click("main button:text-is('Watch for changes')")
    explored.wait_for_selector("#announcer:text-is('Watching for changes')", state="attached")
    show(explored, "tool", "rewrite_menu")
    dish = f"cake {explored.evaluate('Date.now()')}"
    call(explored, dish=dish)
    explored.wait_for_selector("#notified:not(:empty)")
    explored.click("nav >> text=Notifications")
    explored.wait_for_selector(".log .words:text-is('sample://menu')")
    explored.click("nav >> text=Explore")
    show(explored, "resource", "sample://menu")
    explored.click("main button:text-is('Watch for changes')")
    assert dish in get(explored)


def test_a_changed_list_is_shown_at_once(explored: Any) -> None:
    show(explored, "tool", "rewrite_menu")
    names = "all => all.map((each) => each.dataset.name)"
    before = explored.locator("#tools a").evaluate_all(names)
    assert "extra" not in before
    choose(explored, "open_counter")
    explored.click("main .actions .primary")
    settled(explored)
    explored.wait_for_selector('#tools a[data-name="extra"]')
    choose(explored, "close_counter")
    explored.click("main .actions .primary")
    settled(explored)
    explored.wait_for_selector('#tools a[data-name="extra"]', state="detached")


def test_the_list_of_each_kind_is_searched(explored: Any) -> None:
    explored.click("#kinds [data-kind=resource]")
    explored.fill("#search", "orders one")
    assert explored.locator("#tools a").count() == 1
    explored.fill("#search", "")
