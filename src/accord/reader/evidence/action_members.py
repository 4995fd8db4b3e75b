"""What the members of an object report: that something was done, where it is, how it went."""

import re
from typing import Any, Final

from accord.reader.call import Call
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.lexicon import MEMBERS, OUTCOMES, base_forms, phrases, singular, squeezed
from accord.reader.lexicon.phrases import ENGLISH_MEMBERS, in_english

FEW: Final = 6
OUTPUT: Final = frozenset({"output", "stdout", "result"})
SAYING: Final = (
    frozenset("status message success ok id code timestamp".split()) | ENGLISH_MEMBERS.keys()
)
"""What may stand beside the report of a deed."""
LONG: Final = 200
_ENDINGS: Final = ("ed", "en")
_PAYLOADS: Final = frozenset({"data", "result", "response"})
_FINE: Final = ("success", "ok", "OK")
_BEGUN: Final = frozenset(
    "submitted queued pending started starting processing accepted scheduled in_progress".split()
)
_AFFECTED: Final = frozenset({"affected_entities", "affected_records", "affected_items"})
_SUCCESS: Final = frozenset(
    name for name, english in ENGLISH_MEMBERS.items() if english == "success"
)
DONE: Final = frozenset({"success", "ok"}) | OUTCOMES.done | _BEGUN | _SUCCESS
_PLACES: Final = frozenset({"path", "uri", "file", "file_path", "filePath"})
_FILE: Final = re.compile(r"[\w./\\-]{1,200}\.[a-z]\w{0,4}")
_FETCHING: Final = frozenset({"get", "read", "show", "fetch"})
_WRITTEN: Final = frozenset(
    "outputfile outputpath outputfilepath savedto savedpath savepath exportpath writtento".split()
)
"""Where something was written."""
REPORTED: Final = _WRITTEN | frozenset(
    "path file filepath filename url downloadurl status message success jobid exportid".split()
)


def reports_members(facts: Facts) -> Verdict | None:
    """Members that only the report of a deed has."""
    value = facts.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not _reports(facts, value):
        return None
    is_told = facts.call.is_about_one or _has_text(value)
    return None if is_told else Verdict("action", "likely")


def _reports(facts: Facts, value: dict[str, Any]) -> bool:
    """Whether members report a deed, as far as they are all that is given."""
    call = facts.call
    if len(value) <= FEW and not MEMBERS.reports.isdisjoint(map(squeezed, value)):
        return True
    if call.intent == "list":
        return False
    if call.verbs and _tells_own_deed(payload(value), call):
        return True
    if _tells_kept(value, call):
        return True
    if len(value) <= FEW and _tells_written(value, call):
        return True
    if call.intent == "read":
        return call.words[-1:] == ("async",) and _has_begun(value, call)
    if _has_begun(value, call) or _tells_deeds(value):
        return True
    if not says_well(value) or (call.gives_output and not OUTPUT.isdisjoint(value)):
        return False
    if not _AFFECTED.isdisjoint(value):
        return True
    if call.may_act and call.intent == "unknown" and facts.find_collection() is None:
        return True
    if call.intent == "unknown" and any(_gives(facts, *member) for member in value.items()):
        return False
    has_list = any(isinstance(each, list) for each in value.values())
    return not has_list and not isinstance(value.get("data"), dict)


def _gives(facts: Facts, name: str, each: Any) -> bool:
    """Whether a member is something that was asked for, rather than how it went, where, of what."""
    if name in SAYING or each is None or each in facts.arguments.values():
        return False
    if isinstance(each, bool):
        return name in facts.call.words
    return not (name.endswith(("_id", "Id")) or squeezed(name) in REPORTED)


def _has_text(value: dict[str, Any]) -> bool:
    """Whether a member is a text of several lines, and no message: what was made, say."""
    return any(
        isinstance(each, str) and len(each) > LONG and "\n" in each and name not in SAYING
        for name, each in value.items()
    )


def payload(value: dict[str, Any]) -> dict[str, Any]:
    """What an object that says that it went well has to say, or the object itself."""
    if _PAYLOADS.isdisjoint(value):
        return value
    inner = [each for name, each in value.items() if name in _PAYLOADS and isinstance(each, dict)]
    is_well = says_well(value) or value.get("status") in _FINE
    return inner[0] if is_well and len(inner) == 1 else value


def _tells_own_deed(value: dict[str, Any], call: Call) -> bool:
    """Whether a member, or the status, is a form of the tool's own verb: `loaded`, of `load`.

    Of a tool that makes things it may be what was made: `encoded`, of `encode`.
    """
    status, deeds = value.get("status", value.get("state")), call.verbs
    if call.intent == "make":
        value = {name: each for name, each in value.items() if not _is_words(each)}
    told = (*value, status) if isinstance(status, str) else value
    for name in told:
        if name[-2:] in _ENDINGS and not deeds.isdisjoint(base_forms(name.lower())):
            return True
        if name.startswith("successful_") and singular(name.rpartition("_")[2]) in deeds:
            return True
    return False


def _is_words(value: Any) -> bool:
    """Whether a value is a text, rather than the name of a file."""
    return isinstance(value, str) and _FILE.fullmatch(value) is None


def _tells_deeds(value: dict[str, Any]) -> bool:
    """Whether all members tell what was created, updated, removed."""
    if not value or not OUTCOMES.done.issuperset(value):
        return False
    return all(isinstance(each, list | int) for each in value.values())


def _tells_kept(value: dict[str, Any], call: Call) -> bool:
    """Whether members say what was logged, or where what was made is."""
    is_log = call.words[-1:] == ("log",) and call.words[0] not in _FETCHING
    if is_log and value.get("logged"):
        return True
    output = value.get("output")
    may_write = call.intent != "read" or "convert" in call.words
    return may_write and type(output) is dict and not _PLACES.isdisjoint(output)


def _tells_written(value: dict[str, Any], call: Call) -> bool:
    """Whether members say that it went well, and where what came of it was written."""
    is_well = says_well(value) or value.get("status") in _FINE
    if not is_well:
        return False
    names = [squeezed(name) for name in value]
    if not _WRITTEN.isdisjoint(names):
        return True
    said = value.get("message")
    is_file = "convert" in call.words and any(name.endswith("filepath") for name in names)
    return is_file and isinstance(said, str) and phrases.made.search(in_english(said)) is not None


def _has_begun(value: dict[str, Any], call: Call) -> bool:
    """Whether a few members say that something was started, and by which name it goes on."""
    status = value.get("status", value.get("state"))
    if not isinstance(status, str) or not OUTPUT.isdisjoint(value):
        return False
    is_begun = status.lower() in _BEGUN and len(value) <= FEW
    if not is_begun and not (call.intent == "run" and status.lower() == "running"):
        return False
    return any(name == "id" or name.endswith(("_id", "Id")) for name in value)


def says_well(value: dict[str, Any]) -> bool:
    if DONE.isdisjoint(value):
        return False
    return any(each is True and name in DONE for name, each in value.items())
