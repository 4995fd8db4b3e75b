"""Text that is clearly a list: bullets, numbers, tagged lines, paths, records, table rows.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from accord.reader.items.found import Items
from accord.reader.items.marked import alike, bullets, paths, starred, tagged
from accord.reader.items.records import counted, records, sequence
from accord.reader.items.tables import columns, comma_separated, elements, markdown_table

__all__ = ["Items", "find_items"]

_LONGEST: Final = 1_000_000  # characters of a text that is looked at
_NEVER: Final = _LONGEST


class Pattern(NamedTuple):
    """A pattern, and what a text must have for it to be tried at all."""

    find: Callable[[list[str], bool], Items | None]
    marks: tuple[str, ...] = ()
    """One of these is in the text, where there are any."""
    least_of_list: int = 1
    """The least number of lines, from a tool that lists."""
    least: int = 1
    """The least number of lines, from another one."""


PATTERNS: Final = (
    Pattern(tagged, ("[",)),
    Pattern(starred, ("* ",), 2, 2),
    Pattern(markdown_table, ("|",), 2, 2),
    Pattern(records, (), 2, 2),
    Pattern(bullets, (), 1, 2),
    Pattern(paths, ("/", "\\"), 1, 2),
    Pattern(counted),
    Pattern(elements, ("</",)),
    Pattern(columns),
    Pattern(comma_separated),
    Pattern(alike, (), 2, _NEVER),
    Pattern(sequence, (), 1, _NEVER),
)


def find_items(text: str, *, wants_list: bool = False) -> Items | None:
    """The items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    count = len(lines)
    for find, marks, least_of_list, least in PATTERNS:
        if count < (least_of_list if wants_list else least):
            continue
        if marks and not any(mark in text for mark in marks):
            continue
        found = find(lines, wants_list)
        if found is not None:
            return found
    return None
