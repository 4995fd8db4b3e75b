"""Runs a query in a transaction that PostgreSQL itself keeps from writing.

The query becomes that of a cursor, which PostgreSQL allows for SELECT and VALUES only, sent by the
protocol that takes one statement at a time. So its text is never parsed here to decide what it
does or where it ends.

PostgreSQL has no authorizer for `--allow`. But a transaction holds a lock on all that it has
touched until it ends: tables, views, catalogs, also what a function reads. So a second connection
checks the locks of the first: before any row is fetched, and before the rows are returned.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine

from accord.model.answer import Problem
from accord.sources.sql.messages import Params, Rows, SelectRows, WorkerSettings
from accord.sources.sql.postgres.values import to_json
from accord.sources.sql.problems import (
    missing_param,
    not_allowed,
    only_select,
    query_failed,
    unknown_column,
    unknown_table,
)
from accord.sources.sql.row_format import encoder_for
from accord.sources.sql.tokenizer import POSTGRES, identifiers, tokenize
from accord.sources.sql.values import Row, collect_rows, from_json

T = TypeVar("T")
OnPlanned = Callable[["psycopg.Connection[Any]"], None]

_CURSOR: Final = "accord"
DECLARE: Final = f'DECLARE "{_CURSOR}" CURSOR FOR '
"""The words that psycopg puts before the query of a cursor."""
_FETCH_SIZE: Final = 64  # rows
_SET_TIMEOUT: Final = "SET LOCAL statement_timeout = {}"
_SYNTAX_ERROR: Final = b"42601"
_NOT_SELECT: Final = (errors.SyntaxError, errors.FeatureNotSupported)
_LOCKED_TABLES: Final = """
SELECT DISTINCT c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_class long ON long.reltoastrelid = l.relation
JOIN pg_catalog.pg_class c ON c.oid = coalesce(long.oid, l.relation)
WHERE l.locktype = 'relation' AND l.pid = %s AND c.relkind NOT IN ('i', 'I')
"""
_REVEALING_CLASSES: Final = ("22", "23", "42", "P0", "XX")
"""Classes of errors whose message may have a value in it that the query has read."""


def begin(connection: Connection, deadline: float, *, writes: bool) -> None:
    """Begin a transaction that ends by a deadline, read-only unless it `writes`."""
    if not writes:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    timeout = _milliseconds(deadline - monotonic())
    connection.exec_driver_sql(_SET_TIMEOUT.format(timeout))
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {timeout}")


def limit_time(driver: "psycopg.Connection[Any]", deadline: float) -> None:
    """Set the time limit of the next statement, which a query before it may have changed."""
    driver.execute(_SET_TIMEOUT.format(_milliseconds(deadline - monotonic())).encode())


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1000), 1)  # 0 would be no limit


def end(driver: "psycopg.Connection[Any]") -> None:
    """Roll back, and release the locks that outlive a transaction."""
    if not driver.closed:
        driver.pgconn.exec_(b"ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()")


class Names(Protocol):
    """The names that a query may use, for advice."""

    def tables(self) -> list[str]: ...
    def columns(self, query: str) -> list[str]:
        """Return the columns of the tables that a query names."""

    def hidden(self) -> frozenset[str]:
        """Return the tables that are not allowed, in lower case."""


def declare(
    driver: "psycopg.Connection[Any]", query: str, values: list[Any], names: Names
) -> "psycopg.RawServerCursor[Any]":
    """Return a cursor of a SELECT, planned and not yet run; another statement raises a Problem."""
    cursor = psycopg.RawServerCursor(driver, _CURSOR)
    try:
        cursor.execute(query, values)
    except _NOT_SELECT as error:
        driver.rollback()
        raise _syntax_problem(driver, query) from error
    except errors.UndefinedTable as error:
        driver.rollback()
        raise unknown_table(_message(error), _quoted(error), names.tables()) from error
    except errors.UndefinedColumn as error:
        driver.rollback()
        raise unknown_column(_message(error), _quoted(error), names.columns(query)) from error
    return cursor


def _run(
    driver: "psycopg.Connection[Any]",
    request: SelectRows,
    settings: WorkerSettings,
    names: Names,
    on_planned: OnPlanned = lambda _: None,
    *,
    one_by_one: bool = False,
) -> Rows:
    """Return the rows of a SELECT; another statement raises a Problem.

    `on_planned` is called when the query is planned and has not begun to execute. `one_by_one` is
    slower, and needs no more memory than the largest row.
    """
    deadline = monotonic() + settings.timeout
    cursor = declare(driver, *number_params(request.query, request.params), names)
    on_planned(driver)
    if request.skip:
        cursor.scroll(request.skip)
    columns = tuple(column.name for column in cursor.description or ())
    encoder = encoder_for(columns, request.as_table)
    size = 1 if one_by_one else min(_FETCH_SIZE, request.limit + 1)
    rows = _fetch(driver, cursor, size, deadline)
    return collect_rows(encoder, rows, request.limit, settings.max_bytes, one_by_one=one_by_one)


def number_params(query: str, params: Params) -> tuple[str, list[Any]]:
    """Replace each `:name` in a query by `$1`, `$2`, …; return it with the values in that order."""
    if params is None:
        return query, []
    if isinstance(params, list):
        return query, [from_json(value, f"params[{index}]") for index, value in enumerate(params)]
    text, names = number_names(query, params)
    return text, [from_json(params[name], f"params.{name}") for name in names]


def number_names(query: str, params: Collection[str]) -> tuple[str, list[str]]:
    """Replace each `:name` in a query by `$1`, `$2`, …; return it with the names in that order."""
    numbers: dict[str, int] = {}
    text: list[str] = []
    for token in tokenize(query, POSTGRES):
        name = token.text[1:]
        if token.kind != "parameter":
            text.append(token.text)
            continue
        if name not in params:
            raise missing_param(name)
        text.append(f"${numbers.setdefault(name, len(numbers) + 1)}")
    return "".join(text), list(numbers)


def _fetch(
    driver: "psycopg.Connection[Any]",
    cursor: "psycopg.RawServerCursor[Any]",
    size: int,
    deadline: float,
) -> Iterator[Row]:
    """Yield rows as JSON values; sets the time limit each time, for a query can change it."""
    batch = [()]
    while batch:
        limit_time(driver, deadline)
        batch = cursor.fetchmany(size)
        for row in batch:
            yield tuple(map(to_json, row))


def _syntax_problem(driver: "psycopg.Connection[Any]", query: str) -> Problem:
    """Return why a text is not a SELECT; PostgreSQL parses it again without the cursor."""
    result = driver.pgconn.prepare(b"", query.encode())
    message = result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY)
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
    if message is None or state != _SYNTAX_ERROR or b"multiple commands" in message:
        return only_select()
    return query_failed(message.decode(errors="replace"))


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or "no such name"


def _quoted(error: psycopg.Error) -> str:
    """Return the name in a message: `relation "a.b" does not exist`, `column a.b does not …`."""
    message = _message(error)
    name = message.split('"')[1] if message.count('"') > 1 else message.split()[1]
    return name.rpartition(".")[2]


class AllowList:
    """Runs queries that read allowed tables only; None allows all."""

    def __init__(self, engine: Engine, settings: WorkerSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._allow = settings.allow

    @property
    def is_restricted(self) -> bool:
        """True if only some tables may be read."""
        return self._allow is not None

    def allows(self, table: str) -> bool:
        """True if a table may be read or changed."""
        return self._allow is None or table in self._allow

    def run(
        self,
        driver: "psycopg.Connection[Any]",
        request: SelectRows,
        names: Names,
        *,
        one_by_one: bool,
    ) -> Rows:
        """Return the rows of a query, or raise a Problem if it reads another table."""
        run = partial(_run, driver, request, self._settings, names, one_by_one=one_by_one)
        return self.guard(driver, request.query, names, run)

    def guard(
        self, driver: "psycopg.Connection[Any]", query: str, names: Names, run: Callable[..., T]
    ) -> T:
        """Return the result of `run`; raise a Problem if the query reads another table.

        `run` takes the function to call when the query is planned and has not begun to execute.
        """
        if self._allow is None:
            return run()
        try:
            result = run(on_planned=partial(self._require_allowed, query))
        except psycopg.Error as error:
            driver.rollback()
            if self._names_hidden(error, query, names):
                raise not_allowed(self._allow) from error
            if _may_reveal_values(error):
                raise Problem.validation("The query fails on a value that it reads") from error
            raise
        except Problem as problem:
            raise self._restricted(problem, query, names) from problem.__cause__
        self._require_allowed(query, driver)
        return result

    def _names_hidden(self, error: psycopg.Error, query: str, names: Names) -> bool:
        """True if an error could tell that a hidden table exists."""
        return isinstance(error, errors.InsufficientPrivilege) or bool(
            identifiers(query, POSTGRES) & names.hidden()
        )

    def _restricted(self, problem: Problem, query: str, names: Names) -> Problem:
        """Return the Problem of an unknown name as that of a hidden one, so they look the same."""
        cause = problem.__cause__
        if self._allow is None or not isinstance(cause, psycopg.Error):
            return problem
        named = identifiers(query, POSTGRES) & names.hidden()
        unknown = _quoted(cause) if isinstance(cause, errors.UndefinedTable) else None
        if not named and unknown is None:
            return problem
        return not_allowed(self._allow, min(named, default=unknown))

    def _require_allowed(self, query: str, driver: "psycopg.Connection[Any]") -> None:
        with self._engine.connect() as other:
            found = other.exec_driver_sql(_LOCKED_TABLES, (driver.info.backend_pid,)).all()
        for name, is_visible in found:
            if self._allow is not None and not (is_visible and self.allows(name)):
                is_named = name.lower() in identifiers(query, POSTGRES)
                raise not_allowed(self._allow, name if is_named else None)


def _may_reveal_values(error: psycopg.Error) -> bool:
    """True if an error comes from the data; one of the query has a position in its text."""
    is_syntax = error.diag.statement_position is not None and error.diag.context is None
    return (error.sqlstate or "")[:2] in _REVEALING_CLASSES and not is_syntax
