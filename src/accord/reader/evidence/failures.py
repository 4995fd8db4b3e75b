"""Evidence that the operation failed, in `isError` and in the members of an object or an array.

Members that may report a failure (`MARKS`) add points, other members subtract points up to a limit,
so strong evidence counts beside any number of members. Names are compared in one spelling and
language: `errorMessage` equals `Error Message`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from accord.reader import collection
from accord.reader.call import Call
from accord.reader.evidence import Facts, Sign, Verdict
from accord.reader.evidence.error_texts import failure_strength, may_fail, rejects_value
from accord.reader.known_shapes import text_of
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
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS
from accord.reader.reading import Confidence
from accord.reader.sentences import begins, reports_completion, reports_nothing_found

_ERROR_LISTS: Final = (*ordered("members.errors"), "errormessages", "issue", "issues")
_REASONS: Final = ordered("members.reasons")
_INNER_REASONS: Final = (*_REASONS, *ordered("members.inner-reasons"))
_ERROR_OBJECTS: Final = ordered("members.error-objects")
_CODES: Final = ordered("members.codes")
_BAD_STARTS: Final = tuple(f"{word}_" for word in OUTCOMES.bad | OUTCOMES.bad_starts)
_BAD_ENDS: Final = (*(f"_{word}" for word in OUTCOMES.bad), *OUTCOMES.bad_ends)
_DONE: Final = OUTCOMES.done | {"found"}
_REPORTING: Final = MEMBERS.errors.union(
    _REASONS, _CODES, MEMBERS.error_names, MEMBERS.success_flags
)
"""Members that only report a failure."""
_OFFERS: Final = ("available", "valid", "supported", "suggested", "allowed", "known")
"""Beginnings of members that list valid values: `availableComponents`."""
_OFFERED: Final = ("available", "disponibles")
"""Endings of members that list valid values: `productos_disponibles`."""
_ERROR_CLASS: Final = re.compile(r"[A-Za-z._-]{0,60}(?:error|exception)", re.I)
_LONGEST_CODE: Final = 10
"""Digits of a code."""
_NAMED_CODE: Final = re.compile(r"(?!OK|SUCCESS|CREATED|ACCEPTED|DONE)[A-Z][A-Z0-9_]{3,60}")
"""`NOT_FOUND`, `E_CONFLICT`."""
_NO: Final = ("false", "False")
_NO_ERROR: Final = tuple(OUTCOMES.no_error - {"true", "True"})
_NO_PAYLOAD: Final = (*_NO, "error", "failed", "fail")
_NAMES: Final = frozenset({"name", "title", "created_at", "createdAt"})
_STATES: Final = ("status", "state")
_DEEPEST: Final = 8
"""Levels of nested objects that are searched for a message or for numbers."""
_MOST_MEMBERS: Final = 200
"""Members of an object that is searched for a failure."""
_BAD_STATUS: Final = range(400, 600)
_GOOD_CODES: Final = (0, 1, *range(200, 300))
"""Codes of success, of HTTP and of programs; another code is a failure."""
_ISSUE_PLACES: Final = ordered("members.issue-places")
_ISSUE_TEXTS: Final = ordered("members.issue-texts")
_OF_AN_ISSUE: Final = MEMBERS.issue_places | MEMBERS.issue_texts | MEMBERS.of_an_issue
_SUMS: Final = ("data", "summary", "result", "results", "stats")
_CONTAINERS: Final = frozenset({dict, list})
_FEW: Final = 2
"""Members that may identify the failed item; an item with more has a failure as a part."""
_NO_MESSAGE: Final = "The tool reported a failure"
_NO_REASON: Final = "All of it failed"

Members = Mapping[str, Any]
"""The members of an object by their names in one spelling."""


def is_error(facts: Facts) -> Verdict | None:
    """Return the failure that a result declares by `isError`."""
    return Verdict("error", found=failure_in(facts.value)) if facts.is_error is True else None


# The reason


@memo
def _plain(name: str) -> str:
    """Return a name in one spelling, in English."""
    return ENGLISH_MEMBERS.get(name) or squeezed(name)


def _members(value: Mapping[str, Any]) -> dict[str, Any]:
    return {_plain(name): each for name, each in value.items()}


def _sign(rule: str, members: Members) -> Sign:
    error = members.get("error")
    places = (_members(error), members) if isinstance(error, dict) else (members,)
    found = (place[name] for place in places for name in _CODES if name in place)
    code = next((each for each in found if isinstance(each, str) or type(each) is int), None)
    if isinstance(code, str) and code.lower() in OUTCOMES.bad:
        code = None
    return Sign(rule, _reason_in(members) or _NO_MESSAGE, code)


def _reason_in(members: Members, depth: int = 0) -> str | None:
    """Return the message of the failure: its reason."""
    if depth > _DEEPEST:
        return None
    for name in _ERROR_OBJECTS:
        error = members.get(name)
        if isinstance(error, dict) and (inner := _reason_in(_members(error), depth + 1)):
            return inner
    for name in _INNER_REASONS if depth else _REASONS:
        reason = members.get(name)
        if isinstance(reason, str) and reason.strip():
            return reason
    for name in _ERROR_LISTS:
        errors = members.get(name)
        first = errors[0] if isinstance(errors, list) and errors else None
        if first is not None:
            is_object = isinstance(first, dict)
            return _reason_in(_members(first), depth + 1) if is_object else text_of(first)
    title = members.get("title", members.get("statustext"))
    return title if isinstance(title, str) else None


# The marks of a failure


class Mark(NamedTuple):
    """A member that may report a failure, its points, and the points that others subtract."""

    rule: str
    names: frozenset[str]
    is_bad: Callable[[Any, Members], object]
    points: int
    other: int = 4
    """For each other member: six of them outweigh a mark."""
    container: int = 4
    """For each other object or array."""
    payload: int = 25
    identity: int = 0


_THRESHOLD: Final = 10
"""Points from which an object is a failure."""
_MOST_AGAINST: Final = 45
"""Most points that other members subtract; two marks always suffice."""
_SUCCESS: Final = 40
"""Points that a success flag subtracts."""


def _is_no(each: Any, _: Members) -> bool:
    return each is False or each in _NO


def _is_undone(each: Any, members: Members) -> bool:
    reasons = [members[name] for name in MEMBERS.why if isinstance(members.get(name), str)]
    has_reason = bool(reasons) and not any(
        begins(message, phrases.nothing_to_do) for message in reasons
    )
    return each is False and has_reason


def _is_unfound(each: Any, members: Members) -> bool:
    is_found = any(isinstance(each, dict | int | float) and each for each in members.values())
    return each is False and not is_found


def _is_error_value(each: Any, members: Members) -> bool:
    if each is True:
        return _reason_in(members) is not None
    return bool(each) and isinstance(each, str | dict) and each not in _NO_ERROR


def _is_bad_word(each: Any, members: Members) -> bool:
    """True for `failed` and for statuses made of such words: `task_not_found`."""
    if not isinstance(each, str):
        return False
    word = each.lower().replace(" ", "_").replace("-", "_")
    if word == "error" or (word == "fail" and members.keys() <= MEMBERS.jsend):
        return True
    is_bad = word in OUTCOMES.bad or word.endswith(_BAD_ENDS) or word.startswith(_BAD_STARTS)
    return is_bad and (_reason_in(members) is not None or _is_alone(members))


def _is_alone(members: Members) -> bool:
    """True if all members but one are empty."""
    return sum(not _is_void(each) for each in members.values()) <= 1


def _number(each: Any) -> int:
    """Return a status or a code as a number; 0 if it is not one."""
    if isinstance(each, str):
        return int(each) if each.isdecimal() and len(each) < _LONGEST_CODE else 0
    return each if type(each) is int else 0


def _is_bad_status(each: Any, members: Members) -> bool:
    has_reason = _reason_in(members) or members.get("body") or _is_alone(members)
    return _number(each) in _BAD_STATUS and bool(has_reason)


def _is_bad_code(each: Any, members: Members) -> bool:
    """True for a code other than those of success, beside an empty payload."""
    is_void = any(name in members and not members[name] for name in MEMBERS.payloads)
    return is_void and _number(each) not in _GOOD_CODES and _reason_in(members) is not None


def _holds_bad_status(each: Any, members: Members) -> bool:
    """True if an object has an HTTP status of 400 or more."""
    if not isinstance(each, dict):
        return False
    inner = _members(each)
    is_bad = any(_number(inner.get(name)) in _BAD_STATUS for name in MEMBERS.http_statuses)
    return is_bad and ("request" in members or isinstance(members.get("message"), str))


def _is_bad_outcome(each: Any, members: Members) -> bool:
    """True if an OperationOutcome of FHIR has an issue that is an error."""
    if members.get("resourcetype") != "OperationOutcome" or not isinstance(each, list):
        return False
    grades = [issue.get("severity") for issue in each if isinstance(issue, dict)]
    return "error" in grades or "fatal" in grades


def _is_detail(each: Any, members: Members) -> bool:
    """True for `{"detail": "Not found."}`, or a message with a link to its documentation."""
    is_alone = len(members) == 1 and "detail" in members
    return isinstance(each, str | list) and (is_alone or isinstance(members.get("message"), str))


def _is_error_type(each: Any, members: Members) -> bool:
    is_type = isinstance(each, str) and _ERROR_CLASS.fullmatch(each) is not None
    return is_type and _reason_in(members, 1) is not None


def _denies(each: Any, members: Members) -> bool:
    if not isinstance(each, str):
        return False
    code, is_all = members.get("code"), _only_reports_failure(members)
    is_coded = isinstance(code, str) and _NAMED_CODE.fullmatch(code) and is_all
    strength = "strong" if is_coded else failure_strength(each)
    return strength == "strong" or (strength == "weak" and _only_reports_failure(members))


def _only_reports_failure(members: Members) -> bool:
    return all(name in _REPORTING or _is_beside(name, each) for name, each in members.items())


MARKS: Final = (
    Mark("flag-false", MEMBERS.success_flags, _is_no, 100, 0, 0, 0),
    Mark("flag-is-error", MEMBERS.failure_flags, lambda each, _: each is True, 100, 0, 0, 0),
    Mark("action-false", _DONE, _is_undone, 30, 0, 0, 0),
    Mark("not-found", frozenset({"found"}), _is_unfound, 30, 0, 0, 0),
    Mark("error-member", frozenset({"error", "err"}), _is_error_value, 30),
    Mark(
        "errors-member",
        MEMBERS.errors,
        lambda each, _: isinstance(each, list | dict) and each,
        10,
        identity=40,
    ),
    Mark("status-error", MEMBERS.outcomes, _is_bad_word, 30, 5, payload=20, identity=30),
    Mark("status-number", MEMBERS.http_statuses, _is_bad_status, 30),
    Mark("code", MEMBERS.codes, _is_bad_code, 30),
    Mark("exchange-failed", frozenset({"response"}), _holds_bad_status, 30, 0, 0),
    Mark("status-number", frozenset({"data"}), _holds_bad_status, 30, payload=0),
    Mark("outcome-error", frozenset({"issue"}), _is_bad_outcome, 30),
    Mark("detail-alone", frozenset({"detail", "documentationurl"}), _is_detail, 10),
    Mark(
        "error-named",
        MEMBERS.error_names,
        lambda each, _: each and each not in _NO_ERROR,
        30,
        container=25,
    ),
    Mark("error-named", frozenset({"type", "kind", "name"}), _is_error_type, 30, container=25),
    Mark("message-failed", frozenset({"message", "msg"}), _denies, 30, container=25, identity=30),
)
"""In order of precedence: the first one found names the rule."""
_BY_NAME: Final[dict[str, list[Mark]]] = {}
for _mark in MARKS:
    for _name in _mark.names:
        _BY_NAME.setdefault(_name, []).append(_mark)
_MARKED: Final = _BY_NAME.keys() - {"type", "kind", "name"}
"""Members of which an object must have one to be a failure."""


def failure_in(value: Any, given: Collection[Any] = ()) -> Sign | None:
    """Return the failure that a payload reports, or None. Values of arguments do not count."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MOST_MEMBERS:
        return None
    members = _members(value)
    if _MARKED.isdisjoint(members):
        return None
    if given:
        members = {
            name: each
            for name, each in members.items()
            if name == "id" or not each or each not in given
        }
    sign = _weighed(members)
    for name in () if sign else ("data", "result"):  # the outcome of an accepted request
        held = members.get(name)
        sign = sign or (_weighed(_members(held)) if type(held) is dict else None)
    return None if sign is None else sign._replace(details=dict(value))


def _weighed(members: Members) -> Sign | None:
    """Return the failure if the marks of the members outweigh the other members."""
    found = {name: mark for name in members if (mark := _mark_in(name, members)) is not None}
    if not found:
        return None
    first = min(found.values(), key=MARKS.index)
    points = sum(mark.points for mark in found.values())
    against = (_against(first, name, each) for name, each in members.items() if name not in found)
    points -= min(sum(against), _MOST_AGAINST)
    if points < _THRESHOLD:
        return None
    undone = found if first.rule == "action-false" else ()
    verbs = frozenset(verb for name in undone for verb in base_forms(name))
    return _sign(first.rule, members)._replace(verbs=verbs)


def _mark_in(name: str, members: Members) -> Mark | None:
    for mark in _BY_NAME.get(name, ()):
        if mark.is_bad(members[name], members):
            return mark
    return None


def _against(mark: Mark, name: str, each: Any) -> int:
    """Return the points that a member subtracts from a mark."""
    if name in MEMBERS.success_flags:
        is_held = isinstance(each, dict | list) and each
        return _SUCCESS if each is True else mark.container if is_held else 0
    if name == "id":
        return mark.identity
    if _is_void(each):
        return 0
    if name in MEMBERS.payloads and each not in _NO_PAYLOAD and not _is_report(each):
        return mark.payload
    if name in _REPORTING or _is_beside(name, each):
        return 0
    return mark.container if isinstance(each, dict | list) else mark.other


def _is_report(each: Any) -> bool:
    return isinstance(each, dict) and all(_plain(name) in _REPORTING for name in each)


def _is_beside(name: str, each: Any) -> bool:
    """True if a member goes with a failure rather than with a result: advice, or nothing."""
    is_advice = name in MEMBERS.advice or name.startswith(_OFFERS) or name.endswith(_OFFERED)
    return _is_void(each) or (is_advice and each is not True)


def _is_void(each: Any) -> bool:
    """True if a member is empty, or an object with empty members: `{"issue": null}`."""
    if isinstance(each, dict):
        return all(one is None for one in each.values())
    return each is None or each in ("", [])


# An object, as the reply to a call


def payload_failed(facts: Facts) -> Verdict | None:
    """Members that report a failure of the call."""
    value, call = facts.value, facts.call
    if type(value) is not dict:
        return None
    sign = failure_in(value, facts.arguments.values())
    if sign is None:
        sign = _exit_code(value, call) or _rejected_members(value, call)
        sign = sign or _only_failure(facts)
        return None if sign is None else facts.failed(sign, sign.confidence)
    counts = _counts(value)
    if counts is not None and counts[0] > 0:
        return Verdict("action", "likely", is_partial=True)
    if _is_finding(sign, value, call):
        return None
    if call.wants_many and reports_nothing_found(sign.message):
        none = collection.Collection([], dict(value), ("error",), "guess")
        return Verdict("list", "guess", found=none)
    return facts.failed(sign, sign.confidence)


def _is_finding(sign: Sign, value: Mapping[str, Any], call: Call) -> bool:
    """True if the failure is a result: a finding of a check, or the state of a thing."""
    rule, status = sign.rule, value.get("status")
    if rule == "not-found":
        return call.wants_many or NAMES.getting.isdisjoint(call.words[:1])
    if rule == "exchange-failed":
        return call.intent in ("list", "read") and not call.checks
    if sign.verbs and sign.verbs.isdisjoint(call.verbs):
        return call.intent != "act" or reports_completion(sign.message)
    if rule == "errors-member" and call.checks:
        return True
    is_untold = sign.message == _NO_MESSAGE and rule in ("flag-false", "status-number")
    if is_untold and (call.checks or (call.intent == "read" and _is_thing(value))):
        return True
    if rule == "flag-false":
        parts = [each for each in value.values() if isinstance(each, dict) and each]
        return call.checks and len(parts) > 1 and MEMBERS.about_errors.isdisjoint(value)
    if call.is_about_errors:
        return True
    is_missing = isinstance(status, str) and status.endswith("not_found")
    if call.checks and (
        rule == "outcome-error"
        or any(value.get(name) is False for name in MEMBERS.verdicts)
        or (rule == "status-error" and status != "error" and not is_missing)
    ):
        return True
    is_state = call.intent == "read" and not (is_missing and rule == "error-member")
    return is_state and _is_thing(value)


def _is_thing(value: Mapping[str, Any]) -> bool:
    """True if members have an id and a name or a state: a job, a deployment."""
    has_state = any(value.get(name) not in (None, "error") for name in _STATES)
    has_id = any(
        name == "id" or (name.endswith(("_id", "Id")) and "request" not in name) for name in value
    )
    return has_id and (has_state or not _NAMES.isdisjoint(value))


def _exit_code(value: Mapping[str, Any], call: Call) -> Sign | None:
    """Return the failure of a program with a bad exit code."""
    if MEMBERS.exit_codes.isdisjoint(value) or call.checks or call.wants_many:
        return None
    codes = (each for name, each in value.items() if name in MEMBERS.exit_codes)
    code = next((each for each in codes if type(each) is int), 0)
    output = value.get("stderr") or value.get("output") or value.get("stdout")
    reason = output.strip() if isinstance(output, str) else ""
    if not code or not (
        call.intent == "run" or call.gives_output or (reason and "id" not in value)
    ):
        return None
    confidence: Confidence = "guess" if call.intent == "run" else "likely"
    return Sign("exit-code", reason or "It ended badly", code, value, confidence)


def _rejected_members(value: Mapping[str, Any], call: Call) -> Sign | None:
    """Return the failure in `{"name": ["This field must be unique."]}`: messages by argument."""
    if call.intent != "act" or not 0 < len(value) <= _MOST_MEMBERS:
        return None
    rejected = [(name, [each] if isinstance(each, str) else each) for name, each in value.items()]
    if not all(
        isinstance(messages, list) and messages and all(map(_rejects, messages))
        for _, messages in rejected
    ):
        return None
    (name, (first, *_)), *_ = rejected
    return Sign("field-errors", f"{name}: {first}", None, dict(value), "likely")


def _rejects(message: Any) -> bool:
    return isinstance(message, str) and rejects_value(message)


def _only_failure(facts: Facts) -> Sign | None:
    """Return the failure if the only member beside echoes and flags is a failure message."""
    value, call = facts.value, facts.call
    if call.checks or call.gives_printed:
        return None
    member = ""
    for name, each in value.items():
        if each and not facts.echoes(each) and each not in _NO_ERROR:
            if member or not isinstance(each, str):
                return None
            member = name
    message = value.get(member)
    if not isinstance(message, str) or "\n" in message or member in _NAMES or not may_fail(message):
        return None
    is_none = reports_nothing_found(message, wants_many=call.wants_many)
    if is_none and call.wants_many:
        return None
    strength = failure_strength(message) or ("weak" if is_none else None)
    has_void = any(map(_is_void, value.values()))
    is_message = member in MEMBERS.messages and (has_void or not call.gives_content)
    is_message = is_message or (has_void and facts.mentions(message))
    if strength == "strong" or (strength == "weak" and is_message and len(value) > 1):
        confidence: Confidence = "likely" if call.wants_many else "guess"
        return Sign("message-failed", message, None, value, confidence)
    return None


# Several results


def all_failed(facts: Facts) -> Verdict | None:
    """Several results that all failed; if only some did, a partial action."""
    value, call = facts.value, facts.call
    is_open = call.checks or call.is_about_errors
    if isinstance(value, list) and not is_open and (issues := _issues_in(value)) is not None:
        return facts.failed(issues, "likely")
    items = () if call.is_query or "query" in call.words else _results(facts)
    if len(items) == 1 and (sign := _only_error(facts, items[0])) is not None:
        return facts.failed(sign._replace(rule="all-failed", details=value), "likely")
    if call.intent == "list":
        return None
    verdict = _counted(facts) if isinstance(value, dict) else None
    if verdict is not None or is_open or not items:
        return verdict
    known, bad = _count_outcomes(items)
    is_bare = bad == known and all(map(_is_bare, items))
    if not bad or known < len(items) or not (call.intent in ("act", "run") or is_bare):
        return None
    if bad < known:
        return Verdict("action", "likely", is_partial=True)
    failure = failure_in(items[0])
    message = _NO_REASON if failure is None else failure.message
    return facts.failed(Sign("all-failed", message, None, value), "likely")


def _only_error(facts: Facts, item: Any) -> Sign | None:
    """Return the failure of an item that is only an error, or whose error names an argument."""
    if not isinstance(item, dict) or facts.call.is_about_errors:
        return None
    if item.keys() <= MEMBERS.of_an_error and "error" in item:
        return failure_in(item)
    message = item.get("message")
    is_own = (
        isinstance(message, str)
        and facts.mentions(message)
        and failure_strength(message) == "strong"
    )
    return Sign("all-failed", str(message)) if is_own else None


def _counted(facts: Facts) -> Verdict | None:
    """An object that counts failures, or whose status reports that some failed."""
    value, call = facts.value, facts.call
    is_action = (call.intent not in ("read", "unknown") or call.may_act) and not call.checks
    status = value.get("status")
    is_partly = isinstance(status, str) and status in OUTCOMES.partly
    counts = _counts(value) or (1, int(is_partly))
    if counts[1] == 0:
        return None
    if counts[0] == 0:
        return facts.failed(Sign("all-failed", _NO_REASON, None, value), "likely")
    return Verdict("action", "likely", is_partial=True) if is_action else None


def _counts(value: Mapping[str, Any], depth: int = 0) -> tuple[int, int] | None:
    """Return how many succeeded and failed, if members or those of the payload count both."""
    counts: dict[str, int] = {}
    inner: Mapping[str, Any] | None = None
    for name, each in value.items():
        kind = type(each)
        count = len(each) if kind is list else each if kind is int else -1
        if count >= 0:
            counts[_outcome_counted(name)] = count
        elif kind is dict and inner is None and name in _SUMS:
            inner = each
    if "good" in counts and "bad" in counts:
        return counts["good"], counts["bad"]
    return None if inner is None or depth > _DEEPEST else _counts(inner, depth + 1)


@memo
def _outcome_counted(name: str) -> Literal["good", "bad", "unknown"]:
    """Return the outcome that a member counts: `successfulDownloads`, `failed`."""
    parts = frozenset(words_of(name))
    if not (OUTCOMES.badly | {"failed", "failure"}).isdisjoint(parts):
        return "bad"
    good = OUTCOMES.fine | OUTCOMES.well | OUTCOMES.done
    return "unknown" if good.isdisjoint(parts) else "good"


def _results(facts: Facts) -> Sequence[Any]:
    """Return the results of several operations: a list, or an object for each by name."""
    found = facts.find_collection()
    if found is not None or not isinstance(facts.value, dict):
        return found.items if found else ()
    if _CONTAINERS.isdisjoint(map(type, facts.value.values())):
        return ()
    results = [each for each in facts.value.values() if each and not facts.echoes(each)]
    if results and len(results) <= _MOST_MEMBERS and all(type(each) is dict for each in results):
        return results
    lists = [each for each in results if isinstance(each, list) and facts.call.checks]
    return lists[0] if len(lists) == 1 and len(lists[0]) == 1 else ()


def _count_outcomes(items: Sequence[Any]) -> tuple[int, int]:
    """Return how many results have a known outcome, and how many of those failed."""
    if not all(isinstance(item, dict) for item in items):
        return 0, 0
    outcomes = [each for item in items if (each := _outcome_of(item)) is not None]
    return len(outcomes), outcomes.count(False)


def _outcome_of(item: Mapping[str, Any]) -> bool | None:
    """Return whether a result succeeded or failed; None if it is unknown."""
    for name, each in item.items():
        if name in MEMBERS.success_flags and type(each) is bool:
            return each
    if failure_in(item) is not None:
        return False
    status = item.get("status")
    return True if isinstance(status, str) and status.lower() in OUTCOMES.fine else None


def _is_bare(item: Mapping[str, Any]) -> bool:
    """True if an item has little beside its failure."""
    if failure_in(item) is None:
        return False
    others = [
        name for name, each in item.items() if _plain(name) not in _REPORTING and not _is_void(each)
    ]
    return len(others) <= _FEW or ("data" in item and item["data"] is None)


def _issues_in(items: list[Any]) -> Sign | None:
    """Return the failure in `[{"path": ["id"], "message": "Required"}]`: issues of a validator."""
    if not items or not all(map(_issue, items)):
        return None
    return Sign("issues", str(_issue(items[0])), None, {"issues": items})


def _issue(item: Any) -> str | None:
    """Return an issue as `path: message`; None if it is not one."""
    if not isinstance(item, dict) or not item.keys() <= _OF_AN_ISSUE:
        return None
    place = next((item[name] for name in _ISSUE_PLACES if name in item), None)
    message = next((item[name] for name in _ISSUE_TEXTS if isinstance(item.get(name), str)), "")
    if place is None or not message or not (isinstance(place, list) or rejects_value(message)):
        return None
    named = ".".join(map(str, place)) if isinstance(place, list) else str(place)
    return f"{named}: {message}" if named else message
