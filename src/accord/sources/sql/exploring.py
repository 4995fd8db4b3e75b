"""The tools of a database that explores: those that each has, some with more, and `explain_query`.

`search_schema` and resources are for all databases of a server together: see `schema_search`.
"""

from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import Answer, Encoded
from accord.model.arguments import JsonSchema
from accord.model.tool import Tool
from accord.sources.sql.database import Database
from accord.sources.sql.messages import (
    DescribeTables,
    ExplainQuery,
    ListTableKinds,
    QueryPlan,
    TableDescriptions,
    TableKinds,
)
from accord.sources.sql.tool_schemas import (
    BOOLEAN,
    LIST_TABLES_INPUT,
    STRING,
    flag,
    input_of,
    list_of,
    output_of,
    query_properties,
    types_of,
)
from accord.sources.sql.tools import READS, async_tool, basic_tools

_MAX_TABLES: Final = 20  # in one description
_MAX_SAMPLE: Final = 20  # rows of a table
_OBJECT: Final[JsonSchema] = {"type": "object"}

_DESCRIBE_INPUT: Final = input_of(
    ["table_name"],
    table_name={
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": STRING, "minItems": 1, "maxItems": _MAX_TABLES},
        ],
        "description": "Name of the table to describe, or a list of names",
    },
    details=flag("Also indexes, constraints and generated columns"),
    sample_rows={
        "type": "integer",
        "minimum": 0,
        "maximum": _MAX_SAMPLE,
        "default": 0,
        "description": "How many of its first rows to show, with long values cut",
    },
)
_KINDS_OUTPUT: Final = list_of(output_of(name=STRING, kind=STRING))
_DESCRIPTIONS_OUTPUT: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "table_name": STRING,
        "kind": STRING,
        "comment": types_of("string", "null"),
        "columns": list_of(
            output_of(name=STRING, type=STRING, not_null=BOOLEAN, primary_key=BOOLEAN)
        ),
        "create_sql": types_of("string", "null"),
        "foreign_keys": list_of(_OBJECT),
        "referenced_by": list_of(_OBJECT),
        "row_estimate": types_of("integer", "null"),
        "row_estimate_is": types_of("string", "null"),
        "tables": list_of(_OBJECT),
    },
}
"""A table, or `tables` if a list of names was given."""


class DescribeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `describe_table`."""

    table_name: str | Annotated[list[str], msgspec.Meta(min_length=1, max_length=_MAX_TABLES)]
    details: bool = False
    sample_rows: Annotated[int, msgspec.Meta(ge=0, le=_MAX_SAMPLE)] = 0


def sql_tools(database: Database, key: bytes | None = None) -> list[Tool]:
    """Return the tools of a database; `key` signs cursors, see `accord.Server`."""
    tools = basic_tools(database, key)
    if not database.options.explore:
        return tools
    exploring = {tool.name: tool for tool in _exploring_tools(database)}
    others = [exploring.pop(tool.name, tool) for tool in tools]
    place = 1 + max(index for index, tool in enumerate(others) if tool.hints.read_only)
    return [*others[:place], *exploring.values(), *others[place:]]


class _Calls:
    """The functions of the tools."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_tables(self, arguments: ListTableKinds, _: object) -> Answer[list[Any]]:
        reply: TableKinds = await self._database.read(arguments)
        message = f"Found {len(reply.tables)} tables:"
        lines = [message, *(f"- {table.name}" for table in reply.tables)]
        data = msgspec.to_builtins(reply.tables)
        return Answer(data, message=message, text="\n".join(lines), name="tables")

    async def describe_table(self, arguments: DescribeArguments, _: object) -> Answer[Encoded]:
        given = arguments.table_name
        names = [given] if isinstance(given, str) else given
        request = DescribeTables(names, arguments.details, arguments.sample_rows)
        reply: TableDescriptions = await self._database.read(request)
        if isinstance(given, str):
            return Answer(
                Encoded(reply.json[0], is_checked=True), message=f"Table: {reply.names[0]}"
            )
        json = b'{"tables":[%s]}' % b",".join(reply.json)
        return Answer(Encoded(json, is_checked=True), message=f"Tables: {', '.join(reply.names)}")

    async def explain_query(self, arguments: ExplainQuery, _: object) -> Answer[Encoded]:
        plan: QueryPlan = await self._database.read(arguments)
        message = "Plan of the query:"
        return Answer(
            Encoded(plan.json, is_checked=True), message=message, text=f"{message}\n{plan.text}"
        )


def _exploring_tools(database: Database) -> list[Tool]:
    calls = _Calls(database)
    product = "SQLite" if database.is_sqlite else "PostgreSQL"
    return [
        async_tool(
            "list_tables",
            f"List all tables and views in the {product} database",
            ListTableKinds,
            calls.list_tables,
            LIST_TABLES_INPUT,
            _KINDS_OUTPUT,
            READS,
        ),
        async_tool(
            "describe_table",
            "Describe the schema of one or several tables: columns, keys both ways, comments,"
            " a row estimate and sample rows",
            DescribeArguments,
            calls.describe_table,
            _DESCRIBE_INPUT,
            _DESCRIPTIONS_OUTPUT,
            READS,
        ),
        async_tool(
            "explain_query",
            f"Show how {product} would execute a SELECT query, without running it"
            + ("" if database.is_sqlite else " unless analyze is true"),
            ExplainQuery,
            calls.explain_query,
            _explain_input(database),
            output_of(plan={}),
            READS,
        ),
    ]


def _explain_input(database: Database) -> JsonSchema:
    properties = query_properties(database)
    if not database.is_sqlite:
        properties["analyze"] = flag("Run the query, and show the number of rows and the time")
    return input_of(["query"], **properties)
