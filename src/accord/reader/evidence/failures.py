"""Evidence that the operation failed, in `isError` and in the members of an object or an array.

`MARKERS` is the table of members that report a failure. Names are compared in one spelling and
language: `errorMessage` and `Error Message` are the same.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from accord.reader import collection
from accord.reader.call import Call
from accord.reader.evidence import Facts, Sign, Verdict
from accord.reader.evidence.error_texts import may_fail, rejects_value, says_failed
from accord.reader.lexicon import (
    MEMBERS,
    NAMES,
    OUTCOMES,
    base_forms,
    memo,
    ordered,
    phrases,
    squeezed,
    words_of,
)
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS, in_english
from accord.reader.reading import Confidence
from accord.reader.sentences import (
    begins,
    reports_completion,
    reports_nothing_found,
)

_ERROR_LISTS: Final = (*ordered("members.errors"), "errormessages")
_REASONS: Final = ordered("members.reasons")
_INNER_REASONS: Final = (*_REASONS, *ordered("members.inner-reasons"))
_ERROR_OBJECTS: Final = ordered("members.error-objects")
_CODES: Final = ordered("members.codes")
_OUTCOMES: Final = ordered("members.outcomes")
_STATUSES: Final = ordered("members.http-statuses")
_PAYLOADS: Final = ordered("members.payloads")
_ISSUE_PLACES: Final = ordered("members.issue-places")
_ISSUE_TEXTS: Final = ordered("members.issue-texts")
_OF_AN_ISSUE: Final = MEMBERS.issue_places | MEMBERS.issue_texts | MEMBERS.of_an_issue
_BAD_STARTS: Final = tuple(f"{word}_" for word in OUTCOMES.bad_starts)
_BAD_ENDS: Final = (*(f"_{word}" for word in OUTCOMES.bad), *OUTCOMES.bad_ends)
_DONE: Final = OUTCOMES.done | {"found"}
_ONLY_TELLS: Final = frozenset((*_REASONS, *_CODES))
"""Members that only tell of a failure."""
_OFFERS: Final = ("available", "valid", "supported", "suggested", "allowed", "known")
"""Beginnings of members that tell what could be given instead: `availableComponents`."""
_ERROR_CLASS: Final = re.compile(r"[A-Za-z.]{0,60}(?:Error|Exception)")
_NO: Final = ("false", "False")
_NO_ERROR: Final = tuple(OUTCOMES.no_error - {"true", "True"})
_NO_PAYLOAD: Final[tuple[Any, ...]] = (None, False, 0, "", [], {}, *_NO, "error", "failed", "fail")
_JSEND: Final = frozenset({"status", "data", "message", "code"})
_NAMES: Final = frozenset({"name", "title", "created_at", "createdAt"})
_STATES: Final = ("status", "state")
_SUMS: Final = ("data", "summary", "result", "results", "stats")
_DEEPEST: Final = 8
"""Objects in objects that are searched for a message or for numbers."""
_MANY: Final = 60
"""An object of more members holds data by their names."""
_MOST_RESULTS: Final = 200
"""Members of an object that holds a result for each of several things."""
_SOME: Final = 10
"""An object of more members holds more than a failure, though its status reports one."""
_FEW: Final = 6
"""An object of more members holds more than a failure."""
_FEWER: Final = 4
"""An item of more members is a thing, of which a failure is a part."""
_FEWEST: Final = 3
"""A payload of more members holds more than an error."""
_NAMED_CODE: Final = re.compile(r"(?!OK|SUCCESS|CREATED|ACCEPTED|DONE)[A-Z][A-Z0-9_]{3,60}")
"""`NOT_FOUND`, `E_CONFLICT`."""
_MOST_SIGNS: Final = 512
"""Sets of members for which the markers are remembered."""
_BAD_STATUS: Final = range(400, 600)
_GOOD_CODES: Final = (0, 1, *range(200, 300))
"""Codes of success where another code is a failure: HTTP's, and what programs exit with."""
_NO_MESSAGE: Final = "The tool reported a failure"
_NO_REASON: Final = "All of it failed"

Members = Mapping[str, Any]
"""The members of an object by their names in one spelling."""


def is_error(facts: Facts) -> Verdict | None:
    """Return the failure that a result declares by `isError`."""
    return Verdict("error", found=failure_in(facts.value)) if facts.is_error is True else None


# What the members of an object report, whatever was called


@memo
def _plain(name: str) -> str:
    """Return a name in one spelling, in English."""
    return ENGLISH_MEMBERS.get(name) or squeezed(name)


def _members(value: Mapping[str, Any]) -> Members:
    return {_plain(name): each for name, each in value.items()}


def failure_in(value: Any, given: Collection[Any] = ()) -> Sign | None:
    """Return the failure that a payload reports, if it does. What was given reports nothing."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MANY:
        return None
    plain = [_plain(name) for name in value]
    named = _MARKING.intersection(plain)
    if not named:
        return None
    members = dict(zip(plain, value.values(), strict=True))
    if given:
        members = {
            name: each
            for name, each in members.items()
            if name == "id" or not each or each not in given
        }
    for marker in _markers_of(named):
        if (sign := marker(members)) is not None:
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
    """Return the sentence that says why."""
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


def _flag(members: Members) -> Sign | None:
    """`success: false`, `isError: true`."""
    for name in MEMBERS.success_flags & members.keys():
        if members[name] is False or members[name] in _NO:
            return _sign("flag-false", members)
    for name in MEMBERS.failure_flags & members.keys():
        if members[name] is True and (name == "iserror" or _reason_in(members)):
            return _sign("flag-is-error", members)
    return None


def _within(members: Members) -> Sign | None:
    """A failure in the payload of an object that says that the request was accepted."""
    held = [members[name] for name in ("data", "result") if type(members.get(name)) is dict]
    for inner in map(_members, held):
        if any(inner.get(name) is False for name in MEMBERS.success_flags):
            return _sign("flag-false", inner)
        if isinstance(inner.get("error"), str) and inner["error"] and len(inner) <= _FEWEST:
            return _sign("error-member", inner)
        if (sign := _undone(inner)) is not None:
            return sign
    return None


def _undone(members: Members) -> Sign | None:
    """`sent: false`, with a reason; `found: false` beside nothing that was found."""
    undone = [name for name, each in members.items() if each is False and name in _DONE]
    if not undone:
        return None
    reasons = [members[name] for name in MEMBERS.why if isinstance(members.get(name), str)]
    if not reasons:
        is_found = any(isinstance(each, dict | int | float) and each for each in members.values())
        if "found" in undone:
            return None if is_found else _sign("not-found", members)
        return None
    if any(begins(each, phrases.nothing_to_do) for each in reasons):
        return None
    sign = _sign("action-false", members)
    if not MEMBERS.told_done.isdisjoint(undone):
        return sign
    return sign._replace(verbs=frozenset(verb for name in undone for verb in base_forms(name)))


def says_success(value: Mapping[str, Any]) -> bool:
    """Whether a flag says that it went well."""
    return any(value.get(name) is True for name in MEMBERS.success_flags)


def _error_member(members: Members) -> Sign | None:
    """`error: {…}` or `error: "…"`, with nothing that was achieved beside it."""
    error = members.get("error", members.get("err"))
    if not error or error in _NO_ERROR or not isinstance(error, dict | str | bool):
        return None
    if says_success(members) or (error is True and not _reason_in(members)):
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
    if not isinstance(errors, list | dict) or says_success(members):
        return None
    beside = MEMBERS.errors | {"extensions"}
    others = {
        name: each
        for name, each in members.items()
        if name not in beside and not (name == "found" and each is False)
    }
    if not all(map(_is_void, others.values())) and not _only_tells(others):
        return None
    return _sign("errors-member", members)


def _voids(members: Members) -> int:
    """Return how many members hold nothing."""
    return sum(each is None or each in ("", [], {}) for each in members.values())


def _is_void(value: Any) -> bool:
    """Whether a member holds nothing, or an object that holds nothing: `{"issue": null}`."""
    if isinstance(value, dict):
        return all(each is None for each in value.values())
    return value is None or value in ([], "")


def _only_tells(others: Mapping[str, Any]) -> bool:
    return all(_plain(name) in _ONLY_TELLS or each is None for name, each in others.items())


def _is_advice(name: str) -> bool:
    """Whether a member stands beside a failure, rather than for something that was achieved."""
    return name in MEMBERS.advice or name.startswith(_OFFERS)


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
    if small != "error" and not reason and len(members) > 1 + _voids(members):
        return None
    has_payload = any(members.get(name) for name in _PAYLOADS if name != "result")
    confidence: Confidence = "likely" if has_payload else "certain"
    return _sign("status-error", members, confidence) if len(members) <= _FEW else None


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
        has_reason = (
            _reason_in(members) or members.get("body") or len(members) == _voids(members) + 1
        )
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
    named = MEMBERS.error_names & members.keys()
    if not named and _COMMON.isdisjoint(members):
        return None
    kind = str(members.get("type", members.get("kind"))).lower()
    is_class = _ERROR_CLASS.fullmatch(str(members.get("name"))) is not None
    is_typed = kind.endswith(("error", "exception")) or is_class
    is_typed = is_typed and _reason_in(members, 1) is not None
    is_named = any(members[name] and members[name] not in _NO_ERROR for name in named)
    if not (is_typed or is_named) or len(members) > _FEW or says_success(members):
        return None
    others = (each for name, each in members.items() if name not in named | MEMBERS.errors)
    if any(isinstance(each, list) and each for each in others):
        return None
    return _sign("error-named", members)


def _message(members: Members) -> Sign | None:
    """`message: "Failed to …"`, with nothing that was achieved beside it."""
    told = members.get("message", members.get("msg"))
    if not isinstance(told, str) or len(members) > _FEW or says_success(members) or "id" in members:
        return None
    members = {name: each for name, each in members.items() if not _is_advice(name)}
    if any(isinstance(each, dict | list) and each for each in members.values()):
        return None
    code, is_all = members.get("code"), _only_tells(members)
    is_coded = isinstance(code, str) and _NAMED_CODE.fullmatch(code) and is_all
    strength = "strong" if is_coded else says_failed(in_english(told))
    is_failure = strength == "strong" or (strength == "weak" and is_all)
    return _sign("message-failed", members) if is_failure else None


def _exchange(members: Members) -> Sign | None:
    """A request and the response to it, whose HTTP status is 400 or more."""
    response = members.get("response")
    if not isinstance(response, dict) or not isinstance(members.get("request"), dict | str):
        return None
    said = _members(response)
    status = next((said[name] for name in _STATUSES if _is_bad_number(said.get(name))), None)
    if status is None:
        return None
    return Sign("exchange-failed", _reason_in(said) or f"HTTP status {status}", status)


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


Marker = Callable[[Members], Sign | None]
MARKERS: Final[tuple[tuple[frozenset[str], Marker], ...]] = (
    (MEMBERS.success_flags | MEMBERS.failure_flags, _flag),
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
    (MEMBERS.error_names | {"type", "kind", "name"}, _error_type),
    (frozenset({"message", "msg"}), _message),
)
"""In order, each with the members that it looks for: one of them has to be there."""
_COMMON: Final = frozenset({"type", "kind", "name"})
"""Members that any thing has: markers look at them where another member is there as well."""
_MARKING: Final = frozenset[str]().union(*(names for names, _ in MARKERS)) - _COMMON


@lru_cache(_MOST_SIGNS)
def _markers_of(named: frozenset[str]) -> tuple[Marker, ...]:
    """Return the markers that look for any of some members."""
    return tuple(marker for names, marker in MARKERS if not names.isdisjoint(named | _COMMON))


# An object, as the reply to a call


def payload_failed(facts: Facts) -> Verdict | None:
    """The members report a failure, and what failed is the call."""
    value, call = facts.value, facts.call
    if type(value) is not dict:
        return None
    sign = failure_in(value, facts.arguments.values())
    if sign is None:
        sign = _told_otherwise(facts, value)
        return None if sign is None else facts.failed(sign, sign.confidence)
    counts = _counts(value)
    if counts is not None and counts[0] > 0:
        return Verdict("action", "likely", is_partial=True)
    if _is_finding(sign, value, call):
        return None
    is_word = sign.rule in ("error-member", "action-false")
    if is_word and call.wants_many and reports_nothing_found(sign.message):
        none = collection.Collection([], dict(value), ("error",), "guess")
        return Verdict("list", "guess", found=none)
    return facts.failed(sign, sign.confidence)


def _is_finding(sign: Sign, value: Mapping[str, Any], call: Call) -> bool:
    """Whether what failed is not the call: what a check found, or what is told of one thing."""
    rule, status = sign.rule, value.get("status")
    is_missing = isinstance(status, str) and status.endswith("not_found")
    if rule == "not-found":
        return call.wants_many or NAMES.getting.isdisjoint(call.words[:1])
    if rule == "outcome-error":
        return call.checks
    if rule == "exchange-failed":
        return call.intent in ("list", "read") and not call.checks
    if sign.verbs and sign.verbs.isdisjoint(call.verbs):
        return call.intent != "act" or reports_completion(sign.message)
    if rule in ("errors-member", "error-named") and call.is_about_errors:
        return True
    if rule == "flag-false":
        parts = [each for each in value.values() if isinstance(each, dict) and each]
        is_report = call.is_about_one and len(parts) > 1
        return call.checks and is_report and MEMBERS.about_errors.isdisjoint(value)
    if call.checks and any(value.get(name) is False for name in MEMBERS.verdicts):
        return True
    if rule == "status-error" and call.checks and status != "error" and not is_missing:
        return True
    is_told = rule in ("error-member", "status-error", "error-named") and call.intent == "read"
    return is_told and _is_thing(value) and not (is_missing and rule == "error-member")


def _is_thing(value: Mapping[str, Any]) -> bool:
    """Whether members identify a thing, and tell its name or its state: a job, a deployment."""
    has_state = any(value.get(name) not in (None, "error") for name in _STATES)
    has_id = any(
        name == "id" or (name.endswith(("_id", "Id")) and "request" not in name) for name in value
    )
    return has_id and (has_state or not _NAMES.isdisjoint(value))


def _told_otherwise(facts: Facts, value: dict[str, Any]) -> Sign | None:
    """A failure told by an exit code, member by member, or in a message beside echoes."""
    call = facts.call
    if (sign := _exit_code(value, call)) is not None:
        return sign
    if call.intent == "act" and (sign := _rejected_members(value)) is not None:
        return sign
    if call.checks or call.gives_printed:
        return None
    given = facts.arguments.values()
    told = {name: each for name, each in value.items() if each and each not in given}
    sign = _refusal(value, told, call) if len(told) == 1 else None
    return sign or _miss(value, call) or _failed_within(value, told, call)


def _exit_code(value: Mapping[str, Any], call: Call) -> Sign | None:
    """What was run ended badly, by its exit code."""
    if MEMBERS.exit_codes.isdisjoint(value) or call.checks or call.wants_many:
        return None
    code = next((value[name] for name in MEMBERS.exit_codes if type(value.get(name)) is int), 0)
    told = value.get("stderr") or value.get("output") or value.get("stdout")
    why = told.strip() if isinstance(told, str) else ""
    if not code or not (call.intent == "run" or call.gives_output or (why and "id" not in value)):
        return None
    confidence: Confidence = "guess" if call.intent == "run" else "likely"
    return Sign("exit-code", why or "It ended badly", code, value, confidence)


def _refusal(value: dict[str, Any], told: Mapping[str, Any], call: Call) -> Sign | None:
    """The only member that tells something is a message that it failed."""
    ((name, why),) = told.items()
    if not isinstance(why, str) or len(value) > _FEW or "\n" in why or name in _NAMES:
        return None
    if not may_fail(why) or (call.wants_many and reports_nothing_found(why, wants_many=True)):
        return None
    strength = says_failed(why)
    is_none = strength is None and not call.wants_many and reports_nothing_found(why)
    if is_none:
        strength = "weak"
    has_void = any(each is None or each in ("", [], {}) for each in value.values())
    is_message = name in MEMBERS.messages and (has_void or not call.gives_content)
    if strength == "strong" or (strength is not None and is_message and len(value) > 1):
        confidence: Confidence = "likely" if call.wants_many else "guess"
        return Sign("message-failed", why, None, value, confidence)
    return None


def _miss(value: Mapping[str, Any], call: Call) -> Sign | None:
    """The status is that something is not there: what an action was for, or one thing."""
    status, why = value.get("status"), value.get("message")
    if not isinstance(status, str) or squeezed(status) != "notfound":
        return None
    is_told = isinstance(why, str)
    is_asked = is_told if call.intent == "act" else len(value) <= _FEWER and not call.wants_many
    message = str(why) if is_told else "Not found"
    return Sign("status-error", message, status, dict(value), "likely") if is_asked else None


def _failed_within(value: dict[str, Any], told: Mapping[str, Any], call: Call) -> Sign | None:
    """A failure in each object that is held, beside echoes and members that hold nothing."""
    if not 0 < len(told) <= _MOST_RESULTS or call.gives_content or "id" in value:
        return None
    if not all(type(each) is dict and _is_bare(each) for each in told.values()):
        return None
    sign = failure_in(next(iter(told.values())))
    return None if sign is None else sign._replace(details=value, confidence="likely")


# Several results


def all_failed(facts: Facts) -> Verdict | None:
    """Each of several things failed, or they are counted; if only some did, it is partial."""
    value, call = facts.value, facts.call
    sign = None
    if isinstance(value, list) and not call.is_about_errors:
        sign = None if call.checks or call.intent == "list" else _issues_in(value)
        if len(value) == 1 and sign is None and isinstance(value[0], dict):
            is_only = value[0].keys() <= MEMBERS.of_an_error and "error" in value[0]
            sign = failure_in(value[0]) if is_only else None
            sign = sign and sign._replace(rule="all-failed")
    if sign is not None:
        return facts.failed(sign, "likely")
    if call.intent == "list":
        return None
    verdict = _counted(facts) if isinstance(value, dict) else None
    if verdict is not None or call.is_about_errors or call.checks:
        return verdict
    items = _results(facts)
    told, bad = _failed_among(items) if items else (0, 0)
    is_all = bool(bad) and told == len(items)
    if not is_all or (call.intent not in ("act", "run") and not (bad == told and _are_bare(items))):
        return None
    if bad < told:
        return Verdict("action", "likely", is_partial=True)
    if isinstance(value, dict) and says_success(value):
        return None
    why = failure_in(items[0])
    message = _NO_REASON if why is None else why.message
    return facts.failed(Sign("all-failed", message, None, value), "likely")


def _counted(facts: Facts) -> Verdict | None:
    """What an object says of how many succeeded and how many failed, in numbers or in a status."""
    value, call = facts.value, facts.call
    if str(value.get("status")) in OUTCOMES.partly and call.intent in ("act", "run", "make"):
        return Verdict("action", "likely", is_partial=True)
    counts = _counts(value)
    if counts is None or counts[1] == 0:
        return None
    if counts[0] == 0:
        return facts.failed(Sign("all-failed", _NO_REASON, None, value), "likely")
    is_action = (call.intent not in ("read", "unknown") or call.may_act) and not call.checks
    return Verdict("action", "likely", is_partial=True) if is_action else None


def _is_bare(item: Mapping[str, Any]) -> bool:
    """Whether an item says nothing but that it failed, and perhaps of what."""
    if failure_in(item) is None or ("id" in item and not _NAMES.union(_STATES).isdisjoint(item)):
        return False
    others = [each for name, each in item.items() if name != "success"]
    is_refused = item.get("success") is False and all(isinstance(each, str) for each in others)
    has_none = "data" in item and item["data"] is None
    return len(item) <= _FEWER or has_none or (is_refused and "error" in item)


def _are_bare(items: list[Any]) -> bool:
    return all(map(_is_bare, items))


def _results(facts: Facts) -> list[Any]:
    """Return the results for several things: a list, or an object for each by its name."""
    value = facts.value
    if isinstance(value, dict) and 0 < len(value) <= _MOST_RESULTS:
        each = list(value.values())
        if isinstance(each[0], dict) and all(isinstance(one, dict) for one in each):
            return each
    found = facts.find_collection()
    return found.items if found else []


def _failed_among(items: list[Any]) -> tuple[int, int]:
    """Return how many of several results tell how they ended, and how many of those failed."""
    told = failed = 0
    for item in items:
        if not isinstance(item, dict):
            return 0, 0
        flag = next(
            (item[name] for name in MEMBERS.success_flags if type(item.get(name)) is bool), None
        )
        status, error = item.get("status", item.get("result")), item.get("error")
        if flag is None and isinstance(status, str) and status.lower() in _ENDS:
            flag = status.lower() not in OUTCOMES.bad
        if flag is None and (_is_reason(error) or item.get("found") is False):
            flag = False
        if flag is None and len(item) < _FEWER and error not in _NOTHING_WRONG:
            flag = False
        told += flag is not None
        failed += flag is False
    return told, failed


_ENDS: Final = OUTCOMES.bad | OUTCOMES.fine
_NOTHING_WRONG: Final[tuple[Any, ...]] = (*OUTCOMES.no_error, None, False, "", [], {})


def _is_reason(error: Any) -> bool:
    """Whether an error says why, rather than that there was one or none: a column of a table."""
    is_text = isinstance(error, str) and (" " in error.strip() or not error.isascii())
    return is_text or isinstance(error, dict)


def _counts(value: Mapping[str, Any], depth: int = 0) -> tuple[int, int] | None:
    """Return how many succeeded and failed, where members count both, here or in the payload."""
    counts: dict[str, int] = {}
    for name, each in value.items():
        count = len(each) if isinstance(each, list) else each
        if type(count) is int and count >= 0:
            counts[_ended(name)] = count
    if "good" in counts and "bad" in counts:
        return counts["good"], counts["bad"]
    inner = next((value[name] for name in _SUMS if isinstance(value.get(name), dict)), None)
    return None if inner is None or depth > _DEEPEST else _counts(inner, depth + 1)


@memo
def _ended(name: str) -> Literal["good", "bad", "unknown"]:
    """Return the end of which a member is the number: `successfulDownloads`, `failed`."""
    parts = frozenset(words_of(name))
    if not (OUTCOMES.badly | {"failed", "failure"}).isdisjoint(parts):
        return "bad"
    good = OUTCOMES.fine | OUTCOMES.well | OUTCOMES.done
    return "unknown" if good.isdisjoint(parts) else "good"


# What was given to an action and rejected


def _rejected_members(value: Mapping[str, Any]) -> Sign | None:
    """`{"name": ["This field must be unique."]}`: only what was wrong with each."""
    if not 0 < len(value) <= _MOST_RESULTS:
        return None
    told = [(name, [each] if isinstance(each, str) else each) for name, each in value.items()]
    if not all(isinstance(why, list) and why and all(map(_rejects, why)) for _, why in told):
        return None
    (name, (first, *_)), *_ = told
    return Sign("field-errors", f"{name}: {first}", None, dict(value), "likely")


def _rejects(why: Any) -> bool:
    return isinstance(why, str) and rejects_value(why)


def _issues_in(items: list[Any]) -> Sign | None:
    """`[{"path": ["id"], "message": "Required"}]`: what a validator found in the arguments."""
    issues = [_issue(each) for each in items]
    if not issues or not all(issues):
        return None
    return Sign("issues", str(issues[0]), None, {"issues": items})


def _issue(item: Any) -> str | None:
    """Return where something is wrong, and what: with a code, or as a rejection."""
    if not isinstance(item, dict) or not item.keys() <= _OF_AN_ISSUE:
        return None
    place = next((item[name] for name in _ISSUE_PLACES if name in item), None)
    why = next((item[name] for name in _ISSUE_TEXTS if isinstance(item.get(name), str)), "")
    if place is None or not why or not (isinstance(place, list) or rejects_value(why)):
        return None
    named = ".".join(map(str, place)) if isinstance(place, list) else str(place)
    return f"{named}: {why}" if named else why
