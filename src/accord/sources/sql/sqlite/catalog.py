"""The schema of a SQLite database as a Catalog."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import apsw
import msgspec

from accord.sources.sql.catalog import MAX_ESTIMATED, comment_of
from accord.sources.sql.messages import ColumnEntry, Rows, SelectRows, TableEntry, TableKind
from accord.sources.sql.sqlite import statements
from accord.sources.sql.sqlite.hardening import Authorizer, fold
from accord.sources.sql.tokenizer import Token, tokenize

_KINDS: Final = """
SELECT name, iif(type = 'view', 'view', iif(rootpage = 0, 'virtual table', 'table'))
FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY type, rowid
"""
_TEXTS: Final = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage <> 0"
_HIDDEN: Final = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
_REFERENCES: Final = """
SELECT t.name, f.id, f."from", f."to"
FROM sqlite_schema AS t, pragma_foreign_key_list(t.name, 'main') AS f
WHERE t.type = 'table' AND f."table" = ? COLLATE NOCASE
ORDER BY t.rowid, f.id DESC, f.seq
"""
_STATISTICS: Final = "SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = ?"


class SqliteCatalog:
    """The tables and views that an authorizer allows."""

    def __init__(
        self,
        connection: apsw.Connection,
        authorizer: Authorizer,
        select: Callable[[SelectRows], Rows],
    ) -> None:
        """`select` runs a query as that of a caller."""
        self._connection = connection
        self._allows = authorizer.allows
        self._select = select
        self.fold = fold

    def kinds(self) -> list[TableKind]:
        """Return tables in the order of their creation, then views."""
        connection = self._connection
        shadows = {name for name, kind in statements.table_kinds(connection) if kind == "shadow"}
        return [
            TableKind(name, kind)
            for name, kind in connection.execute(_KINDS)
            if name not in shadows and self._allows(name)
        ]

    def hidden(self) -> frozenset[str]:
        """Return the names of tables and views that may not be read."""
        names = [name for (name,) in self._connection.execute(_HIDDEN)]
        return frozenset(name.lower() for name in names if not self._allows(name))

    def entries(self, tables: Sequence[TableKind]) -> Iterator[TableEntry]:
        """Yield tables with their columns, and the comments in the SQL that created them."""
        texts = dict(self._connection.execute(_TEXTS))
        for table in tables:
            comments = comments_in(texts.get(table.name))
            found = [
                ColumnEntry(name, kind, comments.get(fold(name)))
                for name, kind in self.columns(table.name)
            ]
            yield TableEntry(table.name, table.kind, comments.get(""), found)

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Return names and types; none of a broken view, or of an unknown kind of table."""
        try:
            return [(row[1], row[2]) for row in statements.table_columns(self._connection, table)]
        except apsw.SQLError:
            return []

    def describe(self, table: TableKind, *, details: bool) -> dict[str, Any]:
        """Return columns, comments, keys both ways and a row estimate."""
        connection, name = self._connection, table.name
        found = statements.describe(connection, name)
        comments = comments_in(found.create_sql if table.kind == "table" else None)
        described: dict[str, Any] = msgspec.to_builtins(found)
        for column in described["columns"]:
            column["comment"] = comments.get(fold(column["name"]))
        described |= {"kind": table.kind, "comment": comments.get("")}
        if details:
            described |= statements.details(connection, found)
        described["foreign_keys"] = [
            key
            for key in statements.foreign_keys(connection, name)
            if self._allows(key["references"]["table"])
        ]
        described["referenced_by"] = self._references(name)
        estimate, source = self._estimate(table)
        return described | {"row_estimate": estimate, "row_estimate_is": source}

    def _references(self, table: str) -> list[dict[str, Any]]:
        """Return the foreign keys of other tables that refer to this one."""
        keys: dict[tuple[str, int], dict[str, Any]] = {}
        for other, number, column, referenced in self._connection.execute(_REFERENCES, (table,)):
            if not self._allows(other):
                continue
            key = keys.setdefault(
                (other, number), {"table": other, "columns": [], "references": []}
            )
            key["columns"].append(column)
            if referenced is not None:  # else it is the primary key
                key["references"].append(referenced)
        return list(keys.values())

    def _estimate(self, table: TableKind) -> tuple[int | None, str | None]:
        """Return a number of rows, and whether it is exact; a view could take any time."""
        if table.kind != "table":
            return None, None
        try:
            known = self._connection.execute(_STATISTICS, (table.name,)).get
        except apsw.SQLError:  # ANALYZE has not run
            known = None
        if known is not None:
            return known, "from statistics"
        counted = statements.count_rows(self._connection, table.name, MAX_ESTIMATED + 1)
        exact = counted <= MAX_ESTIMATED
        return min(counted, MAX_ESTIMATED), "exact" if exact else "at least"

    def sample(self, name: str, rows: int) -> Rows:
        """Return the first rows of a table, as `run_query` does."""
        query = f"SELECT * FROM main.{statements.quote(name)}"
        return self._select(SelectRows(query, None, rows, 0))


def comments_in(create_sql: str | None) -> dict[str, str]:
    """Return the `--` comments in a CREATE TABLE, by the column in lower case; "" is the table.

    One behind a column on its line, or on lines of its own before it, is of that column; one on
    the line of the first parenthesis is of the table.
    """
    if create_sql is None or "--" not in create_sql:
        return {}
    comments: dict[str, str] = {}
    column, column_line = "", 0
    waiting: list[str] = []
    depth, line = 0, 1
    is_next = False  # the next word is the name of a column
    for token in tokenize(create_sql):
        if token.kind == "space":
            text = token.text.removeprefix("--").strip() if token.text.startswith("--") else ""
            if text and depth and line == column_line:
                _append(comments, column, text)
            elif text and depth:
                waiting.append(text)
        else:
            depth += (token.text == "(") - (token.text == ")")
            if is_next and token.kind in ("word", "name", "string"):
                column = fold(_name_of(token))
                for each in waiting:
                    _append(comments, column, each)
                waiting = []
            if depth == 1 and token.text in ("(", ","):
                is_next = True
                column = "" if token.text == "(" else column
            else:
                is_next = False
            column_line = line + token.text.count("\n")
        line += token.text.count("\n")
    return {name: short for name, text in comments.items() if (short := comment_of(text))}


def _append(comments: dict[str, str], column: str, text: str) -> None:
    comments[column] = f"{comments[column]} {text}" if column in comments else text


def _name_of(token: Token) -> str:
    if token.kind == "word":
        return token.text
    end = {"[": "]"}.get(token.text[0], token.text[0])
    return token.text[1:-1].replace(end * 2, end)
