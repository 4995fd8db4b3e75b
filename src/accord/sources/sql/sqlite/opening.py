"""Opening a database so that it can do no harm, and no harm can be done with it."""

from typing import Final

import apsw

from accord.sources.sql.messages import Settings
from accord.sources.sql.sqlite.guard import MODULES

HEAP: Final = 24 * 1024 * 1024
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
_OF_A_TEXT: Final = (
    apsw.SQLITE_LIMIT_SQL_LENGTH,
    apsw.SQLITE_LIMIT_EXPR_DEPTH,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT,
)
"""The limits of a stranger's text. The tables of a database may be beyond them, and are then not
read under them."""
_SWITCHES: Final = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER: 0,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA: 0,
}
_KEPT_PREPARED: Final = 64
_PATIENCE: Final = 0.8  # of the time limit, to wait for somebody else's lock


def open_connection(settings: Settings) -> apsw.Connection:
    """A connection with every defence that SQLite has; to a file that is there."""
    apsw.hard_heap_limit(HEAP)
    flags = apsw.SQLITE_OPEN_READWRITE if settings.writes else apsw.SQLITE_OPEN_READONLY
    flags |= apsw.SQLITE_OPEN_NOMUTEX  # a worker has one thread
    connection = apsw.Connection(settings.url, flags=flags, statementcachesize=_KEPT_PREPARED)
    for limit in LIMITS.keys() - set(_OF_A_TEXT):
        connection.limit(limit, LIMITS[limit])
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, settings.max_length)
    for switch, value in _SWITCHES.items():
        connection.config(switch, value)
    connection.drop_modules(MODULES)
    connection.set_busy_timeout(int(settings.timeout * _PATIENCE * 1000))
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA query_only = " + ("OFF" if settings.writes else "ON"))
    connection.execute("PRAGMA foreign_keys = ON")
    if settings.writes and settings.wal:
        connection.execute("PRAGMA journal_mode = WAL")
    if not settings.writes:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 0")  # so that it knows all tables
        for limit in _OF_A_TEXT:
            connection.limit(limit, LIMITS[limit])
    return connection
