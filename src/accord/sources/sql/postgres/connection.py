"""One connection to a PostgreSQL database, and what can be asked of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any

import msgspec
import psycopg
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

from accord.model.answer import Problem
from accord.sources.sql.messages import (
    Changed,
    Delete,
    Describe,
    Described,
    Insert,
    Names,
    Rows,
    Select,
    Settings,
    Update,
    Writing,
)
from accord.sources.sql.names import find_table
from accord.sources.sql.postgres import reading, schema
from accord.sources.sql.postgres.faults import TOO_LARGE, in_doubt, problems
from accord.sources.sql.postgres.fence import Fence
from accord.sources.sql.postgres.role import warn_of_powers
from accord.sources.sql.postgres.values import prepare, taken
from accord.sources.sql.writes import conditions, require_few, require_sense


class PostgresEngine:
    """Asks one database, each time in a transaction of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        with problems(settings):
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
        event.listen(self._engine, "connect", lambda driver, _: prepare(driver))
        if not settings.writes:
            event.listen(
                self._engine, "connect", lambda driver, _: warn_of_powers(driver), once=True
            )
        self._fence = Fence(self._engine, settings)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """A transaction that leaves nothing behind unless it is committed."""
        with problems(self._settings), self._engine.connect() as connection:
            reading.begin(connection, self._settings)
            yield connection

    def tables(self) -> Names:
        """The tables and views that may be seen."""
        with self._begin() as connection:
            return Names(self._tables(connection))

    def _tables(self, connection: Connection) -> list[str]:
        return [name for name in schema.table_names(connection) if self._fence.allows(name)]

    def describe(self, asked: Describe) -> Described:
        """A table, and on demand what it is bound by."""
        with self._begin() as connection:
            name = find_table(asked.table_name, self._tables(connection))
            said = schema.describe(connection, name)
            if asked.details:
                said |= schema.details(connection, name)
            return Described(name, msgspec.json.encode(said))

    def select(self, asked: Select) -> Rows:
        """The rows of a query, if it is one that reads."""
        try:
            return self._select(asked)
        except Problem as problem:
            if problem.code != TOO_LARGE:
                raise
        return self._select(asked, one_by_one=True)

    def _select(self, asked: Select, *, one_by_one: bool = False) -> Rows:
        with self._begin() as connection:
            driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment] # ours is psycopg
            tables = partial(self._tables, connection)
            try:
                return self._fence.read(driver, asked, tables, one_by_one=one_by_one)
            finally:
                reading.end(driver)

    def insert(self, asked: Insert) -> Changed:
        """A new row, and its key where that is one column."""
        with self._begin() as connection:
            name, columns = self._find(connection, asked)
            statement: Any = insert(_table(name, columns)).values(_data(asked.data, columns))
            key = schema.key_of(connection, name)
            if len(key) == 1:
                statement = statement.returning(column(key[0]))
            result = connection.execute(statement, execution_options={"preserve_rowcount": True})
            changes = result.rowcount
            found = result.scalar() if len(key) == 1 else None
            is_known = isinstance(found, int | str) or found is None
            self._end(connection, is_dry=asked.dry_run)
            return Changed(changes, None if asked.dry_run else found if is_known else str(found))

    def update(self, asked: Update) -> Changed:
        """New values in some rows."""
        with self._begin() as connection:
            name, columns = self._find(connection, asked)
            statement = update(_table(name, columns)).values(_data(asked.data, columns))
            statement = statement.where(_meets(asked.where))
            return self._change(connection, statement, asked)

    def delete(self, asked: Delete) -> Changed:
        """Some rows less."""
        with self._begin() as connection:
            name, columns = self._find(connection, asked)
            statement = delete(_table(name, columns)).where(_meets(asked.where))
            return self._change(connection, statement, asked)

    def _find(self, connection: Connection, asked: Writing) -> tuple[str, list[schema.Column]]:
        """The table that is meant, once the change makes sense."""
        name = find_table(asked.table_name, self._tables(connection))
        columns = schema.columns_of(connection, name)
        require_sense(asked, name, [each.name for each in columns], str)
        return name, columns

    def _change(
        self, connection: Connection, statement: UpdateBase, asked: Update | Delete
    ) -> Changed:
        changes = connection.execute(statement).rowcount
        require_few(changes, asked.max_changes)
        self._end(connection, is_dry=asked.dry_run)
        return Changed(changes)

    def _end(self, connection: Connection, *, is_dry: bool) -> None:
        if is_dry:
            connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
            connection.rollback()
            return
        try:
            connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise in_doubt() from error
            raise


def _table(name: str, columns: list[schema.Column]) -> Any:
    return table(name, *(column(each.name) for each in columns))


def _data(data: dict[str, Any], columns: list[schema.Column]) -> dict[str, Any]:
    kinds = {each.name: each for each in columns}
    return {
        name: taken(value, f"data.{name}", is_json=kinds[name].is_json, is_list=kinds[name].is_list)
        for name, value in data.items()
    }


def _meets(where: dict[str, Any]) -> ColumnElement[bool]:
    return and_(*(_condition(column(name), value) for name, value in conditions(where).items()))


def _condition(of: Any, value: Any) -> Any:
    """A value has no type but the column's: text may mean a number, a date, an id."""
    if not isinstance(value, list):
        return of.is_(None) if value is None else of == literal(value, NullType())
    known = [each for each in value if each is not None]
    has = of.in_(literal(each, NullType()) for each in known)
    return has if len(known) == len(value) else has | of.is_(None)
