"""Rows into the JSON of a list of objects: as many as are wanted and as there is room for."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice, starmap
from sys import float_info
from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import Problem
from accord.sources.sql.messages import Rows
from accord.sources.sql.names import quoted
from accord.sources.sql.values import marked

Row = tuple[Any, ...]

_STEP: Final = 128  # rows that are read and encoded together
_LARGEST_ROW: Final = 8 * 1024 * 1024
_INDENT: Final = 6  # bytes that each member, and each row, has around it where JSON is indented
_ROOM_FOR_WORDS: Final = 2_048  # what an answer says beside its rows

_UNFIT: Final = re.compile(r'["\\\x00-\x1f]')  # in a name that msgspec would copy as it is
_FINITE: Final = msgspec.Meta(ge=-float_info.max, le=float_info.max)
_encode = msgspec.json.Encoder(decimal_format="number").encode


class _Plain(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows of values that JSON has words for."""

    rows: list[tuple[int | Annotated[float, _FINITE] | str | bool | None, ...]]


@lru_cache(128)
def sheet_of(columns: tuple[str, ...]) -> "Sheet":
    """The sheet for rows of such columns."""
    return Sheet(columns)


class Sheet:
    """What the rows of one query have in common: the names of their columns, each only once."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.names = _distinct(columns)
        self.notices = [
            f"Several columns are called {quoted(name)}; the further ones have a number behind it"
            for name, count in Counter(columns).items()
            if count > 1
        ]
        self._type = _row_type(self.names)

    def encode(self, rows: list[Row]) -> bytes:
        """The JSON of some rows."""
        try:
            msgspec.convert((rows,), _Plain)  # faster than to look at each value
        except msgspec.ValidationError:
            rows = [tuple(map(marked, row)) for row in rows]
        return _encode(list(starmap(self._type, rows)))

    def size(self, json: bytes, count: int) -> int:
        """The bytes of so many rows where their JSON is indented."""
        return len(json) + count * _INDENT * (len(self.names) + 1)


def collect(
    sheet: Sheet, rows: Iterator[Row], most: int, max_bytes: int, *, one_by_one: bool = False
) -> Rows:
    """As many rows as are wanted and as there is room for; at most one more is read than wanted.

    A row that has no room by itself comes alone. `one_by_one` takes time, and no more memory than
    the largest row needs.
    """
    room = max_bytes - _ROOM_FOR_WORDS
    parts: list[bytes] = []
    count = 0
    has_more = False
    step = 1 if one_by_one else _STEP
    while not has_more:
        want = min(step, most - count + 1)
        kept = list(islice(rows, want))
        is_last = len(kept) < want
        if len(kept) > most - count:
            has_more = True
            kept.pop()
        json = sheet.encode(kept)
        if sheet.size(json, len(kept)) > room:
            fits = _fitting(sheet, kept, room, is_first=not count)
            has_more = has_more or fits < len(kept)
            kept = kept[:fits]
            json = sheet.encode(kept)
        if kept:
            parts.append(json)
        count += len(kept)
        room -= sheet.size(json, len(kept))
        if is_last:
            break
    json = parts[0] if len(parts) == 1 else b"[%s]" % b",".join(part[1:-1] for part in parts)
    return Rows(json, count, has_more, sheet.notices)


def _fitting(sheet: Sheet, rows: list[Row], room: int, *, is_first: bool) -> int:
    """How many rows there is room for: at least one if it is the first of all."""
    fits = 0
    for row in rows:
        json = sheet.encode([row])
        room -= sheet.size(json, 1)
        if room < 0 and (fits or not is_first):
            break
        if len(json) > _LARGEST_ROW:
            raise _too_large(len(json))
        fits += 1
        if room < 0:
            break
    return fits


def _too_large(size: int) -> Problem:
    return Problem.validation(
        f"One row alone has {size:,} bytes of JSON; {_LARGEST_ROW:,} can be sent",
        code="TOO_LARGE",
        remediation="select fewer columns, or a part of them with substr()",
    )


def _distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Names that differ, as SQLite makes them for a view: `id`, `id:1`."""
    taken = set(columns)
    used: set[str] = set()
    names = []
    for name in columns:
        own, number = name, 0
        while own in used or (number and own in taken):
            number += 1
            own = f"{name}:{number}"
        used.add(own)
        names.append(own)
    return tuple(names)


def _row_type(names: tuple[str, ...]) -> Callable[..., object]:
    """A type whose JSON has these names, which is faster to make and to write than a dict."""
    if any(_UNFIT.search(name) for name in names):
        return lambda *row: dict(zip(names, row, strict=True))
    fields = [f"c{index}" for index in range(len(names))]
    rename = dict(zip(fields, names, strict=True))
    return msgspec.defstruct("Row", fields, rename=rename, gc=False)
