"""Reads lines of a transcript and encodes the readings; runs in `accord read` and its workers."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from accord.cli.reading_table import table
from accord.cli.terminal import visible
from accord.errors import ContractError
from accord.integrations.columns import COLUMNS, LINE, row_of
from accord.reader import Reading, read
from accord.reader.reading import report, to_json

Format = Literal["json", "table", "csv", "arrow"]
"""How readings are encoded; those for Parquet are encoded as Arrow first."""

Numbered = Iterable[tuple[int, Reading]]
"""Readings, each with the number of its line."""


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the replies are read, and how the readings are encoded."""

    to: Format = "json"
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    is_full: bool = False
    columns: int | None = None
    """The width of a table."""

    def read(self, reply: bytes) -> Reading:
        """Return the Reading of a reply."""
        return read(reply, self.tool, self.arguments)


class Part(NamedTuple):
    """A part of the output."""

    body: bytes
    replies: int
    """The number of replies that it is from."""
    has_failed: bool
    """True if one of them is an error."""


class _Readings:
    """The readings of lines; blank ones are skipped."""

    def __init__(self, task: Task, lines: bytes, first: int) -> None:
        self._task = task
        self._lines = lines
        self._first = first
        self.count = 0
        self.has_failed = False

    def __iter__(self) -> Iterator[tuple[int, Reading]]:
        for number, line in enumerate(self._lines.split(b"\n"), self._first):
            if line.strip():
                reading = self._task.read(line.rstrip(b"\r"))
                self.count += 1
                self.has_failed = self.has_failed or reading.is_failure
                yield number, reading


def encode_lines(task: Task, lines: bytes, first: int) -> Part:
    """Read lines, the first of which has this number, and encode the readings."""
    readings = _Readings(task, lines, first)
    body = _ENCODERS[task.to](task, readings)
    return Part(body, readings.count, readings.has_failed)


def encode_reply(task: Task, reply: bytes) -> Part:
    """Read the whole input as one reply, and encode the reading."""
    reading = task.read(reply)
    if task.to == "json":
        body = to_text(reading, is_full=task.is_full).encode()
    elif task.to == "table":
        body = _table(task, reading)
    else:
        body = _ENCODERS[task.to](task, [(1, reading)])
    return Part(body, 1, reading.is_failure)


def to_text(reading: Reading, *, is_full: bool = False) -> str:
    """Return one reading as indented JSON."""
    value = report(reading) if is_full else reading.response
    return visible(to_json(value, indent=2).decode(), keeps_lines=True) + "\n"


def csv_header() -> bytes:
    """Return the first line of CSV output."""
    return _csv([[LINE.name, *(column.name for column in COLUMNS)]])


def _encode_json(task: Task, readings: Numbered) -> bytes:
    values = (report(reading) if task.is_full else reading.response for _, reading in readings)
    return "".join([visible(to_json(value).decode()) + "\n" for value in values]).encode()


def _encode_table(task: Task, readings: Numbered) -> bytes:
    """Return tables, each followed by a blank line."""
    return b"".join([_table(task, reading) + b"\n" for _, reading in readings])


def _table(task: Task, reading: Reading) -> bytes:
    lines = table(reading, task.columns, is_full=task.is_full)
    return "".join([f"{line}\n" for line in lines]).encode()


def _encode_csv(task: Task, readings: Numbered) -> bytes:
    kinds = [LINE.kind, *(column.kind for column in COLUMNS)]
    cells = [_CELLS.get(kind) for kind in kinds]
    return _csv(
        [
            value if convert is None or value is None else convert(value)
            for value, convert in zip((number, *row_of(reading)), cells, strict=True)
        ]
        for number, reading in readings
    )


def _csv(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return rows as RFC 4180 says; half a surrogate pair is escaped."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


_CELLS: Final[Mapping[str, Callable[[Any], str]]] = {
    "flag": lambda value: "true" if value else "false",
    "json": lambda value: str(value, "utf-8"),
    "texts": lambda value: to_json(value).decode(),
}


def _encode_arrow(task: Task, readings: Numbered) -> bytes:
    from accord.integrations.arrow import numbered_batch

    return bytes(numbered_batch(readings).serialize())


_ENCODERS: Final[Mapping[Format, Callable[[Task, Numbered], bytes]]] = {
    "json": _encode_json,
    "table": _encode_table,
    "csv": _encode_csv,
    "arrow": _encode_arrow,
}


def require_arrow() -> None:
    """Raise ContractError if the extra for Arrow and Parquet is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        from accord.extras import missing

        raise ContractError(missing("Arrow and Parquet", "arrow")) from error
