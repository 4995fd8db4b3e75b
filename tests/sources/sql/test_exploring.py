"""Finding one's way in SQLite databases: search, descriptions, resources, completion, plans."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sources.sql.schemas import Explored, exploring
from sources.sql.shop import NUMBERS, make, serving

SHOP = """
CREATE TABLE customers ( -- People who have bought something
  id INTEGER PRIMARY KEY, -- the number of the customer
  -- Where to write,
  -- if at all
  "e mail" TEXT,
  town TEXT DEFAULT 'Rome' -- as on the letter
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer INTEGER NOT NULL REFERENCES customers(id),
  item TEXT
);
CREATE TABLE lines (order_id INTEGER, line INTEGER, text TEXT,
  PRIMARY KEY (order_id, line), FOREIGN KEY (order_id) REFERENCES orders);
CREATE TABLE notes_of_lines (order_id INTEGER, line INTEGER,
  FOREIGN KEY (order_id, line) REFERENCES lines (order_id, line));
CREATE VIEW romans AS SELECT * FROM customers WHERE town = 'Rome';
CREATE VIRTUAL TABLE pages USING fts5(body);
INSERT INTO customers ("e mail") VALUES ('ada@example.com'), (NULL);
INSERT INTO orders (customer, item) VALUES (1, 'cog'), (1, 'axle');
"""
LIBRARY = """
CREATE TABLE Books (isbn TEXT PRIMARY KEY, authorName TEXT, mailing_town TEXT);
CREATE TABLE loans (isbn TEXT REFERENCES Books(isbn), customer_id INTEGER);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exploring")
    make(folder / "shop.db", SHOP)
    make(folder / "library.db", LIBRARY)
    return folder


@pytest.fixture(scope="module")
def shop(folder: Path) -> Iterator[Explored]:
    with exploring({"shop": folder / "shop.db"}) as served:
        yield served


@pytest.fixture(scope="module")
def both(folder: Path) -> Iterator[Explored]:
    paths = {"shop": folder / "shop.db", "library": folder / "library.db"}
    with exploring(paths, read_only=True) as served:
        yield served


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    """A database with tables that are hidden, and names of them wherever a name may be."""
    path = make(
        tmp_path_factory.mktemp("restricted") / "shop.db",
        """
        CREATE TABLE secret (id INTEGER PRIMARY KEY, code TEXT);
        CREATE TABLE users ( -- see secret
          id INTEGER PRIMARY KEY, -- also in secret
          name TEXT, -- the first name
          secret_id INTEGER REFERENCES secret(id)
        );
        CREATE TABLE "my ""sec"" x" (a INTEGER);
        CREATE VIEW quoted AS SELECT a FROM "my ""sec"" x";
        CREATE VIEW bracketed AS SELECT a FROM [my "sec" x];
        CREATE TABLE defaults (kind TEXT DEFAULT 'secret', of "secret", a INTEGER CHECK (a <> 'secret'));
        CREATE TABLE posts (user INTEGER REFERENCES users(id), title TEXT);
        CREATE TABLE hidden_posts (user INTEGER REFERENCES users(id), hush TEXT);
        CREATE VIEW leak AS SELECT * FROM secret;
        CREATE TRIGGER log AFTER DELETE ON posts BEGIN INSERT INTO secret VALUES (1, 'x'); END;
        INSERT INTO secret VALUES (1, 'hunter2');
        INSERT INTO users VALUES (1, 'Ada', 1);
        INSERT INTO posts VALUES (1, 'Cogs');
        """,
    )
    allow = frozenset({"users", "posts", "leak", "quoted", "bracketed", "defaults"})
    with exploring({"shop": path}, allow=allow) as served:
        yield served


# list_tables and describe_table


def test_tables_are_told_from_views_and_the_text_is_as_without(
    shop: Explored, folder: Path
) -> None:
    assert shop.data("list_tables") == [
        *(
            {"name": name, "kind": "table"}
            for name in ("customers", "orders", "lines", "notes_of_lines")
        ),
        {"name": "pages", "kind": "virtual table"},
        {"name": "romans", "kind": "view"},
    ]
    with serving(folder / "shop.db") as plain:
        assert plain.text("list_tables") == shop.text("list_tables")
        assert plain.data("list_tables") == [row["name"] for row in shop.data("list_tables")]


def test_a_table_is_described_with_comments_keys_both_ways_and_an_estimate(shop: Explored) -> None:
    found = shop.data("describe_table", table_name="ORDERS")
    assert found["table_name"] == "orders"
    assert found["kind"] == "table"
    assert found["foreign_keys"] == [
        {
            "columns": ["customer"],
            "references": {"table": "customers", "columns": ["id"]},
            "on_update": "NO ACTION",
            "on_delete": "NO ACTION",
        }
    ]
    assert found["referenced_by"] == [{"table": "lines", "columns": ["order_id"], "references": []}]
    assert (found["row_estimate"], found["row_estimate_is"]) == (2, "exact")
    assert "sample_rows" not in found
    assert "indexes" not in found
    of_two = shop.data("describe_table", table_name="lines")["referenced_by"]
    both = ["order_id", "line"]
    assert of_two == [{"table": "notes_of_lines", "columns": both, "references": both}]


def test_comments_are_those_behind_or_above_a_column(shop: Explored) -> None:
    found = shop.data("describe_table", table_name="customers")
    assert found["comment"] == "People who have bought something"
    assert {each["name"]: each["comment"] for each in found["columns"]} == {
        "id": "the number of the customer",
        "e mail": "Where to write, if at all",
        "town": "as on the letter",
    }


def test_one_table_has_all_that_it_has_without_exploring(shop: Explored, folder: Path) -> None:
    with serving(folder / "shop.db") as plain:
        for table in ("customers", "romans", "pages"):
            before = plain.data("describe_table", table_name=table)
            after = shop.data("describe_table", table_name=table)
            assert (
                after.items() >= {key: before[key] for key in ("table_name", "create_sql")}.items()
            )
            for old, new in zip(before["columns"], after["columns"], strict=True):
                assert new.items() >= old.items()
            assert shop.text("describe_table", table_name=table).startswith(f"Table: {table}\n")


def test_several_tables_are_described_at_once_each_once(shop: Explored) -> None:
    found = shop.data("describe_table", table_name=["orders", "romans", "Orders"], details=True)
    first, second = found["tables"]
    assert (first["table_name"], second["table_name"]) == ("orders", "romans")
    assert second["kind"] == "view"
    assert first["indexes"] == []
    text = shop.text("describe_table", table_name=["orders", "romans"])
    assert text.startswith("Tables: orders, romans\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"table_name": ["odrers", "zork"]},
            'no table "odrers"; did you mean "orders"?; no table "zork"',
        ),
        ({"table_name": "odrers"}, 'no table "odrers"; did you mean "orders"?'),
        ({"table_name": []}, "table_name"),
        ({"table_name": ["orders"] * 21}, "table_name"),
        ({"table_name": 7}, "table_name"),
        ({"table_name": "orders", "sample_rows": 21}, "sample_rows"),
        ({"table_name": "orders", "sample_rows": -1}, "sample_rows"),
        ({}, "table_name"),
    ],
)
def test_a_wrong_description_is_an_error_that_names_the_argument(
    shop: Explored, arguments: dict[str, Any], words: str
) -> None:
    assert words in shop.error("describe_table", **arguments)


def test_sample_rows_are_few_and_short(tmp_path: Path) -> None:
    path = make(
        tmp_path / "big.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);"
        f"INSERT INTO t SELECT i, hex(zeroblob(300000)), zeroblob(1000) FROM ({NUMBERS.format(30)});"
        "CREATE VIEW broken AS SELECT nosuch FROM t; CREATE TABLE empty (a);",
    )
    with exploring({"big": path}) as big:
        rows = big.data("describe_table", table_name="t", sample_rows=3)["sample_rows"]
        assert rows[0] == {"id": 1, "a": "0" * 200 + "…", "b": rows[0]["b"]}
        assert len(rows[0]["b"]) == 201
        assert len(json.dumps(rows)) < 3 * 600
        assert big.data("describe_table", table_name="empty", sample_rows=3)["sample_rows"] == []
        assert big.error("describe_table", table_name="broken") == "no such column: nosuch"


def test_a_broken_view_does_not_hide_the_rest(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", "CREATE TABLE t (name); CREATE VIEW v AS SELECT gone FROM t;")
    with exploring({"shop": path}) as shop:
        assert shop.found("name") == [("shop", "t", ["name"])]
        assert shop.found("v") == [("shop", "v", [])]
        assert shop.refusal("SELECT nam FROM t") == 'no such column: nam; did you mean "name"?'
        assert shop.refusal("SELECT nam FROM t, v").startswith("no such column: ")


def test_a_large_table_is_not_counted_to_its_end(tmp_path: Path) -> None:
    path = make(
        tmp_path / "large.db",
        f"CREATE TABLE t (a); INSERT INTO t {NUMBERS.format(30_000)}; CREATE INDEX i ON t (a);",
    )
    with exploring({"large": path}) as large:
        found = large.data("describe_table", table_name="t")
        assert (found["row_estimate"], found["row_estimate_is"]) == (10_000, "at least")
        make(path, "ANALYZE")
        found = large.data("describe_table", table_name="t")
        assert (found["row_estimate"], found["row_estimate_is"]) == (30_000, "from statistics")
        make(path, "CREATE VIEW endless AS SELECT * FROM t a, t b, t c")
        assert large.data("describe_table", table_name="endless")["row_estimate"] is None


# search_schema


def test_one_search_is_over_all_databases_and_names_them(both: Explored) -> None:
    assert sum(name.endswith("search_schema") for name in both.server.tools) == 1
    assert {"shop_list_tables", "library_explain_query"} <= both.server.tools.keys()
    found = both.found("customer")
    assert ("shop", "customers", ["id"]) in found
    assert ("library", "loans", ["customer_id"]) in found
    assert both.found("customer", database="library") == [("library", "loans", ["customer_id"])]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("customers", ("shop", "customers", ["id"])),
        ("CUSTOMER town", ("shop", "customers", ["id", "town"])),
        ("author", ("library", "Books", ["authorName"])),
        ("name", ("library", "Books", ["authorName"])),
        ("book", ("library", "Books", [])),
        ("letter", ("shop", "customers", ["town"])),
        ("bought", ("shop", "customers", [])),
        ("e-mail", ("shop", "customers", ["e mail"])),
        ("body", ("shop", "pages", ["body"])),
    ],
)
def test_the_best_match_is_first(
    both: Explored, words: str, first: tuple[str, str, list[str]]
) -> None:
    assert both.found(words)[0] == first


def test_a_search_without_a_match_names_what_is_like_it(both: Explored) -> None:
    assert both.found("custmers zork") == []
    assert 'Found no table for "custmers zork"; similar names: "customers"' in both.text(
        "search_schema", words="custmers zork"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"words": ""}, "words must have at least one word"),
        ({"words": " -- "}, "words must have at least one word"),
        ({"words": "a", "database": "zork"}, "database"),
        ({"words": "a", "limit": 0}, "limit"),
        ({"words": ["a"]}, "words"),
        ({}, "words"),
    ],
)
def test_a_wrong_search_is_an_error_that_names_the_argument(
    both: Explored, arguments: dict[str, Any], words: str
) -> None:
    assert words in both.error("search_schema", **arguments)


def test_a_limit_keeps_the_best_and_says_how_many_there_are(both: Explored) -> None:
    (only,) = both.found("customer line", limit=1)
    assert only[1] in ("lines", "notes_of_lines", "customers")
    text = both.text("search_schema", words="customer line", limit=1)
    assert text.startswith("Found 5 tables; the best 1 are:")


def test_a_database_that_fails_is_a_warning_beside_the_others(folder: Path, tmp_path: Path) -> None:
    lost = make(tmp_path / "lost.db")
    with exploring({"shop": folder / "shop.db", "lost": lost}) as served:
        lost.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
        result = served.call("search_schema", words="customers")
        beside = result["_meta"]["dev.accord-mcp/answer"]
        assert "lost could not be searched: " in str(beside["warnings"])
        assert served.resources() == [
            "schema://shop", "schema://lost", *(f"schema://shop/{name}" for name in TABLES)
        ]  # fmt: skip
        lost.unlink()
        (folder / "x.db").unlink(missing_ok=True)
    with exploring({"lost": make(tmp_path / "gone.db")}) as alone:
        (tmp_path / "gone.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
        assert "damaged" in alone.error("search_schema", words="a")


def test_a_schema_of_thousands_of_tables_is_searched(tmp_path: Path) -> None:
    sql = "".join(f"CREATE TABLE t{i} (a{i}, b{i}, c{i});" for i in range(3000))
    path = make(tmp_path / "many.db", f"BEGIN; {sql} COMMIT;")
    with exploring({"many": path}) as many:
        assert many.found("b2999") == [("many", "t2999", ["b2999"])]
        assert len(many.found("b", limit=100)) == 100
        assert len(many.resources()) == 1001
        assert 'did you mean "t2999"?' in many.refusal("SELECT * FROM t29999")


# Resources and completion

TABLES = ["customers", "orders", "lines", "notes_of_lines", "pages", "romans"]


def test_every_table_is_a_resource(both: Explored) -> None:
    uris = both.resources()
    assert uris[:2] == ["schema://shop", "schema://library"]
    assert [uri for uri in uris if uri.startswith("schema://shop/")] == [
        f"schema://shop/{name}" for name in TABLES
    ]
    assert both.templates() == [
        "schema://shop/{table}", "schema://shop/{table}/{column}",
        "schema://library/{table}", "schema://library/{table}/{column}",
    ]  # fmt: skip
    for uri in uris:
        (content,) = both.read(uri)["result"]["contents"]
        assert content["mimeType"] == "application/json"
        assert json.loads(content["text"])


def test_a_resource_is_the_description_of_a_table_or_column(both: Explored) -> None:
    (content,) = both.read("schema://shop/customers")["result"]["contents"]
    described = both.data("shop_describe_table", table_name="customers")
    assert json.loads(content["text"]) == described
    (content,) = both.read(f"schema://shop/customers/{quote('e mail')}")["result"]["contents"]
    assert json.loads(content["text"])["comment"] == "Where to write, if at all"
    (content,) = both.read("schema://library")["result"]["contents"]
    assert json.loads(content["text"])[0] == {"name": "Books", "kind": "table"}


@pytest.mark.parametrize(
    "uri",
    [
        "schema://shop/zork",
        "schema://shop/customers/zork",
        "schema://zork/a",
        "schema://shop/a%2Fb",
    ],
)
def test_what_is_not_there_is_not_found(both: Explored, uri: str) -> None:
    assert both.read(uri)["error"]["code"] == -32002


def test_names_of_tables_and_columns_are_completed(both: Explored) -> None:
    table, column = "schema://shop/{table}", "schema://shop/{table}/{column}"
    assert both.complete(table, "table", "") == TABLES
    assert both.complete(table, "table", "O") == ["orders"]
    assert both.complete(column, "table", "li") == ["lines"]
    assert both.complete(column, "column", "", table="customers") == ["id", "e mail", "town"]
    assert both.complete(column, "column", "", table="zork") == []
    assert both.complete(column, "column", "to") == ["town"], "of all tables"


def test_a_schema_that_changes_shows_at_once(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", "CREATE TABLE a (x);")
    with exploring({"shop": path}) as served:
        assert served.resources() == ["schema://shop", "schema://shop/a"]
        assert served.found("y") == []
        make(path, 'ALTER TABLE a ADD COLUMN y; CREATE TABLE "b c/d" (z); CREATE TABLE "b c" (z)')
        assert served.resources() == ["schema://shop", "schema://shop/a", "schema://shop/b%20c"]
        assert served.found("y") == [("shop", "a", ["y"])]
        assert served.complete("schema://shop/{table}/{column}", "column", "", table="a") == [
            "x",
            "y",
        ]
        (content,) = served.read("schema://shop/b%20c")["result"]["contents"]
        assert json.loads(content["text"])["table_name"] == "b c"


# explain_query


def test_a_plan_is_a_tree_as_text_and_as_structure(shop: Explored) -> None:
    query = "SELECT * FROM orders o JOIN customers c ON c.id = o.customer WHERE c.town IN (SELECT item FROM orders WHERE id = ?)"
    text = shop.text("explain_query", query=query, params=[1])
    assert text.startswith("Plan of the query:\n- ")
    assert "\n  - SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)" in text
    (plan,) = shop.data("explain_query", query=query, params=[1]).values()
    assert any("steps" in step for step in plan)


def test_a_plan_does_not_run_the_query(shop: Explored) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    assert "SCAN n" in shop.text("explain_query", query=endless)


def test_a_plan_of_a_wrong_query_gets_its_error(shop: Explored) -> None:
    assert shop.error("explain_query", query="SELECT twn FROM customers") == (
        'no such column: twn; did you mean "town"?'
    )
    assert shop.error("explain_query", query="DELETE FROM customers").startswith("Only SELECT")
    assert "syntax error" in shop.error("explain_query", query="SELEC 1")


# What is hidden


def everything(served: Explored) -> Iterator[str]:
    """Yield all that a client can get of the schema."""
    tables = ["users", "posts", "leak", "quoted", "bracketed", "defaults"]
    searches = ("id", "code", "user posts", "name title", "first", "also", "see")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_tables", {}),
        ("describe_table", {"table_name": tables, "details": True, "sample_rows": 3}),
        *(("describe_table", {"table_name": table}) for table in tables),
        *(("search_schema", {"words": words}) for words in searches),
        ("explain_query", {"query": "SELECT * FROM users JOIN posts ON user = id"}),
        *(("run_query", {"query": query}) for query in (*INDIRECT, *TYPOS)),
        *(("explain_query", {"query": query}) for query in (*INDIRECT, *TYPOS)),
        ("delete_row", {"table_name": "posts", "where": {"user": 1}}),
        ("delete_row", {"table_name": "users", "where": {"id": 1}}),
    ]
    for tool, arguments in calls:
        yield json.dumps(served.call(tool, **arguments))
    for uri in served.resources():
        yield uri
        yield json.dumps(served.read(uri))
    column = "schema://shop/{table}/{column}"
    for typed in ("", "s", "h", "c"):
        yield json.dumps(served.complete(column, "table", typed))
        yield json.dumps(served.complete(column, "column", typed, table="secret"))
        yield json.dumps(served.complete(column, "column", typed))


INDIRECT = [
    "SELECT * FROM leak",
    "SELECT * FROM users, leak",
    "SELECT count(*) FROM leak",
    "SELECT * FROM quoted",
    "SELECT * FROM pragma_foreign_key_list('users')",
]
TYPOS = ["SELECT * FROM secrt", "SELECT hus FROM users", "SELECT * FROM hidden_pst"]


def test_a_hidden_table_is_named_nowhere(restricted: Explored) -> None:
    for text in everything(restricted):
        shown = text.replace("secret_id", "")
        for hidden in ("secret", "hidden_posts", "hush", "hunter2", "sec\\"):
            assert hidden not in shown, text


HIDDEN = [
    "SELECT * FROM secret",
    "SELECT * FROM 'secret'",
    'SELECT nosuch FROM "secret"',
    "SELECT code, nosuch FROM [Secret]",
    "SELECT * FROM secret JOIN users USING (nosuch)",
    "SELECT nosuch(code) FROM secret",
    "SELECT * FROM leak",
    "SELECT * FROM zork",
    "SELECT nosuch FROM zork",
    "SELECT * FROM main.secret",
    "SELECT * FROM main.zork",
    "SELECT * FROM pragma_table_info('secret')",
    "SELECT * FROM pragma_table_info('zork')",
]


@pytest.mark.parametrize("tool", ["run_query", "explain_query"])
def test_a_hidden_table_is_refused_like_one_that_does_not_exist(
    restricted: Explored, tool: str
) -> None:
    queries = [each for each in HIDDEN if tool == "run_query" or "pragma_" not in each]
    refusals = {restricted.error(tool, query=query) for query in queries}
    assert refusals == {
        "The query reads what does not exist or may not be read;"
        ' only "bracketed", "defaults", "leak", "posts", "quoted", "users" may be read'
    }
    assert restricted.refusal("SELECT * FROM user").endswith('did you mean "users"?')
    assert (
        restricted.refusal("SELECT nam FROM users") == 'no such column: nam; did you mean "name"?'
    )
    for name in ("secret", "zork"):
        there = '"users", "defaults", "posts", "quoted", "bracketed", "leak"'
        assert restricted.error("describe_table", table_name=name) == (
            f'no table "{name}"; there are {there}'
        )


# Advice, and rows of defaults


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT itme FROM orders", 'no such column: itme; did you mean "item"?'),
        ("SELECT o.itme FROM orders o", 'no such column: o.itme; did you mean "item"?'),
        ("SELECT twon FROM orders JOIN customers ON 1", 'no such column: twon; did you mean "town"?'),
        ("SELECT twon FROM orders", "no such column: twon"),
        ("SELECT 1 FROM odrers", 'no such table: odrers; did you mean "orders"?'),
        ("SELECT 1 FROM main.odrers", 'no such table: main.odrers; did you mean "orders"?'),
    ],
)  # fmt: skip
def test_an_unknown_name_gets_sqlites_message_and_the_nearest_one(
    shop: Explored, query: str, words: str
) -> None:
    assert shop.refusal(query) == words


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE nosuch",
        "drop table if exists nosuch",
        "DELETE FROM nosuch",
        "INSERT INTO nosuch VALUES (1)",
        "WITH x AS (SELECT 1) DELETE FROM nosuch",
        "WITH x(a) AS (SELECT 1), y AS (VALUES (2)) UPDATE nosuch SET a = 1",
        "/* SELECT */ UPDATE nosuch SET a = 1",
        "EXPLAIN DROP TABLE nosuch",
        "EXPLAIN QUERY PLAN DELETE FROM nosuch",
        "ALTER TABLE nosuch ADD COLUMN a",
        "CREATE INDEX i ON nosuch (a)",
        "CREATE VIRTUAL TABLE x USING nosuch(a)",
        "DROP INDEX nosuch",
        "REINDEX nosuch",
    ],
)
def test_a_change_of_what_does_not_exist_gets_the_sentence_of_changes(
    shop: Explored, query: str
) -> None:
    assert shop.refusal(query) == "Only SELECT queries are allowed for security reasons"


DEFAULTS = """
CREATE TABLE visits (id INTEGER PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP, n INTEGER DEFAULT 7,
  empty TEXT DEFAULT NULL, double INTEGER GENERATED ALWAYS AS (n * 2));
CREATE TABLE bare (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE keyed (name TEXT PRIMARY KEY);
CREATE VIEW all_visits AS SELECT * FROM visits;
"""


def test_a_row_of_defaults_alone_is_inserted(tmp_path: Path) -> None:
    path = make(tmp_path / "visits.db", DEFAULTS)
    with serving(path) as visits:
        assert visits.data("insert_row", table_name="visits", data={}, dry_run=True)["changes"] == 1
        assert visits.data("insert_row", table_name="visits", data={}) == {
            "last_insert_id": 1, "changes": 1
        }  # fmt: skip
        found = visits.query("SELECT id, n, empty, double FROM visits")
        assert found == [{"id": 1, "n": 7, "empty": None, "double": 14}]
        for table, columns in {"bare": '"id", "name"', "keyed": '"name"'}.items():
            said = visits.error("insert_row", table_name=table, data={})
            assert said == f'data must name at least one column; "{table}" has {columns}'
        assert "at least one column" in visits.error("insert_row", table_name="all_visits", data={})
        assert "at least one column" in visits.error(
            "update_row", table_name="visits", data={}, where={"id": 1}
        )


# Without --explore


def test_without_exploring_there_is_none_of_it(folder: Path) -> None:
    with serving(folder / "shop.db") as plain:
        assert list(plain.server.tools) == [
            "list_tables", "describe_table", "run_query", "insert_row", "update_row", "delete_row",
        ]  # fmt: skip
        assert not plain.server.registry.resources
