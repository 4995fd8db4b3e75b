"""A database as six tools, or as the three of them that read."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import Answer, Encoded, Notice, Page
from accord.model.arguments import JsonSchema
from accord.model.tool import Hints, Output, Tool
from accord.sources.sql import shapes
from accord.sources.sql.binding import binder
from accord.sources.sql.cursors import RowCursors
from accord.sources.sql.database import Database
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
    Tables,
    Update,
)

_READS: Final = Hints(read_only=True)
_ADDS: Final = Hints(read_only=False, destructive=False)
_CHANGES: Final = Hints(read_only=False)
_DESTROYS: Final = Hints(read_only=False, destructive=True)
_DRY: Final = "Dry run, nothing was changed."


class RunQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `run_query` takes."""

    query: str
    params: Params = None
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    cursor: str | None = None


def sql_tools(database: Database, key: bytes | None = None) -> list[Tool]:
    """The tools of a database; `key` signs cursors, see `accord.Server`."""
    writing = [] if database.options.read_only else _writing(database)
    return _reading(database, key) + writing


class _Readers:
    """The calls that read."""

    def __init__(self, database: Database, cursors: RowCursors) -> None:
        self._database = database
        self._cursors = cursors

    async def list_tables(self, asked: Tables, _: object) -> Answer[list[str]]:
        said: Names = await self._database.read(asked)
        found = f"Found {len(said.names)} tables:"
        lines = [found, *(f"- {name}" for name in said.names)]
        return Answer(said.names, message=found, text="\n".join(lines), name="tables")

    async def describe_table(self, asked: Describe, _: object) -> Answer[Encoded]:
        said: Described = await self._database.read(asked)
        return Answer(Encoded(said.json, is_checked=True), message=f"Table: {said.table_name}")

    async def run_query(self, asked: RunQuery, _: object) -> Answer[Encoded]:
        skip = 0
        if asked.cursor is not None:
            skip = self._cursors.decode(asked.cursor, asked.query, asked.params)
        most = self._database.options.max_rows
        limit = most if asked.limit is None else min(asked.limit, most)
        select = Select(asked.query, asked.params, limit, skip)
        said: Rows = await self._database.read(select)
        return Answer(
            Encoded(said.json, is_checked=True),
            message=f"Query executed successfully. Found {said.count} rows:",
            page=self._page(asked, said, skip, limit) if said.has_more or skip else None,
            truncated=said.has_more,
            warnings=[Notice(words, code="RENAMED_COLUMNS") for words in said.notices],
            name="rows",
        )

    def _page(self, asked: RunQuery, said: Rows, skip: int, limit: int) -> Page:
        """Where the rows stand, and a cursor to those behind them."""
        after = None
        if said.has_more:
            after = self._cursors.encode(asked.query, asked.params, skip + said.count)
        return Page(offset=skip, limit=limit, has_more=said.has_more, cursor=after)


class _Writers:
    """The calls that write."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert_row(self, asked: Insert, _: object) -> Answer[dict[str, Any]]:
        said: Changed = await self._database.write(asked)
        done = _DRY if asked.dry_run else "Row inserted successfully."
        new = msgspec.json.encode(said.last_insert_id).decode()
        words = f"{done} Last insert ID: {new}, Changes: {said.changes}"
        return _report(words, {"last_insert_id": said.last_insert_id, "changes": said.changes})

    async def update_row(self, asked: Update, _: object) -> Answer[dict[str, Any]]:
        said: Changed = await self._database.write(asked)
        done = _DRY if asked.dry_run else "Rows updated successfully."
        return _report(f"{done} Changes: {said.changes}", {"changes": said.changes})

    async def delete_row(self, asked: Delete, _: object) -> Answer[dict[str, Any]]:
        said: Changed = await self._database.write(asked)
        done = _DRY if asked.dry_run else "Rows deleted successfully."
        return _report(f"{done} Changes: {said.changes}", {"changes": said.changes})


def _report(words: str, data: dict[str, Any]) -> Answer[dict[str, Any]]:
    """A report of changes is a sentence and no JSON."""
    return Answer(data, message=words, text=words)


def _reading(database: Database, key: bytes | None) -> list[Tool]:
    calls = _Readers(database, RowCursors(key))
    is_sqlite = database.target.is_sqlite
    product = "SQLite" if is_sqlite else "PostgreSQL"
    places = f"a list for {'?' if is_sqlite else '$1'}, an object for :name"
    return [
        _tool(
            "list_tables",
            f"List all tables in the {product} database",
            Tables,
            calls.list_tables,
            shapes.LIST_TABLES,
            shapes.TABLE_NAMES,
            _READS,
        ),
        _tool(
            "describe_table",
            "Describe the schema of a specific table",
            Describe,
            calls.describe_table,
            shapes.DESCRIBE_TABLE,
            shapes.TABLE,
            _READS,
        ),
        _tool(
            "run_query",
            "Run a SELECT query and return results as JSON",
            RunQuery,
            calls.run_query,
            shapes.run_query(places, database.options.max_rows),
            shapes.ROWS,
            _READS,
        ),
    ]


def _writing(database: Database) -> list[Tool]:
    calls = _Writers(database)
    return [
        _tool(
            "insert_row",
            "Insert a new row into a table",
            Insert,
            calls.insert_row,
            shapes.INSERT_ROW,
            shapes.INSERTED,
            _ADDS,
        ),
        _tool(
            "update_row",
            "Update rows in a table based on a condition",
            Update,
            calls.update_row,
            shapes.UPDATE_ROW,
            shapes.CHANGES,
            _CHANGES,
        ),
        _tool(
            "delete_row",
            "Delete rows from a table based on a condition",
            Delete,
            calls.delete_row,
            shapes.DELETE_ROW,
            shapes.CHANGES,
            _DESTROYS,
        ),
    ]


def _tool(
    name: str,
    description: str,
    asks: type,
    call: Callable[[Any, Any], Awaitable[Answer[Any]]],
    takes: JsonSchema,
    returns: JsonSchema,
    hints: Hints,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema=takes,
        bind=binder(name, asks, takes),
        invoke=call,
        is_async=True,
        hints=hints,
        output=Output(schema=returns, is_loose=False),
    )
