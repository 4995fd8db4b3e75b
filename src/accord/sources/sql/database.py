"""A database as a server sees it: workers that read, and one that writes."""

from importlib.util import find_spec
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.answer import Problem
from accord.sources.sql.messages import NEEDS_RECOVERY, Reading, Settings, Tables, Writing
from accord.sources.sql.target import Target, find
from accord.sources.sql.workers import Workers

_READERS: Final = 4
_WRITERS: Final = 1  # more would only wait for each other's locks
_LEAST_BYTES: Final = 8_192
_LEAST_LENGTH: Final = 100
_A_DAY: Final = 86_400


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a database is served."""

    read_only: bool = False
    """Offer no tools that write."""
    allow: frozenset[str] | None = None
    """The only tables that may be touched, if not all."""
    max_rows: int = 500
    timeout: float = 5.0
    """Seconds for one call."""
    max_bytes: int = 256 * 1024
    """The most text that the rows of one answer are meant to have."""
    max_length: int = 1_000_000
    """Bytes of the longest value; of SQLite alone."""
    create: bool = False
    """Make the file if it is not there."""
    wal: bool = False
    """Change the file to write-ahead logging, in which readers and a writer do not wait."""

    def __post_init__(self) -> None:
        if self.read_only and (self.create or self.wal):
            raise ContractError("what is served read-only can neither be created nor changed")
        if self.max_rows < 1:
            raise ContractError("max_rows is at least 1")
        if not 0 < self.timeout <= _A_DAY:
            raise ContractError("the timeout is more than 0 seconds, and a day at most")
        if self.max_length < _LEAST_LENGTH or self.max_length > 1 << 30:
            raise ContractError(f"max_length is {_LEAST_LENGTH} to {1 << 30:,} bytes")


class Database:
    """Asks a database, in processes that can be ended; safe on any event loop of any thread."""

    def __init__(self, where: str, options: Options) -> None:
        self.target: Target = find(where, create=options.create)
        self.options = options
        if not self.target.is_sqlite:
            _require_extra()
            if options.create or options.wal:
                raise ContractError("only SQLite can be created, or changed to write-ahead logging")
        self._readers = Workers(self._settings(writes=False), _READERS)
        self._writers = Workers(self._settings(writes=True), _WRITERS)

    def _settings(self, *, writes: bool) -> Settings:
        options = self.options
        return Settings(
            url=self.target.url,
            writes=writes,
            timeout=options.timeout,
            max_bytes=max(options.max_bytes, _LEAST_BYTES),
            max_length=options.max_length,
            allow=options.allow,
            wal=options.wal,
        )

    def start(self) -> None:
        """Have somebody ready before the first question."""
        self._readers.start()

    async def read(self, asked: Reading) -> Any:
        """What it says to a question; whoever is cancelled stops it."""
        try:
            return await self._readers.ask(asked)
        except Problem as problem:
            if problem.code != NEEDS_RECOVERY or self.options.read_only:
                raise
        await self._writers.ask(Tables())  # to open it for writing undoes what was begun
        return await self._readers.ask(asked)

    async def write(self, asked: Writing) -> Any:
        """What it says to a change, which nobody can take back once it is asked."""
        return await self._writers.ask(asked)

    def close(self) -> None:
        """End its processes."""
        self._readers.close()
        self._writers.close()


def _require_extra() -> None:
    if any(find_spec(name) is None for name in ("sqlalchemy", "psycopg")):
        raise ContractError("PostgreSQL needs an extra: pip install 'accord-mcp[sql]'")
