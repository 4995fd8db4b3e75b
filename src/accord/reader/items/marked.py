"""Lines that are marked as items: bullets, numbers, tags, paths, a star, a label."""

import re
from collections.abc import Callable
from typing import Any, Final

from accord.reader.items.found import (
    COUNT,
    LABEL,
    MOST_HEADING,
    Items,
    around,
    key_of,
    split_heading,
)

_BULLET: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<mark>[-*+•\u2013▪◦→]|\d{1,6}[.)])[ \t]+(?P<words>\S.*)"
)
_TAGGED: Final = re.compile(
    r"\[(?:[A-Z][A-Z _-]{1,15}|[A-Z][a-z]{2,15}|[a-z]{2,20}(?:[/:.-][a-z]{2,20})*)\][ \t]+\S"
)
_PATH: Final = re.compile(
    r"https?://\S+|[\w./\\-]{1,200}(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)):.*"
    r"|(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*|[\w.-]+(?:/[\w. -]+)++(?:\([^()]{1,40}\))?"
)
_BRANCH: Final = re.compile(r"[│ \t\u00a0]{0,200}[├└]─{1,3} ?[^\s─┴┬┼┐┘]")
"""A line of a tree: `│   ├── a.txt`."""
_COMMIT: Final = re.compile(r"commit [0-9a-f]{7,64}\b")
_COMMIT_LINE: Final = re.compile(r"(?:[*|\\/] ?){0,8}(?=[0-9a-f]*\d)[0-9a-f]{7,64} \S")
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")
_MARK: Final = re.compile(
    r"(?P<label>\w{1,20}[:=])|(?P<sign>[^\w\s#*<({\[\"'`-]{1,2})\s|\[[^\]]{1,60}\]\s"
)
_PAIRS: Final = re.compile(r"(?>\w{1,40}=(?>'[^']*'|\"[^\"]*\"|\S*),?(?: |$)){2,}")
"""`name='Ada' id=1`."""
_NO_WORD: Final = frozenset({"", " ", "\t"})
_SHOWN: Final = re.compile(r"\b(?:results?|found|total|showing)\b", re.I)


def bullets(lines: list[str], wants_list: bool) -> Items | None:
    """`- one`, `* two`, `1. three`; lines that belong to an item are indented."""
    start = split_heading(lines, _BULLET.fullmatch)
    if start is None:
        return None
    first = _BULLET.fullmatch(lines[start])
    if first is None:
        return None
    indent, is_number = len(first["indent"]), first["mark"][0].isdigit()
    items: list[list[str]] = [[first["words"]]]
    end = len(lines)
    is_code = lines[start].count("```") % 2 == 1
    for index in range(start + 1, len(lines)):
        line = lines[index]
        bullet = None if is_code else _BULLET.fullmatch(line)
        was_code, is_code = is_code, is_code != bool(line.count("```") % 2)
        if was_code:
            items[-1].append(line)
        elif (
            bullet and len(bullet["indent"]) == indent and bullet["mark"][0].isdigit() == is_number
        ):
            items.append([bullet["words"]])
        elif not line.strip() or len(line) - len(line.lstrip()) > indent:
            items[-1].append(line.strip())
        elif is_number and LABEL.fullmatch(line):
            items[-1].append(line)
        else:
            end = index
            break
    heading, closing = around(lines, start, end)
    if closing is None or not _is_enough(items, heading, wants_list):
        return None
    if any(map(_BULLET.fullmatch, closing.splitlines())):
        return None
    if heading.startswith("#") and not wants_list and (closing or len(items) < 2):
        return None
    return Items([_said(item) for item in items], heading, closing, "bullets")


def plain_bullets(lines: list[str]) -> Items | None:
    """The same where it is plain to see: a heading, and bullets with nothing to them."""
    if len(lines) < 3 or not lines[0].endswith(":") or lines[1][:2] not in ("- ", "* ", "• "):
        return None
    mark = lines[1][:2]
    items = []
    for line in lines[1:]:
        if line[:2] != mark or line[2:3] in _NO_WORD or ":" in line or "```" in line:
            return None
        items.append(line[2:])
    return Items(items, lines[0], "", "bullets")


def _is_enough(items: list[Any], heading: str, wants_list: bool) -> bool:
    counted = {int(number) for number in COUNT.findall(heading)}
    return len(items) > 1 or wants_list or len(items) in counted or heading.endswith(":")


def _said(lines: list[str]) -> Any:
    """An item as its text; one that goes on as labelled lines is an object."""
    if len(lines) == 1:
        return lines[0]
    first, *rest = lines
    labelled = [LABEL.fullmatch(line) for line in rest if line]
    if labelled and all(labelled):
        fields = {key_of(each["key"]): (each["value"] or "").strip() for each in labelled if each}
        if "text" not in fields:
            return {"text": first, **fields}
    return "\n".join(line for line in lines if line)


def tagged(lines: list[str], wants_list: bool) -> Items | None:
    """`[FILE] a.txt`."""
    return _uniform(lines, _TAGGED.match, 1, "tagged-lines")


def paths(lines: list[str], wants_list: bool) -> Items | None:
    """One path a line."""
    return _uniform(lines, _PATH.fullmatch, 1 if wants_list else 2, "paths")


def tree(lines: list[str], wants_list: bool) -> Items | None:
    """What branches off a line: `├── a.txt`."""
    start = next((at for at, line in enumerate(lines) if _BRANCH.match(line)), len(lines))
    end = start
    while end < len(lines) and _BRANCH.match(lines[end]):
        end += 1
    if start > MOST_HEADING or start == end or (end < len(lines) and lines[end].strip()):
        return None
    heading, closing = around(lines, start, end)
    items = [line.rstrip() for line in lines[start:end]]
    return None if closing is None else Items([*items], heading, closing, "tree")


def commits(lines: list[str], wants_list: bool) -> Items | None:
    """Commits as git logs them, in full or one a line."""
    if all(map(_COMMIT_LINE.match, lines)):
        return Items(list(lines), "", "", "commits")
    starts = [at for at, line in enumerate(lines) if _COMMIT.match(line)]
    if len(starts) < 2 or starts[0] != 0:
        return None
    parts = zip(starts, [*starts[1:], len(lines)], strict=True)
    return Items(["\n".join(lines[a:b]).strip() for a, b in parts], "", "", "commits")


def starred(lines: list[str], wants_list: bool) -> Items | None:
    """Lines of which one is marked, as git shows branches."""
    if sum(line.startswith("* ") for line in lines) != 1 or len(lines) < 2:
        return None
    return _uniform(lines, _STARRED.fullmatch, 2, "marked-lines")


def _uniform(
    lines: list[str], is_item: Callable[[str], object], least: int, rule: str
) -> Items | None:
    start = split_heading(lines, is_item)
    if start is None or (start and not lines[start - 1].rstrip().endswith(":") and start > 1):
        return None
    end = len(lines)
    while end > start and not is_item(lines[end - 1]):
        end -= 1
    if end < len(lines) and lines[end].strip() and start == 0:
        return None  # nothing sets that line apart
    items = [line.strip() for line in lines[start:end] if line.strip()]
    if len(items) < least or not all(is_item(line) for line in lines[start:end] if line.strip()):
        return None
    heading, closing = around(lines, start, end)
    return None if closing is None else Items(items, heading, closing, rule)


def alike(lines: list[str], wants_list: bool) -> Items | None:
    """Lines that all begin with the same label, or the same mark, from a tool that lists."""
    if not wants_list:
        return None
    for at in range(min(len(lines), MOST_HEADING + 1)):
        mark = _mark(lines[at])
        if mark is None or lines[at].endswith(":"):
            continue
        end = max(i for i, line in enumerate(lines) if _mark(line) == mark) + 1
        while end < len(lines) and (lines[end][:1].isspace() or mark == "["):
            end += 1
        marked = [i for i in range(at, end) if _mark(lines[i]) == mark]
        if 2 * len(marked) < sum(1 for line in lines[at:end] if line.strip() and line[0] != " "):
            return None
        if len(marked) == 1 and end < len(lines) and _mark(lines[-1]) == "sign" != mark:
            continue  # a label above lines that have another mark
        if _is_title(lines, marked) or _is_apart(lines, marked):
            del marked[0]
        ends = [*marked[1:], end]
        items = ["\n".join(lines[a:b]).strip() for a, b in zip(marked, ends, strict=True)]
        if end < len(lines) and lines[end].strip():
            return None  # nothing sets that line apart
        heading, closing = around(lines, marked[0], end)
        is_many = len(items) > 1 or _SHOWN.search(heading) or _PAIRS.fullmatch(lines[at])
        return (
            Items(items, heading, closing, "alike-lines")
            if closing is not None and is_many
            else None
        )
    return None


def _is_apart(lines: list[str], marked: list[int]) -> bool:
    """Whether a blank line stands below the first of some lines, and below none of the others."""
    blank = [at + 1 < len(lines) and not lines[at + 1].strip() for at in marked]
    is_sign = not lines[marked[0]][:1].isascii()
    return len(marked) > 1 and is_sign and blank[0] and not any(blank[1:])


def _is_title(lines: list[str], marked: list[int]) -> bool:
    """Whether nothing stands below the first of some lines, and something below all the others."""
    has_more = [at + 1 < len(lines) and lines[at + 1][:1].isspace() for at in marked]
    return len(marked) > 2 and not has_more[0] and all(has_more[1:])


def _mark(line: str) -> str | None:
    found = _MARK.match(line)
    if found is None:
        return None
    sign = found["sign"]
    if sign is not None:
        return sign if sign.isascii() else "sign"
    return found["label"] or "["
