"""Arrow: record batches of replies in, record batches of readings out; needs `accord-mcp[arrow]`.

`read_batches` is for engines that stream record batches (DuckDB, Polars, DataFusion, pyarrow);
`read_table` for those that map a function over blocks (Ray Data, Dask). Both keep the order: a row
for each reply.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any, Final

import msgspec

from accord.errors import ContractError
from accord.integrations.columns import COLUMNS, LINE, Column, Kind, row_of
from accord.reader import Reading, read

try:
    import pyarrow as pa
except ImportError as missing:
    raise ContractError(
        "Arrow and Parquet need an extra: pip install 'accord-mcp[arrow]'"
    ) from missing

_TYPES: Final[Mapping[Kind, pa.DataType]] = {
    "integer": pa.int64(),
    "flag": pa.bool_(),
    "text": pa.string(),
    "json": pa.string(),
    "texts": pa.list_(pa.string()),
}
_MAX_ROWS: Final = 4_096  # read at a time
_MAX_BYTES: Final = 64 * 1024 * 1024  # of replies that are read at a time, if there are several
_ROW_GROUP: Final = 64 * 1024 * 1024  # bytes of a row group of Parquet, in memory
_ROW_GROUP_ROWS: Final = 1_000_000
_NO_OBJECT: Final = "the arguments are not a JSON object; they were not used"


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.kind])


SCHEMA: Final = pa.schema([_field(column) for column in COLUMNS])
"""The columns of a reading, as docs/reading.md describes them."""
NUMBERED: Final = pa.schema([_field(LINE), *SCHEMA])
"""The columns of `accord read --to`: also the number of the line."""


class Columns(msgspec.Struct, frozen=True):
    """The names of the columns of replies."""

    reply: str = "reply"
    """Texts or bytes of replies; structs are read as decoded replies."""
    tool: str | None = None
    """Names of the tools that were called."""
    arguments: str | None = None
    """The arguments of the calls: texts of JSON objects, or structs."""
    keep: Sequence[str] = ()
    """Columns that are passed on, before those of the reading."""


def read_batches(
    batches: pa.RecordBatchReader | pa.Table | Iterable[pa.RecordBatch],
    *,
    reply: str = "reply",
    tool: str | None = None,
    arguments: str | None = None,
    keep: Sequence[str] = (),
) -> pa.RecordBatchReader:
    """Read the replies in a stream of record batches, lazily: a row of `SCHEMA` for each.

    `reply`, `tool` and `arguments` are names of columns; the columns `keep` are passed on, before
    those of the reading. Batches of the result have at most 4,096 rows.
    """
    columns = Columns(reply, tool, arguments, keep)
    schema, source = _opened(batches)
    return pa.RecordBatchReader.from_batches(
        _result_schema(schema, columns), _read_each(source, columns)
    )


def read_table(
    table: pa.Table,
    *,
    reply: str = "reply",
    tool: str | None = None,
    arguments: str | None = None,
    keep: Sequence[str] = (),
) -> pa.Table:
    """Read the replies in a table; for engines that map a function over blocks, as Ray Data does.

    The arguments are those of `read_batches`.
    """
    return read_batches(table, reply=reply, tool=tool, arguments=arguments, keep=keep).read_all()


def _opened(
    batches: pa.RecordBatchReader | pa.Table | Iterable[pa.RecordBatch],
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Return the schema of a stream, and its batches."""
    if isinstance(batches, pa.Table):
        return batches.schema, batches.to_batches()
    if isinstance(batches, pa.RecordBatchReader):
        return batches.schema, batches
    each = iter(batches)
    first = next(each, None)
    return (pa.schema([]), ()) if first is None else (first.schema, chain([first], each))


def _result_schema(schema: pa.Schema, columns: Columns) -> pa.Schema:
    """Return the columns of the result; raise if a column is missing, or would be there twice."""
    if not schema.names:  # a stream without batches
        return SCHEMA
    named = [columns.reply, columns.tool, columns.arguments, *columns.keep]
    for name in named:
        if name is not None and schema.names.count(name) != 1:
            names = ", ".join(schema.names)
            raise ContractError(f"the column {name!r} is not there, or twice; there are {names}")
    for name in columns.keep:
        if name in SCHEMA.names or columns.keep.count(name) > 1:
            raise ContractError(f"the result would have {name!r} twice; rename the column")
    return pa.schema([*(schema.field(name) for name in columns.keep), *SCHEMA])


def _read_each(batches: Iterable[pa.RecordBatch], columns: Columns) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for part in _parts(batch):
            yield _read_batch(part, columns)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch, so that neither it nor its readings take much memory."""
    rows = batch.num_rows
    if rows > _MAX_ROWS or (rows > 1 and batch.nbytes > _MAX_BYTES):
        yield from _parts(batch.slice(0, rows // 2))
        yield from _parts(batch.slice(rows // 2))
    elif rows:
        yield batch


def _read_batch(batch: pa.RecordBatch, columns: Columns) -> pa.RecordBatch:
    replies = batch.column(columns.reply).to_pylist()
    nothing = [None] * len(replies)
    tools = nothing if columns.tool is None else batch.column(columns.tool).to_pylist()
    calls = nothing if columns.arguments is None else batch.column(columns.arguments).to_pylist()
    rows = [row_of(_read(*each)) for each in zip(replies, tools, calls, strict=True)]
    kept = [batch.schema.field(name) for name in columns.keep]
    return pa.record_batch(
        [*(batch.column(name) for name in columns.keep), *_arrays(rows, SCHEMA)],
        schema=pa.schema([*kept, *SCHEMA]),
    )


def _read(reply: Any, tool: str | None, arguments: Any) -> Reading:
    if arguments is None or isinstance(arguments, dict):
        return read(reply, tool, arguments)
    try:
        return read(reply, tool, msgspec.json.decode(arguments, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError):
        reading = read(reply, tool)
        return msgspec.structs.replace(reading, findings=[*reading.findings, _NO_OBJECT])


def numbered_batch(readings: Iterable[tuple[int, Reading]]) -> pa.RecordBatch:
    """Return readings with the numbers of their lines as a record batch."""
    rows = [(number, *row_of(reading)) for number, reading in readings]
    return pa.record_batch(_arrays(rows, NUMBERED), schema=NUMBERED)


def _arrays(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> list[pa.Array]:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return [_array(values, each.type) for values, each in zip(columns, schema, strict=True)]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # half a surrogate pair
        return pa.array([_escaped(value) for value in values], kind)


def _escaped(value: Any) -> Any:
    """Return texts that UTF-8 can encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_escaped(each) for each in value] if isinstance(value, list | tuple) else value


class ArrowWriter:
    """Writes the encoded batches of `numbered_batch` as an IPC stream, or as an IPC file."""

    def __init__(self, file: IO[bytes], *, is_stream: bool) -> None:
        self._sink = _Sink(file)
        new = pa.ipc.new_stream if is_stream else pa.ipc.new_file
        self._writer = new(pa.PythonFile(self._sink, mode="w"), NUMBERED)

    def write(self, body: bytes) -> None:
        """Write a batch."""
        self._writer.write_batch(_decoded(body))

    def finish(self) -> None:
        """Write the end of the stream, or the footer."""
        self._writer.close()
        self._sink.flush()

    def abandon(self) -> None:
        """Write nothing more."""
        self._sink.is_abandoned = True
        self._writer.close()


class ParquetWriter:
    """Writes the encoded batches of `numbered_batch` as Parquet, in large row groups."""

    def __init__(self, file: IO[bytes]) -> None:
        from pyarrow import parquet

        self._sink = _Sink(file)
        self._writer = parquet.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), NUMBERED, compression="zstd"
        )
        self._batches: list[pa.RecordBatch] = []
        self._size = self._rows = 0

    def write(self, body: bytes) -> None:
        """Add a batch to the row group, and write that if it is large."""
        batch = _decoded(body)
        self._batches.append(batch)
        self._size += len(body)
        self._rows += batch.num_rows
        if self._size >= _ROW_GROUP or self._rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            table = pa.Table.from_batches(self._batches, NUMBERED)
            self._writer.write_table(table, row_group_size=self._rows)
        self._batches, self._size, self._rows = [], 0, 0

    def finish(self) -> None:
        """Write the last row group and the footer."""
        self._flush()
        self._writer.close()
        self._sink.flush()

    def abandon(self) -> None:
        """Write nothing more."""
        self._sink.is_abandoned = True
        self._writer.close()


def _decoded(body: bytes) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(body), NUMBERED)


class _Sink:
    """A file that knows its position, also if it is a pipe; drops what is written when abandoned.

    The writers of Arrow write a footer when they are closed, and close themselves.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0
        self.is_abandoned = False

    def write(self, data: Any) -> int:
        if not self.is_abandoned:
            self._file.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        if not self.is_abandoned:
            self._file.flush()

    def close(self) -> None:
        """Leave the file open: whoever opened it closes it."""
