"""Finds tables by words: in their names, their columns, and the comments on both."""

import re
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import Final

import msgspec

from accord.sources.sql.messages import Match, Matches, TableEntry
from accord.sources.sql.problems import close_names

MAX_WORDS: Final = 20
"""Maximum number of words of a search; further ones are ignored."""
_MAX_COLUMNS: Final = 50  # of a match
_MAX_SIMILAR: Final = 5
_WORD: Final = re.compile(r"\w+")
_PARTS: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# How well a word fits a name: all of it, one of its parts, the beginning of one, or inside of it.
_WHOLE: Final = 8.0
_PART: Final = 6.0
_START: Final = 4.0
_INSIDE: Final = 2.0
_IN_COMMENT: Final = 1.5
_OF_COLUMN: Final = 0.6  # a column counts less than its table


def words_of(text: str) -> list[str]:
    """Return the different words of a text in lower case, as many as a search takes."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))[:MAX_WORDS]


def search(tables: Iterable[TableEntry], words: Sequence[str], limit: int) -> Matches:
    """Return the best matches: those with most of the words first."""
    found: list[Match] = []
    names: dict[str, None] = {}
    for table in tables:
        match = _match(table, words)
        if match is not None:
            found.append(match)
        elif not found:
            names.update(dict.fromkeys([table.name, *(column.name for column in table.columns)]))
    if not found:
        return Matches([], 0, _similar(words, list(names)))
    return Matches(nsmallest(limit, found, key=order), len(found))


def order(match: Match) -> tuple[float, str]:
    """Return the place of a match among others: the best is the smallest."""
    return -match.score, match.table.name


def _similar(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names that are spelled much like one of the words."""
    close = (name for word in words for name in close_names(word, names, 2))
    return list(dict.fromkeys(close))[:_MAX_SIMILAR]


def _match(table: TableEntry, words: Sequence[str]) -> Match | None:
    """Return a table with the columns that match; None if no word is found."""
    own = _fits(words, table.name, table.comment)
    columns = []
    best = own
    for column in table.columns:
        fits = _fits(words, column.name, column.comment)
        if any(fits):
            columns.append(column)
            best = [max(old, new * _OF_COLUMN) for old, new in zip(best, fits, strict=True)]
    if not any(best):
        return None
    score = 10 * sum(map(bool, best)) + sum(best)
    return Match(score, msgspec.structs.replace(table, columns=columns[:_MAX_COLUMNS]))


def _fits(words: Sequence[str], name: str, comment: str | None) -> list[float]:
    """Return for each word how well it fits a name or a comment; 0 if it does not."""
    whole = name.lower()
    parts = _PARTS.findall(_HUMP.sub("_", name).lower())
    comment_words = _WORD.findall(comment.lower()) if comment else ()
    return [_fit(word, whole, parts, comment_words) for word in words]


def _fit(word: str, whole: str, parts: Sequence[str], comment_words: Sequence[str]) -> float:
    if word == whole:
        return _WHOLE
    forms = {word, word.removesuffix("s"), f"{word}s"}
    if forms & {whole, *parts}:
        return _PART
    if any(part.startswith(word) for part in parts):
        return _START
    if word in whole:
        return _INSIDE
    start = word.removesuffix("s")
    return _IN_COMMENT if any(each.startswith(start) for each in comment_words) else 0.0
