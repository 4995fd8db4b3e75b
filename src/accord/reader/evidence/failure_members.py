"""Signs that an operation failed, in what a payload says of itself."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from accord.reader.evidence.failure_text import says_failed
from accord.reader.lexicon import memo, words_of
from accord.reader.lexicon.languages import MEMBERS, in_english
from accord.reader.lexicon.outcomes import PARTICIPLES
from accord.reader.sentences import reports_nothing_to_do

_FLAGS: Final = ("success", "ok", "succeeded", "successful", "isSuccess", "is_success")
_NO: Final = ("false", "False")
_DEEDS: Final = frozenset(
    "sent created updated deleted removed added saved inserted executed found".split()
)
_REASONS: Final = ("error", "reason", "message", "detail")
_BAD: Final = frozenset({"error", "failed", "failure", "fail", "errored", "denied", "rejected"})
_WORDS: Final = (
    "message",
    "error",
    "reason",
    "detail",
    "details",
    "error_message",
    "errorMessage",
    "msg",
    "errmsg",
    "errMsg",
    "errorText",
    "error Message",
    "exception",
)
_CODES: Final = (
    "code",
    "errcode",
    "errCode",
    "error_code",
    "errorCode",
    "statusCode",
    "status_code",
    "status",
    "type",
)
_STATUSES: Final = (
    *("status", "statusCode", "status_code", "code"),
    *("http_status", "httpStatus", "http_code", "httpCode", "cod"),
)
_NAMED: Final = frozenset(
    """error_code errorCode error_message errorMessage errorType errcode errCode exception fault
    errorMessages error_messages traceback""".split()
) | {"error Message"}  # as `Error Message` is with a small letter
_ERRORS: Final = ("errors", "userErrors", "user_errors")
_PAYLOADS: Final = ("data", "result", "results", "items", "payload", "response")
_NO_PAYLOAD: Final[tuple[Any, ...]] = (
    *(None, False, 0, "", [], {}),
    *("False", "false", "error", "failed", "fail"),
)
_BAD_ENDS: Final = ("_error", "_failed", "not_found", "_denied")
_BAD_STARTS: Final = ("needs_", "requires_", "missing_", "invalid_")
_OF_DATABASE: Final = frozenset({"code", "details", "hint", "message"})
_NO_ERROR: Final = ("none", "None", "no", "n/a", "N/A", "-", "null")
_JSEND: Final = frozenset({"status", "data", "message", "code"})
_DEEPEST: Final = 8
_FEW: Final = 6
_FEWEST: Final = 3
_MANY: Final = 10
_NAMED_CODE: Final = re.compile(r"(?!OK|SUCCESS|CREATED|ACCEPTED|DONE)[A-Z][A-Z0-9_]{3,60}")
"""`NOT_FOUND`, `E_CONFLICT`."""
_LOWEST_BAD_STATUS: Final = 400
_HIGHEST_STATUS: Final = 599


class Sign(NamedTuple):
    """That it failed, why, and the rule that says so."""

    rule: str
    message: str
    code: str | int | None = None
    details: Any = None


def failure_in(value: Any) -> Sign | None:
    """Why a payload says that the operation failed, if it does."""
    if not isinstance(value, dict):
        return None
    if _SIGNS.isdisjoint(value):
        if _ALIASES.isdisjoint(value):
            return None
        value = {
            MEMBERS.get(name, name[:1].lower() + name[1:]): each for name, each in value.items()
        }
    for names, rule in _RULES:
        if not names.isdisjoint(value):
            sign = rule(value)
            if sign is not None:
                return sign
    return None


def _flag(value: Mapping[str, Any]) -> Sign | None:
    """`success: false`, `ok: false`, `isError: true`, here or in the payload."""
    for name in _FLAGS:
        if name in value and (value[name] is False or value[name] in _NO):
            return _sign("flag-false", value)
    for name in ("data", "result"):
        inner = value.get(name)
        sign = _flag_within(inner) if isinstance(inner, dict) else None
        if sign is not None:
            return sign
    if value.get("isError") is True or value.get("is_error") is True:
        return _sign("flag-is-error", value)
    return _undone(value)


def _flag_within(inner: Mapping[str, Any]) -> Sign | None:
    if _is_of_database(inner):
        return _sign("error-named", inner)
    if any(inner.get(name) is False for name in _FLAGS):
        return _sign("flag-false", inner)
    if isinstance(inner.get("error"), str) and inner["error"] and len(inner) <= _FEWEST:
        return _sign("error-member", inner)
    return _undone(inner)


def _is_of_database(value: Mapping[str, Any]) -> bool:
    """Whether an object is an error as PostgreSQL and those around it tell it."""
    code = value.get("code")
    return isinstance(code, str) and value.keys() == _OF_DATABASE and len(code) > 4


def _undone(value: Mapping[str, Any]) -> Sign | None:
    """`sent: false`, with a reason."""
    if _DEEDS.isdisjoint(value) or not any(value.get(name) is False for name in _DEEDS):
        return None
    reasons = [value[name] for name in _REASONS if isinstance(value.get(name), str)]
    if reasons:
        is_needed = not any(map(reports_nothing_to_do, reasons))
        return _sign("deed-false", value) if is_needed else None
    has_thing = any(isinstance(each, dict | int | float) and each for each in value.values())
    return _sign("not-found", value) if value.get("found") is False and not has_thing else None


def says_success(value: Mapping[str, Any]) -> bool:
    """Whether a flag says that it went well."""
    return any(value.get(name) is True for name in _FLAGS)


def _error_member(value: Mapping[str, Any]) -> Sign | None:
    """`error: {…}` or `error: "…"`, with nothing that was achieved beside it."""
    error = value.get("error")
    if not error or (error is True and not _text_in(value)) or error in _NO_ERROR:
        return None
    if says_success(value) or not isinstance(error, dict | str | bool):
        return None
    has_payload = any(value[name] not in _NO_PAYLOAD for name in _PAYLOADS if name in value)
    if has_payload and value.get("status") != "error":
        return None
    if isinstance(error, str) and len(value) > (_MANY if _has_bad_status(value) else _FEW):
        return None
    return _sign("error-member", value)


def _has_bad_status(value: Mapping[str, Any]) -> bool:
    return any(_is_bad_number(value.get(name)) for name in _STATUSES)


def _is_bad_number(number: Any) -> bool:
    if isinstance(number, str) and len(number) == 3 and number.isdecimal():
        number = int(number)
    return type(number) is int and _LOWEST_BAD_STATUS <= number <= _HIGHEST_STATUS


def _errors_member(value: Mapping[str, Any]) -> Sign | None:
    """`errors: […]`, or `userErrors`, without data, as GraphQL says it."""
    errors = next((value[name] for name in _ERRORS if value.get(name)), None)
    if not isinstance(errors, list | dict) or not errors or says_success(value):
        return None
    others = {name: each for name, each in value.items() if name not in (*_ERRORS, "extensions")}
    if value.get("found") is False:
        others = {name: each for name, each in others.items() if each is not False}
    if not all(map(_is_void, others.values())) and not _only_words(others):
        return None
    return _sign("errors-member", value)


def _is_void(value: Any) -> bool:
    """Whether a member holds nothing, or an object that holds nothing: `{"issue": null}`."""
    if isinstance(value, dict):
        return all(each is None for each in value.values())
    return value is None or value in ([], "")


def _only_words(others: Mapping[str, Any]) -> bool:
    return all(name in (*_WORDS, *_CODES) or each is None for name, each in others.items())


def _status_word(value: Mapping[str, Any]) -> Sign | None:
    """`status: "error"`, with a reason or with nothing else."""
    status = value.get("status", value.get("state", value.get("result")))
    if not isinstance(status, str) or not _is_bad(status):
        return None
    if status.lower() in ("fail", "error") and value.keys() <= _JSEND:
        return _sign("status-error", value)
    if "id" in value or any(value.get(name) for name in _PAYLOADS if name != "result"):
        return None
    if status.lower() != "error" and not _text_in(value) and len(value) > 1:
        return None
    is_told = len(value) <= _FEW or (status == "error" and _tells_why_alone(value))
    return _sign("status-error", value) if is_told else None


def _tells_why_alone(value: Mapping[str, Any]) -> bool:
    """Whether errors, or an exception, are all that members hold beside texts."""
    why = value.get("errors") or value.get("exception")
    others = [each for name, each in value.items() if name not in ("errors", "exception")]
    return bool(why) and "name" not in value and not any(map(_is_data, others))


def _is_data(value: Any) -> bool:
    return bool(value) and not isinstance(value, str)


def _is_bad(status: str) -> bool:
    """`error`, `failed`, and statuses that are made of such words: `task_not_found`."""
    word = status.lower().replace(" ", "_").replace("-", "_")
    return word in _BAD or word.endswith(_BAD_ENDS) or word.startswith(_BAD_STARTS)


def _status_number(value: Mapping[str, Any]) -> Sign | None:
    """An HTTP status of 400 or more, with a reason."""
    for name in _STATUSES:
        if _is_bad_number(value.get(name)):
            words = value.get("title") or value.get("body") or value.get("statusText")
            has_reason = _text_in(value) or isinstance(words, str)
            payloads = [value[payload] for payload in _PAYLOADS if value.get(payload)]
            if has_reason and len(value) <= _FEW and not any(map(_is_given, payloads)):
                return _sign("status-number", value)
    return None


def _is_given(payload: Any) -> bool:
    """Whether a payload is something, rather than the words about a failure."""
    return not isinstance(payload, dict) or not _only_words(payload)


def _status_within(value: Mapping[str, Any]) -> Sign | None:
    """`code` and `message`, with an HTTP status in `data`, as WordPress says it."""
    data = value.get("data")
    if not isinstance(data, dict) or not isinstance(value.get("message"), str) or len(value) > _FEW:
        return None
    return _sign("status-number", value) if _is_bad_number(data.get("status")) else None


def _detail_alone(value: Mapping[str, Any]) -> Sign | None:
    """`{"detail": "Not found."}`, as Django REST framework and FastAPI say it; GitHub's own way."""
    if value.keys() == {"detail"} and isinstance(value["detail"], str | list):
        return _sign("detail-alone", value)
    if isinstance(value.get("message"), str) and "documentation_url" in value:
        return _sign("documented-message", value)
    return None


def _error_type(value: Mapping[str, Any]) -> Sign | None:
    """`type: "error"`, `error_code`, `errorMessage`."""
    named = value.keys() & _NAMED
    is_typed = str(value.get("type", "")).lower() in ("error", "exception") and _text_in(value)
    if (is_typed or (named and any(value[name] for name in named))) and len(value) <= _FEW:
        return None if says_success(value) else _sign("error-named", value)
    return None


def _message(value: Mapping[str, Any]) -> Sign | None:
    """`message: "Failed to …"`, with nothing that was achieved beside it."""
    words = value.get("message", value.get("msg"))
    if not isinstance(words, str) or len(value) > _FEW or says_success(value) or "id" in value:
        return None
    if any(isinstance(each, dict | list) and each for each in value.values()):
        return None
    code = value.get("code")
    if isinstance(code, str) and _NAMED_CODE.fullmatch(code) and _only_words(value):
        return _sign("message-failed", value)
    strength = says_failed(in_english(words))
    if strength == "strong" or (strength == "weak" and _only_words(value)):
        return _sign("message-failed", value)
    return None


def _exchange(value: Mapping[str, Any]) -> Sign | None:
    """A request and the response to it, whose HTTP status is 400 or more."""
    said = value.get("response")
    if not isinstance(said, dict) or not isinstance(value.get("request"), dict | str):
        return None
    if not _has_bad_status(said):
        return None
    body = said.get("body")
    told = body if isinstance(body, dict) and _text_in(body) else said
    words = _text_in(told) or said.get("statusText")
    status = next(said[name] for name in _STATUSES if _is_bad_number(said.get(name)))
    return Sign("exchange-failed", str(words or f"HTTP status {status}"), status, dict(value))


def _outcome(value: Mapping[str, Any]) -> Sign | None:
    """The outcome of an operation as FHIR tells it, one of whose issues is an error."""
    issues = value.get("issue")
    if value.get("resourceType") != "OperationOutcome" or not isinstance(issues, list):
        return None
    for issue in issues:
        if isinstance(issue, dict) and issue.get("severity") in ("error", "fatal"):
            words = issue.get("diagnostics") or issue.get("code") or "The operation failed"
            return Sign("outcome-error", str(words), None, dict(value))
    return None


Judge = Callable[[Mapping[str, Any]], Sign | None]
# Each with the members that it looks for: one of them has to be there.
_RULES: Final[tuple[tuple[frozenset[str], Judge], ...]] = (
    (frozenset({*_FLAGS, *_DEEDS, "data", "result", "isError", "is_error"}), _flag),
    (frozenset({"error"}), _error_member),
    (frozenset(_ERRORS), _errors_member),
    (frozenset({"status", "state", "result"}), _status_word),
    (frozenset(_STATUSES), _status_number),
    (frozenset({"data"}), _status_within),
    (frozenset({"response"}), _exchange),
    (frozenset({"resourceType"}), _outcome),
    (frozenset({"detail", "documentation_url"}), _detail_alone),
    (frozenset({"type", *_NAMED}), _error_type),
    (frozenset({"message", "msg"}), _message),
)


_SIGNS: Final = frozenset[str]().union(*(names for names, _ in _RULES))
_ALIASES: Final = MEMBERS.keys() | {
    *(
        "Error",
        "Errors",
        "Success",
        "ErrorMessage",
        "Error Message",
        "ErrorCode",
        "IsError",
        "Message",
        "IsSuccess",
    )
}
"""The same members in capitals, and in other languages."""


def _sign(rule: str, value: Mapping[str, Any]) -> Sign:
    error = value.get("error")
    code: Any = None
    for place in (error, value):
        if isinstance(place, dict):
            for name in _CODES:
                found = place.get(name)
                if code is None and isinstance(found, str | int) and not isinstance(found, bool):
                    code = None if isinstance(found, str) and found.lower() in _BAD else found
    return Sign(rule, _text_in(value) or "The tool reported a failure", code, dict(value))


def _text_in(value: Mapping[str, Any], depth: int = 0) -> str | None:
    """The sentence that says why."""
    if depth > _DEEPEST:
        return None
    for name in ("error", "reason", "fault", "exception"):
        error = value.get(name)
        inner = _text_in(error, depth + 1) if isinstance(error, dict) else None
        if inner:
            return inner
    for name in ("error", *_WORDS):
        words = value.get(name)
        if isinstance(words, str) and words.strip():
            return words
    for name in (*_ERRORS, "errorMessages", "error_messages"):
        errors = value.get(name)
        if isinstance(errors, list) and errors:
            first = errors[0]
            if not isinstance(first, dict | list):
                return str(first)
            return _text_in(first, depth + 1) if isinstance(first, dict) else None
    return value.get("title") if isinstance(value.get("title"), str) else None


def failed_among(items: list[Any]) -> tuple[int, int]:
    """How many of several results say how they ended, and how many of those failed."""
    told = failed = 0
    for item in items:
        if not isinstance(item, dict):
            return 0, 0
        flag = next((item[name] for name in _FLAGS if isinstance(item.get(name), bool)), None)
        status = item.get("status", item.get("result"))
        if flag is None and isinstance(status, str) and status.lower() in (*_BAD, "success", "ok"):
            flag = status.lower() not in _BAD
        if flag is None and _is_reason(item.get("error")):
            flag = False
        told += flag is not None
        failed += flag is False
    return told, failed


def _is_reason(error: Any) -> bool:
    """Whether an error says why, rather than that there was one or none: a column of a table."""
    return isinstance(error, dict) or (
        isinstance(error, str) and (" " in error.strip() or not error.isascii())
    )


def failed_counts(value: Mapping[str, Any], depth: int = 0) -> tuple[int, int] | None:
    """How many succeeded and how many failed, where members count both, here or in the payload."""
    good = bad = None
    for name, each in value.items():
        count = len(each) if isinstance(each, list) else each
        if type(count) is int and count >= 0:
            how = _ended(name)
            if how == "good":
                good = count
            elif how == "bad":
                bad = count
    if good is not None and bad is not None:
        return good, bad
    if _TALLIES.isdisjoint(value) or depth > _DEEPEST:
        return None
    for name in _TALLIES:
        inner = value.get(name)
        if isinstance(inner, dict):
            return failed_counts(inner, depth + 1)
    return None


_TALLIES: Final = frozenset({"data", "summary", "result", "results", "stats"})
_WELL: Final = frozenset({"success", "successful", "successes", "succeeded", "successfully"})
_BADLY: Final = frozenset({"failed", "failure", "failures", "failing"})


@memo
def _ended(name: str) -> Literal["good", "bad", "unknown"]:
    """Of what end a member is the number: `successfulDownloads`, `insertedCount`, `failed`."""
    words = frozenset(words_of(name))
    if not _BADLY.isdisjoint(words):
        return "bad"
    return "good" if not _WELL.isdisjoint(words) or not PARTICIPLES.isdisjoint(words) else "unknown"
