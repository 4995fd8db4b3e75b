"""A reading given back as a tool result says the same, in every profile and revision."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from accord import (
    Answer,
    Audio,
    ContractError,
    Embedded,
    Image,
    Link,
    Notice,
    Page,
    Problem,
    Reading,
    read,
    render,
)
from accord.revisions import REVISIONS
from corpus.readings import replies
from law import generators
from law.test_half_law import beside_of, has_form_of_details
from law.test_law import SAYS_FAILED
from laws import examples

V1, V2, V3, V4, V5 = wire.REVISIONS
CORPUS = replies()


def back(reading: Reading, profile: str, revision: str) -> dict[str, Any]:
    result = reading.to_result(profile, revision)
    json.dumps(result, allow_nan=False)
    return result


def says_the_same(again: Reading, reading: Reading) -> bool:
    if again.value == reading.value or again.response.data == reading.response.data:
        return True
    return again.value == reading.response.data  # a list in a text is given back as its items


def is_worded(reading: Reading, revision: str) -> bool:
    """Media that an older revision has as text only."""
    attachments = (reading.response.metadata or {}).get("attachments", ())
    kinds = {each.get("type") for each in attachments if isinstance(each, dict)}
    row = REVISIONS[revision]
    return ("audio" in kinds and not row.audio) or ("resource_link" in kinds and not row.links)


def check(reading: Reading, profile: str, revision: str, arguments: Any = None) -> None:
    result = back(reading, profile, revision)
    assert result["content"]
    if has_form_of_details(reading.value):
        return  # data of an envelope that looks like data with details
    again = read(result, reading.response.tool_name, arguments)
    if not reading.is_failure and not SAYS_FAILED.isdisjoint(again.rules):
        return  # the data itself looks like a failure, where it is all that is sent
    assert again.is_failure == reading.is_failure, result
    assert result.get("isError", False) == reading.is_failure
    if reading.response.error is not None:
        assert again.response.error == reading.response.error, result
        return
    assert (again.is_partial, again.is_truncated) == (reading.is_partial, reading.is_truncated)
    assert list(again.warnings) == list(reading.warnings)
    if reading.page is not None:
        assert again.page == reading.page, result
    if profile == "generic" and not is_worded(reading, revision):
        assert again.response == reading.response, result


@pytest.mark.parametrize("server", CORPUS)
@pytest.mark.parametrize("profile", wire.PROFILES)
def test_a_reply_of_the_corpus_is_given_back_as_it_was(server: str, profile: str) -> None:
    for written in CORPUS[server]:
        tool = written.tool or "tool"
        reading = read(written.reply, tool, written.arguments)
        for revision in wire.REVISIONS:
            check(reading, profile, revision, written.arguments)
            result = reading.to_result(profile, revision)
            again = read(result, tool, written.arguments)
            if not reading.is_failure and revision not in (V1, V2):
                assert says_the_same(again, reading), result


profiles, revisions = st.sampled_from(wire.PROFILES), st.sampled_from(wire.REVISIONS)


def is_told_apart(answer: Answer[Any]) -> bool:
    """False for data alone in the form of data with details: as such it is read."""
    return bool(beside_of(answer)) or not has_form_of_details(answer.data)


answers = generators.answers(generators.json_values).filter(is_told_apart)
outcomes = answers | generators.problems


@settings(max_examples=examples(1_000), derandomize=True)
@given(outcomes, profiles, revisions, profiles, revisions)
def test_an_answer_is_given_back_as_it_was_said(
    outcome: Any, first: str, before: str, second: str, after: str
) -> None:
    reading = read(render(outcome, tool="get", profile=first, revision=before), "get")
    check(reading, second, after)
    check(read(outcome, "get"), second, after)


@settings(max_examples=examples(300), derandomize=True)
@given(answers, profiles, profiles)
def test_data_is_given_back_as_it_was_said(outcome: Any, first: str, second: str) -> None:
    reading = read(render(outcome, tool="get", profile=first), "get")
    again = read(reading.to_result(second), "get")
    if has_form_of_details(reading.value):
        return  # data of an envelope that looks like data with details
    if not isinstance(reading.value, str) and not reading.is_failure:
        assert says_the_same(again, reading)


# Media

BYTES = base64.b64encode(b"abc").decode()
BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "data": BYTES, "mimeType": "image/png", "_meta": {"k": 1}},
    {"type": "text", "text": "Two things"},
    {"type": "audio", "data": BYTES, "mimeType": "audio/wav", "annotations": {"priority": 0.5}},
    {"type": "resource_link", "uri": "x://a", "name": "a", "title": "A", "size": 3},
    {"type": "resource", "resource": {"uri": "x://b", "mimeType": "a/b", "blob": BYTES}},
    {"type": "resource", "resource": {"uri": "x://c", "text": "hello"}},
]


@pytest.mark.parametrize("profile", wire.PROFILES)
def test_media_are_kept_in_order_and_once(profile: str) -> None:
    result = read({"content": BLOCKS}, "get").to_result(profile)
    media = [each for each in result["content"] if each["type"] != "text"]
    assert media == [each for each in BLOCKS if each["type"] != "text"]


def test_media_of_a_failure_are_kept() -> None:
    result = read({"content": BLOCKS, "isError": True}, "get").to_result()
    assert result["isError"] is True
    assert [each["type"] for each in result["content"]].count("image") == 1


def test_media_alone_have_no_text_beside_them() -> None:
    result = read({"content": BLOCKS[:1]}, "get").to_result()
    assert result["content"] == BLOCKS[:1]


def test_an_older_revision_gets_what_it_has() -> None:
    content = read({"content": BLOCKS}, "get").to_result(revision=V1)["content"]
    kinds = [each["type"] for each in content]
    assert kinds == ["text", "image", "text", "text", "resource", "resource"]
    assert "_meta" not in content[1]
    assert [content[2]["text"], content[3]["text"]] == ["[audio/wav, 3 bytes]", "x://a"]


def test_an_answer_has_the_media_as_blocks() -> None:
    answer = read({"content": BLOCKS}, "get").to_answer()
    assert isinstance(answer, Answer)
    assert [type(each) for each in answer.blocks] == [Image, Audio, Link, Embedded, Embedded]
    assert answer.blocks[0] == Image(b"abc", "image/png")
    assert answer.data == "Two things"


def test_media_that_are_not_valid_are_kept_in_results_only() -> None:
    broken = {"type": "image", "data": "!", "mimeType": "image/png"}
    reading = read({"content": [broken]}, "get")
    answer = reading.to_answer()
    assert isinstance(answer, Answer)
    assert list(answer.blocks) == []
    assert reading.to_result()["content"] == [broken]


# The rest


def test_meta_and_unknown_members_are_kept() -> None:
    reply = {"content": [{"type": "text", "text": "[1]"}], "_meta": {"x/y": 1}, "took": 3}
    result = read(reply, "list").to_result("envelope")
    assert (result["_meta"], result["took"]) == ({"x/y": 1}, 3)
    wrapped = {
        "content": [{"type": "text", "text": "{}"}],
        "structuredContent": {"result": {}},
        "_meta": {"fastmcp": {"wrap_result": True}},
    }
    assert read(read(wrapped, "get").to_result("plain"), "get").value == {}


def test_a_list_in_a_text_becomes_its_items() -> None:
    reading = read("Found 2 tables:\n- users\n- posts", "list_tables")
    answer = reading.to_answer()
    assert isinstance(answer, Answer)
    assert (answer.data, answer.message) == (["users", "posts"], "Found 2 tables:")
    assert reading.to_result(revision=V5)["structuredContent"] == ["users", "posts"]


def test_a_failure_keeps_code_details_and_what_to_do() -> None:
    problem = Problem.rate_limit("Too many calls", remediation="wait", retry_after=3)
    again = read(render(problem, profile="generic")).to_answer()
    assert isinstance(again, Problem)
    assert (again.code, again.retry_after, again.retryable) == ("RATE_LIMITED", 3, True)
    assert (again.message, again.remediation) == ("Too many calls", "wait")
    foreign = read({"success": False, "error": {"code": "E7", "message": "no", "line": 3}}, "get")
    found = read(foreign.to_result("prose"), "get").response.error
    assert found == foreign.response.error


def test_fields_of_a_failure_are_kept() -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid", "data": {
        "validation_errors": [{"field": "a", "error": "missing", "severity": "error"}]}}}  # fmt: skip
    problem = read(reply, "get").to_answer()
    assert isinstance(problem, Problem)
    assert [(each.field, each.error) for each in problem.fields] == [("a", "missing")]
    assert problem.code == "-32602"


def test_a_result_has_the_name_of_the_tool_that_is_given() -> None:
    reading = read([1], "list_rows")
    assert reading.to_result("generic")["structuredContent"]["toolName"] == "list_rows"
    assert reading.to_result("generic", tool="rows")["structuredContent"]["toolName"] == "rows"
    failure = read(Problem("No"), "get").to_result("prose", tool="fetch")
    assert failure["content"][0]["text"] == "Error executing fetch: No"


@pytest.mark.parametrize("profile", wire.PROFILES)
def test_a_large_reading_is_cut_to_the_limit(profile: str) -> None:
    reading = read({"items": [{"id": n, "name": "x" * 50} for n in range(1_000)]}, "list_items")
    result = reading.to_result(profile, max_bytes=5_000)
    assert sum(len(each["text"]) for each in result["content"]) < 6_000
    again = read(result, "list_items")
    assert again.is_truncated or again.warnings
    assert 10 < len(again.response.data) < 1_000


def test_bytes_of_media_do_not_count_and_embedded_text_does() -> None:
    image = {"type": "image", "data": "QUJD" * 10_000, "mimeType": "image/png"}
    embedded = {"type": "resource", "resource": {"uri": "x://a", "text": "y" * 3_000}}
    text = {"type": "text", "text": json.dumps(list(range(2_000)))}
    result = read({"content": [text, image, embedded]}, "list").to_result(max_bytes=6_000)
    texts = [each["text"] for each in result["content"] if each["type"] == "text"]
    assert result["content"][-2:] == [image, embedded]
    assert sum(map(len, texts)) < 4_000


@pytest.mark.parametrize(
    "options", [{"profile": "odd"}, {"revision": "2020-01-01"}, {"max_bytes": 3}, {"as_type": dict}]
)
def test_an_option_that_is_not_known_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        read([1], "list").to_result(**options)


def test_lone_surrogates_and_depth_do_not_break_a_result() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    answer = Answer({"a": "\ud800"}, page=Page(cursor="\ud801"), warnings=[Notice("\ud802")])
    for value in (deep, {"\ud800": "\ud801"}, "\ud800", answer, ValueError("\ud800")):
        for profile in wire.PROFILES:
            msgspec.json.encode(read(value, "get").to_result(profile))


def test_a_class_of_the_sdk_is_made_by_its_validation() -> None:
    from mcp_types import CallToolResult

    reading = read({"content": BLOCKS, "isError": False}, "get")
    result = reading.to_result(as_type=CallToolResult)
    assert type(result) is CallToolResult
    kinds = [each["type"] for each in BLOCKS if each["type"] != "text"]
    assert [each.type for each in result.content][1:] == kinds
    assert read(result, "get").response == reading.response


@pytest.mark.parametrize("data", [None, 5, [1], {"a": 1}])
@pytest.mark.parametrize("before", wire.REVISIONS)
def test_details_at_the_root_of_bare_are_not_given_back_as_members(data: Any, before: str) -> None:
    outcome = Answer(data, page=Page(offset=5), warnings=["slow"])
    reading = read(render(outcome, tool="get", profile="bare", revision=before), "get")
    assert {"page", "warnings", "_accord"}.isdisjoint(reading.to_result("generic"))
