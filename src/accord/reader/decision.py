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
from functools import cache
from typing import Final, Literal, NamedTuple

from accord.reader.call import Intent
from accord.reader.evidence import Facts, Verdict
from accord.reader.evidence.actions import (
    action_name,
    given_back,
    ran,
    reports_done,
    reports_members,
    unconfirmed,
)
from accord.reader.evidence.catalogs import catalog
from accord.reader.evidence.error_texts import error_text, hints_at_failure
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
from accord.reader.lexicon import MEMBERS
from accord.reader.reading import LEVEL, LEVELS, Confidence
from accord.reader.value import ASKING

Form = Literal["text", "flat", "nested", "both"]
"""A text; an object of scalars; other data; an object with one text."""
_DATA: Final[tuple[Form, ...]] = ("flat", "nested")
_LIST: Final = frozenset({"list"})
_ACTION: Final = frozenset({"action"})
_ERROR: Final = frozenset({"error"})
_SINGLE: Final = frozenset({"single"})
_REPORT: Final = frozenset({"action", "report"})


class Source(NamedTuple):
    """A source of evidence: its name, and the function that looks for it."""

    name: str
    look: Callable[[Facts], Verdict | None]
    strongest: Confidence
    """The highest confidence of its evidence."""
    adds: frozenset[str]
    """The types that it can find, and `report` if it finds a report in the reply."""
    forms: tuple[Form, ...] = ("text", "flat", "nested")
    """Forms of replies in which it can find evidence."""
    intent: Intent | None = None
    """The only intent of calls for which it can find evidence; None for any."""


_SURELY: Final = Verdict("single")
_LIKELY: Final = Verdict("single", "likely")
_PERHAPS: Final = Verdict("single", "guess")


def _asks(facts: Facts) -> Verdict | None:
    """The tool requests input from the client first."""
    value = facts.value
    if type(value) is not dict or "resultType" not in value or value["resultType"] != ASKING:
        return None
    return Verdict("single", finding="nothing has changed yet; the tool requests input first")


def _single(facts: Facts) -> Verdict:
    """Any other reply; the confidence depends on the other possible types."""
    if facts.call.wants_many or hints_at_failure(facts):
        return _PERHAPS
    if facts.text is None:
        has_reason = type(facts.value) is dict and not MEMBERS.why.isdisjoint(facts.value)
        return _LIKELY if has_reason or facts.call.intent == "unknown" else _SURELY
    is_line = facts.call.intent == "read" and "\n" not in facts.text.strip()
    is_vague = facts.call.intent == "unknown" or is_line
    is_open = is_vague and facts.arguments and not facts.gives_anything
    return _PERHAPS if is_open else _LIKELY


SOURCES: Final = (
    Source("asks", _asks, "certain", _SINGLE, _DATA),
    Source("is-error", is_error, "certain", _ERROR),
    Source("payload-failed", payload_failed, "certain", _ERROR | _ACTION | _LIST, _DATA),
    Source("all-failed", all_failed, "likely", _ERROR | _ACTION, _DATA),
    Source("error-text", error_text, "certain", _ERROR),
    Source("catalog", catalog, "certain", _LIST, ("nested",)),
    Source("unconfirmed", unconfirmed, "likely", _SINGLE, intent="act"),
    Source("given-back", given_back, "likely", _SINGLE, intent="act"),
    Source("action-name", action_name, "likely", _ACTION, intent="act"),
    Source("reports-done", reports_done, "likely", _REPORT),
    Source("reports-members", reports_members, "likely", _REPORT, _DATA),
    Source("array", array, "certain", _LIST, ("nested",)),
    Source("main-array", main_array, "certain", _LIST, ("nested",)),
    Source("none-found", none_found, "likely", _LIST, ("text",)),
    Source("itemised", itemised, "likely", _LIST, ("text",)),
    Source("linked", linked, "likely", _LIST),
    Source("lone-item", lone_item, "guess", _LIST, _DATA),
    Source("nothing-listed", nothing_listed, "guess", _LIST),
    Source("ran", ran, "guess", _ACTION, intent="run"),
    Source("single", _single, "certain", _SINGLE),
)
"""In order of precedence."""


class Decision(NamedTuple):
    """The evidence that decided, its source, the confidence, and the evidence against it."""

    source: Source
    evidence: Verdict
    confidence: Confidence
    against: tuple[str, ...]


_EXPECTED: Final = frozenset({"action-name", "ran"})
"""Sources by the tool's name alone; they are not evidence against a failure."""
_DECLARED: Final = frozenset({"asks", "is-error"})
"""Members of the protocol, which no payload contradicts."""
_RAISED: Final[Mapping[Confidence, Confidence]] = {"likely": "certain", "guess": "likely"}
_LOWERED: Final[Mapping[Confidence, Confidence]] = {"certain": "likely", "likely": "guess"}


Prepared = tuple[Source, Callable[[Facts], Verdict | None], int, frozenset[str]]
_CONTAINERS: Final = frozenset({dict, list})


def _form_of(facts: Facts) -> Form:
    value, text = facts.value, facts.text
    if text is not None:
        return "text" if type(value) is str or value is None else "both"
    if type(value) is dict and _CONTAINERS.isdisjoint(map(type, value.values())):
        return "flat"
    return "nested"


@cache
def _sources_for(form: Form, intent: Intent) -> tuple[Prepared, ...]:
    """Return the sources for a form and an intent, in the order of SOURCES."""
    return tuple(
        (each, each.look, LEVEL[each.strongest], each.adds)
        for each in SOURCES
        if (form == "both" or form in each.forms)
        and each.intent in (None, intent)
        and each.name not in _DECLARED
        and each.name != "single"
    )


_BY_NAME: Final = {source.name: source for source in SOURCES}

Piece = tuple[Source, Verdict]
_FAMILY: Final[Mapping[str, str]] = {"tool_catalog": "list"}
"""Types that count as one kind of evidence."""


def decide(facts: Facts) -> Decision:
    """Decide the type of a reply by all evidence for each type."""
    for declared, name in ((is_error(facts), "is-error"), (_asks(facts), "asks")):
        if declared is not None:
            return Decision(_BY_NAME[name], declared, "certain", ())
    level = len(LEVELS)
    pieces: list[Piece] = []
    found: set[str] = set()
    for source, look, strongest, adds in _sources_for(_form_of(facts), facts.call.intent):
        if strongest <= level and not adds <= found and (piece := look(facts)) is not None:
            pieces.append((source, piece))
            level = min(level, LEVEL[piece.confidence])
            found.add(_FAMILY.get(piece.kind, piece.kind))
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
    """Decide by several pieces of evidence, of which the first for each type counts."""
    first: dict[str, Piece] = {}
    for piece in pieces:
        first.setdefault(_FAMILY.get(piece[1].kind, piece[1].kind), piece)
    candidates = list(first.values())
    source, decisive = next(
        (piece for piece in candidates if piece[1].confidence != "guess"), candidates[0]
    )
    confidence = decisive.confidence
    against = [piece for piece in candidates if piece[1] is not decisive]
    if decisive.kind == "error":
        against = [piece for piece in against if piece[0].name not in _EXPECTED]
    if any(LEVEL[piece.confidence] <= LEVEL[confidence] for _, piece in against):
        confidence = _LOWERED.get(confidence, confidence)
    elif source.name in _EXPECTED and any("report" in other.adds for other, _ in pieces):
        confidence = _RAISED.get(confidence, confidence)
    return Decision(
        source, decisive, confidence, tuple(f"against:{other.name}" for other, _ in against)
    )
