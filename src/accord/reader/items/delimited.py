"""Rows whose cells have a sign between them, or blanks: CSV and its kin, columns, data frames."""

import csv
import re
from typing import Any, Final

from accord.reader.items.found import MOST_HEADING, Items, listed_around

_MARKS: Final = ("\t", ",", ";", "|")
_NAME: Final = re.compile(r"[A-Za-z_][\w.#-]{0,40}")
_TITLE: Final = re.compile(r"[^\W\d]{1,60}(?:[ ./%()$€-]{1,2}[^\W\d]{1,60}){0,5}[%)]?")
"""What a column may be called as well, where nothing else could be meant."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_GAP: Final = re.compile(r"\s{2,}")
_RULED: Final = re.compile(r"[-=─━ ]{4,}")
_INDEX: Final = re.compile(r"(?:\d{1,9}|\d{4}-\d\d-\d\d\S*)\s+\S")


def delimited(lines: list[str], wants_list: bool) -> Items | None:
    """A line of names, and rows of as many cells, between tabs, commas or the like."""
    most = MOST_HEADING + 1 if wants_list else 1
    for at, line in enumerate(lines[: 2 * most]):
        mark = next((mark for mark in _MARKS if mark in line), None)
        if mark is not None:
            return _rows(lines, at, mark, wants_list)
    return None


def _rows(lines: list[str], at: int, mark: str, wants_list: bool) -> Items | None:
    names = [name.removeprefix('"').removesuffix('"') for name in lines[at].split(mark)]
    is_ruled = _RULED.fullmatch("".join(lines[at + 1 : at + 2])) is not None
    is_spaced = mark == "|" or is_ruled
    if is_spaced:
        names = [name.strip() for name in names]
    if len(names) > 3 and not names[0]:
        names[0] = "index"
    if len(names) < (2 if wants_list else 3) or not _are_names(names, mark, wants_list):
        return None
    table, below = _joined(lines[at + 1 + is_ruled :])
    if table is None:
        return None
    try:
        rows = [row for row in csv.reader(table, delimiter=mark) if row]
    except csv.Error:  # a cell that is larger than they come
        return None
    if is_spaced:
        rows = [[cell.strip() for cell in row] for row in rows]
    if mark == "\t":  # of which those at the end of a line are easily lost
        rows = [row + [""] * (len(names) - len(row)) for row in rows]
        if len(names) == 2 and not any(map(str.isupper, lines[at])) and not _has_numbers(rows):
            return None  # the first of the rows, as likely
    if is_ruled and len(names) == 2 and not _has_numbers(rows):
        return None
    if any(not _fits(row, names) for row in rows) or not (rows or len(names) > 2):
        return None
    if not wants_list and not rows:
        return None
    heading, closing = listed_around(lines, at, len(lines) - below)
    items: list[Any] = [dict(zip(names, row, strict=False)) for row in rows]
    heading = f"{heading}\n{lines[at]}".strip()
    return None if closing is None else Items(items, heading, closing, "csv")


def _fits(row: list[str], names: list[str]) -> bool:
    """Whether a row has a cell for each name; one in brackets may have been taken for several."""
    return len(row) == len(names) or (len(row) > len(names) > 3 and "[" in "".join(row))


def _has_numbers(rows: list[list[str]]) -> bool:
    return any(_NUMBER.fullmatch(cell) for row in rows for cell in row)


def _are_names(names: list[str], mark: str, wants_list: bool) -> bool:
    if len(set(names)) < len(names):
        return False
    if mark == "," and all(map(_NAME.fullmatch, names)):
        return True
    is_plain = mark != "," or (wants_list and len(names) > 2)
    return is_plain and all(map(_TITLE.fullmatch, names))


def _joined(lines: list[str]) -> tuple[list[str] | None, int]:
    """Lines with those together that a quoted cell goes over, and how many come after a gap.

    None where a quote does not end.
    """
    found: list[list[str]] = []
    is_open = False
    for at, line in enumerate(lines):
        if is_open:
            found[-1].append(line)
        elif line.strip():
            found.append([line])
        elif found:
            return ["\n".join(each) for each in found], len(lines) - at
        is_open ^= line.count('"') % 2 == 1
    return None if is_open else ["\n".join(each) for each in found], 0


def columns(lines: list[str], wants_list: bool) -> Items | None:
    """Columns under names, as command lines show them: in capitals, or with as many cells below."""
    at = _top(lines) if wants_list else 0
    names = _GAP.split(lines[at].strip())
    if len(names) < 2 or not all(name[:1].isupper() for name in names):
        return None
    body = [line for line in lines[at + 1 :] if line.strip() and not _RULED.fullmatch(line)]
    is_head = len(names) > 2 and all(name.isupper() for name in names)
    if not body or (
        not is_head and any(len(_GAP.split(row.strip())) != len(names) for row in body)
    ):
        return None
    heading = "\n".join(line for line in lines[: at + 1] if line.strip())
    return Items([line.strip() for line in body], heading, "", "columns")


def _top(lines: list[str]) -> int:
    """The first line of several cells, if no more than a heading stands above it."""
    for at, line in enumerate(lines[: 2 * MOST_HEADING]):
        if _GAP.search(line.strip()):
            return at
    return 0


def data_frame(lines: list[str], wants_list: bool) -> Items | None:
    """Rows as pandas prints them: names above, and before each row its index."""
    most = enumerate(lines[: 2 * MOST_HEADING])
    start = next((at for at, line in most if at and _INDEX.match(line)), 0)
    at = start - 1
    if at > 0 and len(lines[at].split()) == 1:
        at -= 1  # above the name of the index
    if start == 0 or not lines[at][:1].isspace():
        return None
    names = lines[at].split()
    end = start
    while end < len(lines) and _INDEX.match(lines[end]):
        end += 1
    rows = [_GAP.split(line.strip()) for line in lines[start:end]]
    if len(rows) < 2 or any(len(row) != len(names) + 1 for row in rows):
        return None
    heading, closing = listed_around(lines, at, end)
    items: list[Any] = [dict(zip(names, row[1:], strict=True)) for row in rows]
    return None if closing is None else Items(items, heading, closing, "data-frame")
