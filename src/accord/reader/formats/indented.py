"""Notations of indented lines: TOON, and YAML as programs write it.

Token-Oriented Object Notation is JSON as indented lines, arrays with their length and columns.
Words with a colon behind each label look much like YAML. So it takes what no prose has: names that
are no words of a sentence, and a value that only a program writes or a block below a name.
"""

import re
from textwrap import dedent
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.lexicon.phrases import lines_of

_MAX_DEPTH: Final = 40
"""Levels of blocks within each other."""


class _OddError(ValueError):
    """The text is in another notation."""


class _Line(NamedTuple):
    depth: int
    words: str
    whole: str = ""


class _Reader:
    """Lines, one after the other."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.at = 0

    def read(self) -> tuple[bool, Any]:
        """Return whether all lines are in the notation, and the value that they stand for."""
        try:
            value = self.root()
        except _OddError:
            return False, None
        return self.next() is None, value

    def root(self) -> Any:
        """Return the value that the first line begins."""
        raise NotImplementedError

    def next(self) -> _Line | None:
        """Return the next line that is not blank."""
        while self.at < len(self.lines) and not self.lines[self.at].words:
            self.at += 1
        return self.lines[self.at] if self.at < len(self.lines) else None


def _lines_in(text: str, blanks: str | None = None) -> list[_Line]:
    """Return the lines of a text without blanks around them; none if one of them is too long."""
    lines = lines_of(text) or []
    return [_Line(len(line) - len(line.lstrip(" ")), line.strip(blanks), line) for line in lines]


# TOON

_ARRAY: Final = re.compile(r"^[ \t]*(?:- )?[\w.\"-]*\[#?\d{1,9}[\t|,]?\](?:\{[^}\n]*\})?:", re.M)
"""An array with its length: what no other notation has."""
_HEADER: Final = re.compile(
    r'(?P<key>[\w.-]*|"(?:[^"\\]|\\.)*")\[#?(?P<length>\d{1,9})(?P<mark>[\t|,]?)\]'
    r"(?:\{(?P<names>[^}]*)\})?:(?:[ ](?P<inline>.*))?"
)
_TOON_MEMBER: Final = re.compile(r'(?P<key>[\w.-]+|"(?:[^"\\]|\\.)*"):(?:[ ](?P<value>.*))?')
_CELL: Final = {
    ",": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,|$)'),
    "\t": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\t]*)\s*(?:\t|$)'),
    "|": re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^|]*)\s*(?:\||$)'),
}
"""A cell, by the mark behind it."""


def toon_value(text: str) -> tuple[bool, Any]:
    """Whether a text is in this notation, and the value that it stands for."""
    if ("]:" not in text and "}:" not in text) or _ARRAY.search(text) is None:
        return False, None
    return _Toon([line for line in _lines_in(text, " ") if line.words.strip()]).read()


class _Toon(_Reader):
    def root(self) -> Any:
        if not self.lines:
            raise _OddError
        header = _HEADER.fullmatch(self.lines[0].words)
        if header is not None and not header["key"]:
            self.at = 1
            return self.array(header, self.lines[0].depth, 0)
        return self.members(self.lines[0].depth, 0)

    def below(self, depth: int) -> bool:
        """Whether the next line is part of what stands at this depth."""
        return self.at < len(self.lines) and self.lines[self.at].depth > depth

    def members(self, depth: int, nested: int) -> dict[str, Any]:
        if nested > _MAX_DEPTH:
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
        member = _TOON_MEMBER.fullmatch(words)
        if member is None:
            raise _OddError
        if member["value"]:
            found[_plain(member["key"])] = _toon_scalar(member["value"])
        elif self.below(depth):
            found[_plain(member["key"])] = self.members(self.lines[self.at].depth, nested + 1)
        else:
            found[_plain(member["key"])] = {}

    def array(self, header: "re.Match[str]", depth: int, nested: int) -> list[Any]:
        mark = header["mark"] or ","
        if header["inline"]:
            return [_toon_scalar(cell) for cell in _cells(header["inline"], mark)]
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
                {_plain(name): _toon_scalar(cell) for name, cell in zip(names, cells, strict=True)}
            )
            self.at += 1
        return items

    def item(self, nested: int) -> Any:
        depth, words, _ = self.lines[self.at]
        if not words.startswith("-") or nested > _MAX_DEPTH:
            raise _OddError
        words = words[1:].lstrip(" ")
        header = _HEADER.fullmatch(words)
        if header is not None and not header["key"]:
            self.at += 1
            return self.array(header, depth, nested)
        if header is None and _TOON_MEMBER.fullmatch(words) is None:
            self.at += 1
            return _toon_scalar(words) if words else {}
        found: dict[str, Any] = {}
        self.member(words, depth + 2, nested, found)
        if self.below(depth):
            found.update(self.members(self.lines[self.at].depth, nested + 1))
        return found


def _cells(words: str, mark: str) -> list[str]:
    cells = [found[1].strip() for found in _CELL[mark].finditer(words)]
    return cells if words.endswith(mark) else cells[:-1] if cells[-1:] == [""] else cells


def _plain(key: str) -> str:
    return str(_toon_scalar(key)) if key.startswith('"') else key


def _toon_scalar(words: str) -> Any:
    """A string, or what JSON would read."""
    words = words.strip()
    if words[:1] in '"-0123456789' or words in ("true", "false", "null", "[]", "{}"):
        try:
            return msgspec.json.decode(words)
        except msgspec.DecodeError:
            return words
    return words


# YAML

_OPENS: Final = re.compile(
    r"\s*(?:---\n)?(?:- )?(?:[a-z_][\w.-]{0,60}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+):(?:[ ]|\n)"
)
_YAML_MEMBER: Final = re.compile(r"(?P<key>[A-Za-z_][\w.-]{0,60}):(?:[ ]+(?P<value>\S.*))?")
_PLAIN: Final = re.compile(r"(?![\[{&*!|>%@`\"'#])(?:(?! #).)*")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"")
_FLOW: Final = re.compile(r"\[[^\[\]{}\"':#]*\]")
_TELLING: Final = re.compile(
    r"^[ ]*(?:- )?[\w.-]+:(?:[ ](?:true|false|null|\[\]|\{\})$|$)|^[A-Z]+(?:_[A-Z0-9]+)+: ", re.M
)
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None}
_TEXT_MARKS: Final = frozenset({"|", "|-", "|+", ">", ">-", ">+"})
_LONGEST: Final = 200_000
_LONGEST_NAME: Final = 80


def yaml_value(text: str) -> tuple[bool, Any]:
    """Whether a text is in this notation, and the value that it stands for."""
    first = text[:_LONGEST_NAME]
    if ":" not in first or (first[0].isupper() and "_" not in first) or len(text) > _LONGEST:
        return False, None  # as most texts are, and seen at once
    text = text.replace("\r\n", "\n")
    if _OPENS.match(text) is None or "\n" not in text.strip() or _TELLING.search(text) is None:
        return False, None
    found, value = _Yaml(_lines_in(text.strip("\n").removeprefix("---\n"))).read()
    return found and bool(value), value


class _Yaml(_Reader):
    def root(self) -> Any:
        return self.block(0)

    def block(self, nested: int) -> Any:
        """The mapping or sequence that begins here."""
        line = self.next()
        if line is None or nested > _MAX_DEPTH:
            raise _OddError
        if line.words == "-" or line.words.startswith("- "):
            return self._sequence(line.depth, nested)
        return self._mapping(line.depth, nested)

    def _sequence(self, depth: int, nested: int) -> list[Any]:
        found: list[Any] = []
        while (line := self.next()) is not None and line.depth == depth:
            if line.words != "-" and not line.words.startswith("- "):
                break
            rest = line.words[1:].lstrip()
            inner = depth + len(line.words) - len(rest)
            if _YAML_MEMBER.fullmatch(rest) or rest.startswith("- "):
                self.lines[self.at] = _Line(inner, rest)
                found.append(self.block(nested + 1))
            else:
                self.at += 1
                found.append(self._value(rest, depth, nested))
        return found

    def _mapping(self, depth: int, nested: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self.next()) is not None and line.depth == depth:
            member = _YAML_MEMBER.fullmatch(line.words)
            if member is None or member["key"] in found:
                raise _OddError
            self.at += 1
            found[member["key"]] = self._value(member["value"] or "", depth, nested)
        if (line := self.next()) is not None and line.depth > depth:
            raise _OddError
        return found

    def _value(self, words: str, depth: int, nested: int) -> Any:
        """What stands behind a name or a dash, or in the lines below it."""
        if words in _TEXT_MARKS:
            return self._text(depth, "\n" if words[0] == "|" else " ")
        below = self.next()
        if not words:
            is_block = below is not None and (
                below.depth > depth or (below.depth == depth and below.words.startswith("- "))
            )
            return self.block(nested + 1) if is_block else None
        if below is not None and below.depth > depth and not _YAML_MEMBER.fullmatch(below.words):
            words = f"{words} {self._text(depth, ' ')}"
        return _yaml_scalar(words)

    def _text(self, depth: int, joint: str) -> str:
        """The lines that are indented, as one text."""
        found: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.words and line.depth <= depth:
                break
            found.append(line.whole if joint == "\n" else line.words)
            self.at += 1
        return dedent(joint.join(found)).strip("\n") if joint == "\n" else joint.join(found).strip()


def _yaml_scalar(words: str) -> Any:
    if words in _WORDS:
        return _WORDS[words]
    if words == "{}":
        return {}
    if _QUOTED.fullmatch(words):
        return _unquoted(words)
    if _FLOW.fullmatch(words):
        return [_yaml_scalar(each.strip()) for each in words[1:-1].split(",") if each.strip()]
    if not _PLAIN.fullmatch(words):
        raise _OddError
    try:
        return msgspec.json.decode(words) if words[0] in "-0123456789" else words
    except (msgspec.DecodeError, UnicodeEncodeError):
        return words


def _unquoted(words: str) -> str:
    if words[0] == "'":
        return words[1:-1].replace("''", "'")
    try:
        return str(msgspec.json.decode(words))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return words[1:-1]
