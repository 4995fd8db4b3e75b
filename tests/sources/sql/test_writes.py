"""`insert_row`, `update_row`, `delete_row`: changes, refusals and messages."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sources.sql.shop import Shop, make, serving, state

TABLES = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, raw BLOB);
CREATE TABLE posts (
  id INTEGER PRIMARY KEY, user INTEGER REFERENCES users(id), title TEXT CHECK (title <> ''),
  shout AS (upper(title))
);
CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE "odd ""table" ("select" TEXT, "a b" TEXT);
CREATE VIEW names AS SELECT name FROM users;
INSERT INTO users VALUES (1, 'Ada', 'ada@example.com', NULL), (2, 'Grace', NULL, NULL), (3, 'Zoë', 'z@x', x'00');
INSERT INTO posts (user, title) VALUES (1, 'notes'), (2, 'moth');
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "shop.db", TABLES)


@pytest.fixture
def shop(path: Path) -> Iterator[Shop]:
    with serving(path) as served:
        yield served


def rows(path: Path, sql: str) -> list[Any]:
    connection = sqlite3.connect(path)
    found = connection.execute(sql).fetchall()
    connection.close()
    return found


def test_rows_are_inserted_updated_and_deleted(shop: Shop, path: Path) -> None:
    new = {"name": "Mary", "raw": {"$blob": "AP8="}}
    said = shop.text("insert_row", table_name="users", data=new)
    assert said == "Row inserted successfully. Last insert ID: 4, Changes: 1"
    said = shop.text("update_row", table_name="users", data={"email": None}, where={"id": [1, 3]})
    assert said == "Rows updated successfully. Changes: 2"
    said = shop.text("delete_row", table_name="posts", where={"user": 2, "title": "moth"})
    assert said == "Rows deleted successfully. Changes: 1"
    assert rows(path, "SELECT id, name, email, raw FROM users") == [
        (1, "Ada", None, None),
        (2, "Grace", None, None),
        (3, "Zoë", None, b"\0"),
        (4, "Mary", None, b"\0\xff"),
    ]
    assert rows(path, "SELECT title FROM posts") == [("notes",)]


def test_the_structure_beside_the_sentence_has_the_numbers(shop: Shop) -> None:
    data = {"name": "Mary"}
    assert shop.data("insert_row", table_name="users", data=data) == {
        "last_insert_id": 4,
        "changes": 1,
    }
    assert shop.data("update_row", table_name="users", data=data, where={"id": 99}) == {
        "changes": 0
    }
    assert shop.data("delete_row", table_name="users", where={"id": 4}) == {"changes": 1}


def test_conditions_are_equality_null_and_lists(shop: Shop) -> None:
    def count(**where: Any) -> int:
        given = {"table_name": "users", "data": {"name": "x"}, "where": where}
        return int(shop.data("update_row", dry_run=True, **given)["changes"])

    assert count(email=None) == 1
    assert count(email=["z@x", None]) == 2
    assert count(id=[]) == 0
    assert count(id=[1, 2, 3, 4]) == 3
    assert count(raw={"$blob": "AA=="}) == 1
    assert count(NAME="Ada") == 1
    assert count(id=1, name="Grace") == 0
    assert count(name="x' OR 1=1 --") == 0


def test_a_table_without_rowid_has_no_insert_id(shop: Shop) -> None:
    said = shop.text("insert_row", table_name="pairs", data={"a": 1, "b": 2})
    assert said == "Row inserted successfully. Last insert ID: null, Changes: 1"


def test_a_row_that_was_left_out_has_no_id_of_another(tmp_path: Path) -> None:
    table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT IGNORE)"
    with serving(make(tmp_path / "shop.db", table)) as shop:
        for said in ({"last_insert_id": 1, "changes": 1}, {"last_insert_id": None, "changes": 0}):
            assert shop.data("insert_row", table_name="t", data={"a": 7}) == said


def test_names_that_are_sql_are_names(shop: Shop, path: Path) -> None:
    table = 'odd "table'
    shop.text("insert_row", table_name=table, data={"select": "x", "a b": "y"})
    shop.text("update_row", table_name=table, data={"a b": "z"}, where={"select": "x"})
    assert rows(path, 'SELECT * FROM "odd ""table"') == [("x", "z")]


REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "an unknown table": (
        "insert_row", {"table_name": "usrs", "data": {"a": 1}}, "table_name", 'no table "usrs"; did you mean "users"?',
    ),
    "an unknown column": (
        "insert_row", {"table_name": "users", "data": {"nmae": 1}}, "data.nmae", 'no column "nmae" in users; did you mean "name"?',
    ),
    "an unknown column to update": (
        "update_row", {"table_name": "users", "data": {"zork": 1}, "where": {"id": 1}}, "data.zork",
        'no column "zork" in users; there are "id", "name", "email", "raw"',
    ),
    "an unknown column in a condition": (
        "delete_row", {"table_name": "users", "where": {"ide": 1}}, "where.ide", 'no column "ide" in users; did you mean "id"?',
    ),
    "no columns": (
        "insert_row", {"table_name": "users", "data": {}}, "data", 'must name at least one column; "users" has "id", "name", "email", "raw"',
    ),
    "no columns to update": (
        "update_row", {"table_name": "users", "data": {}, "where": {"id": 1}}, "data", 'must name at least one column; "users" has "id", "name", "email", "raw"',
    ),
    "no condition": (
        "delete_row", {"table_name": "users", "where": {}}, "where",
        'must have at least one condition; "users" has "id", "name", "email", "raw"',
    ),
    "no condition to update": (
        "update_row", {"table_name": "users", "data": {"name": "x"}, "where": {}}, "where",
        'must have at least one condition; "users" has "id", "name", "email", "raw"',
    ),
    "a column twice": (
        "insert_row", {"table_name": "users", "data": {"name": "x", "NAME": "y"}}, "data.NAME", '"NAME" is named twice',
    ),
    "a value that is an object": (
        "insert_row", {"table_name": "users", "data": {"name": {"first": "x"}}}, "data.name",
        'must be text, a number, true, false, null, {"$blob": base64} or {"$real": "Infinity"}',
    ),
    "a value that is a list": (
        "insert_row", {"table_name": "users", "data": {"name": [1]}}, "data.name",
        'must be text, a number, true, false, null, {"$blob": base64} or {"$real": "Infinity"}',
    ),
    "an integer beyond 64 bits": (
        "delete_row", {"table_name": "users", "where": {"id": [1, 2**64]}}, "where.id[1]", "is an integer beyond 64 bits",
    ),
    "data that is no object": ("insert_row", {"table_name": "users", "data": [1]}, "data", "must be an object, not an array"),
    "a table that is no name": ("delete_row", {"table_name": 7, "where": {"id": 1}}, "table_name", "must be a string, not an integer"),
    "no table": ("delete_row", {"where": {"id": 1}}, "table_name", "is required"),
    "a limit below zero": (
        "delete_row", {"table_name": "users", "where": {"id": 1}, "max_changes": -1}, "max_changes", "must be at least 0",
    ),
    "a column that is not unique": (
        "insert_row", {"table_name": "users", "data": {"name": "x", "email": "z@x"}}, "data.email", "UNIQUE constraint failed: users.email",
    ),
    "a column that may not be null": (
        "update_row", {"table_name": "users", "data": {"name": None}, "where": {"id": 1}}, "data.name", "NOT NULL constraint failed: users.name",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "error"), REFUSED.values(), ids=list(REFUSED)
)
def test_what_does_not_fit_is_a_field_error_and_changes_nothing(
    shop: Shop, path: Path, tool: str, arguments: Any, field: str, error: str
) -> None:
    before = state(path.parent)
    (found,) = shop.problem(tool, **arguments)["fields"]
    assert (found["field"], found["error"]) == (field, error)
    assert state(path.parent) == before


def test_all_unknown_columns_are_named_at_once(shop: Shop) -> None:
    given = {"data": {"nmae": 1, "emial": 2}, "where": {"idd": 3}}
    fields = shop.problem("update_row", table_name="users", **given)["fields"]
    assert [each["field"] for each in fields] == ["data.nmae", "data.emial", "where.idd"]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("insert_row", {"data": {"user": 99}}, "FOREIGN KEY constraint failed"),
        ("insert_row", {"data": {"title": ""}}, "CHECK constraint failed: title <> ''"),
        ("insert_row", {"data": {"id": 1}}, "UNIQUE constraint failed: posts.id"),
    ],
)
def test_a_constraint_that_fails_is_a_conflict(
    shop: Shop, tool: str, arguments: Any, words: str
) -> None:
    problem = shop.problem(tool, table_name="posts", **arguments)
    assert problem["type"] == "conflict"
    assert shop.error(tool, table_name="posts", **arguments) == words


def test_foreign_keys_hold_for_deletes(shop: Shop) -> None:
    assert shop.error("delete_row", table_name="users", where={"id": 1}) == (
        "FOREIGN KEY constraint failed"
    )


def test_what_cannot_be_written_says_so(shop: Shop) -> None:
    said = shop.error("insert_row", table_name="names", data={"name": "x"})
    assert said == "cannot modify names because it is a view"
    said = shop.error("insert_row", table_name="posts", data={"shout": "x"})
    assert said == 'cannot INSERT into generated column "shout"'


def test_a_dry_run_tells_and_does_nothing(shop: Shop, path: Path) -> None:
    before = state(path.parent)
    for tool, arguments, changes in (
        ("insert_row", {"data": {"name": "x"}}, 1),
        ("update_row", {"data": {"name": "x"}, "where": {"id": [1, 2]}}, 2),
        ("delete_row", {"where": {"id": 3}}, 1),
    ):
        result = shop.call(tool, table_name="users", dry_run=True, **arguments)
        assert result["content"][0]["text"].startswith("Dry run, nothing was changed. ")
        assert result["structuredContent"]["changes"] == changes
    assert shop.error("insert_row", table_name="users", data={"id": 1, "name": "x"}, dry_run=True)
    assert state(path.parent) == before


NARROW = ". Narrow the conditions, or raise max_changes."


def test_max_changes_bounds_a_wide_change(shop: Shop, path: Path) -> None:
    before = state(path.parent)
    where = {"id": [1, 2, 3]}
    for tool, more in (("update_row", {"data": {"name": "x"}}), ("delete_row", {})):
        given = {"table_name": "users", "where": where, "max_changes": 2, **more}
        words = "max_changes is 2, and 3 rows would change; nothing was changed" + NARROW
        if tool == "delete_row":
            given["where"] = {"id": [3, 2]}
            given["max_changes"] = 0
            given["table_name"] = "posts"
            words = "max_changes is 0, and 1 rows would change; nothing was changed" + NARROW
        assert shop.error(tool, **given) == words
    assert state(path.parent) == before
    said = shop.text(
        "update_row", table_name="users", where=where, data={"name": "x"}, max_changes=3
    )
    assert said == "Rows updated successfully. Changes: 3"


def test_max_changes_bounds_a_view_whose_triggers_do_the_work(tmp_path: Path) -> None:
    views = """
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE VIEW people AS SELECT * FROM users;
    CREATE TRIGGER a INSTEAD OF DELETE ON people BEGIN DELETE FROM users WHERE id = old.id; END;
    CREATE TRIGGER b INSTEAD OF UPDATE ON people BEGIN
      UPDATE users SET name = new.name WHERE id = old.id;
    END;
    CREATE TRIGGER c INSTEAD OF INSERT ON people BEGIN INSERT INTO users VALUES (new.id, new.name); END;
    INSERT INTO users VALUES (1, 'Ada'), (2, 'Ada');
    """
    path = make(tmp_path / "shop.db", views)
    before = state(tmp_path)
    with serving(path) as shop:
        given: dict[str, Any] = {"table_name": "people", "where": {"name": "Ada"}}
        words = "max_changes is 1, and 2 rows would change; nothing was changed" + NARROW
        assert shop.error("delete_row", max_changes=1, **given) == words
        assert shop.error("update_row", max_changes=1, data={"name": "x"}, **given) == words
        assert shop.data("delete_row", dry_run=True, **given) == {"changes": 2}
        assert state(tmp_path) == before
        assert shop.data("delete_row", max_changes=2, **given) == {"changes": 2}
        said = shop.data("insert_row", table_name="people", data={"id": 3, "name": "Grace"})
        assert said == {"last_insert_id": None, "changes": 1}
    assert rows(path, "SELECT * FROM users") == [(3, "Grace")]


def test_a_dry_run_knows_what_only_a_commit_would_refuse(tmp_path: Path) -> None:
    tables = """
    CREATE TABLE users (id INTEGER PRIMARY KEY);
    CREATE TABLE posts (user REFERENCES users DEFERRABLE INITIALLY DEFERRED);
    """
    with serving(make(tmp_path / "shop.db", tables)) as shop:
        for is_dry in (True, False):
            given = {"table_name": "posts", "data": {"user": 99}, "dry_run": is_dry}
            assert shop.error("insert_row", **given) == "FOREIGN KEY constraint failed"
        assert shop.text("insert_row", table_name="posts", data={"user": None}, dry_run=True)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_journal_mode_of_a_file_stays_as_it_is(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "shop.db", f"PRAGMA journal_mode = {mode}; {TABLES}")
    with serving(path) as shop:
        shop.text("insert_row", table_name="users", data={"name": "x"})
        assert len(shop.query("SELECT * FROM users")) == 4
    assert rows(path, "PRAGMA journal_mode") == [(mode,)]


def test_the_journal_mode_is_changed_on_request(path: Path) -> None:
    with serving(path, wal=True) as shop:
        shop.text("insert_row", table_name="users", data={"name": "x"})
        assert len(shop.query("SELECT * FROM users")) == 4
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_lock_of_another_connection_is_waited_for_and_then_reported(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    with serving(path, timeout=1) as shop:
        other.execute("BEGIN IMMEDIATE")
        problem = shop.problem("insert_row", table_name="users", data={"name": "x"})
        assert (problem["type"], problem["retryable"]) == ("unavailable", True)
        assert len(shop.query("SELECT * FROM users")) == 3, "who reads need not wait"
        other.execute("COMMIT")
        assert shop.text("insert_row", table_name="users", data={"name": "x"})
    other.close()
