"""YAML as programs write it: block mappings and sequences of plain values.

Words with a colon behind each label look much the same. So it takes what no prose has: names that
are no words of a sentence, and a value that only a program writes or a block below a name.
"""

import re
from textwrap import dedent
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.patterns import lines_of

_OPENS: Final = re.compile(
    r"\s*(?:---\n)?(?:- )?(?:[a-z_][\w.-]{0,60}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+):(?:[ ]|\n)"
)
_MEMBER: Final = re.compile(r"(?P<key>[A-Za-z_][\w.-]{0,60}):(?:[ ]+(?P<value>\S.*))?")
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
_DEEPEST: Final = 40


class _OddError(ValueError):
    """The text is in another notation."""


class _Line(NamedTuple):
    depth: int
    words: str
    whole: str = ""


def yaml_value(text: str) -> tuple[bool, Any]:
    """Whether a text is in this notation, and the value that it stands for."""
    first = text[:_LONGEST_NAME]
    if ":" not in first or (first[0].isupper() and "_" not in first) or len(text) > _LONGEST:
        return False, None  # as most texts are, and seen at once
    text = text.replace("\r\n", "\n")
    if _OPENS.match(text) is None or "\n" not in text.strip() or _TELLING.search(text) is None:
        return False, None
    whole = lines_of(text.strip("\n").removeprefix("---\n"))
    if whole is None:
        return False, None
    lines = [_Line(len(line) - len(line.lstrip(" ")), line.strip(), line) for line in whole]
    reader = _Reader(lines)
    try:
        value = reader.block(0)
    except _OddError:
        return False, None
    return reader.is_at_end() and bool(value), value


class _Reader:
    """Lines, one after the other."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self._at = 0

    def _next(self) -> _Line | None:
        while self._at < len(self._lines) and not self._lines[self._at].words:
            self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else None

    def is_at_end(self) -> bool:
        """Whether all lines were read."""
        return self._next() is None

    def block(self, nested: int) -> Any:
        """The mapping or sequence that begins here."""
        line = self._next()
        if line is None or nested > _DEEPEST:
            raise _OddError
        if line.words == "-" or line.words.startswith("- "):
            return self._sequence(line.depth, nested)
        return self._mapping(line.depth, nested)

    def _sequence(self, depth: int, nested: int) -> list[Any]:
        found: list[Any] = []
        while (line := self._next()) is not None and line.depth == depth:
            if line.words != "-" and not line.words.startswith("- "):
                break
            rest = line.words[1:].lstrip()
            inner = depth + len(line.words) - len(rest)
            if _MEMBER.fullmatch(rest) or rest.startswith("- "):
                self._lines[self._at] = _Line(inner, rest)
                found.append(self.block(nested + 1))
            else:
                self._at += 1
                found.append(self._value(rest, depth, nested))
        return found

    def _mapping(self, depth: int, nested: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._next()) is not None and line.depth == depth:
            member = _MEMBER.fullmatch(line.words)
            if member is None or member["key"] in found:
                raise _OddError
            self._at += 1
            found[member["key"]] = self._value(member["value"] or "", depth, nested)
        if (line := self._next()) is not None and line.depth > depth:
            raise _OddError
        return found

    def _value(self, words: str, depth: int, nested: int) -> Any:
        """What stands behind a name or a dash, or in the lines below it."""
        if words in _TEXT_MARKS:
            return self._text(depth, "\n" if words[0] == "|" else " ")
        below = self._next()
        if not words:
            is_block = below is not None and (
                below.depth > depth or (below.depth == depth and below.words.startswith("- "))
            )
            return self.block(nested + 1) if is_block else None
        if below is not None and below.depth > depth and not _MEMBER.fullmatch(below.words):
            words = f"{words} {self._text(depth, ' ')}"
        return _scalar(words)

    def _text(self, depth: int, joint: str) -> str:
        """The lines that are indented, as one text."""
        found: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.words and line.depth <= depth:
                break
            found.append(line.whole if joint == "\n" else line.words)
            self._at += 1
        return dedent(joint.join(found)).strip("\n") if joint == "\n" else joint.join(found).strip()


def _scalar(words: str) -> Any:
    if words in _WORDS:
        return _WORDS[words]
    if words == "{}":
        return {}
    if _QUOTED.fullmatch(words):
        return _unquoted(words)
    if _FLOW.fullmatch(words):
        return [_scalar(each.strip()) for each in words[1:-1].split(",") if each.strip()]
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
