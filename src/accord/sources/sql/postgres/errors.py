"""Maps errors of psycopg and SQLAlchemy to Problems."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy.exc
from psycopg import errors

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import WorkerSettings
from accord.sources.sql.problems import invalid_params

log = logging.getLogger("accord")

TOO_LARGE: Final = "TOO_LARGE"
_BUSY: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


@contextmanager
def mapped_errors(settings: WorkerSettings) -> Iterator[None]:
    """Raise errors of the two libraries within the block as Problems."""
    try:
        yield
    except psycopg.Error as error:
        raise problem_of(error, settings) from error
    except sqlalchemy.exc.DBAPIError as error:
        cause = error.orig
        if not isinstance(cause, psycopg.Error):
            raise
        raise problem_of(cause, settings) from error
    except sqlalchemy.exc.ArgumentError as error:
        log.error("invalid URL of a database: %s", error)  # noqa: TRY400 - no traceback
        raise _unreachable() from error
    except MemoryError as error:
        raise _too_large() from error


def problem_of(error: psycopg.Error, settings: WorkerSettings) -> Problem:
    """Return the Problem for an error: its message, without the details, which may show data."""
    state = error.sqlstate
    if isinstance(error, errors.ProtocolViolation):
        return invalid_params("do not fit the placeholders in the query")
    if state is None and isinstance(error, psycopg.DataError):
        return Problem.validation(str(error))
    if state is None and "out of memory" in str(error):
        return _too_large()
    if state is None or state[:2] in ("08", "3D", "28"):
        log.error("could not reach the database: %s", " ".join(str(error).split()))
        return _unreachable()
    message = error.diag.message_primary or "The database refuses this"
    if isinstance(error, errors.QueryCanceled):
        return settings.timeout_problem
    if isinstance(error, errors.IntegrityConstraintViolation | errors.IntegrityError):
        return Problem.conflict(message, fields=_fields(error.diag, message))
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        return Problem.authorization(message)
    if isinstance(error, _BUSY):
        return Problem.unavailable(f"Another transaction is changing this: {message}")
    if state[:2] in ("53", "57", "58"):
        return Problem.unavailable(message)
    return Problem.validation(message)


def _fields(diagnostic: Any, message: str) -> list[FieldError]:
    column = diagnostic.column_name
    return [FieldError(f"data.{column}", message)] if column else []


def commit_unconfirmed() -> Problem:
    """Return the Problem of a change whose commit was not confirmed."""
    return Problem.unavailable(
        "The connection to the database was lost; check whether the change was made",
        retryable=False,
    )


def _too_large() -> Problem:
    return Problem.validation(
        "This takes more memory than a query may have",
        code=TOO_LARGE,
        remediation="ask for fewer or smaller columns",
    )


def _unreachable() -> Problem:
    return Problem.unavailable("The database could not be reached")
