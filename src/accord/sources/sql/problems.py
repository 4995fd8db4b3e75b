"""Problems that both engines raise, and the checks that raise them."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import DeleteRows, InsertRow, UpdateRows, WriteRequest

ONLY_SELECT: Final = "Only SELECT queries are allowed for security reasons"
_PLAIN_NAME: Final = re.compile(r"\w{1,64}")
_MAX_NAMES: Final = 50
_MAX_NAME_LENGTH: Final = 64
_MAX_COMPARED: Final = 2_000  # names, since comparing takes time
_WORD: Final = re.compile(r"[\w$]+")
_QUOTES: Final = str.maketrans("", "", "\"'`[]")  # in SQL, one within a name is written twice
_OF_THE_DATABASE: Final = frozenset({"validation", "authorization", "conflict"})
"""The kinds of Problems whose message may quote the database."""


def quote_name(name: str) -> str:
    """Return a name in quotes, for a message: it is data, and may be long."""
    shown = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…"
    return '"' + shown.replace('"', '""') + '"'


def join_names(names: Sequence[str]) -> str:
    """Return some of the names in quotes, and how many more there are."""
    shown = ", ".join(quote_name(name) for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown or "none"


def close_names(name: str, known: Sequence[str], count: int) -> list[str]:
    """Return the known names that are spelled most like this one, best first."""
    if len(known) > _MAX_COMPARED:
        known = nsmallest(_MAX_COMPARED, known, key=lambda each: abs(len(each) - len(name)))
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each[:_MAX_NAME_LENGTH].casefold(), each)
    close = get_close_matches(name[:_MAX_NAME_LENGTH].casefold(), folded, n=count)
    return [folded[each] for each in close]


def suggest(name: str, known: Sequence[str]) -> str:
    """Return the known name that is most like this one, or a list of them."""
    close = close_names(name, known, 1)
    return f"did you mean {quote_name(close[0])}?" if close else f"there are {join_names(known)}"


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


def unknown_column(message: str, name: str, columns: Sequence[str]) -> Problem:
    """Return the Problem of a query that names an unknown column, with the database's message."""
    close = close_names(name, columns, 1)
    return query_failed(f"{message}; did you mean {quote_name(close[0])}?" if close else message)


def only_select() -> Problem:
    """Return the Problem of a query that does more than read."""
    return forbidden_query(ONLY_SELECT)


def forbidden_table(table: str) -> Problem:
    """Return the Problem of a query that reads a table which no query may read."""
    return forbidden_query(f"{quote_name(table)} may not be read")


def not_allowed(allow: Iterable[str], name: str | None = None) -> Problem:
    """Return the Problem of a query that reads a table which is not allowed, or does not exist.

    It does not tell which, nor does it name the table. `name` is the one in the query, if the
    query has it.
    """
    names = sorted(allow)
    close = [] if name is None else close_names(name, names, 1)
    advice = (
        f"did you mean {quote_name(close[0])}?"
        if close
        else f"only {join_names(names)} may be read"
    )
    return forbidden_query(f"The query reads what does not exist or may not be read; {advice}")


def names_any(text: str, names: Collection[str]) -> bool:
    """True if a text has one of the names in it, which are in lower case."""
    lowered = text.lower()
    words = set(_WORD.findall(lowered))
    bare = lowered.translate(_QUOTES)
    return any(
        name in words if _WORD.fullmatch(name) else name.translate(_QUOTES) in bare
        for name in names
        if name
    )


def without_hidden_names(text: str | None, hidden: Collection[str]) -> str | None:
    """Return a text, or None if it names a hidden table."""
    return None if text is None or names_any(text, hidden) else text


def without_hidden_tables(
    problem: Problem, allow: Collection[str], hidden: Callable[[], Collection[str]]
) -> Problem:
    """Return a Problem, or one of its kind without details if it names a hidden table."""
    if problem.kind not in _OF_THE_DATABASE:
        return problem
    texts = [problem.message, problem.remediation or ""]
    texts += [text for each in problem.fields for text in (each.field, each.error)]
    if not names_any("\n".join(texts), hidden()):
        return problem
    message = f"This needs a table that may not be used; only {join_names(sorted(allow))} may be"
    return Problem(message, kind=problem.kind, code=problem.code, data=problem.data)


def forbidden_query(message: str) -> Problem:
    """Return the Problem of a query that is not permitted."""
    return Problem.authorization(message, fields=[FieldError("query", message)])


def find_table(
    name: str, tables: Sequence[str], fold: Callable[[str], str] = lambda name: name
) -> str:
    """Return a table's name as the database spells it, or raise a Problem that suggests one.

    A table that is not allowed is not among `tables`: it is as if there were none of that name.
    """
    known = {fold(each): each for each in tables}
    if fold(name) in known:
        return known[fold(name)]
    fault = f"no table {quote_name(name)}; {suggest(name, tables)}"
    raise Problem.not_found(fault, fields=[FieldError("table_name", fault)])


def validate_change(
    request: WriteRequest,
    table: str,
    columns: Sequence[str],
    fold: Callable[[str], str],
    has_defaults: Callable[[], bool],
) -> None:
    """Raise if a change has no column, no condition, or names an unknown column.

    A row without any column can be inserted if `has_defaults` is true for all columns.
    """
    data = {} if isinstance(request, DeleteRows) else request.data
    where = request.where if isinstance(request, UpdateRows | DeleteRows) else {}
    is_default_row = isinstance(request, InsertRow) and not data and has_defaults()
    if not isinstance(request, DeleteRows) and not is_default_row:
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
