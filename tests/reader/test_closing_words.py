"""A last paragraph such as `Warning: …` is details of an answer, or the end of somebody's text."""

from typing import Any

import pytest

from accord import Answer, Notice, Page, read, render
from accord.revisions import REVISIONS

README = """# rope

Tie knots in strings.

## Usage

    pip install rope

Warning: version 2 drops Python 3.9."""
LOG = """2026-11-18 10:00:01 INFO started
2026-11-18 10:00:02 INFO 9 rows loaded

Warning: disk is nearly full"""
OUTPUT = """ id | name
----+------
  1 | rope

3 of 10 rows; more follow."""
PAGE = """Lanterns

A lantern is a portable light.

The data is incomplete."""
FENCED = """# Settings

```json
{"a": 1}
```

Warning: do not share the file."""
HELP = """usage: tie [-h] knot

positional arguments:
  knot   the knot

Warning: experimental"""
NOTE = "Buy rope.\n\nWarning: shop closes at 6"

DOCUMENTS = [
    ("read_file", README),
    ("get_readme", README),
    ("search", README),
    ("ask_question", README),
    (None, README),
    ("read_file", LOG),
    ("tail_log", LOG),
    ("get_logs", LOG),
    ("run_command", OUTPUT),
    ("run_command", LOG),
    ("execute_sql", OUTPUT.replace("\n\n3", "\n\n\n\n3")),
    ("fetch", PAGE),
    ("get_page", PAGE),
    (None, PAGE),
    ("read_file", FENCED),
    ("run_command", HELP),
    ("get_usage_help", HELP),
    ("read_note", NOTE),
    ("explain_note", NOTE),
    (None, NOTE),
]


@pytest.mark.parametrize(("tool", "text"), DOCUMENTS)
@pytest.mark.parametrize("form", ["text", "block", "FastMCP's structure"])
def test_a_document_keeps_its_last_paragraph(tool: str | None, text: str, form: str) -> None:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if form == "FastMCP's structure":
        result["structuredContent"] = {"result": text}
    reading = read(text if form == "text" else result, tool)
    assert reading.value == text
    assert (reading.warnings, reading.is_truncated) == ((), False)


def test_a_structure_without_details_shows_that_the_paragraph_is_text() -> None:
    text = "Sunny\n\nWarning: storm"
    structure = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}}
    reading = read(structure, "get_weather")
    assert (reading.value, reading.warnings) == (text, ())


PAGED = Answer([1, 2], message="2 of 9", page=Page(total=9, cursor="x", has_more=True))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("tool", ["a_page", "read_file", "get_log", "run_command", "list_users"])
@pytest.mark.parametrize("profile", ["plain", "bare", "prose", "envelope", "generic"])
def test_tools_of_any_name_say_data_and_page_in_each_channel(
    tool: str, profile: str, revision: str
) -> None:
    answer = PAGED.with_warnings(["slow"])
    result = render(answer, tool=tool, profile=profile, revision=revision)
    channels = [result, {"content": result["content"]}]
    if "structuredContent" in result:
        channels.append({"structuredContent": result["structuredContent"]})
    for channel in channels:
        reading = read(channel, tool)
        assert (reading.value, reading.page) == ([1, 2], PAGED.page)
        assert list(reading.warnings) == [Notice("slow")]


CUT = "0123456789" * 1_000


@pytest.mark.parametrize("tool", ["read_file", "get_log", "run_command", "get_weather"])
def test_a_cut_document_says_so_in_its_text_alone(tool: str) -> None:
    result = render(CUT, tool=tool, profile="prose", is_text=True, max_bytes=2_000)
    reading = read({"content": result["content"]}, tool)
    assert reading.is_truncated
    assert CUT.startswith(reading.value)
    assert [notice.code for notice in reading.warnings] == ["TRUNCATED"]


def test_words_that_end_an_answer_of_one_paragraph_are_its_details() -> None:
    reading = read("Sunny\n\nWarning: storm", "get_weather")
    assert (reading.value, list(reading.warnings)) == ("Sunny", [Notice("storm")])


def test_data_in_the_form_of_details_is_data_where_sentences_are_the_details() -> None:
    data = {"_accord": {"page": {"total": 3}}}
    result = render(Answer(data, truncated=True), profile="prose", revision="2024-11-05")
    for reply in (result, {"content": result["content"]}):
        reading = read(reply, "anything")
        assert (reading.value, reading.page, reading.is_truncated) == (data, None, True)
