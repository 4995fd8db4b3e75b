"""Rules that say that the operation failed."""

import re
from collections.abc import Mapping
from typing import Any, Final

from accord.reader.call import Call, is_action_verb
from accord.reader.collection_shapes import Collection
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.evidence.failure_members import (
    Sign,
    failed_among,
    failed_counts,
    failure_in,
    says_success,
)
from accord.reader.evidence.failure_text import Strength, may_fail, says_failed, says_failed_to_give
from accord.reader.lexicon import singular, squeezed
from accord.reader.lexicon.tools import REFUSING
from accord.reader.reading import Confidence
from accord.reader.sentences import (
    missing_noun,
    reports_all_failed,
    reports_completion,
    reports_each_failed,
    reports_none_of_all,
    reports_nothing_found,
    reports_rejection,
    reports_verb,
    split_sentence,
)

_STATES: Final = ("status", "state")
_PARTLY: Final = ("partial_success", "partial-success", "partially_failed", "partial_failure")
_NAMES: Final = frozenset({"name", "title", "created_at", "createdAt"})
_PLAIN_VERBS: Final = frozenset({"get", "show", "view", "find", "list", "load", "help"})
"""Words of a tool's name that any text may have."""
_OF_AN_ERROR: Final = frozenset({"error", "code", "message", "details", "success", "status"})
_ABOUT: Final = frozenset({"error", "errors", "message", "meta", "request", "reason"})
"""What stands beside a failure, and beside no finding."""
_MOST_RESULTS: Final = 200
_FEW: Final = 4
_SOME: Final = 6
_MESSAGES: Final = ("message", "msg", "detail", "reason", "additional_info")
_GETTING: Final = tuple((word,) for word in "get lookup read show fetch describe load".split())
_EXITED: Final = re.compile(
    r"\b(?:exit|return)(?:ed with)?[ _]?(?:code|status)?\W{1,4}([1-9]\d{0,2})\W*$"
)
_BEGINS_EXITED: Final = re.compile(
    r"\W{0,4}(?:exit (?:code|status)|status code(?=\W{1,4}\d{1,2}\b))\W{1,4}([1-9]\d{0,2})\W*\n"
)
_FAILED: Final = re.compile(r"\W{0,4}(?:failed|error|unable|could not)\b", re.I)
_ADVISED: Final = re.compile(
    r"\W{0,4}no [^.!\n]{1,80}[.!] (?:please|start|launch|open|connect|call|run|use|select)\b", re.I
)
"""What has to be there first is not: `No active page. Launch a browser first.`"""
_NO_SESSION: Final = re.compile(
    r"no (?:active|current|connected|selected|loaded) (?:\w+ )?"
    r"(?P<what>session|connection|workspace|debugger|document)\b"
    r"(?: (?:found|available|set|selected|loaded|open))?[.!](?: |$)"
)
"""What every call needs first: `No active debugging session. Start one first.`"""
_CONFIGURE: Final = re.compile(r"\b(?:[Ss]et|[Ee]xport) [A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b")
"""What has to be set before the tool does anything: `Set ALLOW_WRITES=true to enable it.`"""
_LONGEST_ADVICE: Final = 600
_TRACEBACK: Final = re.compile(r"\s*Traceback \(most recent call last\)")
_LONGEST_HEAD: Final = 12
_LONGEST_END: Final = 80
_LONGEST_SAID: Final = 2_000
_ENDS_WITH_ERROR: Final = re.compile(r"(?:^|[.!] )error:\s*$")
_INVALID: Final = ("Error: Invalid regex", "Error: Invalid pattern", "Error: Invalid argument")
_OWN_ERROR: Final = re.compile(r"Error: [^\n]{4,200}")
_VERDICTS: Final = ("valid", "is_valid", "isValid", "passed")
_RAISED: Final = re.compile(r"\n[\w.]{1,80}(?:Error|Exception)\b[^\n]*\s*\Z")
_EXIT_CODES: Final = ("exitCode", "exit_code", "returncode", "return_code", "exit_status")


def is_error(facts: Facts) -> Verdict | None:
    """The result says so itself."""
    if facts.is_error is not True:
        return None
    return Verdict("error", found=failure_in(facts.value))


def _failed(facts: Facts, sign: Sign, confidence: Confidence) -> Verdict:
    lies = "isError is false, but the payload reports a failure"
    return Verdict("error", confidence, lies if facts.is_error is False else None, found=sign)


def payload_failed(facts: Facts) -> Verdict | None:
    """A flag, an error, a status; an error that nothing was found is none of a search."""
    sign = failure_in(facts.value)
    if sign is None:
        return _told_otherwise(facts)
    counts = failed_counts(facts.value)
    if counts is not None and counts[0] > 0:
        return Verdict("action", "likely", is_partial=True)
    call = facts.call
    if sign.rule == "not-found" and (call.wants_many or call.words[:1] not in _GETTING):
        return None
    if sign.rule == "outcome-error" and call.checks:
        return None
    is_asked = sign.rule in ("errors-member", "error-named") and facts.call.is_about_errors
    if is_asked or _is_of_a_thing(facts, sign) or _is_finding(facts, sign):
        return None
    is_word = sign.rule in ("error-member", "deed-false")
    if is_word and facts.call.wants_many and reports_nothing_found(sign.message):
        nothing = Collection([], dict(facts.value), ("error",), "guess")
        return Verdict("list", "guess", found=nothing)
    return _failed(facts, sign, "certain")


def _told_otherwise(facts: Facts) -> Verdict | None:
    """A failure told by an exit code, or in a message beside what the tool was given."""
    sign = _exit_code(facts) if _ran(facts) else None
    if sign is None and not facts.call.wants_many:
        sign = _refusal(facts)
        if sign is None and (sign := _miss(facts)) is not None:
            return _failed(facts, sign, "likely")
    return None if sign is None else _failed(facts, sign, "guess")


def _refusal(facts: Facts) -> Sign | None:
    """A message that says that it failed, beside echoes and members that hold nothing."""
    value, call = facts.value, facts.call
    if type(value) is not dict or not 1 < len(value) <= _SOME:
        return None
    words = next((value[name] for name in _MESSAGES if name in value), None)
    if not isinstance(words, str) or not may_fail(words):
        return None
    if call.gives_content or call.gives_output or call.checks or "error" in value:
        return None
    told = [each for name, each in value.items() if each and name not in _MESSAGES]
    if any(each not in facts.arguments.values() for each in told) or len(told) + 1 >= len(value):
        return None
    return None if says_failed(words) is None else Sign("message-failed", words, None, value)


def _miss(facts: Facts) -> Sign | None:
    """A deed whose status is that what it was for is not there, whatever else is told."""
    value = facts.value
    if facts.call.intent != "act" or type(value) is not dict or "status" not in value:
        return None
    status, words = value["status"], value.get("message")
    if not isinstance(status, str) or not isinstance(words, str) or squeezed(status) != "notfound":
        return None
    return Sign("status-error", words, status, value)


def _is_of_a_thing(facts: Facts, sign: Sign) -> bool:
    """Whether what failed is the thing that was asked about: a job, a deployment."""
    value = facts.value
    status = value.get("status")
    is_missing = isinstance(status, str) and status.endswith("not_found")
    if is_missing and sign.rule == "error-member":
        return False
    is_state = status != "error" and not is_missing
    if sign.rule == "status-error" and facts.call.checks and is_state:
        return True
    is_told = any(value.get(name) not in (None, "error") for name in _STATES)
    return (
        facts.call.intent == "read"
        and sign.rule in ("error-member", "status-error", "error-named")
        and (is_told or not _NAMES.isdisjoint(value))
        and any(
            name == "id" or (name.endswith(("_id", "Id")) and "request" not in name)
            for name in value
        )
    )


def _is_finding(facts: Facts, sign: Sign) -> bool:
    """Whether a check found that something is not valid, or what was recorded had failed."""
    value, call = facts.value, facts.call
    if sign.rule == "exchange-failed":
        return call.intent in ("list", "read") and not call.checks
    if sign.rule == "flag-false":
        parts = [name for name, each in value.items() if isinstance(each, dict) and each]
        is_told = call.checks and call.is_about_one and _ABOUT.isdisjoint(value)
        return is_told and len(parts) > 1
    return call.checks and any(value.get(name) is False for name in _VERDICTS)


def all_failed(facts: Facts) -> Verdict | None:
    """Each of several things says that it failed, or they are counted."""
    value, call = facts.value, facts.call
    if isinstance(value, list) and len(value) == 1 and _is_nothing_but_error(value[0], call):
        return _failed(facts, Sign("all-failed", _why(value), None, value[0]), "likely")
    if call.intent == "list":
        return None
    verdict = _counted(facts) if isinstance(value, dict) else None
    if verdict is not None:
        return verdict
    if call.is_about_errors or call.checks:
        return None
    items = _results(facts)
    told, failed = failed_among(items) if items else (0, 0)
    if not failed or told < len(items):
        return None
    if call.intent not in ("act", "run") and not (failed == told and all(map(_is_bare, items))):
        return None
    if failed == told:
        if isinstance(value, dict) and says_success(value):
            return None
        return _failed(facts, Sign("all-failed", _why(items), None, value), "likely")
    return Verdict("action", "likely", is_partial=True)


def _counted(facts: Facts) -> Verdict | None:
    """What an object says of how many succeeded and how many failed, in numbers or in a status."""
    value, call = facts.value, facts.call
    if value.get("status") in _PARTLY and call.intent in ("act", "run", "make"):
        return Verdict("action", "likely", is_partial=True)
    counts = failed_counts(value)
    if counts is None or counts[1] == 0:
        return None
    if counts[0] == 0:
        return _failed(facts, Sign("all-failed", "All of it failed", None, value), "likely")
    is_deed = (call.intent not in ("read", "unknown") or call.may_act) and not call.checks
    return Verdict("action", "likely", is_partial=True) if is_deed else None


def _is_nothing_but_error(item: Any, call: Call) -> bool:
    """Whether the only thing in a list is an error and nothing else: `[{"error": "…"}]`."""
    if call.is_about_errors or not isinstance(item, dict) or "error" not in item:
        return False
    return item.keys() <= _OF_AN_ERROR and failure_in(item) is not None


def _is_bare(item: Mapping[str, Any]) -> bool:
    """Whether an item says nothing but that it failed, and perhaps of what."""
    if "id" in item or failure_in(item) is None:
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
    signs = [failure_in(item) for item in items[:1]]
    return next((sign.message for sign in signs if sign is not None), "All of it failed")


def error_text(facts: Facts) -> Verdict | None:
    """A text that is nothing but an error, or the words before a document that belongs to it."""
    words = facts.words
    if isinstance(facts.value, list) and facts.message and _is_failed_list(facts, facts.message):
        return _failed(
            facts, Sign("error-text", facts.message.strip(), None, facts.value), "likely"
        )
    if words is None and isinstance(facts.value, list) and len(facts.value) == 1:
        words = facts.value[0] if isinstance(facts.value[0], str) else None
        if words is None or says_failed_to_give(words, frozenset(), False) != "strong":
            return None
    if words is None and isinstance(facts.value, dict) and facts.message:
        return _heading_failed(facts, facts.message)
    if words is None or facts.attachments:
        return None
    if facts.call.gives_content and facts.is_structured and not reports_each_failed(words):
        return None
    sign = _exit_said(facts, words)
    if sign is not None:
        return _failed(facts, sign, "guess")
    strength = _strength(facts, words) if may_fail(words) else None
    if strength is None and facts.told is not None and facts.told is not words:
        strength = _foreign_strength(facts, facts.told)
    if strength is None:
        return None
    return _failed(
        facts,
        Sign("error-text", words.strip()),
        "certain" if strength == "strong" else "likely",
    )


def _is_failed_list(facts: Facts, heading: str) -> bool:
    """Whether the words before a list say that it is what went wrong."""
    if _is_headed_error(heading):
        return True
    if not all(isinstance(each, str) for each in facts.value):
        return False
    is_told = not facts.gives_anything and not facts.call.wants_many and not facts.call.checks
    return is_told and _FAILED.match(heading) is not None and says_failed(heading) == "strong"


def _foreign_strength(facts: Facts, told: str) -> Strength | None:
    """The same of a line that was put into English, and is not somebody's own."""
    if facts.gives_anything or "\n" in told.strip() or not may_fail(told):
        return None
    if told.startswith("error") and ":" not in told[:_LONGEST_HEAD]:
        return None
    return _strength(facts, told)


def _heading_failed(facts: Facts, words: str) -> Verdict | None:
    if facts.gives_anything or facts.attachments:
        return None
    is_act = facts.call.intent == "act"
    if _is_headed_error(words):
        return _failed(facts, Sign("error-text", words.strip(), None, facts.value), "likely")
    if facts.call.wants_many:
        return None
    strength = says_failed(words, is_act=is_act)
    if strength is None or (strength == "weak" and not is_act):
        return None
    return _failed(facts, Sign("error-text", words.strip(), None, facts.value), "likely")


def _is_headed_error(words: str) -> bool:
    return _ENDS_WITH_ERROR.search(words[-_LONGEST_END:].lower()) is not None


def _strength(facts: Facts, words: str) -> Strength | None:
    call = facts.call
    if reports_each_failed(words) and not call.is_about_errors:
        return "strong"
    if call.intent == "act" and reports_all_failed(words):
        return "strong"
    if (
        call.intent == "act"
        and _CONFIGURE.search(words[:_LONGEST_ADVICE])
        and not reports_completion(words)
    ):
        return "weak"
    if facts.echoes(words.strip()):
        return None
    missing = _missing(facts, words)
    is_told = facts.mentions(words) or "log" in words.lower() or _is_own_error(facts, words.strip())
    if facts.call.gives_log and not is_told:
        return None
    if facts.gives_anything:
        return _given_strength(facts, words, missing)
    if call.wants_many and _lacks_session(call, words):
        return "weak"
    if call.wants_many and facts.says_none:
        return None
    if missing or (reports_rejection(words) and not reports_verb(words, call.verbs)):
        return "weak"
    is_missed = not call.wants_many and " not found" in words and facts.mentions(words)
    if facts.says_none and not is_missed and not _FAILED.match(words):
        return None
    if call.wants_many and _denies_call(facts, words):
        return "weak"
    return says_failed(
        words,
        is_act=call.intent == "act",
        checks=call.checks or _is_denial(call),
        wants_many=call.wants_many,
        own=call.nouns,
    )


def _is_own_error(facts: Facts, words: str) -> bool:
    """Whether a line is no line of a log, but speaks of what was asked for."""
    if _OWN_ERROR.fullmatch(words) is None:
        return False
    names = [name for name in facts.arguments if name in words]
    return any("_" in name for name in names) or (bool(names) and words.startswith(_INVALID))


def _lacks_session(call: Call, words: str) -> bool:
    """Whether what has to be there before anything can be listed is not."""
    found = _NO_SESSION.match(words.lower())
    return found is not None and found["what"] not in call.nouns


def _given_strength(facts: Facts, words: str, missing: bool) -> Strength | None:
    """The same of a tool that may give any words at all."""
    call = facts.call
    if (call.intent == "run" and _raised(words)) or (missing and _is_short(words)):
        return "weak"
    own = frozenset(call.words[:1]) if call.gives_prose else call.nouns.union(call.words)
    mentions = facts.mentions(words)
    return says_failed_to_give(words, own - _PLAIN_VERBS, mentions, is_told=call.gives_prose)


def _is_short(words: str) -> bool:
    """Whether a text is a sentence, perhaps with some advice below it, and no document."""
    first, _, rest = words.strip().partition("\n")
    return not rest or (
        len(rest) <= _LONGEST_END * 2 and "\n\n" not in rest.strip() and first[-1:] in ".!"
    )


def _raised(words: str) -> bool:
    """Whether a text is the traceback of what was run, or ends with it."""
    if _TRACEBACK.match(words):
        return True
    is_traced = "\nTraceback (most recent call last)" in words
    return is_traced and _RAISED.search(words[-_LONGEST_SAID:]) is not None


def _is_denial(call: Call) -> bool:
    """Whether the verb of a tool is one that denies: `block_user`, not `edit_block`."""
    verbs = (word for word in call.words if is_action_verb(word) or word in REFUSING)
    return next(verbs, "") in REFUSING


def _denies_call(facts: Facts, words: str) -> bool:
    """Whether a text begins with a sentence that denies what was asked for, and then says why."""
    sentence, rest = split_sentence(words.strip().partition("\n\n")[0])
    return bool(rest) and facts.mentions(sentence) and says_failed(sentence) is not None


def _missing(facts: Facts, words: str) -> bool:
    """Whether a text says that there is not the one thing that was asked for, or is acted on."""
    call = facts.call
    if call.wants_many or call.intent in ("list", "make"):
        return False
    if call.asks_for_all and reports_none_of_all(words):
        return False
    noun = missing_noun(words)
    if noun is None or call.intent == "act" or _ADVISED.match(words):
        return noun is not None
    return singular(noun) == noun and (noun in call.nouns or facts.mentions(words))


def _exit_code(facts: Facts) -> Sign | None:
    """What was run ended badly, by its exit code."""
    value = facts.value
    if not isinstance(value, dict):
        return None
    codes = [value[name] for name in _EXIT_CODES if type(value.get(name)) is int]
    if not any(codes):
        return None
    words = value.get("stderr") or value.get("output") or value.get("stdout")
    why = words.strip() if isinstance(words, str) and words.strip() else "It ended badly"
    return Sign("exit-code", why, codes[0], value)


def _exit_said(facts: Facts, words: str) -> Sign | None:
    """The same, where the last line of the output says so."""
    if not _ran(facts):
        return None
    found = _EXITED.search(words.rstrip()[-_LONGEST_END:].lower())
    found = found or _BEGINS_EXITED.match(words[:_LONGEST_END].lower())
    return None if found is None else Sign("exit-code", words.strip(), int(found[1]))


def _ran(facts: Facts) -> bool:
    return facts.call.intent == "run" or facts.call.gives_output
