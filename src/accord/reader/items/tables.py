"""Tables: rows of cells below their names, records of a line each, and elements of XML.

A table is Markdown's, drawn with lines, ruled with dashes, delimited like CSV, aligned in columns,
or printed by pandas. Its rows become objects.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from accord.reader.items.lines import MAX_HEADING, Items, Lines, framed, heading_of
from accord.reader.lexicon import member_of, words

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_NAME: Final = re.compile(r"[A-Za-z_][\w.#-]{0,40}")


def _objects(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Any]:
    return [dict(zip(names, row, strict=False)) for row in rows]


def _has_numbers(rows: list[list[str]]) -> bool:
    return any(_NUMBER.fullmatch(cell) for row in rows for cell in row)


def find(text: str, lines: Lines, wants_list: bool) -> Items | None:
    """Return the rows of a table, or the records of lines or elements."""
    for signs, least, look in _LOOKS:
        if len(lines) >= least and any(each in text for each in signs):
            found = look(lines, wants_list)
            if found is not None:
                return found
    return None


# Bars and rules

_RULE: Final = re.compile(r"[ \t]*+[|+]?+(?:[ \t]*+:?[-=]{2,}+:?[ \t]*+(?:[|+]|$))++")
_BAR: Final = re.compile(r"(?<!\\)\|")
_OF_ONE: Final = words("texts.of-one")
_DRAWN: Final = frozenset("│┃║┌╔╭┏╒")
_ASCII: Final = (
    dict.fromkeys(range(9472, 9600), "+")
    | {ord(each): "|" for each in "│┃║"}
    | {ord(each): "-" for each in "─━═"}
)
"""Box-drawing characters as ASCII."""


def ruled(lines: Lines, wants_list: bool) -> Items | None:
    """Return rows below names and a rule; tables with equal columns are joined."""
    texts = [line.text for line in lines]
    if any(text[:1] in _DRAWN for text in texts):
        texts = [text.translate(_ASCII) for text in texts]
    tables = _ruled_tables(texts)
    if not tables or any(each.names != tables[0].names for each in tables):
        return None
    names = tables[0].names
    is_of_one = len(names) == 2 and names[0].lower() in _OF_ONE
    if not wants_list and (len(tables) > 1 or is_of_one):
        return None
    items = _objects(names, [row for each in tables for row in each.rows])
    found = framed(lines, tables[0].start, tables[-1].end, items, "table")
    if found is None or wants_list:
        return found
    above, below = found.heading.split("\n")[:-1], found.closing.split("\n")
    is_document = len(above) >= MAX_HEADING or any(line.endswith(".") for line in above)
    return None if is_document or len(below) >= MAX_HEADING else found


class _Table(NamedTuple):
    start: int
    end: int
    names: list[str]
    rows: list[list[str]]


def _ruled_tables(lines: list[str]) -> list[_Table]:
    found: list[_Table] = []
    at = 0
    while at < len(lines) - 1:
        if "|" not in lines[at] or _is_rule(lines[at]) or not _is_rule(lines[at + 1]):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and ("|" in lines[end] or _is_rule(lines[end])):
            end += 1
        rows = [_cells(line) for line in lines[at + 1 : end] if not _is_rule(line)]
        start = at - 1 if at and _is_rule(lines[at - 1]) else at
        found.append(_Table(start, end, _cells(lines[at]), rows))
        at = end
    return found


def _is_rule(line: str) -> bool:
    return ("--" in line or "==" in line) and _RULE.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line.strip().strip("|"))]


# Columns

_DASHES: Final = re.compile(r"-{2,}|={2,}")
_WORDS: Final = re.compile(r"\S+(?: \S+)*")
_GAP: Final = re.compile(r"\s{2,}")
_RULED: Final = re.compile(r"[-=─━ ]{4,}")
_INDEX: Final = re.compile(r"\d{1,9}|\d{4}-\d\d-\d\d\S*")
_HEAD: Final = re.compile(r"[A-Z%][A-Z_%/#-]{0,40}")
_MAX_WIDER: Final = 4
"""Most indent of the last column, in lengths of the longest row."""
_SURE_COLUMNS: Final = 3
"""Number of names that are columns rather than a sentence or a pair."""


def dashed(lines: Lines, wants_list: bool) -> Items | None:
    """Return rows below names and dashes: a run for each column, or one for all."""
    for at in range(1, len(lines)):
        above, rule = lines[at - 1], lines[at]
        if rule.kind != "rule" or above.kind == "rule" or not above.text:
            continue
        spans = _starts(_DASHES, rule.text)
        starts = spans if len(spans) > 1 else _starts(_WORDS, above.text)
        if not spans or len(starts) < 2 or not _RULED.fullmatch(rule.text):
            continue
        end = at + 1
        while end < len(lines) and lines[end].text and lines[end].kind != "rule":
            end += 1
        rows = [line.text for line in lines[at + 1 : end]]
        names = _sliced(above.text, starts)
        is_wide = starts[-1] > _MAX_WIDER * max(map(len, rows), default=0)
        if is_wide or not all(names) or not _is_aligned(rows, starts):
            return None
        first = at - 1 - (at > 1 and lines[at - 2].kind == "rule")
        end += end < len(lines) and lines[end].kind == "rule"
        items = _objects(names, [_sliced(row, starts) for row in rows])
        return framed(lines, first, end, items, "table")
    return None


def _starts(pattern: re.Pattern[str], line: str) -> list[int]:
    return [found.start() for found in pattern.finditer(line)]


def _is_aligned(rows: list[str], starts: list[int]) -> bool:
    """True if there is a blank before each column in all rows."""
    return not any(row[start - 1 : start].strip() for row in rows for start in starts if start)


def _sliced(line: str, starts: list[int]) -> list[str]:
    ends = [*starts[1:], len(line)]
    return [line[a:b].strip() for a, b in zip(starts, ends, strict=True)]


def columns(lines: Lines, wants_list: bool) -> Items | None:
    """Return rows in aligned columns, as command lines print them, or with an index of pandas."""
    above = enumerate(lines[: 2 * MAX_HEADING] if wants_list else lines[:1])
    at = next((at for at, line in above if _GAP.search(line.text)), 0)
    head = lines[at].text
    names = _GAP.split(head.strip())
    is_single = len(names) < 2 and wants_list and all(map(_HEAD.fullmatch, head.split()))
    if len(names) < 2 and not is_single and not lines[at].indent:
        return None
    body = [line.text for line in lines[at + 1 :] if line.text and not _RULED.fullmatch(line.text)]
    rows = [_GAP.split(row.strip()) for row in body]
    if lines[at].indent and len(rows) > 1:
        indexed, own = rows[1:] if len(rows[0]) == 1 else rows, head.split()
        if all(len(row) == len(own) + 1 and _INDEX.fullmatch(row[0]) for row in indexed):
            found = _objects(own, [row[1:] for row in indexed])
            return Items(found, heading_of(lines[:at]), "", "columns")
    if is_single:
        names = head.split()  # with one blank between them
        rows = [row.split(maxsplit=len(names) - 1) for row in body]
    is_even = all(len(row) == len(names) for row in rows)
    starts = _starts(_WORDS, head)
    if len(names) < 2 or not body or not _are_heads(names, rows if is_even else [], wants_list):
        return None
    items: list[Any] = [row.strip() for row in body]
    if is_even:
        items = _objects(names, rows)
    elif len(starts) == len(names) and _is_aligned(body, starts):
        items = _objects(names, [_sliced(row, starts) for row in body])
    return Items(items, heading_of(lines[: at + 1]), "", "columns")


def _are_heads(names: list[str], rows: list[list[str]], wants_list: bool) -> bool:
    """True if words are names of columns; `rows` has the rows with as many cells."""
    if len(names) >= _SURE_COLUMNS and all(map(str.isupper, names)):
        return True
    is_plain = wants_list and all(map(_NAME.fullmatch, names)) and _has_numbers(rows)
    return bool(rows) and (is_plain or all(name[:1].isupper() for name in names))


# Delimiters

_DELIMITERS: Final = ("\t", ",", ";", "|")
_TITLE: Final = re.compile(r"[^\W\d]{1,60}(?:[ ./%()$€-]{1,2}[^\W\d]{1,60}){0,5}[%)]?")
"""Names of columns with spaces or units, for tables that are certain."""


def delimited(lines: Lines, wants_list: bool) -> Items | None:
    """Return rows of cells between tabs, commas or other delimiters, below a line of names."""
    for at, line in enumerate(lines[: 2 * (MAX_HEADING + 1) if wants_list else 2]):
        mark = next((mark for mark in _DELIMITERS if mark in line.text), None)
        if mark is not None:
            return _delimited(lines, at, mark, wants_list)
    return None


def _delimited(lines: Lines, at: int, mark: str, wants_list: bool) -> Items | None:
    is_ruled = at + 1 < len(lines) and _RULED.fullmatch(lines[at + 1].text) is not None
    is_spaced = mark == "|" or is_ruled
    names = [name.removeprefix('"').removesuffix('"') for name in lines[at].text.split(mark)]
    names = [name.strip() for name in names] if is_spaced else names
    is_sure = len(names) >= _SURE_COLUMNS
    if is_sure and not names[0]:
        names[0] = "index"
    if len(names) < 2 or not (wants_list or is_sure) or not _are_names(names, mark, wants_list):
        return None
    below = lines[at + 1 + is_ruled :]
    reader = csv.reader((f"{line.text}\n" for line in below), delimiter=mark, strict=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if not row and rows:
                break
            rows += [row] * bool(row)
    except csv.Error:  # a cell that is too large, or an open quote
        return None
    end = at + 1 + is_ruled + reader.line_num
    rows = [[cell.strip() for cell in row] for row in rows] if is_spaced else rows
    if mark == "\t":  # trailing empty cells may have been stripped
        rows = [row + [""] * (len(names) - len(row)) for row in rows]
    is_head = _has_numbers(rows) or (mark == "\t" and any(map(str.isupper, lines[at].text)))
    if len(names) == 2 and not is_head and (mark == "\t" or is_ruled):
        return None  # it may be the first row
    # a cell in brackets may have been split
    are_rows = all(
        len(row) == len(names) or (len(row) > len(names) and "[" in "".join(row)) for row in rows
    )
    is_head = mark != "|" and wants_list and is_sure
    if not are_rows or not (rows or is_head):
        return None
    found = framed(lines, at, end, _objects(names, rows), "csv")
    return found and found._replace(heading=f"{found.heading}\n{lines[at].text}".strip())


def _are_names(names: list[str], mark: str, wants_list: bool) -> bool:
    if len(set(names)) < len(names):
        return False
    if mark == "," and all(map(_NAME.fullmatch, names)):
        return True
    is_plain = mark != "," or (wants_list and len(names) >= _SURE_COLUMNS)
    return is_plain and all(map(_TITLE.fullmatch, names))


# Records of a line

_PAIR: Final = re.compile(r"(?P<key>[A-Z][\w #/-]{0,30}): ?(?P<value>[^:,|]{0,120})")
_NAMING: Final = words("texts.naming")
_BETWEEN: Final = re.compile(r", | \| | - ")


def paired(lines: Lines, wants_list: bool) -> Items | None:
    """Return records of one line each, with a label for each part: `PID: 7, Runtime: 3s`."""
    found: list[dict[str, str]] = []
    for line in lines if wants_list or len(lines) > 1 else ():
        if not line.text:
            continue
        parts = [_PAIR.fullmatch(part) for part in _BETWEEN.split(line.text.strip())]
        record = {part["key"]: part["value"].strip() for part in parts if part is not None}
        if len(record) < max(len(parts), 2) or (found and record.keys() != found[0].keys()):
            return None
        found.append(record)
    has_name = bool(found) and any(key.lower().rpartition(" ")[2] in _NAMING for key in found[0])
    return Items([*found], "", "", "pairs") if has_name else None


# Messages

_MESSAGE: Final = re.compile(
    r"\[?(?P<time>[^\]\n\w]{0,2}[\dT:./ -]{0,20}\d\d?:\d\d[\w:.+ -]{0,16}?)(?:\]| -|:)?[ \t]+"
    r"(?P<name>[^:\n]{1,60}): (?P<text>.*)"
)


def messages(lines: Lines, wants_list: bool) -> Items | None:
    """Return messages with time, name and text, below a heading: `[10:01] Ada: hi`."""
    above = enumerate(lines[: 2 * MAX_HEADING + 1])
    start = next((at for at, line in above if _MESSAGE.fullmatch(line.text)), len(lines))
    items: list[dict[str, str]] = []
    continued = 0
    for line in lines[start:]:
        message = _MESSAGE.fullmatch(line.text)
        if message is not None:
            items.append(message.groupdict())
        elif line.text and line.kind != "rule":
            items[-1]["text"] += f"\n{line.text}"
            continued += 1
    is_log = all(each["name"].isupper() or ": " in each["text"] for each in items)
    if is_log or continued > len(items) or len(items) < (1 if wants_list else 2):
        return None
    return Items([*items], heading_of(lines[:start]), "", "messages")


# Elements

_PROLOG: Final = re.compile(r"(?:\s*<[?!][^>]{0,500}>)*\s*")
_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]{0,60})(?P<attributes>(?:\s[^<>]{0,1000}?)?)(?P<empty>/?)>"
)
_ATTRIBUTE: Final = re.compile(r"""([\w:.-]{1,60})=(?:"([^"]*)"|'([^']*)')""")
_OF_NONE: Final = re.compile(
    r"""(?<![\w-])(?:type=["']array|total[_-]?(?:count|results)=["']0)["']""", re.I
)
_DEEPEST: Final = 3


class Element(NamedTuple):
    """An XML element: its name, its attributes and its content."""

    name: str
    attributes: str
    inner: str

    @property
    def is_head(self) -> bool:
        """True for a row of a table with the names of the columns."""
        return self.name == "tr" and "<td" not in self.inner

    @property
    def value(self) -> Any:
        """Its content; its attributes if it is empty."""
        if self.inner or not self.attributes:
            return self.inner
        found = _ATTRIBUTE.findall(self.attributes)
        return {name: double or single for name, double, single in found}


def elements(lines: Lines, wants_list: bool) -> Items | None:
    """Return XML elements of one name, alone or within another."""
    first = next((at for at, line in enumerate(lines) if line.words[:1] == "<"), None)
    if first is None or first > (MAX_HEADING if wants_list else 0):
        return None
    found = _siblings("\n".join(line.text for line in lines[first:])) or []
    if wants_list and len(found) == 1 and _holds_none(found[0]):
        return Items([], heading_of(lines), "", "elements")
    for _ in range(_DEEPEST if wants_list else 0):
        is_around = len(found) == 1 and "<" in found[0].inner and not found[0].is_head
        inner = _same_name(_siblings(found[0].inner) or []) if is_around else []
        found = inner or found
    rows = [each for each in found if not each.is_head]
    if wants_list and found and not rows:
        return Items([], heading_of(lines), "", "elements")
    if len(rows) < (1 if wants_list else 2) or any(each.name != rows[0].name for each in rows):
        return None
    return Items([each.value for each in rows], heading_of(lines[:first]), "", "elements")


def _holds_none(element: Element) -> bool:
    """True if an element is an empty container of items, not an item."""
    if element.inner or not _OF_NONE.search(element.attributes):
        return False
    names = (found[0] for found in _ATTRIBUTE.findall(element.attributes))
    return not any(member_of(name).is_identity for name in names)


def _siblings(text: str) -> list[Element] | None:
    """Return the elements of a text; None if it has text between them."""
    at = _PROLOG.match(text).end()  # type: ignore[union-attr] # it matches nothing too
    found: list[Element] = []
    depth = 0
    begin: re.Match[str] | None = None
    for tag in _TAG.finditer(text, at):
        if begin is None:
            if tag["close"] or text[at : tag.start()].strip():
                return None
            begin = tag
        elif tag["name"] != begin["name"]:
            continue
        depth += -1 if tag["close"] else not tag["empty"]
        if depth == 0:
            inner = "" if tag is begin else text[begin.end() : tag.start()].strip()
            found.append(Element(begin["name"], begin["attributes"], inner))
            at, begin = tag.end(), None
    return None if begin is not None or text[at:].strip() else found


def _same_name(found: list[Element]) -> list[Element]:
    """Return the elements with the one recurring name, or the only name; else none."""
    names = Counter(each.name for each in found)
    several = [name for name, count in names.items() if count > 1]
    name = several[0] if len(several) == 1 else next(iter(names)) if len(names) == 1 else ""
    return [each for each in found if each.name == name]


_LOOKS: Final = (
    (("|", "│", "┃", "║"), 2, ruled),
    (("--", "=="), 2, dashed),
    (("</", "/>"), 1, elements),
    ((": ",), 1, paired),
    ((",", "\t", ";", "|"), 1, delimited),
    ((" ",), 2, columns),
    ((": ",), 1, messages),
)
"""Characters of which a text must have one, its fewest lines, and the function that reads it."""
