"""What SQLite says when something does not work, as a Problem that says what to do about it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from accord.model.answer import FieldError, Problem
from accord.sources.sql.confine import DISK
from accord.sources.sql.messages import NEEDS_RECOVERY, Settings
from accord.sources.sql.refusals import only_select
from accord.sources.sql.sqlite.opening import HEAP, LIMITS

_UNFINISHED: Final = (
    apsw.SQLITE_READONLY_ROLLBACK,
    apsw.SQLITE_READONLY_RECOVERY,
    apsw.SQLITE_READONLY_CANTINIT,
)
_DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError)
_MEMORY: Final = (apsw.NoMemError, MemoryError)
_UNCONNECTED: Final = "vtable constructor failed"
_UNEXPLAINED: Final = "SQL logic error"  # of a virtual table that fails without a message
_COLUMN: Final = re.compile(r"constraint failed: (?P<columns>[^.\s]+\.[^,]+(?:, [^.\s]+\.[^,]+)*)$")

# What SQLite says of a limit: the words to know it by, what it counts, and how many there may be.
_REFUSALS: Final = (
    ("Expression tree is too large", "the depth of an expression", apsw.SQLITE_LIMIT_EXPR_DEPTH),
    ("compound SELECT", "the terms of a compound SELECT", apsw.SQLITE_LIMIT_COMPOUND_SELECT),
    ("too many columns", "the columns of a result", apsw.SQLITE_LIMIT_COLUMN),
    ("pattern too complex", "the bytes of a LIKE pattern", apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH),
    ("too many arguments", "the arguments of a function", apsw.SQLITE_LIMIT_FUNCTION_ARG),
    ("too many SQL variables", "the parameters of a query", apsw.SQLITE_LIMIT_VARIABLE_NUMBER),
    ("variable number", "the parameters of a query", apsw.SQLITE_LIMIT_VARIABLE_NUMBER),
)


FAULTS: Final = (apsw.Error, UnicodeDecodeError, MemoryError)
"""What may come of asking SQLite."""


@contextmanager
def problems(settings: Settings) -> Iterator[None]:
    """Within the block, what SQLite raises becomes a Problem."""
    try:
        yield
    except FAULTS as error:
        raise problem_of(error, settings) from error


def problem_of(error: Exception, settings: Settings, query: str | None = None) -> Problem:
    """What SQLite raised as a Problem; `query` is the caller's own text."""
    words = str(error)
    match error:
        case apsw.InterruptError():
            return settings.stopped
        case apsw.TooBigError():
            return _too_long(settings, query)
        case _ if isinstance(error, _MEMORY):
            return _too_much(query)
        case _ if isinstance(error, _DAMAGED) or words.startswith(_UNCONNECTED):
            return _damaged(words if isinstance(error, apsw.Error) else "text is no UTF-8")
        case apsw.BusyError() | apsw.LockedError():
            return Problem.unavailable("The database is locked by somebody else; try again later")
        case apsw.ReadOnlyError() if getattr(error, "extendedresult", 0) in _UNFINISHED:
            return _unfinished()
        case apsw.ReadOnlyError():
            return only_select() if query else Problem.authorization(f"The database: {words}")
        case apsw.ConstraintError():
            return _conflict(words)
        case apsw.IOError() if query is not None and _is_of_sorting(error):
            return _too_much_to_sort()
        case apsw.IOError() | apsw.CantOpenError() | apsw.FullError() | apsw.ProtocolError():
            return _out_of_order(words)
        case apsw.Error() if query is not None:
            return _refused(words)
    return Problem.validation(words)


def _refused(words: str) -> Problem:
    """What SQLite has against a query, in its own words; a limit is named."""
    for sign, what, limit in _REFUSALS:
        if sign in words:
            words = f"{words}: {what} may be {LIMITS[limit]:,} at most"
            break
    if words == "Recursion limit":
        words = "The query is nested too deeply"
    if words == _UNEXPLAINED:
        words += ": a virtual table is damaged, or cannot do what the query asks of it"
    return Problem.validation(words, fields=[FieldError("query", words)])


def _too_long(settings: Settings, query: str | None) -> Problem:
    longest = LIMITS[apsw.SQLITE_LIMIT_SQL_LENGTH]
    if query is not None and len(query.encode(errors="replace")) > longest:
        fault = f"has more than {longest:,} bytes"
        return Problem.validation(f"The query {fault}", fields=[FieldError("query", fault)])
    return Problem.validation(
        f"A value or row has more than {settings.max_length:,} bytes",
        code="TOO_LARGE",
        remediation="take a part of it with substr(), or raise the limit with --max-length",
    )


def _too_much(query: str | None) -> Problem:
    steps = LIMITS[apsw.SQLITE_LIMIT_VDBE_OP]
    return Problem.validation(
        f"This takes more than {HEAP:,} bytes of memory, or {steps:,} steps to prepare",
        code="TOO_LARGE",
        fields=[FieldError("query", "takes too much memory")] if query else (),
        remediation="ask for fewer or smaller columns",
    )


def _is_of_sorting(error: apsw.IOError) -> bool:
    """Whether it is about what a query writes, which is what it sorts by, and nothing else."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE


def _too_much_to_sort() -> Problem:
    fault = f"sorts more than {DISK:,} bytes, or than there is room for"
    return Problem.validation(
        f"The query {fault}",
        code="TOO_LARGE",
        fields=[FieldError("query", fault)],
        remediation="sort fewer or smaller columns, or by what has an index",
    )


def _damaged(words: str) -> Problem:
    return Problem.unavailable(
        f"The file is damaged, or is no SQLite database: {words}",
        code="DATABASE_DAMAGED",
        retryable=False,
    )


def _out_of_order(words: str) -> Problem:
    return Problem.unavailable(f"The database file cannot be used: {words}", retryable=False)


def _unfinished() -> Problem:
    return Problem.unavailable(
        "Somebody's change was interrupted and has to be undone, for which the database must be"
        " opened for writing once",
        code=NEEDS_RECOVERY,
        remediation="open it without --read-only, or with the program that was interrupted",
        retryable=False,
    )


def _conflict(words: str) -> Problem:
    """A constraint, with the columns that SQLite names."""
    found = _COLUMN.search(words)
    columns = found["columns"].split(", ") if found else []
    fields = [FieldError(f"data.{each.partition('.')[2]}", words) for each in columns]
    return Problem.conflict(words, fields=fields)
