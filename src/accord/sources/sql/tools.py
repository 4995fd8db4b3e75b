"""The tools of a database, three that read and three that write, and the cursors of `run_query`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec

from accord.model.answer import Answer, Encoded, FieldError, Notice, Page, Problem
from accord.model.arguments import Checker, JsonSchema, ignored, invalid
from accord.model.tool import Bound, Hints, Output, Tool
from accord.signing import BadSignature, Signer, bound
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
from accord.sources.sql.row_format import (
    DEFAULT_FORMAT,
    RowFormat,
    data_of,
)
from accord.sources.sql.tool_schemas import (
    CHANGES_OUTPUT,
    DELETE_ROW_INPUT,
    DESCRIBE_TABLE_INPUT,
    INSERT_ROW_INPUT,
    INSERTED_OUTPUT,
    LIST_TABLES_INPUT,
    ROWS_OUTPUT,
    TABLE_NAMES_OUTPUT,
    TABLE_OUTPUT,
    UPDATE_ROW_INPUT,
    run_query_input,
)

T = TypeVar("T")

READS: Final = Hints(read_only=True)
"""Hints of a tool that reads."""
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
    format: RowFormat | None = None


def basic_tools(database: Database, key: bytes | None = None) -> list[Tool]:
    """Return the tools that each database has; `key` signs cursors, see `accord.Server`."""
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
            bound(_PURPOSE), msgspec.json.encode(_Payload(_digest(query, params), skip))
        )

    def decode(self, cursor: str, query: str, params: Params) -> int:
        """Return the number of rows of the query to skip, or raise a Problem."""
        try:
            payload = msgspec.json.decode(
                self._signer.verify(bound(_PURPOSE), cursor), type=_Payload
            )
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


class RowReader:
    """Runs queries, and returns their rows page by page."""

    def __init__(self, database: Database, key: bytes | None) -> None:
        self._database = database
        self._cursors = RowCursors(key)

    async def read(
        self,
        query: str,
        params: Params,
        *,
        limit: int,
        cursor: str | None,
        row_format: RowFormat,
    ) -> Answer[Encoded]:
        """Return the rows of a query behind a cursor, or the first ones."""
        skip = 0 if cursor is None else self._cursors.decode(cursor, query, params)
        request = SelectRows(query, params, limit, skip, row_format != "objects")
        rows: Rows = await self._database.read(request)
        page = None
        if rows.has_more or skip:
            following = None
            if rows.has_more:
                following = self._cursors.encode(query, params, skip + rows.count)
            page = Page(offset=skip, limit=limit, has_more=rows.has_more, cursor=following)
        return Answer(
            data_of(rows, row_format),
            message=f"Query executed successfully. Found {rows.count} rows:",
            page=page,
            truncated=rows.has_more,
            warnings=[Notice(notice, code="RENAMED_COLUMNS") for notice in rows.notices],
            name="rows",
        )


class _ReadCalls:
    """The functions of the tools that read."""

    def __init__(self, database: Database, key: bytes | None) -> None:
        self._database = database
        self._reader = RowReader(database, key)
        self._max_rows = database.options.max_rows
        self._row_format = DEFAULT_FORMAT[database.options.rows]

    async def list_tables(self, arguments: ListTables, _: object) -> Answer[list[str]]:
        reply: TableNames = await self._database.read(arguments)
        message = f"Found {len(reply.names)} tables:"
        lines = [message, *(f"- {name}" for name in reply.names)]
        return Answer(reply.names, message=message, text="\n".join(lines), name="tables")

    async def describe_table(self, arguments: DescribeTable, _: object) -> Answer[Encoded]:
        reply: TableDescription = await self._database.read(arguments)
        return Answer(Encoded(reply.json, is_checked=True), message=f"Table: {reply.table_name}")

    async def run_query(self, arguments: RunQuery, _: object) -> Answer[Encoded]:
        most = self._max_rows
        return await self._reader.read(
            arguments.query,
            arguments.params,
            limit=most if arguments.limit is None else min(arguments.limit, most),
            cursor=arguments.cursor,
            row_format=arguments.format or self._row_format,
        )


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
    calls = _ReadCalls(database, key)
    product = "SQLite" if database.is_sqlite else "PostgreSQL"
    return [
        async_tool(
            "list_tables",
            f"List all tables in the {product} database",
            ListTables,
            calls.list_tables,
            LIST_TABLES_INPUT,
            TABLE_NAMES_OUTPUT,
            READS,
        ),
        async_tool(
            "describe_table",
            "Describe the schema of a specific table",
            DescribeTable,
            calls.describe_table,
            DESCRIBE_TABLE_INPUT,
            TABLE_OUTPUT,
            READS,
        ),
        async_tool(
            "run_query",
            "Run a SELECT query and return results as JSON",
            RunQuery,
            calls.run_query,
            run_query_input(database),
            ROWS_OUTPUT,
            READS,
        ),
    ]


def _write_tools(database: Database) -> list[Tool]:
    calls = _WriteCalls(database)
    return [
        async_tool(
            "insert_row",
            "Insert a new row into a table",
            InsertRow,
            calls.insert_row,
            INSERT_ROW_INPUT,
            INSERTED_OUTPUT,
            _ADDS,
        ),
        async_tool(
            "update_row",
            "Update rows in a table based on a condition",
            UpdateRows,
            calls.update_row,
            UPDATE_ROW_INPUT,
            CHANGES_OUTPUT,
            _CHANGES,
        ),
        async_tool(
            "delete_row",
            "Delete rows from a table based on a condition",
            DeleteRows,
            calls.delete_row,
            DELETE_ROW_INPUT,
            CHANGES_OUTPUT,
            _DESTROYS,
        ),
    ]


def async_tool(
    name: str,
    description: str,
    arguments_type: type,
    call: Callable[[Any, Any], Awaitable[Answer[Any]]],
    input_schema: JsonSchema,
    output_schema: JsonSchema,
    hints: Hints,
) -> Tool:
    """Return a tool whose function takes arguments of a type."""
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
        return Bound(bound, ignored(name for name in given if name not in known))

    return bind
