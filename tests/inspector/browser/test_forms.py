"""Arguments as a form, made from the schema."""

import json
import re
from typing import Any

import pytest

from inspector.browser.tab import call, choose

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_errors_stand_beside_their_fields(page: Any) -> None:
    choose(page, "commission")
    page.click("main .actions .primary")
    page.wait_for_selector(".fault:visible")
    assert page.locator(".fault:visible").all_inner_texts() == ["is required"] * 5
    focused = page.evaluate("document.activeElement.closest('.field').innerText")
    assert focused.startswith("title")
    page.get_by_label(re.compile("^width")).fill("0")
    page.get_by_label(re.compile("^copies")).fill("many")
    page.click("main .actions .primary")
    copies = page.locator(".field", has_text="copies").last
    copies.locator(".fault:visible").wait_for()
    assert copies.locator(".fault").inner_text() == "is not a number"
    page.get_by_label(re.compile("^copies")).fill("99")
    page.click("main .actions .primary")
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


def test_invalid_json_is_reported(page: Any) -> None:
    choose(page, "painter")
    page.click("text=Edit as JSON")
    page.fill("textarea.raw", '{"name": ')
    page.click("main .actions .primary")
    page.wait_for_selector("text=The arguments must be a JSON object")
    page.fill("textarea.raw", '{"name": 7}')
    page.click("main .actions .primary")
    page.wait_for_selector("text=name must be a string, not an integer")
    page.click("text=Call anyway")
    page.wait_for_selector(".answer .banner")


def test_words_about_a_field_stand_where_they_are_read(page: Any) -> None:
    said = page.evaluate(SAID, DESCRIBED)
    assert said == "size requiredHow large, and which waywidthnumberpricenumberThe highest price"


DESCRIBED = {
    "required": ["size"],
    "properties": {
        "size": {
            "type": "object",
            "description": "How large, and which way",
            "properties": {"width": {"type": "number"}},
        },
        "price": {
            "anyOf": [{"type": "number", "description": "The highest price"}, {"type": "null"}]
        },
    },
}
SAID = """async (schema) => {
    const { Form } = await import('/inspector/form.js');
    return new Form(schema).element.textContent;
}"""

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
