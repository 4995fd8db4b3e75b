"""Records of several lines: labelled, numbered, or as many as a heading says."""

import re
from typing import Final

from accord.reader.items.found import (
    LABEL,
    MOST_STATING,
    Items,
    key_of,
    stated_in,
)

_UNMARKED: Final = re.compile(r"[-*•][ \t]+(?=[A-Z][\w /-]{0,40}:)")
_RULE: Final = re.compile(r"[-=_*~]{3,}")
_HEADED: Final = re.compile(
    r"(#{1,6}|\*\*)?[ \t]*(?:(?:Result|Item|Entry|Page|Record)[ \t]+#?)?\d+[.):]?(?:[ \t]|$)", re.I
)
_FIRST: Final = re.compile(r"[A-Z][a-z]{2,20} #?1:")
"""The only one of several that could be: `Memory 1:`."""
_NUMBER: Final = re.compile(r" {0,3}(?P<style>(?:#{1,4}\s*)?\[?)(?P<n>\d{1,5})(?:[.):]|\])\s")
_MOST_ABOVE: Final = 14
_DIGITS: Final = re.compile(r"\d+")
_BEGIN: Final = re.compile(r"\s*(?:[A-Za-z][\w ]{0,30}:|[^\w\s]{1,6})")
_TITLES: Final = frozenset({"title", "url", "link", "headline", "path"})
"""With which a result of a search begins, if there is but one."""


def records(lines: list[str], wants_list: bool) -> Items | None:
    """Paragraphs that all begin with the same label, or with their number."""
    paragraphs = _paragraphs([_unmarked(line) for line in lines])
    heading = ""
    if len(paragraphs) > 1 and len(paragraphs[0]) == 1 and _is_title(paragraphs[0][0]):
        (heading,), *paragraphs = paragraphs
    elif paragraphs and len(paragraphs[0]) > 1 and _is_heading(paragraphs[0][0]):
        heading = paragraphs[0].pop(0)
    if not paragraphs:
        return None
    if len(paragraphs) > 1 and all(_HEADED.match(each[0]) for each in paragraphs):
        return Items(["\n".join(each) for each in paragraphs], heading, "", "numbered-records")
    if wants_list and heading.endswith(":") and len(paragraphs) == 1:
        first, *rest = paragraphs[0]
        if rest and _FIRST.fullmatch(first) and all(map(LABEL.fullmatch, rest)):
            return Items(["\n".join(paragraphs[0])], heading, "", "numbered-records")
    label = LABEL.fullmatch(paragraphs[0][0])
    if label is None:
        return None
    least = 1 if wants_list and key_of(label["key"]).lower() in _TITLES else 2
    return _labelled(paragraphs, label["key"], heading, least)


def _unmarked(line: str) -> str:
    """A labelled line without its bullet."""
    found = _UNMARKED.match(line)
    return line if found is None else line[found.end() :]


def _is_title(line: str) -> bool:
    """Whether the only line of a paragraph is no record: words, a heading, or a number."""
    label = LABEL.fullmatch(line)
    return label is None or (label["value"] or "0").strip().isdigit()


def _is_heading(line: str) -> bool:
    label = LABEL.fullmatch(line)
    return label is not None and not (label["value"] or "").strip()


def _labelled(paragraphs: list[list[str]], key: str, heading: str, least: int) -> Items | None:
    """Records of labelled lines: a new one wherever the first label comes again."""
    found: list[dict[str, list[str]]] = []
    last = ""
    for line in (line for paragraph in paragraphs for line in paragraph):
        label = LABEL.fullmatch(line)
        if label is not None and label["key"] == key:
            found.append({})
        if label is not None and not line[0].isspace():
            last = key_of(label["key"])
            found[-1][last] = [(label["value"] or "").strip()]
        elif last:
            found[-1][last].append(line.strip())
    records = [
        {name: "\n".join(words).strip() for name, words in record.items()} for record in found
    ]
    alike = sum(len(record) > 1 for record in records)
    is_named = heading.lower().startswith(key_of(key).lower())  # `Commit history:`, `Commit: …`
    if len(records) < (1 if is_named else least) or alike < len(records):
        return None
    return Items(records, heading, "", "records")


_PAIR: Final = re.compile(r"(?P<key>[A-Z][\w #/-]{0,30}): ?(?P<value>[^:,|]{0,120})")
_NAMING: Final = frozenset({"id", "pid", "name", "title", "key", "path", "url", "email"})
_BETWEEN: Final = re.compile(r", | \| | - ")


def paired(lines: list[str], wants_list: bool) -> Items | None:
    """A record on each line, in which every part has its label: `PID: 7, Runtime: 3s`."""
    body = [line for line in lines if line.strip()]
    found: list[dict[str, str]] = []
    for line in body:
        parts = [_PAIR.fullmatch(part) for part in _BETWEEN.split(line.strip())]
        record = {part["key"]: part["value"].strip() for part in parts if part is not None}
        if len(record) < max(len(parts), 2):
            return None
        found.append(record)
    is_alike = all(record.keys() == found[0].keys() for record in found)
    has_name = any(
        key.lower().rpartition(" ")[2] in _NAMING for record in found[:1] for key in record
    )
    return Items([*found], "", "", "pairs") if is_alike and has_name else None


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or _RULE.fullmatch(line.strip()):
            found.append([])
        else:
            found[-1].append(line)
    return [each for each in found if each]


_COUNTING: Final = re.compile(r"\d{1,6} [a-z]+s")
"""A heading that says nothing else: `8 rules`."""


def counted(lines: list[str], wants_list: bool) -> Items | None:
    """A heading that says how many, and as many lines or paragraphs below it."""
    if not lines:
        return None
    heading, *rest = lines
    if not heading.rstrip().endswith(":") and not _COUNTING.fullmatch(heading.strip()):
        return None
    numbers = stated_in(heading)
    if not numbers:
        return None
    body = [line.strip() for line in rest if line.strip()]
    if body and _COUNTING.fullmatch(body[0]):
        return None
    if len(body) in numbers:
        return Items(body, heading, "", "counted-lines")
    paragraphs = _paragraphs(rest)
    if len(paragraphs) in numbers:
        return Items(["\n".join(each) for each in paragraphs], heading, "", "counted-paragraphs")
    return as_many(lines, numbers) if wants_list else None


def as_many(lines: list[str], numbers: set[int]) -> Items | None:
    """As many lines that begin alike as there are said to be items, of which each has one."""
    above = enumerate(lines[:MOST_STATING])
    top = max((at for at, line in above if stated_in(line) & numbers), default=-1)
    heading = "\n".join(line for line in lines[: top + 1] if line.strip())
    body = [line for line in lines[top + 1 :] if line.strip()]
    if not body or max(numbers) < 2:
        return None
    starts = _starts(body, numbers)
    if not starts:
        return None
    parts = zip(starts, [*starts[1:], len(body)], strict=True)
    items = ["\n".join(body[a:b]).strip() for a, b in parts]
    return Items(list(items), heading, "", "counted-lines")


def _starts(body: list[str], numbers: set[int]) -> list[int]:
    """Where the items begin, by the first line, the one below it or the last that they share."""
    for at in (0, min(1, len(body) - 1), -1):
        for shape in (_outline, _opening):
            mark = shape(body[at])
            alike = [i for i, line in enumerate(body) if mark and shape(line) == mark]
            if len(alike) in numbers and len(alike) > 1:
                return [0, *(i + 1 for i in alike[:-1])] if at < 0 else [i - at for i in alike]
    return []


def _outline(line: str) -> str:
    """A line without its digits, which lines that are numbered have in common."""
    return _DIGITS.sub("0", line) if any(map(str.isdigit, line)) else ""


def _opening(line: str) -> str:
    """How a line begins, if that is no word of its own: a mark, a label without its digits."""
    begin = _BEGIN.match(line)
    return "" if begin is None else _DIGITS.sub("0", begin[0])


def sequence(lines: list[str], wants_list: bool) -> Items | None:
    """Lines that are numbered from one or zero on, with whatever stands below each of them."""
    numbered = [
        (i, int(found["n"]), found["style"])
        for i, line in enumerate(lines)
        if (found := _NUMBER.match(line))
    ]
    if not numbered or numbered[0][0] > _MOST_ABOVE:
        return None
    _, first, style = numbered[0]
    if first > 1:
        return None
    starts: list[int] = []
    for index, number, each in numbered:
        if each == style and number == len(starts) + first:
            starts.append(index)
    if not starts:
        return None
    ends = [*starts[1:], len(lines)]
    items = ["\n".join(lines[a:b]).strip() for a, b in zip(starts, ends, strict=True)]
    heading = "\n".join(line for line in lines[: starts[0]] if line.strip())
    return Items(items, heading, "", "sequence")
