"""The whole Problem of a failure, which an Accord server sends beside its text."""

from typing import Any

import pytest

from accord import FieldError, Problem, render
from accord.reader import Reading, read

META = "dev.accord-mcp/answer"
PROBLEM = Problem.rate_limit(
    "Zu schnell: {'a': 1}",
    code="SLOW_DOWN",
    summary="Search failed",
    fields=[FieldError("q", "is too broad")],
    remediation="wait a moment",
    retry_after=2.5,
)
DETAILS = {
    "type": "rate_limit",
    "code": "SLOW_DOWN",
    "summary": "Search failed",
    "fields": [{"field": "q", "error": "is too broad", "severity": "error"}],
    "remediation": "wait a moment",
    "retryable": True,
    "retry_after": 2.5,
}


def error_of(reading: Reading) -> tuple[Any, str, Any]:
    assert reading.is_failure
    assert reading.response.status == "error"
    error = reading.response.error
    assert error is not None
    return error.code, error.message, error.details


@pytest.mark.parametrize("profile", ["plain", "prose", "bare"])
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_failure_is_restored_from_meta(profile: str, is_wrapped: bool) -> None:
    result = render(PROBLEM, tool="search", profile=profile)
    reading = read({"jsonrpc": "2.0", "id": 1, "result": result} if is_wrapped else result)
    assert error_of(reading) == ("SLOW_DOWN", PROBLEM.message, DETAILS)
    assert (reading.confidence, reading.origin) == ("certain", "_meta: problem")
    assert reading.rules[-1] == "problem"
    assert reading.value is None


@pytest.mark.parametrize("profile", ["plain", "prose"])
def test_the_text_alone_has_the_outcome_the_message_and_the_remediation(profile: str) -> None:
    result = render(Problem.not_found("No sword", remediation="try rope"), profile=profile)
    code, message, _ = error_of(read({"content": result["content"], "isError": True}))
    assert (code, message) == ("error", "No sword. Try rope.")


def test_a_json_rpc_error_keeps_its_code_and_gains_the_details() -> None:
    members = {"kind": "conflict", "code": "TAKEN", "message": "No.", "remediation": "wait"}
    data = {"validation_errors": [], "more": 1, META: members}
    reply = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "No.", "data": data}}
    reading = read(reply, "get")
    assert error_of(reading) == (
        -32603,
        "No.",
        {
            "validation_errors": [],
            "more": 1,
            "type": "conflict",
            "code": "TAKEN",
            "remediation": "wait",
        },
    )


def result_with(problem: Any, **members: Any) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": "Error executing tool: No."}],
        "isError": True,
        "_meta": {META: {"problem": problem}},
        **members,
    }


MALFORMED: dict[str, Any] = {
    "null": None,
    "text": "No.",
    "a list": [{"message": "No."}],
    "empty": {},
    "no message": {"kind": "conflict"},
    "a message that is not text": {"message": 5},
    "a blank message": {"message": " \n"},
}


@pytest.mark.parametrize("problem", MALFORMED.values(), ids=list(MALFORMED))
def test_a_malformed_problem_is_ignored(problem: Any) -> None:
    assert error_of(read(result_with(problem), "get")) == ("error", "No.", {})
    data = {META: problem}
    error = {"code": -32603, "message": "No.", "data": data}
    assert error_of(read({"jsonrpc": "2.0", "id": 1, "error": error})) == (-32603, "No.", data)


@pytest.mark.parametrize("meta", [None, 5, [], {META: None}, {META: []}, {"problem": {}}])
def test_another_meta_is_ignored(meta: Any) -> None:
    assert error_of(read(result_with(None, _meta=meta), "get")) == ("error", "No.", {})


ODD: dict[str, tuple[dict[str, Any], Any]] = {
    "a code that is not text": ({"code": [1]}, "error"),
    "a code that is a number": ({"code": 7}, 7),
    "no code": ({}, "error"),
    "unknown members": ({"code": "A", "später": {"🙂": [None]}}, "A"),
    "a kind of its own": ({"code": "A", "kind": 5}, "A"),
}


@pytest.mark.parametrize(("members", "code"), ODD.values(), ids=list(ODD))
def test_odd_members_are_kept_as_details(members: dict[str, Any], code: Any) -> None:
    reading = read(result_with({"message": "Nein", **members}), "get")
    details = {"type" if name == "kind" else name: each for name, each in members.items()}
    assert error_of(reading) == (code, "Nein", details)


def test_a_flag_that_contradicts_the_problem_is_a_finding() -> None:
    reading = read(result_with({"message": "Nein"}, isError=False), "get")
    assert reading.is_failure
    assert reading.findings == ["isError contradicts the payload; the payload is used"]


def test_attachments_and_other_members_are_kept() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    content = [{"type": "text", "text": "No."}, image]
    reading = read(result_with({"message": "Nein"}, content=content, trace="7"), "get")
    metadata = reading.response.metadata
    assert metadata is not None
    assert metadata["trace"] == "7"
    assert metadata["attachments"] == [{"type": "image", "mimeType": "image/png", "bytes": 2}]
