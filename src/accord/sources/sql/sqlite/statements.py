"""Builds SQL: changes, with values bound and names quoted; queries that return text as bytes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from accord.sources.sql.sqlite.schema import quote
from accord.sources.sql.tokenizer import tokenize
from accord.sources.sql.values import InvalidText, Row


class Statement(NamedTuple):
    """SQL text and its bindings."""

    sql: str
    bindings: list[Any]


COUNT_ONE: Final = Statement("SELECT 1", [])
"""Counts the rows of an insert."""


def insert(table: str, data: Mapping[str, Any]) -> Statement:
    """Return an INSERT of one row."""
    columns = ", ".join(map(quote, data))
    placeholders = ", ".join("?" * len(data))
    sql = f"INSERT INTO main.{quote(table)} ({columns}) VALUES ({placeholders})"
    return Statement(sql, list(data.values()))


def update(table: str, data: Mapping[str, Any], where: Mapping[str, Any]) -> Statement:
    """Return an UPDATE of the rows that meet the conditions."""
    changes = ", ".join(f"{quote(column)} = ?" for column in data)
    conditions = _conditions(where)
    sql = f"UPDATE main.{quote(table)} SET {changes} WHERE {conditions.sql}"
    return Statement(sql, [*data.values(), *conditions.bindings])


def delete(table: str, where: Mapping[str, Any]) -> Statement:
    """Return a DELETE of the rows that meet the conditions."""
    conditions = _conditions(where)
    sql = f"DELETE FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def count(table: str, where: Mapping[str, Any]) -> Statement:
    """Return a SELECT that counts the rows that meet the conditions."""
    conditions = _conditions(where)
    sql = f"SELECT count(*) FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def _conditions(where: Mapping[str, Any]) -> Statement:
    """Join conditions with AND: equal to a value, null, or in a list."""
    parts = [_condition(quote(column), value) for column, value in where.items()]
    bindings = [value for part in parts for value in part.bindings]
    return Statement(" AND ".join(part.sql for part in parts), bindings)


def _condition(column: str, value: Any) -> Statement:
    if value is None:
        return Statement(f"{column} IS NULL", [])
    if not isinstance(value, list):
        return Statement(f"{column} = ?", [value])
    known = [each for each in value if each is not None]
    sql = f"{column} IN ({', '.join('?' * len(known))})"
    return Statement(sql if len(known) == len(value) else f"({sql} OR {column} IS NULL)", known)


def text_as_bytes(query: str, columns: int) -> str:
    """Rewrite a query to return two columns for each: its type, and its value with text as bytes.

    For rows with text that is not UTF-8, which apsw cannot return as text.
    """
    names = [f"c{index}" for index in range(columns)]
    pairs = ", ".join(
        f"typeof({name}), iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
        for name in names
    )
    ends = [token.start for token in tokenize(query) if token.text == ";"]
    inner = query[: ends[0]] if ends else query
    table = _unused_name(query)
    return f"WITH {table}({', '.join(names)}) AS ({inner}\n) SELECT {pairs} FROM {table}"


def _unused_name(query: str) -> str:
    name = "accord"
    while name in query.lower():
        name += "_"
    return name


def decode_text(rows: Iterator[Row], encoding: str) -> Iterator[Row]:
    """Yield the rows of a query that `text_as_bytes` rewrote, as the original query has them."""
    for row in rows:
        yield tuple(
            _decode(value, encoding) if kind == "text" else value
            for kind, value in zip(row[::2], row[1::2], strict=True)
        )


def _decode(raw: Any, encoding: str) -> str | InvalidText:
    try:
        return bytes(raw).decode(encoding)
    except UnicodeDecodeError:
        return InvalidText(raw)
