"""The tools of a database, three that read and three that write, and the cursors of `run_query`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec

from accord.model.answer import Answer, Encoded, FieldError, Notice, Page, Problem
from accord.model.arguments import Checker, JsonSchema, ignored, invalid
from accord.model.tool import Bound, Hints, Output, Tool
from accord.signing import BadSignature, Signer
from accord.sources.sql import tool_schemas
from accord.sources.sql.database import Database
from accord.sources.sql.messages import (
    ChangeCount,
    DeleteRows,
    DescribeTable,
    InsertRow,
    ListTables,
    Params,
    Rows,
    SelectRows,
    TableDescription,
    TableNames,
    UpdateRows,
)

T = TypeVar("T")

_READS: Final = Hints(read_only=True)
_ADDS: Final = Hints(read_only=False, destructive=False)
_CHANGES: Final = Hints(read_only=False)
_DESTROYS: Final = Hints(read_only=False, destructive=True)
_DRY_RUN: Final = "Dry run, nothing was changed."

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_PURPOSE: Final = "rows of run_query"
_canonical = msgspec.json.Encoder(order="deterministic").encode


class RunQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `run_query`."""

    query: str
    params: Params = None
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    cursor: str | None = None


def sql_tools(database: Database, key: bytes | None = None) -> list[Tool]:
    """Return the tools of a database; `key` signs cursors, see `accord.Server`."""
    write_tools = [] if database.options.read_only else _write_tools(database)
    return _read_tools(database, key) + write_tools


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    skip: int


class RowCursors:
    """Signs cursors: the number of rows to skip, valid for one query only.

    Servers with the same key can decode each other's.
    """

    def __init__(self, key: bytes | None) -> None:
        self._signer = Signer(key)

    def encode(self, query: str, params: Params, skip: int) -> str:
        """Return a cursor that skips this many rows of a query."""
        return self._signer.sign(
            _PURPOSE, msgspec.json.encode(_Payload(_digest(query, params), skip))
        )

    def decode(self, cursor: str, query: str, params: Params) -> int:
        """Return the number of rows of the query to skip, or raise a Problem."""
        try:
            payload = msgspec.json.decode(self._signer.verify(_PURPOSE, cursor), type=_Payload)
        except BadSignature as error:
            raise _invalid_cursor("was not made by this server") from error
        if payload.digest != _digest(query, params):
            raise _invalid_cursor("belongs to another query or other params")
        return payload.skip


def _digest(query: str, params: Params) -> str:
    from hashlib import blake2b  # slow to import, and most answers have no cursor

    return blake2b(_canonical([query, params]), digest_size=9).hexdigest()


def _invalid_cursor(fault: str) -> Problem:
    field = FieldError("cursor", fault)
    return Problem.validation(f"The cursor {fault}", code="INVALID_CURSOR", fields=[field])


class _ReadCalls:
    """The functions of the tools that read."""

    def __init__(self, database: Database, cursors: RowCursors) -> None:
        self._database = database
        self._cursors = cursors

    async def list_tables(self, arguments: ListTables, _: object) -> Answer[list[str]]:
        reply: TableNames = await self._database.read(arguments)
        message = f"Found {len(reply.names)} tables:"
        lines = [message, *(f"- {name}" for name in reply.names)]
        return Answer(reply.names, message=message, text="\n".join(lines), name="tables")

    async def describe_table(self, arguments: DescribeTable, _: object) -> Answer[Encoded]:
        reply: TableDescription = await self._database.read(arguments)
        return Answer(Encoded(reply.json, is_checked=True), message=f"Table: {reply.table_name}")

    async def run_query(self, arguments: RunQuery, _: object) -> Answer[Encoded]:
        query, params = arguments.query, arguments.params
        skip = 0
        if arguments.cursor is not None:
            skip = self._cursors.decode(arguments.cursor, query, params)
        max_rows = self._database.options.max_rows
        limit = max_rows if arguments.limit is None else min(arguments.limit, max_rows)
        rows: Rows = await self._database.read(SelectRows(query, params, limit, skip))
        return Answer(
            Encoded(rows.json, is_checked=True),
            message=f"Query executed successfully. Found {rows.count} rows:",
            page=self._page(arguments, rows, skip, limit) if rows.has_more or skip else None,
            truncated=rows.has_more,
            warnings=[Notice(notice, code="RENAMED_COLUMNS") for notice in rows.notices],
            name="rows",
        )

    def _page(self, arguments: RunQuery, rows: Rows, skip: int, limit: int) -> Page:
        """Return the position of the rows, with a cursor if there are more."""
        cursor = None
        if rows.has_more:
            cursor = self._cursors.encode(arguments.query, arguments.params, skip + rows.count)
        return Page(offset=skip, limit=limit, has_more=rows.has_more, cursor=cursor)


class _WriteCalls:
    """The functions of the tools that write."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert_row(self, arguments: InsertRow, _: object) -> Answer[dict[str, Any]]:
        reply: ChangeCount = await self._database.write(arguments)
        outcome = _DRY_RUN if arguments.dry_run else "Row inserted successfully."
        row_id = msgspec.json.encode(reply.last_insert_id).decode()
        message = f"{outcome} Last insert ID: {row_id}, Changes: {reply.changes}"
        return _report(message, {"last_insert_id": reply.last_insert_id, "changes": reply.changes})

    async def update_row(self, arguments: UpdateRows, _: object) -> Answer[dict[str, Any]]:
        reply: ChangeCount = await self._database.write(arguments)
        outcome = _DRY_RUN if arguments.dry_run else "Rows updated successfully."
        return _report(f"{outcome} Changes: {reply.changes}", {"changes": reply.changes})

    async def delete_row(self, arguments: DeleteRows, _: object) -> Answer[dict[str, Any]]:
        reply: ChangeCount = await self._database.write(arguments)
        outcome = _DRY_RUN if arguments.dry_run else "Rows deleted successfully."
        return _report(f"{outcome} Changes: {reply.changes}", {"changes": reply.changes})


def _report(message: str, data: dict[str, Any]) -> Answer[dict[str, Any]]:
    """Return an answer whose text is the message alone, without JSON."""
    return Answer(data, message=message, text=message)


def _read_tools(database: Database, key: bytes | None) -> list[Tool]:
    calls = _ReadCalls(database, RowCursors(key))
    product = "SQLite" if database.is_sqlite else "PostgreSQL"
    placeholders = f"a list for {'?' if database.is_sqlite else '$1'}, an object for :name"
    return [
        _tool(
            "list_tables",
            f"List all tables in the {product} database",
            ListTables,
            calls.list_tables,
            tool_schemas.LIST_TABLES,
            tool_schemas.TABLE_NAMES,
            _READS,
        ),
        _tool(
            "describe_table",
            "Describe the schema of a specific table",
            DescribeTable,
            calls.describe_table,
            tool_schemas.DESCRIBE_TABLE,
            tool_schemas.TABLE,
            _READS,
        ),
        _tool(
            "run_query",
            "Run a SELECT query and return results as JSON",
            RunQuery,
            calls.run_query,
            tool_schemas.run_query(placeholders, database.options.max_rows),
            tool_schemas.ROWS,
            _READS,
        ),
    ]


def _write_tools(database: Database) -> list[Tool]:
    calls = _WriteCalls(database)
    return [
        _tool(
            "insert_row",
            "Insert a new row into a table",
            InsertRow,
            calls.insert_row,
            tool_schemas.INSERT_ROW,
            tool_schemas.INSERTED,
            _ADDS,
        ),
        _tool(
            "update_row",
            "Update rows in a table based on a condition",
            UpdateRows,
            calls.update_row,
            tool_schemas.UPDATE_ROW,
            tool_schemas.CHANGES,
            _CHANGES,
        ),
        _tool(
            "delete_row",
            "Delete rows from a table based on a condition",
            DeleteRows,
            calls.delete_row,
            tool_schemas.DELETE_ROW,
            tool_schemas.CHANGES,
            _DESTROYS,
        ),
    ]


def _tool(
    name: str,
    description: str,
    arguments_type: type,
    call: Callable[[Any, Any], Awaitable[Answer[Any]]],
    input_schema: JsonSchema,
    output_schema: JsonSchema,
    hints: Hints,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema=input_schema,
        bind=_binder(name, arguments_type, input_schema),
        invoke=call,
        is_async=True,
        hints=hints,
        output=Output(schema=output_schema, is_loose=False),
    )


def _binder(tool: str, arguments_type: type[T], schema: JsonSchema) -> Callable[[bytes], Bound]:
    """Return a function that decodes arguments, or raises a Problem with every invalid field."""
    decode = msgspec.json.Decoder(arguments_type).decode
    checker = Checker(schema)
    known = schema["properties"]

    def bind(arguments: bytes) -> Bound:
        try:
            return Bound(decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            pass
        try:
            given = _decode_object(arguments)
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(tool, [FieldError("", "must be an object")]) from error
        errors = checker.errors(given)
        if errors:
            raise invalid(tool, errors)
        accepted = {name: value for name, value in given.items() if name in known}
        try:
            bound = msgspec.convert(accepted, arguments_type)
        except msgspec.ValidationError as error:
            raise invalid(tool, [FieldError("", str(error))]) from error
        return Bound(bound, [ignored(name) for name in given if name not in known])

    return bind
