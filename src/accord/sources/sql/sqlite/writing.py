"""One change to a database: its SQL, with every value bound and every name quoted."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from accord.sources.sql.sqlite.schema import quote


class Statement(NamedTuple):
    """SQL, and what is bound to it."""

    sql: str
    bindings: list[Any]


ONE: Final = Statement("SELECT 1", [])
"""Counts what an insert is for."""


def insert(table: str, data: Mapping[str, Any]) -> Statement:
    """A row."""
    columns = ", ".join(map(quote, data))
    places = ", ".join("?" * len(data))
    sql = f"INSERT INTO main.{quote(table)} ({columns}) VALUES ({places})"
    return Statement(sql, list(data.values()))


def update(table: str, data: Mapping[str, Any], where: Mapping[str, Any]) -> Statement:
    """New values in the rows that meet the conditions."""
    changes = ", ".join(f"{quote(column)} = ?" for column in data)
    conditions = _conditions(where)
    sql = f"UPDATE main.{quote(table)} SET {changes} WHERE {conditions.sql}"
    return Statement(sql, [*data.values(), *conditions.bindings])


def delete(table: str, where: Mapping[str, Any]) -> Statement:
    """No more of the rows that meet the conditions."""
    conditions = _conditions(where)
    sql = f"DELETE FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def count(table: str, where: Mapping[str, Any]) -> Statement:
    """How many rows meet the conditions."""
    conditions = _conditions(where)
    sql = f"SELECT count(*) FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def _conditions(where: Mapping[str, Any]) -> Statement:
    """All of them: a value is equal, null is null, a list has it."""
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
