"""Executes requests on one connection to a PostgreSQL database; raises errors as Problems."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from time import monotonic
from typing import Any, Final

import msgspec
import psycopg
import sqlalchemy.exc
from psycopg import errors
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    column,
    create_engine,
    delete,
    event,
    insert,
    literal,
    make_url,
    table,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.types import NullType

from accord.model.answer import FieldError, Problem
from accord.sources.sql.catalog import answer, without_hidden
from accord.sources.sql.messages import (
    ChangeCount,
    CheckedQuery,
    CheckQuery,
    DeleteRows,
    DescribeTable,
    ExplainQuery,
    InsertRow,
    QueryPlan,
    Reply,
    Rows,
    SchemaRequest,
    SelectRows,
    TableDescription,
    TableNames,
    UpdateRows,
    WorkerSettings,
    WriteRequest,
)
from accord.sources.sql.postgres import query, schema
from accord.sources.sql.postgres.catalog import PostgresCatalog
from accord.sources.sql.postgres.explain import explain
from accord.sources.sql.postgres.query import AllowList
from accord.sources.sql.postgres.query_check import check, line_of
from accord.sources.sql.postgres.values import from_json, register_loaders
from accord.sources.sql.problems import (
    find_table,
    invalid_params,
    require_max_changes,
    validate_change,
)
from accord.sources.sql.values import decode_conditions

log: logging.Logger = logging.getLogger("accord")

_PRIVILEGES: Final = """
SELECT current_user, ARRAY(
  SELECT rolname::text FROM pg_catalog.pg_roles
  WHERE rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
    AND pg_catalog.pg_has_role(oid, 'MEMBER')
  UNION ALL SELECT 'superuser' FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper
)
"""
_TOO_LARGE: Final = "TOO_LARGE"
_BUSY: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class PostgresEngine:
    """One connection, with a transaction for each request."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._deadline = monotonic()
        with mapped_errors(settings):
            self._engine = create_engine(
                make_url(settings.url).set(drivername="postgresql+psycopg"),
                pool_size=1,
                max_overflow=1,
                pool_pre_ping=True,
                connect_args={
                    "connect_timeout": ceil(settings.timeout),
                    "application_name": "accord",
                },
            )
        event.listen(self._engine, "connect", lambda driver, _: register_loaders(driver))
        if not settings.writes:
            event.listen(
                self._engine, "connect", lambda driver, _: _warn_of_privileges(driver), once=True
            )
        self._allow_list = AllowList(self._engine, settings)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """Begin a transaction, which is rolled back unless it is committed."""
        self._deadline = monotonic() + self._settings.timeout
        with mapped_errors(self._settings), self._engine.connect() as connection:
            self._begin_again(connection)
            yield connection

    def _begin_again(self, connection: Connection) -> None:
        """Begin a transaction within the time of the request."""
        query.begin(connection, self._deadline, writes=self._settings.writes)

    def tables(self) -> TableNames:
        """Return the tables and views that are allowed."""
        with self._begin() as connection:
            return TableNames(self._tables(connection))

    def _tables(self, connection: Connection) -> list[str]:
        return [name for name in schema.table_names(connection) if self._allow_list.allows(name)]

    def describe(self, request: DescribeTable) -> TableDescription:
        """Describe a table; with details, also its keys, indexes and constraints."""
        with self._begin() as connection:
            name = find_table(request.table_name, self._tables(connection))
            description = schema.describe(connection, name)
            if request.details:
                description |= schema.details(connection, name)
            if self._allow_list.is_restricted:
                description = without_hidden(description, self._catalog(connection))
            return TableDescription(name, msgspec.json.encode(description))

    def select(self, request: SelectRows) -> Rows:
        """Run a query that only reads, and return its rows."""
        try:
            return self._select(request)
        except Problem as problem:
            if problem.code != _TOO_LARGE:
                raise
        return self._select(request, one_by_one=True)

    def _select(self, request: SelectRows, *, one_by_one: bool = False) -> Rows:
        with self._reading() as (driver, names):
            return self._allow_list.run(driver, request, names, one_by_one=one_by_one)

    @contextmanager
    def _reading(self) -> Iterator[tuple["psycopg.Connection[Any]", PostgresCatalog]]:
        """Begin a transaction for a query; its locks are released at the end."""
        with self._begin() as connection:
            driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment] # the driver is psycopg
            try:
                yield driver, self._catalog(connection)
            finally:
                query.end(driver)

    def explore(self, request: SchemaRequest) -> Reply:
        """Return what the schema says: tables, descriptions, matches, names."""
        with self._begin() as connection:
            return answer(self._catalog(connection), request)

    def _catalog(self, connection: Connection) -> PostgresCatalog:
        sample = partial(self._sample, connection)
        return PostgresCatalog(connection, self._settings.allow, sample)

    def _sample(self, connection: Connection, request: SelectRows) -> Rows:
        """Return the rows of a query, in a transaction between two others of the connection.

        The allow list checks the locks of a transaction, and the catalogs that it has read are
        locked, too.
        """
        connection.rollback()
        with mapped_errors(self._settings):
            self._begin_again(connection)
            driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment] # the driver is psycopg
            try:
                names = self._catalog(connection)
                return self._allow_list.run(driver, request, names, one_by_one=True)
            finally:
                query.end(driver)
                connection.rollback()
                self._begin_again(connection)

    def hidden_tables(self) -> frozenset[str]:
        """Return the tables that are not allowed, in lower case."""
        with self._begin() as connection:
            return self._catalog(connection).hidden()

    def explain(self, request: ExplainQuery) -> QueryPlan:
        """Return the plan of a query that only reads."""
        with self._reading() as (driver, names):
            return explain(driver, request, self._allow_list, names, self._deadline)

    def check(self, request: CheckQuery) -> CheckedQuery:
        """Plan a query that only reads, and return its columns with their types."""
        with self._reading() as (driver, names):
            return check(driver, request, self._allow_list, names)

    def line_of(self, error: BaseException, request: CheckQuery) -> int | None:
        """Return the line of a query that an error is in."""
        return line_of(error, request)

    def insert(self, request: InsertRow) -> ChangeCount:
        """Insert a row, and return its primary key if that is one column."""
        with self._begin() as connection:
            name, columns = self._find(connection, request)
            statement: Any = insert(_table(name, columns)).values(_data(request.data, columns))
            key = schema.primary_key(connection, name)
            if len(key) == 1:
                statement = statement.returning(column(key[0]))
            result = connection.execute(statement, execution_options={"preserve_rowcount": True})
            changes = result.rowcount
            row_id = result.scalar() if len(key) == 1 else None
            if not isinstance(row_id, int | str | None):
                row_id = str(row_id)
            self._end(connection, dry_run=request.dry_run)
            return ChangeCount(changes, None if request.dry_run else row_id)

    def update(self, request: UpdateRows) -> ChangeCount:
        """Update the rows that meet the conditions."""
        with self._begin() as connection:
            name, columns = self._find(connection, request)
            statement = update(_table(name, columns)).values(_data(request.data, columns))
            statement = statement.where(_condition(request.where))
            return self._change(connection, statement, request)

    def delete(self, request: DeleteRows) -> ChangeCount:
        """Delete the rows that meet the conditions."""
        with self._begin() as connection:
            name, columns = self._find(connection, request)
            statement = delete(_table(name, columns)).where(_condition(request.where))
            return self._change(connection, statement, request)

    def _find(
        self, connection: Connection, request: WriteRequest
    ) -> tuple[str, list[schema.Column]]:
        """Return the table of a change and its columns, once the change is validated."""
        name = find_table(request.table_name, self._tables(connection))
        columns = schema.columns(connection, name)
        has_defaults = partial(schema.has_defaults, connection, name)
        validate_change(request, name, [each.name for each in columns], str, has_defaults)
        return name, columns

    def _change(
        self, connection: Connection, statement: UpdateBase, request: UpdateRows | DeleteRows
    ) -> ChangeCount:
        changes = connection.execute(statement).rowcount
        require_max_changes(changes, request.max_changes)
        self._end(connection, dry_run=request.dry_run)
        return ChangeCount(changes)

    def _end(self, connection: Connection, *, dry_run: bool) -> None:
        if dry_run:
            connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
            connection.rollback()
            return
        try:
            connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise commit_unconfirmed() from error
            raise


def _table(name: str, columns: list[schema.Column]) -> Any:
    return table(name, *(column(each.name) for each in columns))


def _data(data: dict[str, Any], columns: list[schema.Column]) -> dict[str, Any]:
    kinds = {each.name: each for each in columns}
    return {
        name: from_json(
            value, f"data.{name}", is_json=kinds[name].is_json, is_list=kinds[name].is_list
        )
        for name, value in data.items()
    }


def _condition(where: dict[str, Any]) -> ColumnElement[bool]:
    conditions = decode_conditions(where)
    return and_(*(_comparison(column(name), value) for name, value in conditions.items()))


def _comparison(operand: Any, value: Any) -> Any:
    """Compare a column; values have no type but the column's: text may be a number or a date."""
    if not isinstance(value, list):
        return operand.is_(None) if value is None else operand == literal(value, NullType())
    known = [each for each in value if each is not None]
    is_in = operand.in_(literal(each, NullType()) for each in known)
    return is_in if len(known) == len(value) else is_in | operand.is_(None)


def _warn_of_privileges(driver: "psycopg.Connection[Any]") -> None:
    """Log a warning if a query could reach the server's files or programs."""
    found = driver.execute(_PRIVILEGES).fetchone()
    driver.rollback()
    if found is None or not found[1]:
        return
    role, privileges = found
    what = "is a superuser" if "superuser" in privileges else f"has {', '.join(sorted(privileges))}"
    log.warning(
        "the role %r %s: functions such as pg_read_file let a query do what a read-only"
        " transaction does not prevent; connect as a role with fewer privileges",
        role,
        what,
    )


@contextmanager
def mapped_errors(settings: WorkerSettings) -> Iterator[None]:
    """Raise errors of the two libraries within the block as Problems."""
    try:
        yield
    except psycopg.Error as error:
        raise problem_of(error, settings) from error
    except sqlalchemy.exc.DBAPIError as error:
        cause = error.orig
        if not isinstance(cause, psycopg.Error):
            raise
        raise problem_of(cause, settings) from error
    except sqlalchemy.exc.ArgumentError as error:
        log.error("invalid URL of a database: %s", error)  # noqa: TRY400 - no traceback
        raise _unreachable() from error
    except MemoryError as error:
        raise _too_large() from error


def problem_of(error: psycopg.Error, settings: WorkerSettings) -> Problem:
    """Return the Problem for an error: its message, without the details, which may show data."""
    state = error.sqlstate
    if isinstance(error, errors.ProtocolViolation):
        return invalid_params("do not fit the placeholders in the query")
    if state is None and isinstance(error, psycopg.DataError):
        return Problem.validation(str(error))
    if state is None and "out of memory" in str(error):
        return _too_large()
    if state is None or state[:2] in ("08", "3D", "28"):
        log.error("could not reach the database: %s", " ".join(str(error).split()))
        return _unreachable()
    message = error.diag.message_primary or "The database refuses this"
    if isinstance(error, errors.QueryCanceled):
        return settings.timeout_problem
    if isinstance(error, errors.IntegrityConstraintViolation | errors.IntegrityError):
        return Problem.conflict(message, fields=_fields(error.diag, message))
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        return Problem.authorization(message)
    if isinstance(error, _BUSY):
        return Problem.unavailable(f"Another transaction is changing this: {message}")
    if state[:2] in ("53", "57", "58"):
        return Problem.unavailable(message)
    return Problem.validation(message)


def _fields(diagnostic: Any, message: str) -> list[FieldError]:
    column = diagnostic.column_name
    return [FieldError(f"data.{column}", message)] if column else []


def commit_unconfirmed() -> Problem:
    """Return the Problem of a change whose commit was not confirmed."""
    return Problem.unavailable(
        "The connection to the database was lost; check whether the change was made",
        retryable=False,
    )


def _too_large() -> Problem:
    return Problem.validation(
        "This takes more memory than a query may have",
        code=_TOO_LARGE,
        remediation="ask for fewer or smaller columns",
    )


def _unreachable() -> Problem:
    return Problem.unavailable("The database could not be reached")
