"""SQL text in pieces, as far as one must know where strings and comments end."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

Kind = Literal["space", "string", "name", "word", "parameter", "sign"]

SQLITE: Final = re.compile(
    r"""
    (?P<space> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<string> '(?:[^']|'')*(?:'|\Z) )
  | (?P<name> "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z) )
  | (?P<parameter> :[^\W\d]\w* )
  | (?P<word> [^\W\d][\w$]* )
  | (?P<sign> . )
    """,
    re.X | re.S,
)
POSTGRES: Final = re.compile(
    r"""
    (?P<space> \s+ | --[^\n]* | (?P<nested>/\*) )
  | (?P<string> [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
      | \$(?P<tag>[^\W\d]\w*|)\$.*?(?:\$(?P=tag)\$|\Z) )
  | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
  | (?P<parameter> (?<![\w\])]):[^\W\d]\w* )
  | (?P<word> [^\W\d][\w$]* )
  | (?P<sign> :: | . )
    """,
    re.X | re.S,
)
_COMMENT: Final = re.compile(r"/\*|\*/")


class Piece(NamedTuple):
    """A part of a text, and what it is."""

    kind: Kind
    text: str
    start: int


def pieces(sql: str, dialect: re.Pattern[str] = SQLITE) -> Iterator[Piece]:
    """All of a text, in its order."""
    start = 0
    while match := dialect.match(sql, start):
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # every alternative has a name
        is_nested = "nested" in dialect.groupindex and match["nested"] is not None
        end = _end_of_comment(sql, start) if is_nested else match.end()
        yield Piece(kind, sql[start:end], start)
        start = end


def _end_of_comment(sql: str, start: int) -> int:
    """Where a comment ends in which there may be others."""
    depth = 0
    for sign in _COMMENT.finditer(sql, start):
        depth += 1 if sign.group() == "/*" else -1
        if depth == 0:
            return sign.end()
    return len(sql)


def is_blank(sql: str) -> bool:
    """Whether there is nothing to do: blanks, comments and semicolons."""
    return all(piece.kind == "space" or piece.text == ";" for piece in pieces(sql))


def checks_in(create_sql: str) -> list[str]:
    """The expressions of the CHECK constraints in a CREATE TABLE."""
    found: list[str] = []
    parts = [piece for piece in pieces(create_sql) if piece.kind != "space"]
    for index, piece in enumerate(parts[:-1]):
        follows = parts[index + 1]
        is_check = piece.kind == "word" and piece.text.upper() == "CHECK"
        if is_check and follows.text == "(":
            found.append(_within(create_sql, parts[index + 1 :]))
    return found


def _within(sql: str, parts: list[Piece]) -> str:
    """What is between a parenthesis and the one that closes it."""
    depth = 0
    for piece in parts:
        depth += (piece.text == "(") - (piece.text == ")")
        if depth == 0:
            return sql[parts[0].start + 1 : piece.start].strip()
    return sql[parts[0].start + 1 :].strip()
