"""Evidence that the operation failed, in `isError` and in the members of an object or an array.

One walk over the members of an object collects the marks of a failure (`MARKS`) and what speaks
against it; the marks add up, so that strong evidence counts however many members stand beside it.
Names are compared in one spelling and language: `errorMessage` and `Error Message` are the same.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

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
_TELLS: Final = MEMBERS.errors.union(_REASONS, _CODES, MEMBERS.error_names, MEMBERS.success_flags)
"""Members that only tell of a failure."""
_OFFERS: Final = ("available", "valid", "supported", "suggested", "allowed", "known")
"""Beginnings of members that tell what could be given instead: `availableComponents`."""
_OFFERED: Final = ("available", "disponibles")
"""Their ends: `productos_disponibles`."""
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
"""Objects in objects that are searched for a message or for numbers."""
_MOST_MEMBERS: Final = 200
"""Members of an object that are looked at."""
_BAD_STATUS: Final = range(400, 600)
_GOOD_CODES: Final = (0, 1, *range(200, 300))
"""Codes of success where another code is a failure: HTTP's, and what programs exit with."""
_ISSUE_PLACES: Final = ordered("members.issue-places")
_ISSUE_TEXTS: Final = ordered("members.issue-texts")
_OF_AN_ISSUE: Final = MEMBERS.issue_places | MEMBERS.issue_texts | MEMBERS.of_an_issue
_SUMS: Final = ("data", "summary", "result", "results", "stats")
_CONTAINERS: Final = frozenset({dict, list})
_FEW: Final = 2
"""Members that say of what something failed; more are a thing, of which a failure is a part."""
_NO_MESSAGE: Final = "The tool reported a failure"
_NO_REASON: Final = "All of it failed"

Members = Mapping[str, Any]
"""The members of an object by their names in one spelling."""


def is_error(facts: Facts) -> Verdict | None:
    """Return the failure that a result declares by `isError`."""
    return Verdict("error", found=failure_in(facts.value)) if facts.is_error is True else None


# Why it failed


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


# The marks of a failure


class Mark(NamedTuple):
    """A member that may report a failure, its weight, and what other members take from it."""

    rule: str
    names: frozenset[str]
    is_bad: Callable[[Any, Members], object]
    points: int
    other: int = 4
    """For each member that tells something else: with six of them, it is about a thing."""
    container: int = 4
    """For each object or array that tells something else."""
    payload: int = 25
    identity: int = 0


_THRESHOLD: Final = 10
"""Points of a failure."""
_MOST_AGAINST: Final = 45
"""What all other members take at most: two marks are a failure beside any number of them."""
_SUCCESS: Final = 40
"""What a flag of success takes."""


def _is_no(each: Any, _: Members) -> bool:
    return each is False or each in _NO


def _is_undone(each: Any, members: Members) -> bool:
    reasons = [members[name] for name in MEMBERS.why if isinstance(members.get(name), str)]
    is_told = bool(reasons) and not any(begins(why, phrases.nothing_to_do) for why in reasons)
    return each is False and is_told


def _is_unfound(each: Any, members: Members) -> bool:
    is_found = any(isinstance(each, dict | int | float) and each for each in members.values())
    return each is False and not is_found


def _is_error_value(each: Any, members: Members) -> bool:
    if each is True:
        return _reason_in(members) is not None
    return bool(each) and isinstance(each, str | dict) and each not in _NO_ERROR


def _is_bad_word(each: Any, members: Members) -> bool:
    """`failed`, and statuses that are made of such words: `task_not_found`."""
    if not isinstance(each, str):
        return False
    word = each.lower().replace(" ", "_").replace("-", "_")
    if word == "error" or (word == "fail" and members.keys() <= MEMBERS.jsend):
        return True
    is_bad = word in OUTCOMES.bad or word.endswith(_BAD_ENDS) or word.startswith(_BAD_STARTS)
    return is_bad and (_reason_in(members) is not None or _is_alone(members))


def _is_alone(members: Members) -> bool:
    """Whether all members but one hold nothing."""
    return sum(not _is_void(each) for each in members.values()) <= 1


def _number(each: Any) -> int:
    """Return a status or a code as a number; 0 if it is not one."""
    if isinstance(each, str):
        return int(each) if each.isdecimal() and len(each) < _LONGEST_CODE else 0
    return each if type(each) is int else 0


def _is_bad_status(each: Any, members: Members) -> bool:
    is_told = _reason_in(members) or members.get("body") or _is_alone(members)
    return _number(each) in _BAD_STATUS and bool(is_told)


def _is_bad_code(each: Any, members: Members) -> bool:
    """Whether a code is not that of success, beside a payload that holds nothing."""
    is_void = any(name in members and not members[name] for name in MEMBERS.payloads)
    return is_void and _number(each) not in _GOOD_CODES and _reason_in(members) is not None


def _holds_bad_status(each: Any, members: Members) -> bool:
    """Whether an object holds an HTTP status of 400 or more."""
    if not isinstance(each, dict):
        return False
    inner = _members(each)
    is_bad = any(_number(inner.get(name)) in _BAD_STATUS for name in MEMBERS.http_statuses)
    return is_bad and ("request" in members or isinstance(members.get("message"), str))


def _is_bad_outcome(each: Any, members: Members) -> bool:
    """Whether one of the issues is an error, in the outcome of an operation as FHIR tells it."""
    if members.get("resourcetype") != "OperationOutcome" or not isinstance(each, list):
        return False
    grades = [issue.get("severity") for issue in each if isinstance(issue, dict)]
    return "error" in grades or "fatal" in grades


def _is_detail(each: Any, members: Members) -> bool:
    """`{"detail": "Not found."}`; a message with the address of its documentation."""
    is_alone = len(members) == 1 and "detail" in members
    return isinstance(each, str | list) and (is_alone or isinstance(members.get("message"), str))


def _is_error_type(each: Any, members: Members) -> bool:
    is_type = isinstance(each, str) and _ERROR_CLASS.fullmatch(each) is not None
    return is_type and _reason_in(members, 1) is not None


def _denies(each: Any, members: Members) -> bool:
    if not isinstance(each, str):
        return False
    code, is_all = members.get("code"), _only_tells(members)
    is_coded = isinstance(code, str) and _NAMED_CODE.fullmatch(code) and is_all
    strength = "strong" if is_coded else says_failed(each)
    return strength == "strong" or (strength == "weak" and _only_tells(members))


def _only_tells(members: Members) -> bool:
    return all(name in _TELLS or _is_beside(name, each) for name, each in members.items())


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
"""In order: the first one that is there gives its name to the failure."""
_BY_NAME: Final[dict[str, list[Mark]]] = {}
for _mark in MARKS:
    for _name in _mark.names:
        _BY_NAME.setdefault(_name, []).append(_mark)
_TELLING: Final = _BY_NAME.keys() - {"type", "kind", "name"}
"""Members without any of which no failure is reported."""


def failure_in(value: Any, given: Collection[Any] = ()) -> Sign | None:
    """Return the failure that a payload reports, if it does. What was given reports nothing."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MOST_MEMBERS:
        return None
    members = _members(value)
    if _TELLING.isdisjoint(members):
        return None
    if given:
        members = {
            name: each
            for name, each in members.items()
            if name == "id" or not each or each not in given
        }
    sign = _weighed(members)
    for name in () if sign else ("data", "result"):  # of a request that was accepted
        held = members.get(name)
        sign = sign or (_weighed(_members(held)) if type(held) is dict else None)
    return None if sign is None else sign._replace(details=dict(value))


def _weighed(members: Members) -> Sign | None:
    """Return the failure that the marks of members amount to, less what is beside them."""
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
    """Return what a member takes from the points of a mark."""
    if name in MEMBERS.success_flags:
        is_held = isinstance(each, dict | list) and each
        return _SUCCESS if each is True else mark.container if is_held else 0
    if name == "id":
        return mark.identity
    if _is_void(each):
        return 0
    if name in MEMBERS.payloads and each not in _NO_PAYLOAD and not _only_reports(each):
        return mark.payload
    if name in _TELLS or _is_beside(name, each):
        return 0
    return mark.container if isinstance(each, dict | list) else mark.other


def _only_reports(each: Any) -> bool:
    return isinstance(each, dict) and all(_plain(name) in _TELLS for name in each)


def _is_beside(name: str, each: Any) -> bool:
    """Whether a member stands beside a failure, rather than for something that was achieved."""
    is_advice = name in MEMBERS.advice or name.startswith(_OFFERS) or name.endswith(_OFFERED)
    return _is_void(each) or (is_advice and each is not True)


def _is_void(each: Any) -> bool:
    """Whether a member holds nothing, or an object that holds nothing: `{"issue": null}`."""
    if isinstance(each, dict):
        return all(one is None for one in each.values())
    return each is None or each in ("", [])


# An object, as the reply to a call


def payload_failed(facts: Facts) -> Verdict | None:
    """The members report a failure, and what failed is the call."""
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
    """Whether what failed is not the call: what a check found, or what is told of one thing."""
    rule, status = sign.rule, value.get("status")
    if rule == "not-found":
        return call.wants_many or NAMES.getting.isdisjoint(call.words[:1])
    if rule == "exchange-failed":
        return call.intent in ("list", "read") and not call.checks
    if sign.verbs and sign.verbs.isdisjoint(call.verbs):
        return call.intent != "act" or reports_completion(sign.message)
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
    is_told = call.intent == "read" and not (is_missing and rule == "error-member")
    return is_told and _is_thing(value)


def _is_thing(value: Mapping[str, Any]) -> bool:
    """Whether members identify a thing, and tell its name or its state: a job, a deployment."""
    has_state = any(value.get(name) not in (None, "error") for name in _STATES)
    has_id = any(
        name == "id" or (name.endswith(("_id", "Id")) and "request" not in name) for name in value
    )
    return has_id and (has_state or not _NAMES.isdisjoint(value))


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


def _rejected_members(value: Mapping[str, Any], call: Call) -> Sign | None:
    """`{"name": ["This field must be unique."]}`: only what was wrong with each argument."""
    if call.intent != "act" or not 0 < len(value) <= _MOST_MEMBERS:
        return None
    told = [(name, [each] if isinstance(each, str) else each) for name, each in value.items()]
    if not all(isinstance(why, list) and why and all(map(_rejects, why)) for _, why in told):
        return None
    (name, (first, *_)), *_ = told
    return Sign("field-errors", f"{name}: {first}", None, dict(value), "likely")


def _rejects(why: Any) -> bool:
    return isinstance(why, str) and rejects_value(why)


def _only_failure(facts: Facts) -> Sign | None:
    """All that the members tell, beside what was given, is a message that it failed."""
    value, call = facts.value, facts.call
    if call.checks or call.gives_printed:
        return None
    told = ""
    for name, each in value.items():
        if each and not facts.echoes(each) and each not in _NO_ERROR:
            if told or not isinstance(each, str):
                return None
            told = name
    why = value.get(told)
    if not isinstance(why, str) or "\n" in why or told in _NAMES or not may_fail(why):
        return None
    is_none = reports_nothing_found(why, wants_many=call.wants_many)
    if is_none and call.wants_many:
        return None
    strength = says_failed(why) or ("weak" if is_none else None)
    has_void = any(map(_is_void, value.values()))
    is_message = told in MEMBERS.messages and (has_void or not call.gives_content)
    is_message = is_message or (has_void and facts.mentions(why))
    if strength == "strong" or (strength == "weak" and is_message and len(value) > 1):
        confidence: Confidence = "likely" if call.wants_many else "guess"
        return Sign("message-failed", why, None, value, confidence)
    return None


# Several results


def all_failed(facts: Facts) -> Verdict | None:
    """Each of several things failed, or they are counted; if only some did, it is partial."""
    value, call = facts.value, facts.call
    is_open = call.checks or call.is_about_errors
    if isinstance(value, list) and not is_open and (issues := _issues_in(value)) is not None:
        return facts.failed(issues, "likely")
    items = _results(facts)
    if len(items) == 1 and (sign := _only_error(facts, items[0])) is not None:
        return facts.failed(sign._replace(rule="all-failed", details=value), "likely")
    if call.intent == "list":
        return None
    verdict = _counted(facts) if isinstance(value, dict) else None
    if verdict is not None or is_open or not items:
        return verdict
    told, bad = _failed_among(items)
    is_bare = bad == told and all(map(_is_bare, items))
    if not bad or told < len(items) or not (call.intent in ("act", "run") or is_bare):
        return None
    if bad < told:
        return Verdict("action", "likely", is_partial=True)
    why = failure_in(items[0])
    message = _NO_REASON if why is None else why.message
    return facts.failed(Sign("all-failed", message, None, value), "likely")


def _only_error(facts: Facts, item: Any) -> Sign | None:
    """The only item is an error and nothing else, or one that mentions what was given."""
    if not isinstance(item, dict) or facts.call.is_about_errors:
        return None
    if item.keys() <= MEMBERS.of_an_error and "error" in item:
        return failure_in(item)
    why = item.get("message")
    is_own = isinstance(why, str) and facts.mentions(why) and says_failed(why) == "strong"
    return Sign("all-failed", str(why)) if is_own else None


def _counted(facts: Facts) -> Verdict | None:
    """What an object says of how many succeeded and how many failed, in numbers or in a status."""
    value, call = facts.value, facts.call
    is_action = (call.intent not in ("read", "unknown") or call.may_act) and not call.checks
    counts = _counts(value) or (1, int(str(value.get("status")) in OUTCOMES.partly))
    if counts[1] == 0:
        return None
    if counts[0] == 0:
        return facts.failed(Sign("all-failed", _NO_REASON, None, value), "likely")
    return Verdict("action", "likely", is_partial=True) if is_action else None


def _counts(value: Mapping[str, Any], depth: int = 0) -> tuple[int, int] | None:
    """Return how many succeeded and failed, where members count both, here or in the payload."""
    counts: dict[str, int] = {}
    inner: Mapping[str, Any] | None = None
    for name, each in value.items():
        kind = type(each)
        count = len(each) if kind is list else each if kind is int else -1
        if count >= 0:
            counts[_ended(name)] = count
        elif kind is dict and inner is None and name in _SUMS:
            inner = each
    if "good" in counts and "bad" in counts:
        return counts["good"], counts["bad"]
    return None if inner is None or depth > _DEEPEST else _counts(inner, depth + 1)


@memo
def _ended(name: str) -> Literal["good", "bad", "unknown"]:
    """Return the end of which a member is the number: `successfulDownloads`, `failed`."""
    parts = frozenset(words_of(name))
    if not (OUTCOMES.badly | {"failed", "failure"}).isdisjoint(parts):
        return "bad"
    good = OUTCOMES.fine | OUTCOMES.well | OUTCOMES.done
    return "unknown" if good.isdisjoint(parts) else "good"


def _results(facts: Facts) -> Sequence[Any]:
    """Return the results for several things: a list, or an object for each by its name."""
    found = facts.find_collection()
    if found is not None or not isinstance(facts.value, dict):
        return found.items if found else ()
    if _CONTAINERS.isdisjoint(map(type, facts.value.values())):
        return ()
    told = [each for each in facts.value.values() if each and not facts.echoes(each)]
    if told and len(told) <= _MOST_MEMBERS and all(type(each) is dict for each in told):
        return told
    lists = [each for each in told if isinstance(each, list) and facts.call.checks]
    return lists[0] if len(lists) == 1 and len(lists[0]) == 1 else ()


def _failed_among(items: Sequence[Any]) -> tuple[int, int]:
    """Return how many of several results tell how they ended, and how many of those failed."""
    if not all(isinstance(item, dict) for item in items):
        return 0, 0
    ends = [end for item in items if (end := _end_of(item)) is not None]
    return len(ends), ends.count(False)


def _end_of(item: Mapping[str, Any]) -> bool | None:
    """Whether a result tells that it succeeded or failed; None if it tells neither."""
    for name in MEMBERS.success_flags:
        if type(item.get(name)) is bool:
            return bool(item[name])
    if failure_in(item) is not None:
        return False
    return True if str(item.get("status")).lower() in OUTCOMES.fine else None


def _is_bare(item: Mapping[str, Any]) -> bool:
    """Whether an item says little but that it failed, and of what."""
    if failure_in(item) is None:
        return False
    others = [
        name for name, each in item.items() if _plain(name) not in _TELLS and not _is_void(each)
    ]
    return len(others) <= _FEW or ("data" in item and item["data"] is None)


def _issues_in(items: list[Any]) -> Sign | None:
    """`[{"path": ["id"], "message": "Required"}]`: what a validator found in the arguments."""
    if not items or not all(map(_issue, items)):
        return None
    return Sign("issues", str(_issue(items[0])), None, {"issues": items})


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
