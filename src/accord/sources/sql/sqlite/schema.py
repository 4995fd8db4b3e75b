"""What a database is made of, from SQLite's own tables."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import apsw
import msgspec

from accord.sources.sql.scan import checks_in

COUNTED: Final = 100_000  # rows up to which a table is counted
_GENERATED: Final = {2: "virtual", 3: "stored"}
_TABLES: Final = """
SELECT name FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY type, rowid
"""


class Column(msgspec.Struct, frozen=True):
    """A column, as the document of the tools shows it."""

    name: str
    type: str
    not_null: bool
    primary_key: bool
    default_value: str | None


class Table(msgspec.Struct, frozen=True):
    """A table or a view."""

    table_name: str
    columns: list[Column]
    create_sql: str | None


def table_names(connection: apsw.Connection) -> list[str]:
    """Tables in the order of their creation, then views; without those that are SQLite's own."""
    shadows = {name for name, kind in kinds(connection) if kind == "shadow"}
    return [name for (name,) in connection.execute(_TABLES) if name not in shadows]


def kinds(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Every table with what it is: a table, a view, virtual, or the shadow of a virtual one."""
    for row in connection.execute("PRAGMA main.table_list"):
        yield row[1], row[2]


def connect_virtual_tables(connection: apsw.Connection) -> None:
    """Connect every virtual table; one that cannot be is reported by the query that needs it."""
    for table in [name for name, kind in kinds(connection) if kind == "virtual"]:
        with suppress(apsw.Error):
            connection.execute(f"SELECT 1 FROM {quote(table)} LIMIT 0")


def has_rowid(connection: apsw.Connection, table: str) -> bool:
    """Whether its rows have an id of SQLite's own."""
    rows = [row for row in connection.execute("PRAGMA main.table_list") if row[1] == table]
    return any(row[2] in ("table", "virtual") and not row[4] for row in rows)


def is_view(connection: apsw.Connection, table: str) -> bool:
    """Whether its rows are those of other tables."""
    return (table, "view") in kinds(connection)


def column_names(connection: apsw.Connection, table: str) -> list[str]:
    """All columns that can be named, in their order."""
    return [row[1] for row in _columns(connection, table)]


def _columns(connection: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    """Name, type and the rest of each column, without what a virtual table hides."""
    found = connection.execute("SELECT * FROM pragma_table_xinfo(?, 'main')", (table,))
    return [row for row in found if row[6] != 1]


def describe(connection: apsw.Connection, table: str) -> Table:
    """What a table is made of."""
    rows = _columns(connection, table)
    alias = _rowid_alias(connection, table, rows)
    columns = [
        Column(name, kind, bool(not_null) or name == alias, bool(key), default)
        for _, name, kind, not_null, default, key, _ in rows
    ]
    sql = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
    return Table(table, columns, sql)


def _rowid_alias(
    connection: apsw.Connection, table: str, rows: list[tuple[Any, ...]]
) -> str | None:
    """The column that is another name for the row's id, and so can hold no null."""
    keys = [row for row in rows if row[5]]
    is_integer = len(keys) == 1 and keys[0][2].upper() == "INTEGER"
    if not is_integer or not has_rowid(connection, table):
        return None
    has_index = any(origin == "pk" for _, _, _, origin, _ in _indexes(connection, table))
    return None if has_index else str(keys[0][1])


def _indexes(connection: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    """Number, name, whether it is unique, where it comes from, whether it is partial."""
    return list(connection.execute("SELECT * FROM pragma_index_list(?, 'main')", (table,)))


def details(connection: apsw.Connection, table: Table) -> dict[str, Any]:
    """What there is to know of a table beyond its columns."""
    name = table.table_name
    indexes = [
        _index(connection, index, bool(unique), origin, bool(partial))
        for _, index, unique, origin, partial in reversed(_indexes(connection, name))
    ]
    counted = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {quote(name)} LIMIT {COUNTED + 1})"
    ).get
    return {
        "foreign_keys": _foreign_keys(connection, name),
        "indexes": indexes,
        "unique_constraints": [index["columns"] for index in indexes if index["origin"] == "u"],
        "check_constraints": checks_in(table.create_sql or ""),
        "generated_columns": _generated(connection, name),
        "row_count": min(counted, COUNTED),
        "row_count_is_exact": counted <= COUNTED,
    }


def _index(
    connection: apsw.Connection, name: str, unique: bool, origin: str, partial: bool
) -> dict[str, Any]:
    found = connection.execute("SELECT name FROM pragma_index_info(?, 'main')", (name,))
    columns = [column for (column,) in found]  # null where it is an expression
    return {
        "name": name,
        "columns": columns,
        "unique": unique,
        "partial": partial,
        "origin": origin,
    }


def _foreign_keys(connection: apsw.Connection, table: str) -> list[dict[str, Any]]:
    keys: dict[int, dict[str, Any]] = {}
    for row in connection.execute("SELECT * FROM pragma_foreign_key_list(?, 'main')", (table,)):
        number, _, other, column, referred, on_update, on_delete, _ = row
        key = keys.setdefault(
            number,
            {
                "columns": [],
                "references": {"table": other, "columns": []},
                "on_update": on_update,
                "on_delete": on_delete,
            },
        )
        key["columns"].append(column)
        if referred is not None:  # else it is the other table's primary key
            key["references"]["columns"].append(referred)
    return [keys[number] for number in sorted(keys, reverse=True)]


def _generated(connection: apsw.Connection, table: str) -> list[dict[str, str]]:
    return [
        {"name": row[1], "kind": _GENERATED[row[6]]}
        for row in _columns(connection, table)
        if row[6] in _GENERATED
    ]


def quote(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
