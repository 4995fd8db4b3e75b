"""Which statements a query may be: those that read, and read what may be read.

SQLite asks the authorizer about all that a statement does as it is prepared. That is not enough: it
is not asked about VACUUM and REINDEX at all. So a query also has to begin as a SELECT does, and
SQLite has to call it read-only; the latter alone would let ATTACH, BEGIN and most PRAGMAs pass.
"""

import re
from collections.abc import Iterable
from typing import Final

import apsw

from accord.model.answer import Problem
from accord.sources.sql.names import quoted
from accord.sources.sql.refusals import closed, misfit, only_select, unallowed
from accord.sources.sql.scan import is_blank

CACHED: Final = 2_000  # characters of a query that is kept prepared
_MOST_KNOWN: Final = 256  # more than SQLite keeps prepared

_FUNCTIONS: Final = frozenset(
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
"""The kinds of virtual tables that a database may have; json_each is always there."""
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree", "jsonb_each", "jsonb_tree"})
_OF_A_TABLE: Final = frozenset({"table_info", "table_xinfo", "index_list", "foreign_key_list"})
_OF_ALL: Final = frozenset(
    "index_info index_xinfo table_list collation_list function_list compile_options".split()
)
_OWN: Final = frozenset({"data_version"})  # what a virtual table asks for itself
_CAPITALS: Final = re.compile("[A-Z]+")
_UNAUTHORIZED: Final = "not authorized"  # how SQLite begins, of a function with no code of its own


def fold(name: str) -> str:
    """A name as SQLite compares it: capital letters of ASCII are small ones."""
    return _CAPITALS.sub(lambda found: found[0].lower(), name)


class Forgotten(Exception):
    """A query that SQLite has prepared, and of which we do not know any more what it does."""


class Guard:
    """Judges the statements of one connection; `allow` are the tables that may be read."""

    def __init__(self, allow: frozenset[str] | None) -> None:
        self._allow = None if allow is None else frozenset(map(fold, allow))
        self._known: dict[str, tuple[str, ...]] = {}
        self._there: frozenset[str] = frozenset()
        self._within: frozenset[str] = frozenset()
        self.begin("")
        self.end()

    def begin(self, query: str, *, is_fresh: bool = True) -> None:
        """A stranger's query is about to run; it `is_fresh` if SQLite cannot have it prepared."""
        self._is_off = False
        self._query = query
        self._is_fresh = is_fresh
        self._first: int | None = None
        self._is_running = False
        self._is_prepared_anew = False
        self.columns: tuple[str, ...] = ()
        self._refusal: Problem | None = None

    def end(self) -> None:
        """What follows are statements of our own. (To take the authorizer away would cost more:
        SQLite then prepares every statement anew.)"""
        self._is_off = True

    def allows(self, table: str) -> bool:
        """Whether a table may be touched."""
        return self._allow is None or fold(table) in self._allow

    @property
    def is_fence(self) -> bool:
        """Whether not all tables may be read."""
        return self._allow is not None

    def learn(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Which tables there are, and of which kind, where `allow` must know them from others.

        A virtual table reads the tables that it keeps its data in, which go by its own name.
        """
        tables = [(fold(name), kind) for name, kind in kinds]
        self._there = frozenset(name for name, _ in tables)
        self._within = frozenset(
            name
            for name, kind in tables
            if kind == "shadow" and self.allows(name.rpartition("_")[0])
        )

    def authorize(
        self, action: int, one: str | None, two: str | None, _schema: str | None, _by: str | None
    ) -> int:
        """SQLite's question whether a statement may do something."""
        if self._is_off:
            return apsw.SQLITE_OK
        if self._first is None:
            self._first = action
        if self._is_running:
            self._is_prepared_anew = True
        match action:
            case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
                return apsw.SQLITE_OK
            case apsw.SQLITE_READ:
                return self._read(one or "")
            case apsw.SQLITE_FUNCTION:
                return self._function(two or "")
            case apsw.SQLITE_PRAGMA if self._is_running:
                return self._pragma(fold(one or ""), two)
        return self._refuse(only_select())

    def _read(self, table: str) -> int:
        name = fold(table)
        if name in self._there:
            is_fine = name in self._within or self.allows(name)
        elif name.startswith("pragma_"):
            is_fine = name.removeprefix("pragma_") in _OF_A_TABLE | _OF_ALL
        else:
            is_fine = name in _TABLE_FUNCTIONS or self.allows(name)
        return apsw.SQLITE_OK if is_fine else self._refuse(closed(table, self._allow))

    def _function(self, name: str) -> int:
        if fold(name) in _FUNCTIONS:
            return apsw.SQLITE_OK
        said = f"The function {quoted(name)} is not among those that a query may use"
        return self._refuse(unallowed(said))

    def _pragma(self, name: str, argument: str | None) -> int:
        """What `pragma_table_info(…)` in a query runs, or a virtual table for itself."""
        is_fine = name in _OWN or (
            name in _OF_A_TABLE | _OF_ALL
            if self._allow is None
            else name in _OF_A_TABLE and self.allows(argument or "")
        )
        return apsw.SQLITE_OK if is_fine else self._refuse(closed(argument or name, self._allow))

    def _refuse(self, problem: Problem) -> int:
        self._refusal = problem
        return int(apsw.SQLITE_DENY)

    def refusal_behind(self, error: apsw.Error) -> Problem | None:
        """Return the refusal that an error comes from, or None if it has another cause.

        A virtual table prepares statements of its own, and may go on without one that is refused.
        """
        is_refused = isinstance(error, apsw.AuthError) or str(error).startswith(_UNAUTHORIZED)
        return self._refusal if is_refused else None

    def has_raised(self, problem: Problem) -> bool:
        """Return whether a problem is the refusal of the statement that ran last."""
        return problem is self._refusal

    def judge(self, cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        """Look at a statement that has been prepared, before it runs; for `exec_trace`."""
        if self._is_running:
            return is_blank(statement)  # what is behind the query, which has been looked at
        if self._first is None and not self._is_fresh:
            return self._recall()
        if is_blank(statement):
            raise misfit("holds nothing to run")
        if self._first != apsw.SQLITE_SELECT or not cursor.is_readonly:
            raise only_select()
        if not is_blank(self._query[len(statement) :]):
            raise misfit("takes one SELECT at a time, and there is more behind the first")
        self._is_running = True
        self._remember(cursor)
        return True

    def _recall(self) -> bool:
        """A query that SQLite has prepared already, so that it does not ask us again."""
        if self._query not in self._known:
            raise Forgotten
        self.columns = self._known[self._query] = self._known.pop(self._query)
        self._is_running = True
        return True

    def look_again(self, cursor: apsw.Cursor) -> None:
        """After its first step: SQLite prepares anew what somebody has changed the tables of."""
        if not self._is_prepared_anew:
            return
        try:
            self._remember(cursor)
        except apsw.ExecutionCompleteError:  # without a row, it does not tell its columns
            self._known.pop(self._query, None)

    def _remember(self, cursor: apsw.Cursor) -> None:
        self.columns = tuple(name for name, _ in cursor.get_description())
        if len(self._query) <= CACHED:
            self._known.pop(self._query, None)
            self._known[self._query] = self.columns
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
