"""What the items of a text are, and what may stand around them."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

MOST_HEADING: Final = 3
_MOST_CLOSING: Final = 2
_LONGEST_HEADING: Final = 300
LABEL: Final = re.compile(
    r"(?P<key>[*_]{0,2}[A-Za-z][\w ./()-]{0,40}?[*_]{0,2}):(?:[*_]{2})?(?:[ \t]+(?P<value>.*)|$)"
)
COUNT: Final = re.compile(r"\b(\d{1,9})\b")


class Items(NamedTuple):
    """The items of a text, what stands above and below them, and the pattern that found them."""

    items: list[Any]
    heading: str
    closing: str
    rule: str


def split_heading(lines: list[str], is_item: Callable[[str], object]) -> int | None:
    """Where the items begin, if no more than a heading stands above them."""
    seen = 0
    for index, line in enumerate(lines):
        if is_item(line):
            return index
        seen += bool(line.strip())
        if seen > MOST_HEADING or len(line) > _LONGEST_HEADING:
            return None
    return None


def around(lines: list[str], start: int, end: int) -> tuple[str, str | None]:
    """The heading, and the closing lines; None if there are too many of them."""
    heading = "\n".join(line for line in lines[:start] if line.strip())
    closing = [line.strip() for line in lines[end:] if line.strip()]
    return heading, "\n".join(closing) if len(closing) <= _MOST_CLOSING else None


def key_of(label: str) -> str:
    return label.strip("*_ ")
