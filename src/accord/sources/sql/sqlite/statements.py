"""SQL that the engine runs: reads the schema, changes rows, returns text as bytes.

Names in it are quoted, values are bound.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from accord.sources.sql.tokenizer import check_constraints, tokenize
from accord.sources.sql.values import InvalidText, Row

MAX_COUNTED: Final = 100_000
"""Number of rows up to which a table is counted."""
_MAX_SCHEMA_STEPS: Final = 1_000_000
_GENERATED: Final = {2: "virtual", 3: "stored"}
_TABLES: Final = """
SELECT name FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY type, rowid
"""


class Column(msgspec.Struct, frozen=True):
    """A column, as describe_table returns it."""

    name: str
    type: str
    not_null: bool
    primary_key: bool
    default_value: str | None


class Table(msgspec.Struct, frozen=True):
    """A table or view, as describe_table returns it."""

    table_name: str
    columns: list[Column]
    create_sql: str | None


def table_names(connection: apsw.Connection) -> list[str]:
    """Return tables in the order of their creation, then views; without those of SQLite itself."""
    shadows = {name for name, kind in table_kinds(connection) if kind == "shadow"}
    return [name for (name,) in connection.execute(_TABLES) if name not in shadows]


def table_kinds(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Return each table and its kind: table, view, virtual, or shadow of a virtual one."""
    return [(row[1], row[2]) for row in _table_list(connection)]


def _table_list(connection: apsw.Connection) -> list[tuple[Any, ...]]:
    """Return a row for each table; SQLite prepares some steps for each, beyond a query's limit."""
    limit = connection.limit(apsw.SQLITE_LIMIT_VDBE_OP, _MAX_SCHEMA_STEPS)
    try:
        return list(connection.execute("PRAGMA main.table_list"))
    finally:
        connection.limit(apsw.SQLITE_LIMIT_VDBE_OP, limit)


def connect_virtual_tables(connection: apsw.Connection) -> None:
    """Connect every virtual table; the query that needs one reports its failure."""
    for table in [name for name, kind in table_kinds(connection) if kind == "virtual"]:
        with suppress(apsw.Error):
            connection.execute(f"SELECT 1 FROM {quote(table)} LIMIT 0")


def has_rowid(connection: apsw.Connection, table: str) -> bool:
    """True if the rows of a table have a rowid."""
    rows = [row for row in _table_list(connection) if row[1] == table]
    return any(row[2] in ("table", "virtual") and not row[4] for row in rows)


def is_view(connection: apsw.Connection, table: str) -> bool:
    """True if a table is a view."""
    return (table, "view") in table_kinds(connection)


def column_names(connection: apsw.Connection, table: str) -> list[str]:
    """Return the names of all columns but hidden ones, in their order."""
    return [row[1] for row in table_columns(connection, table)]


def table_columns(connection: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    """Return a row of table_xinfo for each column, without the hidden ones of virtual tables."""
    found = connection.execute("SELECT * FROM pragma_table_xinfo(?, 'main')", (table,))
    return [row for row in found if row[6] != 1]


def describe(connection: apsw.Connection, table: str) -> Table:
    """Return the columns of a table and the SQL that created it."""
    rows = table_columns(connection, table)
    alias = _rowid_alias(connection, table, rows)
    columns = [
        Column(name, kind, bool(not_null) or name == alias, bool(key), default)
        for _, name, kind, not_null, default, key, _ in rows
    ]
    sql = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
    return Table(table, columns, sql)


def has_defaults(connection: apsw.Connection, table: str) -> bool:
    """True if a row can be inserted without a value: each column has a default or is generated."""
    rows = table_columns(connection, table)
    alias = _rowid_alias(connection, table, rows)
    return not is_view(connection, table) and all(
        row[4] is not None or row[1] == alias or row[6] in _GENERATED for row in rows
    )


def _rowid_alias(
    connection: apsw.Connection, table: str, rows: list[tuple[Any, ...]]
) -> str | None:
    """Return the column that is an alias of the rowid, and so is never null."""
    keys = [row for row in rows if row[5]]
    is_integer = len(keys) == 1 and keys[0][2].upper() == "INTEGER"
    if not is_integer or not has_rowid(connection, table):
        return None
    has_index = any(origin == "pk" for _, _, _, origin, _ in _indexes(connection, table))
    return None if has_index else str(keys[0][1])


def _indexes(connection: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    """Return a row for each index: number, name, unique, origin, partial."""
    return list(connection.execute("SELECT * FROM pragma_index_list(?, 'main')", (table,)))


def count_rows(connection: apsw.Connection, table: str, limit: int) -> int:
    """Return the number of rows of a table, counted up to a limit."""
    some = f"SELECT 1 FROM main.{quote(table)} LIMIT {limit}"
    return int(connection.execute(f"SELECT count(*) FROM ({some})").get)


def details(connection: apsw.Connection, table: Table) -> dict[str, Any]:
    """Return keys, indexes, constraints, generated columns and row count of a table."""
    name = table.table_name
    indexes = [
        _index(connection, index, bool(unique), origin, bool(partial))
        for _, index, unique, origin, partial in reversed(_indexes(connection, name))
    ]
    counted = count_rows(connection, name, MAX_COUNTED + 1)
    return {
        "foreign_keys": foreign_keys(connection, name),
        "indexes": indexes,
        "unique_constraints": [index["columns"] for index in indexes if index["origin"] == "u"],
        "check_constraints": check_constraints(table.create_sql or ""),
        "generated_columns": _generated(connection, name),
        "row_count": min(counted, MAX_COUNTED),
        "row_count_is_exact": counted <= MAX_COUNTED,
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


def foreign_keys(connection: apsw.Connection, table: str) -> list[dict[str, Any]]:
    """Return the foreign keys of a table, in the order of their declaration."""
    keys: dict[int, dict[str, Any]] = {}
    for row in connection.execute("SELECT * FROM pragma_foreign_key_list(?, 'main')", (table,)):
        number, _, other, column, referenced, on_update, on_delete, _ = row
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
        if referenced is not None:  # else it is the primary key
            key["references"]["columns"].append(referenced)
    return [keys[number] for number in sorted(keys, reverse=True)]


def _generated(connection: apsw.Connection, table: str) -> list[dict[str, str]]:
    return [
        {"name": row[1], "kind": _GENERATED[row[6]]}
        for row in table_columns(connection, table)
        if row[6] in _GENERATED
    ]


def quote(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


class Statement(NamedTuple):
    """SQL text and its bindings."""

    sql: str
    bindings: list[Any]


COUNT_ONE: Final = Statement("SELECT 1", [])
"""Counts the rows of an insert."""


def insert(table: str, data: Mapping[str, Any]) -> Statement:
    """Return an INSERT of one row."""
    if not data:
        return Statement(f"INSERT INTO main.{quote(table)} DEFAULT VALUES", [])
    names = ", ".join(map(quote, data))
    placeholders = ", ".join("?" * len(data))
    sql = f"INSERT INTO main.{quote(table)} ({names}) VALUES ({placeholders})"
    return Statement(sql, list(data.values()))


def update(table: str, data: Mapping[str, Any], where: Mapping[str, Any]) -> Statement:
    """Return an UPDATE of the rows that meet the conditions."""
    changes = ", ".join(f"{quote(column)} = ?" for column in data)
    conditions = _conditions(where)
    sql = f"UPDATE main.{quote(table)} SET {changes} WHERE {conditions.sql}"
    return Statement(sql, [*data.values(), *conditions.bindings])


def delete(table: str, where: Mapping[str, Any]) -> Statement:
    """Return a DELETE of the rows that meet the conditions."""
    conditions = _conditions(where)
    sql = f"DELETE FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def count(table: str, where: Mapping[str, Any]) -> Statement:
    """Return a SELECT that counts the rows that meet the conditions."""
    conditions = _conditions(where)
    sql = f"SELECT count(*) FROM main.{quote(table)} WHERE {conditions.sql}"
    return Statement(sql, conditions.bindings)


def _conditions(where: Mapping[str, Any]) -> Statement:
    """Join conditions with AND: equal to a value, null, or in a list."""
    parts = [_condition(quote(column), value) for column, value in where.items()]
    bindings = [value for part in parts for value in part.bindings]
    return Statement(" AND ".join(part.sql for part in parts), bindings)


def _condition(column: str, value: Any) -> Statement:
    if value is None:
        return Statement(f"{column} IS NULL", [])
    if not isinstance(value, list):
        return Statement(f"{column} = ?", [value])
    known = [each for each in value if each is not None]
    sql = f"{column} IN ({', '.join('?' * len(known))})"
    return Statement(sql if len(known) == len(value) else f"({sql} OR {column} IS NULL)", known)


def text_as_bytes(query: str, columns: int) -> str:
    """Rewrite a query to return two columns for each: its type, and its value with text as bytes.

    For rows with text that is not UTF-8, which apsw cannot return as text.
    """
    names = [f"c{index}" for index in range(columns)]
    pairs = ", ".join(
        f"typeof({name}), iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
        for name in names
    )
    ends = [token.start for token in tokenize(query) if token.text == ";"]
    inner = query[: ends[0]] if ends else query
    table = _unused_name(query)
    return f"WITH {table}({', '.join(names)}) AS ({inner}\n) SELECT {pairs} FROM {table}"


def _unused_name(query: str) -> str:
    name = "accord"
    while name in query.lower():
        name += "_"
    return name


def decode_text(rows: Iterator[Row], encoding: str) -> Iterator[Row]:
    """Yield the rows of a query that `text_as_bytes` rewrote, as the original query has them."""
    for row in rows:
        yield tuple(
            _decode(value, encoding) if kind == "text" else value
            for kind, value in zip(row[::2], row[1::2], strict=True)
        )


def _decode(raw: Any, encoding: str) -> str | InvalidText:
    try:
        return bytes(raw).decode(encoding)
    except UnicodeDecodeError:
        return InvalidText(raw)
