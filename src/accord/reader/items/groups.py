"""Ways to cut a text into items: at lines that begin alike, at rules, at blank lines, at each line.

All of them are tried; `weights` decides which one is right, if any.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from accord.reader.items.lines import (
    LABEL,
    MAX_ABOVE,
    MAX_HEADING,
    Items,
    Line,
    Lines,
    Opening,
    heading_of,
    plain_key,
    states_count,
)
from accord.reader.lexicon import ordered, words

Part = list[Line]

# Candidates


class Cut(NamedTuple):
    """A text cut into items, with the lines above, below and between them."""

    rule: str
    parts: list[Part]
    above: Part
    below: Part
    loose: int = 0
    """Number of lines within items that are not indented more than their first lines."""
    between: Sequence[Line] = ()
    """Headings of groups of items."""
    groups: int = 0

    def items(self) -> Items:
        """Return the items, the heading and the closing remarks."""
        heading = heading_of([*self.above, *self.between])
        items = [_item(part, is_record=self.rule == "records") for part in self.parts]
        return Items(items, heading, heading_of(self.below), self.rule)


_RULES: Final = {
    "bullet": "bullets",
    "branch": "tree",
    "label": "records",
    "headed": "headed",
    "paths": "paths",
    "commits": "commits",
    "tag": "tagged-lines",
}
"""The names of cuts, by the kind of opening of their items."""
_ABOVE_TITLES: Final = frozenset({"headed", "bullet", "label", "branch", "commits"})
"""Kinds of openings that are looked for above the last heading too."""
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")
_MARKED: Final = frozenset({"bullet", "number", "tag", "heading"})
_MOST_DEPTHS: Final = 2
"""Number of indents at which each line is tried as an item."""


def cuts(lines: Lines, rules: Container[str]) -> Iterator[Cut]:
    """Yield the cuts of a text by the given rules."""
    top = below_titles(lines)
    places: dict[Opening, list[int]] = {}
    for at, line in enumerate(lines):
        if line.opening is not None and (at >= top or line.opening.kind in _ABOVE_TITLES):
            places.setdefault(line.opening, []).append(at)
    for each, starts in places.items():
        rule = _RULES.get(each.kind, "alike-lines")
        if each.kind == "number" and not each.detail:
            rule = "bullets"
        if each.kind != "text" and rule in rules and _is_beginning(lines, starts, places):
            yield from _at_opening(rule, lines, starts, each)
    if "plain-lines" in rules:
        yield from _at_depths(lines, top, places)
        yield from _in_line(lines, top)
    if sum(line.text[:1] == "*" for line in lines) == 1:
        filled = [line._replace(kind="text") for line in lines if line.text]
        if all(_STARRED.fullmatch(line.text) for line in filled):
            yield Cut("marked-lines", [[line] for line in filled], [], [])
    if len(lines) > 2:
        kinds = {line.kind for line in lines}
        if "rule" in kinds:
            yield from _between(lines, "separated", ("rule",))
        if "blank" in kinds:
            yield from _between(lines, "paragraphs", ("rule", "blank"))


def _at_depths(lines: Lines, top: int, places: Mapping[Opening, list[int]]) -> Iterator[Cut]:
    """Cut a text at each line of an indent, unless these lines share a mark."""
    body = [at for at in range(top, len(lines)) if lines[at].text and lines[at].kind != "rule"]
    for depth in sorted({lines[at].indent for at in body})[:_MOST_DEPTHS]:
        starts = [at for at in body if lines[at].indent == depth]
        first = lines[starts[0]]
        opening = first.opening or Opening("text")
        is_same = 1 < len(places.get(opening, ())) == len(starts)
        if opening.kind != "text" and (first.kind in _MARKED or is_same):
            continue  # cut at their marks
        yield from _at_opening("plain-lines", lines, starts, Opening("text", "", depth))


def _is_beginning(lines: Lines, starts: list[int], places: dict[Opening, list[int]]) -> bool:
    """True if items may begin at these lines: near the top, and not within records."""
    first = starts[0]
    if first > 2 * MAX_ABOVE or (len(starts) == 1 and first > 2 * MAX_HEADING + 1):
        return False
    line, above = lines[first], lines[first - 1] if first else None
    if _is_below(line, above):
        return False
    if above is None or line.key is None or above.key is None or above.text[-1] == ":":
        return True
    return above.opening is None or len(places.get(above.opening, ())) != len(starts)


def _is_below(line: Line, above: Line | None) -> bool:
    """True if a line continues the one above it, which is not a heading."""
    if above is None or not above.text or line.indent <= above.indent:
        return False
    if line.opening is None or line.opening.kind not in ("label", "text"):
        return False
    return above.kind != "heading" and not above.text.rstrip(" *").endswith(":")


def labels(lines: Lines) -> list[str]:
    """Return the labels of the lines that have one."""
    return [line.key for line in lines if line.key is not None]


def _at_opening(rule: str, lines: Lines, starts: Sequence[int], at: Opening) -> Iterator[Cut]:
    """Cut a text at the given lines; headings of groups are not part of an item.

    A second cut has only the items above the first such heading.
    """
    parts: list[Part] = []
    between, group = list[Line](), list[Line]()
    loose = before = groups = 0
    tail: int | None = None
    above, is_start = list(lines[: starts[0]]), set(starts)
    for number in range(starts[0], len(lines)):
        line = lines[number]
        if number in is_start:
            if group and not groups:
                rest = list(lines[number - len(group) :])
                yield _ended(Cut(rule, [*parts], above, rest, loose), tail, before)
            groups += bool(group)
            between.extend(group)
            group = []
            parts.append([line])
            before, tail = loose, None
        elif group or _is_over(line, at):
            group.append(line)
        else:
            if _is_loose(line, at):
                loose += 1
                tail = len(parts[-1]) if tail is None else tail
            parts[-1].append(line)
    if groups and rule == "bullets":
        rule = "grouped"
    if rule == "records" and not all(len(labels(part)) > 1 for part in parts):
        rule = "alike-lines"
    yield _ended(Cut(rule, parts, above, group, loose, between, groups), tail, before)


def _ended(cut: Cut, tail: int | None, before: int) -> Cut:
    """Return a cut with the loose lines of only the last item moved below the items."""
    if tail is None or before:
        return cut
    last = cut.parts[-1]
    return cut._replace(
        parts=[*cut.parts[:-1], last[:tail]], below=last[tail:] + cut.below, loose=0
    )


_GROUP: Final = re.compile(r"[^-*•\d\s].{0,80}(?::|\(\d{1,6}[^()\n]{0,30}\))")


def _is_over(line: Line, at: Opening) -> bool:
    """True if a line is the heading of a group of items."""
    if line.kind == "heading":
        return at.kind != "headed" or len(line.mark) < int(at.detail)
    if at.kind == "headed" or line.kind not in ("text", "tag") or line.indent > at.indent:
        return False
    is_outer = at.kind == "bullet" and line.indent < at.indent
    return is_outer or (line.kind == "text" and _GROUP.fullmatch(line.words) is not None)


def _is_loose(line: Line, at: Opening) -> bool:
    """True if a line within an item is not indented more than its first, and is not a field."""
    if line.indent > at.indent or line.kind in ("blank", "rule", "code", "fence"):
        return False
    return at.kind != "headed" and (at.kind != "label" or line.key is None)


def _between(lines: Lines, rule: str, marks: tuple[str, ...]) -> Iterator[Cut]:
    """Cut a text at blank lines or rules, with and without a heading and closing words."""
    runs = (
        list(run) for is_mark, run in groupby(lines, lambda line: line.kind in marks) if not is_mark
    )
    parts = [part for part in map(_trimmed, runs) if part]
    is_short = rule == "paragraphs" and sum(len(part) < 2 for part in parts) * 2 > len(parts)
    if len(parts) < 2 or is_short:
        return
    first, last = parts[0], parts[-1]
    yield Cut(rule, parts, [], [])
    is_begun = first[0].opening == parts[1][0].opening
    if not is_begun and len(first) > 1:
        yield Cut(rule, [first[1:], *parts[1:]], first[:1], [])
    if len(first) <= MAX_ABOVE:
        yield Cut(rule, parts[1:], first, [])
    if len(parts) > 2 and len(last) < MAX_HEADING and last[0].opening != parts[1][0].opening:
        yield Cut(rule, parts[:-1], [], last)
        yield Cut(rule, parts[1:-1], first, last)


def _trimmed(part: Part) -> Part:
    """Return a part without the blank lines and rules at its ends."""
    filled = [at for at, line in enumerate(part) if line.text and line.kind != "rule"]
    return part[filled[0] : filled[-1] + 1] if filled else []


def _item(part: Part, *, is_record: bool) -> Any:
    """Return an item as an object if its lines have labels, else as a text.

    In a record, a line without a label continues the field above it.
    """
    first = part[0]
    if len(part) == 1:
        return first.words if first.kind in ("bullet", "number") else first.text.strip()
    lines = [line for line in part if line.text and line.kind != "rule"]
    head = lines[0].words if lines[0].kind in ("bullet", "number") else lines[0].text.strip()
    texts = [head, *(line.text.strip() for line in lines[1:])]
    fields: dict[str, str] = {}
    for line, text in zip(lines, texts, strict=True) if len(lines) > 1 else ():
        label = LABEL.fullmatch(line.words if line.kind == "bullet" else text)
        name = "text" if label is None else plain_key(label[1])
        if label is not None and name not in fields:
            fields[name] = (label[2] or "").strip()
        elif is_record and fields:
            fields[next(reversed(fields))] += f"\n{text}"
        elif not fields and line.kind in ("bullet", "number"):
            fields[name] = text
        else:
            return "\n".join(texts)
    return fields or head


# Above the items

_TITLE: Final = re.compile(r"={2,}[ \t]+\S.*|List of .*|.*:")
_COUNT: Final = re.compile(r"\d{1,6} [a-z]+s")
"""A heading that is only a count: `8 rules`."""
_COUNTS: Final = re.compile(rf"\b(?:{'|'.join(ordered('texts.counting'))}|results?|page)\b", re.I)


def below_titles(lines: Lines) -> int:
    """Return the index of the first line below the headings and labels at the top."""
    start = seen = 0
    for at, line in enumerate(lines):
        seen += bool(line.text)
        if not line.text:
            continue
        if seen > MAX_ABOVE or (line.text.endswith(":") and _is_numbered(line)):
            break
        is_counted = at == 0 and len(lines) > 1 and not lines[1].text and line.text[-1] == ")"
        is_title = is_counted and _GROUP.fullmatch(line.words) is not None
        is_title = is_title or line.kind == "heading" or _TITLE.fullmatch(line.text) is not None
        if is_title or _is_count(line):
            start = at + 1
        elif LABEL.fullmatch(line.text) is None:
            counts = _COUNTS.search(line.text)
            if counts is None or not any(map(str.isdecimal, line.text[counts.end() :])):
                break
    return start


def _is_count(line: Line) -> bool:
    return states_count(line.text) or _COUNT.fullmatch(line.words) is not None


def _is_numbered(line: Line) -> bool:
    """True for the first line of a record: `Memory 1:`."""
    is_number = line.opening is not None and line.opening.kind == "number"
    return is_number and not states_count(line.text)


# Names in a line

_LONGEST_LINE: Final = 20_000
_LONGEST_PART: Final = 100
_LABELLED: Final = re.compile(r"([^:]{1,100}:) +(\S.*)")
_PAIR: Final = re.compile(r"[A-Z][\w ]{0,30}: ")
_PART: Final = re.compile(r"(?:[^,()\[\]]|\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])+")
_NAME: Final = re.compile(r"`?[\w./:@#-]{1,80}`?(?: \([^()]{1,80}\))?")
_JOINTS: Final = (", ", ",", "; ", " | ")
_AND: Final = re.compile(r",? (?:and|&) (?=[^,;|]{1,80}\Z)")
_LONE: Final = re.compile(
    r"[a-z][a-z_]{2,40}|[A-Za-z_][\w-]{0,60}\.\w{1,8}"
    r"|[\w./:@#-]{1,80}(?: \([^()\n]{1,80}\)| v?\d[\w.:%-]{0,30}){1,4}"
    r"|\[[^\]\n]{0,40}\d[^\]\n]{0,20}\] \S.*"
)
"""The only line of a list: a name, perhaps with figures, or a text after a number in brackets."""
_NO_NAMES: Final = words("texts.no-name")


def _in_line(lines: Lines, top: int) -> Iterator[Cut]:
    """Cut the only line at commas or the like; a single name is one item."""
    body = [line for line in lines[top:] if line.text]
    below = [body.pop()] if len(body) == 2 and states_count(body[1].text) else []
    if len(body) != 1 or len(body[0].text) > _LONGEST_LINE:
        return
    text, above = body[0].words, list(lines[:top])
    if not above and text.partition(" ")[0].lower() not in _NO_NAMES and _LONE.fullmatch(text):
        yield Cut("lone-name", [body], [], [])
        return
    labelled = None if above else _LABELLED.fullmatch(text)
    if labelled is not None:
        above, text = [_line(labelled[1])], labelled[2]
    names = _names(text, is_headed=bool(above))
    if labelled is not None and names[1:] and all(map(_PAIR.match, names[1:])):
        return  # fields of one record
    if len(names) > 1:
        yield Cut("commas", [[_line(name)] for name in names], above, below)


def _names(text: str, *, is_headed: bool) -> list[str]:
    """Return the names in a line; under a heading they may have several words."""
    joint = next((each for each in _JOINTS if each in text), None)
    if joint is None or (is_headed and "," not in joint):
        return []
    listed = _AND.sub(joint, text if is_headed else text.removesuffix("."))
    if is_headed:
        parts = [part.strip() for part in _PART.findall(listed)]
        return parts if all(0 < len(part) <= _LONGEST_PART for part in parts) else []
    parts = listed.split(joint)
    return parts if all(map(_NAME.fullmatch, parts)) and any(map(str.isalpha, text)) else []


def _line(text: str) -> Line:
    return Line(text, 0, "text", "", text)
