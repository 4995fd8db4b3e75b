"""Finds the line of a key in TOML text, for messages: tomllib keeps none."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_HEADER: Final = re.compile(r"\s*\[{1,2}(?P<key>[^\[\]#]+)\]")
_KEY: Final = re.compile(r"""\s*(?P<key>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w"'-]+)*)\s*=""")
_QUOTES: Final = ('"""', "'''")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the line of a key, or of the innermost table around it that has one."""
    best, depth, inside = None, 0, None
    for line, found in _keys(text):
        common = _common(found, path)
        if common > depth and common == len(found):
            best, depth = line, common
        elif common and inside is None:
            inside = line
    return best or inside


def _keys(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each line that has a header or a key, with the full path of that."""
    table: tuple[str, ...] = ()
    closing: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if closing is not None:
            closing = None if closing in line else closing
            continue
        header = _HEADER.match(line)
        key = _KEY.match(line)
        if header is not None:
            table = _parts(header["key"])
            yield number, table
        elif key is not None:
            yield number, (*table, *_parts(key["key"]))
            closing = _opened(line[key.end() :])


def _opened(value: str) -> str | None:
    """Return the quotes of a text that goes on in the next line."""
    start = value.strip()[:3]
    return start if start in _QUOTES and value.count(start) == 1 else None


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts of two paths are the same, from the start."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))
