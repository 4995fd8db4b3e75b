"""Text that is clearly a list: `lines` are tokens, `groups` and `tables` make items of them.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item. Where the heading says how many there are, the kind of group that finds as many
is believed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from accord.reader.items import groups, tables
from accord.reader.items.groups import is_record, opening
from accord.reader.items.lines import (
    COUNT_LINES,
    Items,
    Line,
    counts_in,
    is_advice,
    is_rule,
    split_advice,
    tokens,
)
from accord.reader.lexicon import squeezed, words
from accord.reader.lexicon.phrases import lines_of

__all__ = [
    "Items",
    "counts_asked",
    "find_items",
    "is_record",
    "is_rule",
    "split_advice",
    "states_count",
]

_LONGEST: Final = 1_000_000
"""Characters of a text that is looked at."""
_COUNT_LINES_BELOW: Final = 3
"""Lines at the end that may say how many items there are."""
_MAX_PARTS: Final = 4
"""Text blocks that one answer may have: a heading, a table, a note."""

_QUANTITY: Final = words("members.quantity")
_TEXT_FENCES: Final = words("texts.fences") | {""}
_BULLETS: Final = ("- ", "* ", "• ")

Find = Callable[[Sequence[Line], bool], Items | None]
_NEVER: Final = 1_000_000_000


class Kind(NamedTuple):
    """A kind of group, and what a text must have for it to be tried."""

    find: Find
    marks: tuple[str, ...] = ()
    """One of these is in the text, where there are any."""
    listing: int = 1
    """The fewest lines of a text from a tool that lists."""
    other: int = 1
    """The fewest lines of a text from another tool."""


KINDS: Final = (
    Kind(tables.ruled, ("|", "│", "┃", "║"), 2, 2),
    Kind(tables.dashed, ("--", "=="), 2, 2),
    Kind(tables.elements, ("</", "/>")),
    Kind(tables.paired, (": ",), 1, 2),
    Kind(tables.delimited, (",", "\t", ";", "|")),
    Kind(tables.columns, (" ",), 2, 2),
    Kind(groups.messages, (": ",), 1, 2),
    Kind(groups.uniform),
    Kind(groups.separated, (), 2, 2),
    Kind(groups.records, (), 2, 2),
    Kind(groups.paragraphs, (), 2, 2),
    Kind(groups.headed, ("#", ":\n", "**", "--", "=="), 2, _NEVER),
    Kind(groups.grouped, (), 2, _NEVER),
    Kind(groups.bullets, (), 1, 2),
    Kind(groups.counted),
    Kind(groups.alike, (), 1, _NEVER),
    Kind(groups.sections, ("#",), 2, _NEVER),
    Kind(groups.plain, (), 2, _NEVER),
    Kind(groups.commas, (), 1, _NEVER),
)


def states_count(items: Items) -> bool:
    """True if the words around some items say how many they are."""
    return len(items.items) in items.numbers


def find_items(text: str, *, wants_list: bool = False, blocks: Sequence[str] = ()) -> Items | None:
    """Return the items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    if not wants_list and "\n" not in text and text.lstrip()[0] not in "[<*":
        return None
    if wants_list and len(blocks) > 1:
        found = _block_each(blocks)
        if found is not None:
            return found
        text = "\n\n".join(block for block in blocks if not is_advice(block))
    whole = lines_of(text.strip("\n"))
    if whole is None:
        return None
    found = _plain_bullets(whole)
    if found is not None:
        return found
    lines = _unfenced(whole) if wants_list and "```" in text else whole
    lines, advice = split_advice([line.rstrip() for line in lines])
    found = _grouped(text, tokens(lines), wants_list) if any(lines) else None
    if found is None or not advice:
        return found
    closing = "\n".join(line for line in (found.closing, *advice) if line.strip())
    return found._replace(closing=closing)


def counts_asked(arguments: Mapping[str, Any]) -> set[int]:
    """Return how many things the arguments of a call ask for, if several."""
    return {
        each
        for name, each in arguments.items()
        if type(each) is int and each > 1 and squeezed(name) in _QUANTITY
    }


def _plain_bullets(lines: list[str]) -> Items | None:
    """Return the items of a heading and bullets with nothing to them, as most short lists are."""
    mark = lines[1][:2] if len(lines) > 2 else ""
    if mark not in _BULLETS or lines[0][-1:] != ":":
        return None
    items = []
    for line in lines[1:]:
        if line[:2] != mark or not line[2:3].strip() or ":" in line or "```" in line:
            return None
        items.append(line[2:].rstrip())
    return Items(items, lines[0], "", "bullets")


def _unfenced(lines: list[str]) -> list[str]:
    """Return lines without the marks of the one block of text around all but a heading."""
    marks = [at for at, line in enumerate(lines) if line.startswith("```")]
    if len(marks) != 2 or marks[0] > 2 or marks[1] < len(lines) - 2:
        return lines
    if lines[marks[0]].strip("` ").lower() not in _TEXT_FENCES:
        return lines
    return [line for at, line in enumerate(lines) if at not in marks]


def _grouped(text: str, lines: list[Line], wants_list: bool) -> Items | None:
    """Return the first group that is found; if a count is said, the first of that number."""
    around = (*lines[:COUNT_LINES], *lines[-_COUNT_LINES_BELOW:])
    stated = counts_in("\n".join(line.text for line in around))
    first: Items | None = None
    agreed: Items | None = None
    for find, marks, listing, other in KINDS:
        if len(lines) < (listing if wants_list else other):
            continue
        if marks and not any(mark in text for mark in marks):
            continue
        found = find(lines, wants_list)
        if found is None:
            continue
        numbers = found.numbers
        if not (numbers or stated) and first is None:
            return found
        if len(found.items) in (stated or found.stated):
            return found
        if agreed is None and len(found.items) in numbers and len(found.items) > 1:
            agreed = found
        first = first or found
    counted = groups.as_many(lines, stated) if wants_list and stated else None
    return counted or agreed or first


def _block_each(blocks: Sequence[str]) -> Items | None:
    """Return a text block for each item, perhaps below their heading, and above advice."""
    head, *rest = (block.strip() for block in blocks)
    stated = counts_in(head) if "\n" not in head else set()
    number = max((each for each in stated if 0 < each <= len(rest)), default=0)
    if number:
        return Items(rest[:number], head, "\n".join(rest[number:]), "block-per-item")
    told = [block for block in (head, *rest) if not is_advice(block)]
    closing = "\n".join(block for block in rest if is_advice(block))
    if head.endswith(":") and len(told) > 2:
        return Items(told[1:], head, closing, "block-per-item")
    parts = [tokens(block.splitlines()) for block in told]
    if len(told) > 1 and not all(map(_is_group, parts)) and _are_items(parts):
        return Items(told, "", closing, "block-per-item")
    return None


def _is_group(lines: Sequence[Line]) -> bool:
    """True if a block is a heading with lines below it that are indented."""
    is_headed = len(lines) > 1 and lines[0].text.endswith(":")
    return is_headed and all(line.indent for line in lines[1:])


def _are_items(parts: Sequence[Sequence[Line]]) -> bool:
    """True if blocks are a line each, or begin alike, or are too many for parts of one answer."""
    longer = sum(len(part) > 1 for part in parts)
    if 0 < longer < len(parts):
        return len(parts) > _MAX_PARTS
    return not longer or len({opening(part[0]) for part in parts}) == 1
