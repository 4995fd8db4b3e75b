"""The details that end a rendered text, such as `Warning: …`; `cases/written/documents.jsonl` has others."""

import pytest

from accord import Answer, Notice, Page, read, render
from accord.revisions import REVISIONS

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


def test_data_in_the_form_of_details_is_data_where_sentences_are_the_details() -> None:
    data = {"_accord": {"page": {"total": 3}}}
    result = render(Answer(data, truncated=True), profile="prose", revision="2024-11-05")
    for reply in (result, {"content": result["content"]}):
        reading = read(reply, "anything")
        assert (reading.value, reading.page, reading.is_truncated) == (data, None, True)
