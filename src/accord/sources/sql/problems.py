"""Problems that both engines raise, and the checks that raise them."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import DeleteRows, UpdateRows, WriteRequest

ONLY_SELECT: Final = "Only SELECT queries are allowed for security reasons"
_PLAIN_NAME: Final = re.compile(r"\w{1,64}")
_MAX_NAMES: Final = 50
_MAX_NAME_LENGTH: Final = 64


def quote_name(name: str) -> str:
    """Return a name in quotes, for a message: it is data, and may be long."""
    shown = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…"
    return '"' + shown.replace('"', '""') + '"'


def join_names(names: Sequence[str]) -> str:
    """Return some of the names in quotes, and how many more there are."""
    shown = ", ".join(quote_name(name) for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown or "none"


def suggest(name: str, known: Sequence[str]) -> str:
    """Return the known name that is most like this one, or a list of them."""
    close = get_close_matches(name.casefold(), [each.casefold() for each in known], n=1)
    if close:
        best = next(each for each in known if each.casefold() == close[0])
        return f"did you mean {quote_name(best)}?"
    return f"there are {join_names(known)}"


def invalid_query(fault: str) -> Problem:
    """Return the Problem of a query that must not run."""
    return Problem.validation(f"query {fault}", fields=[FieldError("query", fault)])


def invalid_params(fault: str) -> Problem:
    """Return the Problem of parameters that do not fit the query."""
    return Problem.validation(f"params {fault}", fields=[FieldError("params", fault)])


def missing_param(name: str) -> Problem:
    """Return the Problem of a parameter that the query names and the caller does not give."""
    return invalid_params(f"must have {quote_name(name)}, which the query names")


def query_failed(message: str) -> Problem:
    """Return the Problem of a query that the database refuses, with its message."""
    return Problem.validation(message, fields=[FieldError("query", message)])


def unknown_table(message: str, name: str, tables: Sequence[str]) -> Problem:
    """Return the Problem of a query that names an unknown table, with the database's message."""
    return query_failed(f"{message}; {suggest(name, tables)}")


def only_select() -> Problem:
    """Return the Problem of a query that does more than read."""
    return forbidden_query(ONLY_SELECT)


def forbidden_table(table: str, allow: Iterable[str] | None) -> Problem:
    """Return the Problem of a query that reads a table which is not allowed."""
    allowed = "" if allow is None else f"; only {join_names(sorted(allow))} may be read"
    return forbidden_query(f"{quote_name(table)} may not be read{allowed}")


def forbidden_query(message: str) -> Problem:
    """Return the Problem of a query that is not permitted."""
    return Problem.authorization(message, fields=[FieldError("query", message)])


def find_table(
    name: str, tables: Sequence[str], fold: Callable[[str], str] = lambda name: name
) -> str:
    """Return a table's name as the database spells it, or raise a Problem that suggests one."""
    known = {fold(each): each for each in tables}
    if fold(name) in known:
        return known[fold(name)]
    fault = f"no table {quote_name(name)}; {suggest(name, tables)}"
    raise Problem.not_found(fault, fields=[FieldError("table_name", fault)])


def validate_change(
    request: WriteRequest, table: str, columns: Sequence[str], fold: Callable[[str], str]
) -> None:
    """Raise if a change has no column, no condition, or names an unknown column."""
    data = {} if isinstance(request, DeleteRows) else request.data
    where = request.where if isinstance(request, UpdateRows | DeleteRows) else {}
    if not isinstance(request, DeleteRows):
        _require_nonempty("data", data, "must name at least one column", table, columns)
    if isinstance(request, UpdateRows | DeleteRows):
        _require_nonempty("where", where, "must have at least one condition", table, columns)
    given = [("data", name) for name in data] + [("where", name) for name in where]
    _require_columns(table, given, columns, fold)


def _require_nonempty(
    field: str, value: object, fault: str, table: str, columns: Sequence[str]
) -> None:
    if not value:
        fault = f"{fault}; {quote_name(table)} has {join_names(columns)}"
        raise Problem.validation(f"{field} {fault}", fields=[FieldError(field, fault)])


def _require_columns(
    table: str,
    given: Iterable[tuple[str, str]],
    columns: Sequence[str],
    fold: Callable[[str], str],
) -> None:
    """Raise if a column, each with the field that names it, is unknown or named twice."""
    known = {fold(each) for each in columns}
    shown = table if _PLAIN_NAME.fullmatch(table) else quote_name(table)
    seen: set[tuple[str, str]] = set()
    errors: list[FieldError] = []
    for field, name in given:
        if fold(name) not in known:
            fault = f"no column {quote_name(name)} in {shown}; {suggest(name, columns)}"
            errors.append(FieldError(f"{field}.{name}", fault))
        elif (field, fold(name)) in seen:
            errors.append(FieldError(f"{field}.{name}", f"{quote_name(name)} is named twice"))
        seen.add((field, fold(name)))
    if errors:
        raise Problem.validation("; ".join(each.error for each in errors), fields=errors)


def require_max_changes(changes: int, maximum: int | None) -> None:
    """Raise if more rows changed than the caller allows; the transaction is then rolled back."""
    if maximum is not None and changes > maximum:
        fault = f"is {maximum:,}, and {changes:,} rows would change"
        raise Problem.conflict(
            f"max_changes {fault}; nothing was changed",
            code="TOO_MANY_CHANGES",
            fields=[FieldError("max_changes", fault)],
            remediation="narrow the conditions, or raise max_changes",
        )
