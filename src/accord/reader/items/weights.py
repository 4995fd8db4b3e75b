"""Evidence for and against each cut of a text into items; the best cut is taken."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Final

from accord.reader.items.groups import Cut, Part, cuts, labels
from accord.reader.items.lines import (
    LABEL,
    MAX_HEADING,
    Items,
    Line,
    Lines,
    Opening,
    heading_of,
    states_count,
)
from accord.reader.lexicon import ordered, words

Stated = Mapping[str, set[int]]
"""Lines that state the number of items, with these numbers."""
Evidence = Iterator[tuple[str, float]]

BASE: Final = {
    "bullets": (4.0, 3.0),
    "grouped": (4.0, -3.0),
    "tagged-lines": (4.0, 2.0),
    "paths": (4.0, 2.0),
    "commits": (5.0, 3.0),
    "marked-lines": (5.0, 5.0),
    "tree": (5.0, -2.0),
    "records": (3.0, 1.0),
    "block-per-item": (3.0, -2.0),
    "separated": (3.0, -1.0),
    "alike-lines": (3.0, -2.0),
    "paragraphs": (2.75, 0.0),
    "plain-lines": (2.5, -2.0),
    "headed": (1.5, -3.0),
    "commas": (4.0, -3.0),
    "lone-name": (5.0, -3.0),
}
"""Points of a rule in a text from a tool that lists, and from another tool."""
WEIGHTS: Final = {
    # for it
    "counted": 6.0,  # as many items as words around them say
    "fields": 3.0,  # the second lines have equal labels
    "even": 1.5,  # the second lines are alike
    "numbered": 3.0,  # numbered from zero or one
    "headed": 1.5,  # the only item is below a heading,
    "named": 2.5,  # or begins with a label for items or of the heading
    # against it
    "uneven": -6.0,  # parts that do not begin alike
    "short": -3.0,  # parts of one line, where others have more
    "facts": -4.0,  # lines with different labels: fields of one record
    "loose": -4.0,  # lines within items that are not indented
    "above": -1.0,  # more lines above than a heading has
    "below": -1.0,  # more lines below than closing words have
    "between": -0.5,  # more lines between groups than their headings have
    "section": -3.0,  # another heading below
    "chapter": -1.5,  # a heading above, and more text below
    "sentences": -1.0,  # sentences above
    "attached": -2.0,  # a line directly above or below that could be an item too
    "prose": -4.0,  # sentences
    "code": -4.0,  # a program
    "single": -2.0,  # only one item
    "steps": -2.5,  # parts of one thing, by the heading
}
LEAST: Final = (1.0, 2.0)
"""The fewest points of a list, from a tool that lists and from another tool."""
_SINGLE: Final = {
    "marked-lines": 0.0,
    "lone-name": 0.0,
    "bullets": 0.5,
    "records": 1.5,
    "tagged-lines": 1.5,
    "paths": 1.5,
    "plain-lines": 1.5,
}
"""Factor of the weight `single`, by rule; 2 for other rules."""
_BY_PLACE: Final = frozenset({"separated", "paragraphs", "headed"})
"""Rules for which the openings of the items do not matter."""


def _possible(wants_list: bool, is_counted: bool) -> frozenset[str]:
    """Return the rules that can get enough points."""
    most = LEAST[not wants_list] - WEIGHTS["fields"] - is_counted * WEIGHTS["counted"]
    return frozenset(rule for rule, base in BASE.items() if base[not wants_list] >= most)


_POSSIBLE: Final = {key: _possible(*key) for key in product((True, False), repeat=2)}


def best_cut(
    lines: Lines, stated: Stated, blocks: Sequence[Cut] = (), *, wants_list: bool
) -> Items | None:
    """Return the items of the best cut; a text from a tool that lists needs fewer points."""
    best, most = None, LEAST[not wants_list]
    rules = _POSSIBLE[wants_list, any(stated.values())]
    for cut in chain(blocks, cuts(lines, rules)):
        worth = BASE[cut.rule][not wants_list]
        for name, much in _evidence(cut, stated):
            worth += WEIGHTS[name] * much
            if worth < most and WEIGHTS[name] < 0:
                break  # evidence for it comes first
        else:
            if worth > most or (worth == most and best is None):
                best, most = cut, worth
    return None if best is None else best.items()


def _evidence(cut: Cut, stated: Stated) -> Evidence:
    """Yield the evidence for a cut, then that against it."""
    yield from _of_number(cut, stated)
    inner = [[line for line in part[1:] if line.text and line.kind != "rule"] for part in cut.parts]
    yield from _likeness(cut, inner)
    yield from _surroundings(cut)
    yield from _firsts(cut, inner)
    yield from _contents(cut, inner)


_FIRST_LABELS: Final = words("texts.first-labels")


def _of_number(cut: Cut, stated: Stated) -> Evidence:
    """Yield evidence from the number of items: the stated count, or a single item."""
    count = len(cut.parts)
    around = (*cut.above, *cut.between, *cut.below) if len(stated) > 1 else ()
    if count in stated[""] or any(count in stated.get(line.text, ()) for line in around):
        yield "counted", 1 if count > 1 else 0.5
    if count == 1:
        first, heading = cut.parts[0][0], heading_of(cut.above)
        is_headed = any(map(_is_title, [line for line in cut.above if line.text][-1:]))
        is_numbered = first.opening is not None and first.opening.kind == "number"
        yield "headed", is_headed
        yield "fields", is_headed and is_numbered and len(labels(cut.parts[0][1:3])) == 2
        if cut.rule == "records":
            key = str(first.key).lower()
            yield "named", 1 if heading.lower().startswith(key) else 0.8 * (key in _FIRST_LABELS)
        is_pair = first.opening is not None and first.opening.kind == "pair"
        yield "single", _SINGLE.get(cut.rule, 1.0 if is_pair else 2.0)


_LEADING: Final = re.compile(r"\W{0,6}(?:[A-Za-z]{1,20} )?[#\[]{0,2}(\d{1,5})\b")


def _likeness(cut: Cut, inner: list[Part]) -> Evidence:
    """Yield evidence from the likeness of the lines after the first of each item."""
    count, firsts = len(cut.parts), [part[0] for part in cut.parts]
    fields = [labels(each)[:1] for each in inner]
    has_fields = count > 1 and bool(fields[0]) and all(each == fields[0] for each in fields)
    if has_fields:
        yield "fields", 1
    elif count > 1 and all(inner):
        seconds = {each[0].opening for each in inner}
        second = seconds.pop() or Opening("text") if len(seconds) == 1 else None
        if second is not None:
            is_even = len(set(map(len, inner))) == 1 or second.kind not in ("text", "bullet")
            yield "even", is_even
    if count > 1 and (cut.rule in _BY_PLACE or cut.rule == "alike-lines"):
        found = [_LEADING.match(line.words) for line in firsts]
        numbers = [int(each[1]) for each in found if each]
        is_begun = len(numbers) == count and numbers[0] < 2
        yield "numbered", is_begun and numbers == list(range(numbers[0], numbers[0] + count))
    if not has_fields and cut.loose:
        yield "loose", cut.loose / (count + sum(map(len, inner)))
    if any(inner) and cut.rule in ("separated", "paragraphs", "block-per-item"):
        yield "uneven", 1 - max(Counter(line.opening for line in firsts).values()) / count
        yield "short", sum(len(part) < 2 for part in cut.parts) / count


_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")


def _firsts(cut: Cut, inner: list[Part]) -> Evidence:
    """Yield evidence if the first lines of items are fields."""
    count, firsts = len(cut.parts), [part[0] for part in cut.parts]
    keys = labels(firsts)
    if cut.rule == "plain-lines":
        are_items = heading_of(cut.above).endswith(":") or len(keys) < count
        yield "facts", not are_items and not _are_names([line.text for line in firsts])
    elif cut.rule == "grouped":
        headings = sum(line.kind == "heading" for line in cut.between)
        yield "facts", headings > 1 and 2 * len(keys) > count and not inner[0]


def _are_names(items: list[str]) -> bool:
    """True if the labels of lines are names of items rather than fields of one record."""
    found = [item.partition(":")[0] for item in items]
    is_one_kind = len({each.split(" ")[0] for each in found}) == 1 < len(set(found))
    return is_one_kind or all(map(str.isupper, found)) or all(map(_NAMED.match, items))


_PROSE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_SENTENCE: Final = re.compile(r".*[a-z]{3}[.!?](?: [A-Z].*)?")
_PROSE_SHARE: Final = 20
"""One line in this many may be a sentence."""
_LONG: Final = 60
"""Characters of a line that is probably a part of a sentence."""
_OF_CODE: Final = "|".join(ordered("texts.of-code"))
_CODE: Final = re.compile(rf".*[;{{}}]|(?:{_OF_CODE})\b.*|</?\w.*>")
_CODE_SHARE: Final = 3
"""One line in this many of a program looks like code."""


def _contents(cut: Cut, inner: list[Part]) -> Evidence:
    """Yield evidence if the items are prose or code: parts of a document."""
    count, firsts = len(cut.parts), [part[0] for part in cut.parts]
    if cut.rule == "plain-lines":
        marked = [line.kind in ("bullet", "number", "heading") for line in firsts]
        is_mixed = not all(marked)
        long = sum(
            (is_mixed and is_marked) or _is_prose(line)
            for line, is_marked in zip(firsts, marked, strict=True)
        )
        yield "prose", min(1, max(0, _PROSE_SHARE * long / count - 1))
    elif cut.rule not in _BY_PLACE:
        return
    lines = [line for part in cut.parts for line in part if line.text]
    if cut.rule in _BY_PLACE:
        long = sum(len(line.text) >= _LONG for line in lines if line.kind == "text")
        yield "prose", long / len(lines)
    coded = [any(line.kind in ("code", "fence") for line in part) for part in cut.parts]
    only = count > 1 and all(all(line.kind in ("code", "fence") for line in each) for each in inner)
    has_code = any(coded) and (cut.rule == "plain-lines" or not only)
    yield (
        "code",
        has_code or (not heading_of(cut.above) and _is_code([line.text for line in lines])),
    )


def _is_prose(line: Line) -> bool:
    """True for a sentence, or for a heading."""
    return line.text.rstrip(" *_").endswith(":") or _PROSE.fullmatch(line.text) is not None


def _is_code(lines: list[str]) -> bool:
    """True if lines look like a program."""
    code = sum(_CODE.fullmatch(line.strip()) is not None for line in lines)
    is_much = code > 1 and code * _CODE_SHARE > len(lines)
    return is_much and any(line[-1:] in ";{}" for line in lines)


_NONE: Final = re.compile(r"\s*\((?:none|empty)\)", re.I)
"""The line below the heading of an empty group."""
_STEPS: Final = words("texts.parts")


def _surroundings(cut: Cut) -> Evidence:
    """Yield evidence against a cut from the text around the items."""
    above = [line for line in cut.above if line.text]
    below = [line for line in cut.below if line.text and not _NONE.fullmatch(line.text)]
    yield "above", max(0, len(above) - MAX_HEADING)
    yield "below", max(0, len(below) - 2)
    filled = sum(bool(line.text) for line in cut.between)
    yield "between", max(0, filled - 2 * cut.groups)
    first, last = cut.parts[0][0], cut.parts[-1][-1]
    if below:
        yield "section", len(below) > 1 and _is_title(below[0])
        is_chapter = bool(above) and above[0].kind == "heading" and below[0].kind == "text"
        yield "chapter", is_chapter and not states_count(below[0].text)
        is_listed = cut.rule in ("paths", "alike-lines", "tagged-lines")
        yield "attached", is_listed and bool(last.text) and below[0].indent == first.indent
    if above:
        yield "sentences", sum(_SENTENCE.fullmatch(line.text) is not None for line in above)
        yield "steps", above[-1].text.strip("#*_: ").lower() in _STEPS
        yield "attached", _is_attached(cut, above[-1], first)


def _is_title(line: Line) -> bool:
    return line.kind == "heading" or line.text.rstrip(" *").endswith(":")


def _is_attached(cut: Cut, line: Line, first: Line) -> bool:
    """True if the line above the items may be an item too, or begin a larger one."""
    if _is_title(line) or states_count(line.text):
        return False
    if line.kind in ("bullet", "number") or cut.rule == "plain-lines":
        return line.kind in ("bullet", "number") or line.indent < first.indent
    is_marked = cut.rule in ("bullets", "grouped") or cut.rule in _BY_PLACE
    return not is_marked and bool(cut.above[-1].text) and line.indent == first.indent


_FIGURES: Final = words("texts.figures")


def is_record(items: list[str]) -> bool:
    """True if lines are labelled figures about one thing: `Total jobs: 12`."""
    found = [item.partition(": ")[0] for item in items if LABEL.fullmatch(item)]
    is_labelled = len(set(found)) == len(found) == len(items) > 1
    return is_labelled and len({label.lower().split()[0] for label in found} & _FIGURES) > 1
