"""Rules that say that a reply reports on a deed."""

import re
from typing import Any, Final

from accord.reader.case import Case, Verdict
from accord.reader.glossary import MEMBERS, in_english
from accord.reader.phrases import (
    says_changed,
    says_deed,
    says_done,
    says_fully_done,
    says_kept,
    says_not_needed,
    says_only_done,
    says_read,
)
from accord.reader.verbs import DEEDS, EITHER, GIVING, acts, stems
from accord.reader.words import Called, singular, squeezed

_FEW: Final = 6
_MOST_LINES: Final = 4
_REPORTS: Final = frozenset(
    """affected_rows affectedRows rows_affected rowsAffected RowsAffected changes lastInsertRowid
    last_insert_id lastInsertId insertId insertedId insertedIds upsertedId modifiedCount
    deletedCount insertedCount matchedCount acknowledged""".split()
)
_OUTPUT: Final = frozenset({"output", "stdout", "result"})
_SAID: Final = (*_OUTPUT, "stderr", "return_value", "returnValue")
_COMMANDS: Final = ("command", "cmd", "args", "command_line", "commandLine")
_LONGEST_COMMAND: Final = 400
_MOST_WORDS: Final = 3
_SAYING: Final = frozenset("status message success ok id code timestamp".split()) | MEMBERS.keys()
"""What may stand beside the report of a deed."""
_LONG: Final = 200
_ENDINGS: Final = ("ed", "en")
_PAYLOADS: Final = frozenset({"data", "result", "response"})
_FINE: Final = ("success", "ok", "OK")
_BEGUN: Final = frozenset(
    "submitted queued pending started starting processing accepted scheduled in_progress".split()
)
_UNCONFIRMED: Final = frozenset(
    """requires_confirmation requiresConfirmation confirmation_required confirmationRequired
    needs_confirmation needsConfirmation""".split()
)
_NAMING: Final = ("id", "Id", "number", "Number", "ref", "Ref", "reference", "status", "state")
"""What only that has which was made."""
_CONFIRM: Final = re.compile(
    r"(?:\b(?:call|pass|set|use|again|with|add|provide)\b|传|设置)[^\n]{0,80}?"
    r"\bconfirm(?:ed)?`?\s*[=:]\s*[`\"']?true\b",
    re.I,
)
_SHOWING: Final = frozenset({"display", "show", "open", "view", "preview"})
_SHOTS: Final = frozenset("screenshot screen image page snapshot frame pane window".split())
_MESSAGES: Final = tuple(name for name, english in MEMBERS.items() if english == "message")
_SUCCESS: Final = frozenset(name for name, english in MEMBERS.items() if english == "success")
_DONE: Final = frozenset({"success", "ok"}) | DEEDS | _BEGUN | _SUCCESS
_PLACES: Final = frozenset({"path", "uri", "file", "file_path", "filePath"})
_KEPT: Final = frozenset({"added", "saved", "created", "recorded", "submitted", "posted"})
_FILE: Final = re.compile(r"[\w./\\-]{1,200}\.[a-z]\w{0,4}")
_FETCHING: Final = frozenset({"get", "read", "show", "fetch"})
_MADE: Final = re.compile(r"\b(?:created|generated|written|saved|exported)\b", re.I)
_WRITTEN: Final = frozenset(
    "outputfile outputpath outputfilepath savedto savedpath savepath exportpath writtento".split()
)
"""Where something was written."""
_REPORTED: Final = _WRITTEN | frozenset(
    "path file filepath filename url downloadurl status message success jobid exportid".split()
)


def unconfirmed(case: Case) -> Verdict | None:
    if case.called.doing != "act" or not _wants_word(case):
        return None
    return Verdict("single", "likely", "nothing was done yet: the tool wants a confirmation")


def _wants_word(case: Case) -> bool:
    value, words = case.value, case.words
    if type(value) is dict and not _UNCONFIRMED.isdisjoint(value):
        is_asked = any(value.get(each) is True for each in _UNCONFIRMED)
        return is_asked and not any(name in _DONE or name.endswith(_NAMING) for name in value)
    if words is None or "onfirm" not in words or _CONFIRM.search(words) is None:
        return False
    return not says_done(words)


def acted(case: Case) -> Verdict | None:
    if case.called.doing != "act" or _is_given(case):
        return None
    if any(each.get("type") != "resource_link" for each in case.attachments):
        return None
    is_long = isinstance(case.value, list) or "\n" in (case.words or "").strip()
    return Verdict("action", "likely" if is_long else "certain")


def _is_given(case: Case) -> bool:
    """Whether a tool that makes something to take away gives it, and no report on it."""
    name = case.called.words
    if GIVING.isdisjoint(name[:1]) or "to" in name or case.value in (None, "", [], {}):
        return False
    if name[0] == "capture" and _SHOTS.isdisjoint(name):
        return False
    words, value = case.words or case.message, case.value
    if words is not None and (says_done(words) or says_kept(words)):
        return False
    if case.words is not None:
        return "\n" in case.words
    if not isinstance(value, dict):
        return True
    has_parts = any(isinstance(each, dict | list) and each for each in value.values())
    return has_parts and _REPORTED.isdisjoint(map(squeezed, value)) and not _says_well(value)


def reports_done(case: Case) -> Verdict | None:
    call = case.called
    if _is_plainly_done(case):
        return Verdict("action", "likely")
    if call.doing == "list" and (call.words[-1:] != ("list",) or "\n" in (case.words or "\n")):
        return None
    words = case.told or _message(case)
    if words is None or (type(case.value) is dict and _gives_more(case)):
        return None
    is_short = "\n\n" not in words.strip()
    if call.gives_content and case.words is not None:
        is_told = is_short and call.doing == "unknown" and says_done(words)
        is_told = is_told and (call.may_act or "\n" not in words.strip())
        is_line = is_short and "\n" not in words.strip()
        is_line = is_line and (case.mentions(words) or words.startswith("Successfully "))
        if not is_told and not is_line:
            return None
    if is_short and says_deed(words, call.deeds) and not (call.wants_many and call.doing == "read"):
        return Verdict("action", "likely" if call.doing != "read" else "guess")
    if call.doing == "read" and is_short and _says_own(words, call):
        return Verdict("action", "guess")
    if call.wants_many:
        return None
    if call.doing in ("run", "make") and says_done(words):
        return Verdict("action", "likely")
    if call.doing == "unknown" and not call.checks and says_done(words) and not says_read(words):
        return Verdict("action", "likely")
    if call.may_act and call.doing != "read" and says_not_needed(words):
        return Verdict("action", "guess")
    return None


def _says_own(words: str, call: Called) -> bool:
    """Whether a text begins with the tool's own noun and what was done: `Review added`."""
    small = words[:_LONG].lower()
    first, _, rest = small.partition(" ")
    is_only = f"\n{first} " not in small and " by " not in small
    return is_only and first in call.deeds and rest.partition(" ")[0] in _KEPT


def _gives_more(case: Case) -> bool:
    """Whether a tool that is named for no deed gives something beside the words about it."""
    call = case.called
    if call.doing != "unknown" or (call.may_act and not call.checks):
        return False
    return any(name not in _SAYING and each is not None for name, each in case.value.items())


def _is_plainly_done(case: Case) -> bool:
    """Whether the words, or the command that was run, can mean nothing else."""
    doing, words = case.called.doing, case.told
    if doing == "run" and any(_is_deed(case.arguments.get(name)) for name in _COMMANDS):
        return True
    call = case.called
    said = words or case.message
    if said and "ed" in said and not (call.wants_many or call.is_one) and _says_both(case, said):
        return True
    if words is None:
        return False
    if words.startswith("Successfully ") and says_kept(words.partition("\n")[0]):
        return True
    return says_changed(words) or (doing == "read" and _is_report(case, words))


def _says_both(case: Case, said: str) -> bool:
    """Whether words say that it is done, and a flag beside them if there is anything beside."""
    if case.words is not None and case.gives_anything:
        return False
    is_shown = not _SHOWING.isdisjoint(case.called.words)
    is_plain = not case.called.checks or "successfully" in said
    if is_plain and says_fully_done(said, is_shown=is_shown):
        return True
    value = case.value
    is_well = case.words is None and isinstance(value, dict) and _says_well(value)
    return is_well and says_done(said) and not says_read(said)


def _is_deed(command: Any) -> bool:
    """Whether a command line changes something, by its first words: `kubectl delete pod x`."""
    if isinstance(command, str):
        command = command[:_LONGEST_COMMAND].split()
    if not isinstance(command, list):
        return False
    words = [str(word).lower() for word in command[:_MOST_WORDS]]
    return any(acts(word) and word not in EITHER for word in words)


def _is_report(case: Case, words: str) -> bool:
    """Whether a tool that reads reports nothing but that it did something."""
    if says_kept(words):
        return True
    return not case.called.wants_many and not case.called.gives_content and says_only_done(words)


def _message(case: Case) -> str | None:
    """The words beside an object, or those that it has itself."""
    if isinstance(case.value, list):
        return None
    said = case.message
    if not said and isinstance(case.value, dict):
        said = case.value.get("message")
        if said is None and not MEMBERS.keys().isdisjoint(case.value):
            said = next((case.value[name] for name in _MESSAGES if name in case.value), None)
    return in_english(said) if isinstance(said, str) else None


def reports_members(case: Case) -> Verdict | None:
    value = case.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not _reports(case, value):
        return None
    is_told = case.called.is_one or _has_text(value)
    return None if is_told else Verdict("action", "likely")


def _reports(case: Case, value: dict[str, Any]) -> bool:
    """Whether members report a deed, as far as they are all that is given."""
    call = case.called
    if len(value) <= _FEW and not _REPORTS.isdisjoint(value):
        return True
    if call.doing == "list":
        return False
    if call.deeds and _tells_own_deed(_payload(value), call):
        return True
    if _tells_kept(value, call):
        return True
    if len(value) <= _FEW and _tells_written(value, call):
        return True
    if call.doing == "read":
        return False
    if _has_begun(value, is_run=call.doing == "run") or _tells_deeds(value):
        return True
    if not _says_well(value) or (call.gives_output and not _OUTPUT.isdisjoint(value)):
        return False
    if call.may_act and call.doing == "unknown" and case.find_collection() is None:
        return True
    if call.doing == "unknown" and any(_gives(case, *member) for member in value.items()):
        return False
    has_list = any(isinstance(each, list) for each in value.values())
    return not has_list and not isinstance(value.get("data"), dict)


def _gives(case: Case, name: str, each: Any) -> bool:
    """Whether a member is something that was asked for, rather than how it went, where, of what."""
    if name in _SAYING or each is None or each in case.arguments.values():
        return False
    if isinstance(each, bool):
        return name in case.called.words
    return not (name.endswith(("_id", "Id")) or squeezed(name) in _REPORTED)


def _has_text(value: dict[str, Any]) -> bool:
    """Whether a member is a text of several lines, and no message: what was made, say."""
    return any(
        isinstance(each, str) and len(each) > _LONG and "\n" in each and name not in _SAYING
        for name, each in value.items()
    )


def _payload(value: dict[str, Any]) -> dict[str, Any]:
    """What an object that says that it went well has to say, or the object itself."""
    if _PAYLOADS.isdisjoint(value):
        return value
    inner = [each for name, each in value.items() if name in _PAYLOADS and isinstance(each, dict)]
    is_well = _says_well(value) or value.get("status") in _FINE
    return inner[0] if is_well and len(inner) == 1 else value


def _tells_own_deed(value: dict[str, Any], call: Called) -> bool:
    """Whether a member, or the status, is a form of the tool's own verb: `loaded`, of `load`.

    Of a tool that makes things it may be what was made: `encoded`, of `encode`.
    """
    status, deeds = value.get("status", value.get("state")), call.deeds
    if call.doing == "make":
        value = {name: each for name, each in value.items() if not _is_words(each)}
    told = (*value, status) if isinstance(status, str) else value
    for name in told:
        if name[-2:] in _ENDINGS and not deeds.isdisjoint(stems(name.lower())):
            return True
        if name.startswith("successful_") and singular(name.rpartition("_")[2]) in deeds:
            return True
    return False


def _is_words(value: Any) -> bool:
    """Whether a value is a text, rather than the name of a file."""
    return isinstance(value, str) and _FILE.fullmatch(value) is None


def _tells_deeds(value: dict[str, Any]) -> bool:
    """Whether all members tell what was created, updated, removed."""
    if not value or not DEEDS.issuperset(value):
        return False
    return all(isinstance(each, list | int) for each in value.values())


def _tells_kept(value: dict[str, Any], call: Called) -> bool:
    """Whether members say what was logged, or where what was made is."""
    is_log = call.words[-1:] == ("log",) and call.words[0] not in _FETCHING
    if is_log and value.get("logged"):
        return True
    output = value.get("output")
    may_write = call.doing != "read" or "convert" in call.words
    return may_write and type(output) is dict and not _PLACES.isdisjoint(output)


def _tells_written(value: dict[str, Any], call: Called) -> bool:
    """Whether members say that it went well, and where what came of it was written."""
    is_well = _says_well(value) or value.get("status") in _FINE
    if not is_well:
        return False
    names = [squeezed(name) for name in value]
    if not _WRITTEN.isdisjoint(names):
        return True
    said = value.get("message")
    is_file = "convert" in call.words and any(name.endswith("filepath") for name in names)
    return is_file and isinstance(said, str) and _MADE.search(in_english(said)) is not None


def _has_begun(value: dict[str, Any], *, is_run: bool) -> bool:
    """Whether a few members say that something was started, and by which name it goes on."""
    status = value.get("status", value.get("state"))
    if not isinstance(status, str) or not _OUTPUT.isdisjoint(value):
        return False
    is_begun = status.lower() in _BEGUN and len(value) <= _FEW
    if not is_begun and not (is_run and status.lower() == "running"):
        return False
    return any(name == "id" or name.endswith(("_id", "Id")) for name in value)


def _says_well(value: dict[str, Any]) -> bool:
    if _DONE.isdisjoint(value):
        return False
    return any(each is True and name in _DONE for name, each in value.items())


def ran(case: Case) -> Verdict | None:
    """What was run, and gives no output of its own."""
    call = case.called
    if call.doing != "run" or case.attachments or case.find_collection() is not None:
        return None
    if call.checks and isinstance(case.value, dict) and len(case.value) > _FEW:
        return None
    if case.words is not None and case.words.strip().count("\n") >= _MOST_LINES:
        return None
    if call.gives_output and not _is_silent(case):
        return None
    return Verdict("action", "guess")


def _is_silent(case: Case) -> bool:
    """Whether what was run had nothing to say."""
    if case.words is not None:
        return not case.words.strip()
    if not isinstance(case.value, dict):
        return case.value is None
    value = _payload(case.value)
    output = [value[name] for name in _SAID if name in value]
    return not any(output) and (bool(output) or not value)
