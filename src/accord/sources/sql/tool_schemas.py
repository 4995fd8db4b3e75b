"""Input and output schemas of the six tools."""

from typing import Final

from accord.model.arguments import JsonSchema


def _text(description: str) -> JsonSchema:
    return {"type": "string", "description": description}


def _object(description: str) -> JsonSchema:
    return {"type": "object", "description": description}


def _any_of(*kinds: str) -> JsonSchema:
    """Return a schema of several types; some clients do not know `"type": [...]`."""
    return {"anyOf": [{"type": kind} for kind in kinds]}


def _flag(description: str) -> JsonSchema:
    return {"type": "boolean", "description": description, "default": False}


def _count(description: str) -> JsonSchema:
    return {"type": "integer", "minimum": 0, "description": description}


def _input(required: list[str], **properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": required}


_PARAMETER: Final = _any_of("string", "number", "boolean", "null", "object")
"""The type of a parameter; some model APIs refuse an array without a type of its items."""
_DRY_RUN: Final = _flag("Tell how many rows would change, and change none")
_MAX_CHANGES: Final = _count("Change nothing if it would be more rows than this")
_WHERE: Final = "WHERE conditions (column: value pairs)"

LIST_TABLES: Final = _input([])
DESCRIBE_TABLE: Final = _input(
    ["table_name"],
    table_name=_text("Name of the table to describe"),
    details=_flag("Also foreign keys, indexes, constraints, generated columns and a row count"),
)
INSERT_ROW: Final = _input(
    ["table_name", "data"],
    table_name=_text("Name of the table to insert into"),
    data=_object("Column names and values to insert"),
    dry_run=_DRY_RUN,
)
UPDATE_ROW: Final = _input(
    ["table_name", "data", "where"],
    table_name=_text("Name of the table to update"),
    data=_object("Column names and new values"),
    where=_object(_WHERE),
    dry_run=_DRY_RUN,
    max_changes=_MAX_CHANGES,
)
DELETE_ROW: Final = _input(
    ["table_name", "where"],
    table_name=_text("Name of the table to delete from"),
    where=_object(_WHERE),
    dry_run=_DRY_RUN,
    max_changes=_MAX_CHANGES,
)


def run_query(placeholders: str, max_rows: int) -> JsonSchema:
    """Return the input schema of `run_query`; engines differ in how a query names parameters."""
    return _input(
        ["query"],
        query=_text("SQL SELECT query to execute"),
        params={
            "anyOf": [{"type": "array", "items": _PARAMETER}, {"type": "object"}],
            "description": f"Values for the places in the query: {placeholders}",
        },
        limit={
            "type": "integer",
            "minimum": 1,
            "description": f"The most rows to return, up to {max_rows:,}",
        },
        cursor=_text("The cursor of the rows before, to go on behind them"),
    )


def _output(**properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list_of(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


_STRING: Final[JsonSchema] = {"type": "string"}
_BOOLEAN: Final[JsonSchema] = {"type": "boolean"}
_NULLABLE_STRING: Final = _any_of("string", "null")

TABLE_NAMES: Final = _list_of(_STRING)
TABLE: Final = _output(
    table_name=_STRING,
    columns=_list_of(
        _output(
            name=_STRING,
            type=_STRING,
            not_null=_BOOLEAN,
            primary_key=_BOOLEAN,
            default_value=_NULLABLE_STRING,
        )
    ),
    create_sql=_NULLABLE_STRING,
)
ROWS: Final = _list_of({"type": "object"})
CHANGES: Final = _output(changes={"type": "integer"})
INSERTED: Final = _output(
    last_insert_id=_any_of("integer", "string", "null"), changes={"type": "integer"}
)
