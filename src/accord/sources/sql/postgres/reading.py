"""A query in a transaction that PostgreSQL itself keeps from writing.

The query becomes that of a cursor, which PostgreSQL allows for SELECT and VALUES alone, sent by the
protocol that takes one statement at a time. So neither what it is nor where it ends is ever judged
by looking at its text.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Final

import psycopg
from psycopg import errors
from sqlalchemy import Connection

from accord.model.answer import Problem
from accord.sources.sql.messages import Rows, Select, Settings
from accord.sources.sql.postgres.places import numbered
from accord.sources.sql.postgres.values import plain
from accord.sources.sql.refusals import faulty, only_select, unknown_table
from accord.sources.sql.rows import Row, collect, sheet_of

_CURSOR: Final = "accord"
_AT_ONCE: Final = 64  # rows that are fetched
_LIMIT: Final = "SET LOCAL statement_timeout = {}"
_NO_SELECT: Final = (errors.SyntaxError, errors.FeatureNotSupported)


def begin(connection: Connection, settings: Settings) -> None:
    """Begin a transaction that PostgreSQL ends in time, and that only reads unless it may write."""
    if not settings.writes:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    timeout = _milliseconds(settings.timeout)
    connection.exec_driver_sql(_LIMIT.format(timeout))
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {timeout}")


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1000), 1)  # 0 would be no limit


def end(driver: "psycopg.Connection[Any]") -> None:
    """Undo what a query did, with the locks that would outlive its transaction."""
    if not driver.closed:
        driver.pgconn.exec_(b"ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()")


def read(
    driver: "psycopg.Connection[Any]",
    asked: Select,
    settings: Settings,
    tables: Callable[[], list[str]],
    is_planned: Callable[["psycopg.Connection[Any]"], None] = lambda _: None,
    *,
    one_by_one: bool = False,
) -> Rows:
    """The rows of a query; what is no SELECT is refused.

    `is_planned` is called when PostgreSQL knows what to do, and has done nothing yet. `one_by_one`
    takes time, and no more memory than the largest row needs.
    """
    deadline = monotonic() + settings.timeout
    query, values = numbered(asked.query, asked.params)
    cursor = psycopg.RawServerCursor(driver, _CURSOR)
    try:
        cursor.execute(query, values)
    except _NO_SELECT as error:
        driver.rollback()
        raise _refusal_of(driver, query) from error
    except errors.UndefinedTable as error:
        driver.rollback()
        raise _unknown_table(error, tables()) from error
    is_planned(driver)
    if asked.skip:
        cursor.scroll(asked.skip)
    columns = tuple(column.name for column in cursor.description or ())
    at_once = 1 if one_by_one else min(_AT_ONCE, asked.most + 1)
    rows = _fetched(driver, cursor, at_once, deadline)
    return collect(sheet_of(columns), rows, asked.most, settings.max_bytes, one_by_one=one_by_one)


def _fetched(
    driver: "psycopg.Connection[Any]",
    cursor: "psycopg.RawServerCursor[Any]",
    at_once: int,
    deadline: float,
) -> Iterator[Row]:
    """Rows as JSON has them; the limit is set again each time, for a query can take it away."""
    found = [()]
    while found:
        driver.execute(_LIMIT.format(_milliseconds(deadline - monotonic())).encode())
        found = cursor.fetchmany(at_once)
        for row in found:
            yield tuple(map(plain, row))


def _refusal_of(driver: "psycopg.Connection[Any]", query: str) -> Problem:
    """Why a text is no query, if it is anything at all: PostgreSQL is asked to parse it alone."""
    parsed = driver.pgconn.prepare(b"", query.encode())
    found = parsed.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY)
    if found is None or b"multiple commands" in found:
        return only_select()
    return faulty(found.decode(errors="replace"))


def _unknown_table(error: psycopg.Error, tables: list[str]) -> Problem:
    words = error.diag.message_primary or "no such table"
    name = words.split('"')[1] if words.count('"') > 1 else words
    return unknown_table(words, name, tables)
