"""Rules that say that a reply is that to a deed: by the tool's name, and by its words."""

from typing import Final

from accord.reader.call import Call
from accord.reader.evidence.action_members import (
    DONE,
    FEW,
    LONG,
    OUTPUT,
    REPORTED,
    SAYING,
    payload,
    says_well,
)
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.lexicon import NAMES, phrases, squeezed
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS, in_english
from accord.reader.sentences import (
    reports_completion,
    reports_completion_plainly,
    reports_nothing_to_do,
    reports_only_completion,
    reports_retrieval,
    reports_rows_changed,
    reports_saving,
    reports_verb,
)

_MOST_LINES: Final = 4
_SAID: Final = (*OUTPUT, "stderr", "return_value", "returnValue")
_UNCONFIRMED: Final = frozenset(
    """requires_confirmation requiresConfirmation confirmation_required confirmationRequired
    needs_confirmation needsConfirmation""".split()
)
_NAMING: Final = ("id", "Id", "number", "Number", "ref", "Ref", "reference", "status", "state")
"""What only that has which was made."""
_SHOWING: Final = frozenset({"display", "show", "open", "view", "preview"})
_SHOTS: Final = frozenset("screenshot screen image page snapshot frame pane window".split())
_MESSAGES: Final = tuple(name for name, english in ENGLISH_MEMBERS.items() if english == "message")
_KEPT: Final = frozenset({"added", "saved", "created", "recorded", "submitted", "posted"})


def unconfirmed(facts: Facts) -> Verdict | None:
    """A deed that was not done yet, since somebody has to say that it is meant."""
    if facts.call.intent != "act" or not _wants_word(facts):
        return None
    return Verdict("single", "likely", "nothing has changed yet; the action awaits confirmation")


def _wants_word(facts: Facts) -> bool:
    value, words = facts.value, facts.words
    if type(value) is dict and not _UNCONFIRMED.isdisjoint(value):
        is_asked = any(value.get(each) is True for each in _UNCONFIRMED)
        return is_asked and not any(name in DONE or name.endswith(_NAMING) for name in value)
    if words is None or "onfirm" not in words or phrases.confirm.search(words) is None:
        return False
    return not reports_completion(words)


def acted(facts: Facts) -> Verdict | None:
    """A tool that is named for a deed, unless it gives what it made."""
    if facts.call.intent != "act" or _is_given(facts):
        return None
    if any(each.get("type") != "resource_link" for each in facts.attachments):
        return None
    return Verdict("action", "likely")


def _is_given(facts: Facts) -> bool:
    """Whether a tool that makes something to take away gives it, and no report on it."""
    name = facts.call.words
    if NAMES.exporting.isdisjoint(name[:1]) or "to" in name or facts.value in (None, "", [], {}):
        return False
    if name[0] == "capture" and _SHOTS.isdisjoint(name):
        return False
    words, value = facts.words or facts.message, facts.value
    if words is not None and (reports_completion(words) or reports_saving(words)):
        return False
    if facts.words is not None:
        return "\n" in facts.words
    if not isinstance(value, dict):
        return True
    has_parts = any(isinstance(each, dict | list) and each for each in value.values())
    return has_parts and REPORTED.isdisjoint(map(squeezed, value)) and not says_well(value)


def reports_done(facts: Facts) -> Verdict | None:
    """Words that say what was done, more of them the less the tool is named for a deed."""
    call = facts.call
    if _is_plainly_done(facts):
        return Verdict("action", "likely")
    if call.intent == "list" and (call.words[-1:] != ("list",) or "\n" in (facts.words or "\n")):
        return None
    words = facts.told or _message(facts)
    if words is None or (type(facts.value) is dict and _gives_more(facts)):
        return None
    is_short = "\n\n" not in words.strip()
    if call.gives_content and facts.words is not None:
        is_told = is_short and call.intent == "unknown" and reports_completion(words)
        is_told = is_told and (call.may_act or "\n" not in words.strip())
        is_line = is_short and "\n" not in words.strip()
        is_line = is_line and (facts.mentions(words) or words.startswith("Successfully "))
        if not is_told and not is_line:
            return None
    is_reading = call.wants_many and call.intent == "read"
    if is_short and reports_verb(words, call.verbs) and not is_reading:
        return Verdict("action", "likely" if call.intent != "read" else "guess")
    if call.intent == "read" and is_short and _says_own(words, call):
        return Verdict("action", "guess")
    if call.wants_many:
        return _done_by_noun(facts, words)
    is_output = (
        call.gives_output
        and "\n" in words.strip()
        and phrases.sentence_of_output.match(words) is None
    )
    if call.intent in ("run", "make") and not is_output and reports_completion(words):
        return Verdict("action", "likely")
    if (
        call.intent == "unknown"
        and not call.checks
        and reports_completion(words)
        and not reports_retrieval(words)
    ):
        return Verdict("action", "likely")
    if call.may_act and call.intent != "read" and reports_nothing_to_do(words):
        return Verdict("action", "guess")
    return None


def _done_by_noun(facts: Facts, words: str) -> Verdict | None:
    """A report of a tool that is named for several things, and was given one: `Note saved`."""
    is_line = "\n" not in words.strip() and bool(facts.arguments)
    if facts.call.intent != "unknown" or not is_line or reports_retrieval(words):
        return None
    return Verdict("action", "likely") if reports_completion(words) else None


def _says_own(words: str, call: Call) -> bool:
    """Whether a text begins with the tool's own noun and what was done: `Review added`."""
    small = words[:LONG].lower()
    first, _, rest = small.partition(" ")
    is_only = f"\n{first} " not in small and " by " not in small
    return is_only and first in call.verbs and rest.partition(" ")[0] in _KEPT


def _gives_more(facts: Facts) -> bool:
    """Whether a tool that is named for no deed gives something beside the words about it."""
    call = facts.call
    if call.intent != "unknown" or (call.may_act and not call.checks):
        return False
    return any(name not in SAYING and each is not None for name, each in facts.value.items())


def _is_plainly_done(facts: Facts) -> bool:
    """Whether the words, or the command that was run, can mean nothing else."""
    call, words = facts.call, facts.told
    doing = call.intent
    if call.runs_action:
        return True
    said = words or facts.message
    may_be_done = not (call.wants_many or call.is_about_one)
    if said and "ed" in said and may_be_done and _says_both(facts, said):
        return True
    if words is None:
        return False
    if words.startswith("Successfully ") and reports_saving(words.partition("\n")[0]):
        return True
    return reports_rows_changed(words) or (doing == "read" and _is_report(facts, words))


def _says_both(facts: Facts, said: str) -> bool:
    """Whether words say that it is done, and a flag beside them if there is anything beside."""
    if facts.words is not None and facts.gives_anything:
        return False
    is_shown = not _SHOWING.isdisjoint(facts.call.words)
    is_plain = not facts.call.checks or "successfully" in said
    if is_plain and reports_completion_plainly(said, opens=is_shown):
        return True
    value = facts.value
    is_well = facts.words is None and isinstance(value, dict) and says_well(value)
    return is_well and reports_completion(said) and not reports_retrieval(said)


def _is_report(facts: Facts, words: str) -> bool:
    """Whether a tool that reads reports nothing but that it did something."""
    if reports_saving(words):
        return True
    return (
        not facts.call.wants_many
        and not facts.call.gives_content
        and reports_only_completion(words)
    )


def _message(facts: Facts) -> str | None:
    """The words beside an object, or those that it has itself."""
    if isinstance(facts.value, list):
        return None
    said = facts.message
    if not said and isinstance(facts.value, dict):
        said = facts.value.get("message")
        if said is None and not ENGLISH_MEMBERS.keys().isdisjoint(facts.value):
            said = next((facts.value[name] for name in _MESSAGES if name in facts.value), None)
    return in_english(said) if isinstance(said, str) else None


def ran(facts: Facts) -> Verdict | None:
    """What was run, and gives no output of its own."""
    call = facts.call
    if call.intent != "run" or facts.attachments or facts.find_collection() is not None:
        return None
    if call.checks and isinstance(facts.value, dict):
        is_report = any(isinstance(each, dict) for each in facts.value.values())
        if is_report or len(facts.value) > FEW:
            return None
    if facts.words is not None and facts.words.strip().count("\n") >= _MOST_LINES:
        return None
    if call.gives_output and not _is_silent(facts):
        return None
    return Verdict("action", "guess")


def _is_silent(facts: Facts) -> bool:
    """Whether what was run had nothing to say."""
    if facts.words is not None:
        return not facts.words.strip()
    if not isinstance(facts.value, dict):
        return facts.value is None
    value = payload(facts.value)
    output = [value[name] for name in _SAID if name in value]
    return not any(output) and (bool(output) or not value)
