"""Signs that an operation failed, in the members of an object.

Names are compared in one spelling and language: `errorMessage` and `Error Message` are the same.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from accord.reader.evidence.failure_text import says_failed
from accord.reader.lexicon import MEMBERS, OUTCOMES, base_forms, memo, ordered, squeezed
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS, in_english
from accord.reader.reading import Confidence
from accord.reader.sentences import reports_nothing_to_do

_ERROR_LISTS: Final = (*ordered("members.errors"), "errormessages")
_REASONS: Final = ordered("members.reasons")
_INNER_REASONS: Final = (*_REASONS, *ordered("members.inner-reasons"))
_ERROR_OBJECTS: Final = ordered("members.error-objects")
_CODES: Final = ordered("members.codes")
_OUTCOMES: Final = ordered("members.outcomes")
_STATUSES: Final = ordered("members.http-statuses")
_PAYLOADS: Final = ordered("members.payloads")
_BAD_STARTS: Final = tuple(f"{word}_" for word in OUTCOMES.bad_starts)
_BAD_ENDS: Final = (*(f"_{word}" for word in OUTCOMES.bad), "not_found")
_DONE: Final = OUTCOMES.done | {"found"}
_WHY: Final = ordered("members.why")
_TOLD: Final = frozenset((*_REASONS, *_CODES))
"""Members that only tell of a failure."""
_NO: Final = ("false", "False")
_NO_ERROR: Final = tuple(OUTCOMES.no_error - {"true", "True"})
_NO_PAYLOAD: Final[tuple[Any, ...]] = (None, False, 0, "", [], {}, *_NO, "error", "failed", "fail")
_OF_DATABASE: Final = frozenset({"code", "details", "hint", "message"})
_JSEND: Final = frozenset({"status", "data", "message", "code"})
_DEEPEST: Final = 8
"""Objects in objects that are searched for a message."""
_MANY: Final = 60
"""An object of more members holds data by their names."""
_FEW: Final = 6
"""An object of more members holds more than a failure."""
_SOME: Final = 10
"""The same where a status says that it failed."""
_FEWEST: Final = 3
_NAMED_CODE: Final = re.compile(r"(?!OK|SUCCESS|CREATED|ACCEPTED|DONE)[A-Z][A-Z0-9_]{3,60}")
"""`NOT_FOUND`, `E_CONFLICT`."""
_MOST_SIGNS: Final = 512
"""Sets of such members for which the rules are remembered."""
_BAD_STATUS: Final = range(400, 600)
_GOOD_CODES: Final = (0, 1, *range(200, 300))
"""Codes of success where another code is a failure: HTTP's, and what programs exit with."""
_NO_MESSAGE: Final = "The tool reported a failure"

Members = Mapping[str, Any]
"""The members of an object by their names in one spelling."""


class Sign(NamedTuple):
    """That it failed, why, and the rule that says so."""

    rule: str
    message: str
    code: str | int | None = None
    details: Any = None
    confidence: Confidence = "certain"
    verbs: frozenset[str] = frozenset()
    """The verbs of the tools for which it is a sign; none if it is one for any tool."""


@memo
def _plain(name: str) -> str:
    """Return a name in one spelling, in English."""
    return ENGLISH_MEMBERS.get(name) or squeezed(name)


def _members(value: Mapping[str, Any]) -> Members:
    return {_plain(name): each for name, each in value.items()}


def failure_in(value: Any, given: Collection[Any] = ()) -> Sign | None:
    """Why a payload says that the operation failed, if it does. What was given says nothing."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MANY:
        return None
    plain = [_plain(name) for name in value]
    signs = _SIGNS.intersection(plain)
    if not signs:
        return None
    members = dict(zip(plain, value.values(), strict=True))
    if given:
        members = {
            name: each
            for name, each in members.items()
            if name == "id" or not each or each not in given
        }
    for rule in _rules_for(signs):
        if (sign := rule(members)) is not None:
            return sign._replace(details=dict(value))
    return None


def _sign(rule: str, members: Members, confidence: Confidence = "certain") -> Sign:
    error = members.get("error")
    places = (_members(error), members) if isinstance(error, dict) else (members,)
    found = (place[name] for place in places for name in _CODES if name in place)
    code = next((each for each in found if isinstance(each, str) or type(each) is int), None)
    if isinstance(code, str) and code.lower() in OUTCOMES.bad:
        code = None
    return Sign(rule, _reason_in(members) or _NO_MESSAGE, code, None, confidence)


def _reason_in(members: Members, depth: int = 0) -> str | None:
    """The sentence that says why."""
    if depth > _DEEPEST:
        return None
    for name in _ERROR_OBJECTS:
        error = members.get(name)
        if isinstance(error, dict) and (inner := _reason_in(_members(error), depth + 1)):
            return inner
    for name in _INNER_REASONS if depth else _REASONS:
        told = members.get(name)
        if isinstance(told, str) and told.strip():
            return told
    for name in _ERROR_LISTS:
        errors = members.get(name)
        first = errors[0] if isinstance(errors, list) and errors else None
        if first is not None:
            is_object = isinstance(first, dict)
            return _reason_in(_members(first), depth + 1) if is_object else str(first)
    title = members.get("title", members.get("statustext"))
    return title if isinstance(title, str) else None


# The rules, in order


def _flag(members: Members) -> Sign | None:
    """`success: false`, `isError: true`."""
    for name in MEMBERS.success_flags & members.keys():
        if members[name] is False or members[name] in _NO:
            return _sign("flag-false", members)
    if members.get("response") == "False" or (
        members.get("success") == 0 and _has_no_data(members)
    ):
        return _sign("flag-false", members)
    for name in MEMBERS.failure_flags & members.keys():
        if members[name] is True and (name == "iserror" or _reason_in(members)):
            return _sign("flag-is-error", members)
    return None


def _within(members: Members) -> Sign | None:
    """A failure in the payload of an object that says that the request was accepted."""
    for name in ("data", "result"):
        inner = members.get(name)
        if type(inner) is dict and (sign := _flag_within(_members(inner))) is not None:
            return sign
    return None


def _has_no_data(members: Members) -> bool:
    """Whether there is a reason, and no other number or object."""
    others = [each for name, each in members.items() if name != "success"]
    return bool(_reason_in(members)) and all(each is None or type(each) is str for each in others)


def _flag_within(inner: Members) -> Sign | None:
    code = inner.get("code")
    if inner.keys() == _OF_DATABASE and isinstance(code, str) and len(code) == len("42P01"):
        return _sign("error-named", inner)
    if any(inner.get(name) is False for name in MEMBERS.success_flags):
        return _sign("flag-false", inner)
    if isinstance(inner.get("error"), str) and inner["error"] and len(inner) <= _FEWEST:
        return _sign("error-member", inner)
    return _undone(inner)


def _undone(members: Members) -> Sign | None:
    """`sent: false`, with a reason."""
    undone = [name for name, each in members.items() if each is False and name in _DONE]
    if not undone:
        return None
    reasons = [members[name] for name in _WHY if isinstance(members.get(name), str)]
    if reasons:
        is_needed = not any(map(reports_nothing_to_do, reasons))
        sign = _sign("deed-false", members) if is_needed else None
        return (
            sign
            if sign is None or not MEMBERS.told_done.isdisjoint(undone)
            else _of_verb(sign, undone)
        )
    has_thing = any(isinstance(each, dict | int | float) and each for each in members.values())
    return _sign("not-found", members) if members.get("found") is False and not has_thing else None


def _of_verb(sign: Sign, undone: list[str]) -> Sign:
    """Return a sign that holds for a tool with one of some verbs: `published: false`."""
    verbs = frozenset(verb for name in undone for verb in base_forms(name))
    return sign._replace(verbs=verbs)


def says_success(value: Mapping[str, Any]) -> bool:
    """Whether a flag says that it went well."""
    return any(value.get(name) is True for name in MEMBERS.success_flags)


def _error_member(members: Members) -> Sign | None:
    """`error: {…}` or `error: "…"`, with nothing that was achieved beside it."""
    name = "error" if "error" in members else "err"
    error = members.get(name)
    if not error or (error is True and not _reason_in(members)) or error in _NO_ERROR:
        return None
    if says_success(members) or not isinstance(error, dict | str | bool):
        return None
    has_payload = any(members[each] not in _NO_PAYLOAD for each in _PAYLOADS if each in members)
    if has_payload and members.get("status") != "error":
        return None
    if isinstance(error, str) and len(members) > (_SOME if _has_bad_status(members) else _FEW):
        return None
    return _sign("error-member", members)


def _has_bad_status(members: Members) -> bool:
    return any(_is_bad_number(members.get(name)) for name in _STATUSES)


def _is_bad_number(number: Any) -> bool:
    if isinstance(number, str) and len(number) == len("404") and number.isdecimal():
        number = int(number)
    return type(number) is int and number in _BAD_STATUS


def _errors_member(members: Members) -> Sign | None:
    """`errors: […]`, or `userErrors`, without data, as GraphQL says it."""
    errors = next((members[name] for name in MEMBERS.errors if members.get(name)), None)
    if not isinstance(errors, list | dict) or not errors or says_success(members):
        return None
    beside = (*MEMBERS.errors, "extensions", *(("found",) if members.get("found") is False else ()))
    others = {name: each for name, each in members.items() if name not in beside}
    if not all(map(_is_void, others.values())) and not _only_tells(others):
        return None
    return _sign("errors-member", members)


def _is_void(value: Any) -> bool:
    """Whether a member holds nothing, or an object that holds nothing: `{"issue": null}`."""
    if isinstance(value, dict):
        return all(each is None for each in value.values())
    return value is None or value in ([], "")


def _only_tells(others: Mapping[str, Any]) -> bool:
    return all(_plain(name) in _TOLD or each is None for name, each in others.items())


def _outcome_word(members: Members) -> Sign | None:
    """`status: "error"`, with a reason or with nothing else."""
    status = next((members[name] for name in _OUTCOMES if name in members), None)
    if not isinstance(status, str) or not _is_bad(status):
        return None
    small, reason = status.lower(), _reason_in(members)
    if small in ("fail", "error") and members.keys() <= _JSEND:
        return _sign("status-error", members)
    if "id" in members:
        return None
    if any(members.get(name) for name in _PAYLOADS if name != "result"):
        is_sure = small in OUTCOMES.bad and reason is not None and len(members) <= _FEW
        return _sign("status-error", members, "likely") if is_sure else None
    if small != "error" and not reason and len(members) > 1:
        return None
    is_told = len(members) <= _FEW or (status == "error" and _tells_why_alone(members))
    return _sign("status-error", members) if is_told else None


def _tells_why_alone(members: Members) -> bool:
    """Whether errors, or an exception, are all that members hold beside texts."""
    why = members.get("errors") or members.get("exception")
    others = [each for name, each in members.items() if name not in ("errors", "exception")]
    return bool(why) and "name" not in members and not any(map(_is_data, others))


def _is_data(value: Any) -> bool:
    return bool(value) and not isinstance(value, str)


def _is_bad(status: str) -> bool:
    """`error`, `failed`, and statuses that are made of such words: `task_not_found`."""
    word = status.lower().replace(" ", "_").replace("-", "_")
    return word in OUTCOMES.bad or word.endswith(_BAD_ENDS) or word.startswith(_BAD_STARTS)


def _status_number(members: Members) -> Sign | None:
    """An HTTP status of 400 or more, or another code than that of success, with a reason."""
    if len(members) > _FEW:
        return None
    if _has_bad_status(members):
        payloads = [members[name] for name in _PAYLOADS if members.get(name)]
        is_given = any(not isinstance(each, dict) or not _only_tells(each) for each in payloads)
        has_reason = _reason_in(members) or members.get("body")
        return _sign("status-number", members) if has_reason and not is_given else None
    is_told = _has_bad_code(members) and _reason_in(members)
    return _sign("code", members, "likely") if is_told else None


def _has_bad_code(members: Members) -> bool:
    """Whether a code is not that of success, beside a payload that holds nothing."""
    codes = [members[name] for name in ("code", "errcode", "retcode") if name in members]
    if not codes or not any(name in members and not members[name] for name in _PAYLOADS):
        return False
    code = int(codes[0]) if isinstance(codes[0], str) and codes[0].isdecimal() else codes[0]
    return type(code) is int and code not in _GOOD_CODES


def _status_within(members: Members) -> Sign | None:
    """`code` and `message`, with an HTTP status in `data`, as WordPress says it."""
    data = members.get("data")
    if not isinstance(data, dict) or not isinstance(members.get("message"), str):
        return None
    is_bad = len(members) <= _FEW and _is_bad_number(data.get("status"))
    return _sign("status-number", members) if is_bad else None


def _detail_alone(members: Members) -> Sign | None:
    """`{"detail": "Not found."}`, as Django REST framework and FastAPI say it; GitHub's own way."""
    if members.keys() == {"detail"} and isinstance(members["detail"], str | list):
        return _sign("detail-alone", members)
    if isinstance(members.get("message"), str) and "documentationurl" in members:
        return _sign("documented-message", members)
    return None


def _error_type(members: Members) -> Sign | None:
    """`type: "error"`, `error_code`, `errorMessage`."""
    kind = members.get("type")
    is_typed = str(kind).lower() in ("error", "exception") and _reason_in(members, 1)
    named = MEMBERS.error_names & members.keys()
    is_named = any(members[name] and members[name] not in _NO_ERROR for name in named)
    if not (is_typed or is_named) or len(members) > _FEW or says_success(members):
        return None
    others = (
        each for name, each in members.items() if name not in MEMBERS.error_names | MEMBERS.errors
    )
    if any(isinstance(each, list) and each for each in others):
        return None
    return _sign("error-named", members)


def _message(members: Members) -> Sign | None:
    """`message: "Failed to …"`, with nothing that was achieved beside it."""
    told = members.get("message", members.get("msg"))
    if not isinstance(told, str) or len(members) > _FEW or says_success(members) or "id" in members:
        return None
    if any(isinstance(each, dict | list) and each for each in members.values()):
        return None
    code = members.get("code")
    if isinstance(code, str) and _NAMED_CODE.fullmatch(code) and _only_tells(members):
        return _sign("message-failed", members)
    strength = says_failed(in_english(told))
    if strength == "strong" or (strength == "weak" and _only_tells(members)):
        return _sign("message-failed", members)
    return None


def _exchange(members: Members) -> Sign | None:
    """A request and the response to it, whose HTTP status is 400 or more."""
    response = members.get("response")
    if not isinstance(response, dict) or not isinstance(members.get("request"), dict | str):
        return None
    said = _members(response)
    if not _has_bad_status(said):
        return None
    reason = _reason_in(said)
    status = next(said[name] for name in _STATUSES if _is_bad_number(said.get(name)))
    return Sign("exchange-failed", reason or f"HTTP status {status}", status)


def _operation_outcome(members: Members) -> Sign | None:
    """The outcome of an operation as FHIR tells it, one of whose issues is an error."""
    issues = members.get("issue")
    if members.get("resourcetype") != "OperationOutcome" or not isinstance(issues, list):
        return None
    for issue in issues:
        if isinstance(issue, dict) and issue.get("severity") in ("error", "fatal"):
            why = issue.get("diagnostics") or issue.get("code") or "The operation failed"
            return Sign("outcome-error", str(why))
    return None


Rule = Callable[[Members], Sign | None]
_RULES: Final[tuple[tuple[frozenset[str], Rule], ...]] = (
    (MEMBERS.success_flags | MEMBERS.failure_flags | {"response"}, _flag),
    (frozenset({"data", "result"}), _within),
    (_DONE, _undone),
    (frozenset({"error", "err"}), _error_member),
    (MEMBERS.errors, _errors_member),
    (frozenset(_OUTCOMES), _outcome_word),
    (frozenset((*_STATUSES, "errcode", "retcode")), _status_number),
    (frozenset({"data"}), _status_within),
    (frozenset({"response"}), _exchange),
    (frozenset({"resourcetype"}), _operation_outcome),
    (frozenset({"detail", "documentationurl"}), _detail_alone),
    (MEMBERS.error_names | {"type"}, _error_type),
    (frozenset({"message", "msg"}), _message),
)
"""Each with the members that it looks for: one of them has to be there."""
_SIGNS: Final = frozenset[str]().union(*(names for names, _ in _RULES)) - {"type"}


@lru_cache(_MOST_SIGNS)
def _rules_for(signs: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules that look for any of some members."""
    return tuple(rule for names, rule in _RULES if not names.isdisjoint({*signs, "type"}))
