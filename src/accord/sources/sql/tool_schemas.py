"""The JSON Schemas of the tools of a database: what they take and return."""

from typing import Final, get_args

from accord.model.arguments import JsonSchema
from accord.sources.sql.database import Database
from accord.sources.sql.row_format import DEFAULT_FORMAT, RowFormat, rows_schema, table_schema


def text(description: str) -> JsonSchema:
    return {"type": "string", "description": description}


def free_object(description: str) -> JsonSchema:
    return {"type": "object", "description": description}


def types_of(*kinds: str) -> JsonSchema:
    """Return a schema of several types; some clients do not know `"type": [...]`."""
    return {"anyOf": [{"type": kind} for kind in kinds]}


def flag(description: str) -> JsonSchema:
    return {"type": "boolean", "description": description, "default": False}


def input_of(required: list[str], **properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": required}


PARAMETER: Final = types_of("string", "number", "boolean", "null", "object")
"""The type of a parameter; some model APIs refuse an array without a type of its items."""
DRY_RUN_FLAG: Final = flag("Tell how many rows would change, and change none")
MAX_CHANGES: Final[JsonSchema] = {
    "type": "integer",
    "minimum": 0,
    "description": "Change nothing if it would be more rows than this",
}
WHERE: Final = "WHERE conditions (column: value pairs)"

LIST_TABLES_INPUT: Final = input_of([])
DESCRIBE_TABLE_INPUT: Final = input_of(
    ["table_name"],
    table_name=text("Name of the table to describe"),
    details=flag("Also foreign keys, indexes, constraints, generated columns and a row count"),
)
INSERT_ROW_INPUT: Final = input_of(
    ["table_name", "data"],
    table_name=text("Name of the table to insert into"),
    data=free_object("Column names and values to insert"),
    dry_run=DRY_RUN_FLAG,
)
UPDATE_ROW_INPUT: Final = input_of(
    ["table_name", "data", "where"],
    table_name=text("Name of the table to update"),
    data=free_object("Column names and new values"),
    where=free_object(WHERE),
    dry_run=DRY_RUN_FLAG,
    max_changes=MAX_CHANGES,
)
DELETE_ROW_INPUT: Final = input_of(
    ["table_name", "where"],
    table_name=text("Name of the table to delete from"),
    where=free_object(WHERE),
    dry_run=DRY_RUN_FLAG,
    max_changes=MAX_CHANGES,
)


CURSOR: Final = text("The cursor of the rows before, to go on behind them")
"""The schema of the argument `cursor`."""


def limit_schema(most: int) -> JsonSchema:
    """Return the schema of the argument `limit`."""
    return {
        "type": "integer",
        "minimum": 1,
        "description": f"The most rows to return, up to {most:,}",
    }


def query_properties(database: Database) -> dict[str, JsonSchema]:
    """Return the schemas of `query` and `params`; engines differ in how a query names them."""
    placeholders = f"a list for {'?' if database.is_sqlite else '$1'}, an object for :name"
    return {
        "query": text("SQL SELECT query to execute"),
        "params": {
            "anyOf": [{"type": "array", "items": PARAMETER}, {"type": "object"}],
            "description": f"Values for the places in the query: {placeholders}",
        },
    }


def run_query_input(database: Database) -> JsonSchema:
    default_format = DEFAULT_FORMAT[database.options.rows]
    return input_of(
        ["query"],
        **query_properties(database),
        limit=limit_schema(database.options.max_rows),
        cursor=CURSOR,
        format={
            "type": "string",
            "enum": list(get_args(RowFormat)),
            "description": "table names the columns once, and each row is a list; markdown is one"
            f" as text (default {default_format})",
        },
    )


def output_of(**properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def list_of(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


STRING: Final[JsonSchema] = {"type": "string"}
BOOLEAN: Final[JsonSchema] = {"type": "boolean"}
NULLABLE_STRING: Final = types_of("string", "null")

TABLE_NAMES_OUTPUT: Final = list_of(STRING)
TABLE_OUTPUT: Final = output_of(
    table_name=STRING,
    columns=list_of(
        output_of(
            name=STRING,
            type=STRING,
            not_null=BOOLEAN,
            primary_key=BOOLEAN,
            default_value=NULLABLE_STRING,
        )
    ),
    create_sql=NULLABLE_STRING,
)
ROWS_OUTPUT: Final[JsonSchema] = {"anyOf": [rows_schema(), table_schema()]}
CHANGES_OUTPUT: Final = output_of(changes={"type": "integer"})
INSERTED_OUTPUT: Final = output_of(
    last_insert_id=types_of("integer", "string", "null"), changes={"type": "integer"}
)
