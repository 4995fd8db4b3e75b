"""`run_query`: queries, values, parameters, limits and cursors."""

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sources.sql.shop import NUMBERS, Shop, make, serving

WIDE = f"CREATE TABLE wide ({', '.join(f'c{n}' for n in range(150))});"
TABLES = f"""
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
INSERT INTO users VALUES (1, 'Ada', 'ada@example.com'), (2, 'Grace', NULL), (3, 'Zoë', 'z@example.com');
CREATE VIEW names AS SELECT name FROM users;
CREATE VIRTUAL TABLE docs USING fts5(body);
INSERT INTO docs VALUES ('a moth in a relay');
{WIDE}
INSERT INTO wide DEFAULT VALUES;
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with serving(make(tmp_path_factory.mktemp("shop") / "shop.db", TABLES), max_rows=50) as served:
        yield served


# Queries

ACCEPTED: dict[str, tuple[str, Any]] = {
    "a SELECT": ("SELECT 1 AS a", [{"a": 1}]),
    "with a semicolon": ("SELECT 1 AS a;", [{"a": 1}]),
    "with comments around": ("-- one\nSELECT /* two */ 1 AS a; -- three\n;", [{"a": 1}]),
    "a semicolon in a text": ("SELECT ';' AS a", [{"a": ";"}]),
    "small letters": ("select 1 as a", [{"a": 1}]),
    "in parts": ("WITH x(a) AS (SELECT 1) SELECT * FROM x", [{"a": 1}]),
    "VALUES": ("VALUES (1, 'b')", [{"column1": 1, "column2": "b"}]),
    "no rows": ("SELECT 1 WHERE 0", []),
    "a view": ("SELECT * FROM names LIMIT 1", [{"name": "Ada"}]),
    "full text": ("SELECT body FROM docs WHERE docs MATCH 'moth'", [{"body": "a moth in a relay"}]),
    "a plan": ("EXPLAIN QUERY PLAN SELECT 1", ...),
    "JSON": ("SELECT value AS a FROM json_each('[1, 2]') WHERE value > 1", [{"a": 2}]),
    "the schema": ("SELECT name FROM sqlite_schema WHERE type = 'view'", [{"name": "names"}]),
    "columns of a table": ("SELECT name FROM pragma_table_info('users') LIMIT 1", [{"name": "id"}]),
    "sixty ANDs": (f"SELECT 1 AS a WHERE {' AND '.join(['1'] * 60)}", [{"a": 1}]),
    "forty UNIONs": (" UNION ".join(["SELECT 1 AS a"] * 40), [{"a": 1}]),
    "150 columns": ("SELECT * FROM wide", [{f"c{n}": None for n in range(150)}]),
    "a long pattern": (f"SELECT 'a' LIKE '{'a' * 400}' AS a", [{"a": 0}]),
}


@pytest.mark.parametrize(("query", "rows"), ACCEPTED.values(), ids=list(ACCEPTED))
def test_what_reads_is_run(shop: Shop, query: str, rows: Any) -> None:
    for _ in range(2):  # the second time SQLite has it prepared
        found = shop.query(query)
        assert found == rows or rows is ...


def test_an_empty_result_has_a_message(shop: Shop) -> None:
    words = "Query executed successfully. Found 0 rows:\n[]"
    assert shop.text("run_query", query="SELECT 1 WHERE 0") == words


REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "query holds nothing to run"),
    "a comment": ("-- nothing", "query holds nothing to run"),
    "two queries": (
        "SELECT 1; SELECT 2",
        "query takes one SELECT at a time, and there is more behind the first",
    ),
    "no SQL": ("SELEC 1", 'near "SELEC": syntax error'),
    "half of it": ("SELECT * FROM", "incomplete input"),
    "a table that is not there": (
        "SELECT * FROM usrs",
        'no such table: usrs; did you mean "users"?',
    ),
    "a column that is not there": (
        "SELECT nmae FROM users",
        'no such column: nmae; did you mean "name"?',
    ),
    "a function that is not there": ("SELECT zork(1)", "no such function: zork"),
    "a NUL": ("SELECT 1\0", "query must not have a NUL character"),
}


@pytest.mark.parametrize(("query", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_does_not_parse_gets_sqlites_own_message(shop: Shop, query: str, words: str) -> None:
    assert shop.refusal(query) == words


def test_a_table_that_is_not_there_is_a_field_error_with_what_there_is(shop: Shop) -> None:
    (field,) = shop.problem("run_query", query="SELECT * FROM zzz")["fields"]
    assert field["field"] == "query"
    assert field["error"] == 'no such table: zzz; there are "users", "docs", "wide", "names"'


def test_a_query_that_runs_again_sees_what_has_changed(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    with serving(path) as shop:
        assert shop.query("SELECT * FROM posts") == []
        make(path, "ALTER TABLE posts ADD COLUMN tag; INSERT INTO posts VALUES (1, 'a', 'b')")
        assert shop.query("SELECT * FROM posts") == [{"id": 1, "title": "a", "tag": "b"}]
        make(path, "DROP TABLE posts")
        assert shop.refusal("SELECT * FROM posts").startswith("no such table: posts")


def test_many_queries_do_not_make_one_of_them_forgotten(shop: Shop) -> None:
    for number in range(600):
        assert shop.query(f"SELECT {number} AS a") == [{"a": number}]
        if number % 50 == 0:
            assert shop.query("SELECT 'often' AS a") == [{"a": "often"}]
            assert shop.refusal("REINDEX").startswith("Only SELECT")
    assert shop.query("SELECT 0 AS a") == [{"a": 0}]


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    with serving(path) as shop:
        assert len(shop.query("SELECT * FROM users")) == 1
        make(tmp_path / "new.db", "CREATE TABLE users (id); INSERT INTO users VALUES (8), (9)")
        (tmp_path / "new.db").rename(path)
        assert shop.query("SELECT id FROM users") == [{"id": 8}, {"id": 9}]


# Values

VALUES: dict[str, tuple[str, Any]] = {
    "null": ("NULL", None),
    "the largest integer": ("9223372036854775807", 2**63 - 1),
    "the smallest": ("-9223372036854775808", -(2**63)),
    "beyond 2^53": ("9007199254740993", 9007199254740993),
    "a real": ("0.1", 0.1),
    "a large real": ("1e300", 1e300),
    "the smallest real": ("5e-324", 5e-324),
    "not a number": ("9e999 - 9e999", None),  # SQLite's own choice
    "infinity": ("9e999", {"$real": "Infinity"}),
    "minus infinity": ("-9e999", {"$real": "-Infinity"}),
    "bytes": ("x'00ff'", {"$blob": "AP8="}),
    "no bytes": ("x''", {"$blob": ""}),
    "text": ("'Zoë 𝄞'", "Zoë 𝄞"),
    "a NUL in a text": ("'a' || char(0) || 'b'", "a\0b"),
    "text that is not UTF-8": ("CAST(x'41ff' AS TEXT)", {"$text": "Qf8="}),
    "half a character": ("CAST(x'eda080' AS TEXT)", {"$text": "7aCA"}),
    "a date": ("'2024-02-30 25:00'", "2024-02-30 25:00"),
    "a text that is JSON": ("json('[1]')", "[1]"),
    "a text that looks like a number": ("'007'", "007"),
}


@pytest.mark.parametrize(("sql", "value"), VALUES.values(), ids=list(VALUES))
def test_a_value_survives_as_json(shop: Shop, sql: str, value: Any) -> None:
    assert shop.query(f"SELECT {sql} AS a, 'beside' AS b") == [{"a": value, "b": "beside"}]


def test_values_that_json_lacks_leave_others_as_they_are(shop: Shop) -> None:
    query = "SELECT 1 AS a, CAST(x'ff' AS TEXT) AS b, 'c' AS c, 9e999 AS d, x'01' AS e, NULL AS f;"
    odd = {"b": {"$text": "/w=="}, "d": {"$real": "Infinity"}, "e": {"$blob": "AQ=="}}
    assert shop.query(query) == [{"a": 1, "c": "c", "f": None, **odd}]


def test_odd_text_of_a_table_that_has_our_own_name(tmp_path: Path) -> None:
    odd = "CREATE TABLE accord (a); INSERT INTO accord VALUES (CAST(x'ff' AS TEXT))"
    with serving(make(tmp_path / "shop.db", odd)) as shop:
        assert shop.query("SELECT a FROM Accord") == [{"a": {"$text": "/w=="}}]


def test_a_table_that_changes_while_it_is_empty_has_its_new_columns(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    query = "SELECT * FROM posts"
    with serving(path) as shop:
        for change in ("ALTER TABLE posts ADD x", "ALTER TABLE posts RENAME title TO name"):
            assert shop.query(query) == []
            make(path, change)
            assert shop.query(query) == []
        make(path, "INSERT INTO posts (name) VALUES ('notes')")
        for _ in range(2):
            assert shop.query(query) == [{"id": 1, "name": "notes", "x": None}]


def test_repeated_column_names_get_a_number(shop: Shop) -> None:
    rows, beside = shop.page("SELECT 1 AS id, 2 AS id, 3 AS 'id:1', 4 AS id")
    assert rows == [{"id": 1, "id:2": 2, "id:1": 3, "id:3": 4}]
    (notice,) = beside["warnings"]
    assert notice["code"] == "RENAMED_COLUMNS"


def test_names_of_columns_may_be_anything(shop: Shop) -> None:
    assert shop.query("""SELECT 1 AS "a""b", 2 AS "", 3 AS "Zoë", 4 AS c0, 5 AS "\\\n" """) == [
        {'a"b': 1, "": 2, "Zoë": 3, "c0": 4, "\\\n": 5}
    ]
    assert shop.query('SELECT 1 AS "", 2 AS "c1", 3 AS "c0"') == [{"": 1, "c1": 2, "c0": 3}]


def test_a_database_in_utf_16_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "wide.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA encoding = 'UTF-16le'")
    connection.execute("CREATE TABLE t (a TEXT, b TEXT)")
    connection.execute("INSERT INTO t VALUES ('Zoë', CAST(x'00d8' AS TEXT))")
    connection.commit()
    connection.close()
    with serving(path) as shop:
        (row,) = shop.query("SELECT * FROM t")
        assert row["a"] == "Zoë"


# Parameters

PARAMS: dict[str, tuple[str, Any, Any]] = {
    "by place": ("SELECT ? AS a, ? AS b", [1, "x"], {"a": 1, "b": "x"}),
    "by number": ("SELECT ?2 AS a, ?1 AS b", [1, 2], {"a": 2, "b": 1}),
    "by name": ("SELECT :a AS a, @b AS b, $c AS c", {"a": 1, "b": 2, "c": None}, {"a": 1, "b": 2, "c": None}),
    "bytes": ("SELECT typeof(?) AS a", [{"$blob": "AP8="}], {"a": "blob"}),
    "infinity": ("SELECT ? AS a", [{"$real": "-Infinity"}], {"a": {"$real": "-Infinity"}}),
    "a boolean": ("SELECT ? AS a", [True], {"a": 1}),
    "more names than placeholders": ("SELECT :a AS a", {"a": 1, "b": 2}, {"a": 1}),
    "what would be SQL": ("SELECT ? AS a", ["'; DROP TABLE users; --"], {"a": "'; DROP TABLE users; --"}),
}  # fmt: skip


@pytest.mark.parametrize(("query", "params", "row"), PARAMS.values(), ids=list(PARAMS))
def test_values_are_bound(shop: Shop, query: str, params: Any, row: Any) -> None:
    assert shop.query(query, params=params) == [row]


MISFITS: dict[str, tuple[str, Any, str, str]] = {
    "too few": ("SELECT ?, ?", [1], "params", "has 1 values, and the query has 2 placeholders"),
    "too many": ("SELECT ?", [1, 2], "params", "has 2 values, and the query has 1 placeholders"),
    "none at all": ("SELECT ?", None, "params", "has 0 values, and the query has 1 placeholders"),
    "a name that is missing": ("SELECT :a", {"b": 1}, "params", 'must have "a", which the query names'),
    "names for placeholders": ("SELECT ?", {"a": 1}, "params", "must be a list: the query has placeholders without a name"),
    "a list in it": ("SELECT ?", [[1]], "params[0]", 'must be text, a number, true, false, null, {"$blob": base64} or {"$real": "Infinity"}'),
    "an object in it": ("SELECT :a", {"a": {"b": 1}}, "params.a", 'must be text, a number, true, false, null, {"$blob": base64} or {"$real": "Infinity"}'),
    "not base64": ("SELECT ?", [{"$blob": "*"}], "params[0]", "is not base64"),
    "a large integer": ("SELECT ?", [2**63], "params[0]", "is an integer beyond 64 bits"),
}  # fmt: skip


@pytest.mark.parametrize(("query", "params", "field", "error"), MISFITS.values(), ids=list(MISFITS))
def test_values_that_do_not_fit_are_field_errors(
    shop: Shop, query: str, params: Any, field: str, error: str
) -> None:
    given = {} if params is None else {"params": params}
    (found,) = shop.problem("run_query", query=query, **given)["fields"]
    assert (found["field"], found["error"]) == (field, error)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({}, ["query"]),
        ({"query": 5}, ["query"]),
        ({"query": "SELECT 1", "limit": 0}, ["limit"]),
        ({"query": "SELECT 1", "limit": "many"}, ["limit"]),
        ({"query": "SELECT 1", "params": 7}, ["params"]),
        ({"query": None, "limit": 1.5, "cursor": 1}, ["query", "limit", "cursor"]),
    ],
)
def test_every_argument_of_a_wrong_type_is_named(
    shop: Shop, arguments: Any, fields: list[str]
) -> None:
    assert {each["field"] for each in shop.problem("run_query", **arguments)["fields"]} == {*fields}


def test_an_unknown_argument_is_ignored_with_a_warning(shop: Shop) -> None:
    rows, beside = shop.page("SELECT 1 AS a", colour="x")
    assert rows == [{"a": 1}]
    assert beside["warnings"][0]["code"] == "UNKNOWN_ARGUMENT"


# Limits and cursors


def pages(shop: Shop, query: str, **arguments: Any) -> list[list[Any]]:
    """All pages of a query, by their cursors."""
    found = []
    cursor = None
    while True:
        given = arguments if cursor is None else {**arguments, "cursor": cursor}
        rows, beside = shop.page(query, **given)
        found.append(rows)
        page = beside.get("page", {})
        assert beside.get("truncated", False) is page.get("hasMore", False)
        cursor = page.get("cursor")
        assert (cursor is not None) == page.get("hasMore", False)
        assert len(found) < 100
        if cursor is None:
            return found


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (0, [0]),
        (1, [1]),
        (49, [49]),
        (50, [50]),
        (51, [50, 1]),
        (100, [50, 50]),
        (101, [50, 50, 1]),
    ],
)
def test_rows_beyond_the_limit_are_reported_exactly_and_read_with_cursors(
    shop: Shop, count: int, sizes: list[int]
) -> None:
    query = f"SELECT i FROM ({NUMBERS.format(200)}) LIMIT {count}"
    found = pages(shop, query)
    assert [len(rows) for rows in found] == sizes
    assert [row["i"] for rows in found for row in rows] == list(range(1, count + 1))


def test_a_caller_may_want_fewer_rows_but_not_more(shop: Shop) -> None:
    query = NUMBERS.format(60)
    assert [len(rows) for rows in pages(shop, query, limit=25)] == [25, 25, 10]
    assert [len(rows) for rows in pages(shop, query, limit=1000)] == [50, 10]


def test_an_answer_with_all_there_is_says_nothing_beside(shop: Shop) -> None:
    assert shop.page("SELECT 1 AS a") == ([{"a": 1}], {})


@contextmanager
def small_answers(folder: Path) -> Iterator[Shop]:
    """Serve a database with a limit of 20,000 bytes."""
    path = make(folder / "shop.db", "CREATE TABLE t (a)")
    with serving(path, max_bytes=20_000) as shop:
        shop.server.configure(max_bytes=20_000)
        yield shop


def test_rows_are_cut_by_bytes_with_a_cursor_to_the_rest(tmp_path: Path) -> None:
    with small_answers(tmp_path) as shop:
        query = f"SELECT i, hex(randomblob(500)) AS text FROM ({NUMBERS.format(60)})"
        found = pages(shop, query)
        assert [row["i"] for rows in found for row in rows] == list(range(1, 61))
        assert 4 <= len(found) <= 6
        result = shop.call("run_query", query=query)
        assert len(result["content"][0]["text"]) <= 20_000
        assert not result["_meta"]["dev.accord-mcp/answer"].get("warnings"), "cut by the source"


def test_a_row_that_is_larger_than_an_answer_is_left_out_and_passed(tmp_path: Path) -> None:
    with small_answers(tmp_path) as shop:
        query = f"SELECT i, iif(i = 2, hex(zeroblob(50000)), 'x') AS a FROM ({NUMBERS.format(3)})"
        found = pages(shop, query)
        assert [row["i"] for rows in found for row in rows] == [1, 3]


def test_a_scan_reads_one_row_more_than_it_returns_and_no_further(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", f"CREATE TABLE t AS {NUMBERS.format(1000)}")
    fails = "SELECT iif(i = {}, abs(-9223372036854775807 - 1), i) AS i FROM t"
    with serving(path, max_rows=500) as shop:
        rows, beside = shop.page(fails.format(502))
        assert (len(rows), beside["truncated"]) == (500, True)
        assert shop.refusal(fails.format(501)) == "integer overflow"


def test_a_cursor_belongs_to_its_query(shop: Shop) -> None:
    _, beside = shop.page(NUMBERS.format(60))
    cursor = beside["page"]["cursor"]
    words = "The cursor belongs to another query or other params"
    assert shop.refusal(NUMBERS.format(61), cursor=cursor) == words
    assert shop.refusal(NUMBERS.format(60), params=[], cursor=cursor) == words
    assert shop.refusal("SELECT 1", cursor="x" + cursor) == "The cursor was not made by this server"
    assert base64.urlsafe_b64decode(cursor[1:] + "==")


def test_output_schemas_are_kept(shop: Shop) -> None:
    tools = {tool["name"]: tool for tool in shop.peer.ask("tools/list")["result"]["tools"]}
    assert all("outputSchema" in tool for tool in tools.values())
    rows, table = tools["run_query"]["outputSchema"]["$defs"]["data"]["anyOf"]
    assert json.dumps(rows) == json.dumps({"type": "array", "items": {"type": "object"}})
    assert table["required"] == ["columns", "rows"]
