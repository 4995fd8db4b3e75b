"""Tables: rows of cells below their names, records of a line each, and elements of XML.

A table is Markdown's, drawn with lines, ruled with dashes, delimited like CSV, aligned in columns,
or printed by pandas. Its rows become objects.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from accord.reader.items.lines import MAX_HEADING, Items, Line, framed, told
from accord.reader.lexicon import member_of, words

Lines = Sequence[Line]

_RULE: Final = re.compile(r"[ \t]*+[|+]?+(?:[ \t]*+:?[-=]{2,}+:?[ \t]*+(?:[|+]|$))++")
_BAR: Final = re.compile(r"(?<!\\)\|")
_OF_ONE: Final = words("texts.of-one")
_DRAWN: Final = frozenset("│┃║┌╔╭┏╒")
_ASCII: Final = (
    dict.fromkeys(range(9472, 9600), "+")
    | {ord(each): "|" for each in "│┃║"}
    | {ord(each): "-" for each in "─━═"}
)
"""The signs that draw boxes, as signs of ASCII."""


def _objects(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Any]:
    return [dict(zip(names, row, strict=False)) for row in rows]


# Bars and rules


def ruled(lines: Lines, wants_list: bool) -> Items | None:
    """Rows under names with a rule below them; several tables of the same columns are one."""
    texts = [line.text for line in lines]
    if any(text[:1] in _DRAWN for text in texts):
        texts = [text.translate(_ASCII) for text in texts]
    tables = list(_ruled_tables(texts))
    if not tables or any(names != tables[0][2] for _, _, names, _ in tables):
        return None
    (start, _, names, _), (_, end, _, _) = tables[0], tables[-1]
    is_of_one = len(names) == 2 and names[0].lower() in _OF_ONE
    if not wants_list and (len(tables) > 1 or is_of_one):
        return None
    items = _objects(names, [row for *_, rows in tables for row in rows])
    found = framed(lines, start, end, items, "table", is_sure=wants_list)
    if found is None or wants_list:
        return found
    above = found.heading.split("\n")[:-1]
    is_document = len(above) >= MAX_HEADING or any(line.endswith(".") for line in above)
    return None if is_document else found


_Table = tuple[int, int, list[str], list[list[str]]]


def _ruled_tables(lines: list[str]) -> list[_Table]:
    """Return where each table begins and ends, its names, and its rows."""
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


# Columns that begin below each other

_SPAN: Final = re.compile(r"-{2,}|={2,}")
_DASHES: Final = re.compile(r"[ \t]*(?:-{2,}|={2,})(?:[ \t]+(?:-{2,}|={2,}))+")
_RUN: Final = re.compile(r"[ \t]*(?:-{8,}|={8,})")
_WORDS: Final = re.compile(r"\S+(?: \S+)*")
_GAP: Final = re.compile(r"\s{2,}")
_MAX_WIDER: Final = 4
"""Times the longest row that the last column may be from the margin."""


def dashed(lines: Lines, wants_list: bool) -> Items | None:
    """Names over dashes, a run of them for each column, as wide as it is."""
    top = next((at for at in range(1, len(lines)) if _underlines_names(lines, at)), 0)
    spans = [span.start() for span in _SPAN.finditer(lines[top].text)] if top else []
    starts = spans if len(spans) > 1 else _word_starts(lines[top - 1].text)
    end = top + 1
    while end < len(lines) and lines[end].text and lines[end].kind != "rule":
        end += 1
    rows = [line.text for line in lines[top + 1 : end]]
    longest = max(map(len, rows), default=0)
    if not spans or starts[-1] > _MAX_WIDER * longest or not _is_aligned(rows, starts):
        return None
    names = _sliced(lines[top - 1].text, starts)
    first = top - 2 if top > 1 and lines[top - 2].kind == "rule" else top - 1
    end += end < len(lines) and lines[end].kind == "rule"
    items = _objects(names, [_sliced(row, starts) for row in rows])
    return framed(lines, first, end, items, "table", is_sure=True) if all(names) else None


def _underlines_names(lines: Lines, at: int) -> bool:
    """True if a line is dashes for each column, or one run of them under several names."""
    line, above = lines[at], lines[at - 1]
    if line.kind != "rule" or above.kind == "rule" or not above.text:
        return False
    is_run = _RUN.fullmatch(line.text) is not None and len(_word_starts(above.text)) > 1
    return is_run or _DASHES.fullmatch(line.text) is not None


def _word_starts(line: str) -> list[int]:
    return [found.start() for found in _WORDS.finditer(line)]


def _is_aligned(rows: list[str], starts: list[int]) -> bool:
    """True if there is a blank before each column in all rows."""
    return not any(row[start - 1 : start].strip() for row in rows for start in starts if start)


def _sliced(line: str, starts: list[int]) -> list[str]:
    ends = [*starts[1:], len(line)]
    return [line[a:b].strip() for a, b in zip(starts, ends, strict=True)]


_RULED: Final = re.compile(r"[-=─━ ]{4,}")
_HEAD_COLUMNS: Final = 3
"""Names in capitals that are a header, whatever stands below them."""


def columns(lines: Lines, wants_list: bool) -> Items | None:
    """Columns under names, as command lines show them: in capitals, or with as many cells below."""
    above = enumerate(lines[: 2 * MAX_HEADING])
    gaps = (at for at, line in above if _GAP.search(line.text.strip()))
    at = next(gaps, 0) if wants_list else 0
    names = _GAP.split(lines[at].text.strip())
    is_title = all(name[:1].isupper() for name in names)
    is_plain = wants_list and all(map(_NAME.fullmatch, names))
    if len(names) < 2 or not (is_title or is_plain):
        return None
    body = [line.text for line in lines[at + 1 :] if line.text and not _RULED.fullmatch(line.text)]
    is_head = len(names) >= _HEAD_COLUMNS and all(map(str.isupper, names))
    rows = [_GAP.split(row.strip()) for row in body]
    is_even = all(len(row) == len(names) for row in rows)
    is_table = is_head or (is_even and (is_title or _has_numbers(rows)))
    if not body or not is_table:
        return None
    items: list[Any] = [row.strip() for row in body]
    starts = _word_starts(lines[at].text)
    if is_even:
        items = _objects(names, rows)
    elif len(starts) == len(names) and _is_aligned(body, starts):
        items = _objects(names, [_sliced(row, starts) for row in body])
    return Items(items, told(lines[: at + 1]), "", "columns")


_INDEX: Final = re.compile(r"(?:\d{1,9}|\d{4}-\d\d-\d\d\S*)\s+\S")


def data_frame(lines: Lines, wants_list: bool) -> Items | None:
    """Rows as pandas prints them: names above, and before each row its index."""
    above = enumerate(lines[: 2 * MAX_HEADING])
    start = next((at for at, line in above if at and _INDEX.match(line.text)), 0)
    at = start - 1
    if at > 0 and len(lines[at].text.split()) == 1:
        at -= 1  # above the name of the index
    if start == 0 or not lines[at].indent:
        return None
    names = lines[at].text.split()
    end = start
    while end < len(lines) and _INDEX.match(lines[end].text):
        end += 1
    rows = [_GAP.split(line.text.strip()) for line in lines[start:end]]
    if len(rows) < 2 or any(len(row) != len(names) + 1 for row in rows):
        return None
    items = _objects(names, [row[1:] for row in rows])
    return framed(lines, at, end, items, "data-frame", is_sure=True)


# Delimiters

_DELIMITERS: Final = ("\t", ",", ";", "|")
_NAME: Final = re.compile(r"[A-Za-z_][\w.#-]{0,40}")
_TITLE: Final = re.compile(r"[^\W\d]{1,60}(?:[ ./%()$€-]{1,2}[^\W\d]{1,60}){0,5}[%)]?")
"""What a column may be called as well, where nothing else could be meant."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_SURE_COLUMNS: Final = 3
"""Names of columns that a sentence or a pair would hardly be."""


def delimited(lines: Lines, wants_list: bool) -> Items | None:
    """A line of names, and rows of as many cells, between tabs, commas or the like."""
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
    if len(names) > _SURE_COLUMNS and not names[0]:
        names[0] = "index"
    least = 2 if wants_list else _SURE_COLUMNS
    if len(names) < least or not _are_names(names, mark, wants_list):
        return None
    body, end = _quoted_lines(lines, at + 1 + is_ruled)
    try:
        rows = [row for row in csv.reader(body or [], delimiter=mark) if row]
    except csv.Error:  # a cell that is larger than they come
        return None
    rows = [[cell.strip() for cell in row] for row in rows] if is_spaced else rows
    if mark == "\t":  # cells at the end of a line are easily lost
        rows = [row + [""] * (len(names) - len(row)) for row in rows]
    has_header = any(map(str.isupper, lines[at].text)) or _has_numbers(rows)
    if len(names) == 2 and (
        (mark == "\t" and not has_header) or (is_ruled and not _has_numbers(rows))
    ):
        return None  # the first of the rows, as likely
    is_enough = rows or (wants_list and len(names) >= _SURE_COLUMNS)
    if body is None or not is_enough or not all(_fits(row, names) for row in rows):
        return None
    found = framed(lines, at, end, _objects(names, rows), "csv", is_sure=True)
    return found and found._replace(heading=f"{found.heading}\n{lines[at].text}".strip())


def _fits(row: list[str], names: list[str]) -> bool:
    """True if a row has a cell for each name; one in brackets may have been taken for several."""
    return len(row) == len(names) or (len(row) > len(names) > _SURE_COLUMNS and "[" in "".join(row))


def _has_numbers(rows: list[list[str]]) -> bool:
    return any(_NUMBER.fullmatch(cell) for row in rows for cell in row)


def _are_names(names: list[str], mark: str, wants_list: bool) -> bool:
    if len(set(names)) < len(names):
        return False
    if mark == "," and all(map(_NAME.fullmatch, names)):
        return True
    is_plain = mark != "," or (wants_list and len(names) >= _SURE_COLUMNS)
    return is_plain and all(map(_TITLE.fullmatch, names))


def _quoted_lines(lines: Lines, start: int) -> tuple[list[str] | None, int]:
    """Return the lines up to the first gap, those together that a quoted cell goes over.

    None where a quote does not end.
    """
    found: list[list[str]] = []
    is_open = False
    for at in range(start, len(lines)):
        text = lines[at].text
        if is_open:
            found[-1].append(text)
        elif text:
            found.append([text])
        elif found:
            return ["\n".join(each) for each in found], at
        is_open ^= text.count('"') % 2 == 1
    return None if is_open else ["\n".join(each) for each in found], len(lines)


# Records of a line

_PAIR: Final = re.compile(r"(?P<key>[A-Z][\w #/-]{0,30}): ?(?P<value>[^:,|]{0,120})")
_NAMING: Final = words("texts.naming")
_BETWEEN: Final = re.compile(r", | \| | - ")


def paired(lines: Lines, wants_list: bool) -> Items | None:
    """A record on each line, in which every part has its label: `PID: 7, Runtime: 3s`."""
    found: list[dict[str, str]] = []
    for line in lines:
        if not line.text:
            continue
        parts = [_PAIR.fullmatch(part) for part in _BETWEEN.split(line.text.strip())]
        record = {part["key"]: part["value"].strip() for part in parts if part is not None}
        if len(record) < max(len(parts), 2) or (found and record.keys() != found[0].keys()):
            return None
        found.append(record)
    has_name = any(key.lower().rpartition(" ")[2] in _NAMING for key in found[0])
    return Items([*found], "", "", "pairs") if has_name else None


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
    name: str
    attributes: str
    inner: str


def elements(lines: Sequence[Line], wants_list: bool) -> Items | None:
    """Elements of one name, alone or within another."""
    first = next((at for at, line in enumerate(lines) if line.words[:1] == "<"), None)
    if first is None or first > (MAX_HEADING if wants_list else 0):
        return None
    text = "\n".join(line.text for line in lines[first:])
    found = _siblings(text)
    if wants_list and found is not None and len(found) == 1 and _holds_none(found[0]):
        return Items([], told(lines), "", "elements")
    for _ in range(_DEEPEST if wants_list else 0):
        if found is None or len(found) != 1 or "<" not in found[0].inner or _is_head(found[0]):
            break
        inner = _siblings(found[0].inner)
        inner = _same_name(inner or [])
        if not inner:
            break
        found = inner
    rows = [each for each in found or [] if not _is_head(each)]
    if wants_list and found and not rows:
        return Items([], told(lines), "", "elements")
    found = rows
    if len(found) < (1 if wants_list else 2) or any(each.name != found[0].name for each in found):
        return None
    heading = told(lines[:first])
    return Items([_element_value(each) for each in found], heading, "", "elements")


def _holds_none(element: Element) -> bool:
    """Whether it stands around items of which there are none, and is none itself."""
    if element.inner or not _OF_NONE.search(element.attributes):
        return False
    names = (found[0] for found in _ATTRIBUTE.findall(element.attributes))
    return not any(member_of(name).is_identity for name in names)


def _is_head(element: Element) -> bool:
    """Whether it is the row of a table that has the names of the others."""
    return element.name == "tr" and "<td" not in element.inner


def _siblings(text: str) -> list[Element] | None:
    """The elements that a text is made of; None where there is anything else between them."""
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
    """Those of the one name that comes again, or of the only one; none where it is not clear."""
    names = Counter(each.name for each in found)
    several = [name for name, count in names.items() if count > 1]
    if len(names) == 1 or len(several) == 1:
        name = (several or list(names))[0]
        return [each for each in found if each.name == name]
    return []


def _element_value(element: Element) -> Any:
    """What an element says: its text; without any, its attributes."""
    if element.inner or not element.attributes:
        return element.inner
    found = _ATTRIBUTE.findall(element.attributes)
    return {name: double or single for name, double, single in found}
