"""`list_tables` and `describe_table`: the schema of a database."""

from collections.abc import Iterator
from typing import Any

import pytest

from sources.sql.shop import Shop, make, serving

TABLES = """
CREATE TABLE zebra (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x', "odd ""name" NUMERIC);
CREATE VIEW alpha AS SELECT id FROM zebra;
CREATE TABLE beta (
  a INTEGER, b TEXT CHECK (length(b) > 1 /* not ) */), c REAL DEFAULT (1 + 2),
  d AS (a * 2) STORED, e TEXT AS (upper(b)),
  PRIMARY KEY (a, b), UNIQUE (c, b), CHECK (a <> 3),
  FOREIGN KEY (a) REFERENCES zebra(id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX beta_c ON beta (c) WHERE c > 0;
CREATE TABLE loose (k INTEGER PRIMARY KEY DESC, untyped);
CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, parent REFERENCES zebra);
CREATE VIRTUAL TABLE docs USING fts5(body);
INSERT INTO zebra (name) VALUES ('a'), ('b');
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with serving(make(tmp_path_factory.mktemp("described") / "zoo.db", TABLES)) as served:
        yield served


def test_tables_come_as_they_were_created_then_views_and_nothing_of_sqlites_own(
    shop: Shop,
) -> None:
    assert shop.data("list_tables") == ["zebra", "beta", "loose", "auto", "docs", "alpha"]
    lines = ["Found 6 tables:", "- zebra", "- beta", "- loose", "- auto", "- docs", "- alpha"]
    assert shop.text("list_tables") == "\n".join(lines)


def test_an_empty_database_has_no_tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    with serving(path, create=True) as empty:
        assert empty.text("list_tables") == "Found 0 tables:"
        assert empty.data("list_tables") == []


def columns(shop: Shop, table: str) -> dict[str, Any]:
    described = shop.data("describe_table", table_name=table)
    return {
        each["name"]: (each["type"], each["not_null"], each["primary_key"], each["default_value"])
        for each in described["columns"]
    }


KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "an integer primary key can hold no null": (
        "zebra",
        {
            "id": ("INTEGER", True, True, None),
            "name": ("TEXT", True, False, "'x'"),
            'odd "name': ("NUMERIC", False, False, None),
        },
    ),
    "other keys are as declared": (
        "loose",
        {"k": ("INTEGER", False, True, None), "untyped": ("", False, False, None)},
    ),
}


@pytest.mark.parametrize(("table", "found"), KEYS.values(), ids=KEYS)
def test_the_columns_of_a_table(shop: Shop, table: str, found: dict[str, Any]) -> None:
    assert columns(shop, table) == found


def test_every_column_of_a_composite_key_is_one(shop: Shop) -> None:
    found = columns(shop, "beta")
    assert [name for name, column in found.items() if column[2]] == ["a", "b"]
    assert list(found) == ["a", "b", "c", "d", "e"]
    assert found["c"] == ("REAL", False, False, "1 + 2")


def test_a_view_is_described_too(shop: Shop) -> None:
    described = shop.data("describe_table", table_name="alpha")
    assert described == {
        "table_name": "alpha",
        "columns": [
            {
                "name": "id",
                "type": "INTEGER",
                "not_null": False,
                "primary_key": False,
                "default_value": None,
            }
        ],
        "create_sql": "CREATE VIEW alpha AS SELECT id FROM zebra",
    }


def test_capital_letters_do_not_matter_and_the_tables_own_name_is_shown(shop: Shop) -> None:
    assert shop.data("describe_table", table_name="ZEBRA")["table_name"] == "zebra"
    assert shop.text("describe_table", table_name="Zebra").startswith("Table: zebra\n{\n")


def test_details_are_there_on_demand_and_beside_the_rest(shop: Shop) -> None:
    plain = shop.data("describe_table", table_name="beta")
    assert list(plain) == ["table_name", "columns", "create_sql"]
    detailed = shop.data("describe_table", table_name="beta", details=True)
    assert {name: detailed.pop(name) for name in plain} == plain
    indexes = {index.pop("name"): index for index in detailed.pop("indexes")}
    assert detailed == {
        "foreign_keys": [
            {
                "columns": ["a"],
                "references": {"table": "zebra", "columns": ["id"]},
                "on_update": "NO ACTION",
                "on_delete": "CASCADE",
            }
        ],
        "unique_constraints": [["c", "b"]],
        "check_constraints": ["length(b) > 1 /* not ) */", "a <> 3"],
        "generated_columns": [{"name": "d", "kind": "stored"}, {"name": "e", "kind": "virtual"}],
        "row_count": 0,
        "row_count_is_exact": True,
    }
    assert indexes["beta_c"] == {"columns": ["c"], "unique": False, "partial": True, "origin": "c"}
    assert {index["origin"] for index in indexes.values()} == {"pk", "u", "c"}


def test_a_key_that_names_no_column_refers_to_the_primary_key(shop: Shop) -> None:
    (key,) = shop.data("describe_table", table_name="auto", details=True)["foreign_keys"]
    assert key["references"] == {"table": "zebra", "columns": []}


def test_rows_are_counted_up_to_a_bound(tmp_path_factory: pytest.TempPathFactory) -> None:
    many = "CREATE TABLE many AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n"
    path = make(tmp_path_factory.mktemp("many") / "many.db", many.format(100_001))
    with serving(path) as shop:
        described = shop.data("describe_table", table_name="many", details=True)
        assert (described["row_count"], described["row_count_is_exact"]) == (100_000, False)
        make(path, "DELETE FROM many WHERE i = 1")
        described = shop.data("describe_table", table_name="many", details=True)
        assert (described["row_count"], described["row_count_is_exact"]) == (100_000, True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("zebro", 'no table "zebro"; did you mean "zebra"?'),
        (
            "x",
            'no table "x"; there are "zebra", "beta", "loose", "auto", "docs", "alpha"',
        ),
        ("sqlite_schema", 'no table "sqlite_schema"; there are'),
        ("docs_data", 'no table "docs_data"; '),
        ('zebra"; DROP TABLE zebra; --', 'no table "zebra""; DROP TABLE zebra; --"; '),
        ("", 'no table ""; there are'),
    ],
)
def test_a_table_that_is_not_there_is_a_field_error_with_what_there_is(
    shop: Shop, name: str, words: str
) -> None:
    assert shop.error("describe_table", table_name=name).startswith(words)
    problem = shop.problem("describe_table", table_name=name)
    assert problem["type"] == "not_found"
    assert problem["fields"][0]["field"] == "table_name"


def test_hints_say_what_a_tool_does(shop: Shop) -> None:
    tools = {tool["name"]: tool for tool in shop.peer.ask("tools/list")["result"]["tools"]}
    said = {name: tool["annotations"] for name, tool in tools.items()}
    for name in ("list_tables", "describe_table", "run_query"):
        assert said[name] == {"readOnlyHint": True}
    assert said["delete_row"] == {"readOnlyHint": False, "destructiveHint": True}
    assert said["insert_row"] == {"readOnlyHint": False, "destructiveHint": False}
    assert said["update_row"] == {"readOnlyHint": False}
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools.values())
