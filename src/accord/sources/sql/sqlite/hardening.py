"""Opens connections with every defence that SQLite has, and holds its limits."""

from typing import Final

import apsw

from accord.sources.sql.messages import WorkerSettings
from accord.sources.sql.sqlite.authorizer import MODULES

MAX_HEAP: Final = 24 * 1024 * 1024
"""Maximum memory of SQLite in bytes."""
LIMITS: Final = {
    apsw.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    apsw.SQLITE_LIMIT_COLUMN: 2_000,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    apsw.SQLITE_LIMIT_VDBE_OP: 25_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 100,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 10_000,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_QUERY_LIMITS: Final = (
    apsw.SQLITE_LIMIT_SQL_LENGTH,
    apsw.SQLITE_LIMIT_EXPR_DEPTH,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT,
)
"""Limits of the text of a query. The schema is read without them: it may exceed them."""
_CONFIG: Final = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER: 0,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA: 0,
}
_STATEMENT_CACHE_SIZE: Final = 64
_BUSY_SHARE: Final = 0.8  # of the time limit, to wait for the lock of another connection


def open_connection(settings: WorkerSettings) -> apsw.Connection:
    """Open an existing file; read-only unless the settings say that it writes."""
    apsw.hard_heap_limit(MAX_HEAP)
    flags = apsw.SQLITE_OPEN_READWRITE if settings.writes else apsw.SQLITE_OPEN_READONLY
    flags |= apsw.SQLITE_OPEN_NOMUTEX  # a worker has one thread
    connection = apsw.Connection(
        settings.url, flags=flags, statementcachesize=_STATEMENT_CACHE_SIZE
    )
    for limit in LIMITS.keys() - set(_QUERY_LIMITS):
        connection.limit(limit, LIMITS[limit])
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, settings.max_length)
    for option, value in _CONFIG.items():
        connection.config(option, value)
    connection.drop_modules(MODULES)
    connection.set_busy_timeout(int(settings.timeout * _BUSY_SHARE * 1000))
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA query_only = " + ("OFF" if settings.writes else "ON"))
    connection.execute("PRAGMA foreign_keys = ON")
    if settings.writes and settings.wal:
        connection.execute("PRAGMA journal_mode = WAL")
    if not settings.writes:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 0")  # which loads the schema
        for limit in _QUERY_LIMITS:
            connection.limit(limit, LIMITS[limit])
    return connection
