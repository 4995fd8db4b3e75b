"""Advice for a query that SQLite cannot prepare: the nearest table or column, or only SELECT."""

from collections.abc import Callable, Sequence
from typing import Final

from accord.model.answer import Problem
from accord.sources.sql.problems import (
    not_allowed,
    only_select,
    unknown_column,
    unknown_table,
)
from accord.sources.sql.tokenizer import identifiers, main_verb

_QUERIES: Final = frozenset({"SELECT", "VALUES", ""})
_SYNTAX: Final = ("syntax error", "incomplete input", "unrecognized token")
_NO_TABLE: Final = "no such table: "
_NO_COLUMN: Final = "no such column: "
_STRING_HINT: Final = " - should this be a string literal in single-quotes?"
_MAX_TABLES: Final = 50  # whose columns are compared


class Suggestions:
    """Explains errors of queries from the names that may be read."""

    def __init__(
        self,
        tables: Callable[[], Sequence[str]],
        columns: Callable[[str], Sequence[str]],
        hidden: Callable[[], frozenset[str]],
        allow: frozenset[str] | None,
    ) -> None:
        """`hidden` are tables that are not in `allow`, in lower case."""
        self._tables = tables
        self._columns = columns
        self._hidden = hidden
        self._allow = allow

    def problem_of(self, message: str, query: str) -> Problem | None:
        """Return the Problem for SQLite's message, or None if there is no better one."""
        if not any(each in message for each in _SYNTAX) and main_verb(query) not in _QUERIES:
            return only_select()
        table = _rest_of(message, _NO_TABLE)
        if self._allow is not None:
            named = identifiers(query) & self._hidden()
            if table is not None or named:
                return not_allowed(self._allow, min(named, default=table))
        if table is not None:
            return unknown_table(message, _last(table), self._tables())
        column = _rest_of(message.removesuffix(_STRING_HINT), _NO_COLUMN)
        if column is None:
            return None
        return unknown_column(message, _last(column), self._among(query))

    def _among(self, query: str) -> list[str]:
        """Return the columns of the tables that a query names."""
        words = identifiers(query)
        named = [each for each in self._tables() if each.lower() in words][:_MAX_TABLES]
        columns = [column for table in named for column in self._columns(table)]
        return list(dict.fromkeys(columns))


def _rest_of(message: str, start: str) -> str | None:
    return message.removeprefix(start) if message.startswith(start) else None


def _last(name: str) -> str:
    """Return a name without its table or schema, and without quotes."""
    return name.rpartition(".")[2].strip('"`[]')
