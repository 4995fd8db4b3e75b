"""Rows: a Markdown table, CSV, columns as command lines show them, elements."""

import csv
import re
from typing import Any, Final

from accord.reader.items.found import MOST_HEADING, Items, around

_TABLE_RULE: Final = re.compile(r"\|?[ \t]*:?-{2,}:?[ \t]*(?:[|+][ \t]*:?-{2,}:?[ \t]*)*+\|?")
_BORDER: Final = re.compile(r"\+(?:[-=]{2,}\+)++")
_OF_ONE: Final = frozenset({"field", "key", "property", "attribute", "parameter", "metric"})
"""Beside `value`: the columns of a table that says what one thing has."""
_NAME: Final = re.compile(r"[A-Za-z_][\w.#-]{0,40}")
_GAP: Final = re.compile(r"\s{2,}")
_TAG: Final = re.compile(r"<(?P<name>[A-Za-z][\w-]{0,40})(?:\s[^>]{0,500})?>")


def markdown_table(lines: list[str], wants_list: bool) -> Items | None:
    """A table as Markdown has it, or as databases show theirs."""
    lines = _unbordered(lines)
    rules = [i for i, line in enumerate(lines) if i and "|" in lines[i - 1] and _is_rule(line)]
    if len(rules) != 1:
        return None
    top = rules[0] - 1
    end = next((i for i in range(rules[0] + 1, len(lines)) if "|" not in lines[i]), len(lines))
    heading, closing = around(lines, top, end)
    if closing is None or heading.count("\n") >= MOST_HEADING:
        return None
    names = _cells(lines[top])
    if not wants_list and len(names) == 2 and names[0].lower() in _OF_ONE:
        return None
    rows = [_cells(line) for line in lines[rules[0] + 1 : end]]
    items: list[Any] = [dict(zip(names, row, strict=False)) for row in rows]
    return Items(items, heading, closing, "table")


_DRAWN: Final = frozenset("┌│╔║╭┏┃")
_PLAIN: Final = str.maketrans("┌┬┐├┼┤└┴┘╭╮╰╯╞╪╡│┃║─━═", "+" * 16 + "|||---")


def _unbordered(lines: list[str]) -> list[str]:
    """The lines without the borders above and below the rows, also those that are drawn."""
    if any(line[:1] in _DRAWN for line in lines):
        lines = [line.translate(_PLAIN) for line in lines]
    borders = [at for at, line in enumerate(lines) if line[:1] == "+" and _BORDER.fullmatch(line)]
    if len(borders) < 2:
        return lines
    outer = {borders[0], borders[-1]} if len(borders) > 2 else {borders[0]}
    return [line for at, line in enumerate(lines) if at not in outer]


def _is_rule(line: str) -> bool:
    if line[:1] == "+":
        return _BORDER.fullmatch(line) is not None
    return "-" in line and _TABLE_RULE.fullmatch(line.strip()) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def comma_separated(lines: list[str], wants_list: bool) -> Items | None:
    """A line of names, and rows of as many cells, between commas or tabs."""
    mark = "\t" if "\t" in lines[0] else ","
    names = lines[0].split(mark)
    if len(names) < 3 and not wants_list:
        return None
    if not all(_NAME.fullmatch(name) for name in names):
        return None
    try:
        rows = [row for row in csv.reader(_joined(lines[1:]), delimiter=mark) if row]
    except csv.Error:  # a cell that is larger than they come
        return None
    if any(len(row) != len(names) for row in rows):
        return None
    if mark == "\t" and not any(cell.isdigit() for row in rows for cell in row):
        return None
    is_table = len(names) > 2 and (bool(rows) or wants_list)
    if not (is_table or (len(names) > 1 and rows and wants_list)):
        return None
    items: list[Any] = [dict(zip(names, row, strict=True)) for row in rows]
    return Items(items, lines[0], "", "csv")


def _joined(lines: list[str]) -> list[str]:
    """Lines with those together that a quoted cell goes over."""
    found: list[list[str]] = []
    is_open = False
    for line in lines:
        if is_open:
            found[-1].append(line)
        elif line.strip():
            found.append([line])
        else:
            continue
        is_open ^= line.count('"') % 2 == 1
    return ["\n".join(each) for each in found]


def columns(lines: list[str], wants_list: bool) -> Items | None:
    """Columns under names in capitals, as command lines show them."""
    if not lines[0][:2].isupper() or len(lines) < 2:
        return None
    names = _GAP.split(lines[0].strip())
    if len(names) < 2 or not all(name[0].isupper() for name in names):
        return None
    is_head = len(names) > 2 and all(name.isupper() for name in names)
    rows = (line for line in lines[1:] if line.strip())
    if not is_head and any(len(_GAP.split(row.strip())) != len(names) for row in rows):
        return None
    return Items([line.strip() for line in lines[1:] if line.strip()], lines[0], "", "columns")


def elements(lines: list[str], wants_list: bool) -> Items | None:
    """Nothing but elements of one name: `<result>…</result>`."""
    text = "\n".join(lines).strip()
    first = _TAG.match(text)
    if first is None:
        return None
    if wants_list and text.endswith(f"</{first['name']}>") and text.count(f"<{first['name']}") == 1:
        inner = text[first.end() : text.rindex("</")].strip()
        first = _TAG.match(inner)
        if first is not None:
            text = inner
        else:
            first = _TAG.match(text)
    if first is None:
        return None
    end = f"</{first['name']}>"
    *parts, rest = (part.strip() for part in text.split(end))
    begins = [_TAG.match(part) for part in parts]
    if rest or any(begin is None or begin["name"] != first["name"] for begin in begins):
        return None
    items = [part.partition(">")[2].strip() for part in parts]
    return Items(items, "", "", "elements") if len(items) > 1 or wants_list else None
