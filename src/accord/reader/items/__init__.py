"""Text that is clearly a list: bullets, numbers, tagged lines, paths, records, table rows.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from accord.reader.items.found import Items
from accord.reader.items.marked import alike, bullets, paths, starred, tagged
from accord.reader.items.records import counted, records, sequence
from accord.reader.items.tables import columns, comma_separated, elements, markdown_table

__all__ = ["Items", "find_items"]

_LONGEST: Final = 1_000_000  # characters of a text that is looked at
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
    Pattern(starred, ("* ",), "several", "several"),
    Pattern(markdown_table, ("|",), "several", "several"),
    Pattern(records, (), "several", "several"),
    Pattern(bullets, (), "one", "several"),
    Pattern(paths, ("/", "\\"), "one", "several"),
    Pattern(counted),
    Pattern(elements, ("</",)),
    Pattern(columns),
    Pattern(comma_separated),
    Pattern(alike, (), "several", "never"),
    Pattern(sequence, (), "one", "never"),
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


def find_items(text: str, *, wants_list: bool = False) -> Items | None:
    """The items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    for find, marks in _TRIED[wants_list, len(lines) > 1]:
        if marks and not any(mark in text for mark in marks):
            continue
        found = find(lines, wants_list)
        if found is not None:
            return found
    return None
