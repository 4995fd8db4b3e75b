"""Readings as rows of a table with a fixed schema; needs no library.

`accord read --to` writes these columns, and `accord.integrations.arrow` returns them.
"""

from typing import Any, Final, Literal, NamedTuple

from accord.model.answer import Page
from accord.model.plain import plain_json
from accord.reader import Reading
from accord.reader.reading import to_json

Kind = Literal["integer", "flag", "text", "json", "texts"]
Row = tuple[Any, ...]
"""The values of the columns. JSON is bytes; a flag, a text or a number may be None."""


class Column(NamedTuple):
    """The name and type of a column."""

    name: str
    kind: Kind
    about: str


LINE: Final = Column("line", "integer", "the number of the line in the input, from 1")
COLUMNS: Final = (
    Column("tool_name", "text", "the tool that was called, or `unknown`"),
    Column("response_type", "text", "`list`, `single`, `action`, `tool_catalog` or `error`"),
    Column("status", "text", "`success`, `error` or `partial`, if the reply has a status"),
    Column("message", "text", "the sentence beside the data, or of the failure"),
    Column("data", "json", "the data of the generic response"),
    Column("item_count", "integer", "the number of items of a list"),
    Column("page_offset", "integer", "the position of the first item in the full list"),
    Column("page_limit", "integer", "the largest number of items on a page"),
    Column("page_total", "integer", "the number of items in the full list"),
    Column("page_has_more", "flag", "whether there are more items"),
    Column("page_next_offset", "integer", "the offset of the next page"),
    Column("page_cursor", "text", "the cursor of the next page"),
    Column("page_before", "text", "the id to request older items with"),
    Column("page_after", "text", "the id to request newer items with"),
    Column("error_code", "text", "the code of a failure, also if it is a number"),
    Column("error_message", "text", "the message of a failure"),
    Column("error_details", "json", "the details of a failure"),
    Column("metadata", "json", "what is beside the data: attachments, unknown members"),
    Column("warnings", "json", "the warnings beside the data, if there are any"),
    Column("is_partial", "flag", "whether only a part could be done"),
    Column("is_truncated", "flag", "whether there is more than is shown"),
    Column("origin", "text", "where the value was found"),
    Column("confidence", "text", "`certain`, `likely` or `guess`"),
    Column("findings", "texts", "oddities of the reply"),
    Column("rules", "texts", "the rules that fired, in order"),
)

_NO_PAGE: Final = Page()
_MAX_INTEGER: Final = 2**63 - 1


def row_of(reading: Reading) -> Row:
    """Return the values of `COLUMNS` for a reading."""
    response, page = reading.response, reading.page or _NO_PAGE
    error, summary = response.error, response.summary
    return (
        response.tool_name,
        response.response_type,
        response.status,
        response.message,
        None if response.data is None else _json(response.data),
        None if summary is None else _integer(summary.returned),
        _integer(page.offset),
        _integer(page.limit),
        _integer(page.total),
        page.has_more,
        _integer(page.next_offset),
        page.cursor,
        page.before,
        page.after,
        None if error is None else str(error.code),
        None if error is None else error.message,
        None if error is None or not error.details else _json(error.details),
        None if response.metadata is None else _json(response.metadata),
        _json(reading.warnings) if reading.warnings else None,
        reading.is_partial,
        reading.is_truncated,
        reading.origin,
        reading.confidence,
        reading.findings,
        reading.rules,
    )


def _integer(value: float | None) -> int | None:
    """Return a number as a 64-bit integer; None if it is not one."""
    if value is None or not abs(value) <= _MAX_INTEGER or value != int(value):
        return None
    return int(value)


def _json(value: Any) -> bytes:
    try:
        return to_json(value)
    except (TypeError, ValueError, RecursionError):  # a value that JSON does not have
        return to_json(plain_json(value))
