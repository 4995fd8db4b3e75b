"""The ordered table of rules that decide the type of a reply: the first that fires decides."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from accord.reader.evidence.action_members import reports_members
from accord.reader.evidence.actions import acted, ran, reports_done, unconfirmed
from accord.reader.evidence.catalogs import catalog
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.evidence.failures import all_failed, error_text, is_error, payload_failed
from accord.reader.evidence.lists import (
    array,
    itemised,
    linked,
    lone_item,
    main_array,
    none_found,
    nothing_listed,
)
from accord.reader.value import ASKING


class Rule(NamedTuple):
    """A rule: its name, when it fires, an example, and the function that decides."""

    name: str
    when: str
    example: str
    decide: Callable[[Facts], Verdict | None]
    looks_at: Literal["anything", "words", "data"] = "anything"
    """Replies that it can fire for: those that are only text, those that are not text, or any."""


_SURELY: Final = Verdict("single")
_LIKELY: Final = Verdict("single", "likely")
_PERHAPS: Final = Verdict("single", "guess")


def _asks(facts: Facts) -> Verdict | None:
    value = facts.value
    if type(value) is not dict or "resultType" not in value or value["resultType"] != ASKING:
        return None
    return Verdict("single", finding="nothing has changed yet; the tool requests input first")


def _single(facts: Facts) -> Verdict | None:
    """How sure that is depends on how much else it could have been."""
    if facts.call.wants_many:
        return _PERHAPS
    return _LIKELY if facts.words is not None or facts.call.intent == "unknown" else _SURELY


RULES: Final = (
    Rule(
        "asks",
        "the tool requests input from the client first",
        '{"resultType": "input_required", "inputRequests": …}',
        _asks,
        "data",
    ),
    Rule("is-error", "`isError` is true", '{"content": […], "isError": true}', is_error),
    Rule(
        "payload-failed",
        "the payload reports a failure: a flag, an error, a status, an exit code",
        '{"success": false}',
        payload_failed,
        "data",
    ),
    Rule(
        "all-failed",
        "all of several operations failed; if only some did, the status is partial",
        '{"successful": 0, "failed": 2}',
        all_failed,
        "data",
    ),
    Rule(
        "error-text",
        "the text is only an error, or reports that the requested item does not exist",
        "Error: no such table",
        error_text,
    ),
    Rule(
        "catalog",
        "a list of tools: with schemas, described under `tools`, or from a tool that lists them",
        '{"tools": [{"name": …, "inputSchema": …}]}',
        catalog,
        "data",
    ),
    Rule(
        "unconfirmed",
        "an action awaiting confirmation; nothing has changed yet",
        "Call again with confirm=true",
        unconfirmed,
    ),
    Rule("acted", "the tool's name is that of an action", "send_message", acted),
    Rule(
        "reports-done",
        "a text that reports an action, also by a form of the verb in the tool's name",
        "Successfully wrote to a.txt",
        reports_done,
    ),
    Rule(
        "reports-members",
        "members that report an action",
        '{"ok": true}, {"affected_rows": 1}',
        reports_members,
        "data",
    ),
    Rule("array", "a JSON array", "[…]", array, "data"),
    Rule(
        "main-array",
        "an object whose main part is one array",
        '{"total": 2, "users": […]}',
        main_array,
        "data",
    ),
    Rule(
        "none-found",
        "a text that reports no results",
        "No matches found",
        none_found,
        "words",
    ),
    Rule(
        "itemised",
        "a text that is clearly a list",
        "Found 2 tables:\\n- users\\n- posts",
        itemised,
        "words",
    ),
    Rule(
        "linked",
        "links to several items, from a tool that returns links",
        "two `resource_link` blocks",
        linked,
    ),
    Rule(
        "lone-item",
        "one item, or the number 0, from a tool that lists",
        '{"name": "default"}',
        lone_item,
        "data",
    ),
    Rule(
        "nothing-listed",
        "an empty result, from a tool that lists",
        '{"content": []}',
        nothing_listed,
    ),
    Rule(
        "ran", "the tool runs something, and returns neither a list nor output", "run_pipeline", ran
    ),
    Rule("single", "anything else", '{"id": 1, "name": "a"}', _single),
)


_ALL: Final = tuple((rule.decide, rule) for rule in RULES)  # faster than to ask each rule for it
_FOR_WORDS: Final = tuple(each for each in _ALL if each[1].looks_at != "data")
_FOR_DATA: Final = tuple(each for each in _ALL if each[1].looks_at != "words")


def judge(facts: Facts) -> tuple[Rule, Verdict]:
    """Return the first rule that fires, and its verdict."""
    rules = _ALL
    if facts.words is None:
        rules = _FOR_DATA
    elif facts.words is facts.value:
        rules = _FOR_WORDS
    for decide, rule in rules:
        verdict = decide(facts)
        if verdict is not None:
            return rule, verdict
    raise AssertionError("the last rule always fires")
