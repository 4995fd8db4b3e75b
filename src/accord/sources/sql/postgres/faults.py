"""What PostgreSQL says when something does not work, as a Problem."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy.exc
from psycopg import errors

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import Settings

log = logging.getLogger("accord")

TOO_LARGE: Final = "TOO_LARGE"
_BUSY: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


@contextmanager
def problems(settings: Settings) -> Iterator[None]:
    """Within the block, what the two libraries raise becomes a Problem."""
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
        log.error("no URL of a database: %s", error)  # noqa: TRY400 - a line is enough
        raise _unreachable() from error
    except MemoryError as error:
        raise _too_large() from error


def problem_of(error: psycopg.Error, settings: Settings) -> Problem:
    """In PostgreSQL's own words, without the data that it may show beside them."""
    state = error.sqlstate
    if isinstance(error, errors.ProtocolViolation):
        fault = "do not fit the places in the query"
        return Problem.validation(f"params {fault}", fields=[FieldError("params", fault)])
    if state is None and isinstance(error, psycopg.DataError):
        return Problem.validation(str(error))
    if state is None and "out of memory" in str(error):
        return _too_large()
    if state is None or state[:2] in ("08", "3D", "28"):
        log.error("cannot reach the database: %s", " ".join(str(error).split()))
        return _unreachable()
    words = error.diag.message_primary or "The database refuses this"
    if isinstance(error, errors.QueryCanceled):
        return settings.stopped
    if isinstance(error, errors.IntegrityConstraintViolation | errors.IntegrityError):
        return Problem.conflict(words, fields=_fields(error.diag, words))
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        return Problem.authorization(words)
    if isinstance(error, _BUSY):
        return Problem.unavailable(f"Somebody else is changing this: {words}")
    if state[:2] in ("53", "57", "58"):
        return Problem.unavailable(words)
    return Problem.validation(words)


def _fields(diagnosis: Any, words: str) -> list[FieldError]:
    column = diagnosis.column_name
    return [FieldError(f"data.{column}", words)] if column else []


def in_doubt() -> Problem:
    """A change of which nobody has heard whether it was made."""
    return Problem.unavailable(
        "The connection to the database was lost; look whether the change took place",
        retryable=False,
    )


def _too_large() -> Problem:
    return Problem.validation(
        "This takes more memory than a query may have",
        code=TOO_LARGE,
        remediation="ask for fewer or smaller columns",
    )


def _unreachable() -> Problem:
    return Problem.unavailable("The database cannot be reached")
