"""Notations of indented lines: YAML as programs write it, and TOON.

Token-Oriented Object Notation is JSON as indented lines, arrays with their length and columns.
Prose with labels and colons looks much like YAML. A text counts as YAML only if its names are not
words of a sentence, and it has a value that only a program writes, or a block below a name.
"""

import re
from textwrap import dedent
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.lexicon.phrases import lines_of

_MAX_DEPTH: Final = 40
"""Levels of blocks within each other."""
_MAX_YAML: Final = 200_000
_MAX_NAME: Final = 80
_DOUBLE: Final = r'"(?:[^"\\]|\\.)*"'
_OPENS: Final = re.compile(
    r"\s*(?:---\n)?(?:- )?(?:[a-z_][\w.-]{0,60}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+):(?:[ ]|\n)"
)
_BY_PROGRAM: Final = re.compile(
    r"^[ ]*(?:- )?[\w.-]+:(?:[ ](?:true|false|null|\[\]|\{\})$|$)|^[A-Z]+(?:_[A-Z0-9]+)+: ", re.M
)
"""Lines that only a program writes."""
_ARRAY: Final = re.compile(r"^[ \t]*(?:- )?[\w.\"-]*\[#?\d{1,9}[\t|,]?\](?:\{[^}\n]*\})?:", re.M)
"""An array with its length, which only TOON has."""
_YAML_MEMBER: Final = re.compile(r"(?P<key>[A-Za-z_][\w.-]{0,60}):(?:[ ]+(?P<value>\S.*))?")
_TOON_MEMBER: Final = re.compile(
    rf"(?P<key>[\w.-]*|{_DOUBLE})"
    r"(?P<array>\[#?\d{1,9}(?P<mark>[\t|,]?)\](?:\{(?P<names>[^}]*)\})?)?:(?:[ ](?P<value>.*))?"
)
_CELL: Final = {
    mark: re.compile(rf"\s*({_DOUBLE}|[^{mark}]*)\s*(?:[{mark}]|$)") for mark in (",", "\t", "|")
}
"""A cell, by the delimiter after it."""
_PLAIN: Final = re.compile(r"(?![\[{&*!|>%@`\"'#])(?:(?! #).)*")
_QUOTED: Final = re.compile(rf"'(?:[^']|'')*'|{_DOUBLE}")
_FLOW: Final = re.compile(r"\[[^\[\]{}\"':#]*\]")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None}
_TEXT_MARKS: Final = frozenset({"|", "|-", "|+", ">", ">-", ">+"})


def yaml_value(text: str) -> tuple[bool, Any]:
    """Return whether a text is YAML as programs write it, and its value."""
    first = text[:_MAX_NAME]
    if "\n" not in text or ":" not in first or (first[0].isupper() and "_" not in first):
        return False, None  # quick, for most texts
    text = text.replace("\r\n", "\n")
    if len(text) > _MAX_YAML or "\n" not in text.strip():
        return False, None
    if _OPENS.match(text) is None or _BY_PROGRAM.search(text) is None:
        return False, None
    found, value = _Lines(text.strip("\n").removeprefix("---\n")).read()
    return found and bool(value), value


def toon_value(text: str) -> tuple[bool, Any]:
    """Return whether a text is TOON, and its value."""
    if "]" not in text or ("]:" not in text and "}:" not in text):
        return False, None
    if _ARRAY.search(text) is None or text.lstrip()[:1] == "-":  # a list in Markdown
        return False, None
    return _Toon(text).read()


class _OddError(ValueError):
    """The text is in another notation."""


class _Line(NamedTuple):
    depth: int
    words: str
    whole: str = ""


class _Lines:
    """A parser of lines of YAML; there are none if one is too long."""

    member = _YAML_MEMBER
    blanks: str | None = None

    def __init__(self, text: str) -> None:
        lines = lines_of(text) or []
        self.lines = [_Line(len(e) - len(e.lstrip(" ")), e.strip(self.blanks), e) for e in lines]
        self.at = 0

    def read(self) -> tuple[bool, Any]:
        """Return whether all lines are in the notation, and their value."""
        try:
            value = self.block(0)
        except _OddError:
            return False, None
        return self.next() is None, value

    def next(self) -> _Line | None:
        """Return the next line that is not blank."""
        while self.at < len(self.lines) and not self.lines[self.at].words:
            self.at += 1
        return self.lines[self.at] if self.at < len(self.lines) else None

    def is_below(self, depth: int) -> bool:
        """True if the next line is indented deeper."""
        line = self.next()
        return line is not None and line.depth > depth

    def block(self, nested: int) -> Any:
        """Parse the mapping or sequence at the current line."""
        line = self.next()
        if line is None or nested > _MAX_DEPTH:
            raise _OddError
        if _is_item(line):
            return self.sequence(line.depth, nested)
        return self.mapping(line.depth, nested)

    def sequence(self, depth: int, nested: int) -> list[Any]:
        found: list[Any] = []
        while (line := self.next()) is not None and line.depth == depth and _is_item(line):
            rest = line.words[1:].lstrip()
            if self.member.fullmatch(rest) or rest.startswith("- "):
                inner = depth + len(line.words) - len(rest)
                self.lines[self.at] = _Line(inner, rest)
                found.append(self.block(nested + 1))
            else:
                self.at += 1
                found.append(self.value(rest, depth, nested))
        return found

    def mapping(self, depth: int, nested: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self.next()) is not None and line.depth == depth:
            member = self.member.fullmatch(line.words)
            if member is None or member["key"] in found:
                raise _OddError
            self.at += 1
            self.add(found, member, depth, nested)
        if self.is_below(depth):
            raise _OddError
        return found

    def add(self, found: dict[str, Any], member: re.Match[str], depth: int, nested: int) -> None:
        """Parse the value of a member, and add it."""
        found[member["key"]] = self.value(member["value"] or "", depth, nested)

    def value(self, words: str, depth: int, nested: int) -> Any:
        """Parse a value after a name or a dash, or in the lines below it."""
        if words in _TEXT_MARKS:
            return self.text(depth, "\n" if words[0] == "|" else " ")
        below = self.next()
        if not words:
            is_level = below is not None and below.depth == depth and _is_item(below)
            return self.block(nested + 1) if is_level or self.is_below(depth) else None
        if below is not None and below.depth > depth and not _YAML_MEMBER.fullmatch(below.words):
            words = f"{words} {self.text(depth, ' ')}"
        return _yaml_scalar(words)

    def text(self, depth: int, joint: str) -> str:
        """Return the indented lines as one text."""
        found: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.words and line.depth <= depth:
                break
            found.append(line.whole if joint == "\n" else line.words)
            self.at += 1
        return dedent(joint.join(found)).strip("\n") if joint == "\n" else joint.join(found).strip()


def _is_item(line: _Line) -> bool:
    return line.words == "-" or line.words.startswith("- ")


class _Toon(_Lines):
    """A parser of lines of TOON, where a member may be an array with its length and columns."""

    member = _TOON_MEMBER
    blanks = " "

    def block(self, nested: int) -> Any:
        line = self.next()
        member = None if line is None else _TOON_MEMBER.fullmatch(line.words)
        if line is None or member is None or member["key"] or not member["array"]:
            return super().block(nested)
        self.at += 1
        return self.array(member, line.depth, nested)

    def add(self, found: dict[str, Any], member: re.Match[str], depth: int, nested: int) -> None:
        name = str(_scalar(member["key"])) if member["key"][:1] == '"' else member["key"]
        read = self.array(member, depth, nested) if member["array"] else None
        found[name] = self.value(member["value"] or "", depth, nested) if read is None else read

    def value(self, words: str, depth: int, nested: int) -> Any:
        if words:
            return _scalar(words)
        return self.block(nested + 1) if self.is_below(depth) else {}

    def array(self, header: re.Match[str], depth: int, nested: int) -> list[Any]:
        mark = header["mark"] or ","
        if header["value"]:
            return [_scalar(cell) for cell in _cells(header["value"], mark)]
        if not self.is_below(depth):
            return []
        if header["names"] is None:
            return self.sequence(self.lines[self.at].depth, nested + 1)
        names = [str(_scalar(cell)) for cell in _cells(header["names"], mark)]
        items: list[Any] = []
        while self.is_below(depth):
            cells = [_scalar(cell) for cell in _cells(self.lines[self.at].words, mark)]
            if len(cells) != len(names):
                raise _OddError
            items.append(dict(zip(names, cells, strict=True)))
            self.at += 1
        return items


def _cells(words: str, mark: str) -> list[str]:
    cells = [found[1].strip() for found in _CELL[mark].finditer(words)]
    return cells if words.endswith(mark) else cells[:-1] if cells[-1:] == [""] else cells


def _scalar(words: str) -> Any:
    """Return a JSON scalar, or the text if it is not one."""
    words = words.strip()
    if words[:1] in '"-0123456789' or words in ("true", "false", "null", "[]", "{}"):
        try:
            return msgspec.json.decode(words)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return words
    return words


def _yaml_scalar(words: str) -> Any:
    if words in _WORDS:
        return _WORDS[words]
    if words[0] in "'\"" and _QUOTED.fullmatch(words):
        value = words[1:-1].replace("''", "'") if words[0] == "'" else _scalar(words)
        return words[1:-1] if value == words else value
    if words[0] == "[" and _FLOW.fullmatch(words):
        return [_yaml_scalar(each.strip()) for each in words[1:-1].split(",") if each.strip()]
    if words != "{}" and not _PLAIN.fullmatch(words):
        raise _OddError
    return _scalar(words)
