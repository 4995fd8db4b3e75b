"""Text that is clearly a list: bullets, numbers, tagged lines, paths, records, table rows.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item.
"""

import csv
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

_LONGEST: Final = 1_000_000  # characters of a text that is looked at
_MOST_HEADING: Final = 3
_MOST_CLOSING: Final = 2
_LONGEST_HEADING: Final = 300

_BULLET: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<mark>[-*+•\u2013▪◦→]|\d{1,6}[.)])[ \t]+(?P<words>\S.*)"
)
_TAGGED: Final = re.compile(r"\[[A-Z][A-Z _-]{1,15}\][ \t]+\S")
_PATH: Final = re.compile(
    r"https?://\S+|(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*|[\w.-]+(?:/[\w. -]+)+"
)
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")
_LABEL: Final = re.compile(
    r"(?P<key>[*_]{0,2}[A-Za-z][\w ./()-]{0,40}?[*_]{0,2}):(?:[*_]{2})?(?:[ \t]+(?P<value>.*)|$)"
)
_UNMARKED: Final = re.compile(r"^[-*•][ \t]+(?=[A-Z][\w /-]{0,40}:)")
_RULE: Final = re.compile(r"[-=_*~]{3,}")
_COUNT: Final = re.compile(r"\b(\d{1,9})\b")
_TABLE_RULE: Final = re.compile(r"\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?")
_HEADED: Final = re.compile(
    r"(#{1,6}|\*\*)?[ \t]*(?:(?:Result|Item|Entry|Page|Record)[ \t]+#?)?\d+[.):]?(?:[ \t]|$)", re.I
)


class Items(NamedTuple):
    """The items of a text, what stands above and below them, and the pattern that found them."""

    items: list[Any]
    heading: str
    closing: str
    rule: str


def find_items(text: str, *, wants_list: bool = False) -> Items | None:
    """The items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    for pattern in _PATTERNS:
        found = pattern(lines, wants_list)
        if found is not None:
            return found
    return None


def _split_heading(lines: list[str], is_item: Callable[[str], bool]) -> int | None:
    """Where the items begin, if no more than a heading stands above them."""
    seen = 0
    for index, line in enumerate(lines):
        if is_item(line):
            return index
        seen += bool(line.strip())
        if seen > _MOST_HEADING or len(line) > _LONGEST_HEADING:
            return None
    return None


def _bullets(lines: list[str], wants_list: bool) -> Items | None:
    """`- one`, `* two`, `1. three`; lines that belong to an item are indented."""
    start = _split_heading(lines, lambda line: _BULLET.fullmatch(line) is not None)
    if start is None:
        return None
    first = _BULLET.fullmatch(lines[start])
    if first is None:
        return None
    indent, is_number = len(first["indent"]), first["mark"][0].isdigit()
    items: list[list[str]] = []
    end = len(lines)
    for index in range(start, len(lines)):
        line = lines[index]
        bullet = _BULLET.fullmatch(line)
        if bullet and len(bullet["indent"]) == indent and bullet["mark"][0].isdigit() == is_number:
            items.append([bullet["words"]])
        elif not line.strip() or len(line) - len(line.lstrip()) > indent:
            items[-1].append(line.strip())
        elif is_number and _LABEL.fullmatch(line):
            items[-1].append(line)
        else:
            end = index
            break
    heading, closing = _around(lines, start, end)
    if closing is None or not _is_enough(items, heading, wants_list):
        return None
    if heading.startswith("#") and not wants_list and (closing or len(items) < 2):
        return None
    return Items([_said(item) for item in items], heading, closing, "bullets")


def _is_enough(items: list[Any], heading: str, wants_list: bool) -> bool:
    counted = {int(number) for number in _COUNT.findall(heading)}
    return len(items) > 1 or wants_list or len(items) in counted or heading.endswith(":")


def _around(lines: list[str], start: int, end: int) -> tuple[str, str | None]:
    """The heading, and the closing lines; None if there are too many of them."""
    heading = "\n".join(line for line in lines[:start] if line.strip())
    closing = [line.strip() for line in lines[end:] if line.strip()]
    return heading, "\n".join(closing) if len(closing) <= _MOST_CLOSING else None


def _said(lines: list[str]) -> Any:
    """An item as its text; one that goes on as labelled lines is an object."""
    first, *rest = lines
    labelled = [_LABEL.fullmatch(line) for line in rest if line]
    if labelled and all(labelled):
        fields = {_key(each["key"]): (each["value"] or "").strip() for each in labelled if each}
        if "text" not in fields:
            return {"text": first, **fields}
    return "\n".join(line for line in lines if line)


def _key(label: str) -> str:
    return label.strip("*_ ")


def _tagged(lines: list[str], wants_list: bool) -> Items | None:
    """`[FILE] a.txt`."""
    return _uniform(lines, _TAGGED.match, 1, "tagged-lines")


def _paths(lines: list[str], wants_list: bool) -> Items | None:
    """One path a line."""
    return _uniform(lines, _PATH.fullmatch, 1 if wants_list else 2, "paths")


def _starred(lines: list[str], wants_list: bool) -> Items | None:
    """Lines of which one is marked, as git shows branches."""
    if sum(line.startswith("* ") for line in lines) != 1 or len(lines) < 2:
        return None
    return _uniform(lines, _STARRED.fullmatch, 2, "marked-lines")


def _uniform(
    lines: list[str], is_item: Callable[[str], object], least: int, rule: str
) -> Items | None:
    start = _split_heading(lines, lambda line: bool(is_item(line)))
    if start is None or (start and not lines[start - 1].rstrip().endswith(":") and start > 1):
        return None
    end = len(lines)
    while end > start and not is_item(lines[end - 1]):
        end -= 1
    items = [line.strip() for line in lines[start:end] if line.strip()]
    if len(items) < least or not all(is_item(line) for line in lines[start:end] if line.strip()):
        return None
    heading, closing = _around(lines, start, end)
    return None if closing is None else Items(items, heading, closing, rule)


def _table(lines: list[str], wants_list: bool) -> Items | None:
    """A Markdown table."""
    rules = [i for i, line in enumerate(lines) if i and "|" in lines[i - 1] and _is_rule(line)]
    if len(rules) != 1:
        return None
    top = rules[0] - 1
    end = next((i for i in range(rules[0] + 1, len(lines)) if "|" not in lines[i]), len(lines))
    heading, closing = _around(lines, top, end)
    if closing is None or heading.count("\n") >= _MOST_HEADING:
        return None
    names = _cells(lines[top])
    rows = [_cells(line) for line in lines[rules[0] + 1 : end]]
    items: list[Any] = [dict(zip(names, row, strict=False)) for row in rows]
    return Items(items, heading, closing, "table")


def _is_rule(line: str) -> bool:
    return "-" in line and _TABLE_RULE.fullmatch(line.strip()) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _records(lines: list[str], wants_list: bool) -> Items | None:
    """Paragraphs that all begin with the same label, or with their number."""
    paragraphs = _paragraphs([_UNMARKED.sub("", line) for line in lines])
    heading = ""
    if len(paragraphs) > 1 and len(paragraphs[0]) == 1 and _is_title(paragraphs[0][0]):
        (heading,), *paragraphs = paragraphs
    elif paragraphs and len(paragraphs[0]) > 1 and _is_heading(paragraphs[0][0]):
        heading = paragraphs[0].pop(0)
    if not paragraphs:
        return None
    label = _LABEL.fullmatch(paragraphs[0][0])
    if label is not None:
        return _labelled(paragraphs, label["key"], heading)
    if len(paragraphs) > 1 and all(_HEADED.match(each[0]) for each in paragraphs):
        return Items(["\n".join(each) for each in paragraphs], heading, "", "numbered-records")
    return None


def _is_title(line: str) -> bool:
    return _LABEL.fullmatch(line) is None or _is_heading(line)


def _is_heading(line: str) -> bool:
    label = _LABEL.fullmatch(line)
    return label is not None and not (label["value"] or "").strip()


def _labelled(paragraphs: list[list[str]], key: str, heading: str) -> Items | None:
    """Records of labelled lines: a new one wherever the first label comes again."""
    records: list[dict[str, str]] = []
    last = ""
    for line in (line for paragraph in paragraphs for line in paragraph):
        label = _LABEL.fullmatch(line)
        if label is not None and label["key"] == key:
            records.append({})
        if label is not None and not line[0].isspace():
            last = _key(label["key"])
            records[-1][last] = (label["value"] or "").strip()
        elif last:
            records[-1][last] = f"{records[-1][last]}\n{line.strip()}".strip()
    alike = sum(len(record) > 1 for record in records)
    is_named = heading.lower().startswith(_key(key).lower())  # `Commit history:`, `Commit: …`
    if len(records) < (1 if is_named else 2) or alike < len(records):
        return None
    return Items(records, heading, "", "records")


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or _RULE.fullmatch(line.strip()):
            found.append([])
        else:
            found[-1].append(line)
    return [each for each in found if each]


def _counted(lines: list[str], wants_list: bool) -> Items | None:
    """A heading that says how many, and as many lines or paragraphs below it."""
    shown = _shown(lines)
    if shown is not None:
        return shown
    heading, *rest = lines
    numbers = {int(number) for number in _COUNT.findall(heading)}
    if not heading.rstrip().endswith(":") or not numbers:
        return None
    body = [line.strip() for line in rest if line.strip()]
    if len(body) in numbers:
        return Items(body, heading, "", "counted-lines")
    paragraphs = _paragraphs(rest)
    if len(paragraphs) in numbers:
        return Items(["\n".join(each) for each in paragraphs], heading, "", "counted-paragraphs")
    return None


def _shown(lines: list[str]) -> Items | None:
    """`Showing 1-2 of 9`, and as many lines below it."""
    for at, line in enumerate(lines[:_MOST_HEADING]):
        found = _SHOWING.search(line)
        if found is not None:
            number = int(found["last"]) - int(found["first"]) + 1
            body = [each.strip() for each in lines[at + 1 :] if each.strip()]
            heading = "\n".join(lines[: at + 1])
            if body and body[0].lower().startswith(("next page", "previous page")):
                heading, body = f"{heading}\n{body[0]}", body[1:]
            if len(body) == number:
                return Items(body, heading, "", "counted-lines")
    return None


def _csv(lines: list[str], wants_list: bool) -> Items | None:
    """A line of names, and rows of as many cells; of one column only with rows, and from a list."""
    names = lines[0].split(",")
    if not all(_NAME.fullmatch(name) for name in names):
        return None
    rows = [row for row in csv.reader(_joined(lines[1:])) if row]
    if any(len(row) != len(names) for row in rows):
        return None
    is_column = len(names) == 1 and len(rows) > 1 and all(_NAME.fullmatch(row[0]) for row in rows)
    is_table = len(names) > 2 and (bool(rows) or wants_list)
    if not (is_table or (len(names) > 1 and rows and wants_list) or (is_column and wants_list)):
        return None
    items: list[Any] = [dict(zip(names, row, strict=True)) for row in rows]
    return Items(items, lines[0], "", "csv")


def _joined(lines: list[str]) -> list[str]:
    """Lines with those together that a quoted cell goes over."""
    found: list[str] = []
    for line in lines:
        if found and found[-1].count('"') % 2:
            found[-1] = f"{found[-1]}\n{line}"
        elif line.strip():
            found.append(line)
    return found


def _columns(lines: list[str], wants_list: bool) -> Items | None:
    """Columns under names in capitals, as command lines show them."""
    names = re.split(r"\s{2,}", lines[0].strip())
    if len(names) < 3 or not all(name.isupper() for name in names):
        return None
    return Items([line.strip() for line in lines[1:] if line.strip()], lines[0], "", "columns")


def _alike(lines: list[str], wants_list: bool) -> Items | None:
    """Lines that all begin with the same label, or the same mark, from a tool that lists."""
    if not wants_list:
        return None
    for at in range(min(len(lines), _MOST_HEADING + 1)):
        mark = _mark(lines[at])
        if mark is None:
            continue
        end = at
        while end < len(lines) and (_mark(lines[end]) == mark or lines[end][:1].isspace()):
            end += 1
        items = [line.strip() for line in lines[at:end] if _mark(line) == mark]
        heading, closing = _around(lines, at, end)
        is_many = len(items) > 1 or _SHOWN.search(heading) is not None
        return (
            Items(items, heading, closing, "alike-lines")
            if closing is not None and is_many
            else None
        )
    return None


def _mark(line: str) -> str | None:
    found = _MARK.match(line)
    return None if found is None else found["label"] or found["sign"] or "["


def _sequence(lines: list[str], wants_list: bool) -> Items | None:
    """Lines that are numbered from one on, with whatever stands below each of them."""
    numbered = [
        (i, int(found["n"]), found["style"])
        for i, line in enumerate(lines)
        if (found := _NUMBER.match(line))
    ]
    if not numbered or not wants_list or numbered[0][0] > _MOST_ABOVE:
        return None
    style = numbered[0][2]
    starts: list[int] = []
    for index, number, each in numbered:
        if each == style and number == len(starts) + 1:
            starts.append(index)
    if not starts:
        return None
    ends = [*starts[1:], len(lines)]
    items = ["\n".join(lines[a:b]).strip() for a, b in zip(starts, ends, strict=True)]
    heading = "\n".join(line for line in lines[: starts[0]] if line.strip())
    return Items(items, heading, "", "sequence")


def _elements(lines: list[str], wants_list: bool) -> Items | None:
    """Nothing but elements of one name: `<result>…</result>`."""
    text = "\n".join(lines).strip()
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


_NAME: Final = re.compile(r"[A-Za-z_][\w.#-]{0,40}")
_MARK: Final = re.compile(
    r"(?P<label>\w{1,20}[:=])|(?P<sign>[^\w\s#*<({\[\"'`-]{1,2})\s|\[[^\]]{1,60}\]\s"
)
_SHOWN: Final = re.compile(r"\b(?:results?|found|total|showing)\b", re.I)
_NUMBER: Final = re.compile(r"(?P<style>(?:#{1,4}\s*)?\[?)(?P<n>\d{1,5})(?:[.):]|\])\s")
_MOST_ABOVE: Final = 14
_TAG: Final = re.compile(r"<(?P<name>[A-Za-z][\w-]{0,40})(?:\s[^>]{0,500})?>")
_SHOWING: Final = re.compile(r"showing\s+(?P<first>\d+)\s*(?:-|to)\s*(?P<last>\d+)", re.I)

_PATTERNS: Final = (
    *(_tagged, _starred, _table, _records, _bullets, _paths, _counted),
    *(_elements, _columns, _csv, _alike, _sequence),
)
