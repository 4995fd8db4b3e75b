"""A database as the server sees it: a pool of workers that read, and one that writes."""

import asyncio
import os
import re
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.errors import AccordError, ContractError
from accord.model.answer import Problem
from accord.sources.sql.messages import (
    NEEDS_RECOVERY,
    CrashReply,
    ListTables,
    ProblemReply,
    ReadRequest,
    Reply,
    Request,
    WorkerSettings,
    WriteRequest,
    decode_reply,
    encode_request,
)
from accord.sources.sql.row_format import DEFAULT_FORMAT, RowForm
from accord.sources.sql.worker_pool import WorkerPool

_READERS: Final = 4
_WRITERS: Final = 1  # more would only wait for each other's locks
_MIN_BYTES: Final = 8_192
_MIN_LENGTH: Final = 100
_MAX_LENGTH: Final = 1 << 30
_MAX_TIMEOUT: Final = 86_400
_POSTGRES_URL: Final = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://", re.I)
_SQLITE_URL: Final = re.compile(r"sqlite:", re.I)
_SQLITE_HEADER: Final = b"SQLite format 3\0"
_LOCK: Final = threading.Lock()


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a database: tools, tables and limits."""

    read_only: bool = False
    """Offer no tools that write."""
    explore: bool = False
    """Offer tools that explore the schema: see `accord.sources.sql.exploring`."""
    allow: frozenset[str] | None = None
    """The only tables that may be read or changed; None allows all."""
    max_rows: int = 500
    timeout: float = 5.0
    """Seconds for one call."""
    max_bytes: int = 256 * 1024
    """Maximum size of the rows of one answer, as text."""
    max_length: int = 1_000_000
    """Maximum size of a value or row in bytes; for SQLite only."""
    create: bool = False
    """Create the file if it does not exist."""
    wal: bool = False
    """Change the file to write-ahead logging, in which readers and a writer do not wait."""
    rows: RowForm = "objects"
    """The form of rows if a call asks for none: `compact` names the columns once."""

    def __post_init__(self) -> None:
        if self.read_only and (self.create or self.wal):
            raise ContractError("read_only cannot be combined with create or wal")
        if self.rows not in DEFAULT_FORMAT:
            raise ContractError(f"rows must be {' or '.join(DEFAULT_FORMAT)}, not {self.rows!r}")
        if self.max_rows < 1:
            raise ContractError("max_rows must be at least 1")
        if not 0 < self.timeout <= _MAX_TIMEOUT:
            raise ContractError("timeout must be more than 0 seconds, and at most a day")
        if not _MIN_LENGTH <= self.max_length <= _MAX_LENGTH:
            raise ContractError(f"max_length must be {_MIN_LENGTH} to {_MAX_LENGTH:,} bytes")


class Database:
    """A SQLite or PostgreSQL database, queried in worker processes, from any event loop."""

    def __init__(self, target: str, options: Options) -> None:
        """Find a database by its path, `sqlite:///…` or `postgresql://…`."""
        self.url: str = resolve_url(target, create=options.create)
        self.options = options
        if not self.is_sqlite:
            _require_extra()
            if options.create or options.wal:
                raise ContractError("create and wal must not be set for PostgreSQL, only SQLite")
        self._readers = _PoolPerLoop(self._settings(writes=False), _READERS)
        self._writers = _PoolPerLoop(self._settings(writes=True), _WRITERS)

    @property
    def is_sqlite(self) -> bool:
        """True for a file of SQLite, False for PostgreSQL."""
        return not self.url.startswith("postgresql:")

    def _settings(self, *, writes: bool) -> WorkerSettings:
        options = self.options
        return WorkerSettings(
            url=self.url,
            writes=writes,
            timeout=options.timeout,
            max_bytes=max(options.max_bytes, _MIN_BYTES),
            max_length=options.max_length,
            allow=options.allow,
            wal=options.wal,
        )

    def start(self) -> None:
        """Start a worker before the first request, unless there is one."""
        self._readers.start_worker()

    async def read(self, request: ReadRequest) -> Any:
        """Return the reply to a request that reads; cancellation stops it."""
        try:
            return await self._readers.request(request)
        except Problem as problem:
            if problem.code != NEEDS_RECOVERY or self.options.read_only:
                raise
        await self._writers.request(ListTables())  # opening for writing rolls back what is left
        return await self._readers.request(request)

    def read_blocking(self, requests: Sequence[ReadRequest]) -> list[Any]:
        """Return the replies or Problems of requests, in a thread that may have an event loop."""
        from concurrent.futures import ThreadPoolExecutor  # slow to import, seldom needed

        async def read() -> list[Any]:
            return [await self.reply_or_problem(each) for each in requests]

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, read()).result()

    async def reply_or_problem(self, request: ReadRequest) -> Any:
        """Return the reply to a request that reads, or its Problem."""
        try:
            return await self.read(request)
        except Problem as problem:
            return problem

    async def write(self, request: WriteRequest) -> Any:
        """Return the reply to a change; once it is sent, cancellation does not stop it."""
        return await self._writers.request(request)

    def close(self) -> None:
        """End all worker processes."""
        self._readers.close()
        self._writers.close()


async def read_each(databases: Sequence[Database], request: ReadRequest) -> list[Any]:
    """Return the reply of each database to one request, or its Problem; they work at once."""
    return await asyncio.gather(*(each.reply_or_problem(request) for each in databases))


class WorkerError(AccordError):
    """A bug in a worker, with its traceback, for the log."""


class _PoolPerLoop:
    """A WorkerPool for each running event loop; that of a closed loop is used again."""

    def __init__(self, settings: WorkerSettings, size: int) -> None:
        self._settings = settings
        self._size = size
        self._encoded_settings = msgspec.json.encode(settings)
        self._owner = os.getpid()
        self._pools = [self._new_pool()]

    def _new_pool(self) -> WorkerPool:
        return WorkerPool(self._settings, self._encoded_settings, self._size)

    def start_worker(self) -> None:
        if not self._pools[0].has_worker:
            self._pools[0].start_worker()

    async def request(self, request: Request) -> Reply:
        """Return the reply of a worker; a Problem if it fails, or there is none in time."""
        reply: Reply = decode_reply(await self._pool().request(encode_request(request)))
        if isinstance(reply, ProblemReply):
            raise reply.problem
        if isinstance(reply, CrashReply):
            raise WorkerError(reply.traceback)
        return reply

    def _pool(self) -> WorkerPool:
        """Return the pool of the running event loop."""
        loop = asyncio.get_running_loop()
        for pool in self._pools:
            if pool.loop is loop and self._owner == os.getpid():
                return pool
        with _LOCK:
            return self._attach(loop)

    def _attach(self, loop: asyncio.AbstractEventLoop) -> WorkerPool:
        if self._owner != os.getpid():  # a fork: the workers belong to the parent
            self._owner = os.getpid()
            for pool in self._pools:
                pool.abandon()
            self._pools = [self._new_pool()]
        if not any(pool.is_detached for pool in self._pools):
            self._pools.append(self._new_pool())
        pool = next(pool for pool in self._pools if pool.is_detached)
        pool.attach(loop)
        return pool

    def close(self) -> None:
        """Close all pools; a fork only lets go of those of its parent."""
        is_owner = self._owner == os.getpid()
        for pool in self._pools:
            if is_owner:
                pool.close()
            else:
                pool.abandon()


def resolve_url(target: str, *, create: bool = False) -> str:
    """Return the absolute path of a database file, or `postgresql://…`.

    A file must be a SQLite database; with `create` an empty one is made if there is none.
    """
    if _POSTGRES_URL.match(target):
        return "postgresql://" + target.partition("://")[2]
    path = Path(os.path.abspath(_file_name(target)))  # noqa: PTH100 - links stay as they are
    if create:
        _create(path)
    _require_database(path)
    return str(path)


def _file_name(target: str) -> str:
    if not _SQLITE_URL.match(target):
        return target
    scheme, _, path = target.partition("://")
    if scheme.lower() != "sqlite" or not path.startswith("/") or len(path) == 1 or "?" in path:
        raise ContractError(
            f"{target} is not the URL of a file; write sqlite:///shop.db, or"
            " sqlite:////path/to/shop.db"
        )
    from urllib.parse import unquote  # slow to import, and a plain file name does not need it

    return unquote(path[1:])


def _create(path: Path) -> None:
    try:
        path.open("xb").close()  # a file of no bytes is an empty database
    except FileExistsError:
        pass
    except OSError as error:
        raise ContractError(f"could not create {path}: {error.strerror}") from error


def _require_database(path: Path) -> None:
    """Raise if a file does not exist or is not a SQLite database."""
    try:
        with path.open("rb") as file:
            header = file.read(len(_SQLITE_HEADER))
    except FileNotFoundError as error:
        raise ContractError(
            f"database {path} does not exist; `accord serve … --create` creates an empty one"
        ) from error
    except OSError as error:
        raise ContractError(f"could not read {path}: {error.strerror}") from error
    if header and header != _SQLITE_HEADER:
        raise ContractError(f"{path} is not a SQLite database, or is encrypted")


def _require_extra() -> None:
    if any(find_spec(name) is None for name in ("sqlalchemy", "psycopg")):
        from accord.extras import missing

        raise ContractError(missing("PostgreSQL", "sql"))
