"""One connection to an SQLite database, and what can be asked of it."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from time import monotonic
from typing import Any, Final, TypeVar

import apsw
import msgspec

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import (
    Changed,
    Delete,
    Describe,
    Described,
    Insert,
    Names,
    Params,
    Rows,
    Select,
    Settings,
    Update,
    Writing,
)
from accord.sources.sql.names import find_table
from accord.sources.sql.refusals import misbound, unbound, unknown_table
from accord.sources.sql.rows import Row, collect, sheet_of
from accord.sources.sql.sqlite import schema, writing
from accord.sources.sql.sqlite.faults import FAULTS, problem_of, problems
from accord.sources.sql.sqlite.guard import CACHED, Forgotten, Guard, fold
from accord.sources.sql.sqlite.oddtext import texts_as_bytes, texts_from_bytes
from accord.sources.sql.sqlite.opening import open_connection
from accord.sources.sql.sqlite.writing import Statement
from accord.sources.sql.values import unmarked
from accord.sources.sql.writes import conditions, require_few, require_sense

T = TypeVar("T")

_STEPS: Final = 20_000  # of SQLite's machine between two looks at the clock
_INTEGERS: Final = 1 << 63
_COUNTS: Final = re.compile(r"uses (?P<wanted>\d+) and there are (?P<given>\d+)")


class SqliteEngine:
    """One connection, which can do nothing but read unless its settings say that it writes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = Guard(settings.allow)
        self._deadline = monotonic() + settings.timeout
        with problems(settings):
            self._open()

    def _open(self) -> None:
        self._file = None
        self._connection = open_connection(self._settings)
        self._connection.set_progress_handler(self._is_late, _STEPS)
        if not self._settings.writes:
            self._connection.authorizer = self._guard.authorize
        self._encoding = str(self._connection.pragma("encoding"))
        self._file = _identity(self._settings.url)

    def _is_late(self) -> bool:
        return monotonic() > self._deadline

    def _begin(self) -> apsw.Connection:
        """The connection, to the file that has the name now, with the clock set."""
        self._deadline = monotonic() + self._settings.timeout
        if self._file is None or _identity(self._settings.url) != self._file:
            self._connection.close()
            self._open()
        return self._connection

    def _ask(self, ask: Callable[[apsw.Connection], T]) -> T:
        """What the connection says; a new one where this cannot read what others have changed.

        For the limits of a stranger's text also hold for tables that it gets to know later.
        """
        try:
            return ask(self._begin())
        except apsw.CorruptError:
            self._file = None
        return ask(self._begin())

    def tables(self) -> Names:
        """The tables and views that may be seen."""
        with problems(self._settings):
            return Names(self._ask(self._tables))

    def _tables(self, connection: apsw.Connection) -> list[str]:
        return [name for name in schema.table_names(connection) if self._guard.allows(name)]

    def describe(self, asked: Describe) -> Described:
        """A table, and on demand what it is bound by."""
        with problems(self._settings):
            return self._ask(lambda connection: self._describe(connection, asked))

    def _describe(self, connection: apsw.Connection, asked: Describe) -> Described:
        name = find_table(asked.table_name, self._tables(connection), fold)
        table = schema.describe(connection, name)
        said: Any = table
        if asked.details:
            said = msgspec.structs.asdict(table) | schema.details(connection, table)
        return Described(name, msgspec.json.encode(said))

    def select(self, asked: Select) -> Rows:
        """The rows of a query, if it is one that reads."""
        bindings = _bindings(asked.params)
        try:
            return self._ask(lambda connection: self._guarded(connection, asked, bindings))
        except FAULTS as error:
            raise problem_of(error, self._settings, asked.query) from error

    def _guarded(self, connection: apsw.Connection, asked: Select, bindings: Any) -> Rows:
        """Run a query under the guard; one that is refused runs again with all tables connected.

        A virtual table that connects prepares statements of its own, also some that write. The
        guard cannot tell them from those of the query, so they are prepared while it is off.
        """
        try:
            return self._judged(connection, asked, bindings)
        except Problem as problem:
            if not self._guard.has_raised(problem):
                raise
        schema.connect_virtual_tables(connection)
        return self._judged(connection, asked, bindings)

    def _judged(self, connection: apsw.Connection, asked: Select, bindings: Any) -> Rows:
        if self._guard.is_fence:
            self._guard.learn(schema.kinds(connection))
        try:
            return self._select(connection, asked, bindings)
        finally:
            self._guard.end()

    def _select(self, connection: apsw.Connection, asked: Select, bindings: Any) -> Rows:
        is_odd = False
        try:
            return self._collect(self._run(connection, asked.query, bindings), asked)
        except UnicodeDecodeError:
            is_odd = True
        except MemoryError:
            pass  # outside of this block the rows that were read are gone
        if not is_odd:
            cursor = self._run(connection, asked.query, bindings)
            return self._collect(cursor, asked, one_by_one=True)
        columns = self._guard.columns
        cursor = self._run(connection, texts_as_bytes(asked.query, len(columns)), bindings)
        return self._collect(cursor, asked, columns, texts_from_bytes(cursor, self._encoding))

    def _run(self, connection: apsw.Connection, query: str, bindings: Any) -> apsw.Cursor:
        """A query that has been judged, and has taken its first step."""
        try:
            return self._execute(connection, query, bindings, is_fresh=len(query) > CACHED)
        except Forgotten:
            return self._execute(connection, query, bindings, is_fresh=True)

    def _execute(
        self, connection: apsw.Connection, query: str, bindings: Any, *, is_fresh: bool
    ) -> apsw.Cursor:
        guard = self._guard
        guard.begin(query, is_fresh=is_fresh)
        cursor = connection.cursor()
        cursor.exec_trace = guard.judge
        try:
            cursor.execute(query, bindings, can_cache=not is_fresh)
        except (apsw.BindingsError, KeyError) as error:
            raise _misbound(error) from error
        except apsw.SQLError as error:
            guard.end()
            refusal = guard.refusal_behind(error)
            raise refusal or self._unknown_table(connection, error) or error from None
        except apsw.Error as error:
            raise guard.refusal_behind(error) or error from None
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            raise Problem.validation("query has a NUL character in it") from error
        guard.look_again(cursor)
        return cursor

    def _unknown_table(self, connection: apsw.Connection, error: apsw.SQLError) -> Problem | None:
        """A table that is not there, in SQLite's words, with what there is instead."""
        words = str(error)
        name = words.removeprefix("no such table: ")
        if name == words:
            return None
        return unknown_table(words, name, self._tables(connection))

    def _collect(
        self,
        cursor: apsw.Cursor,
        asked: Select,
        columns: tuple[str, ...] | None = None,
        rows: Iterator[Row] | None = None,
        *,
        one_by_one: bool = False,
    ) -> Rows:
        rows = cursor if rows is None else rows
        sheet = sheet_of(self._guard.columns if columns is None else columns)
        try:
            if asked.skip:
                next(islice(rows, asked.skip, asked.skip), None)
            room = self._settings.max_bytes
            return collect(sheet, rows, asked.most, room, one_by_one=one_by_one)
        except apsw.Error as error:
            raise self._guard.refusal_behind(error) or error from None
        finally:
            cursor.close(force=True)

    def insert(self, asked: Insert) -> Changed:
        """A new row, and its id where it has one."""
        with problems(self._settings):
            connection, table = self._begin_change(asked)
            has_id = not asked.dry_run and schema.has_rowid(connection, table)
            statement = writing.insert(table, _taken(asked.data))
            counting = writing.ONE if schema.is_view(connection, table) else None
            changes = self._change(connection, statement, counting, asked.dry_run, None)
            return Changed(changes, connection.last_insert_rowid() if has_id and changes else None)

    def update(self, asked: Update) -> Changed:
        """New values in some rows."""
        with problems(self._settings):
            connection, table = self._begin_change(asked)
            where = conditions(asked.where, _take)
            statement = writing.update(table, _taken(asked.data), where)
            return self._change_some(connection, table, statement, where, asked)

    def delete(self, asked: Delete) -> Changed:
        """Some rows less."""
        with problems(self._settings):
            connection, table = self._begin_change(asked)
            where = conditions(asked.where, _take)
            statement = writing.delete(table, where)
            return self._change_some(connection, table, statement, where, asked)

    def _begin_change(self, asked: Writing) -> tuple[apsw.Connection, str]:
        """The connection, and the table that is meant, once the change makes sense."""
        connection = self._begin()
        table = find_table(asked.table_name, self._tables(connection), fold)
        require_sense(asked, table, schema.column_names(connection, table), fold)
        return connection, table

    def _change_some(
        self,
        connection: apsw.Connection,
        table: str,
        statement: Statement,
        where: Mapping[str, Any],
        asked: Update | Delete,
    ) -> Changed:
        counting = writing.count(table, where) if schema.is_view(connection, table) else None
        most = asked.max_changes
        return Changed(self._change(connection, statement, counting, asked.dry_run, most))

    def _change(
        self,
        connection: apsw.Connection,
        statement: Statement,
        counting: Statement | None,
        is_dry: bool,
        most: int | None,
    ) -> int:
        """Run a change in a transaction of its own: all of it, or nothing.

        `counting` tells how many rows it is for, where SQLite does not: of a view, whose triggers
        do the work.
        """
        connection.execute("BEGIN IMMEDIATE")
        try:
            counted = counting and connection.execute(counting.sql, counting.bindings).get
            connection.execute(statement.sql, statement.bindings)
            changes = int(connection.changes() if counted is None else counted)
            require_few(changes, most)
            if is_dry and connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:
                raise Problem.conflict("FOREIGN KEY constraint failed")
            connection.execute("ROLLBACK" if is_dry else "COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return changes


def _identity(path: str) -> tuple[int, int] | None:
    """Which file has a name: another one may have taken its place."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path takes three times as long
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bindings(params: Params) -> Any:
    if params is None:
        return ()
    if isinstance(params, list):
        return tuple(_take(value, f"params[{index}]") for index, value in enumerate(params))
    return {name: _take(value, f"params.{name}") for name, value in params.items()}


def _taken(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _take(value, f"data.{name}") for name, value in values.items()}


def _take(value: Any, path: str) -> Any:
    """A value as SQLite takes it."""
    value = unmarked(value, path)
    if isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS:
        fault = "is an integer beyond 64 bits"
        raise Problem.validation(f"{path} {fault}", fields=[FieldError(path, fault)])
    return value


def _misbound(error: Exception) -> Problem:
    if isinstance(error, KeyError):
        return unbound(str(error.args[0]))
    if "no name" in str(error):
        return misbound("must be a list: the query has places without a name")
    found = _COUNTS.search(str(error))
    if found is None:
        return misbound("do not fit the query")
    return misbound(f"has {found['given']} values, and the query has {found['wanted']} places")
