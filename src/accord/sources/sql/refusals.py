"""What is said of a query that cannot be run, in the same words for every database."""

from collections.abc import Iterable, Sequence
from typing import Final

from accord.model.answer import FieldError, Problem
from accord.sources.sql.names import listed, quoted, suggestion

ONLY_SELECT: Final = "Only SELECT queries are allowed for security reasons"


def misfit(fault: str) -> Problem:
    """A query with which something is wrong."""
    return Problem.validation(f"query {fault}", fields=[FieldError("query", fault)])


def misbound(fault: str) -> Problem:
    """Parameters that do not fit the query."""
    return Problem.validation(f"params {fault}", fields=[FieldError("params", fault)])


def unbound(name: str) -> Problem:
    """A parameter that the query names, and that is not there."""
    return misbound(f"does not have {quoted(name)}, which the query names")


def faulty(words: str) -> Problem:
    """What the database itself says of a query."""
    return Problem.validation(words, fields=[FieldError("query", words)])


def unknown_table(words: str, name: str, there: Sequence[str]) -> Problem:
    """A table that is not there, in the database's words, with what there is instead."""
    return faulty(f"{words}; {suggestion(name, there)}")


def only_select() -> Problem:
    """Whatever does more than read."""
    return unallowed(ONLY_SELECT)


def closed(table: str, allow: Iterable[str] | None) -> Problem:
    """A table that may not be read, and those that may, if not all others."""
    there = "" if allow is None else f"; only {listed(sorted(allow))} may be read"
    return unallowed(f"{quoted(table)} may not be read{there}")


def unallowed(words: str) -> Problem:
    """A query that does what it may not do."""
    return Problem.authorization(words, fields=[FieldError("query", words)])
