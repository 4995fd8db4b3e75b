"""An answer in three views, and in other words."""

import json
import re
from typing import Any

import pytest

from inspector.browser.tab import call, choose, generic, received, settled, word

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_a_list_is_a_table_and_the_three_views_agree(page: Any) -> None:
    call(page, "paintings", limit="3")
    rows = page.locator(".pane-person tbody tr")
    assert rows.count() == 3
    assert rows.nth(0).inner_text().split()[:6] == ["1", "1", "Moth", "trap", "1", "Grace"]
    assert [each["id"] for each in generic(page)["data"]] == [1, 2, 3]
    assert received(page)["result"]["structuredContent"]["result"][2]["id"] == 3
    assert "prices are from yesterday" in page.inner_text(".notice")
    assert page.inner_text(".outcome") == "list of 3 items"
    assert re.search(r"[\d.]+ ms", page.inner_text(".facts"))
    rows.nth(1).click()
    assert "Orbit by hand 2" in page.inner_text(".detail .card")


def test_the_next_page_is_a_click_away(page: Any) -> None:
    call(page, "paintings", limit="100")
    assert page.inner_text(".pager .muted") == "Rows 1–50 of 240, 100 of them here"
    page.click("text=Next >> visible=true")
    assert page.inner_text(".pager .muted") == "Rows 51–100 of 240, 100 of them here"
    for offset in (100, 200):
        page.click("text=Get the next page")
        page.wait_for_function(
            f"() => document.querySelector('.pane-wire').innerText.includes('\"offset\": {offset}')"
        )
    assert page.locator("text=Get the next page").count() == 0
    assert page.inner_text(".pager .muted") == "Rows 201–240 of 240"
    assert page.inner_text(".pane-person tbody .opener >> nth=0") == "201"
    assert page.input_value("main input >> nth=1") == "200"
    assert page.locator("#history li").count() == 3


def test_rows_are_counted_from_one_where_nobody_says_where_their_page_begins(page: Any) -> None:
    page.click("text=Read a reply")
    page.fill("#pasted", json.dumps({"items": [{"id": 7}], "total": 48, "next_cursor": "x"}))
    page.press("#pasted", "Control+Enter")
    page.wait_for_selector(".pager")
    assert page.inner_text(".pager .muted") == "Rows 1–1 of 1 here, 48 in all"


def test_one_thing_is_a_card_without_a_digit_lost_and_with_its_price_for_models(page: Any) -> None:
    call(page, "painter", name="ada")
    card = page.inner_text(".pane-person .card >> nth=0")
    assert "9007199254740993123" in card
    assert "9007199254740993123" in page.inner_text(".pane-generic")
    assert "9007199254740993123" in page.inner_text(".pane-wire")
    assert_each_model_has_its_price(page)


def assert_each_model_has_its_price(page: Any) -> None:
    panes = page.locator(".models .pane")
    heads = panes.locator("header").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == ["Text only", "Structure only", "Both"]
    prices = [int(re.search(r"about ([\d,]+) token", head)[1]) for head in heads]  # type: ignore[index]
    assert 30 < prices[0] < 150
    assert prices[2] > prices[0]


def test_a_problem_is_a_banner_that_says_what_helps(page: Any) -> None:
    call(page, "painter", name="zoe")
    page.select_option("[aria-label=Profile]", "generic")
    page.wait_for_function(
        "() => document.querySelector('.banner')?.innerText.includes('Not found')"
    )
    banner = page.inner_text(".banner")
    assert "No painter 'zoe'" in banner
    assert "try ada" in banner
    assert page.inner_text(".outcome") == "error"


def test_a_problem_names_its_fields_in_every_wording_that_has_them(page: Any) -> None:
    choose(page, "painter")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", '{"name": 7}')
    page.click("main .actions .primary")
    page.click("text=Call anyway")
    settled(page)
    for profile in ("envelope", "bare", "generic"):
        word(page, profile)
        assert page.inner_text(".banner li") == "name must be a string, not an integer"


def test_a_picture_and_a_document_are_shown(page: Any) -> None:
    call(page, "sketch")
    page.wait_for_function("() => document.querySelector('.pane-person img').naturalWidth === 160")
    assert page.get_attribute(".pane-person iframe", "src").startswith("blob:")
    assert "Save sketch.pdf" in page.inner_text(".document")
    order = ".person > *", "all => all.map((each) => each.className || each.localName)"
    assert page.eval_on_selector_all(*order) == ["figure", "document", "card", "link"]


def test_a_switch_shows_at_once_how_the_same_answer_is_worded(page: Any) -> None:
    call(page, "discard", id="7")
    assert "isError" not in received(page)["result"]
    seen = {}
    for profile in ("plain", "envelope", "bare", "prose", "generic"):
        word(page, profile)
        seen[profile] = received(page)["result"]["content"][0]["text"]
    assert len(set(seen.values())) >= 4
    assert json.loads(seen["envelope"])["success"] is True
    page.select_option("[aria-label=Revision]", "2024-11-05")
    page.wait_for_selector("text=Handshake, 3 messages")
    assert "structuredContent" not in received(page)["result"]
    assert "Nothing: this wording has no structured content" in page.inner_text(".models")
    assert page.locator("#history li").count() == 1, "nothing was called again"


def test_ten_thousand_rows_stay_smooth(page: Any) -> None:
    call(page, "everything", rows="200")
    few = page.evaluate(TURN)
    call(page, "everything", rows="10000")
    assert "of 10,000" in page.inner_text(".pager")
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000
    assert page.evaluate(TURN) < 5 * few + 20, "milliseconds to turn a page, of many as of few rows"
    code = page.locator(".pane-generic .code")
    code.evaluate("element => { element.scrollTop = element.scrollHeight }")
    page.wait_for_function(
        "() => document.querySelector('.pane-generic .code').innerText.includes('\"returned\": 10000')"
    )
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000


TURN = """() => {
    const [back, on] = document.querySelectorAll('.turns button');
    const times = [];
    for (let at = 0; at < 10; at += 1) {
        const began = performance.now();
        (at % 2 ? back : on).click();
        document.body.offsetHeight;
        times.push(performance.now() - began);
    }
    return Math.min(...times);
}"""
