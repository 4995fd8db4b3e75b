"""Evidence that the operation failed, in a text and in what is known of the call."""

import re
from typing import Final

from accord.reader.call import Call, is_action_verb
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.evidence.failure_members import Sign
from accord.reader.evidence.failure_text import (
    Strength,
    denies_given,
    may_fail,
    rejects_value,
    says_failed,
    says_failed_to_give,
)
from accord.reader.evidence.failures import failed
from accord.reader.lexicon import NAMES, phrases, singular, squeezed
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

_INVALID: Final = ("Error: Invalid regex", "Error: Invalid pattern", "Error: Invalid argument")
_LABEL: Final = "error"
"""What begins an error, whatever was asked for."""
_STATUS: Final = re.compile(r"[45]\d\d")
_PART: Final = re.compile(r"\w{3,}")
_LONGEST_ADVICE: Final = 600
"""Characters of a refusal with its advice."""
_LONGEST_HEAD: Final = 12
"""Characters in which an error in another language has its colon."""
_LONGEST_END: Final = 80
"""Characters of a last line, or of a line of advice."""
_LONGEST_SAID: Final = 2_000
"""Characters at the end of an output that may tell how it ended."""
_LONGEST_REJECTION: Final = 200
"""Characters of a line about one argument."""
_LONGEST_BELOW: Final = 400
"""Characters of an error below headings: what is longer has content."""
_MOST_HEADINGS: Final = 3


def error_text(facts: Facts) -> Verdict | None:
    """A text that is nothing but an error, or the words before a document that belongs to it."""
    value, told = facts.value, facts.words
    if isinstance(value, list):
        told = _error_of_list(facts)
        return None if told is None else failed(facts, _sign(told, value), "likely")
    if told is None and isinstance(value, dict) and facts.message:
        return _heading_failed(facts, facts.message)
    if told is None or facts.attachments:
        return _error_beside(facts, told)
    if facts.call.gives_content and facts.is_structured and not reports_each_failed(told):
        return None
    sign = _exit_said(facts, told)
    if sign is not None:
        return failed(facts, sign, "guess")
    strength = _strength(facts, told) if may_fail(told) else None
    if strength is None and facts.told is not None and facts.told is not told:
        strength = _foreign_strength(facts, facts.told)
    if strength is None:
        return None
    return failed(facts, _sign(told), "certain" if strength == "strong" else "likely")


def _sign(told: str, details: object = None) -> Sign:
    return Sign("error-text", told.strip(), None, details)


def _error_beside(facts: Facts, told: str | None) -> Verdict | None:
    """An error beside an image of what was there."""
    if told is None or facts.gives_anything or "\n" in told.strip():
        return None
    is_image = all(each.get("type") == "image" for each in facts.attachments)
    strength = says_failed(told) if is_image and may_fail(told) else None
    if strength is None or (strength == "weak" and facts.call.intent != "act"):
        return None
    return failed(facts, _sign(told), "likely")


def _error_of_list(facts: Facts) -> str | None:
    """The words before a list, or the only text in it, if they say what went wrong."""
    value, heading = facts.value, facts.message
    if heading:
        if _is_headed_error(heading):
            return heading
        is_told = not (facts.gives_anything or facts.call.wants_many or facts.call.checks)
        if not is_told or not all(isinstance(each, str) for each in value):
            return None
        is_failure = phrases.failed.match(heading) is not None and says_failed(heading) == "strong"
        return heading if is_failure else None
    only = value[0] if len(value) == 1 and isinstance(value[0], str) else None
    if only is None or says_failed_to_give(only, frozenset(), False) != "strong":
        return None
    return str(only)


def _foreign_strength(facts: Facts, told: str) -> Strength | None:
    """The same of a line that was put into English, and is not somebody's own."""
    if facts.gives_anything or "\n" in told.strip() or not may_fail(told):
        return None
    if told.startswith("error") and ":" not in told[:_LONGEST_HEAD]:
        return None
    return _strength(facts, told)


def _heading_failed(facts: Facts, told: str) -> Verdict | None:
    """The words before an object say that it failed, more of them if the object holds anything."""
    call = facts.call
    if facts.gives_anything or facts.attachments:
        return None
    if not _is_headed_error(told):
        is_void = all(not each or facts.echoes(each) for each in facts.value.values())
        is_asked = not call.wants_many or (is_void and not _says_none(told))
        strength = says_failed(told, is_act=call.intent == "act") if is_asked else None
        if strength is None or (strength == "weak" and not (call.intent == "act" or is_void)):
            return None
    return failed(facts, _sign(told, facts.value), "likely")


def _says_none(told: str) -> bool:
    return reports_nothing_found(told, wants_many=True)


def _is_headed_error(told: str) -> bool:
    return phrases.ends_with_error.search(told[-_LONGEST_END:].lower()) is not None


# How much a text says that it failed


def _strength(facts: Facts, told: str) -> Strength | None:
    call = facts.call
    if reports_each_failed(told) and not call.is_about_errors:
        return "strong"
    if call.intent == "act" and reports_all_failed(told):
        return "strong"
    if facts.echoes(told.strip()) or _is_about_given(facts, told):
        return None
    missing = _missing(facts, told)
    if call.gives_log and not _is_told(facts, told):
        return None
    below = _below_headings(facts, told)
    if facts.gives_anything and len(facts.texts) > 1:
        below = facts.texts[0]
    if facts.gives_anything:
        return _given_strength(facts, told, missing) or (
            _given_strength(facts, below, False) if below else None
        )
    if call.wants_many and facts.says_none and not _lacks_session(call, told):
        return None
    if _refuses(facts, told, missing):
        return "weak"
    is_missed = not call.wants_many and " not found" in told and facts.mentions(told)
    if facts.says_none and not is_missed and not phrases.failed.match(told):
        return None
    if call.wants_many and _denies_call(facts, told):
        return "weak"
    if (said := _said(facts, told)) is not None:
        return said
    is_below = below is not None and _said(facts, below) is not None
    is_given = is_below or _rejects_argument(facts, told) or _denies_given(facts, told)
    return "weak" if is_given else None


def _is_told(facts: Facts, told: str) -> bool:
    """Whether a tool that gives a log says something itself."""
    return facts.mentions(told) or "log" in told.lower() or _is_own_error(facts, told.strip())


def _said(facts: Facts, told: str) -> Strength | None:
    call = facts.call
    return says_failed(
        told,
        is_act=call.intent == "act",
        checks=call.checks or _is_denial(call),
        wants_many=call.wants_many and not call.is_query,
        own=call.nouns,
    )


def _refuses(facts: Facts, told: str, missing: bool) -> bool:
    """Whether the call was turned down, or cannot be done for want of something."""
    call = facts.call
    is_act = call.intent == "act"
    if is_act and phrases.configure.search(told[:_LONGEST_ADVICE]) and not reports_completion(told):
        return True
    if call.wants_many and _lacks_session(call, told):
        return True
    return missing or (reports_rejection(told) and not reports_verb(told, call.verbs))


def _is_about_given(facts: Facts, told: str) -> bool:
    """Whether a text is about a word that was given, and only reads like an error: `failure: …`."""
    small = told[:_LONGEST_SAID].lower()
    for each in facts.arguments.values():
        given = str(each).lower() if type(each) in (str, int) else ""
        if not given or given not in small or len(given) > _LONGEST_REJECTION:
            continue
        if small.startswith(given) and _is_defined(given, small[len(given) :]):
            return True
        if " " in given and may_fail(given) and says_failed(given) == "strong":
            return True
    return False


def _is_defined(given: str, rest: str) -> bool:
    """Whether a text goes on as the definition of a word: a failure, an HTTP status."""
    is_word = given.replace(" ", "").isalpha() and may_fail(given) and given != _LABEL
    return _STATUS.fullmatch(given) is not None or (
        is_word and phrases.defined.match(rest) is not None
    )


def _rejects_argument(facts: Facts, told: str) -> bool:
    """Whether a line begins with the name of an argument, and says what is wrong with it."""
    line = told.strip()
    if "\n" in line or len(line) > _LONGEST_REJECTION or facts.call.checks:
        return False
    name, _, rest = line.partition(" ")
    if squeezed(name) not in map(squeezed, facts.arguments):
        return False
    return rejects_value(f"it {rest}") or rejects_value(rest)


def _denies_given(facts: Facts, told: str) -> bool:
    """Whether a line denies something of what was given: `'x' is not dice notation`."""
    call, line = facts.call, told.strip()
    if "\n" in line or len(line) > _LONGEST_REJECTION:
        return False
    if call.intent in ("list", "run") or call.checks or call.is_about_one:
        return False
    given = [str(each) for each in facts.arguments.values() if type(each) in (str, int)]
    parts = [part for each in given for part in (each, *_PART.findall(each))]
    parts = [part for part in parts if len(part) > 1 and part in line]
    for each in parts:
        line = line.replace(each, "")
    return bool(parts) and denies_given(line)


def _below_headings(facts: Facts, told: str) -> str | None:
    """The text below a few headings, which may be an error: `Weather for Oslo:\\nfetch failed`."""
    if len(told) > _LONGEST_REJECTION * _MOST_HEADINGS + _LONGEST_BELOW or "\n" not in told:
        return None
    lines = [line.strip() for line in told.strip().splitlines() if line.strip()]
    number, most = 0, 1 if facts.call.wants_many else _MOST_HEADINGS
    while number < min(len(lines) - 1, most) and _is_heading(facts, lines[number]):
        number += 1
    below = lines[number:]
    is_long = sum(map(len, below)) > _LONGEST_BELOW or (facts.call.wants_many and len(below) > 2)
    if not number or is_long or sum(map(bool, map(phrases.labelled.match, below))) > 1:
        return None
    return "\n".join(below)


def _is_heading(facts: Facts, line: str) -> bool:
    """Whether a line is a heading, or repeats what the tool was given under a label."""
    if phrases.heading.match(line):
        return True
    echo = phrases.echo.match(line)
    return echo is not None and echo[1] in facts.arguments.values()


def _is_own_error(facts: Facts, told: str) -> bool:
    """Whether a line is no line of a log, but speaks of what was asked for."""
    if phrases.own_error.fullmatch(told) is None:
        return False
    names = [name for name in facts.arguments if name in told]
    return any("_" in name for name in names) or (bool(names) and told.startswith(_INVALID))


def _lacks_session(call: Call, told: str) -> bool:
    """Whether what has to be there before anything can be listed is not."""
    found = phrases.no_session.match(told.lower())
    noun = found and (found["what"] or found["state"])
    if not noun or noun in call.nouns:
        return False
    return found is not None and (
        found["what"] is not None or singular(noun) == noun not in NAMES.no_noun
    )


def _given_strength(facts: Facts, told: str, missing: bool) -> Strength | None:
    """The same of a tool that may give any words at all."""
    call = facts.call
    if (call.intent == "run" and _raised(told)) or (missing and _is_short(told)):
        return "weak"
    own = frozenset(call.words[:1]) if call.gives_prose else call.nouns.union(call.words)
    mentions = facts.mentions(told)
    return says_failed_to_give(told, own - NAMES.plain_verbs, mentions, is_told=call.gives_prose)


def _is_short(told: str) -> bool:
    """Whether a text is a sentence, perhaps with some advice below it, and no document."""
    first, _, rest = told.strip().partition("\n")
    is_advice = len(rest) <= _LONGEST_END * 2 and "\n\n" not in rest.strip() and first[-1:] in ".!"
    return not rest or is_advice


def _raised(told: str) -> bool:
    """Whether a text is the traceback of what was run, or ends with it."""
    if phrases.traceback.match(told):
        return True
    is_traced = "\nTraceback (most recent call last)" in told
    return is_traced and phrases.raised.search(told[-_LONGEST_SAID:]) is not None


def _is_denial(call: Call) -> bool:
    """Whether the verb of a tool is one that denies: `block_user`, not `edit_block`."""
    verbs = (word for word in call.words if is_action_verb(word) or word in NAMES.refusing)
    return next(verbs, "") in NAMES.refusing


def _denies_call(facts: Facts, told: str) -> bool:
    """Whether a text begins with a sentence that denies what was asked for, and then says why."""
    sentence, rest = split_sentence(told.strip().partition("\n\n")[0])
    return bool(rest) and facts.mentions(sentence) and says_failed(sentence) is not None


def _missing(facts: Facts, told: str) -> bool:
    """Whether a text says that there is not the one thing that was asked for, or is acted on."""
    call = facts.call
    if call.wants_many or call.intent in ("list", "make"):
        return False
    if call.asks_for_all and reports_none_of_all(told):
        return False
    noun = missing_noun(told)
    if noun is None or call.intent == "act" or phrases.advised.match(told):
        return noun is not None
    return singular(noun) == noun and (noun in call.nouns or facts.mentions(told))


def _exit_said(facts: Facts, told: str) -> Sign | None:
    """The exit code of what was run, where the last or the first line of the output says it."""
    if not (facts.call.intent == "run" or facts.call.gives_output):
        return None
    found = phrases.exited.search(told.rstrip()[-_LONGEST_END:].lower())
    found = found or phrases.begins_exited.match(told[:_LONGEST_END].lower())
    return None if found is None else Sign("exit-code", told.strip(), int(found[1]))
