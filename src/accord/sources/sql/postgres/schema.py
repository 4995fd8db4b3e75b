"""Reads the schema of a PostgreSQL database, from its catalogs and SQLAlchemy's reflection."""

import warnings
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, MetaData, Table, func, inspect, literal_column, select, table
from sqlalchemy.exc import SAWarning
from sqlalchemy.schema import CreateTable
from sqlalchemy.types import ARRAY, JSON, NullType, TypeEngine, UserDefinedType

MAX_COUNTED: Final = 100_000
"""Number of rows up to which a table is counted."""
_TABLES: Final = """
SELECT c.relname, c.relkind FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND pg_catalog.pg_table_is_visible(c.oid)
AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%%'
ORDER BY c.relkind IN ('v', 'm'), c.oid
"""
_TYPES: Final = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
WHERE c.relname = %s AND pg_catalog.pg_table_is_visible(c.oid)
AND a.attnum > 0 AND NOT a.attisdropped
"""


class _NamedType(UserDefinedType[Any]):
    """A type that SQLAlchemy does not know: a row of a table, or a type of an extension."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


class Column(msgspec.Struct, frozen=True):
    """A column: its name, what it holds, and its description."""

    name: str
    is_json: bool
    is_list: bool
    description: dict[str, Any]


def table_names(connection: Connection) -> list[str]:
    """Return tables on the search path in the order of their creation, then views."""
    return [name for name, _ in table_kinds(connection)]


def table_kinds(connection: Connection) -> list[tuple[str, str]]:
    """Return tables on the search path, then views, each with its `relkind`."""
    return [(str(name), str(kind)) for name, kind in connection.exec_driver_sql(_TABLES)]


def columns(connection: Connection, name: str) -> list[Column]:
    """Return the columns of a table."""
    keys = set(primary_key(connection, name))
    return [
        Column(
            name=column["name"],
            is_json=isinstance(column["type"], JSON),
            is_list=isinstance(column["type"], ARRAY),
            description={
                "name": column["name"],
                "type": column["type"].compile(connection.dialect),
                "not_null": not column["nullable"],
                "primary_key": column["name"] in keys,
                "default_value": column["default"],
            },
        )
        for column in _reflected_columns(connection, name)
    ]


def _reflected_columns(connection: Connection, name: str) -> list[Any]:
    """Return SQLAlchemy's description of each column, with all types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # of types that it does not know
        found = inspect(connection).get_columns(name)
    if not any(_is_unknown(each["type"]) for each in found):
        return found
    types = _types(connection, name)
    return [
        {**each, "type": types[each["name"]]} if _is_unknown(each["type"]) else each
        for each in found
    ]


def _is_unknown(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind.item_type if isinstance(kind, ARRAY) else kind, NullType)


def _types(connection: Connection, name: str) -> dict[str, _NamedType]:
    """Return the type of each column as PostgreSQL names it."""
    return {
        column: _NamedType(kind) for column, kind in connection.exec_driver_sql(_TYPES, (name,))
    }


def has_defaults(connection: Connection, name: str) -> bool:
    """True if a row can be inserted without a value: each column has a default or is generated."""
    found = _reflected_columns(connection, name)
    return bool(found) and all(
        each["default"] is not None or "computed" in each or "identity" in each for each in found
    )


def primary_key(connection: Connection, name: str) -> list[str]:
    """Return the columns of the primary key."""
    return list(inspect(connection).get_pk_constraint(name)["constrained_columns"])


def describe(connection: Connection, name: str) -> dict[str, Any]:
    """Return the columns of a table and SQL that would create it."""
    return {
        "table_name": name,
        "columns": [column.description for column in columns(connection, name)],
        "create_sql": _create_sql(connection, name),
    }


def _create_sql(connection: Connection, name: str) -> str | None:
    """Return SQL that would create a table; PostgreSQL does not keep the original."""
    found = inspect(connection)
    if name in (*found.get_view_names(), *found.get_materialized_view_names()):
        kind = "VIEW" if name in found.get_view_names() else "MATERIALIZED VIEW"
        quoted = connection.dialect.identifier_preparer.quote(name)
        return f"CREATE {kind} {quoted} AS {found.get_view_definition(name).strip()}"
    reflected = _reflected_table(connection, name)
    return str(CreateTable(reflected).compile(connection)).strip()


def _reflected_table(connection: Connection, name: str) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # of types that it does not know
        table = Table(name, MetaData(), autoload_with=connection)
    unknown = [each for each in table.columns if _is_unknown(each.type)]
    types = _types(connection, name) if unknown else {}
    for column in unknown:
        column.type = types[column.name]
    return table


def foreign_keys(connection: Connection, name: str) -> list[dict[str, Any]]:
    """Return the foreign keys of a table."""
    return [
        {
            "columns": key["constrained_columns"],
            "references": {"table": _referred_table(key), "columns": key["referred_columns"]},
            "on_update": key["options"].get("onupdate", "NO ACTION"),
            "on_delete": key["options"].get("ondelete", "NO ACTION"),
        }
        for key in inspect(connection).get_foreign_keys(name)
    ]


def _referred_table(key: Any) -> str:
    """Return the name of the table that a key refers to, with its schema if that is another."""
    schema, name = key["referred_schema"], str(key["referred_table"])
    return name if schema is None else f"{schema}.{name}"


def count_rows(connection: Connection, name: str, limit: int) -> int:
    """Return the number of rows of a table, counted up to a limit."""
    some = select(literal_column("1")).select_from(table(name)).limit(limit).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())


def details(connection: Connection, name: str) -> dict[str, Any]:
    """Return keys, indexes, constraints, generated columns and row count of a table."""
    found = inspect(connection)
    counted = count_rows(connection, name, MAX_COUNTED + 1)
    return {
        "foreign_keys": foreign_keys(connection, name),
        "indexes": [
            {
                "name": index["name"],
                "columns": index["column_names"],
                "unique": index["unique"],
                "partial": "postgresql_where" in index.get("dialect_options", {}),
                "origin": "u" if "duplicates_constraint" in index else "c",
            }
            for index in found.get_indexes(name)
        ],
        "unique_constraints": [each["column_names"] for each in found.get_unique_constraints(name)],
        "check_constraints": [each["sqltext"] for each in found.get_check_constraints(name)],
        "generated_columns": [
            {
                "name": column["name"],
                "kind": "stored" if column["computed"]["persisted"] else "virtual",
            }
            for column in _reflected_columns(connection, name)
            if "computed" in column
        ],
        "row_count": min(counted, MAX_COUNTED),
        "row_count_is_exact": counted <= MAX_COUNTED,
    }
