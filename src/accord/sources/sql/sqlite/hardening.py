"""Opens connections with every defence that SQLite has, and authorizes their statements.

A caller may run one SELECT, of tables that may be read. SQLite calls the authorizer for all that a
statement does as it is prepared. That is not enough: it does not call it for VACUUM and REINDEX. So
a query also has to begin as a SELECT does, and SQLite has to call it read-only; the latter alone
would let ATTACH, BEGIN and most PRAGMAs pass.
"""

import re
from collections.abc import Iterable
from typing import Final

import apsw

from accord.model.answer import Problem
from accord.sources.sql.messages import WorkerSettings
from accord.sources.sql.problems import (
    forbidden_query,
    forbidden_table,
    invalid_query,
    not_allowed,
    only_select,
    quote_name,
)
from accord.sources.sql.sqlite.functions import FUNCTION_NAMES, add_functions
from accord.sources.sql.tokenizer import identifiers, is_blank

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
MAX_CACHED_QUERY: Final = 2_000
"""Maximum length of a query that stays in SQLite's statement cache."""
_MAX_CACHED: Final = 256  # queries; more than SQLite's statement cache holds

_FUNCTIONS: Final = FUNCTION_NAMES | frozenset(
    # core
    "-> ->> abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr"
    " last_insert_rowid length like likelihood likely lower ltrim match max min nullif octet_length"
    " printf quote random randomblob replace round rtrim sign soundex substr substring"
    " total_changes trim typeof unhex unicode unistr unistr_quote unlikely upper zeroblob"
    " sqlite_version"
    # aggregates and windows
    " avg count cume_dist dense_rank first_value group_concat lag last_value lead median nth_value"
    " ntile percent_rank percentile percentile_cont percentile_disc rank row_number string_agg sum"
    " total"
    # dates
    " current_date current_time current_timestamp date datetime julianday strftime time timediff"
    " unixepoch"
    # numbers
    " acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10"
    " log2 mod pi pow power radians sin sinh sqrt tan tanh trunc"
    # JSON
    " json json_array json_array_insert json_array_length json_error_position json_extract"
    " json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote"
    " json_remove json_replace json_set json_type json_valid jsonb jsonb_array jsonb_array_insert"
    " jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch"
    " jsonb_remove jsonb_replace jsonb_set subtype"
    # full text and geometry
    " bm25 highlight matchinfo offsets snippet geopoly_area geopoly_bbox geopoly_blob geopoly_ccw"
    " geopoly_contains_point geopoly_group_bbox geopoly_json geopoly_overlap geopoly_regular"
    " geopoly_svg geopoly_within geopoly_xform rtreedepth rtreenode".split()
)
MODULES: Final = ("fts3", "fts4", "fts5", "fts5vocab", "fts4aux", "rtree", "rtree_i32", "geopoly")
"""The kinds of virtual tables that a database may have; json_each is built in."""
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree", "jsonb_each", "jsonb_tree"})
_TABLE_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "index_list", "foreign_key_list"})
_NAMING_PRAGMAS: Final = frozenset({"foreign_key_list"})  # which name other tables
_DATABASE_PRAGMAS: Final = frozenset(
    "index_info index_xinfo table_list collation_list function_list compile_options".split()
)
_MODULE_PRAGMAS: Final = frozenset({"data_version"})  # which a virtual table runs itself
_CAPITALS: Final = re.compile("[A-Z]+")
_NOT_AUTHORIZED: Final = "not authorized"  # how the message for a denied function begins


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
        add_functions(connection)
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 0")  # which loads the schema
        for limit in _QUERY_LIMITS:
            connection.limit(limit, LIMITS[limit])
    return connection


def fold(name: str) -> str:
    """Return a name as SQLite compares it: only the letters of ASCII are lowered."""
    return _CAPITALS.sub(lambda found: found[0].lower(), name)


class NotCached(Exception):
    """SQLite has the query prepared, but the authorizer has dropped its columns."""


class Authorizer:
    """Checks the statements of one connection; `allow` are the tables that may be read."""

    def __init__(self, allow: frozenset[str] | None) -> None:
        self._allow = None if allow is None else frozenset(map(fold, allow))
        self._cached_columns: dict[str, tuple[str, ...]] = {}
        self._tables: frozenset[str] = frozenset()
        self._allowed_shadows: frozenset[str] = frozenset()
        self.enable("")
        self.disable()

    def enable(self, query: str, *, is_fresh: bool = True) -> None:
        """Begin to check a caller's query; it `is_fresh` if SQLite cannot have it cached."""
        self._is_enabled = True
        self._query = query
        self._is_fresh = is_fresh
        self._first_action: int | None = None
        self._is_running = False
        self._is_reprepared = False
        self.columns: tuple[str, ...] = ()
        self._denial: Problem | None = None

    def disable(self) -> None:
        """Let our own statements pass.

        Removing the authorizer would cost more: SQLite then prepares every statement again.
        """
        self._is_enabled = False

    def allows(self, table: str) -> bool:
        """True if a table may be read or changed."""
        return self._allow is None or fold(table) in self._allow

    @property
    def is_restricted(self) -> bool:
        """True if only some tables may be read."""
        return self._allow is not None

    def set_tables(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Set the tables of the database, each with its kind; needed where `allow` is given.

        A virtual table stores its data in shadow tables, whose names begin with its own.
        """
        tables = [(fold(name), kind) for name, kind in kinds]
        self._tables = frozenset(name for name, _ in tables)
        self._allowed_shadows = frozenset(
            name
            for name, kind in tables
            if kind == "shadow" and self.allows(name.rpartition("_")[0])
        )

    def authorize(
        self, action: int, one: str | None, two: str | None, _schema: str | None, _by: str | None
    ) -> int:
        """Allow or deny one action of a statement; SQLite's authorizer callback."""
        if not self._is_enabled:
            return apsw.SQLITE_OK
        if self._first_action is None:
            self._first_action = action
        if self._is_running:
            self._is_reprepared = True
        match action:
            case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
                return apsw.SQLITE_OK
            case apsw.SQLITE_READ:
                return self._authorize_read(one or "")
            case apsw.SQLITE_FUNCTION:
                return self._authorize_function(two or "")
            case apsw.SQLITE_PRAGMA if self._is_running:
                return self._authorize_pragma(fold(one or ""), two)
        return self._deny(only_select())

    def _authorize_read(self, table: str) -> int:
        name = fold(table)
        if name in self._tables:
            is_allowed = name in self._allowed_shadows or self.allows(name)
        elif name.startswith("pragma_"):
            is_allowed = name.removeprefix("pragma_") in _TABLE_PRAGMAS | _DATABASE_PRAGMAS
        else:
            is_allowed = name in _TABLE_FUNCTIONS or self.allows(name)
        return apsw.SQLITE_OK if is_allowed else self._forbid(table)

    def _authorize_function(self, name: str) -> int:
        if fold(name) in _FUNCTIONS:
            return apsw.SQLITE_OK
        message = f"The function {quote_name(name)} is not among those that a query may use"
        return self._deny(forbidden_query(message))

    def _authorize_pragma(self, name: str, argument: str | None) -> int:
        """Allow or deny the PRAGMA behind `pragma_table_info(…)`, or of a virtual table."""
        is_allowed = name in _MODULE_PRAGMAS or (
            name in _TABLE_PRAGMAS | _DATABASE_PRAGMAS
            if self._allow is None
            else name in _TABLE_PRAGMAS - _NAMING_PRAGMAS and self.allows(argument or "")
        )
        if is_allowed:
            return apsw.SQLITE_OK
        return self._forbid(argument or name)

    def _forbid(self, table: str) -> int:
        """Deny a table; with an allow list, the refusal does not tell whether there is one."""
        if self._allow is None:
            return self._deny(forbidden_table(table))
        is_named = fold(table) in identifiers(self._query)
        return self._deny(not_allowed(self._allow, table if is_named else None))

    def _deny(self, problem: Problem) -> int:
        self._denial = problem
        return int(apsw.SQLITE_DENY)

    def denial_behind(self, error: apsw.Error) -> Problem | None:
        """Return the denial that caused an error, or None if it has another cause.

        A virtual table prepares statements of its own, and may go on without one that is denied.
        """
        is_denial = isinstance(error, apsw.AuthError) or str(error).startswith(_NOT_AUTHORIZED)
        return self._denial if is_denial else None

    def is_denial(self, problem: Problem) -> bool:
        """True if a Problem is the denial of the statement that ran last."""
        return problem is self._denial

    def check_statement(self, cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        """Check a prepared statement before it runs; the `exec_trace` callback."""
        if self._is_running:
            return is_blank(statement)  # after the query, which was checked with it
        if self._first_action is None and not self._is_fresh:
            return self._use_cached()
        if is_blank(statement):
            raise invalid_query("holds nothing to run")
        if self._first_action != apsw.SQLITE_SELECT or not cursor.is_readonly:
            raise only_select()
        if not is_blank(self._query[len(statement) :]):
            raise invalid_query("takes one SELECT at a time, and there is more behind the first")
        self._is_running = True
        self._cache_columns(cursor)
        return True

    def _use_cached(self) -> bool:
        """Accept a query that SQLite has prepared before, for which it calls no authorizer."""
        if self._query not in self._cached_columns:
            raise NotCached
        columns = self._cached_columns.pop(self._query)
        self.columns = self._cached_columns[self._query] = columns
        self._is_running = True
        return True

    def refresh_columns(self, cursor: apsw.Cursor) -> None:
        """Update the columns after the first step: SQLite prepares again if a table changed."""
        if not self._is_reprepared:
            return
        try:
            self._cache_columns(cursor)
        except apsw.ExecutionCompleteError:  # without a row, the cursor has no description
            self._cached_columns.pop(self._query, None)

    def _cache_columns(self, cursor: apsw.Cursor) -> None:
        self.columns = tuple(name for name, _ in cursor.get_description())
        if len(self._query) <= MAX_CACHED_QUERY:
            self._cached_columns.pop(self._query, None)
            self._cached_columns[self._query] = self.columns
        if len(self._cached_columns) > _MAX_CACHED:
            del self._cached_columns[next(iter(self._cached_columns))]
