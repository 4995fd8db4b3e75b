"""Executes requests on one connection to a SQLite database."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Final, TypeVar

import apsw
import msgspec

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
    Params,
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
from accord.sources.sql.problems import (
    find_table,
    invalid_params,
    missing_param,
    require_max_changes,
    validate_change,
)
from accord.sources.sql.row_format import encoder_for
from accord.sources.sql.sqlite import statements
from accord.sources.sql.sqlite.catalog import SqliteCatalog
from accord.sources.sql.sqlite.errors import SQLITE_ERRORS, mapped_errors, problem_of
from accord.sources.sql.sqlite.explain import MAX_STEPS, plan_of
from accord.sources.sql.sqlite.hardening import (
    MAX_CACHED_QUERY,
    Authorizer,
    NotCached,
    fold,
    open_connection,
)
from accord.sources.sql.sqlite.statements import Statement, decode_text, text_as_bytes
from accord.sources.sql.sqlite.suggestions import Suggestions
from accord.sources.sql.values import Row, RowEncoder, collect_rows, decode_conditions, from_json

T = TypeVar("T")

_STEPS: Final = 20_000  # of SQLite's virtual machine between two checks of the deadline
_MAX_INTEGER: Final = 1 << 63
_BINDING_COUNTS: Final = re.compile(r"uses (?P<wanted>\d+) and there are (?P<given>\d+)")


class SqliteEngine:
    """One connection, read-only unless its settings say that it writes."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._authorizer = Authorizer(settings.allow)
        self._deadline = monotonic() + settings.timeout
        with mapped_errors(settings):
            self._open()

    def _open(self) -> None:
        self._file = None
        self._connection = open_connection(self._settings)
        self._connection.set_progress_handler(self._is_late, _STEPS)
        if not self._settings.writes:
            self._connection.authorizer = self._authorizer.authorize
        self._encoding = str(self._connection.pragma("encoding"))
        self._file = _identity(self._settings.url)

    def _is_late(self) -> bool:
        return monotonic() > self._deadline

    def _begin(self) -> apsw.Connection:
        """Set the deadline, and open the file again if another one has its name now."""
        self._deadline = monotonic() + self._settings.timeout
        if self._file is None or _identity(self._settings.url) != self._file:
            self._connection.close()
            self._open()
        return self._connection

    def _retry(self, call: Callable[[apsw.Connection], T]) -> T:
        """Call with the connection; again with a new one if it cannot read a changed statements.

        The limits of a query's text also hold for a schema that is read again later.
        """
        try:
            return call(self._begin())
        except apsw.CorruptError:
            self._file = None
        return call(self._begin())

    def tables(self) -> TableNames:
        """Return the tables and views that are allowed."""
        with mapped_errors(self._settings):
            return TableNames(self._retry(self._tables))

    def _tables(self, connection: apsw.Connection) -> list[str]:
        return [
            name for name in statements.table_names(connection) if self._authorizer.allows(name)
        ]

    def describe(self, request: DescribeTable) -> TableDescription:
        """Describe a table; with details, also its keys, indexes and constraints."""
        with mapped_errors(self._settings):
            return self._retry(lambda connection: self._describe(connection, request))

    def _describe(self, connection: apsw.Connection, request: DescribeTable) -> TableDescription:
        name = find_table(request.table_name, self._tables(connection), fold)
        table = statements.describe(connection, name)
        description: dict[str, Any] = msgspec.structs.asdict(table)
        if request.details:
            description |= statements.details(connection, table)
        if self._authorizer.is_restricted:
            description = without_hidden(description, self._catalog(connection))
        return TableDescription(name, msgspec.json.encode(description))

    def select(self, request: SelectRows) -> Rows:
        """Run a query that only reads, and return its rows."""
        bindings = _bindings(request.params)
        return self._read(
            lambda connection: self._select(connection, request, bindings), request.query
        )

    def check(self, request: CheckQuery) -> CheckedQuery:
        """Prepare a query that only reads, and return its columns; their types are not known."""
        columns = self._read(partial(self._check, request=request), request.query)
        return CheckedQuery(columns, [None] * len(columns))

    def line_of(self, error: BaseException, request: CheckQuery) -> int | None:
        """Return the line of a query that an error is in."""
        offset = getattr(error, "error_offset", -1)
        return None if offset < 0 else request.query.encode()[:offset].count(b"\n") + 1

    def _check(self, connection: apsw.Connection, request: CheckQuery) -> list[str]:
        """Return the names of a query's columns; stops before the first step."""

        def stop(*statement: Any) -> bool:
            self._authorizer.check_statement(*statement)
            return False

        bindings = dict.fromkeys(request.params)
        with suppress(apsw.ExecTraceAbort):
            self._execute(connection, request.query, bindings, is_fresh=True, trace=stop)
        return list(RowEncoder(self._authorizer.columns).names)

    def _read(self, run: Callable[[apsw.Connection], T], query: str) -> T:
        """Run a caller's query with the authorizer; errors are raised as Problems."""
        try:
            return self._retry(lambda connection: self._read_with_retry(connection, run))
        except SQLITE_ERRORS as error:
            raise problem_of(error, self._settings, query) from error

    def _read_with_retry(
        self, connection: apsw.Connection, run: Callable[[apsw.Connection], T]
    ) -> T:
        """Run a query; one that is denied runs again with all virtual tables connected.

        A virtual table that connects prepares statements of its own, also some that write. The
        authorizer cannot tell them from those of the query, so they run while it is disabled.
        """
        try:
            return self._read_authorized(connection, run)
        except Problem as problem:
            if not self._authorizer.is_denial(problem):
                raise
        statements.connect_virtual_tables(connection)
        return self._read_authorized(connection, run)

    def _read_authorized(
        self, connection: apsw.Connection, run: Callable[[apsw.Connection], T]
    ) -> T:
        if self._authorizer.is_restricted:
            self._authorizer.set_tables(statements.table_kinds(connection))
        try:
            return run(connection)
        finally:
            self._authorizer.disable()

    def _select(self, connection: apsw.Connection, request: SelectRows, bindings: Any) -> Rows:
        has_invalid_text = False
        try:
            return self._collect(self._run(connection, request.query, bindings), request)
        except UnicodeDecodeError:
            has_invalid_text = True
        except MemoryError:
            pass  # outside of this block, the rows that were read are freed
        if not has_invalid_text:
            cursor = self._run(connection, request.query, bindings)
            return self._collect(cursor, request, one_by_one=True)
        columns = self._authorizer.columns
        cursor = self._run(connection, text_as_bytes(request.query, len(columns)), bindings)
        return self._collect(cursor, request, columns, decode_text(cursor, self._encoding))

    def _run(self, connection: apsw.Connection, query: str, bindings: Any) -> apsw.Cursor:
        """Return the cursor of a query that was checked and has taken its first step."""
        try:
            return self._execute(
                connection, query, bindings, is_fresh=len(query) > MAX_CACHED_QUERY
            )
        except NotCached:
            return self._execute(connection, query, bindings, is_fresh=True)

    def _execute(
        self,
        connection: apsw.Connection,
        query: str,
        bindings: Any,
        *,
        is_fresh: bool,
        trace: Callable[..., bool] | None = None,
    ) -> apsw.Cursor:
        authorizer = self._authorizer
        authorizer.enable(query, is_fresh=is_fresh)
        cursor = connection.cursor()
        cursor.exec_trace = trace or authorizer.check_statement
        try:
            cursor.execute(query, bindings, can_cache=not is_fresh)
        except (apsw.BindingsError, KeyError) as error:
            raise _binding_problem(error) from error
        except apsw.SQLError as error:
            authorizer.disable()
            denial = authorizer.denial_behind(error)
            advised = denial or self._suggestions(connection).problem_of(str(error), query)
            raise advised or error from None
        except apsw.Error as error:
            raise authorizer.denial_behind(error) or error from None
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            raise Problem.validation("query must not have a NUL character") from error
        authorizer.refresh_columns(cursor)
        return cursor

    def _suggestions(self, connection: apsw.Connection) -> Suggestions:
        catalog = self._catalog(connection)
        return Suggestions(
            tables=lambda: self._tables(connection),
            columns=lambda table: [name for name, _ in catalog.columns(table)],
            hidden=catalog.hidden,
            allow=self._settings.allow,
        )

    def _collect(
        self,
        cursor: apsw.Cursor,
        request: SelectRows,
        columns: tuple[str, ...] | None = None,
        rows: Iterator[Row] | None = None,
        *,
        one_by_one: bool = False,
    ) -> Rows:
        rows = cursor if rows is None else rows
        columns = self._authorizer.columns if columns is None else columns
        encoder = encoder_for(columns, request.as_table)
        try:
            if request.skip:
                next(islice(rows, request.skip, request.skip), None)
            max_bytes = self._settings.max_bytes
            return collect_rows(encoder, rows, request.limit, max_bytes, one_by_one=one_by_one)
        except apsw.Error as error:
            raise self._authorizer.denial_behind(error) or error from None
        finally:
            cursor.close(force=True)

    def explore(self, request: SchemaRequest) -> Reply:
        """Return what the schema says: tables, descriptions, matches, names."""
        with mapped_errors(self._settings):
            return self._retry(lambda connection: answer(self._catalog(connection), request))

    def _catalog(self, connection: apsw.Connection) -> SqliteCatalog:
        return SqliteCatalog(connection, self._authorizer, partial(self._sample, connection))

    def _sample(self, connection: apsw.Connection, request: SelectRows) -> Rows:
        run = partial(self._select, request=request, bindings=())
        return self._read_with_retry(connection, run)

    def hidden_tables(self) -> frozenset[str]:
        """Return the tables that are not allowed, in lower case."""
        with mapped_errors(self._settings):
            return self._retry(lambda connection: self._catalog(connection).hidden())

    def explain(self, request: ExplainQuery) -> QueryPlan:
        """Return the plan of a query that only reads."""
        query = f"EXPLAIN QUERY PLAN {request.query}"
        rows = self.select(SelectRows(query, request.params, MAX_STEPS, 0))
        return plan_of(rows.json)

    def insert(self, request: InsertRow) -> ChangeCount:
        """Insert a row, and return its rowid if it has one."""
        with mapped_errors(self._settings):
            connection, table = self._begin_change(request)
            has_id = not request.dry_run and statements.has_rowid(connection, table)
            statement = statements.insert(table, _decode_data(request.data))
            count = statements.COUNT_ONE if statements.is_view(connection, table) else None
            changes = self._change(connection, statement, count, request.dry_run, None)
            return ChangeCount(
                changes, connection.last_insert_rowid() if has_id and changes else None
            )

    def update(self, request: UpdateRows) -> ChangeCount:
        """Update the rows that meet the conditions."""
        with mapped_errors(self._settings):
            connection, table = self._begin_change(request)
            where = decode_conditions(request.where, _decode)
            statement = statements.update(table, _decode_data(request.data), where)
            return self._change_some(connection, table, statement, where, request)

    def delete(self, request: DeleteRows) -> ChangeCount:
        """Delete the rows that meet the conditions."""
        with mapped_errors(self._settings):
            connection, table = self._begin_change(request)
            where = decode_conditions(request.where, _decode)
            statement = statements.delete(table, where)
            return self._change_some(connection, table, statement, where, request)

    def _begin_change(self, request: WriteRequest) -> tuple[apsw.Connection, str]:
        """Return the connection and the table of a change, once it is validated."""
        connection = self._begin()
        table = find_table(request.table_name, self._tables(connection), fold)
        columns = statements.column_names(connection, table)
        has_defaults = partial(statements.has_defaults, connection, table)
        validate_change(request, table, columns, fold, has_defaults)
        return connection, table

    def _change_some(
        self,
        connection: apsw.Connection,
        table: str,
        statement: Statement,
        where: Mapping[str, Any],
        request: UpdateRows | DeleteRows,
    ) -> ChangeCount:
        count = statements.count(table, where) if statements.is_view(connection, table) else None
        changes = self._change(connection, statement, count, request.dry_run, request.max_changes)
        return ChangeCount(changes)

    def _change(
        self,
        connection: apsw.Connection,
        statement: Statement,
        count: Statement | None,
        dry_run: bool,
        max_changes: int | None,
    ) -> int:
        """Run a change in a transaction of its own, and return the number of changed rows.

        `count` is a query for that number where SQLite does not count: in a view, whose triggers
        make the changes.
        """
        connection.execute("BEGIN IMMEDIATE")
        try:
            counted = count and connection.execute(count.sql, count.bindings).get
            connection.execute(statement.sql, statement.bindings)
            changes = int(connection.changes() if counted is None else counted)
            require_max_changes(changes, max_changes)
            if dry_run and connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:
                raise Problem.conflict("FOREIGN KEY constraint failed")
            connection.execute("ROLLBACK" if dry_run else "COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return changes


def _identity(path: str) -> tuple[int, int] | None:
    """Return what identifies the file of this name: another one may have replaced it."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path takes three times as long
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _bindings(params: Params) -> Any:
    if params is None:
        return ()
    if isinstance(params, list):
        return tuple(_decode(value, f"params[{index}]") for index, value in enumerate(params))
    return {name: _decode(value, f"params.{name}") for name, value in params.items()}


def _decode_data(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _decode(value, f"data.{name}") for name, value in values.items()}


def _decode(value: Any, path: str) -> Any:
    """Return a caller's JSON value as SQLite takes it."""
    value = from_json(value, path)
    if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        fault = "is an integer beyond 64 bits"
        raise Problem.validation(f"{path} {fault}", fields=[FieldError(path, fault)])
    return value


def _binding_problem(error: Exception) -> Problem:
    if isinstance(error, KeyError):
        return missing_param(str(error.args[0]))
    if "no name" in str(error):
        return invalid_params("must be a list: the query has placeholders without a name")
    found = _BINDING_COUNTS.search(str(error))
    if found is None:
        return invalid_params("do not fit the query")
    return invalid_params(
        f"has {found['given']} values, and the query has {found['wanted']} placeholders"
    )
