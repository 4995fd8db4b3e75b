"""`envelope`: response-v2 as the text and as the structure, for successes and failures alike."""

import json
from typing import Any

import pytest

from accord import Answer, FieldError, Notice, Page, Problem, Server
from accord.model.answer import KINDS
from peer import Peer
from profiles.one_tool import (
    BLOCKS,
    V4,
    V5,
    assert_is,
    each_revision,
    problem,
    reply,
    saying,
    shown_blocks,
)

VERSION = {"version": "response-v2"}


def success(data: Any, **meta: Any) -> Any:
    return {"success": True, "data": data, "error": None, "meta": {**VERSION, **meta}}


def failure(message: str, **error: Any) -> Any:
    return {"success": False, "data": {}, "error": message, "meta": {**VERSION, "error": error}}


# Success

ROWS = [{"id": 1}]
PAGE = Page(limit=2, total=7)
SUCCESSES: dict[str, tuple[Any, Any, Any, Any]] = {
    # what the tool returns, its hint, the envelope, what stands in _meta
    "an object": ({"a": 1}, Any, success({"a": 1}), None),
    "an empty object": ({}, Any, success({}), None),
    "a list": (ROWS, Any, success({"items": ROWS}, wrapper="items"), None),
    "an empty list": ([], Any, success({"items": []}, wrapper="items"), None),
    "a list that has a name": (
        Answer(ROWS, name="orders"),
        Any,
        success({"orders": ROWS}, wrapper="orders"),
        None,
    ),
    "an object that has a name": (Answer({"a": 1}, name="orders"), Any, success({"a": 1}), None),
    "a scalar that has a name": (
        Answer(5, name="orders"),
        int,
        success({"result": 5}, wrapper="result"),
        None,
    ),
    "a number": (5, Any, success({"result": 5}, wrapper="result"), None),
    "false": (False, bool, success({"result": False}, wrapper="result"), None),
    "a string": ("5", Any, success({"result": "5"}, wrapper="result"), None),
    "text": ('{"a":1}', str, success({"result": '{"a":1}'}, wrapper="result"), None),
    "null": (None, Any, success({}, wrapper=None), None),
    "null where a number was promised": (None, int | None, success({}, wrapper=None), None),
    "an object of the tool's own result": ({"result": 5}, Any, success({"result": 5}), None),
    "several payloads": (
        {"spec": {}, "tasks": []},
        Any,
        success({"spec": {}, "tasks": []}),
        None,
    ),
    "the reserved keys of a payload": (
        {"_meta": {"took": 1}, "_warnings": ["slow"]},
        Any,
        success({"_meta": {"took": 1}, "_warnings": ["slow"]}),
        None,
    ),
    "words alone": (
        Answer(message="Deleted."),
        Any,
        success({}, wrapper=None, message="Deleted."),
        None,
    ),
    "words and data": (
        Answer({"a": 1}, message="Here.", text="for prose alone"),
        Any,
        success({"a": 1}, message="Here."),
        None,
    ),
    "a page": (
        Answer(ROWS, page=PAGE),
        Any,
        success(
            {"items": ROWS},
            wrapper="items",
            pagination={"cursor": None, "has_more": None, "page_size": 2, "total_count": 7},
        ),
        {"page": {"limit": 2, "total": 7}},
    ),
    "a page with all it can say": (
        Answer(
            {},
            page=Page(
                offset=2,
                limit=2,
                total=7,
                has_more=True,
                next_offset=4,
                cursor="c",
                before="b",
                after="a",
            ),
        ),
        Any,
        success(
            {},
            pagination={
                "cursor": "c",
                "has_more": True,
                "page_size": 2,
                "total_count": 7,
                "offset": 2,
                "next_offset": 4,
                "before": "b",
                "after": "a",
            },
        ),
        {
            "page": {
                "offset": 2,
                "limit": 2,
                "total": 7,
                "hasMore": True,
                "nextOffset": 4,
                "cursor": "c",
                "before": "b",
                "after": "a",
            }
        },
    ),
    "partial success with a warning": (
        Answer({"done": 3}, partial=True, warnings=["the last is locked"]),
        Any,
        success({"done": 3}, partial=True, warnings=["the last is locked"]),
        {"partial": True, "warnings": [{"message": "the last is locked"}]},
    ),
    "warnings with details": (
        Answer({}, warnings=["old", Notice("slow", code="SLOW", severity="info")]),
        Any,
        success(
            {},
            warnings=["old", "slow"],
            warning_details=[
                {"severity": "warning", "message": "old"},
                {"code": "SLOW", "severity": "info", "message": "slow"},
            ],
        ),
        {
            "warnings": [
                {"message": "old"},
                {"message": "slow", "code": "SLOW", "severity": "info"},
            ]
        },
    ),
    "truncated": (
        Answer({}, truncated=True),
        Any,
        success({}, truncated=True, content_fidelity="partial"),
        {"truncated": True},
    ),
}


@each_revision
@pytest.mark.parametrize(
    ("outcome", "hint", "shape", "beside"), SUCCESSES.values(), ids=list(SUCCESSES)
)
def test_a_success(outcome: Any, hint: Any, shape: Any, beside: Any, revision: str) -> None:
    said = reply(saying(outcome, hint), "envelope", revision)["result"]
    assert_is(said, shape, revision, beside)
    assert len(said["content"]) == 1


@each_revision
@pytest.mark.parametrize(
    ("data", "shape"),
    [(5, success({"result": 5}, wrapper="result")), (None, success({}, wrapper=None))],
    ids=["with data", "without data"],
)
def test_blocks_stand_behind_the_envelope(data: Any, shape: Any, revision: str) -> None:
    said = reply(saying(Answer(data, blocks=BLOCKS)), "envelope", revision)["result"]
    assert_is(said, shape, revision)
    assert said["content"][1:] == shown_blocks(revision)


@each_revision
def test_an_argument_that_nobody_knows_is_a_warning(revision: str) -> None:
    said = reply(saying({}), "envelope", revision, colour="7")["result"]
    words = "Unknown argument 'colour' was ignored"
    notice = {"message": words, "code": "UNKNOWN_ARGUMENT"}
    shape = success({}, warnings=[words], warning_details=[{**notice, "severity": "warning"}])
    assert_is(said, shape, revision, {"warnings": [notice]})


# Failure

FIELD = FieldError("spells[0].level", "must be at most 9")
FIELDS = [{"field": "spells[0].level", "error": "must be at most 9", "severity": "error"}]
FAILURES: dict[str, tuple[Any, Any]] = {
    **{
        f"of kind {kind}": (
            Problem("No.", kind=kind),
            failure("No.", code=rule.code, type=kind, retryable=rule.retryable),
        )
        for kind, rule in KINDS.items()
    },
    "field errors": (
        Problem.validation("Invalid sheet", fields=[FIELD]),
        failure(
            "Invalid sheet",
            code="VALIDATION_ERROR",
            type="validation",
            retryable=False,
            fields=FIELDS,
        ),
    ),
    "everything it can say": (
        problem(code="GONE"),
        failure(
            "No customer 7",
            code="GONE",
            type="not_found",
            retryable=True,
            summary="Lookup failed",
            remediation="call customers first",
            retry_after=2.5,
        ),
    ),
    "a bug, which is masked": (
        RuntimeError("secret"),
        failure("Internal error", code="INTERNAL_ERROR", type="internal", retryable=False),
    ),
}


@each_revision
@pytest.mark.parametrize(("outcome", "shape"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure(outcome: Any, shape: Any, revision: str) -> None:
    said = reply(saying(outcome), "envelope", revision)["result"]
    assert_is(said, shape, revision, isError=True)
    assert len(said["content"]) == 1


@pytest.mark.parametrize("revision", [V4, V5])
def test_arguments_that_do_not_fit_are_field_errors_in_meta(revision: str) -> None:
    said = reply(saying(5), "envelope", revision, limit="x")["result"]
    fault = "must be an integer, not a string"
    error = json.loads(said["content"][0]["text"])["meta"]["error"]
    assert said["isError"] is True
    assert error["type"] == "validation"
    assert error["fields"] == [{"field": "limit", "error": fault, "severity": "error"}]


ODD: dict[str, tuple[str, Any]] = {
    # what a tool's own code may hand to Problem; whether that refuses it or words it is its choice
    "an endless wait": ("Slow down", {"retry_after": float("inf")}),
    "a wait that is no number": ("Slow down", {"retry_after": float("nan")}),
    "a message of blanks": ("  ", {}),
    "a message of line breaks": ("\n", {}),
}


@pytest.mark.parametrize(("message", "details"), ODD.values(), ids=list(ODD))
def test_an_odd_problem_is_a_valid_envelope_whose_error_is_not_blank(
    message: str, details: Any
) -> None:
    server = Server("shop", version="1.0", profile="envelope")

    @server.tool
    def get() -> None:
        raise Problem.rate_limit(message, **details)

    (block,) = Peer(server, V4).call("get")["result"]["content"]
    assert json.loads(block["text"])["error"].strip()


MANY = [FieldError(f"rows[{row}]", "is required") for row in range(40)]
LONG: dict[str, Any] = {
    "a message": Problem("x" * 600_000),
    "a remediation": Problem("No.", remediation="x" * 600_000),
    "a summary": Problem("No.", summary="x" * 600_000),
    "a field error": Problem("No.", fields=[FieldError("a", "x" * 600_000)]),
    "the path of a field": Problem("No.", fields=[FieldError("x" * 600_000, "is required")]),
}


@pytest.mark.parametrize("outcome", LONG.values(), ids=list(LONG))
def test_a_failure_has_a_size_limit_too(outcome: Any) -> None:
    (block,) = reply(saying(outcome), "envelope", V4)["result"]["content"]
    assert len(block["text"]) <= 256 * 1024


def test_a_long_message_does_not_cost_field_errors_in_silence() -> None:
    outcome = Problem.validation("x" * 70_000, fields=MANY)
    (block,) = reply(saying(outcome), "envelope", V4)["result"]["content"]
    error = json.loads(block["text"])["meta"]["error"]
    assert len(error["fields"]) == 40 or "40" in json.dumps(error["fields"][-1])


# Asked for by another name


def test_the_older_name_of_the_contract_asks_for_it_too() -> None:
    peer = Peer(saying({"a": 1}), V4, {"experimental": {"response_contract_v2": {}}})
    assert_is(peer.call("get")["result"], success({"a": 1}), V4)
