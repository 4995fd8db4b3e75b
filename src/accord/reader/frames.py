"""Lines that only say where a text begins and where it ends, and whose it is."""

import re
from typing import Final

FRAME: Final = ("<<<", "---", "===", "***", "[BEGIN", "[START")
_BEGIN: Final = re.compile(r"[-=*<\[ ]{1,12}(?:BEGIN|START)(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")
_END: Final = re.compile(r"[-=*<\[ /]{1,12}END(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")
_GUARD: Final = r"<(?P<guard>[a-z][\w-]{2,40}-[0-9a-f][0-9a-f-]{7,40})>\n"
_OPENS_GUARD: Final = re.compile(_GUARD)
_GUARDED: Final = re.compile(rf"{_GUARD}(?P<text>.*)\n</(?P=guard)>", re.S)
"""What somebody else wrote, within marks that he cannot have written: `<untrusted-data-3f9e…>`."""


def is_guarded(text: str) -> bool:
    """Whether such a mark is anywhere in a text."""
    return "-" in text and "</" in text and _OPENS_GUARD.search(text) is not None


def unguarded(text: str) -> str | None:
    """What is between such marks, if they are around all of a text."""
    found = _GUARDED.fullmatch(text.strip())
    return None if found is None else found["text"]


def unframed(text: str) -> str:
    """A text without the line that says that it begins, and that which says that it ends."""
    first, _, rest = text.strip().partition("\n")
    inside, _, last = rest.rpartition("\n")
    return inside.strip("\n") if _BEGIN.fullmatch(first) and _END.fullmatch(last) else text
