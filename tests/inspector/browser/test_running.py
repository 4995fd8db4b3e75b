"""A call while it runs: its progress, messages and time; its end by a person; and tasks."""

import re
from typing import Any

import pytest

from cli.command import ACCORD, EXAMPLES
from commands import SAMPLES
from inspector.api_client import inspecting, serving
from inspector.browser.tab import call, choose, home, opened, received, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
DEMO = EXAMPLES / "demo"
LONG = "long_running:server"


def counting(page: Any, shelves: int = 48) -> None:
    """Begin a call that reports progress and logs."""
    choose(page, "count_stock")
    page.get_by_label(re.compile("^shelves")).fill(str(shelves))
    page.select_option("[aria-label='Log level']", "info")
    page.click("main .actions .primary")


@pytest.mark.parametrize("kind", ["local", "stdio", "http"])
def test_progress_and_logs_are_shown_while_the_call_runs(browser: Any, kind: str) -> None:
    with serving("tools.py", cwd=DEMO) as server:
        if kind == "local":
            with opened(browser, home(server)) as page:
                _watch(page)
            return
        command = f"{ACCORD} serve {DEMO / 'tools.py'}"
        with (
            inspecting(server.url if kind == "http" else command) as running,
            opened(browser, running.url) as page,
        ):
            _watch(page)


def _watch(page: Any) -> None:
    counting(page)
    page.wait_for_selector(".live progress:visible")
    page.wait_for_selector(".live .log .info .words:text-is('torch: 7 left')")
    assert page.locator("main .answer").count() == 0, "it still runs"
    page.wait_for_selector(".timer:has-text('Running')")
    assert re.search(r"\d+ %, \d+ of 48", page.inner_text(".live .progress"))
    settled(page)
    assert page.inner_text(".timer") == ""
    page.click("text=Messages during the call")
    assert "torch: 7 left" in page.inner_text(".pane-person .log")
    assert "progressToken" in page.inner_text(".pane-wire")
    page.select_option("[aria-label='Log level']", "error")
    page.evaluate("document.querySelector('main .answer').remove()")
    page.click("main .actions .primary")
    settled(page)
    page.click("text=Messages during the call")
    assert page.locator(".pane-person .log li").count() == 0


def test_a_running_call_is_cancelled(browser: Any) -> None:
    with serving("tools.py", cwd=DEMO) as server, opened(browser, home(server)) as page:
        counting(page)
        page.wait_for_selector(".live .log li")
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.wait_for_selector("text=The call was cancelled after")
        assert "torch: 7 left" in page.inner_text("main .log"), "what it said is kept"
        assert page.locator("#history .dot.cancelled").count() == 1
        counting(page, 1)
        settled(page)
        assert "shelves" in page.inner_text(".pane-person")


@pytest.fixture(params=["local", "stdio", "http"])
def long(request: pytest.FixtureRequest, browser: Any) -> Any:
    """The page of a server with tasks."""
    with serving(LONG, cwd=SAMPLES) as server:
        if request.param == "local":
            with opened(browser, home(server)) as page:
                yield page
            return
        command = f"{ACCORD} serve {SAMPLES / 'long_running.py'}:server"
        with (
            inspecting(server.url if request.param == "http" else command) as running,
            opened(browser, running.url) as page,
        ):
            yield page


def start(page: Any, tool: str, **fields: str) -> None:
    """Call a tool as a task."""
    choose(page, tool)
    page.check("text=As a task")
    for name, value in fields.items():
        page.get_by_label(re.compile(rf"^{name}\b")).fill(value)
    page.click("main .actions .primary")
    page.wait_for_selector("main .task")


def test_a_task_is_watched_until_its_result(long: Any) -> None:
    start(long, "report", seconds="1")
    long.wait_for_selector(".task .words:has-text('reading')")
    assert long.inner_text("#tasks-open") == "1"
    settled(long)
    assert "report of" in long.inner_text(".pane-person")
    assert "report of" in long.inner_text(".pane-generic")
    assert long.inner_text("#tasks-open") == ""
    long.wait_for_selector("#history .dot.success")


def test_a_task_asks_and_is_answered(long: Any) -> None:
    start(long, "greet")
    long.locator(".task .inquiry").get_by_label(re.compile("^name")).fill("Ada")
    long.click(".task .inquiry .primary")
    settled(long)
    assert "Hello Ada" in long.inner_text(".pane-person")


def test_a_task_is_cancelled(long: Any) -> None:
    start(long, "report", seconds="60")
    long.click("text=Cancel the task")
    long.wait_for_selector(".task .outcome:text-is('cancelled')")
    assert not long.is_visible("text=Cancel the task")


def test_a_task_is_found_again_after_a_reload(long: Any) -> None:
    start(long, "report", seconds="2")
    long.reload()
    long.wait_for_selector("#tasks-open:text-is('1')")
    long.click("nav >> text=Tasks")
    long.wait_for_selector(".task .outcome:text-is('completed')")
    long.click("main button:text-is('Open')")
    settled(long)
    assert long.get_by_label(re.compile("^seconds")).input_value() == "2"
    assert "report of" in long.inner_text(".pane-person")


def test_a_tool_without_tasks_is_called_as_usual(long: Any) -> None:
    choose(long, "add")
    long.check("text=As a task")
    call(long, None, a="2", b="3")
    assert "5" in long.inner_text(".pane-person")
    assert received(long)["result"]["structuredContent"] == 5
