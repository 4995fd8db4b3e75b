"""Maps errors of SQLite to Problems, with advice where there is any."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import MAX_FILE, NEEDS_RECOVERY, WorkerSettings
from accord.sources.sql.problems import only_select, query_failed
from accord.sources.sql.sqlite.hardening import LIMITS, MAX_HEAP

_NEED_RECOVERY: Final = (
    apsw.SQLITE_READONLY_ROLLBACK,
    apsw.SQLITE_READONLY_RECOVERY,
    apsw.SQLITE_READONLY_CANTINIT,
)
_DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError)
_MEMORY: Final = (apsw.NoMemError, MemoryError)
_CONNECT_FAILED: Final = "vtable constructor failed"
_NO_MESSAGE: Final = "SQL logic error"  # of a virtual table that fails without a message
_COLUMN: Final = re.compile(r"constraint failed: (?P<columns>[^.\s]+\.[^,]+(?:, [^.\s]+\.[^,]+)*)$")

# Limits: a part of SQLite's message, the name of the limit, and its key.
_LIMIT_MESSAGES: Final = (
    ("Expression tree is too large", "the depth of an expression", apsw.SQLITE_LIMIT_EXPR_DEPTH),
    ("compound SELECT", "the terms of a compound SELECT", apsw.SQLITE_LIMIT_COMPOUND_SELECT),
    ("too many columns", "the columns of a result", apsw.SQLITE_LIMIT_COLUMN),
    ("pattern too complex", "the bytes of a LIKE pattern", apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH),
    ("too many arguments", "the arguments of a function", apsw.SQLITE_LIMIT_FUNCTION_ARG),
    ("too many SQL variables", "the parameters of a query", apsw.SQLITE_LIMIT_VARIABLE_NUMBER),
    ("variable number", "the parameters of a query", apsw.SQLITE_LIMIT_VARIABLE_NUMBER),
)


SQLITE_ERRORS: Final = (apsw.Error, UnicodeDecodeError, MemoryError)
"""The exceptions that a call of apsw may raise."""


@contextmanager
def mapped_errors(settings: WorkerSettings) -> Iterator[None]:
    """Raise errors of SQLite within the block as Problems."""
    try:
        yield
    except SQLITE_ERRORS as error:
        raise problem_of(error, settings) from error


def problem_of(error: Exception, settings: WorkerSettings, query: str | None = None) -> Problem:
    """Return the Problem for an error; `query` is the text of the caller, if there is one."""
    message = str(error)
    match error:
        case apsw.InterruptError():
            return settings.timeout_problem
        case apsw.TooBigError():
            return _too_long(settings, query)
        case _ if isinstance(error, _MEMORY):
            return _too_much(query)
        case _ if isinstance(error, _DAMAGED) or message.startswith(_CONNECT_FAILED):
            return _damaged(message if isinstance(error, apsw.Error) else "text is not UTF-8")
        case apsw.BusyError() | apsw.LockedError():
            return Problem.unavailable(
                "The database is locked by another connection; try again later"
            )
        case apsw.ReadOnlyError() if getattr(error, "extendedresult", 0) in _NEED_RECOVERY:
            return _needs_recovery()
        case apsw.ReadOnlyError():
            return only_select() if query else Problem.authorization(f"The database: {message}")
        case apsw.ConstraintError():
            return _conflict(message)
        case apsw.IOError() if query is not None and _is_sorting_error(error):
            return _too_much_to_sort()
        case apsw.IOError() | apsw.CantOpenError() | apsw.FullError() | apsw.ProtocolError():
            return _unusable(message)
        case apsw.Error() if query is not None:
            return _query_problem(message)
    return Problem.validation(message)


def _query_problem(message: str) -> Problem:
    """Return the Problem of a query with SQLite's message; it names the limit that is exceeded."""
    for text, what, limit in _LIMIT_MESSAGES:
        if text in message:
            message = f"{message}: {what} may be {LIMITS[limit]:,} at most"
            break
    if message == "Recursion limit":
        message = "The query is nested too deeply"
    if message == _NO_MESSAGE:
        message += ": a virtual table is damaged, or cannot do what the query asks of it"
    return query_failed(message)


def _too_long(settings: WorkerSettings, query: str | None) -> Problem:
    maximum = LIMITS[apsw.SQLITE_LIMIT_SQL_LENGTH]
    if query is not None and len(query.encode(errors="replace")) > maximum:
        fault = f"has more than {maximum:,} bytes"
        return Problem.validation(f"The query {fault}", fields=[FieldError("query", fault)])
    return Problem.validation(
        f"A value or row has more than {settings.max_length:,} bytes",
        code="TOO_LARGE",
        remediation="take a part of it with substr(), or raise the limit with --max-length",
    )


def _too_much(query: str | None) -> Problem:
    steps = LIMITS[apsw.SQLITE_LIMIT_VDBE_OP]
    return Problem.validation(
        f"This takes more than {MAX_HEAP:,} bytes of memory, or {steps:,} steps to prepare",
        code="TOO_LARGE",
        fields=[FieldError("query", "takes too much memory")] if query else (),
        remediation="ask for fewer or smaller columns",
    )


def _is_sorting_error(error: apsw.IOError) -> bool:
    """True if writing failed: a query writes only temporary files, to sort."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE


def _too_much_to_sort() -> Problem:
    fault = f"sorts more than {MAX_FILE:,} bytes, or than there is room for"
    return Problem.validation(
        f"The query {fault}",
        code="TOO_LARGE",
        fields=[FieldError("query", fault)],
        remediation="sort fewer or smaller columns, or by what has an index",
    )


def _damaged(message: str) -> Problem:
    return Problem.unavailable(
        f"The file is damaged, or is not a SQLite database: {message}",
        code="DATABASE_DAMAGED",
        retryable=False,
    )


def _unusable(message: str) -> Problem:
    return Problem.unavailable(f"The database file could not be used: {message}", retryable=False)


def _needs_recovery() -> Problem:
    return Problem.unavailable(
        "An interrupted transaction must be rolled back, for which the database must be opened"
        " for writing once",
        code=NEEDS_RECOVERY,
        remediation="open it without --read-only, or with the program that was interrupted",
        retryable=False,
    )


def _conflict(message: str) -> Problem:
    """Return the Problem of a violated constraint, with the columns that SQLite names."""
    found = _COLUMN.search(message)
    columns = found["columns"].split(", ") if found else []
    fields = [FieldError(f"data.{each.partition('.')[2]}", message) for each in columns]
    return Problem.conflict(message, fields=fields)
