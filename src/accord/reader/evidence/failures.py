"""Evidence that the operation failed: declared, or told by the members of an object or an array."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from accord.reader.call import Call
from accord.reader.collection import Collection
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.evidence.failure_members import Sign, failure_in, says_success
from accord.reader.evidence.failure_text import may_fail, rejects_value, says_failed
from accord.reader.lexicon import MEMBERS, NAMES, OUTCOMES, memo, ordered, squeezed, words, words_of
from accord.reader.reading import Confidence
from accord.reader.sentences import reports_completion, reports_nothing_found

_STATES: Final = ("status", "state")
_NAMES: Final = frozenset({"name", "title", "created_at", "createdAt"})
_MOST_RESULTS: Final = 200
"""Members of an object that holds a result for each of several things."""
_FEW: Final = 4
"""An item of more members is a thing, of which a failure is a part."""
_SOME: Final = 6
"""An object of more members holds more than a message; objects in objects that are looked at."""
_NO_REASON: Final = "All of it failed"
_ISSUE_PLACES: Final = ordered("members.issue-places")
_PLACES: Final = frozenset(_ISSUE_PLACES)
_ISSUE_TEXTS: Final = ordered("members.issue-texts")
_OF_AN_ISSUE: Final = words("members.issue-places", "members.issue-texts", "members.of-an-issue")
_WELL: Final = OUTCOMES.fine | OUTCOMES.well
_BADLY: Final = frozenset({"failed", "failure"}) | OUTCOMES.badly
_NOTHING_WRONG: Final[tuple[Any, ...]] = (*OUTCOMES.no_error, None, False, "", [], {})


def is_error(facts: Facts) -> Verdict | None:
    """The result says so itself."""
    if facts.is_error is not True:
        return None
    return Verdict("error", found=failure_in(facts.value))


def failed(facts: Facts, sign: Sign, confidence: Confidence) -> Verdict:
    """Return the evidence of a failure; a result that says otherwise is a finding."""
    lies = "isError is false, but the payload reports a failure"
    return Verdict("error", confidence, lies if facts.is_error is False else None, found=sign)


# An object


def payload_failed(facts: Facts) -> Verdict | None:
    """A flag, an error, a status; an error that nothing was found is none of a search."""
    value, call = facts.value, facts.call
    if type(value) is not dict:
        return None
    sign = failure_in(value, facts.arguments.values())
    if sign is None:
        return _told_otherwise(facts, value)
    counts = _failed_counts(value)
    if counts is not None and counts[0] > 0:
        return Verdict("action", "likely", is_partial=True)
    if _is_no_failure(sign, call):
        return None
    is_asked = sign.rule in ("errors-member", "error-named") and call.is_about_errors
    if is_asked or _is_of_a_thing(value, sign, call) or _is_finding(value, sign, call):
        return None
    is_word = sign.rule in ("error-member", "deed-false")
    if is_word and call.wants_many and reports_nothing_found(sign.message):
        return Verdict("list", "guess", found=Collection([], dict(value), ("error",), "guess"))
    return failed(facts, sign, sign.confidence)


def _is_no_failure(sign: Sign, call: Call) -> bool:
    """Whether a sign is none for this tool."""
    if sign.rule == "not-found":
        return call.wants_many or call.words[0] not in NAMES.getting
    if sign.rule == "outcome-error":
        return call.checks
    if not sign.verbs or not sign.verbs.isdisjoint(call.verbs):
        return False
    return call.intent != "act" or reports_completion(sign.message)


def _told_otherwise(facts: Facts, value: dict[str, Any]) -> Verdict | None:
    """A failure told by an exit code, member by member, or in a message beside echoes."""
    call = facts.call
    if (sign := _exit_code(value, call)) is not None:
        return failed(facts, sign, "guess" if call.intent == "run" else "likely")
    if call.intent == "act" and (sign := _rejected_members(value)) is not None:
        return failed(facts, sign, "likely")
    if call.checks or call.gives_printed:
        return None
    given = facts.arguments.values()
    told = [member for member in value.items() if member[1] and member[1] not in given]
    if len(told) == 1 and (sign := _refusal(value, *told[0], call)) is not None:
        return failed(facts, sign, "likely" if call.wants_many else "guess")
    if (sign := _miss(value, call) or _failed_within(value, told, call)) is not None:
        return failed(facts, sign, "likely")
    return None


def _exit_code(value: Mapping[str, Any], call: Call) -> Sign | None:
    """What was run ended badly, by its exit code."""
    if MEMBERS.exit_codes.isdisjoint(value):
        return None
    code = next((value[name] for name in MEMBERS.exit_codes if type(value.get(name)) is int), 0)
    if not code or call.checks or call.wants_many:
        return None
    told = value.get("stderr") or value.get("output") or value.get("stdout")
    why = told.strip() if isinstance(told, str) and told.strip() else ""
    if not (call.intent == "run" or call.gives_output or (why and "id" not in value)):
        return None
    return Sign("exit-code", why or "It ended badly", code, value)


def _refusal(value: dict[str, Any], name: str, why: Any, call: Call) -> Sign | None:
    """A message that says that it failed, beside echoes and members that hold nothing."""
    if not isinstance(why, str) or len(value) > _SOME or "\n" in why or name in _NAMES:
        return None
    if not may_fail(why) or (call.wants_many and reports_nothing_found(why, wants_many=True)):
        return None
    strength = says_failed(why)
    has_void = any(each is None or each in ("", [], {}) for each in value.values())
    is_message = (
        name in MEMBERS.messages and (has_void or not call.gives_content) and len(value) > 1
    )
    if strength == "strong" or (strength is not None and is_message):
        return Sign("message-failed", why, None, value)
    return None


def _miss(value: Mapping[str, Any], call: Call) -> Sign | None:
    """An action whose status is that what it was for is not there, whatever else is told."""
    status, why = value.get("status"), value.get("message")
    is_missing = isinstance(status, str) and squeezed(status) == "notfound"
    is_asked = call.intent == "act" or (len(value) <= _FEW and not call.wants_many)
    if not is_missing or not is_asked or not (isinstance(why, str) or call.intent != "act"):
        return None
    return Sign("status-error", why if isinstance(why, str) else "Not found", status, dict(value))


def _failed_within(value: dict[str, Any], told: list[tuple[str, Any]], call: Call) -> Sign | None:
    """A failure in each object that is held, beside echoes and members that hold nothing."""
    if not 0 < len(told) <= _MOST_RESULTS or call.gives_content or "id" in value:
        return None
    if not all(type(each) is dict and _is_bare(each) for _, each in told):
        return None
    sign = failure_in(told[0][1])
    return None if sign is None else sign._replace(details=value)


def _is_of_a_thing(value: Mapping[str, Any], sign: Sign, call: Call) -> bool:
    """Whether what failed is the thing that was asked about: a job, a deployment."""
    status = value.get("status")
    is_missing = isinstance(status, str) and status.endswith("not_found")
    if is_missing and sign.rule == "error-member":
        return False
    if sign.rule == "status-error" and call.checks and status != "error" and not is_missing:
        return True
    if call.intent != "read" or sign.rule not in ("error-member", "status-error", "error-named"):
        return False
    is_told = any(value.get(name) not in (None, "error") for name in _STATES)
    has_id = any(
        name == "id" or (name.endswith(("_id", "Id")) and "request" not in name) for name in value
    )
    return has_id and (is_told or not _NAMES.isdisjoint(value))


def _is_finding(value: Mapping[str, Any], sign: Sign, call: Call) -> bool:
    """Whether a check found that something is not valid, or what was recorded had failed."""
    if sign.rule == "exchange-failed":
        return call.intent in ("list", "read") and not call.checks
    if sign.rule == "flag-false":
        parts = [name for name, each in value.items() if isinstance(each, dict) and each]
        return (
            call.checks
            and call.is_about_one
            and MEMBERS.about_errors.isdisjoint(value)
            and len(parts) > 1
        )
    return call.checks and any(value.get(name) is False for name in MEMBERS.verdicts)


# Several results


def all_failed(facts: Facts) -> Verdict | None:
    """Each of several things says that it failed, or they are counted."""
    value, call = facts.value, facts.call
    if isinstance(value, list):
        is_finding = call.checks or call.is_about_errors or call.intent == "list"
        sign = None if is_finding else _issues_in(value)
        if sign is None and len(value) == 1 and _is_nothing_but_error(value[0], call):
            sign = Sign("all-failed", _why(value), None, value[0])
        if sign is not None:
            return failed(facts, sign, "likely")
    if call.intent == "list":
        return None
    verdict = _counted(facts) if isinstance(value, dict) else None
    if verdict is not None or call.is_about_errors or call.checks:
        return verdict
    items = _results(facts)
    told, bad = _failed_among(items) if items else (0, 0)
    if not bad or told < len(items):
        return None
    if call.intent not in ("act", "run") and not (bad == told and all(map(_is_bare, items))):
        return None
    if bad < told:
        return Verdict("action", "likely", is_partial=True)
    if isinstance(value, dict) and says_success(value):
        return None
    return failed(facts, Sign("all-failed", _why(items), None, value), "likely")


def _counted(facts: Facts) -> Verdict | None:
    """What an object says of how many succeeded and how many failed, in numbers or in a status."""
    value, call = facts.value, facts.call
    if str(value.get("status")) in OUTCOMES.partly and call.intent in ("act", "run", "make"):
        return Verdict("action", "likely", is_partial=True)
    counts = _failed_counts(value)
    if counts is None or counts[1] == 0:
        return None
    if counts[0] == 0:
        return failed(facts, Sign("all-failed", _NO_REASON, None, value), "likely")
    is_deed = (call.intent not in ("read", "unknown") or call.may_act) and not call.checks
    return Verdict("action", "likely", is_partial=True) if is_deed else None


def _is_nothing_but_error(item: Any, call: Call) -> bool:
    """Whether the only thing in a list is an error and nothing else: `[{"error": "…"}]`."""
    if call.is_about_errors or not isinstance(item, dict) or "error" not in item:
        return False
    return item.keys() <= MEMBERS.of_an_error and failure_in(item) is not None


def _is_bare(item: Mapping[str, Any]) -> bool:
    """Whether an item says nothing but that it failed, and perhaps of what."""
    if failure_in(item) is None or ("id" in item and not _NAMES.union(_STATES).isdisjoint(item)):
        return False
    others = [each for name, each in item.items() if name != "success"]
    is_refused = item.get("success") is False and all(isinstance(each, str) for each in others)
    has_none = "data" in item and item["data"] is None
    return len(item) <= _FEW or has_none or (is_refused and "error" in item)


def _results(facts: Facts) -> list[Any]:
    """What came of each of several things: a list, or an object for each by its name."""
    value = facts.value
    if isinstance(value, dict) and 0 < len(value) <= _MOST_RESULTS:
        each = list(value.values())
        if isinstance(each[0], dict) and all(isinstance(one, dict) for one in each):
            return each
    collection = facts.find_collection()
    return collection.items if collection else []


def _why(items: list[Any]) -> str:
    sign = failure_in(items[0])
    return _NO_REASON if sign is None else sign.message


# What was given to an action and rejected, member by member


def _rejected_members(value: Any) -> Sign | None:
    """`{"name": ["This field must be unique."]}`: only what was wrong with each."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MOST_RESULTS:
        return None
    told = [(name, [each] if isinstance(each, str) else each) for name, each in value.items()]
    if not all(isinstance(why, list) and why and all(map(_rejects, why)) for _, why in told):
        return None
    (name, (first, *_)), *_ = told
    return Sign("field-errors", f"{name}: {first}", None, dict(value))


def _issues_in(items: list[Any]) -> Sign | None:
    """`[{"path": ["id"], "message": "Required"}]`: what a validator found in the arguments."""
    if not items or not all(isinstance(each, dict) and _is_issue(each) for each in items):
        return None
    first = items[0]
    place = next(first[name] for name in _ISSUE_PLACES if name in first)
    why = next(first[name] for name in _ISSUE_TEXTS if isinstance(first.get(name), str))
    named = ".".join(map(str, place)) if isinstance(place, list) else str(place)
    return Sign("issues", f"{named}: {why}" if named else why, None, {"issues": items})


def _is_issue(item: Mapping[str, Any]) -> bool:
    """Whether an object says where something is wrong, and what: with a code, or as a rejection."""
    if _PLACES.isdisjoint(item):
        return False
    place = next((item[name] for name in _ISSUE_PLACES if name in item), None)
    why = next((item[name] for name in _ISSUE_TEXTS if isinstance(item.get(name), str)), "")
    if place is None or not why or not item.keys() <= _OF_AN_ISSUE:
        return False
    return isinstance(place, list) or rejects_value(why)


def _rejects(why: Any) -> bool:
    return isinstance(why, str) and rejects_value(why)


# Several results


def _failed_among(items: list[Any]) -> tuple[int, int]:
    """How many of several results say how they ended, and how many of those failed."""
    told = failed = 0
    for item in items:
        if not isinstance(item, dict):
            return 0, 0
        flag = next(
            (item[name] for name in MEMBERS.success_flags if type(item.get(name)) is bool), None
        )
        status = item.get("status", item.get("result"))
        if (
            flag is None
            and isinstance(status, str)
            and status.lower() in OUTCOMES.bad | OUTCOMES.fine
        ):
            flag = status.lower() not in OUTCOMES.bad
        if flag is None and (_is_reason(item.get("error")) or item.get("found") is False):
            flag = False
        if flag is None and len(item) < _FEW and item.get("error") not in _NOTHING_WRONG:
            flag = False
        told += flag is not None
        failed += flag is False
    return told, failed


def _is_reason(error: Any) -> bool:
    """Whether an error says why, rather than that there was one or none: a column of a table."""
    is_text = isinstance(error, str) and (" " in error.strip() or not error.isascii())
    return is_text or isinstance(error, dict)


_TALLIES: Final = ("data", "summary", "result", "results", "stats")


def _failed_counts(value: Mapping[str, Any], depth: int = 0) -> tuple[int, int] | None:
    """How many succeeded and how many failed, where members count both, here or in the payload."""
    counts: dict[str, int] = {}
    for name, each in value.items():
        count = len(each) if isinstance(each, list) else each
        if type(count) is int and count >= 0:
            counts[_ended(name)] = count
    if "good" in counts and "bad" in counts:
        return counts["good"], counts["bad"]
    inner = next((value[name] for name in _TALLIES if isinstance(value.get(name), dict)), None)
    return None if inner is None or depth > _SOME else _failed_counts(inner, depth + 1)


@memo
def _ended(name: str) -> Literal["good", "bad", "unknown"]:
    """Of what end a member is the number: `successfulDownloads`, `insertedCount`, `failed`."""
    parts = frozenset(words_of(name))
    if not _BADLY.isdisjoint(parts):
        return "bad"
    return (
        "good" if not _WELL.isdisjoint(parts) or not OUTCOMES.done.isdisjoint(parts) else "unknown"
    )
