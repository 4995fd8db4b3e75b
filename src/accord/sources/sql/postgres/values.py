"""Values of PostgreSQL as JSON, and back."""

import re
from decimal import Decimal
from math import isinf
from typing import Any, Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb, set_json_loads
from psycopg.types.string import TextLoader

from accord.model.values import MAX_DEPTH, is_deep_json
from accord.sources.sql import values

# Python has no date before the year 1, and no infinite one. psycopg does not know the types in a
# row.
_AS_TEXT: Final = (
    "date time timetz timestamp timestamptz interval inet cidr record"
    " int4range int8range numrange daterange tsrange tstzrange"
    " int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange"
).split()

_MAX_DEPTH: Final = MAX_DEPTH - 8  # it may be in a row, a list of rows and six dimensions
_LARGE_NUMBER: Final = re.compile(rb"[eE]\+?\d{3}|\d{309}")  # maybe beyond a double


def register_loaders(connection: "psycopg.Connection[Any]") -> None:
    """Make psycopg return dates, ranges and JSON in a form that can be encoded."""
    for name in _AS_TEXT:
        if connection.adapters.types.get(name) is not None:
            connection.adapters.register_loader(name, TextLoader)
    set_json_loads(_load_json, context=connection)


def _load_json(json: str | bytes) -> msgspec.Raw | str:
    """Return JSON unchanged, every digit of it; as text if it is too deep or not readable."""
    raw = json.encode() if isinstance(json, str) else bytes(json)
    try:
        if _LARGE_NUMBER.search(raw):
            msgspec.json.decode(raw)
        compact = msgspec.json.format(raw, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return raw.decode(errors="replace")
    return raw.decode() if is_deep_json(compact, _MAX_DEPTH) else msgspec.Raw(compact)


def to_json(value: Any) -> Any:
    """Return a value of PostgreSQL as a JSON value."""
    match value:
        case None | bool() | int() | str() | msgspec.Raw():
            return value
        case list():
            return [to_json(each) for each in value]
        case Decimal() if not value.is_finite():
            return values.to_json(float(value))
        case Decimal():
            return str(value) if isinf(float(value)) else value
        case float() | bytes():
            return values.to_json(value)
    return str(value)


def from_json(value: Any, path: str, *, is_json: bool, is_list: bool) -> Any:
    """Return a caller's JSON value as a column of this type takes it."""
    if is_json:
        return None if value is None else Jsonb(value)
    if is_list and isinstance(value, list):
        return [values.from_json(each, f"{path}[{index}]") for index, each in enumerate(value)]
    return values.from_json(value, path)
