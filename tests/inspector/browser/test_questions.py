"""What a tool asks is answered by whoever looks, in both eras."""

import re
from typing import Any

import pytest

from http_peer import HttpServer
from inspector.api_client import NEWEST
from inspector.browser.tab import call, home, opened, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
ERAS = [NEWEST, "2025-11-25"]


def speak(page: Any, revision: str) -> None:
    """Call in a revision from now on."""
    call(page, "letter")
    page.select_option("[aria-label=Revision]", revision)
    settled(page)


def inquiry(page: Any, words: str) -> Any:
    """One of the questions."""
    return page.locator(".inquiry", has_text=words)


def test_a_form_is_answered(page: Any) -> None:
    for revision in ERAS:
        speak(page, revision)
        call(page, "varnish")
        assert page.inner_text(".outcome") == "input request"
        assert "Which <i>finish</i>?" in page.inner_text(".inquiry")
        page.click(".inquiry .primary")
        page.wait_for_selector(".inquiry .fault:visible")
        assert page.inner_text(".inquiry .fault:visible") == "is required"
        page.get_by_label(re.compile("^finish")).select_option(label="Gloss")
        page.select_option("[aria-label=Profile]", "envelope")
        settled(page)
        page.click(".inquiry .primary")
        page.wait_for_selector("text=gloss varnish")
        said = page.inner_text(".pane-wire")
        assert '"action": "accept"' in said
        assert page.locator("#history .dot.question").count() == 0
    assert page.locator("#history li").count() == 4, "each is still one call"


def test_a_person_may_say_no(page: Any) -> None:
    for revision in ERAS:
        speak(page, revision)
        for name, action in (("Decline", "decline"), ("Cancel", "cancel")):
            call(page, "sign_in")
            page.locator(".inquiry").get_by_role("button", name=name).click()
            page.wait_for_selector(f"text=signed in: {action}")


def test_one_question_may_lead_to_another(page: Any) -> None:
    for revision in ERAS:
        speak(page, revision)
        call(page, "sign_in")
        link = page.locator(".inquiry a")
        assert link.get_attribute("href") == "https://example.com/sign-in?a=<b>"
        assert link.get_attribute("rel") == "noopener noreferrer"
        page.click("text=I have done it")
        page.get_by_label(re.compile("^name")).fill("Ada")
        assert page.get_by_label(re.compile("^visits")).input_value() == "3", (
            "a default is filled in"
        )
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=signed in: Ada")


def test_a_person_a_model_and_folders_are_asked_at_once(page: Any) -> None:
    for revision in ERAS:
        speak(page, revision)
        call(page, "interview")
        assert page.locator(".inquiry").count() == 3
        model = inquiry(page, "the client's model")
        assert "Say <i>something</i> kind" in model.inner_text()
        model.locator("textarea").fill("Well done")
        model.locator(".primary").click()
        folders = inquiry(page, "which folders")
        folders.locator("textarea").fill("file:///a\n\nfile:///b")
        folders.locator(".primary").click()
        person = inquiry(page, "asks a person")
        assert "<b>Who</b> is it?" in person.inner_text()
        person.get_by_label(re.compile("^name")).fill("A")
        person.locator(".primary").click()
        person.locator(".fault:visible").wait_for()
        person.get_by_label(re.compile("^name")).fill("Ada")
        person.locator(".primary").click()
        page.wait_for_selector(".pane-person .card")
        shown = page.inner_text(".pane-person")
        for words in ("Ada 3", "Well done", "file:///a, file:///b"):
            assert words in shown


def test_a_refusal_is_reported_where_there_is_a_way_to_say_it(page: Any) -> None:
    speak(page, "2025-11-25")
    call(page, "interview")
    for words, button in (("a person", "Cancel"), ("the client's model", "Decline")):
        inquiry(page, words).get_by_role("button", name=button).click()
    inquiry(page, "which folders").locator(".primary").click()
    page.wait_for_selector(".banner")
    assert "The user has declined" in page.inner_text(".banner")


def test_a_question_may_be_left(page: Any) -> None:
    call(page, "interview")
    inquiry(page, "which folders").get_by_role("button", name="Leave it").click()
    page.wait_for_selector("text=Not answered")
    page.locator("#history button").first.click()
    page.wait_for_selector(".inquiry")
    assert page.locator(".inquiry .primary").count() == 0, "nobody can answer it any longer"
    assert "which folders" in page.inner_text(".pane-person")


def test_a_call_whose_question_was_forgotten_says_so(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), quiet=False) as page:
        call(page, "varnish")
        page.route("**/api/answer", lambda route: route.fulfill(json={"expired": True}))
        page.select_option(".inquiry select", label="Gloss")
        page.click(".inquiry .primary")
        page.wait_for_selector("text=no longer waits for input")
