"""Splits SQL text into tokens: enough to know where strings, names and comments end."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

Kind = Literal["space", "string", "name", "word", "parameter", "symbol"]

SQLITE: Final = re.compile(
    r"""
    (?P<space> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<string> '(?:[^']|'')*(?:'|\Z) )
  | (?P<name> "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z) )
  | (?P<parameter> :[^\W\d]\w* )
  | (?P<word> [^\W\d][\w$]* )
  | (?P<symbol> . )
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
  | (?P<symbol> :: | . )
    """,
    re.X | re.S,
)
_VERBS: Final = frozenset({"SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE"})
_EXPLAIN: Final = frozenset({"EXPLAIN", "QUERY", "PLAN"})
_COMMENT: Final = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """A part of an SQL text, its kind and its position."""

    kind: Kind
    text: str
    start: int


def tokenize(sql: str, dialect: re.Pattern[str] = SQLITE) -> Iterator[Token]:
    """Yield all tokens of a text; together they are the text."""
    start = 0
    while match := dialect.match(sql, start):
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # every alternative has a name
        is_nested = "nested" in dialect.groupindex and match["nested"] is not None
        end = _end_of_comment(sql, start) if is_nested else match.end()
        yield Token(kind, sql[start:end], start)
        start = end


def _end_of_comment(sql: str, start: int) -> int:
    """Return the end of a comment that may have others nested in it."""
    depth = 0
    for mark in _COMMENT.finditer(sql, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)


def is_blank(sql: str) -> bool:
    """True if there is no statement: only space, comments and semicolons."""
    return all(token.kind == "space" or token.text == ";" for token in tokenize(sql))


def main_verb(sql: str, dialect: re.Pattern[str] = SQLITE) -> str:
    """Return the first word of a statement in capitals: that behind its WITH, without EXPLAIN."""
    depth = 0
    is_with = False
    for token in tokenize(sql, dialect):
        depth += (token.text == "(") - (token.text == ")")
        word = token.text.upper()
        if token.kind != "word" or (is_with and (depth or word not in _VERBS)):
            continue
        if word == "WITH":
            is_with = True
        elif word not in _EXPLAIN:
            return word
    return ""


def identifiers(sql: str, dialect: re.Pattern[str] = SQLITE) -> set[str]:
    """Return all words and quoted names in lower case; SQLite takes strings as names, too."""
    kinds = ("word", "name", "string") if dialect is SQLITE else ("word", "name")
    return {
        (token.text if token.kind == "word" else _unquoted(token.text)).lower()
        for token in tokenize(sql, dialect)
        if token.kind in kinds
    }


def _unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def check_constraints(create_sql: str) -> list[str]:
    """Return the expressions of the CHECK constraints in a CREATE TABLE."""
    expressions: list[str] = []
    tokens = [token for token in tokenize(create_sql) if token.kind != "space"]
    for index, token in enumerate(tokens[:-1]):
        following = tokens[index + 1]
        is_check = token.kind == "word" and token.text.upper() == "CHECK"
        if is_check and following.text == "(":
            expressions.append(_parenthesized(create_sql, tokens[index + 1 :]))
    return expressions


def _parenthesized(sql: str, tokens: list[Token]) -> str:
    """Return the text between the first parenthesis and the one that closes it."""
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return sql[tokens[0].start + 1 : token.start].strip()
    return sql[tokens[0].start + 1 :].strip()
