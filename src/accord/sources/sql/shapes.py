"""The schemas of the six tools: what they take, and what they return."""

from typing import Final

from accord.model.arguments import JsonSchema


def _text(description: str) -> JsonSchema:
    return {"type": "string", "description": description}


def _object(description: str) -> JsonSchema:
    return {"type": "object", "description": description}


def _either(*kinds: str) -> JsonSchema:
    """Not `"type": [...]`, which some clients do not know."""
    return {"anyOf": [{"type": kind} for kind in kinds]}


def _flag(description: str) -> JsonSchema:
    return {"type": "boolean", "description": description, "default": False}


def _count(description: str) -> JsonSchema:
    return {"type": "integer", "minimum": 0, "description": description}


def _takes(required: list[str], **properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": required}


_PARAMETER: Final = _either("string", "number", "boolean", "null", "object")
"""Said in full, since some models' APIs refuse an array that does not say what is in it."""
_DRY_RUN: Final = _flag("Tell how many rows would change, and change none")
_MAX_CHANGES: Final = _count("Change nothing if it would be more rows than this")
_WHERE: Final = "WHERE conditions (column: value pairs)"

LIST_TABLES: Final = _takes([])
DESCRIBE_TABLE: Final = _takes(
    ["table_name"],
    table_name=_text("Name of the table to describe"),
    details=_flag("Also foreign keys, indexes, constraints, generated columns and a row count"),
)
INSERT_ROW: Final = _takes(
    ["table_name", "data"],
    table_name=_text("Name of the table to insert into"),
    data=_object("Column names and values to insert"),
    dry_run=_DRY_RUN,
)
UPDATE_ROW: Final = _takes(
    ["table_name", "data", "where"],
    table_name=_text("Name of the table to update"),
    data=_object("Column names and new values"),
    where=_object(_WHERE),
    dry_run=_DRY_RUN,
    max_changes=_MAX_CHANGES,
)
DELETE_ROW: Final = _takes(
    ["table_name", "where"],
    table_name=_text("Name of the table to delete from"),
    where=_object(_WHERE),
    dry_run=_DRY_RUN,
    max_changes=_MAX_CHANGES,
)


def run_query(places: str, max_rows: int) -> JsonSchema:
    """What `run_query` takes; databases differ in how a query names its parameters."""
    return _takes(
        ["query"],
        query=_text("SQL SELECT query to execute"),
        params={
            "anyOf": [{"type": "array", "items": _PARAMETER}, {"type": "object"}],
            "description": f"Values for the places in the query: {places}",
        },
        limit={
            "type": "integer",
            "minimum": 1,
            "description": f"The most rows to return, up to {max_rows:,}",
        },
        cursor=_text("The cursor of the rows before, to go on behind them"),
    )


def _returns(**properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list_of(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


_STRING: Final[JsonSchema] = {"type": "string"}
_BOOLEAN: Final[JsonSchema] = {"type": "boolean"}
_MAYBE: Final = _either("string", "null")

TABLE_NAMES: Final = _list_of(_STRING)
TABLE: Final = _returns(
    table_name=_STRING,
    columns=_list_of(
        _returns(
            name=_STRING,
            type=_STRING,
            not_null=_BOOLEAN,
            primary_key=_BOOLEAN,
            default_value=_MAYBE,
        )
    ),
    create_sql=_MAYBE,
)
ROWS: Final = _list_of({"type": "object"})
CHANGES: Final = _returns(changes={"type": "integer"})
INSERTED: Final = _returns(
    last_insert_id=_either("integer", "string", "null"), changes={"type": "integer"}
)
