"""Values of PostgreSQL as JSON has them, and back."""

import re
from decimal import Decimal
from math import isinf
from typing import Any, Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb, set_json_loads
from psycopg.types.string import TextLoader

from accord.model.values import MAX_DEPTH, is_deep_json
from accord.sources.sql.values import marked, unmarked

# Dates come as they are stored: Python knows no date before the year 1, and no infinity. So do
# rows, of which Python would not know the types.
_AS_TEXT: Final = (
    "date time timetz timestamp timestamptz interval inet cidr record"
    " int4range int8range numrange daterange tsrange tstzrange"
    " int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange"
).split()

_MAX_DEPTH: Final = MAX_DEPTH - 8  # a row, a list of rows and six dimensions may be around it
_FAR: Final = re.compile(rb"[eE]\+?\d{3}|\d{309}")  # where a number may be beyond a double


def prepare(connection: "psycopg.Connection[Any]") -> None:
    """Have values come as JSON can take them."""
    for name in _AS_TEXT:
        if connection.adapters.types.get(name) is not None:
            connection.adapters.register_loader(name, TextLoader)
    set_json_loads(_as_it_is, context=connection)


def _as_it_is(json: str | bytes) -> msgspec.Raw | str:
    """JSON in a column stays JSON, every digit of it; what others could not read is text."""
    raw = json.encode() if isinstance(json, str) else bytes(json)
    try:
        if _FAR.search(raw):
            msgspec.json.decode(raw)
        line = msgspec.json.format(raw, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return raw.decode(errors="replace")
    return raw.decode() if is_deep_json(line, _MAX_DEPTH) else msgspec.Raw(line)


def plain(value: Any) -> Any:
    """A value as it can be encoded."""
    match value:
        case None | bool() | int() | str() | msgspec.Raw():
            return value
        case list():
            return [plain(each) for each in value]
        case Decimal() if not value.is_finite():
            return marked(float(value))
        case Decimal():
            return str(value) if isinf(float(value)) else value
        case float() | bytes():
            return marked(value)
    return str(value)


def taken(value: Any, path: str, *, is_json: bool, is_list: bool) -> Any:
    """A value that somebody sent, as a column of such a type takes it."""
    if is_json:
        return None if value is None else Jsonb(value)
    if is_list and isinstance(value, list):
        return [unmarked(each, f"{path}[{index}]") for index, each in enumerate(value)]
    return unmarked(value, path)
