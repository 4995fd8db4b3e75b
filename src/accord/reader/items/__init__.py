"""Text that is clearly a list: bullets, numbers, tagged lines, paths, records, table rows.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item. Where the heading says how many there are, the pattern that finds as many is
believed.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from accord.reader.items.delimited import columns, data_frame, delimited
from accord.reader.items.found import MOST_STATING, Items, is_advice, split_advice, stated_in
from accord.reader.items.marked import (
    alike,
    bullets,
    commits,
    paths,
    plain_bullets,
    starred,
    tagged,
    tree,
)
from accord.reader.items.markup import elements
from accord.reader.items.parts import (
    grouped,
    headed,
    is_symbols,
    lone_section,
    paragraphs,
    sections,
    separated,
    shape_of,
    titled,
)
from accord.reader.items.plain import commas, is_record, lone_name, one_per_line
from accord.reader.items.records import as_many, counted, paired, records, sequence
from accord.reader.items.tables import dashed_columns, ruled_table
from accord.reader.patterns import lines_of

__all__ = ["Items", "find_items", "is_record", "is_symbols", "split_advice", "states_count"]

_LONGEST: Final = 1_000_000  # characters of a text that is looked at
_MOST_PARTS: Final = 4
"""Text blocks that one answer may have: a heading, a table, a note."""
_MOST_BELOW: Final = 3
"""Lines at the end that may say how many items there are."""
_TAG: Final = re.compile(r"\[\w{1,30}\]")
"""Of what the whole text is: `[sqlite]`."""
Lines = Literal["one", "several", "never"]


Find = Callable[[list[str], bool], Items | None]


class Pattern(NamedTuple):
    """A pattern, and what a text must have for it to be tried at all."""

    find: Find
    marks: tuple[str, ...] = ()
    """One of these is in the text, where there are any."""
    from_list: Lines = "one"
    """How many lines it is at least, from a tool that lists."""
    from_others: Lines = "one"
    """How many from another one."""


PATTERNS: Final = (
    Pattern(tagged, ("[",)),
    Pattern(commits, (), "several", "several"),
    Pattern(starred, ("* ",), "several", "several"),
    Pattern(tree, ("├─", "└─"), "several", "never"),
    Pattern(ruled_table, ("|", "│", "┃", "║"), "several", "several"),
    Pattern(dashed_columns, ("--", "=="), "several", "several"),
    Pattern(elements, ("</", "/>")),
    Pattern(paired, (": ",), "one", "several"),
    Pattern(delimited, (",", "\t", ";", "|")),
    Pattern(separated, (), "several", "several"),
    Pattern(records, (), "several", "several"),
    Pattern(titled, ("\n\n",), "several", "several"),
    Pattern(headed, ("#", ":\n"), "several", "never"),
    Pattern(grouped, (), "several", "never"),
    Pattern(bullets, (), "one", "several"),
    Pattern(paths, ("/", "\\"), "one", "several"),
    Pattern(counted),
    Pattern(columns, ("  ",), "several", "several"),
    Pattern(data_frame, ("  ",), "several", "several"),
    Pattern(paragraphs, ("\n\n",), "several", "never"),
    Pattern(alike, (), "one", "never"),
    Pattern(sequence, (), "one", "never"),
    Pattern(sections, ("\n#",), "several", "never"),
    Pattern(lone_section, ("**",), "several", "never"),
    Pattern(one_per_line, (), "several", "never"),
    Pattern(commas, (",",), "one", "never"),
    Pattern(lone_name, (), "one", "never"),
)


def _tried(wants_list: bool, has_several: bool) -> tuple[tuple[Find, tuple[str, ...]], ...]:
    """The patterns that a text of one line or of several can be, in their order."""
    fitting = ("one", "several") if has_several else ("one",)
    return tuple(
        (pattern.find, pattern.marks)
        for pattern in PATTERNS
        if (pattern.from_list if wants_list else pattern.from_others) in fitting
    )


_TRIED: Final = {
    (wants_list, has_several): _tried(wants_list, has_several)
    for wants_list in (False, True)
    for has_several in (False, True)
}


def states_count(items: Items) -> bool:
    """Whether the words around some items say how many they are."""
    return len(items.items) in items.numbers


def find_items(text: str, *, wants_list: bool = False, blocks: Sequence[str] = ()) -> Items | None:
    """The items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    if not wants_list and "\n" not in text and text.lstrip()[0] not in "[<":
        return None
    if wants_list and len(blocks) > 1:
        found = _block_each(blocks)
        if found is not None:
            return found
        text = "\n\n".join(block for block in blocks if not is_advice(block))
    whole = lines_of(text.strip("\n"))
    if whole is None:
        return None
    lines = [line.rstrip() for line in whole]
    if wants_list and "```" in text:
        lines = _unfenced(lines)
    found = plain_bullets(lines)
    if found is not None:
        return found
    if text[0] == "[" and len(lines) > 2 and _TAG.fullmatch(lines[0]) and ":" in lines[1]:
        lines[1:1] = [""]
    lines, advice = split_advice(lines)
    found = _first(text, lines, wants_list)
    if found is None or not advice:
        return found
    closing = "\n".join(line for line in (found.closing, *advice) if line.strip())
    return found._replace(closing=closing)


def _unfenced(lines: list[str]) -> list[str]:
    """The lines without the marks of the one code block around all of them but a heading."""
    marks = [at for at, line in enumerate(lines) if line.startswith("```")]
    if len(marks) != 2 or marks[0] > 2 or marks[1] < len(lines) - 2:
        return lines
    return [line for at, line in enumerate(lines) if at not in marks]


def _first(text: str, lines: list[str], wants_list: bool) -> Items | None:
    """What the first pattern finds; if it is not as many as are said, what another one finds."""
    first: Items | None = None
    agreed: Items | None = None
    stated = stated_in("\n".join((*lines[:MOST_STATING], *lines[-_MOST_BELOW:])))
    for find, marks in _TRIED[wants_list, len(lines) > 1]:
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
    counted = as_many(lines, stated) if wants_list and stated else None
    return counted or agreed or first


def _block_each(blocks: Sequence[str]) -> Items | None:
    """One text block for each item, perhaps below one that is their heading, and above advice."""
    head, *rest = (block.strip() for block in blocks)
    stated = stated_in(head) if "\n" not in head else set()
    number = max((each for each in stated if 0 < each <= len(rest)), default=0)
    if number:
        return Items(rest[:number], head, "\n".join(rest[number:]), "block-per-item")
    told = [block for block in (head, *rest) if not is_advice(block)]
    closing = "\n".join(block for block in rest if is_advice(block))
    if head.endswith(":") and len(told) > 2:
        return Items(told[1:], head, closing, "block-per-item")
    if len(told) > 1 and not _are_groups(told) and (_are_lines(told) or _are_alike(told)):
        return Items(told, "", closing, "block-per-item")
    return None


def _are_groups(blocks: list[str]) -> bool:
    """Whether each of them is a heading with lines below it that are indented."""
    parts = [block.splitlines() for block in blocks]
    return all(
        len(lines) > 1 and lines[0].endswith(":") and all(line[:1].isspace() for line in lines[1:])
        for lines in parts
    )


def _are_lines(blocks: list[str]) -> bool:
    return not any("\n" in block for block in blocks)


def _are_alike(blocks: list[str]) -> bool:
    """Whether all of them have several lines, and begin alike; or there are too many for parts."""
    if sum("\n" in block for block in blocks) < len(blocks):
        return len(blocks) > _MOST_PARTS
    return len({shape_of(block.splitlines()) for block in blocks}) == 1
