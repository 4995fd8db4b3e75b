"""Token-Oriented Object Notation: JSON as indented lines, arrays with their length and columns."""

import re
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.patterns import lines_of

_ARRAY: Final = re.compile(r"^[ \t]*(?:- )?[\w.\"-]*\[#?\d{1,9}[\t|,]?\](?:\{[^}\n]*\})?:", re.M)
"""An array with its length: what no other notation has."""
_HEADER: Final = re.compile(
    r'(?P<key>[\w.-]*|"(?:[^"\\]|\\.)*")\[#?(?P<length>\d{1,9})(?P<mark>[\t|,]?)\]'
    r"(?:\{(?P<names>[^}]*)\})?:(?:[ ](?P<inline>.*))?"
)
_MEMBER: Final = re.compile(r'(?P<key>[\w.-]+|"(?:[^"\\]|\\.)*"):(?:[ ](?P<value>.*))?')
_CELL: Final = {
    ",": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,|$)'),
    "\t": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\t]*)\s*(?:\t|$)'),
    "|": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^|]*)\s*(?:\||$)'),
}
"""A cell, by the mark behind it."""
_DEEPEST: Final = 60


class _OddError(ValueError):
    """The text is in another notation."""


class Line(NamedTuple):
    depth: int
    words: str


def toon_value(text: str) -> tuple[bool, Any]:
    """Whether a text is in this notation, and the value that it stands for."""
    if ("]:" not in text and "}:" not in text) or _ARRAY.search(text) is None:
        return False, None
    whole = lines_of(text)
    if whole is None:
        return False, None
    lines = [
        Line(len(line) - len(line.lstrip(" ")), line.strip(" ")) for line in whole if line.strip()
    ]
    try:
        reader = _Reader(lines)
        value = reader.root()
    except _OddError:
        return False, None
    return reader.at == len(lines), value


class _Reader:
    """Lines, one after the other."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.at = 0

    def root(self) -> Any:
        header = _HEADER.fullmatch(self.lines[0].words)
        if header is not None and not header["key"]:
            self.at = 1
            return self.array(header, self.lines[0].depth, 0)
        return self.members(self.lines[0].depth, 0)

    def below(self, depth: int) -> bool:
        """Whether the next line is part of what stands at this depth."""
        return self.at < len(self.lines) and self.lines[self.at].depth > depth

    def members(self, depth: int, nested: int) -> dict[str, Any]:
        if nested > _DEEPEST:
            raise _OddError
        found: dict[str, Any] = {}
        while self.at < len(self.lines) and self.lines[self.at].depth == depth:
            self.member(self.lines[self.at].words, depth, nested, found)
        if not found:
            raise _OddError
        return found

    def member(self, words: str, depth: int, nested: int, found: dict[str, Any]) -> None:
        """The member that begins with some words, into those that were found."""
        self.at += 1
        header = _HEADER.fullmatch(words)
        if header is not None:
            found[_plain(header["key"])] = self.array(header, depth, nested)
            return
        member = _MEMBER.fullmatch(words)
        if member is None:
            raise _OddError
        if member["value"]:
            found[_plain(member["key"])] = _scalar(member["value"])
        elif self.below(depth):
            found[_plain(member["key"])] = self.members(self.lines[self.at].depth, nested + 1)
        else:
            found[_plain(member["key"])] = {}

    def array(self, header: "re.Match[str]", depth: int, nested: int) -> list[Any]:
        mark = header["mark"] or ","
        if header["inline"]:
            return [_scalar(cell) for cell in _cells(header["inline"], mark)]
        names = None if header["names"] is None else _cells(header["names"], mark)
        items: list[Any] = []
        while self.below(depth):
            if names is None:
                items.append(self.item(nested + 1))
                continue
            cells = _cells(self.lines[self.at].words, mark)
            if len(cells) != len(names):
                raise _OddError
            items.append(
                {_plain(name): _scalar(cell) for name, cell in zip(names, cells, strict=True)}
            )
            self.at += 1
        return items

    def item(self, nested: int) -> Any:
        depth, words = self.lines[self.at]
        if not words.startswith("-") or nested > _DEEPEST:
            raise _OddError
        words = words[1:].lstrip(" ")
        header = _HEADER.fullmatch(words)
        if header is not None and not header["key"]:
            self.at += 1
            return self.array(header, depth, nested)
        if header is None and _MEMBER.fullmatch(words) is None:
            self.at += 1
            return _scalar(words) if words else {}
        found: dict[str, Any] = {}
        self.member(words, depth + 2, nested, found)
        if self.below(depth):
            found.update(self.members(self.lines[self.at].depth, nested + 1))
        return found


def _cells(words: str, mark: str) -> list[str]:
    cells = [found[1].strip() for found in _CELL[mark].finditer(words)]
    return cells if words.endswith(mark) else cells[:-1] if cells[-1:] == [""] else cells


def _plain(key: str) -> str:
    return str(_scalar(key)) if key.startswith('"') else key


def _scalar(words: str) -> Any:
    """A string, or what JSON would read."""
    words = words.strip()
    if words[:1] in '"-0123456789' or words in ("true", "false", "null", "[]", "{}"):
        try:
            return msgspec.json.decode(words)
        except msgspec.DecodeError:
            return words
    return words
