"""What kind of reply it is: an ordered table of small rules, the first that fires decides."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from accord.reader.collection import Collection, collection_in, is_catalog
from accord.reader.failure import Sign, failed_among, failed_counts, failure_in
from accord.reader.items import Items, find_items
from accord.reader.phrases import says_all_failed, says_done, says_failed, says_kept, says_none
from accord.reader.reading import Confidence
from accord.reader.words import Called, Doing
from accord.response import CATALOG, ResponseType

_LOGS: Final = frozenset({"log", "logs", "console", "stderr", "output"})
_HISTORIES: Final = frozenset({"log", "logs", "history"})
_FEW: Final = 6
_REPORTS: Final = frozenset(
    """affected_rows affectedrows rowsaffected rows_affected changes lastinsertrowid
    last_insert_id insertid modifiedcount deletedcount matchedcount upsertedid insertedid
    acknowledged""".split()
)
_DONE: Final = frozenset({"success", "ok", "deleted", "created", "updated"})
_TEXT_MEMBERS: Final = ("result", "text", "message", "output", "content", "response")


class Case(msgspec.Struct, kw_only=True):
    """What is known of a reply when it is judged."""

    value: Any
    is_text: bool
    is_error: bool | None
    """What `isError` says, if it says anything."""
    message: str | None
    has_attachments: bool
    is_structured: bool
    is_content: bool
    """The tool gives back what somebody wrote, who may have written anything."""
    tool: str | None
    called: Called
    doing: Doing
    words: str | None = None
    """The text that is all there is, also as the only member of an object."""
    sign: Sign | None = None
    collection: Collection | None = None
    has_looked: bool = False
    """Whether a collection was looked for."""
    items: Items | None = None

    def __post_init__(self) -> None:
        value = self.value
        if isinstance(value, dict) and len(value) == 1:
            ((name, value),) = value.items()
            if name not in _TEXT_MEMBERS:
                return
        if isinstance(value, str):
            self.words = value

    @property
    def is_log(self) -> bool:
        """Whether the tool gives back lines that were logged, errors among them."""
        return not _LOGS.isdisjoint(self.called.words)


class Verdict(NamedTuple):
    """What a rule says."""

    kind: ResponseType
    confidence: Confidence = "certain"
    finding: str | None = None
    is_partial: bool = False


class Rule(NamedTuple):
    """A rule: its name, when it fires, an example, and the function that decides."""

    name: str
    when: str
    example: str
    judge: Callable[[Case], Verdict | None]
    looks_at: Literal["anything", "words", "data"] = "anything"


def _is_error(case: Case) -> Verdict | None:
    if case.is_error is not True:
        return None
    case.sign = failure_in(case.value)
    return Verdict("error")


def _lies(case: Case) -> str | None:
    if case.is_error is False:
        return "isError is false, but the payload says that it failed"
    return None


def _payload_failed(case: Case) -> Verdict | None:
    case.sign = failure_in(case.value)
    if case.sign is None:
        return None
    counts = failed_counts(case.value)
    if counts is not None and counts[0] > 0:
        return Verdict("action", "likely", is_partial=True)
    return Verdict("error", "certain", _lies(case))


def _all_failed(case: Case) -> Verdict | None:
    if isinstance(case.value, dict):
        counts = failed_counts(case.value)
        if counts is not None and counts[1] > 0:
            if counts[0] == 0:
                case.sign = Sign("all-failed", "All of it failed", None, case.value)
                return Verdict("error", "likely", _lies(case))
            return Verdict("action", "likely", is_partial=True)
    if case.doing not in ("act", "run"):
        return None
    collection = _collection(case)
    items = collection.items if collection else []
    told, failed = failed_among(items) if items else (0, 0)
    if not failed or told < len(items):
        return None
    if failed == told:
        case.sign = Sign("all-failed", "All of it failed", None, case.value)
        return Verdict("error", "likely", _lies(case))
    return Verdict("action", "likely", is_partial=True)


def _error_text(case: Case) -> Verdict | None:
    words = case.words
    if words is None and isinstance(case.value, list) and len(case.value) == 1:
        words = case.value[0] if isinstance(case.value[0], str) else None
        if words is None or says_failed(words, is_content=True) != "strong":
            return None
    if words is None or case.has_attachments or (case.is_content and case.is_structured):
        return None
    if case.doing == "act" and says_all_failed(words):
        case.sign = Sign("all-failed", words.strip())
        return Verdict("error", "likely", _lies(case))
    strength = says_failed(words, is_content=case.is_content or case.is_log)
    if strength is None or says_none(words):
        return None
    case.sign = Sign("error-text", words.strip())
    return Verdict("error", "likely" if strength == "strong" else "guess", _lies(case))


def _catalog(case: Case) -> Verdict | None:
    value = case.value
    if isinstance(value, dict) and isinstance(value.get("tools"), list):
        tools = value["tools"]
        if is_catalog(tools) or (not tools and value.keys() <= {"tools", "nextCursor"}):
            case.collection = Collection(tools, _without(value, "tools"), ("tools",), "certain")
            return Verdict("tool_catalog")
    collection = _collection(case)
    if collection is not None and (is_catalog(collection.items) or case.tool == CATALOG):
        return Verdict("tool_catalog")
    return None


def _without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


def _acted(case: Case) -> Verdict | None:
    if case.doing != "act" or case.has_attachments:
        return None
    return Verdict("action", "certain" if not isinstance(case.value, list) else "likely")


def _reports_done(case: Case) -> Verdict | None:
    if case.doing == "read" and case.words is not None and says_kept(case.words):
        return Verdict("action", "likely")
    if case.doing in ("list", "read"):
        return None
    words = case.words or (case.message if not isinstance(case.value, list) else None)
    if words is not None and says_done(words):
        return Verdict("action", "likely")
    return None


def _reports_members(case: Case) -> Verdict | None:
    value = case.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if len(value) <= _FEW and not _REPORTS.isdisjoint(map(str.lower, value)):
        return Verdict("action", "likely")
    if case.doing in ("list", "read"):
        return None
    said = not _DONE.isdisjoint(value) and any(value.get(name) is True for name in _DONE)
    if not said:
        return None
    has_list = any(isinstance(each, list) for each in value.values())
    if not has_list and not isinstance(value.get("data"), dict):
        return Verdict("action", "likely")
    return None


def _ran(case: Case) -> Verdict | None:
    if case.doing != "run" or case.has_attachments:
        return None
    collection = _collection(case)
    return None if collection is not None else Verdict("action", "guess")


def _array(case: Case) -> Verdict | None:
    return Verdict("list") if isinstance(case.value, list) else None


def _main_array(case: Case) -> Verdict | None:
    collection = _collection(case)
    if collection is not None and case.has_attachments and collection.path == ("content",):
        return None  # which are what is attached
    return None if collection is None else Verdict("list", collection.confidence)


def _collection(case: Case) -> Collection | None:
    if case.collection is None and not case.has_looked and not case.is_text:
        case.has_looked = True
        case.collection = collection_in(case.value, case.called, case.doing)
    return case.collection


def _none_found(case: Case) -> Verdict | None:
    words = case.words
    if words is None or case.is_content or not says_none(words):
        return None
    case.items = Items([], words.strip(), "", "none-found")
    return Verdict("list", "likely")


def _itemised(case: Case) -> Verdict | None:
    words = case.words
    if words is None or case.is_content:
        return None
    wants_list = case.doing == "list" or case.called.is_plural
    case.items = find_items(words, wants_list=wants_list)
    return None if case.items is None else Verdict("list", "likely")


def _nothing_listed(case: Case) -> Verdict | None:
    called = case.called
    is_history = not _HISTORIES.isdisjoint(called.words)
    is_listing = case.doing == "list" or called.is_plural or is_history
    if not is_listing or case.has_attachments:
        return None
    words = case.words
    is_heading = words is not None and words.strip().endswith(":") and "\n" not in words.strip()
    value = case.value
    is_none = value is None or value == {"result": None}
    if is_none or is_heading or (words is not None and not words.strip()):
        case.items = Items([], "", "", "nothing")
        return Verdict("list", "guess")
    return None


def _single(case: Case) -> Verdict | None:
    sure: Confidence = "likely" if case.doing == "list" else "certain"
    return Verdict("single", sure)


RULES: Final = (
    Rule("is-error", "`isError` is true", '{"content": […], "isError": true}', _is_error),
    Rule(
        "payload-failed",
        "the payload says so: a flag, an error, a status",
        '{"success": false}',
        _payload_failed,
        "data",
    ),
    Rule(
        "all-failed",
        "every one of several things failed; some of them: partial",
        '{"successful": 0, "failed": 2}',
        _all_failed,
        "data",
    ),
    Rule(
        "error-text",
        "a short text that is nothing but an error",
        "Error: no such table",
        _error_text,
    ),
    Rule(
        "catalog",
        "a list of tools with their schemas",
        '{"tools": [{"name": …, "inputSchema": …}]}',
        _catalog,
        "data",
    ),
    Rule("acted", "the tool's name is that of a deed", "send_message", _acted),
    Rule(
        "reports-done", "a text that reports a deed", "Successfully wrote to a.txt", _reports_done
    ),
    Rule(
        "reports-members",
        "members that report a deed",
        '{"ok": true}, {"affected_rows": 1}',
        _reports_members,
        "data",
    ),
    Rule("array", "a JSON array", "[…]", _array, "data"),
    Rule(
        "main-array",
        "an object whose main part is one array",
        '{"total": 2, "users": […]}',
        _main_array,
        "data",
    ),
    Rule(
        "none-found",
        "a text that says that nothing was found",
        "No matches found",
        _none_found,
        "words",
    ),
    Rule(
        "itemised",
        "a text that is clearly a list",
        "Found 2 tables:\\n- users\\n- posts",
        _itemised,
        "words",
    ),
    Rule(
        "nothing-listed",
        "nothing at all, from a tool that lists",
        '{"content": []}',
        _nothing_listed,
    ),
    Rule("ran", "the tool runs things, and what came of it is no list", "execute_command", _ran),
    Rule("single", "anything else", '{"id": 1, "name": "a"}', _single),
)


_FOR_WORDS: Final = tuple(rule for rule in RULES if rule.looks_at != "data")
_FOR_DATA: Final = tuple(rule for rule in RULES if rule.looks_at != "words")


def judge(case: Case) -> tuple[Rule, Verdict]:
    """The first rule that fires, and what it says."""
    rules: tuple[Rule, ...] = RULES
    if case.words is None:
        rules = _FOR_DATA
    elif case.words is case.value:
        rules = _FOR_WORDS
    for rule in rules:
        verdict = rule.judge(case)
        if verdict is not None:
            return rule, verdict
    raise AssertionError("the last rule always fires")
