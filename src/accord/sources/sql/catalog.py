"""Answers requests about a schema from a Catalog: what any database says of its tables.

Runs in a worker process. Only tables that may be read are in a Catalog, and `hidden` are the
others: no text that names one leaves the worker.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Protocol

import msgspec

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import (
    CompleteName,
    DescribeTables,
    ListTableKinds,
    Matches,
    Names,
    Reply,
    Rows,
    SchemaRequest,
    SearchSchema,
    TableDescriptions,
    TableEntry,
    TableKind,
    TableKinds,
)
from accord.sources.sql.problems import find_table, names_any, without_hidden_names
from accord.sources.sql.search import search

MAX_ESTIMATED: Final = 10_000
"""Number of rows up to which a table without statistics is counted for an estimate."""
MAX_COMMENT: Final = 500
"""Maximum number of characters of a comment."""
_MAX_NAMES: Final = 100  # of a completion, as MCP has it
_MAX_CELL: Final = 200  # characters of a value in a sample row
_TEXTS: Final = ("create_sql", "comment")
"""Members of a description that are text of the author, who may name any table."""
_COLUMN_TEXTS: Final = frozenset({"type", "default_value", "comment"})
"""Those of a column."""

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Catalog(Protocol):
    """The tables and views of one database that may be read."""

    def kinds(self) -> list[TableKind]:
        """Return tables in the order of their creation, then views."""

    def hidden(self) -> frozenset[str]:
        """Return the names of tables and views that may not be read."""

    def entries(self, tables: Sequence[TableKind]) -> Iterable[TableEntry]:
        """Yield tables with their columns and comments."""

    def describe(self, table: TableKind, *, details: bool) -> dict[str, Any]:
        """Return columns, comments, keys both ways and a row estimate."""

    def sample(self, name: str, rows: int) -> Rows:
        """Return the first rows of a table, as `run_query` does."""

    def fold(self, name: str) -> str:
        """Return a name as the database compares it."""


def answer(catalog: Catalog, request: SchemaRequest) -> Reply:
    """Return the reply to a request about a schema."""
    match request:
        case ListTableKinds():
            return TableKinds(catalog.kinds())
        case DescribeTables():
            return _describe(catalog, request)
        case SearchSchema():
            return _search(catalog, request)
        case CompleteName():
            return _complete(catalog, request)


def _search(catalog: Catalog, request: SearchSchema) -> Matches:
    return search(_readable(catalog, catalog.kinds()), request.words, request.limit)


def _readable(catalog: Catalog, tables: Sequence[TableKind]) -> Iterable[TableEntry]:
    """Yield tables without comments that name a hidden one."""
    hidden = catalog.hidden()
    if not hidden:
        return catalog.entries(tables)
    return (_without_names(each, hidden) for each in catalog.entries(tables))


def _without_names(entry: TableEntry, hidden: frozenset[str]) -> TableEntry:
    replace = msgspec.structs.replace
    columns = [
        replace(
            column,
            type=without_hidden_names(column.type, hidden) or "",
            comment=without_hidden_names(column.comment, hidden),
        )
        for column in entry.columns
    ]
    return replace(entry, comment=without_hidden_names(entry.comment, hidden), columns=columns)


def _complete(catalog: Catalog, request: CompleteName) -> Names:
    tables = catalog.kinds()
    if request.of == "table":
        return _starting(request.typed, [each.name for each in tables])
    if request.table_name:
        wanted = catalog.fold(request.table_name)
        tables = [each for each in tables if catalog.fold(each.name) == wanted]
    columns = [column.name for entry in catalog.entries(tables) for column in entry.columns]
    return _starting(request.typed, list(dict.fromkeys(columns)))


def _starting(typed: str, names: Sequence[str]) -> Names:
    start = typed.casefold()
    found = [name for name in names if name.casefold().startswith(start)]
    return Names(found[:_MAX_NAMES], len(found))


def _describe(catalog: Catalog, request: DescribeTables) -> TableDescriptions:
    kinds = {each.name: each for each in catalog.kinds()}
    names = _find_tables(catalog, request.names, list(kinds))
    hidden = catalog.hidden()
    descriptions = []
    for name in names:
        described = catalog.describe(kinds[name], details=request.details)
        if hidden:
            described = _without_texts(described, hidden)
        if request.sample_rows:
            described["sample_rows"] = _sample(catalog, name, request.sample_rows)
        descriptions.append(_encode(described))
    return TableDescriptions(names, descriptions)


def _find_tables(catalog: Catalog, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return each name once, as the database spells it; raise a Problem with all unknown ones."""
    found: dict[str, None] = {}
    faults: list[str] = []
    for name in names:
        try:
            found[find_table(name, known, catalog.fold)] = None
        except Problem as problem:
            faults.append(problem.message)
    if faults:
        message = "; ".join(faults)
        raise Problem.not_found(message, fields=[FieldError("table_name", message)])
    return list(found)


def without_hidden(description: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Return a description without texts that name a hidden table, and keys that refer to one."""
    hidden = catalog.hidden()
    keys = description.get("foreign_keys")
    if keys is not None:
        allowed = {catalog.fold(each.name) for each in catalog.kinds()}
        shown = [key for key in keys if catalog.fold(key["references"]["table"]) in allowed]
        description = description | {"foreign_keys": shown}
    return _without_texts(description, hidden)


def _without_texts(description: dict[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    shown = dict(description)
    for key in _TEXTS:
        if key in shown:
            shown[key] = without_hidden_names(shown[key], hidden)
    if "check_constraints" in shown:
        found = shown["check_constraints"]
        shown["check_constraints"] = [each for each in found if not names_any(each, hidden)]
    shown["columns"] = [_without_names_of_column(each, hidden) for each in shown["columns"]]
    return shown


def _without_names_of_column(column: Any, hidden: Collection[str]) -> dict[str, Any]:
    """Return a column without texts that name a hidden table: a row of one may be its type."""
    shown: dict[str, Any] = msgspec.to_builtins(column)
    for key in _COLUMN_TEXTS & shown.keys():
        shown[key] = without_hidden_names(shown[key], hidden)
    return shown | {"type": shown["type"] or ""}


def _sample(catalog: Catalog, name: str, rows: int) -> Any:
    """Return some rows with short values; None if they cannot be read, as of a broken view."""
    try:
        found = catalog.sample(name, rows)
    except Problem as problem:
        if problem.kind in ("timeout", "unavailable"):
            raise
        return None
    sample = msgspec.json.decode(found.json)
    return [{key: _short(value) for key, value in row.items()} for row in sample]


def _short(value: Any) -> Any:
    """Return a value with at most a few hundred characters."""
    match value:
        case str() if len(value) > _MAX_CELL:
            return f"{value[:_MAX_CELL]}…"
        case dict() | list() if len(text := _encode(value).decode()) > _MAX_CELL:
            return f"{text[:_MAX_CELL]}…"
    return value


_BLANK: Final = re.compile(r"\s+")


def comment_of(text: str | None) -> str | None:
    """Return a comment in one line, not longer than a few sentences; None if it is blank."""
    line = _BLANK.sub(" ", text or "").strip()
    return f"{line[:MAX_COMMENT]}…" if len(line) > MAX_COMMENT else line or None
