"""A database as six tools, or as the three of them that read."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from accord.answer import Answer, Encoded, Notice, Page
from accord.arguments import JsonSchema
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
from accord.tool import Context, Hints, Output, Tool

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
    return _readers(database, RowCursors(key)) + (
        [] if database.options.read_only else _writers(database)
    )


def _tool(
    name: str,
    description: str,
    takes: JsonSchema,
    kind: type,
    invoke: Callable[[Any, Any], Answer[Any]],
    *,
    hints: Hints,
    returns: JsonSchema,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema=takes,
        bind=binder(name, kind, takes),
        invoke=invoke,
        is_async=False,
        wants_context=True,
        hints=hints,
        output=Output(schema=returns, is_loose=False),
    )


def _readers(database: Database, cursors: RowCursors) -> list[Tool]:
    is_sqlite = database.target.is_sqlite
    product = "SQLite" if is_sqlite else "PostgreSQL"
    places = (
        "a list for ?, an object for :name" if is_sqlite else "a list for $1, an object for :name"
    )
    most = database.options.max_rows

    def list_tables(asked: Tables, context: Context) -> Answer[list[str]]:
        said: Names = database.read(asked, lambda: context.cancelled)
        found = f"Found {len(said.names)} tables:"
        lines = [found, *(f"- {name}" for name in said.names)]
        return Answer(said.names, message=found, text="\n".join(lines), name="tables")

    def describe_table(asked: Describe, context: Context) -> Answer[Encoded]:
        said: Described = database.read(asked, lambda: context.cancelled)
        return Answer(Encoded(said.json, is_checked=True), message=f"Table: {said.table_name}")

    def run_query(asked: RunQuery, context: Context) -> Answer[Encoded]:
        query, params, cursor = asked.query, asked.params, asked.cursor
        skip = 0 if cursor is None else cursors.decode(cursor, query, params)
        limit = most if asked.limit is None else min(asked.limit, most)
        select = Select(query, params, limit, skip)
        said: Rows = database.read(select, lambda: context.cancelled)
        page = None
        if said.has_more or skip:
            after = cursors.encode(query, params, skip + said.count) if said.has_more else None
            page = Page(offset=skip, limit=limit, has_more=said.has_more, cursor=after)
        return Answer(
            Encoded(said.json, is_checked=True),
            message=f"Query executed successfully. Found {said.count} rows:",
            page=page,
            truncated=said.has_more,
            warnings=[Notice(words, code="RENAMED_COLUMNS") for words in said.notices],
            name="rows",
        )

    return [
        _tool(
            "list_tables",
            f"List all tables in the {product} database",
            shapes.LIST_TABLES,
            Tables,
            list_tables,
            hints=_READS,
            returns=shapes.TABLE_NAMES,
        ),
        _tool(
            "describe_table",
            "Describe the schema of a specific table",
            shapes.DESCRIBE_TABLE,
            Describe,
            describe_table,
            hints=_READS,
            returns=shapes.TABLE,
        ),
        _tool(
            "run_query",
            "Run a SELECT query and return results as JSON",
            shapes.run_query(places, most),
            RunQuery,
            run_query,
            hints=_READS,
            returns=shapes.ROWS,
        ),
    ]


def _writers(database: Database) -> list[Tool]:
    def insert_row(asked: Insert, _: Context) -> Answer[dict[str, Any]]:
        said = _changed(database.write(asked))
        own = f"Last insert ID: {_shown(said.last_insert_id)}, Changes: {said.changes}"
        words = f"{_DRY} {own}" if asked.dry_run else f"Row inserted successfully. {own}"
        return _report(words, {"last_insert_id": said.last_insert_id, "changes": said.changes})

    def update_row(asked: Update, _: Context) -> Answer[dict[str, Any]]:
        said = _changed(database.write(asked))
        done = _DRY if asked.dry_run else "Rows updated successfully."
        return _report(f"{done} Changes: {said.changes}", {"changes": said.changes})

    def delete_row(asked: Delete, _: Context) -> Answer[dict[str, Any]]:
        said = _changed(database.write(asked))
        done = _DRY if asked.dry_run else "Rows deleted successfully."
        return _report(f"{done} Changes: {said.changes}", {"changes": said.changes})

    return [
        _tool(
            "insert_row",
            "Insert a new row into a table",
            shapes.INSERT_ROW,
            Insert,
            insert_row,
            hints=_ADDS,
            returns=shapes.INSERTED,
        ),
        _tool(
            "update_row",
            "Update rows in a table based on a condition",
            shapes.UPDATE_ROW,
            Update,
            update_row,
            hints=_CHANGES,
            returns=shapes.CHANGES,
        ),
        _tool(
            "delete_row",
            "Delete rows from a table based on a condition",
            shapes.DELETE_ROW,
            Delete,
            delete_row,
            hints=_DESTROYS,
            returns=shapes.CHANGES,
        ),
    ]


def _changed(said: Any) -> Changed:
    assert isinstance(said, Changed)
    return said


def _report(words: str, data: dict[str, Any]) -> Answer[dict[str, Any]]:
    """A report of changes is a sentence and no JSON."""
    return Answer(data, message=words, text=words)


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
