"""The page in a real browser."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.command import ENVIRONMENT
from http_peer import HttpPeer, HttpServer
from inspector.talk import COMMAND, HERE, inspecting, serving, studio
from sources.sheets.characters import THORIN
from sources.sql.shop import SEED, make

OWN = ("data:", "blob:", "chrome://", "chrome-extension://")
"""What a browser asks of itself: the last two are the viewer that draws a PDF."""

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with studio() as running:
        yield running
    assert "Traceback" not in running.stderr


@contextmanager
def opened(
    browser: Any, address: str, sign: str = "#tools a", *, quiet: bool = True, **settings: Any
) -> Iterator[Any]:
    """The page at an address; whatever it complains of, or asks of others, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **settings})
    context.set_default_timeout(10_000)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: complaints.extend(_complaints(said)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector(sign)
    yield page
    context.close()
    home = re.match(r"http://[^/]+/", address)
    assert home is not None
    assert [url for url in asked if not url.startswith((home[0], *OWN))] == []
    if quiet:
        assert complaints == []


def _complaints(said: Any) -> list[str]:
    return [said.text] if said.type in ("error", "warning") else []


@pytest.fixture
def page(browser: Any, server: HttpServer) -> Iterator[Any]:
    with opened(browser, _home(server)) as page:
        yield page


def _home(server: HttpServer) -> str:
    return f"http://127.0.0.1:{server.port}/"


def choose(page: Any, tool: str) -> None:
    page.click(f'#tools a[data-name="{tool}"]')
    page.wait_for_selector(f'h1:has-text("{tool}")')


def call(page: Any, tool: str | None = None, /, **fields: str) -> None:
    """Fill in a form, call, and wait for the answer."""
    if tool is not None:
        choose(page, tool)
    for name, value in fields.items():
        page.get_by_label(re.compile(rf"^{name}\b")).fill(value)
    page.evaluate("document.querySelector('.answer')?.remove()")
    page.click("main .primary")
    page.wait_for_selector(".answer:not([aria-busy])")


def generic(page: Any) -> Any:
    """What the pane with the generic response shows."""
    return json.loads(page.inner_text(".pane-generic .code"))


def received(page: Any) -> Any:
    return json.loads(page.inner_text(".pane-wire .received:last-child .code"))


# The tools


def test_the_first_paint_is_small_and_has_tools_that_can_be_searched(page: Any) -> None:
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').map((each) => each.transferSize)"
    )
    first = page.evaluate("performance.getEntriesByType('navigation')[0].transferSize")
    assert 0 < first + sum(sizes) < 100_000
    assert page.inner_text("#server") == "Studio"
    assert page.locator("#tools a").count() == 15
    page.click("text=Instructions of the server")
    assert page.inner_text("#instructions-text") == "Ask for paintings <b>first</b>."
    page.keyboard.press("/")
    page.keyboard.type("catalogue oldest")
    assert page.locator("#tools a .tool-name").all_inner_texts() == ["paintings"]
    assert page.inner_text("#many") == "1 of 15"
    page.fill("#search", "nothing like it")
    assert "No tool has these words" in page.inner_text("#tools")


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


# Answers


def test_a_list_is_a_table_and_the_three_views_agree(page: Any) -> None:
    call(page, "paintings", limit="3")
    rows = page.locator(".pane-person tbody tr")
    assert rows.count() == 3
    assert rows.nth(0).inner_text().split()[:6] == ["1", "1", "Moth", "trap", "1", "Grace"]
    assert [each["id"] for each in generic(page)["data"]] == [1, 2, 3]
    assert received(page)["result"]["structuredContent"][2]["id"] == 3
    assert "prices are from yesterday" in page.inner_text(".notice")
    assert page.inner_text(".outcome") == "list of 3 items"
    assert re.search(r"[\d.]+ ms", page.inner_text(".facts"))
    rows.nth(1).click()
    assert "Orbit by hand 2" in page.inner_text(".detail .card")


def test_the_next_page_is_a_click_away(page: Any) -> None:
    call(page, "paintings", limit="100")
    assert "Rows 1–50 of 100 here, 240 in all" in page.inner_text(".pager")
    page.click("text=Next >> visible=true")
    assert "Rows 51–100" in page.inner_text(".pager")
    for offset in (100, 200):
        page.click("text=Get the next page")
        page.wait_for_function(
            f"() => document.querySelector('.pane-wire').innerText.includes('\"offset\": {offset}')"
        )
    assert page.locator("text=Get the next page").count() == 0
    assert page.input_value("main input >> nth=1") == "200"
    assert page.locator("#history li").count() == 3


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
    page.check("input[value=generic]")
    page.wait_for_function(
        "() => document.querySelector('.banner')?.innerText.includes('Not found')"
    )
    banner = page.inner_text(".banner")
    assert "No painter 'zoe'" in banner
    assert "try ada" in banner
    assert page.inner_text(".outcome") == "problem"


def test_a_picture_and_a_document_are_shown(page: Any) -> None:
    call(page, "sketch")
    page.wait_for_function("() => document.querySelector('.pane-person img').naturalWidth === 160")
    assert page.get_attribute(".pane-person iframe", "src").startswith("blob:")
    assert "Save sketch.pdf" in page.inner_text(".document")


def test_data_never_becomes_more_than_text(page: Any) -> None:
    for tool in ("hostile", "letter"):
        call(page, tool)
        for profile in ("envelope", "generic", "prose"):
            page.check(f"input[value={profile}]")
            page.wait_for_selector(".answer:not([aria-busy])")
            shown = page.inner_text(".pane-person")
            assert "<script>window.hacked=1</script>" in shown
            assert "\\u001b[31mred\\u001b[0m \\u202eevil" in shown
            text = page.inner_text("body")
            assert "\x1b" not in text
            assert "\u202e" not in text
    assert page.locator("main script, main b, main img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_the_browser_itself_would_refuse_markup(browser: Any, server: HttpServer) -> None:
    with opened(browser, _home(server), quiet=False) as page:
        refused = page.evaluate(
            "() => { try { document.body.innerHTML = '<b>x</b>'; return false }"
            " catch (error) { return error.name } }"
        )
        assert refused == "TypeError"


def test_ten_thousand_rows_stay_smooth(page: Any) -> None:
    call(page, "everything")
    assert "of 10,000" in page.inner_text(".pager")
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000
    turned = page.evaluate(
        """async () => {
            const on = [...document.querySelectorAll('.turns button')].at(-1);
            const began = performance.now();
            for (let at = 0; at < 20; at += 1) on.click();
            return (performance.now() - began) / 20;
        }"""
    )
    assert turned < 100, "milliseconds to turn a page"
    code = page.locator(".pane-generic .code")
    code.evaluate("element => { element.scrollTop = element.scrollHeight }")
    page.wait_for_function(
        "() => document.querySelector('.pane-generic .code').innerText.includes('\"returned\": 10000')"
    )
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000


# Forms


def test_errors_stand_beside_their_fields(page: Any) -> None:
    choose(page, "commission")
    page.click("main .primary")
    page.wait_for_selector(".fault:visible")
    assert page.locator(".fault:visible").all_inner_texts() == ["is required"] * 5
    focused = page.evaluate("document.activeElement.closest('.field').innerText")
    assert focused.startswith("title")
    page.get_by_label(re.compile("^width")).fill("0")
    page.get_by_label(re.compile("^copies")).fill("many")
    page.click("main .primary")
    copies = page.locator(".field", has_text="copies").last
    copies.locator(".fault:visible").wait_for()
    assert copies.locator(".fault").inner_text() == "is no number"
    page.get_by_label(re.compile("^copies")).fill("99")
    page.click("main .primary")
    page.wait_for_function("() => document.querySelectorAll('.fault:not([hidden])').length >= 6")
    width = page.get_by_label(re.compile("^width"))
    assert width.get_attribute("aria-invalid") == "true"
    assert "50" in copies.locator(".fault").inner_text()
    page.get_by_label(re.compile("^copies")).fill("5")
    page.wait_for_function("() => document.querySelectorAll('.fault:not([hidden])').length === 5")


def test_a_form_makes_nested_arguments(page: Any) -> None:
    choose(page, "commission")
    page.get_by_label(re.compile("^title")).fill("Moth <b>")
    page.get_by_label(re.compile("^width")).fill("10.5")
    page.get_by_label(re.compile("^height")).fill("20")
    page.get_by_label(re.compile("^finish")).select_option(label="gloss")
    page.get_by_label(re.compile("^due")).fill("2026-12-01")
    page.get_by_label(re.compile("^signed")).select_option(label="false")
    page.click("text=Add an item")
    page.get_by_label(re.compile("^colour")).fill("ochre")
    page.click("text=Add frame")
    page.locator(".optional").get_by_label(re.compile("^width")).fill("12")
    page.locator(".optional").get_by_label(re.compile("^height")).fill("22")
    page.get_by_label(re.compile("^extra")).fill('{"id": 12345678901234567}')
    wanted = {
        "title": "Moth <b>",
        "size": {"width": 10.5, "height": 20},
        "finish": "gloss",
        "due": "2026-12-01",
        "signed": False,
        "palette": [{"colour": "ochre"}],
        "frame": {"width": 12, "height": 22},
        "extra": {"id": 12345678901234567},
    }
    page.click("text=Edit as JSON")
    assert json.loads(page.input_value("textarea.raw")) == wanted
    page.click("text=Edit as a form")
    call(page)
    sent = json.loads(page.inner_text(".pane-wire .sent .code"))
    assert sent["params"]["arguments"] == wanted


def test_json_that_is_none_is_told(page: Any) -> None:
    choose(page, "painter")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", '{"name": ')
    page.click("main .primary")
    page.wait_for_selector("text=This is no JSON object")
    page.fill("textarea.raw", '{"name": 7}')
    page.click("main .primary")
    page.wait_for_selector("text=name must be a string, not an integer")
    page.click("text=Call anyway")
    page.wait_for_selector(".answer .banner")


FORMS: dict[str, tuple[Any, Any]] = {
    "text": ({"type": "string"}, "a\nb"),
    "a short text": ({"type": "string", "maxLength": 5}, "ab"),
    "a number": ({"type": "number"}, 1.5),
    "a choice": ({"enum": ["a", 2, None]}, 2),
    "a date": ({"type": "string", "format": "date"}, "2026-12-01"),
    "a constant": ({"const": {"a": 1}}, {"a": 1}),
    "yes or no": ({"type": "boolean"}, False),
    "what may be null": ({"type": ["integer", "null"]}, 7),
    "null or text": ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "x"),
    "one of several": ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 7),
    "one of several constants": ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "b"),
    "one of two objects": (
        {
            "oneOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}},
                {"type": "array", "items": {"type": "integer"}},
            ]
        },
        [1, 2],
    ),
    "a reference": ({"$ref": "#/$defs/Name"}, "x"),
    "a reference to itself": ({"$ref": "#/$defs/Tree"}, {"name": "a", "below": [{"name": "b"}]}),
    "all of several": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}},
                {"properties": {"b": {"type": "integer"}}},
            ]
        },
        {"a": 1, "b": 2},
    ),
    "lists of lists": (
        {"type": "array", "items": {"type": "array", "items": {}}},
        [[1, "a"], [{}]],
    ),
    "a map": ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}),
    "members that nobody told of": (
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"a": 1, "odd": {"b": [None]}},
    ),
    "anything": ({}, {"a": [1, None, "x"]}),
    "a schema that is none": (True, {"a": 1}),
    "a reference to nowhere": ({"$ref": "#/$defs/Nobody"}, 1),
    "a reference elsewhere": ({"$ref": "http://example.com/schema"}, 1),
    "a circle": ({"$ref": "#/$defs/Circle"}, 1),
}
DEFINITIONS = {
    "Name": {"type": "string"},
    "Circle": {"$ref": "#/$defs/Circle"},
    "Tree": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["name"],
    },
}
ROUND = """async ([schema, value]) => {
    const { Form } = await import('/inspector/form.js');
    const empty = new Form(schema).read();
    const form = new Form(schema);
    form.write(value);
    const { text, faults } = form.read();
    return [empty.text, text, faults];
}"""


def test_a_form_gives_back_what_is_put_into_it(page: Any) -> None:
    for name, (schema, value) in FORMS.items():
        for required in ([], ["it"]):
            whole = {"properties": {"it": schema}, "required": required, "$defs": DEFINITIONS}
            empty, text, faults = page.evaluate(ROUND, [whole, {"it": value}])
            assert (json.loads(text), faults) == ({"it": value}, []), name
            assert name == "a constant" or required or json.loads(empty) == {}, name


# Words


def test_a_switch_shows_at_once_how_the_same_answer_is_worded(
    page: Any, server: HttpServer
) -> None:
    call(page, "discard", id="7")
    assert "isError" not in received(page)["result"]
    seen = {}
    for profile in ("plain", "envelope", "bare", "prose", "generic"):
        page.check(f"input[value={profile}]")
        page.wait_for_selector(".answer:not([aria-busy])")
        seen[profile] = received(page)["result"]["content"][0]["text"]
    assert len(set(seen.values())) >= 4
    assert json.loads(seen["envelope"])["success"] is True
    page.select_option(".switches select", "2024-11-05")
    page.wait_for_selector("text=Handshake, 3 messages")
    assert "structuredContent" not in received(page)["result"]
    assert "Nothing: this wording has no structured content" in page.inner_text(".models")
    assert page.locator("#history li").count() == 1, "nothing was called again"


def test_a_call_can_be_made_again_elsewhere(browser: Any, server: HttpServer) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with opened(browser, _home(server), permissions=permissions) as page:
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
    assert page.input_value("main textarea >> nth=0") == "ada"
    assert page.locator("#history .dot.error").count() == 1


# Reading, and counting


def test_a_pasted_reply_is_read_with_the_rules_that_fired(page: Any) -> None:
    page.click("text=Read a reply")
    reply = {"content": [{"type": "text", "text": "Found 2 tables:\n- users\n- <i>posts</i>"}]}
    page.fill("#pasted", json.dumps(reply))
    page.fill("#pasted-tool", "list_tables")
    page.keyboard.press("Tab")
    page.click("main .primary")
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
    page.click("text=Activity")
    page.wait_for_selector("main h1")
    with HttpPeer(server.port) as peer:
        for _ in range(3):
            peer.call("count", steps=0)
    row = page.locator("main tbody tr", has_text="count")
    row.wait_for()
    assert row.inner_text().split("\t")[1].strip() == "3"
    assert page.locator(".chart rect.calls").count() >= 1


def test_a_database_has_a_page(browser: Any, tmp_path: Path) -> None:
    make(tmp_path / "shop.db", SEED + "INSERT INTO posts (title) VALUES ('<i>One</i>'), ('Two');")
    with (
        serving("shop.db", "--max-rows", "1", cwd=tmp_path) as server,
        opened(browser, _home(server)) as page,
    ):
        call(page, "run_query", query="SELECT title FROM posts ORDER BY id")
        rows = page.locator(".pane-person tbody td:nth-child(2)")
        assert rows.all_inner_texts() == ["<i>One</i>"]
        page.click("text=Get the next page")
        page.wait_for_selector("text=Two")
        page.check("input[value=envelope]")
        page.wait_for_selector(".answer:not([aria-busy])")
        assert rows.all_inner_texts() == ["Two"]
        call(page, "run_query", query="SELECT nothing FROM posts", cursor="")
        assert "nothing" in page.inner_text(".banner")


def test_a_sheet_is_shown_as_its_pdf(browser: Any, tmp_path: Path) -> None:
    with (
        serving("sheets", "--out", str(tmp_path), cwd=tmp_path) as server,
        opened(browser, _home(server)) as page,
    ):
        page.click("#tools a")
        page.click("text=Edit as JSON")
        page.fill("textarea.raw", json.dumps({"character_data": THORIN, "return_pdf": True}))
        call(page)
        page.wait_for_selector(".pane-person iframe")
        assert "application/pdf" in page.inner_text(".document figcaption")
        (sheet,) = tmp_path.glob("*.pdf")
        with page.expect_download() as saved:
            page.click(".document a")
        assert Path(saved.value.path()).read_bytes() == sheet.read_bytes()


def test_what_a_tool_asks_is_shown(page: Any) -> None:
    call(page, "varnish")
    assert page.inner_text(".outcome") == "question"
    for revision in ("2026-07-28", "2025-11-25"):
        page.select_option(".switches select", revision)
        page.wait_for_selector(".answer:not([aria-busy])")
        asked = page.inner_text(".question")
        assert "Which <i>finish</i>?" in asked
        assert '"requestedSchema"' in asked


def test_a_server_without_tools_has_a_page_too(browser: Any) -> None:
    with (
        serving("reader", cwd=HERE) as server,
        opened(browser, f"{_home(server)}#/tool/%E0", "text=No such tool") as page,
    ):
        page.click("text=Read a reply")
        page.click("text=Use an example")
        page.wait_for_selector(".rules")


# How it looks, and what becomes of it


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
    page.click("main .primary")
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


def test_it_fits_a_phone(browser: Any, server: HttpServer) -> None:
    with opened(browser, _home(server), viewport={"width": 360, "height": 740}) as page:
        assert not page.is_visible("main")
        call(page, "paintings", limit="3")
        assert not page.is_visible("#tools")
        assert page.is_visible(".pane-person")
        assert not page.is_visible(".pane-wire")
        page.click('.answer .tabs button:has-text("Wire")')
        assert page.is_visible(".pane-wire")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.click("#back")
        assert page.is_visible("#tools")


def test_a_call_can_be_cancelled(page: Any) -> None:
    choose(page, "wait")
    page.click("main .primary")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=Nobody waits for this answer any longer")
    call(page, "calls")
    assert "cancelled" in page.inner_text(".pane-person")


def test_a_server_that_stops_is_told_of_and_found_again(browser: Any) -> None:
    with studio() as first, opened(browser, _home(first), quiet=False) as page:
        choose(page, "letter")
        first.process.terminate()
        first.wait()
        page.click("main .primary")
        page.wait_for_selector("#trouble:visible")
        assert "Start it again in your terminal" in page.inner_text("#trouble")
        with studio("--http", f"127.0.0.1:{first.port}"):
            with page.expect_navigation():
                page.get_by_role("button", name="Reload").click()
            page.wait_for_selector("#tools a")
            call(page, "letter")
            assert not page.is_visible("#trouble")


def test_somebody_else_s_server_needs_the_link(browser: Any) -> None:
    with inspecting(COMMAND) as inspected:
        address, _, token = inspected.url.partition("#token=")
        with opened(browser, inspected.url) as page:
            assert token not in page.url
            call(page, "painter", name="ada")
            assert page.inner_text("#target") == COMMAND
            page.check("input[value=envelope]")
            page.wait_for_selector("text=Worded by Accord")
            assert json.loads(received(page)["result"]["content"][0]["text"])["success"] is True
            page.reload()
            page.wait_for_selector("#tools a")
        stranger = browser.new_page()
        stranger.goto(address)
        stranger.wait_for_selector("#trouble:visible")
        assert "open the link that the terminal shows" in stranger.inner_text("#trouble")
        assert stranger.locator("#tools a").count() == 0
        stranger.close()
