"""The schema of a PostgreSQL database as a Catalog."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from accord.sources.sql.catalog import MAX_ESTIMATED, comment_of
from accord.sources.sql.messages import ColumnEntry, Rows, SelectRows, TableEntry, TableKind
from accord.sources.sql.postgres import schema
from accord.sources.sql.tokenizer import POSTGRES, identifiers

_KINDS: Final = {
    "r": "table",
    "p": "table",
    "f": "foreign table",
    "v": "view",
    "m": "materialized view",
}
_COUNTABLE: Final = frozenset({"table", "materialized view"})
_MAX_TABLES: Final = 50  # whose columns are compared
_COLUMNS: Final = """
SELECT c.relname, pg_catalog.obj_description(c.oid, 'pg_class'), a.attname,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  pg_catalog.col_description(c.oid, a.attnum)
FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_attribute a
  ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND pg_catalog.pg_table_is_visible(c.oid)
AND c.relname = ANY(%s)
ORDER BY c.oid, a.attnum
"""
_HIDDEN: Final = """
SELECT DISTINCT c.relname FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%%'
AND NOT (c.relname = ANY(%s) AND pg_catalog.pg_table_is_visible(c.oid))
"""
_REFERENCES: Final = """
SELECT o.relname,
  ARRAY(SELECT a.attname FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY AS u(n, i)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY i),
  ARRAY(SELECT a.attname FROM pg_catalog.unnest(k.confkey) WITH ORDINALITY AS u(n, i)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY i)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class o ON o.oid = k.conrelid
JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
WHERE k.contype = 'f' AND k.conparentid = 0 AND c.relname = %s
AND pg_catalog.pg_table_is_visible(c.oid) AND pg_catalog.pg_table_is_visible(o.oid)
ORDER BY o.oid, k.conname
"""
_STATISTICS: Final = """
SELECT c.reltuples::bigint FROM pg_catalog.pg_class c
WHERE c.relname = %s AND pg_catalog.pg_table_is_visible(c.oid)
"""


class PostgresCatalog:
    """The tables and views on the search path that are allowed."""

    def __init__(
        self,
        connection: Connection,
        allow: frozenset[str] | None,
        sample: Callable[[SelectRows], Rows],
    ) -> None:
        """`sample` runs a query as that of a caller, in a transaction of its own."""
        self._connection = connection
        self._allow = allow
        self._sample = sample

    def fold(self, name: str) -> str:
        """Return a name as it is: quoted names differ in case."""
        return name

    def _allows(self, name: str) -> bool:
        return self._allow is None or name in self._allow

    def kinds(self) -> list[TableKind]:
        """Return tables in the order of their creation, then views."""
        found = schema.table_kinds(self._connection)
        return [TableKind(name, _KINDS[kind]) for name, kind in found if self._allows(name)]

    def tables(self) -> list[str]:
        """Return the names of all tables and views."""
        return [each.name for each in self.kinds()]

    def hidden(self) -> frozenset[str]:
        """Return the names of tables and views that may not be read, of other schemas too."""
        if self._allow is None:
            return frozenset()
        found = self._connection.exec_driver_sql(_HIDDEN, (sorted(self._allow),))
        names = {name.lower() for (name,) in found}
        return frozenset(names - {name.lower() for name in self._allow})

    def columns(self, query: str) -> list[str]:
        """Return the columns of the tables that a query names."""
        words = identifiers(query, POSTGRES)
        named = [each for each in self.kinds() if each.name.lower() in words][:_MAX_TABLES]
        names = (column.name for entry in self.entries(named) for column in entry.columns)
        return list(dict.fromkeys(names))

    def entries(self, tables: Sequence[TableKind]) -> Iterator[TableEntry]:
        """Yield tables with their columns, and the comments on both."""
        found = {each.name: TableEntry(each.name, each.kind, None, []) for each in tables}
        rows = self._connection.exec_driver_sql(_COLUMNS, (list(found),))
        comments: dict[str, str | None] = {}
        for name, comment, column, kind, column_comment in rows:
            comments[name] = comment_of(comment)
            if column is not None:
                entry = ColumnEntry(column, kind, comment_of(column_comment))
                found[name].columns.append(entry)
        for name, each in found.items():
            yield TableEntry(name, each.kind, comments.get(name), each.columns)

    def describe(self, table: TableKind, *, details: bool) -> dict[str, Any]:
        """Return columns, comments, keys both ways and a row estimate."""
        connection, name = self._connection, table.name
        described = schema.describe(connection, name)
        (entry,) = self.entries([table])
        comments = {column.name: column.comment for column in entry.columns}
        described["columns"] = [
            column | {"comment": comments.get(column["name"])} for column in described["columns"]
        ]
        described |= {"kind": table.kind, "comment": entry.comment}
        if details:
            described |= schema.details(connection, name)
        described["foreign_keys"] = [
            key
            for key in schema.foreign_keys(connection, name)
            if self._allows(key["references"]["table"])
        ]
        described["referenced_by"] = [
            {"table": other, "columns": columns, "references": referenced}
            for other, columns, referenced in connection.exec_driver_sql(_REFERENCES, (name,))
            if self._allows(other)
        ]
        estimate, source = self._estimate(table)
        return described | {"row_estimate": estimate, "row_estimate_is": source}

    def _estimate(self, kind: TableKind) -> tuple[int | None, str | None]:
        """Return a number of rows, and whether it is exact; a view could take any time."""
        if kind.kind not in _COUNTABLE:
            return None, None
        known = self._connection.exec_driver_sql(_STATISTICS, (kind.name,)).scalar_one()
        if known > 0:  # -1 or, of an empty table before PostgreSQL 14, 0 if it is not known
            return known, "from statistics"
        counted = schema.count_rows(self._connection, kind.name, MAX_ESTIMATED + 1)
        exact = counted <= MAX_ESTIMATED
        return min(counted, MAX_ESTIMATED), "exact" if exact else "at least"

    def sample(self, name: str, rows: int) -> Rows:
        """Return the first rows of a table, as `run_query` does."""
        quoted = self._connection.dialect.identifier_preparer.quote_identifier(name)
        return self._sample(SelectRows(f"SELECT * FROM {quoted}", None, rows, 0))
