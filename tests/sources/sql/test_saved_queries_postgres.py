"""Saved queries of PostgreSQL: typed columns and parameters, checked without being run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ContractError
from accord.sources.sql import Database, Options
from accord.sources.sql.saved_queries import saved_queries
from sources.sql.cluster import folder, programs, running
from sources.sql.shop import Shop
from sources.sql.test_saved_queries import listed, offering

psycopg = pytest.importorskip("psycopg", reason="the extra `sql` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="needs initdb: apt-get install postgresql"),
    pytest.mark.timeout(120),
]
TABLES = """
CREATE TABLE orders (
  id int PRIMARY KEY, code uuid, item text, day date, price numeric(10, 2), paid boolean,
  at timestamptz, weight float8, raw bytea, tags text[], meta jsonb
);
CREATE TABLE secret (code text);
INSERT INTO secret VALUES ('hunter2');
INSERT INTO orders VALUES
  (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'punch "cards"', '2026-01-01', 4.2, true,
   '2026-01-01 10:00+00', 0.5, '\\x00', '{a}', '{"a": 1}'),
  (2, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'a\\cog, {x}', '2026-02-01', 25, false,
   '2026-02-01 10:00+00', 'NaN', NULL, NULL, NULL);
CREATE FUNCTION note() RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN RAISE NOTICE 'run'; PERFORM pg_sleep(60); RETURN 1; END $$;
"""
QUERIES = """
[matching]
description = "Orders that match"
sql = '''SELECT id FROM orders WHERE price >= :least AND (:paid IS NULL OR paid = :paid)
  AND day > :day AND at > :at AND (item = :item OR :item = '') AND day + :days::int < :before
  AND (:word IS NULL OR item ILIKE :word) ORDER BY id'''

[matching.parameters]
least = { type = "number", default = 0 }
paid = { type = "boolean", optional = true }
day = { type = "date", default = 2025-12-31 }
at = { type = "datetime", default = 2025-12-31T00:00:00Z }
item = { type = "text", default = "" }
days = { type = "integer", default = 1 }
before = { type = "date", default = 2030-01-01 }
word = { type = "text", optional = true }

[listed]
description = "Orders of lists"
sql = '''SELECT id FROM orders WHERE id = ANY(:ids) OR code = ANY(:codes::uuid[]) OR item = ANY(:items)
  OR day = ANY(:days) OR weight = ANY(:weights) ORDER BY id'''

[listed.parameters]
ids = { type = "integer[]", default = [] }
codes = { type = "text[]", default = [] }
items = { type = "text[]", default = [] }
days = { type = "date[]", default = [] }
weights = { type = "number[]", default = [] }

[everything]
description = "All columns"
sql = "SELECT *, count(*) OVER () AS many FROM orders ORDER BY id;"

[note]
description = "A function that must not run at the start"
sql = "SELECT note()"

[divided]
description = "A parameter that cannot be zero"
sql = "SELECT 1 / :by AS share"

[divided.parameters.by]
type = "integer"
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with folder() as place, running(place) as cluster:
        with psycopg.connect(f"{cluster}/postgres", autocommit=True) as connection:
            connection.execute(TABLES)
        yield f"{cluster}/postgres"


@pytest.fixture(scope="module")
def shop(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    path = tmp_path_factory.mktemp("queries") / "queries.toml"
    path.write_text(QUERIES)
    with offering(url, path) as served:
        yield served


CALLS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "only defaults": ("matching", {}, [1, 2]),
    "a number": ("matching", {"least": 4.3}, [2]),
    "a whole number": ("matching", {"least": 5}, [2]),
    "a boolean": ("matching", {"paid": True}, [1]),
    "a date": ("matching", {"day": "2026-01-01"}, [2]),
    "a time": ("matching", {"at": "2026-01-01T12:30:00+02:00"}, [2]),
    "a text with quotes": ("matching", {"item": 'punch "cards"'}, [1]),
    "a text that is SQL": ("matching", {"item": "' OR true --"}, []),
    "a large integer": ("matching", {"days": 30_000}, []),
    "an integer of 64 bits": ("listed", {"ids": [2**62, 2]}, [2]),
    "an optional text": ("matching", {"word": "%cog%"}, [2]),
    "empty lists": ("listed", {}, []),
    "integers": ("listed", {"ids": [2, 3]}, [2]),
    "as another type": ("listed", {"codes": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]}, [1]),
    "texts with quotes, backslashes, commas and braces": (
        "listed",
        {"items": ['punch "cards"', "a\\cog, {x}", "", "NULL"]},
        [1, 2],
    ),
    "dates": ("listed", {"days": ["2026-02-01"]}, [2]),
    "numbers": ("listed", {"weights": [0.5, 7]}, [1]),
}


@pytest.mark.parametrize(("tool", "arguments", "ids"), CALLS.values(), ids=list(CALLS))
def test_arguments_are_bound(
    shop: Shop, tool: str, arguments: dict[str, Any], ids: list[int]
) -> None:
    assert [row["id"] for row in shop.data(tool, **arguments)] == ids


def test_columns_have_their_types_in_the_output_schema(shop: Shop) -> None:
    rows = listed(shop, "everything")["outputSchema"]["properties"]["result"]["items"]
    types = {
        name: schema["anyOf"][0]["type"] if schema else None
        for name, schema in rows["properties"].items()
    }
    assert types == {
        "id": "integer",
        "code": "string",
        "item": "string",
        "day": "string",
        "price": None,
        "paid": "boolean",
        "at": "string",
        "weight": None,
        "raw": None,
        "tags": None,
        "meta": None,
        "many": "integer",
    }
    assert len(shop.data("everything")) == 2


def test_a_value_fails_only_when_it_is_used(shop: Shop) -> None:
    assert shop.data("divided", by=1) == [{"share": 1}]
    assert shop.error("divided", by=0) == "division by zero"


HEAD = '[a]\ndescription = "A"\n'
REFUSED: dict[str, tuple[str, str]] = {
    "a change": (
        HEAD + "sql = \"INSERT INTO secret VALUES ('x')\"",
        "queries.toml:3: query a: cannot run: Only SELECT queries are allowed",
    ),
    "two statements": (
        HEAD + 'sql = "SELECT 1; SELECT 2"',
        "queries.toml:3: query a: cannot run: Only SELECT queries are allowed",
    ),
    "SQL that does not parse": (
        HEAD + 'sql = """\nSELECT :x\n  FORM FORM users\n"""\n[a.parameters.x]\ntype = "text"',
        'queries.toml:5: query a: cannot run: syntax error at or near "FORM"; change the SQL',
    ),
    "a table that does not exist": (
        HEAD + 'sql = """\nSELECT 1\nFROM ordrs"""',
        'queries.toml:5: query a: cannot run: relation "ordrs" does not exist; did you mean',
    ),
    "a column that does not exist": (
        HEAD + 'sql = """\nSELECT id,\n  itm FROM orders"""',
        'queries.toml:5: query a: cannot run: column "itm" does not exist',
    ),
    "a parameter of another type": (
        HEAD + 'sql = "SELECT id FROM orders WHERE paid = :x"\n[a.parameters.x]\ntype = "integer"',
        "queries.toml:3: query a: cannot run: operator does not exist: boolean = bigint; change"
        " the type of a parameter, or cast it: :code::uuid",
    ),
    "another kind of placeholder": (
        HEAD + 'sql = "SELECT $1"',
        "queries.toml:3: query a: $ must be a parameter with a name: :city",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_served_names_its_place(
    url: str, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "queries.toml").write_text(text)
    database = Database(url, Options())
    try:
        with pytest.raises(ContractError) as refused:
            saved_queries(database, tmp_path / "queries.toml")
    finally:
        database.close()
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(words)


def test_a_hidden_table_is_refused(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- description: A\nSELECT * FROM secret")
    database = Database(url, Options(allow=frozenset({"orders"})))
    try:
        with pytest.raises(ContractError, match=r"a\.sql:2: .*cannot run: .*only \"orders\" may"):
            saved_queries(database, tmp_path)
        (tmp_path / "a.sql").write_text("-- description: A\nSELECT id FROM orders")
        assert [tool.name for tool in saved_queries(database, tmp_path)] == ["a"]
    finally:
        database.close()


def test_a_database_that_cannot_be_reached_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- description: A\nSELECT 1")
    database = Database("postgresql://nobody@127.0.0.1:1/none", Options())
    try:
        with pytest.raises(
            ContractError, match=r"a\.sql:1: query a: could not be checked: The data"
        ):
            saved_queries(database, tmp_path)
    finally:
        database.close()
