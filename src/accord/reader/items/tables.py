"""Ruled tables: as Markdown has them, as databases and consoles draw them, columns over a rule."""

import re
from typing import Any, Final

from accord.reader.items.found import MOST_HEADING, Items, around, listed_around

_RULE: Final = re.compile(r"[ \t]*+[|+]?+(?:[ \t]*+:?[-=]{2,}+:?[ \t]*+(?:[|+]|$))++")
_DASHES: Final = re.compile(r"[ \t]*(?:-{2,}|={2,})(?:[ \t]+(?:-{2,}|={2,}))+")
_RUN: Final = re.compile(r"[ \t]*(?:-{8,}|={8,})")
_BAR: Final = re.compile(r"(?<!\\)\|")
_SPAN: Final = re.compile(r"-{2,}|={2,}")
_NAME: Final = re.compile(r"\S+(?: \S+)*")
_OF_ONE: Final = frozenset({"field", "key", "property", "attribute", "parameter", "metric"})
"""Beside `value`: the columns of a table that says what one thing has."""
_DRAWN: Final = frozenset("│┃║┌╔╭┏╒")
_PLAIN: Final = (
    dict.fromkeys(range(9472, 9600), "+")
    | {ord(each): "|" for each in "│┃║"}
    | {ord(each): "-" for each in "─━═"}
)
"""The signs that draw boxes, as signs of ASCII."""


def ruled_table(lines: list[str], wants_list: bool) -> Items | None:
    """Rows under names with a rule below them; several tables of the same columns are one."""
    if any(line[:1] in _DRAWN for line in lines):
        lines = [line.translate(_PLAIN) for line in lines]
    tables = _tables(lines)
    if not tables or any(names != tables[0][2] for _, _, names, _ in tables):
        return None
    (start, _, names, _), (_, end, _, _) = tables[0], tables[-1]
    if not wants_list and (len(tables) > 1 or _is_of_one(names)):
        return None
    heading, closing = (listed_around if wants_list else around)(lines, start, end)
    if closing is None or (not wants_list and heading.count("\n") >= MOST_HEADING):
        return None
    items: list[Any] = [dict(zip(names, row, strict=False)) for *_, rows in tables for row in rows]
    return Items(items, heading, closing, "table")


def _is_of_one(names: list[str]) -> bool:
    return len(names) == 2 and names[0].lower() in _OF_ONE


Table = tuple[int, int, list[str], list[list[str]]]


def _tables(lines: list[str]) -> list[Table]:
    """Where each table begins and ends, its names, and its rows."""
    found: list[Table] = []
    at = 0
    while at < len(lines) - 1:
        rule = at + 1
        if "|" not in lines[at] or _is_rule(lines[at]) or not _is_rule(lines[rule]):
            at += 1
            continue
        end = rule
        while end < len(lines) and ("|" in lines[end] or _is_rule(lines[end])):
            end += 1
        rows = [_cells(line) for line in lines[rule:end] if not _is_rule(line)]
        start = at - 1 if at and _is_rule(lines[at - 1]) else at
        found.append((start, end, _cells(lines[at]), rows))
        at = end
    return found


def _is_rule(line: str) -> bool:
    return ("--" in line or "==" in line) and _RULE.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    inner = line.strip().strip("|")
    if "\\|" not in inner:
        return [cell.strip() for cell in inner.split("|")]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def dashed_columns(lines: list[str], wants_list: bool) -> Items | None:
    """Names over dashes, a run of them for each column, as wide as it is."""
    rules = {
        at
        for at, line in enumerate(lines)
        if line.lstrip()[:2] in ("--", "==") and (_DASHES.fullmatch(line) or _is_under(lines, at))
    }
    tops = (at for at in rules if at and lines[at - 1].strip() and at - 1 not in rules)
    top = min(tops, default=None)
    if top is None:
        return None
    end = top + 1
    while end < len(lines) and lines[end].strip() and end not in rules:
        end += 1
    starts = [span.start() for span in _SPAN.finditer(lines[top])]
    if len(starts) == 1:  # one run below all of them
        starts = _names(lines[top - 1])
    if starts and starts[-1] > 4 * max(map(len, lines[top + 1 : end]), default=0):
        return None
    names = _cut(lines[top - 1], starts)
    rows = lines[top + 1 : end]
    if any(line[start - 1 : start].strip() for line in rows for start in starts if start):
        return None
    items: list[Any] = [dict(zip(names, _cut(line, starts), strict=True)) for line in rows]
    first = top - 2 if top - 2 in rules else top - 1
    heading, closing = listed_around(lines, first, end + (end in rules))
    return None if closing is None or not all(names) else Items(items, heading, closing, "table")


def _is_under(lines: list[str], at: int) -> bool:
    """Whether a line of dashes stands under the names of several columns."""
    return at > 0 and _RUN.fullmatch(lines[at]) is not None and len(_names(lines[at - 1])) > 1


def _names(line: str) -> list[int]:
    """Where the names of columns begin."""
    return [found.start() for found in _NAME.finditer(line)]


def _cut(line: str, starts: list[int]) -> list[str]:
    """The cells of a line, which begin where their columns do."""
    ends = [*starts[1:], len(line)]
    return [line[a:b].strip() for a, b in zip(starts, ends, strict=True)]
