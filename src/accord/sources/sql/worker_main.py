"""Entry point of a worker process: one connection, one request at a time, limited resources."""

import gc
import logging
import resource
import signal
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from accord.child_process import end_with_parent, read_frames, take_pipes, write_frame
from accord.model.answer import Problem
from accord.sources.sql.messages import (
    LINE,
    MAX_FILE,
    ChangeCount,
    CheckedQuery,
    CheckQuery,
    CompleteName,
    CrashReply,
    DeleteRows,
    DescribeTable,
    DescribeTables,
    ExplainQuery,
    InsertRow,
    ListTableKinds,
    ListTables,
    ProblemReply,
    QueryPlan,
    Ready,
    Reply,
    Rows,
    SchemaRequest,
    SearchSchema,
    SelectRows,
    TableDescription,
    TableNames,
    UpdateRows,
    WorkerSettings,
    decode_request,
    encode_reply,
)
from accord.sources.sql.problems import without_hidden_tables

_ORPHAN_TIMEOUT: Final = 1.0  # seconds past the time limit; the parent would have killed us by then

_MAX_MEMORY: Final = 64 * 1024 * 1024  # bytes beyond those in use when the limits are set
_MEMORY_STATISTICS: Final = Path("/proc/self/statm")


class Engine(Protocol):
    """One connection to a database. What fails raises a Problem."""

    def tables(self) -> TableNames: ...
    def describe(self, request: DescribeTable) -> TableDescription: ...
    def select(self, request: SelectRows) -> Rows: ...
    def check(self, request: CheckQuery) -> CheckedQuery: ...
    def line_of(self, error: BaseException, request: CheckQuery) -> int | None:
        """Return the line of a query that an error of the database is in."""

    def insert(self, request: InsertRow) -> ChangeCount: ...
    def update(self, request: UpdateRows) -> ChangeCount: ...
    def delete(self, request: DeleteRows) -> ChangeCount: ...
    def explore(self, request: SchemaRequest) -> Reply: ...
    def explain(self, request: ExplainQuery) -> QueryPlan: ...
    def hidden_tables(self) -> Collection[str]:
        """Return the tables that are not allowed, in lower case."""


def _check(engine: Engine, request: CheckQuery) -> CheckedQuery:
    """Return the columns of a query, or raise a Problem with the line that the database names."""
    try:
        return engine.check(request)
    except Problem as problem:
        cause = problem.__cause__ or problem.__context__
        line = None if cause is None else engine.line_of(cause, request)
        if line is None:
            raise
        raise Problem(
            problem.message,
            kind=problem.kind,
            code=problem.code,
            fields=problem.fields,
            remediation=problem.remediation,
            data={LINE: line},
        ) from cause


_METHODS: Final[dict[type, Callable[[Any, Any], Reply]]] = {
    ListTables: lambda engine, _: engine.tables(),
    DescribeTable: lambda engine, request: engine.describe(request),
    SelectRows: lambda engine, request: engine.select(request),
    CheckQuery: _check,
    InsertRow: lambda engine, request: engine.insert(request),
    UpdateRows: lambda engine, request: engine.update(request),
    DeleteRows: lambda engine, request: engine.delete(request),
    ListTableKinds: lambda engine, request: engine.explore(request),
    DescribeTables: lambda engine, request: engine.explore(request),
    SearchSchema: lambda engine, request: engine.explore(request),
    CompleteName: lambda engine, request: engine.explore(request),
    ExplainQuery: lambda engine, request: engine.explain(request),
}


def main(parent: int) -> None:
    """Reply to requests on standard input and output until the pipes are closed."""
    with suppress(BrokenPipeError):  # the parent has exited
        _serve(parent)


def _serve(parent: int) -> None:
    source, target = take_pipes()
    frames = read_frames(source)
    first = next(frames, None)
    if first is None:
        return
    settings = msgspec.json.decode(first, type=WorkerSettings)
    engine_type = _load_engine(settings)
    engine: Engine | None = None
    _tune_garbage_collector()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    write_frame(target, encode_reply(Ready()))
    end_with_parent(parent, can_be_released=settings.writes)  # until here, closed pipes do that
    for frame in frames:
        signal.setitimer(signal.ITIMER_REAL, settings.timeout + _ORPHAN_TIMEOUT)  # SIGALRM kills us
        try:
            if engine is None:
                engine = engine_type(settings)
                limit_resources(writes=settings.writes)
            request = decode_request(frame)
            reply = _METHODS[type(request)](engine, request)
        except Problem as problem:
            reply = ProblemReply.from_problem(_shown(problem, engine, settings))
        except Exception:  # noqa: BLE001 - the border of a process: the parent logs it
            reply = CrashReply(traceback.format_exc())
        signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(target, encode_reply(reply))


def _shown(problem: Problem, engine: Engine | None, settings: WorkerSettings) -> Problem:
    """Return a Problem as a caller may see it: without the names of tables that are hidden."""
    if settings.allow is None or engine is None:
        return problem
    try:
        return without_hidden_tables(problem, settings.allow, engine.hidden_tables)
    except Problem as other:  # the names cannot be read any more
        return other


def _load_engine(settings: WorkerSettings) -> Callable[[WorkerSettings], Engine]:
    """Import the engine for a database; each imports its own library."""
    if settings.url.startswith("postgresql:"):
        from accord.sources.sql.postgres import PostgresEngine

        return PostgresEngine
    from accord.sources.sql.sqlite import SqliteEngine

    return SqliteEngine


def _tune_garbage_collector() -> None:
    """Collect garbage less often: loaded modules stay, and rows leave no cycles."""
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)


def limit_resources(*, writes: bool) -> None:
    """Limit the memory of this process and, unless it `writes`, the size of its files.

    Without /proc, as on macOS, only SQLite's own limit bounds the memory.
    """
    if _MEMORY_STATISTICS.exists():
        pages = int(_MEMORY_STATISTICS.read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + _MAX_MEMORY)
    if not writes:
        _lower(resource.RLIMIT_FSIZE, MAX_FILE)


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(kind, (limit, hard))
