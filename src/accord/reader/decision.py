"""Decides the type of a reply by the evidence for each type.

`SOURCES` is the table of evidence, in order of precedence: what the protocol declares, failure,
catalogs, actions, lists. A piece of evidence has a type and a strength: certain, likely or a guess.

1. What the protocol declares decides alone.
2. Otherwise the first piece that is at least likely decides; if all are guesses, the first.
3. A report in the reply makes a likely decision by the tool's name certain.
4. Evidence for another type that is as strong lowers the confidence by one level.

Sources that cannot change the decision are skipped: those whose evidence is always weaker than
what is found, and those that add nothing to it, since the first piece for a type stands for it.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from accord.reader.evidence import Facts, Verdict
from accord.reader.evidence.actions import (
    acted,
    ran,
    reports_done,
    reports_members,
    unconfirmed,
)
from accord.reader.evidence.catalogs import catalog
from accord.reader.evidence.error_texts import error_text
from accord.reader.evidence.failures import all_failed, is_error, payload_failed
from accord.reader.evidence.lists import (
    array,
    itemised,
    linked,
    lone_item,
    main_array,
    none_found,
    nothing_listed,
)
from accord.reader.reading import LEVEL, LEVELS, Confidence
from accord.reader.value import ASKING

_LIST: Final = frozenset({"list"})
_ACTION: Final = frozenset({"action"})
_ERROR: Final = frozenset({"error"})
_SINGLE: Final = frozenset({"single"})
_REPORT: Final = frozenset({"action", "report"})


class Source(NamedTuple):
    """A source of evidence: its name, when it has any, an example, and the function that looks."""

    name: str
    when: str
    example: str
    look: Callable[[Facts], Verdict | None]
    strongest: Confidence
    """The highest confidence of its evidence."""
    looks_at: Literal["anything", "words", "data"] = "anything"
    """Replies that it can be found in: text alone, anything but text, or both."""
    adds: frozenset[str] = _LIST
    """What it can add to the evidence: types, and whether there is a report in the reply."""


_SURELY: Final = Verdict("single")
_LIKELY: Final = Verdict("single", "likely")
_PERHAPS: Final = Verdict("single", "guess")


def _asks(facts: Facts) -> Verdict | None:
    value = facts.value
    if type(value) is not dict or "resultType" not in value or value["resultType"] != ASKING:
        return None
    return Verdict("single", finding="nothing has changed yet; the tool requests input first")


def _single(facts: Facts) -> Verdict:
    """How sure that is depends on how much else it could have been."""
    if facts.call.wants_many:
        return _PERHAPS
    return _LIKELY if facts.words is not None or facts.call.intent == "unknown" else _SURELY


SOURCES: Final = (
    Source(
        "asks",
        "the tool requests input from the client first",
        '{"resultType": "input_required", "inputRequests": …}',
        _asks,
        "certain",
        "data",
        adds=_SINGLE,
    ),
    Source(
        "is-error",
        "`isError` is true",
        '{"content": […], "isError": true}',
        is_error,
        "certain",
        adds=_ERROR,
    ),
    Source(
        "payload-failed",
        "the payload reports a failure: a flag, an error, a status, an exit code",
        '{"success": false}',
        payload_failed,
        "certain",
        "data",
        adds=_ERROR | _ACTION | _LIST,
    ),
    Source(
        "all-failed",
        "all of several operations failed; if only some did, the status is partial",
        '{"successful": 0, "failed": 2}',
        all_failed,
        "likely",
        "data",
        adds=_ERROR | _ACTION,
    ),
    Source(
        "error-text",
        "the text is only an error, or reports that the requested item does not exist",
        "Error: no such table",
        error_text,
        "certain",
        adds=_ERROR,
    ),
    Source(
        "catalog",
        "a list of tools: each with a name and what it takes or does, under any names",
        '{"tools": [{"name": …, "inputSchema": …}]}',
        catalog,
        "certain",
        "data",
    ),
    Source(
        "unconfirmed",
        "an action awaiting confirmation; nothing has changed yet",
        "Call again with confirm=true",
        unconfirmed,
        "likely",
        adds=_SINGLE,
    ),
    Source(
        "acted",
        "the tool's name is that of an action",
        "send_message",
        acted,
        "likely",
        adds=_ACTION,
    ),
    Source(
        "reports-done",
        "a text that reports an action, also by a form of the verb in the tool's name",
        "Successfully wrote to a.txt",
        reports_done,
        "likely",
        adds=_REPORT,
    ),
    Source(
        "reports-members",
        "members that report an action",
        '{"ok": true}, {"affected_rows": 1}',
        reports_members,
        "likely",
        "data",
        adds=_REPORT,
    ),
    Source("array", "a JSON array", "[…]", array, "certain", "data"),
    Source(
        "main-array",
        "an object whose main part is one array",
        '{"total": 2, "users": […]}',
        main_array,
        "certain",
        "data",
    ),
    Source(
        "none-found",
        "a text that reports no results",
        "No matches found",
        none_found,
        "likely",
        "words",
    ),
    Source(
        "itemised",
        "a text that is clearly a list",
        "Found 2 tables:\\n- users\\n- posts",
        itemised,
        "likely",
        "words",
    ),
    Source(
        "linked",
        "links to several items, from a tool that returns links",
        "two `resource_link` blocks",
        linked,
        "likely",
    ),
    Source(
        "lone-item",
        "one item, or the number 0, from a tool that lists",
        '{"name": "default"}',
        lone_item,
        "guess",
        "data",
    ),
    Source(
        "nothing-listed",
        "an empty result, from a tool that lists",
        '{"content": []}',
        nothing_listed,
        "guess",
    ),
    Source(
        "ran",
        "the tool runs something, and returns neither a list nor output",
        "run_pipeline",
        ran,
        "guess",
        adds=_ACTION,
    ),
    Source("single", "anything else", '{"id": 1, "name": "a"}', _single, "certain", adds=_SINGLE),
)


class Decision(NamedTuple):
    """The evidence that decided, its source, how sure that is, and what speaks against it."""

    source: Source
    evidence: Verdict
    confidence: Confidence
    against: tuple[str, ...]


_EXPECTED: Final = frozenset({"acted", "ran"})
"""What a tool does by its name, if it succeeds: not evidence against a failure."""
_DECLARED: Final = frozenset({"asks", "is-error"})
"""Members of the protocol, which no payload contradicts."""
_RAISED: Final[Mapping[Confidence, Confidence]] = {"likely": "certain"}
_LOWERED: Final[Mapping[Confidence, Confidence]] = {"certain": "likely", "likely": "guess"}


Prepared = tuple[Source, Callable[[Facts], Verdict | None], int, frozenset[str]]


def _prepared(*fields: str) -> tuple[Prepared, ...]:
    """Return the sources for some replies with what `decide` needs, in the order of SOURCES."""
    return tuple(
        (each, each.look, LEVEL[each.strongest], each.adds)
        for each in SOURCES
        if each.looks_at in fields and each.name not in _DECLARED and each.name != "single"
    )


_FOR_ALL: Final = _prepared("anything", "words", "data")
_FOR_WORDS: Final = _prepared("anything", "words")
_FOR_DATA: Final = _prepared("anything", "data")
_BY_NAME: Final = {source.name: source for source in SOURCES}

Piece = tuple[Source, Verdict]


def decide(facts: Facts) -> Decision:
    """Gather the evidence, and decide."""
    for declared, name in ((is_error(facts), "is-error"), (_asks(facts), "asks")):
        if declared is not None:
            return Decision(_BY_NAME[name], declared, "certain", ())
    sources = _FOR_ALL
    if facts.words is None:
        sources = _FOR_DATA
    elif facts.words is facts.value:
        sources = _FOR_WORDS
    level = len(LEVELS)
    pieces: list[Piece] = []
    found: set[str] = set()
    for source, look, strongest, adds in sources:
        if strongest <= level and not adds <= found and (piece := look(facts)) is not None:
            pieces.append((source, piece))
            level = min(level, LEVEL[piece.confidence])
            found.add(_family(piece))
            if "report" in adds:
                found.add("report")
    if not pieces:
        decisive = _single(facts)
        return Decision(_BY_NAME["single"], decisive, decisive.confidence, ())
    if len(pieces) == 1:
        source, decisive = pieces[0]
        return Decision(source, decisive, decisive.confidence, ())
    return _weigh(pieces)


def _weigh(pieces: list[Piece]) -> Decision:
    """Decide by several pieces: the first for each type stands for that type."""
    first: dict[str, Piece] = {}
    for piece in pieces:
        first.setdefault(_family(piece[1]), piece)
    candidates = list(first.values())
    source, decisive = next(
        (piece for piece in candidates if piece[1].confidence != "guess"), candidates[0]
    )
    confidence = decisive.confidence
    against = [piece for piece in candidates if _contradicts(piece, decisive)]
    if any(LEVEL[piece.confidence] <= LEVEL[confidence] for _, piece in against):
        confidence = _LOWERED.get(confidence, confidence)
    elif source.name in _EXPECTED and any("report" in other.adds for other, _ in pieces):
        confidence = _RAISED.get(confidence, confidence)
    return Decision(
        source, decisive, confidence, tuple(f"against:{other.name}" for other, _ in against)
    )


def _family(piece: Verdict) -> str:
    return "list" if piece.kind == "tool_catalog" else piece.kind


def _contradicts(piece: Piece, decisive: Verdict) -> bool:
    source, evidence = piece
    if _family(evidence) == _family(decisive):
        return False
    return decisive.kind != "error" or source.name not in _EXPECTED
