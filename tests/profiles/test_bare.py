"""`bare`: the payload's fields at the root of the result; field errors as JSON-RPC's own."""

import json
from typing import Any

import pytest

from accord import Answer, FieldError, Notice, Page, Problem, render
from accord.model.answer import KINDS
from profiles.one_tool import (
    ABSENT,
    BLOCKS,
    META,
    V1,
    V2,
    V3,
    V4,
    V5,
    each_revision,
    listed,
    problem,
    reply,
    required,
    saying,
    sent,
    shown_blocks,
    structure,
    text,
)

# Success

ROWS = [{"id": 1}]
CLASH = {
    "content": 1,
    "isError": False,
    "structuredContent": 2,
    "_meta": {},
    "resultType": "mine",
    "inputRequests": {},
    "requestState": "s",
    "name": "Ada",
}
SUCCESSES: dict[str, tuple[Any, Any, str, Any, Any, Any]] = {
    # what the tool returns, its hint, the text, the root, the structure as an object and as it is
    "an object": ({"a": 1}, Any, '{"a":1}', {"a": 1}, {"a": 1}, {"a": 1}),
    "an empty object": ({}, Any, "{}", {}, {}, {}),
    "a list": (ROWS, Any, '[{"id":1}]', {"result": ROWS}, {"result": ROWS}, ROWS),
    "an empty list": ([], list[int], "[]", {"result": []}, {"result": []}, []),
    "a list that has a name": (
        Answer(ROWS, name="orders"),
        Any,
        '[{"id":1}]',
        {"result": ROWS},
        {"result": ROWS},
        ROWS,
    ),
    "a number": (5, int, "5", {"result": 5}, {"result": 5}, 5),
    "a string": ("hi", Any, '"hi"', {"result": "hi"}, {"result": "hi"}, "hi"),
    "text": ("two\nlines", str, "two\nlines", {"result": "two\nlines"}, ABSENT, ABSENT),
    "null": (None, Any, "null", {}, ABSENT, ABSENT),
    "null where a number was promised": (None, int | None, "null", {}, {"result": None}, None),
    "words, which it has no place for": (
        Answer({"a": 1}, message="Here.", text="for prose alone"),
        Any,
        '{"a":1}',
        {"a": 1},
        {"a": 1},
        {"a": 1},
    ),
    "a member of MCP's own, in the JSON alone": (
        CLASH,
        Any,
        '{"content":1,"isError":false,"structuredContent":2,"_meta":{},'
        '"resultType":"mine","inputRequests":{},"requestState":"s","name":"Ada"}',
        {"name": "Ada"},
        CLASH,
        CLASH,
    ),
}


@each_revision
@pytest.mark.parametrize(
    ("outcome", "hint", "words", "root", "as_object", "as_any"),
    SUCCESSES.values(),
    ids=list(SUCCESSES),
)
def test_a_success(
    outcome: Any, hint: Any, words: str, root: Any, as_object: Any, as_any: Any, revision: str
) -> None:
    assert reply(saying(outcome, hint), "bare", revision)["result"] == {
        "content": [text(words)],
        **root,
        **structure(revision, as_object, as_any),
        **required(revision),
    }


DETAILS: dict[str, tuple[Any, str, Any]] = {
    # an answer, its text, the details in `_meta`
    "an object and its page": (
        Answer({"a": 1}, page=Page(limit=2, total=7)),
        '{"a":1,"_accord":{"page":{"limit":2,"total":7}}}',
        {"page": {"limit": 2, "total": 7}},
    ),
    "partial success with warnings": (
        Answer({"a": 1}, partial=True, warnings=["old", Notice("slow", "SLOW", "info")]),
        '{"a":1,"_accord":{"warnings":[{"message":"old"},'
        '{"message":"slow","code":"SLOW","severity":"info"}],"partial":true}}',
        {
            "warnings": [
                {"message": "old"},
                {"message": "slow", "code": "SLOW", "severity": "info"},
            ],
            "partial": True,
        },
    ),
    "an empty object": (
        Answer({}, truncated=True),
        '{"_accord":{"truncated":true}}',
        {"truncated": True},
    ),
    "a list": (
        Answer(ROWS, page=Page(total=7)),
        '{"result":[{"id":1}],"page":{"total":7}}',
        {"page": {"total": 7}},
    ),
    "nothing": (
        Answer(None, warnings=["slow"]),
        '{"result":null,"warnings":[{"message":"slow"}]}',
        {"warnings": [{"message": "slow"}]},
    ),
}


@each_revision
@pytest.mark.parametrize(("answer", "words", "details"), DETAILS.values(), ids=list(DETAILS))
def test_details_are_in_the_text_the_structure_the_root_and_meta(
    answer: Any, words: str, details: Any, revision: str
) -> None:
    form = json.loads(words)
    assert reply(saying(answer), "bare", revision)["result"] == {
        "content": [text(words)],
        **form,
        **structure(revision, form, form),
        **required(revision, details),
    }


def test_details_are_at_the_root_where_members_of_mcp_are_not() -> None:
    said = reply(saying(Answer(CLASH, truncated=True)), "bare", V4)["result"]
    assert (said["name"], said["_accord"]) == ("Ada", {"truncated": True})
    assert said["structuredContent"] == {**CLASH, "_accord": {"truncated": True}}
    assert said["_meta"] == {META: {"truncated": True}}


@each_revision
@pytest.mark.parametrize(
    ("data", "words", "members"),
    [({"a": 1}, [text('{"a":1}')], {"a": 1}), (None, [], {})],
    ids=["with data", "without data"],
)
def test_blocks_stand_beside_the_fields(
    data: Any, words: list[Any], members: Any, revision: str
) -> None:
    answer = Answer(data, blocks=BLOCKS)
    form = data if data else ABSENT
    assert reply(saying(answer), "bare", revision)["result"] == {
        "content": [*words, *shown_blocks(revision)],
        **members,
        **structure(revision, form, form),
        **required(revision),
    }


# Failure

FIELDS = [FieldError("race", "is required"), FieldError("level", "is high", severity="warning")]
SHOWN = [
    {"field": "race", "error": "is required", "severity": "error"},
    {"field": "level", "error": "is high", "severity": "warning"},
]


@each_revision
@pytest.mark.parametrize("kind", KINDS)
def test_field_errors_are_invalid_params_whatever_the_kind(kind: Any, revision: str) -> None:
    outcome = Problem("Invalid character data", kind=kind, fields=FIELDS)
    assert reply(saying(outcome), "bare", revision)["error"] == {
        "code": -32602,
        "message": "Invalid character data",
        "data": {"validation_errors": SHOWN, META: sent(outcome)},
    }


OTHERS: dict[str, tuple[Any, str]] = {
    **{f"of kind {kind}": (Problem("No.", kind=kind), "No.") for kind in KINDS},
    "with everything it can say": (problem(), "No customer 7. Call customers first."),
    "a bug, which is masked": (RuntimeError("secret"), "Internal error"),
}


@pytest.mark.parametrize("revision", [V1, V2, V3])
@pytest.mark.parametrize(("outcome", "message"), OTHERS.values(), ids=list(OTHERS))
def test_other_failures_are_internal_errors_up_to_2025_06_18(
    outcome: Any, message: str, revision: str
) -> None:
    error = reply(saying(outcome), "bare", revision)["error"]
    if isinstance(outcome, Problem):
        assert error == {
            "code": -32603,
            "message": outcome.message,
            "data": {META: sent(outcome)},
        }
    else:
        assert error == {"code": -32603, "message": message}


@pytest.mark.parametrize("revision", [V4, V5])
@pytest.mark.parametrize(("outcome", "message"), OTHERS.values(), ids=list(OTHERS))
def test_other_failures_are_failed_calls_after(outcome: Any, message: str, revision: str) -> None:
    assert reply(saying(outcome), "bare", revision)["result"] == {
        "content": [text(f"Error executing tool: {message}")],
        "isError": True,
        **required(revision, {"problem": sent(outcome)}),
    }


@each_revision
def test_arguments_that_do_not_fit_are_invalid_params(revision: str) -> None:
    invalid = FieldError("limit", "must be an integer, not a string")
    message = "Invalid arguments for get: limit must be an integer, not a string"
    expected = sent(Problem.validation(message, fields=[invalid]))
    assert reply(saying(5), "bare", revision, limit="x")["error"] == {
        "code": -32602,
        "message": message,
        "data": {"validation_errors": expected["fields"], META: expected},
    }


def test_what_is_rendered_for_other_frameworks_has_a_size_limit_too() -> None:
    outcome = Problem("x" * 600_000, fields=FIELDS)
    assert len(render(outcome, profile="bare")["content"][0]["text"]) <= 256 * 1024


# Without structure


@each_revision
def test_without_structure_the_fields_stay_at_the_root(revision: str) -> None:
    server = saying({"a": 1}, dict[str, int], structured=False)
    assert reply(server, "bare", revision)["result"] == {
        "content": [text('{"a":1}')],
        "a": 1,
        **required(revision),
    }
    assert "outputSchema" not in listed(server, "bare", revision)
