"""`generic`: the generic response as the text and as the structure, for all outcomes alike."""

import json
from typing import Any

import pytest

from accord import Answer, FieldError, Notice, Page, Problem, Server
from accord.model.answer import KINDS
from peer import Peer, asking
from profiles.one_tool import (
    ABSENT,
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


def action(data: Any = ABSENT, **members: Any) -> Any:
    """Return the response of a tool that may have changed something."""
    given = {} if data is ABSENT else {"data": data}
    return {"toolName": "get", "responseType": "action", "status": "success", **given, **members}


def single(data: Any = ABSENT, **members: Any) -> Any:
    given = {} if data is ABSENT else {"data": data}
    return {"toolName": "get", "responseType": "single", **given, **members}


def items(data: Any, **members: Any) -> Any:
    return {"toolName": "get", "responseType": "list", "data": data, **members}


# Success

ROWS = [{"id": 1}]
TEXT = {"metadata": {"wrapper": "text"}}
RESULT = {"metadata": {"wrapper": "result"}}
DATA: dict[str, tuple[Any, Any, Any, Any]] = {
    # what the tool returns, its hint; the response if it may change something, and if it only reads
    "an object": ({"a": 1}, Any, action({"a": 1}), single({"a": 1})),
    "an empty object": ({}, Any, action({}), single({})),
    "a list": (ROWS, Any, items(ROWS), items(ROWS)),
    "an empty list": ([], list[int], items([]), items([])),
    "a list that has a name": (Answer(ROWS, name="orders"), Any, items(ROWS), items(ROWS)),
    "a number": (5, int, action({"result": 5}, **RESULT), single({"result": 5}, **RESULT)),
    "false": (
        False,
        Any,
        action({"result": False}, **RESULT),
        single({"result": False}, **RESULT),
    ),
    "a string": ("hi", Any, action({"text": "hi"}, **TEXT), single({"text": "hi"}, **TEXT)),
    "text": ("[5]", str, action({"text": "[5]"}, **TEXT), single({"text": "[5]"}, **TEXT)),
    "null": (None, Any, action(), single()),
    "words alone": (
        Answer(message="Deleted."),
        Any,
        action(message="Deleted."),
        single(message="Deleted."),
    ),
    "words and data": (
        Answer({"a": 1}, message="Here.", text="for prose alone"),
        Any,
        action({"a": 1}, message="Here."),
        single({"a": 1}, message="Here."),
    ),
    "an object of the tool's own text": (
        {"text": "hi"},
        Any,
        action({"text": "hi"}),
        single({"text": "hi"}),
    ),
}


@each_revision
@pytest.mark.parametrize(("outcome", "hint", "reported", "read"), DATA.values(), ids=list(DATA))
def test_a_success(outcome: Any, hint: Any, reported: Any, read: Any, revision: str) -> None:
    for read_only, shape in ((None, reported), (False, reported), (True, read)):
        server = saying(outcome, hint, read_only=read_only)
        said = reply(server, "generic", revision)["result"]
        assert_is(said, shape, revision)
        assert len(said["content"]) == 1


@each_revision
def test_the_list_of_the_tool_that_lists_tools_is_a_catalog(revision: str) -> None:
    server = Server("shop", version="1.0")
    server.tool(name="mcp_list_tools")(lambda: [{"name": "add"}])
    said = Peer(server, revision, asking("generic")).call("mcp_list_tools")["result"]
    shape = {
        "toolName": "mcp_list_tools",
        "responseType": "tool_catalog",
        "data": [{"name": "add"}],
    }
    assert_is(said, shape, revision)


BESIDE: dict[str, tuple[Any, Any, Any]] = {
    # an answer, the response, what stands in _meta
    "a page by offset": (
        Answer(ROWS, page=Page(offset=0, limit=1, total=7, has_more=True, next_offset=1)),
        items(
            ROWS,
            pagination={"offset": 0, "limit": 1, "hasMore": True, "nextOffset": 1},
            summary={"total": 7, "returned": 1, "hasMore": True},
        ),
        {"page": {"offset": 0, "limit": 1, "total": 7, "hasMore": True, "nextOffset": 1}},
    ),
    "a page by cursor, which is where to go on": (
        Answer(ROWS, page=Page(has_more=True, cursor="c")),
        items(
            ROWS,
            pagination={"hasMore": True, "nextOffset": "c"},
            summary={"returned": 1, "hasMore": True},
        ),
        {"page": {"hasMore": True, "cursor": "c"}},
    ),
    "a page by both": (
        Answer(ROWS, page=Page(next_offset=1, cursor="c")),
        items(ROWS, pagination={"nextOffset": 1, "cursor": "c"}, summary={"returned": 1}),
        {"page": {"nextOffset": 1, "cursor": "c"}},
    ),
    "a page by ids": (
        Answer(ROWS, page=Page(before="b", after="a")),
        items(ROWS, pagination={"before": "b", "after": "a"}, summary={"returned": 1}),
        {"page": {"before": "b", "after": "a"}},
    ),
    "the page of what is no list": (
        Answer({"a": 1}, page=Page(total=7)),
        action({"a": 1}, pagination={}, summary={"total": 7}),
        {"page": {"total": 7}},
    ),
    "partial success with warnings": (
        Answer({"done": 3}, partial=True, warnings=["old", Notice("slow", "SLOW", "info")]),
        action(
            {"done": 3},
            status="partial",
            metadata={
                "warnings": [
                    {"message": "old"},
                    {"message": "slow", "code": "SLOW", "severity": "info"},
                ]
            },
        ),
        {
            "partial": True,
            "warnings": [
                {"message": "old"},
                {"message": "slow", "code": "SLOW", "severity": "info"},
            ],
        },
    ),
    "a partial list": (
        Answer(ROWS, partial=True),
        items(ROWS, status="partial"),
        {"partial": True},
    ),
    "truncated": (
        Answer(ROWS, truncated=True),
        items(ROWS, metadata={"truncated": True}),
        {"truncated": True},
    ),
    "a warning beside a wrapped value": (
        Answer(5, warnings=["old"]),
        action({"result": 5}, metadata={"wrapper": "result", "warnings": [{"message": "old"}]}),
        {"warnings": [{"message": "old"}]},
    ),
}


@each_revision
@pytest.mark.parametrize(("answer", "shape", "beside"), BESIDE.values(), ids=list(BESIDE))
def test_what_is_beside_the_data_has_its_place(
    answer: Any, shape: Any, beside: Any, revision: str
) -> None:
    said = reply(saying(answer), "generic", revision)["result"]
    assert_is(said, shape, revision, beside)
    assert len(said["content"]) == 1


@each_revision
@pytest.mark.parametrize(
    ("data", "shape"), [(ROWS, items(ROWS)), (None, action())], ids=["with data", "without data"]
)
def test_blocks_stand_behind_the_response(data: Any, shape: Any, revision: str) -> None:
    said = reply(saying(Answer(data, blocks=BLOCKS)), "generic", revision)["result"]
    assert_is(said, shape, revision)
    assert said["content"][1:] == shown_blocks(revision)


# Failure


def failure(code: str, why: str, message: str | None = None, **details: Any) -> Any:
    return {
        "toolName": "get",
        "responseType": "error",
        "status": "error",
        "message": message or why,
        "error": {"code": code, "message": why, "details": details},
    }


FIELD = FieldError("race", "is required")
FIELDS = [{"field": "race", "error": "is required", "severity": "error"}]
FAILURES: dict[str, tuple[Any, Any]] = {
    **{
        f"of kind {kind}": (
            Problem("No.", kind=kind),
            failure(rule.code, "No.", None, **({"retryable": True} if rule.retryable else {})),
        )
        for kind, rule in KINDS.items()
    },
    "field errors": (
        Problem.validation("Invalid sheet", fields=[FIELD]),
        failure("VALIDATION_ERROR", "Invalid sheet", validationErrors=FIELDS),
    ),
    "everything it can say": (
        problem(code="GONE"),
        failure(
            "GONE",
            "No customer 7",
            "Lookup failed",
            remediation="call customers first",
            retryable=True,
            retryAfter=2.5,
        ),
    ),
    "a bug, which is masked": (
        RuntimeError("secret"),
        failure("INTERNAL_ERROR", "Internal error"),
    ),
}


@each_revision
@pytest.mark.parametrize(("outcome", "shape"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure(outcome: Any, shape: Any, revision: str) -> None:
    said = reply(saying(outcome), "generic", revision)["result"]
    assert_is(said, shape, revision, isError=True)
    assert len(said["content"]) == 1


@pytest.mark.parametrize("revision", [V4, V5])
def test_arguments_that_do_not_fit_are_validation_errors(revision: str) -> None:
    said = reply(saying(5), "generic", revision, limit="x")["result"]
    error = json.loads(said["content"][0]["text"])["error"]
    fault = "must be an integer, not a string"
    assert said["isError"] is True
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"] == {
        "validationErrors": [{"field": "limit", "error": fault, "severity": "error"}]
    }
