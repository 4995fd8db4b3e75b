"""Evidence of an action: the tool's name, and a report in the text or the members of a reply."""

import re
from typing import Any, Final

from accord.reader.call import Call
from accord.reader.evidence import Facts, Verdict
from accord.reader.lexicon import (
    ARGUMENTS,
    MEMBERS,
    NAMES,
    OUTCOMES,
    base_forms,
    ordered,
    phrases,
    singular,
    squeezed,
)
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS, in_english
from accord.reader.sentences import (
    begins,
    reports_completion,
    reports_completion_plainly,
    reports_only_completion,
    reports_retrieval,
    reports_saving,
    reports_verb,
)

_FEW: Final = 6
"""Members of an object that may be a report."""
_LONG: Final = 200
"""Characters of a text that is longer than a message."""
_MOST_LINES: Final = 4
"""Lines of a text that may be the report of a program."""
_CHAPTERS: Final = 2
"""Headings below the first that make a text a document."""
_ENDINGS: Final = ("ed", "en")
_ROW_COUNTS: Final = frozenset("0123456789QIUDqiud")
"""First characters of the output of a database that changed rows: `3 rows`, `INSERT 0 1`."""
_OUTCOME_ENDINGS: Final = ordered("members.outcome-endings")
_NAMING: Final = ordered("members.naming")
_FILE: Final = re.compile(r"[\w./\\-]{1,200}\.[a-z]\w{0,4}")
_REPORTING: Final = MEMBERS.beside_report | ENGLISH_MEMBERS.keys()
"""Members that may stand beside a report."""
_REPORTED: Final = MEMBERS.written_to | MEMBERS.report_details
_DONE: Final = (
    frozenset({"success", "ok"})
    | OUTCOMES.done
    | OUTCOMES.begun
    | {name for name, english in ENGLISH_MEMBERS.items() if english == "success"}
)
_FINE: Final = ("success", "ok", "OK")
_MESSAGES: Final = tuple(name for name, english in ENGLISH_MEMBERS.items() if english == "message")


def unconfirmed(facts: Facts) -> Verdict | None:
    """An action that awaits confirmation; nothing has changed yet."""
    if facts.call.intent != "act" or not _asks_to_confirm(facts):
        return None
    return Verdict("single", "likely", "nothing has changed yet; the action awaits confirmation")


def _asks_to_confirm(facts: Facts) -> bool:
    value, text = facts.value, facts.text
    if type(value) is dict and not MEMBERS.unconfirmed.isdisjoint(value):
        is_unconfirmed = any(value.get(name) is True for name in MEMBERS.unconfirmed)
        return is_unconfirmed and not any(name in _DONE or name.endswith(_NAMING) for name in value)
    if text is None or "onfirm" not in text or phrases.confirm.search(text) is None:
        return False
    return not reports_completion(text)


def given_back(facts: Facts) -> Verdict | None:
    """A transformed argument or a document, from a tool named for an action."""
    is_given = facts.call.intent == "act" and (_is_document(facts) or _is_transformed(facts))
    return Verdict("single", "likely") if is_given else None


def _is_document(facts: Facts) -> bool:
    """True if the text is a code block, or a guide with several headings."""
    text = (facts.text or "").strip()
    if text.startswith("```"):
        is_change = text.startswith("```diff")
        return text.endswith("```") and text.count("```") == 2 and not is_change
    if facts.arguments or text.count("\n#") < _CHAPTERS:
        return False
    return not (reports_completion(text) or reports_completion_plainly(text))


def _is_transformed(facts: Facts) -> bool:
    """True if a member is a transformed argument: `fixed_sql`, of `sql`."""
    if not isinstance(facts.value, dict):
        return False
    given = {squeezed(name) for name, each in facts.arguments.items() if isinstance(each, str)}
    for name, each in facts.value.items():
        participle, _, noun = name.partition("_")
        is_text = squeezed(noun) in given and isinstance(each, str)
        if is_text and not facts.call.verbs.isdisjoint(base_forms(participle)):
            return True
    return False


# By the tool's name


def action_name(facts: Facts) -> Verdict | None:
    """A tool named for an action, unless it returns its product."""
    if facts.call.intent != "act" or _is_product(facts):
        return None
    if any(each.get("type") != "resource_link" for each in facts.attachments):
        return None
    return Verdict("action", "likely" if _is_about_call(facts) else "guess")


def _is_about_call(facts: Facts) -> bool:
    """True if a reply can be a report on the call: it has an outcome, or repeats an argument."""
    value, text = facts.value, facts.text
    if not facts.arguments or not value:
        return True
    if text is not None:
        is_line = "\n" not in text.strip()
        return reports_completion(text) or (is_line and facts.mentions(text))
    if isinstance(value, list):
        return not all(isinstance(each, str | int | float) for each in value)
    if not isinstance(value, dict) or facts.find_collection() is not None:
        return True
    if _is_well(value) or any(squeezed(name)[-2:] in _OUTCOME_ENDINGS for name in value):
        return True
    outcomes = (value.get("message"), value.get("status"))
    if any(isinstance(each, str) and reports_completion(each) for each in outcomes):
        return True
    return any(each in facts.arguments.values() for each in value.values())


def _is_product(facts: Facts) -> bool:
    """True if a tool that exports something returns it rather than a report on it."""
    name = facts.call.words
    if NAMES.exporting.isdisjoint(name[:1]) or "to" in name or facts.value in (None, "", [], {}):
        return False
    if name[0] == "capture" and NAMES.shots.isdisjoint(name):
        return False
    text, value = facts.text or facts.message, facts.value
    if text is not None and (reports_completion(text) or reports_saving(text)):
        return False
    if facts.text is not None:
        return "\n" in facts.text
    if not isinstance(value, dict):
        return True
    has_parts = any(isinstance(each, dict | list) and each for each in value.values())
    return has_parts and _REPORTED.isdisjoint(map(squeezed, value)) and not _has_success_flag(value)


def ran(facts: Facts) -> Verdict | None:
    """A program or command without output of its own."""
    call = facts.call
    if call.intent != "run" or facts.attachments or facts.find_collection() is not None:
        return None
    if call.checks and isinstance(facts.value, dict):
        is_report = any(isinstance(each, dict) for each in facts.value.values())
        if is_report or len(facts.value) > _FEW:
            return None
    if facts.text is not None and facts.text.strip().count("\n") >= _MOST_LINES:
        return None
    if call.gives_output and not _is_silent(facts):
        return None
    return Verdict("action", "guess")


def _is_silent(facts: Facts) -> bool:
    """True if the program printed nothing and returned nothing."""
    if facts.text is not None:
        return not facts.text.strip()
    if not isinstance(facts.value, dict):
        return facts.value is None
    value = _payload(facts.value)
    output = [value[name] for name in MEMBERS.printed if name in value]
    return not any(output) and (bool(output) or not value)


# Reports in a text


def reports_done(facts: Facts) -> Verdict | None:
    """A text that reports an action; it needs more evidence if the tool's name suggests none."""
    call = facts.call
    if _is_plainly_done(facts):
        return Verdict("action", "likely")
    if call.intent == "list" and (call.words[-1:] != ("list",) or "\n" in (facts.text or "\n")):
        return None
    text = facts.english or _message(facts)
    if text is None or (type(facts.value) is dict and _gives_more(facts)):
        return None
    is_short, is_line = "\n\n" not in text.strip(), "\n" not in text.strip()
    if call.gives_content and facts.text is not None:
        is_done = is_short and call.intent == "unknown" and reports_completion(text)
        is_own = facts.mentions(text) or text.startswith("Successfully ")
        is_report = is_line or _has_details(text)
        if not (is_done and (call.may_act or is_line)) and not (is_report and is_own):
            return None
    if (
        is_short
        and reports_verb(text, call.verbs)
        and not (call.wants_many and call.intent == "read")
    ):
        return Verdict("action", "likely" if call.intent != "read" else "guess")
    if call.intent == "read" and is_short and _reports_own_noun(facts, text):
        return Verdict("action", "guess")
    if call.wants_many:  # a plural name, for one item: `Note saved`
        may_be_report = call.intent == "unknown" and is_line and bool(facts.arguments)
        return Verdict("action", "likely") if may_be_report and _is_report(text) else None
    is_output = call.gives_output and not is_line and phrases.sentence_of_output.match(text) is None
    if call.intent in ("run", "make") and not is_output and reports_completion(text):
        return Verdict("action", "likely")
    if call.intent == "unknown" and not call.checks and _is_report(text):
        return Verdict("action", "likely" if call.may_act else "guess")
    if call.may_act and call.intent != "read" and begins(text, phrases.nothing_to_do):
        return Verdict("action", "guess")
    return None


def _has_details(text: str) -> bool:
    """True if all lines below the first are labelled details."""
    _, *below = text.strip().splitlines()
    return len(below) <= _FEW and all(map(phrases.labelled.match, map(str.strip, below)))


def _is_report(text: str) -> bool:
    return reports_completion(text) and not reports_retrieval(text)


def _reports_own_noun(facts: Facts, text: str) -> bool:
    """True if a text begins with the noun of the tool and a participle: `Review added`."""
    call, small = facts.call, text[:_LONG].lower()
    first, _, rest = small.partition(" ")
    if not call.nouns.isdisjoint(base_forms(first)):  # `Logged decision: …`, of `tracker_log`
        return facts.mentions(text) and not call.wants_many
    is_only = f"\n{first} " not in small and " by " not in small
    return is_only and first in call.verbs and rest.partition(" ")[0] in OUTCOMES.done


def _gives_more(facts: Facts) -> bool:
    """True if a tool not named for an action returns members beside its report."""
    call = facts.call
    if call.intent != "unknown" or (call.may_act and not call.checks):
        return False
    return any(name not in _REPORTING and each is not None for name, each in facts.value.items())


def _is_plainly_done(facts: Facts) -> bool:
    """True if the text or the command is plainly that of an action."""
    call, text = facts.call, facts.english
    if call.runs_action or _wrote(facts):
        return True
    report = text or facts.message
    may_be_done = not (call.wants_many or call.is_about_one)
    if report and "ed" in report and may_be_done and _is_confirmed(facts, report):
        return True
    if text is None:
        return False
    if text.startswith("Successfully ") and reports_saving(text.partition("\n")[0]):
        return True
    is_count = text[:1] in _ROW_COUNTS and begins(text, phrases.rows_changed)
    if is_count or (call.intent == "read" and reports_saving(text)):
        return True
    is_one = call.intent == "read" and not (call.wants_many or call.gives_content)
    return is_one and reports_only_completion(text)


def _wrote(facts: Facts) -> bool:
    """True if a reply repeats the argument that names the place of the result."""
    if ARGUMENTS.outputs.isdisjoint(facts.arguments):
        return False
    given = [facts.arguments[name] for name in ARGUMENTS.outputs if name in facts.arguments]
    paths = [each for each in given if isinstance(each, str) and each]
    if not paths:
        return False
    if isinstance(facts.value, dict):
        return any(each in paths for each in facts.value.values())
    text = facts.text or ""
    return len(text) <= _LONG * 2 and any(path in text for path in paths)


def _is_confirmed(facts: Facts, text: str) -> bool:
    """True if a text plainly reports completion, or a success flag stands beside a report."""
    if facts.text is not None and facts.gives_anything:
        return False
    is_shown = not NAMES.showing.isdisjoint(facts.call.words)
    is_plain = not facts.call.checks or "successfully" in text
    if is_plain and reports_completion_plainly(text, opens=is_shown):
        return True
    value = facts.value
    is_well = facts.text is None and isinstance(value, dict) and _has_success_flag(value)
    return is_well and _is_report(text)


def _message(facts: Facts) -> str | None:
    """Return the text beside an object, or the message in it."""
    value = facts.value
    if isinstance(value, list):
        return None
    message = facts.message
    if not message and isinstance(value, dict):
        message = value.get("message")
        if message is None and not ENGLISH_MEMBERS.keys().isdisjoint(value):
            message = next((value[name] for name in _MESSAGES if name in value), None)
    return in_english(message) if isinstance(message, str) else None


# Reports in members


def reports_members(facts: Facts) -> Verdict | None:
    """Members that only a report on an action has."""
    value = facts.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not _reports(facts, value):
        return None
    is_data = facts.call.is_about_one or _has_text(value)
    return None if is_data else Verdict("action", "likely")


def _reports(facts: Facts, value: dict[str, Any]) -> bool:
    """True if the members of an object are the report of an action."""
    call = facts.call
    if len(value) <= _FEW and not MEMBERS.reports.isdisjoint(map(squeezed, value)):
        return True
    if call.intent == "list":
        return False
    if (call.verbs and _has_participle(_payload(value), call)) or _shows_target(value, call):
        return True
    if call.intent == "read":
        return call.words[-1:] == ("async",) and _has_begun(value, call)
    if _has_begun(value, call) or _counts_changes(value):
        return True
    if not _has_success_flag(value) or (call.gives_output and not MEMBERS.output.isdisjoint(value)):
        return False
    if not MEMBERS.affected.isdisjoint(value):
        return True
    if call.intent == "unknown" and _has_new_id(facts, value):
        return True
    if call.intent == "unknown" and any(_gives(facts, *member) for member in value.items()):
        return False
    has_list = any(isinstance(each, list) for each in value.values())
    return not has_list and not isinstance(value.get("data"), dict)


def _has_new_id(facts: Facts, value: dict[str, Any]) -> bool:
    """True if a few plain members have an id that no argument has."""
    if len(value) > _FEW or not all(isinstance(each, str | int) for each in value.values()):
        return False
    given = set(map(squeezed, facts.arguments))
    ids = [squeezed(name) for name in value if name.endswith(("_id", "Id"))]
    return bool(given) and not given.issuperset(ids)


def _gives(facts: Facts, name: str, each: Any) -> bool:
    """True if a member is requested data, rather than an outcome, a place or an echo."""
    if name in _REPORTING or each is None or each in facts.arguments.values():
        return False
    if isinstance(each, bool):
        return name in facts.call.words
    return not (name.endswith(("_id", "Id")) or squeezed(name) in _REPORTED)


def _has_text(value: dict[str, Any]) -> bool:
    """True if a member is a long text of several lines, which is data rather than a message."""
    return any(
        isinstance(each, str) and len(each) > _LONG and "\n" in each and name not in _REPORTING
        for name, each in value.items()
    )


def _payload(value: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of an object that reports success, else the object."""
    if MEMBERS.held.isdisjoint(value):
        return value
    inner = [value[name] for name in MEMBERS.held if isinstance(value.get(name), dict)]
    return inner[0] if len(inner) == 1 and _is_well(value) else value


def _is_well(value: dict[str, Any]) -> bool:
    """True if a flag or the status reports success."""
    return _has_success_flag(value) or value.get("status") in _FINE


def _has_success_flag(value: dict[str, Any]) -> bool:
    return not _DONE.isdisjoint(value) and any(
        each is True and name in _DONE for name, each in value.items()
    )


def _has_participle(value: dict[str, Any], call: Call) -> bool:
    """True if a member, or the status, is a form of the tool's own verb: `loaded`, of `load`.

    For a tool that makes things a text may be the product: `encoded`, of `encode`.
    """
    status = value.get("status", value.get("state"))
    if call.intent == "make":
        value = {name: each for name, each in value.items() if not _is_text(each)}
    for name in (*value, status) if isinstance(status, str) else value:
        if name[-2:] in _ENDINGS and not call.verbs.isdisjoint(base_forms(name.lower())):
            return True
        if name.startswith("successful_") and singular(name.rpartition("_")[2]) in call.verbs:
            return True
    return False


def _is_text(value: Any) -> bool:
    """True if a value is a text other than the name of a file."""
    return isinstance(value, str) and _FILE.fullmatch(value) is None


def _counts_changes(value: dict[str, Any]) -> bool:
    """True if all members are participles with counts or lists: `created`, `removed`."""
    are_done = bool(value) and OUTCOMES.done.issuperset(value)
    return are_done and all(isinstance(each, list | int) for each in value.values())


def _shows_target(value: dict[str, Any], call: Call) -> bool:
    """True if members show what was logged, or where something was written."""
    is_log = call.words[-1:] == ("log",) and NAMES.getting.isdisjoint(call.words[:1])
    if is_log and value.get("logged"):
        return True
    is_conversion = "convert" in call.words
    output = value.get("output") if call.intent != "read" or is_conversion else None
    if type(output) is dict and not MEMBERS.places.isdisjoint(map(squeezed, output)):
        return True
    if len(value) > _FEW or not _is_well(value):
        return False
    names = [squeezed(name) for name in value]
    if not MEMBERS.written_to.isdisjoint(names):
        return True
    message = value.get("message")
    is_file = is_conversion and any(name.endswith("filepath") for name in names)
    if not is_file or not isinstance(message, str):
        return False
    return phrases.made.search(in_english(message).lower()) is not None


def _has_begun(value: dict[str, Any], call: Call) -> bool:
    """True if a few members report something started, with its id."""
    status = value.get("status", value.get("state"))
    if not isinstance(status, str) or not MEMBERS.output.isdisjoint(value):
        return False
    is_begun = status.lower() in OUTCOMES.begun | OUTCOMES.done and len(value) <= _FEW
    if not is_begun and not (call.intent == "run" and status.lower() == "running"):
        return False
    return any(name == "id" or name.endswith(("_id", "Id")) for name in value)
