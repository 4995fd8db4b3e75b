"""Reads Arrow record batches of replies into batches of readings; needs `accord-mcp[arrow]`.

`read_batches` is for engines that stream record batches (DuckDB, Polars, DataFusion, pyarrow);
`read_table` for those that map a function over blocks (Ray Data, Dask). Both keep the order: a row
for each reply.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any, Final

import msgspec

from accord.errors import ContractError
from accord.integrations.columns import COLUMNS, LINE, Column, Kind, row_of
from accord.process_pool import Message, ProcessPool, WorkerDied
from accord.reader import Reading, read

try:
    import pyarrow as pa
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("Arrow and Parquet", "arrow")) from _error

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
_WORKER: Final = "accord.integrations.arrow_worker"
_NO_OBJECT: Final = "the arguments are not a JSON object; they were not used"


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.kind])


SCHEMA: Final = pa.schema([_field(column) for column in COLUMNS])
"""The columns of a reading, as docs/reading.md describes them."""
NUMBERED: Final = pa.schema([_field(LINE), *SCHEMA])
"""The columns of `accord read --to`: also the number of the line."""


class Columns(msgspec.Struct, frozen=True):
    """The names of the columns that replies are read from, and of those that are passed on."""

    reply: str
    tool: str | None = None
    arguments: str | None = None
    keep: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """The columns of replies and calls."""
        return [name for name in (self.reply, self.tool, self.arguments) if name is not None]

    def require(self, schema: pa.Schema) -> None:
        """Raise ContractError if a column is missing, or would be in the result twice."""
        for name in (*self.read, *self.keep):
            if schema.names.count(name) != 1:
                names = ", ".join(schema.names)
                raise ContractError(
                    f"the column {name!r} is missing, or not unique; there are {names}"
                )
        for name in self.keep:
            if name in SCHEMA.names or self.keep.count(name) > 1:
                raise ContractError(f"the result would have {name!r} twice; rename the column")


def read_batches(
    batches: Any,
    *,
    reply: str = "reply",
    tool: str | None = None,
    arguments: str | None = None,
    keep: Sequence[str] = (),
    jobs: int = 1,
) -> pa.RecordBatchReader:
    """Read the replies in a stream of record batches, lazily: a row of `SCHEMA` for each.

    `batches` is any Arrow stream (a RecordBatchReader, a Table, a relation of DuckDB, a DataFrame
    of Polars) or an iterable of record batches. `reply`, `tool` and `arguments` are the names of
    its columns with the replies and the calls, as texts or structs; the columns `keep` are passed
    on, before those of the reading. With `jobs`, several processes read at once. The batches of
    the result have at most 4,096 rows.
    """
    columns = Columns(reply, tool, arguments, tuple(keep))
    schema, source = _opened(batches)
    columns.require(schema)
    kept = [schema.field(name) for name in columns.keep]
    parts = chain.from_iterable(map(_parts, source))
    read_parts = _in_turn(parts, columns) if jobs == 1 else _at_once(parts, columns, jobs)
    return pa.RecordBatchReader.from_batches(pa.schema([*kept, *SCHEMA]), read_parts)


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


def _opened(batches: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Return the schema of a stream, and its batches."""
    if hasattr(batches, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(batches)
        return reader.schema, reader
    each = iter(batches)
    first = next(each, None)
    if first is None:
        raise ContractError(
            "there are no record batches; pass a RecordBatchReader, which has a schema"
        )
    return first.schema, chain([first], each)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch, so that neither it nor its readings take much memory."""
    rows = batch.num_rows
    if rows > _MAX_ROWS or (rows > 1 and batch.nbytes > _MAX_BYTES):
        yield from _parts(batch.slice(0, rows // 2))
        yield from _parts(batch.slice(rows // 2))
    elif rows:
        yield batch


def _in_turn(parts: Iterable[pa.RecordBatch], columns: Columns) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield _joined(part.select(columns.keep), read_part(part, columns))


def _at_once(
    parts: Iterable[pa.RecordBatch], columns: Columns, jobs: int
) -> Iterator[pa.RecordBatch]:
    """Read parts in several processes, in order; few are held at a time."""
    kept: deque[pa.RecordBatch] = deque()
    with ProcessPool(_WORKER, msgspec.json.encode(columns), jobs) as pool:
        try:
            for part in parts:
                while not pool.has_room:
                    pool.wait()
                    yield from _finished(pool, kept)
                pool.submit(Message(b"", to_ipc(part.select(columns.read))))
                kept.append(part.select(columns.keep))
            while not pool.is_idle:
                pool.wait()
                yield from _finished(pool, kept)
        except WorkerDied as death:
            raise ContractError(
                f"a process that read replies ended twice, the last time with status {death.status}"
            ) from death


def _finished(pool: ProcessPool, kept: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for result in pool.results():
        yield _joined(kept.popleft(), from_ipc(result.body))


def _joined(kept: pa.RecordBatch, readings: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch(
        [*kept.columns, *readings.columns], schema=pa.schema([*kept.schema, *SCHEMA])
    )


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """Encode a record batch with its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_ipc(body: bytes) -> pa.RecordBatch:
    """Decode a record batch with its schema."""
    with pa.ipc.open_stream(body) as reader:
        return reader.read_next_batch()


def read_part(batch: pa.RecordBatch, columns: Columns) -> pa.RecordBatch:
    """Read the replies of one record batch."""
    replies = batch.column(columns.reply).to_pylist()
    nothing = [None] * len(replies)
    tools = nothing if columns.tool is None else batch.column(columns.tool).to_pylist()
    calls = nothing if columns.arguments is None else batch.column(columns.arguments).to_pylist()
    rows = [row_of(_read(*each)) for each in zip(replies, tools, calls, strict=True)]
    return pa.record_batch(_arrays(rows, SCHEMA), schema=SCHEMA)


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
