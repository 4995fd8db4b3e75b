"""Saved queries as tools: checked against their database at the start, run in its sandbox."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import Answer, Encoded, Problem
from accord.model.arguments import JsonSchema
from accord.model.tool import Tool
from accord.sources.sql.database import Database
from accord.sources.sql.messages import LINE, CheckedQuery, CheckQuery
from accord.sources.sql.query_definition import SavedQuery
from accord.sources.sql.query_files import read_queries
from accord.sources.sql.row_format import DEFAULT_FORMAT, RowFormat, rows_schema, table_schema
from accord.sources.sql.tokenizer import POSTGRES, SQLITE, tokenize
from accord.sources.sql.tool_schemas import CURSOR, limit_schema
from accord.sources.sql.tools import READS, RowReader, async_tool

_FAULTS: Final = frozenset({"validation", "authorization", "not_found"})
"""Kinds of Problems that a query has itself; all others are of the database."""
_NO_OPERATOR: Final = "operator does not exist"
_CAST: Final = "change the type of a parameter, or cast it: :code::uuid"
_POSITIONAL: Final = {True: "?@$", False: "$"}
"""Signs of parameters without a name that a caller could give, in SQLite and in PostgreSQL."""


def saved_queries(
    database: Database,
    path: str | Path,
    key: bytes | None = None,
    *,
    taken: Collection[str] = (),
) -> list[Tool]:
    """Return a tool for each query in a file or folder; raise ContractError if one cannot run.

    `key` signs cursors, see `accord.Server`; `taken` are names that other tools have already.
    """
    queries = read_queries(Path(path))
    for query in queries:
        _require_valid(query, database, taken)
    if not database.is_sqlite:
        queries = list(map(_with_types, queries))
    found = _check(database, queries)
    reader = RowReader(database, key)
    return [
        _tool(query, columns, database, reader)
        for query, columns in zip(queries, found, strict=True)
    ]


def _require_valid(query: SavedQuery, database: Database, taken: Collection[str]) -> None:
    """Raise on a name, a row limit or a parameter that does not fit the server or the SQL."""
    source, most = query.source, database.options.max_rows
    if query.name.lower() in taken:  # a model mistakes the case
        raise source.fault("the database has a built-in tool of the same name; rename the query")
    if query.limit is not None and query.limit > most:
        raise source.fault(
            f"limit must be at most {most:,}, the rows that --max-rows allows; raise that", "limit"
        )
    declared = {param.name for param in query.params}
    used = set()
    for name, line in _placeholders(query, is_sqlite=database.is_sqlite):
        used.add(name)
        if name not in declared:
            raise source.fault_at(
                source.sql_line(line), f":{name} is not declared; {source.declaration(name)}"
            )
    for name in sorted(declared - used):
        raise source.fault(
            f"parameter {name} is not used; write :{name} in the SQL, or leave it out",
            "parameters",
            name,
        )


def _placeholders(query: SavedQuery, *, is_sqlite: bool) -> list[tuple[str, int]]:
    """Return the name of each `:name` in the SQL, with its line; other kinds are an error."""
    found = []
    next_line = 1
    for token in tokenize(query.sql, SQLITE if is_sqlite else POSTGRES):
        line = next_line
        next_line += token.text.count("\n")
        if token.kind == "parameter":
            found.append((token.text[1:], line))
        elif token.kind == "symbol" and token.text in _POSITIONAL[is_sqlite]:
            raise query.source.fault_at(
                query.source.sql_line(line), f"{token.text} must be a parameter with a name: :city"
            )
    return found


def _with_types(query: SavedQuery) -> SavedQuery:
    """Return a query whose parameters have their types: PostgreSQL cannot infer all of them."""
    types = {param.name: param.postgres_type for param in query.params}
    parts = [
        f"({token.text}::{types[token.text[1:]]})" if token.kind == "parameter" else token.text
        for token in tokenize(query.sql, POSTGRES)
    ]
    return query._replace(sql="".join(parts))


def _check(database: Database, queries: Sequence[SavedQuery]) -> list[CheckedQuery]:
    """Return the columns of each query, as the database prepares it."""
    requests = [CheckQuery(each.sql, [param.name for param in each.params]) for each in queries]
    replies = database.read_blocking(requests)
    for query, reply in zip(queries, replies, strict=True):
        _require_runnable(query, reply)
    return replies


def _require_runnable(query: SavedQuery, reply: CheckedQuery | Problem) -> None:
    if not isinstance(reply, Problem):
        return
    source = query.source
    fault = f"{reply.message}; {reply.remediation}" if reply.remediation else reply.message
    if reply.kind not in _FAULTS:
        raise source.fault(f"could not be checked: {fault}") from reply
    if not fault.endswith("?"):  # else it asks whether another name is meant
        fault += f"; {_CAST if fault.startswith(_NO_OPERATOR) else 'change the SQL'}"
    line = source.sql_line((reply.data or {}).get(LINE))
    raise source.fault_at(line, f"cannot run: {fault}")


def _tool(query: SavedQuery, columns: CheckedQuery, database: Database, reader: RowReader) -> Tool:
    row_format = DEFAULT_FORMAT[query.rows or database.options.rows]
    most = query.limit or database.options.max_rows
    schema: JsonSchema = {
        "type": "object",
        "properties": {
            **{param.name: param.schema() for param in query.params},
            "limit": limit_schema(most),
            "cursor": CURSOR,
        },
        "required": [param.name for param in query.params if param.is_required],
    }
    return async_tool(
        query.name,
        query.description,
        _arguments_type(query),
        _call(query, reader, most, row_format, is_sqlite=database.is_sqlite),
        schema,
        output_of(columns, row_format),
        READS,
    )


def _arguments_type(query: SavedQuery) -> type:
    """Return the type of the tool's arguments: the parameters in their order, limit and cursor."""
    fields: list[Any] = []
    for number, param in enumerate(query.params):
        field = (f"p{number}", param.decoded_type())
        fields.append(field if param.is_required else (*field, None))
    fields.append(("limit", Annotated[int, msgspec.Meta(ge=1)] | None, None))
    fields.append(("cursor", str | None, None))
    return msgspec.defstruct(
        "Arguments",
        fields,
        rename={f"p{number}": param.name for number, param in enumerate(query.params)},
        frozen=True,
        kw_only=True,  # a required one may come after one with a default
        forbid_unknown_fields=True,
    )


def _call(
    query: SavedQuery, reader: RowReader, most: int, row_format: RowFormat, *, is_sqlite: bool
) -> Callable[[Any, object], Any]:
    """Return the function of a tool, which binds arguments and defaults to the query."""
    binders = [
        (param.name, param.binder(is_sqlite=is_sqlite), _default(query, number))
        for number, param in enumerate(query.params)
    ]

    async def call(arguments: Any, _: object) -> Answer[Encoded]:
        *given, limit, cursor = msgspec.structs.astuple(arguments)
        params = {}
        for (name, bind, default), value in zip(binders, given, strict=True):
            chosen = default if value is None else value
            params[name] = None if chosen is None else bind(chosen)
        return await reader.read(
            query.sql,
            params or None,
            limit=most if limit is None else min(limit, most),
            cursor=cursor,
            row_format=row_format,
        )

    return call


def _default(query: SavedQuery, number: int) -> Any:
    """Return the default of a parameter, decoded as a value of a caller is."""
    param = query.params[number]
    if param.default is None:
        return None
    try:
        return msgspec.convert(param.default, param.decoded_type())
    except msgspec.ValidationError as error:
        raise query.source.fault(
            f"parameter {param.name}: default is not valid: {error}",
            "parameters",
            param.name,
            "default",
        ) from error


def output_of(found: CheckedQuery, row_format: RowFormat) -> JsonSchema:
    """Return the schema of the rows: their columns, and the types that the database knows."""
    if row_format != "objects":
        count = len(found.columns)
        return table_schema({"type": "array", "minItems": count, "maxItems": count})
    columns = zip(found.columns, found.types, strict=True)
    properties = {name: _nullable(kind) for name, kind in columns}
    return rows_schema(
        {"type": "object", "properties": properties, "required": list(found.columns)}
    )


def _nullable(kind: str | None) -> JsonSchema:
    return {} if kind is None else {"anyOf": [{"type": kind}, {"type": "null"}]}
