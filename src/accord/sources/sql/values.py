"""Values and rows of a database as JSON, and back.

An object marks a value that JSON does not have:

{"$blob": "<base64>"}            bytes
{"$text": "<base64>"}            text whose bytes are not UTF-8
{"$real": "Infinity"}            a number that JSON cannot write; also -Infinity and NaN
"""

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, starmap
from math import isfinite, isnan
from sys import float_info
from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import Rows
from accord.sources.sql.problems import quote_name

BLOB: Final = "$blob"
TEXT: Final = "$text"
REAL: Final = "$real"
_NUMBERS: Final = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_EXPECTED: Final = (
    f'must be text, a number, true, false, null, {{"{BLOB}": base64}} or {{"{REAL}": "Infinity"}}'
)

Row = tuple[Any, ...]

_BATCH: Final = 128  # rows that are read and encoded together
_MAX_ROW_SIZE: Final = 8 * 1024 * 1024
_INDENT: Final = 6  # bytes around each member, and each row, where JSON is indented
_RESERVED: Final = 2_048  # bytes of an answer beside its rows

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')  # in a name that msgspec would not escape
_FINITE: Final = msgspec.Meta(ge=-float_info.max, le=float_info.max)
encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode


class InvalidText(msgspec.Struct, frozen=True):
    """Text whose bytes are not UTF-8."""

    raw: bytes


def to_json(value: Any) -> Any:
    """Return a database value as a JSON value."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {BLOB: b64encode(value).decode()}
    if isinstance(value, InvalidText):
        return {TEXT: b64encode(value.raw).decode()}
    if isinstance(value, float) and not isfinite(value):
        return {REAL: "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def from_json(value: Any, path: str) -> Any:
    """Return a caller's JSON value as a database value, or raise a Problem with its path."""
    if not isinstance(value, dict | list):
        return value
    match value:
        case {"$blob": str(text), **others} if not others:
            try:
                return b64decode(text, validate=True)
            except ValueError as error:
                raise _invalid(path, "is not base64") from error
        case {"$real": str(word), **others} if not others and word in _NUMBERS:
            return _NUMBERS[word]
    raise _invalid(path, _EXPECTED)


def _invalid(path: str, fault: str) -> Problem:
    return Problem.validation(f"{path} {fault}", fields=[FieldError(path, fault)])


def decode_conditions(
    where: dict[str, Any], decode: Callable[[Any, str], Any] = from_json
) -> dict[str, Any]:
    """Decode the values of conditions; a list is decoded item by item."""
    return {
        name: [decode(each, f"where.{name}[{index}]") for index, each in enumerate(value)]
        if isinstance(value, list)
        else decode(value, f"where.{name}")
        for name, value in where.items()
    }


class _PlainRows(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows of values that JSON has as well."""

    rows: list[tuple[int | Annotated[float, _FINITE] | str | bool | None, ...]]


class RowEncoder:
    """Encodes rows with the same columns as objects; repeated column names get a number."""

    base_size = 0
    """Bytes of an answer beside the JSON of its rows."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.names: tuple[str, ...] = _unique_names(columns)
        self.notices: list[str] = [
            f"Several columns are called {quote_name(name)}; all but the first have a number"
            " appended"
            for name, count in Counter(columns).items()
            if count > 1
        ]
        self._row_type = self._type_of_row()

    def _type_of_row(self) -> Callable[..., object]:
        return _row_type(self.names)

    def encode(self, rows: list[Row]) -> bytes:
        """Return the JSON of some rows."""
        return encode(list(starmap(self._row_type, plain_rows(rows))))

    def size(self, json: bytes, count: int) -> int:
        """Return the size that the JSON of this many rows has in a text, where it is indented."""
        return len(json) + count * _INDENT * (len(self.names) + 1)

    def join(self, parts: list[bytes]) -> bytes:
        """Return the JSON of all rows, from that of each part."""
        return parts[0] if len(parts) == 1 else b"[%s]" % b",".join(part[1:-1] for part in parts)


def plain_rows(rows: list[Row]) -> list[Row]:
    """Return rows of values that can be encoded as JSON."""
    try:
        msgspec.convert((rows,), _PlainRows)  # faster than to look at each value
    except msgspec.ValidationError:
        return [tuple(map(to_json, row)) for row in rows]
    return rows


def collect_rows(
    encoder: RowEncoder,
    rows: Iterator[Row],
    limit: int,
    max_bytes: int,
    *,
    one_by_one: bool = False,
) -> Rows:
    """Encode up to `limit` rows that fit into `max_bytes`; reads at most one row more.

    If the first row is too large for `max_bytes`, it is the only one. `one_by_one` is slower, and
    needs no more memory than the largest row.
    """
    room = max_bytes - _RESERVED - encoder.base_size
    parts: list[bytes] = []
    count = 0
    has_more = False
    batch_size = 1 if one_by_one else _BATCH
    while not has_more:
        wanted = min(batch_size, limit - count + 1)
        batch = list(islice(rows, wanted))
        is_last = len(batch) < wanted
        if len(batch) > limit - count:
            has_more = True
            batch.pop()
        json = encoder.encode(batch)
        if encoder.size(json, len(batch)) > room:
            fitting = _count_fitting(encoder, batch, room, is_first=not count)
            has_more = has_more or fitting < len(batch)
            batch = batch[:fitting]
            json = encoder.encode(batch)
        if batch:
            parts.append(json)
        count += len(batch)
        room -= encoder.size(json, len(batch))
        if is_last:
            break
    return Rows(encoder.join(parts), count, has_more, encoder.notices)


def _count_fitting(encoder: RowEncoder, rows: list[Row], room: int, *, is_first: bool) -> int:
    """Return how many rows fit; at least one if it is the first of the answer."""
    fitting = 0
    for row in rows:
        json = encoder.encode([row])
        room -= encoder.size(json, 1)
        if room < 0 and (fitting or not is_first):
            break
        if len(json) > _MAX_ROW_SIZE:
            raise _too_large(len(json))
        fitting += 1
        if room < 0:
            break
    return fitting


def _too_large(size: int) -> Problem:
    return Problem.validation(
        f"A row has {size:,} bytes of JSON; at most {_MAX_ROW_SIZE:,} can be sent",
        code="TOO_LARGE",
        remediation="select fewer columns, or a part of them with substr()",
    )


def _unique_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Append numbers to repeated names, as SQLite does for a view: `id`, `id:1`."""
    taken = set(columns)
    used: set[str] = set()
    names = []
    for column in columns:
        name, number = column, 0
        while name in used or (number and name in taken):
            number += 1
            name = f"{column}:{number}"
        used.add(name)
        names.append(name)
    return tuple(names)


def _row_type(names: tuple[str, ...]) -> Callable[..., object]:
    """Return a type whose JSON has these names; faster to make and to encode than a dict."""
    if any(_ESCAPED.search(name) for name in names):
        return lambda *row: dict(zip(names, row, strict=True))
    fields = [f"c{index}" for index in range(len(names))]
    rename = dict(zip(fields, names, strict=True))
    return msgspec.defstruct("Row", fields, rename=rename, gc=False)
