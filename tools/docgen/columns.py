"""The columns of readings, as `accord read --to` writes them."""

from accord.integrations.columns import COLUMNS, LINE, Column

TYPES = {
    "integer": "int64",
    "flag": "bool",
    "text": "string",
    "json": "string, JSON",
    "texts": "list of string",
}


def generate() -> str:
    """Return a table with a row for each column."""
    return "\n".join(["| column | type | |", "|---|---|---|", *map(_row, (LINE, *COLUMNS))])


def _row(column: Column) -> str:
    return f"| `{column.name}` | {TYPES[column.kind]} | {column.about} |"
