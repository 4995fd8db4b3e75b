"""What kind of reply it is: an ordered table of small rules, the first that fires decides."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from accord.reader.acting import acted, ran, reports_done, unconfirmed
from accord.reader.case import Case, Verdict
from accord.reader.catalogs import catalog
from accord.reader.deeds import reports_members
from accord.reader.failing import all_failed, error_text, is_error, payload_failed
from accord.reader.find import ASKING
from accord.reader.listing import (
    array,
    itemised,
    linked,
    lone_item,
    main_array,
    none_found,
    nothing_listed,
)


class Rule(NamedTuple):
    """A rule: its name, when it fires, an example, and the function that decides."""

    name: str
    when: str
    example: str
    decide: Callable[[Case], Verdict | None]
    looks_at: Literal["anything", "words", "data"] = "anything"
    """Which replies it can fire for: those that are words and nothing else, those that are not
    words at all, or any; the others are spared it."""


_SURELY: Final = Verdict("single")
_LIKELY: Final = Verdict("single", "likely")
_PERHAPS: Final = Verdict("single", "guess")


def _asks(case: Case) -> Verdict | None:
    value = case.value
    if type(value) is not dict or "resultType" not in value or value["resultType"] != ASKING:
        return None
    return Verdict("single", finding="nothing was done yet: the tool asks for something first")


def _single(case: Case) -> Verdict | None:
    """How sure that is depends on how much else it could have been."""
    if case.called.wants_many:
        return _PERHAPS
    return _LIKELY if case.words is not None or case.called.doing == "unknown" else _SURELY


RULES: Final = (
    Rule(
        "asks",
        "the tool wants answers to questions first",
        '{"resultType": "input_required", "inputRequests": …}',
        _asks,
        "data",
    ),
    Rule("is-error", "`isError` is true", '{"content": […], "isError": true}', is_error),
    Rule(
        "payload-failed",
        "the payload says so: a flag, an error, a status, an exit code",
        '{"success": false}',
        payload_failed,
        "data",
    ),
    Rule(
        "all-failed",
        "every one of several things failed; some of them: partial",
        '{"successful": 0, "failed": 2}',
        all_failed,
        "data",
    ),
    Rule(
        "error-text",
        "a text that is nothing but an error, or that what was asked for is not there",
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
        "a deed that waits for a confirmation: nothing was done yet",
        "Call again with confirm=true",
        unconfirmed,
    ),
    Rule("acted", "the tool's name is that of a deed", "send_message", acted),
    Rule(
        "reports-done",
        "a text that reports a deed, also by a form of the tool's own verb",
        "Successfully wrote to a.txt",
        reports_done,
    ),
    Rule(
        "reports-members",
        "members that report a deed",
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
        "a text that says that nothing was found",
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
        "links to several things, from a tool that gives them",
        "two `resource_link` blocks",
        linked,
    ),
    Rule(
        "lone-item",
        "one thing, or the number 0, from a tool that lists",
        '{"name": "default"}',
        lone_item,
        "data",
    ),
    Rule(
        "nothing-listed",
        "nothing at all, from a tool that lists",
        '{"content": []}',
        nothing_listed,
    ),
    Rule("ran", "the tool runs things, and gives neither a list nor output", "run_pipeline", ran),
    Rule("single", "anything else", '{"id": 1, "name": "a"}', _single),
)


_ALL: Final = tuple((rule.decide, rule) for rule in RULES)  # faster than to ask each rule for it
_FOR_WORDS: Final = tuple(each for each in _ALL if each[1].looks_at != "data")
_FOR_DATA: Final = tuple(each for each in _ALL if each[1].looks_at != "words")


def judge(case: Case) -> tuple[Rule, Verdict]:
    """The first rule that fires, and what it says."""
    rules = _ALL
    if case.words is None:
        rules = _FOR_DATA
    elif case.words is case.value:
        rules = _FOR_WORDS
    for decide, rule in rules:
        verdict = decide(case)
        if verdict is not None:
            return rule, verdict
    raise AssertionError("the last rule always fires")
