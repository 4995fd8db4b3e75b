"""A virtual table runs its own statements: denying them does not deny the query."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources.sql.shop import NUMBERS, Shop, make, serving, state

ONLY_SELECT = "Only SELECT queries are allowed for security reasons"
HIDDEN = "The query reads what does not exist or may not be read"
FTS = ("fts3", "fts4", "fts5")
MALFORMED = {
    "fts3": 'malformed MATCH expression: ["cog]',
    "fts4": 'malformed MATCH expression: ["cog]',
    "fts5": "unterminated string",
}
FOUND = "SELECT body FROM notes WHERE notes MATCH 'w7'"
BAD = "SELECT body FROM notes WHERE notes MATCH '\"cog'"


def schema(module: str) -> str:
    words = NUMBERS.format(300).replace("SELECT i FROM n", "SELECT 'cog w' || i FROM n")
    return f"""
        CREATE TABLE users (name TEXT);
        INSERT INTO users VALUES ('Ada');
        CREATE VIRTUAL TABLE notes USING {module}(body);
        INSERT INTO notes {words};
        CREATE VIEW texts AS SELECT body FROM notes;
        CREATE TRIGGER spy AFTER INSERT ON users BEGIN DELETE FROM notes; END;
    """


@pytest.fixture(params=FTS)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, module: str) -> Path:
    return make(tmp_path / "shop.db", schema(module))


@pytest.fixture(params=[None, frozenset({"notes", "users", "texts"})], ids=["all", "allow"])
def allow(request: pytest.FixtureRequest) -> frozenset[str] | None:
    allowed: frozenset[str] | None = request.param
    return allowed


@pytest.fixture
def shop(path: Path, allow: frozenset[str] | None) -> Iterator[Shop]:
    with serving(path, read_only=True, allow=allow) as served:
        yield served


def renew(path: Path) -> None:
    """Replace a file by a copy: the next query opens it, and connects its tables."""
    copy = path.with_suffix(".new")
    shutil.copy(path, copy)
    copy.replace(path)


def test_an_ordinary_match_is_the_first_query(shop: Shop) -> None:
    assert shop.query(FOUND) == [{"body": "cog w7"}]


def test_a_bad_match_gets_sqlites_message(shop: Shop, module: str) -> None:
    for _ in range(2):  # the second time the table is connected
        assert shop.refusal(BAD) == MALFORMED[module]
    assert shop.query(FOUND) == [{"body": "cog w7"}]


OTHER_ERRORS = {
    "SELECT nope FROM notes": "no such column: nope",
    "SELECT * FROM notes, zork": 'no such table: zork; there are "users", "notes", "texts"',
    "SELECT abs(-9223372036854775808) FROM notes": "integer overflow",
    "SELECT nope FROM texts": "no such column: nope",
    "SELECT nope FROM notes, json_each('[1]')": "no such column: nope",
    "SELECT value FROM notes, json_each('[')": "malformed JSON",
}


def test_an_error_beside_a_virtual_table_is_not_replaced(
    shop: Shop, path: Path, allow: frozenset[str] | None
) -> None:
    for query, words in OTHER_ERRORS.items():
        renew(path)
        is_hidden = allow is not None and "zork" in query
        assert shop.refusal(query).startswith(HIDDEN if is_hidden else words), query


REFUSED = {
    "DELETE FROM notes": ONLY_SELECT,
    "INSERT INTO notes (notes) VALUES ('optimize')": ONLY_SELECT,
    "UPDATE notes SET body = (SELECT body FROM notes)": ONLY_SELECT,
    "PRAGMA page_size": ONLY_SELECT,
    "SELECT optimize(notes) FROM notes": (
        'The function "optimize" is not among those that a query may use'
    ),
    "SELECT * FROM notes, pragma_database_list": '"pragma_database_list" may not be read',
}


def test_a_refusal_is_that_of_its_own_statement(
    shop: Shop, path: Path, module: str, allow: frozenset[str] | None
) -> None:
    before = state(path.parent)
    for query, words in REFUSED.items():
        renew(path)
        for _ in range(2):
            is_hidden = allow is not None and "pragma_" in query
            assert shop.refusal(query).startswith(HIDDEN if is_hidden else words), query
            assert shop.refusal(BAD) == MALFORMED[module]
            assert shop.query(FOUND) == [{"body": "cog w7"}]
            assert shop.refusal("SELECT nope FROM users") == "no such column: nope"
    assert state(path.parent) == before


def test_tables_that_another_program_changes_are_connected_again(
    shop: Shop, path: Path, module: str
) -> None:
    """SQLite prepares a query that it has kept anew, and connects the virtual table within."""
    assert shop.query(FOUND) == [{"body": "cog w7"}]
    assert shop.refusal(BAD) == MALFORMED[module]
    for number in range(2):
        make(path, f"CREATE TABLE more_{number} (a)")
        assert shop.refusal(BAD) == MALFORMED[module]
        assert shop.query(FOUND) == [{"body": "cog w7"}]
        assert shop.refusal("DELETE FROM notes") == ONLY_SELECT


DAMAGE = {
    "fts3": ["UPDATE notes_segdir SET root = x'FFFFFFFF'", "DELETE FROM notes_content"],
    "fts4": ["UPDATE notes_segdir SET root = x'FFFFFFFF'", "DELETE FROM notes_content"],
    "fts5": [
        "DELETE FROM notes_data WHERE id > 10",
        "DELETE FROM notes_content",
        "DROP TABLE notes_config",
    ],
}
MISSING = {
    "fts3": ("DROP TABLE notes_segdir", "a virtual table is damaged"),
    "fts4": ("DROP TABLE notes_segdir", "a virtual table is damaged"),
    "fts5": ("DROP TABLE notes_content", "no such table: main.notes_content"),
}


def damage(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    ("module", "sql"),
    [(module, sql) for module in FTS for sql in DAMAGE[module]],
    indirect=["module"],
)
def test_a_damaged_index_is_called_damaged(path: Path, sql: str) -> None:
    damage(path, sql)
    with serving(path) as shop:
        for _ in range(2):
            problem = shop.problem("run_query", query=FOUND)
            assert problem["code"] == "DATABASE_DAMAGED"
            assert shop.refusal(FOUND).startswith("The file is damaged")
            assert shop.query("SELECT name FROM users") == [{"name": "Ada"}]
            assert shop.refusal("DELETE FROM users") == ONLY_SELECT


def test_an_index_that_lacks_a_table_is_reported(path: Path, module: str) -> None:
    sql, words = MISSING[module]
    damage(path, sql)
    with serving(path) as shop:
        assert words in shop.refusal(FOUND)
        assert shop.query("SELECT name FROM users") == [{"name": "Ada"}]


OTHERS = {
    "rtree(id, low, high)": [{"id": 1, "low": 2.0, "high": 3.0}],
    "rtree_i32(id, low, high)": [{"id": 1, "low": 2, "high": 3}],
}


@pytest.mark.parametrize("declared", OTHERS)
def test_a_table_that_prepares_its_writes_as_it_connects_can_be_read(
    tmp_path: Path, declared: str
) -> None:
    sql = f"CREATE VIRTUAL TABLE t USING {declared}; INSERT INTO t VALUES (1, 2, 3);"
    path = make(tmp_path / "shop.db", sql)
    before = state(tmp_path)
    with serving(path, read_only=True) as shop:
        assert shop.query("SELECT * FROM t") == OTHERS[declared]
        assert shop.refusal("DELETE FROM t") == ONLY_SELECT
        assert state(tmp_path) == before
        make(path, "CREATE TABLE more (a)")
        assert shop.query("SELECT * FROM t") == OTHERS[declared]
