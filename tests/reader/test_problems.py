"""The Problem of a failure as Accord renders it; `cases/written/problems.jsonl` has malformed ones."""

from typing import Any

import pytest

from accord import FieldError, Problem, render
from accord.reader import Reading, read

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
