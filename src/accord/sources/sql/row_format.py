"""The forms of rows in an answer: objects, or a table that names its columns once."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from accord.model.answer import Encoded
from accord.model.arguments import JsonSchema
from accord.sources.sql.messages import Rows
from accord.sources.sql.values import Row, RowEncoder, encode, plain_rows

RowFormat = Literal["objects", "table", "markdown"]
"""How a call returns rows; `markdown` is a table whose text is a Markdown table."""
RowForm = Literal["objects", "compact"]
"""How a database returns rows if a call does not ask for a format."""

DEFAULT_FORMAT: Final[dict[RowForm, RowFormat]] = {"objects": "objects", "compact": "table"}
_ITEMS: Final = ("rows",)


def rows_schema(row: JsonSchema | None = None) -> JsonSchema:
    """Return the schema of rows as objects."""
    return {"type": "array", "items": row or {"type": "object"}}


def table_schema(row: JsonSchema | None = None) -> JsonSchema:
    """Return the schema of rows as a table."""
    return {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array", "items": row or {"type": "array"}},
        },
        "required": ["columns", "rows"],
    }


def data_of(rows: Rows, row_format: RowFormat) -> Encoded:
    """Return rows as the data of an answer, which is cut between rows."""
    if row_format == "objects":
        return Encoded(rows.json, is_checked=True)
    layout: Literal["line", "table"] = "line" if row_format == "table" else "table"
    return Encoded(rows.json, is_checked=True, layout=layout, items_at=_ITEMS)


class TableEncoder(RowEncoder):
    """Encodes rows with the same columns as one object: the names, and a list for each row."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        super().__init__(columns)
        self._columns = encode(self.names)
        self.base_size: int = len(self._columns)

    def _type_of_row(self) -> Callable[..., object]:
        return lambda *row: row

    def encode(self, rows: list[Row]) -> bytes:
        """Return the JSON of some rows, a list each."""
        return encode(plain_rows(rows))

    def size(self, json: bytes, count: int) -> int:
        """Return the size that the JSON of this many rows has in a text, where it is one line."""
        return len(json)

    def join(self, parts: list[bytes]) -> bytes:
        """Return the JSON of the table."""
        return b'{"columns":%s,"rows":%s}' % (self._columns, super().join(parts))


@lru_cache(128)
def encoder_for(columns: tuple[str, ...], as_table: bool = False) -> RowEncoder:
    """Return the encoder for rows with these columns; it is made once."""
    return TableEncoder(columns) if as_table else RowEncoder(columns)
