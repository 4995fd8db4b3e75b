"""What stays: calls over a reload and in other tabs, values that a form cannot express, files, panes."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from http_peer import HttpServer
from inspector.browser.tab import call, choose, home, opened, received, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def saved(page: Any, selector: str) -> tuple[str, str]:
    """Click, and return the name and text of the file that is saved."""
    with page.expect_download() as download:
        page.click(selector)
    return download.value.suggested_filename, Path(download.value.path()).read_bytes().decode()


def test_calls_survive_a_reload_with_their_arguments(page: Any) -> None:
    call(page, "painter", name="ada")
    call(page, "painter", name="zoe <b>")
    page.reload()
    page.wait_for_selector("#history button")
    assert page.locator("#history .tool-words").all_inner_texts() == [
        '{"name":"zoe <b>"}',
        '{"name":"ada"}',
    ]
    page.locator("#history li button").nth(1).click()
    page.wait_for_selector("text=The answer is not stored")
    assert page.get_by_label(re.compile("^name")).input_value() == "ada"
    page.click("main .actions .primary")
    page.wait_for_selector(".answer .card")
    page.click("#history-clear")
    page.reload()
    page.wait_for_selector("#tools a")
    assert not page.is_visible("#history")


def test_two_tabs_have_one_history(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server)) as one:
        other = one.context.new_page()
        other.goto(home(server))
        other.wait_for_selector("#tools a")
        call(one, "painter", name="ada")
        other.wait_for_selector('#history .tool-words:text-is(\'{"name":"ada"}\')')
        call(other, "letter")
        one.wait_for_function("() => document.querySelectorAll('#history li').length === 2")
        one.locator("#history li button").nth(1).click()
        one.wait_for_selector(".answer .card")


@pytest.mark.parametrize(
    "stored",
    ["{", "7", '[7, {"kind": "tool"}]', '[{"kind":"<img>","name":[],"text":{}}]'],
)
def test_a_damaged_history_harms_nothing(page: Any, stored: str) -> None:
    call(page, "letter")
    page.evaluate(
        """text => {
            for (const key of Object.keys(localStorage)) localStorage.setItem(key, text);
        }""",
        stored,
    )
    page.reload()
    call(page, "letter")
    assert page.locator("#history li").count() == 1


ODD: dict[str, Any] = {
    "title": None,
    "size": {"width": "wide", "height": 2, "depth": [1]},
    "finish": "none of them",
    "due": "2026-12-01",
    "copies": 12345678901234567890,
    "signed": "yes",
    "palette": [{"colour": ""}, None, 7],
    "frame": None,
    "extra": {"a": 1e400, "b": "x"},
    "more": {"unknown": []},
}


def test_nothing_is_lost_between_form_and_json(page: Any) -> None:
    choose(page, "commission")
    page.click("text=Edit as JSON")
    text = json.dumps(ODD).replace("Infinity", "1e400")
    page.fill("textarea.raw", text)
    page.click("text=Edit as a form")
    assert page.locator(".lossless textarea:visible").count() >= 6
    page.get_by_label(re.compile("^due")).fill("2026-12-24")
    page.click("text=Edit as JSON")
    assert json.loads(page.input_value("textarea.raw")) == {**ODD, "due": "2026-12-24"} | {
        "extra": {"a": float("inf"), "b": "x"}
    }
    page.click("text=Edit as a form")
    page.click("text=Edit as JSON")
    assert "1e400" in page.input_value("textarea.raw")
    page.fill("textarea.raw", '{"title": "half')
    page.click("text=Edit as a form")
    page.wait_for_selector(".fault:has-text('must be a JSON object'):visible")
    assert page.input_value("textarea.raw") == '{"title": "half', "it stays to be mended"


def test_a_short_text_has_one_line_until_it_needs_more(page: Any) -> None:
    choose(page, "painter")
    field = page.get_by_label(re.compile("^name"))
    assert field.evaluate("each => each.localName") == "input"
    field.fill("ada")
    page.click("[aria-label='Several lines']")
    area = page.locator("main .fields textarea")
    assert area.input_value() == "ada"
    area.fill("ada\nlovelace")
    page.click("main .actions .primary")
    settled(page)
    page.click("text=Edit as JSON")
    assert json.loads(page.input_value("textarea.raw")) == {"name": "ada\nlovelace"}


def test_pasting_several_lines_makes_room_for_them(page: Any) -> None:
    choose(page, "painter")
    field = page.get_by_label(re.compile("^name"))
    field.fill("ada")
    field.evaluate(
        """each => {
            each.setSelectionRange(0, 3);
            const clipboardData = new DataTransfer();
            clipboardData.setData('text/plain', 'one\\ntwo');
            each.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        }"""
    )
    assert page.locator("main .fields textarea").input_value() == "one\ntwo"


def test_a_table_is_sorted_and_saved(page: Any) -> None:
    call(page, "paintings", limit="60")
    cell = page.locator(".table tbody tr").first.locator("td")
    page.click(".sorter:text-is('price')")
    assert page.get_attribute("th:has(.sorter:text-is('price'))", "aria-sort") == "ascending"
    page.click(".sorter:text-is('price')")
    assert cell.first.inner_text() == "60", "the dearest is the last one"
    name, text = saved(page, "text=Save CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert name == "paintings.csv"
    assert [row["id"] for row in rows] == [str(n) for n in range(60, 0, -1)]
    page.click(".sorter:text-is('price')")
    assert cell.first.inner_text() == "1", "as it came"


def test_a_spreadsheet_runs_nothing_of_what_is_saved(page: Any) -> None:
    page.click("text=Read a reply")
    rows = [{"=a": "=1+1", "b": "+x", "c": '"q",\n', "d": -1, "e": "@x"}, {"=a": "plain"}]
    page.fill("#pasted", json.dumps(rows))
    page.press("#pasted", "Control+Enter")
    page.wait_for_selector(".table")
    _, text = saved(page, "text=Save CSV")
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["'=a", "b", "c", "d", "e"],
        ["'=1+1", "'+x", '"q",\n', "-1", "'@x"],
        ["plain", "", "", "", ""],
    ]


def test_a_call_is_saved_whole(page: Any) -> None:
    call(page, "painter", name="ada")
    name, text = saved(page, "text=Save call")
    assert name == "painter-call.json"
    whole = json.loads(text)
    assert (whole["method"], whole["name"]) == ("tools/call", "painter")
    assert whole["response"]["data"]["id"] == 9007199254740993123
    assert [each["direction"] for each in whole["messages"]] == ["sent", "received"]
    assert whole["messages"][0]["message"]["params"]["arguments"] == {"name": "ada"}
    assert whole["messages"][1]["message"] == received(page)
    _, text = saved(page, "[aria-label='Save: Generic']")
    assert json.loads(text)["data"]["name"] == "Ada Lovelace"


def test_panes_fold_and_widen_and_stay_so(page: Any) -> None:
    def width(pane: str) -> float:
        return float(page.locator(f".pane-{pane}").bounding_box()["width"])

    call(page, "painter", name="ada")
    before = width("generic")
    page.click(".pane-generic .folder")
    assert width("generic") < 50
    assert not page.is_visible(".pane-generic .code")
    page.reload()
    call(page, "painter", name="ada")
    assert width("generic") < 50
    page.click(".pane-generic .folder")
    assert width("generic") == pytest.approx(before, abs=2)
    edge = page.locator(".edge").first
    edge.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert width("generic") > before + 20
    now, box = width("person"), edge.bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 106, box["y"] + 100, steps=5)
    page.mouse.up()
    assert width("person") == pytest.approx(now + 100, abs=8)
    for pane in ("person", "generic", "wire"):
        page.click(f".pane-{pane} .folder")
    assert page.locator(".panes > .pane:not(.folded)").count() == 1, "one is always open"


def test_long_lines_wrap_unless_they_are_not_wanted_to(page: Any) -> None:
    overflow = """() => {
        const code = document.querySelector('.pane-wire .received .code');
        return code.scrollWidth > code.clientWidth + 1;
    }"""
    call(page, "paintings", limit="5")
    assert not page.evaluate(overflow)
    page.click("button:text-is('Wrap')")
    assert page.evaluate(overflow)


def test_the_answer_is_in_sight(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), viewport={"width": 1280, "height": 800}) as page:
        call(page, "paintings", limit="5")
        rows = page.locator(".table tbody tr")
        assert all(
            rows.nth(at).bounding_box()["y"] + rows.nth(at).bounding_box()["height"] < 800
            for at in range(5)
        )
        assert page.evaluate("document.querySelector('main').scrollTop") == 0


def test_a_document_is_large(page: Any) -> None:
    call(page, "sketch")
    frame = page.locator(".pane-person iframe")
    assert frame.bounding_box()["width"] > 900
    assert frame.bounding_box()["height"] > 500
    page.click("text=Full screen")
    assert page.locator("dialog.large iframe").bounding_box()["width"] > 1300
    page.click("dialog.large >> text=Close")
    page.wait_for_selector("dialog.large", state="detached")
    page.click(".pane-generic .folder")
    assert page.is_visible(".pane-generic .code")


def test_no_column_is_cut_on_a_phone(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), viewport={"width": 360, "height": 740}) as page:
        call(page, "paintings", limit="3")
        assert page.evaluate(CUT) == []
        first = page.locator(".table tbody tr").first
        assert "Grace Hopper" in first.inner_text()
        assert first.locator("td").nth(3).bounding_box()["x"] < 100


CUT = """() => [...document.querySelectorAll('.table td, .table th, main button, main select')]
    .filter((each) => each.checkVisibility())
    .filter((each) => each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.innerText)"""
