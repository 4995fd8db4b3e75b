"""Text that is clearly a list: bullets, numbers, tagged lines, paths, records, table rows.

A document with a list somewhere in it is not: everything but a heading and a closing line has to
belong to an item.
"""

from typing import Final

from accord.reader.items.found import Items
from accord.reader.items.marked import alike, bullets, paths, starred, tagged
from accord.reader.items.records import counted, records, sequence
from accord.reader.items.tables import columns, comma_separated, elements, markdown_table

__all__ = ["Items", "find_items"]

_LONGEST: Final = 1_000_000  # characters of a text that is looked at


def find_items(text: str, *, wants_list: bool = False) -> Items | None:
    """The items of a text that is clearly a list. A tool that lists has less to prove."""
    if len(text) > _LONGEST or not text.strip():
        return None
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    for least, pattern in _PATTERNS:
        if len(lines) >= least:
            found = pattern(lines, wants_list)
            if found is not None:
                return found
    return None


# In their order, each with the least number of lines that it can be.
_PATTERNS: Final = (
    (1, tagged),
    (2, starred),
    (2, markdown_table),
    (2, records),
    (1, bullets),
    (1, paths),
    (1, counted),
    (1, elements),
    (1, columns),
    (1, comma_separated),
    (2, alike),
    (1, sequence),
)
