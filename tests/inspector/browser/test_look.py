"""How it looks: every word can be read, dark and light, at the width of a phone."""

from typing import Any

import pytest

from http_peer import HttpServer
from inspector.browser.tab import call, choose, home, opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_every_word_can_be_read(page: Any) -> None:
    def look() -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CONTRAST) == [], scheme

    call(page, "paintings", limit="3")
    look()
    call(page, "painter", name="zoe")
    look()
    call(page, "varnish")
    look()
    choose(page, "commission")
    page.click("main .actions .primary")
    page.wait_for_selector(".fault:visible")
    look()


CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const colour = (text) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b]
        .map((each) => each / 255)
        .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
        .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
    const back = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const found = colour(getComputedStyle(each).backgroundColor);
            if (found[3] === 255) return found;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const element of document.querySelectorAll('body *')) {
        const words = [...element.childNodes].filter((each) => each.nodeType === 3 && each.data.trim());
        if (!words.length || element.closest('svg, option, .announcer, :disabled') || !element.checkVisibility()) continue;
        const [one, other] = [light(colour(getComputedStyle(element).color)), light(back(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) poor.push(`${words[0].data.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
    }
    return poor;
}"""


def test_dark_is_a_choice_that_stays(page: Any) -> None:
    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = back()
    page.select_option("#theme", "dark")
    dark = back()
    assert dark != light
    page.reload()
    page.wait_for_selector("#tools a")
    assert back() == dark
    page.select_option("#theme", "auto")
    page.emulate_media(color_scheme="dark")
    assert back() == dark
    page.emulate_media(color_scheme="light")
    assert back() == light


def test_another_tool_is_shown_from_its_top(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), viewport={"width": 1280, "height": 400}) as page:
        call(page, "paintings", limit="50")
        assert page.evaluate("document.querySelector('main').scrollTop") > 0
        choose(page, "commission")
        assert page.evaluate("document.querySelector('main').scrollTop") == 0


def test_it_fits_a_phone(browser: Any, server: HttpServer) -> None:
    with opened(browser, home(server), viewport={"width": 360, "height": 740}) as page:
        assert not page.is_visible("main")
        call(page, "paintings", limit="3")
        assert not page.is_visible("#tools")
        assert page.is_visible(".pane-person")
        assert not page.is_visible(".pane-wire")
        page.click('.answer .tabs button:has-text("Messages")')
        assert page.is_visible(".pane-wire")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.click("#back")
        assert page.is_visible("#tools")
