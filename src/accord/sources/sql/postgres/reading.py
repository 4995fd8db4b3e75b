"""A query in a transaction that PostgreSQL itself keeps from writing.

The query becomes that of a cursor, which PostgreSQL allows for SELECT and VALUES alone, sent by the
protocol that takes one statement at a time. So neither what it is nor where it ends is ever judged
by looking at its text.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
from psycopg import errors
from sqlalchemy import Connection

from accord.answer import FieldError, Problem
from accord.sources.sql.messages import Rows, Select, Settings
from accord.sources.sql.names import suggestion
from accord.sources.sql.postgres.faults import only_select
from accord.sources.sql.postgres.places import numbered
from accord.sources.sql.postgres.values import plain
from accord.sources.sql.rows import Row, collect, sheet_of

_CURSOR: Final = "accord"
_AT_ONCE: Final = 64  # rows that are fetched
_NO_SELECT: Final = (errors.SyntaxError, errors.FeatureNotSupported)


def begin(connection: Connection, settings: Settings) -> None:
    """Begin a transaction that only reads, and that PostgreSQL ends in time."""
    if not settings.writes:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    timeout = int(settings.timeout * 1000)
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {timeout}")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {timeout}")


def read(
    driver: "psycopg.Connection[Any]",
    asked: Select,
    settings: Settings,
    tables: Callable[[], list[str]],
    is_planned: Callable[["psycopg.Connection[Any]"], None] = lambda _: None,
) -> Rows:
    """The rows of a query; what is no SELECT is refused.

    `is_planned` is called when PostgreSQL knows what to do, and has done nothing yet.
    """
    query, values = numbered(asked.query, asked.params)
    cursor = psycopg.RawServerCursor(driver, _CURSOR)
    cursor.itersize = _AT_ONCE
    try:
        cursor.execute(query, values)
    except _NO_SELECT as error:
        driver.rollback()
        raise _judged(driver, query) from error
    except errors.UndefinedTable as error:
        driver.rollback()
        raise _unknown_table(error, tables()) from error
    is_planned(driver)
    if asked.skip:
        cursor.scroll(asked.skip)
    columns = tuple(column.name for column in cursor.description or ())
    return collect(sheet_of(columns), _plain(cursor), asked.most, settings.max_bytes)


def _plain(rows: "psycopg.RawServerCursor[Any]") -> Iterator[Row]:
    for row in rows:
        yield tuple(map(plain, row))


def _judged(driver: "psycopg.Connection[Any]", query: str) -> Problem:
    """Whether a text that is no SELECT is anything: PostgreSQL is asked to parse it alone."""
    parsed = driver.pgconn.prepare(b"", query.encode())
    found = parsed.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY)
    if found is None or b"multiple commands" in found:
        return only_select()
    words = found.decode(errors="replace")
    return Problem.validation(words, fields=[FieldError("query", words)])


def _unknown_table(error: psycopg.Error, tables: list[str]) -> Problem:
    words = error.diag.message_primary or "no such table"
    name = words.split('"')[1] if words.count('"') > 1 else words
    said = f"{words}; {suggestion(name, tables)}"
    return Problem.validation(said, fields=[FieldError("query", said)])
