"""The six tools of a PostgreSQL database, which is started for these tests."""

import os
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from sources.sql.cluster import folder, programs, running
from sources.sql.shop import Shop, serving
from sources.sql.test_parent_death import (
    SECONDS,
    begin,
    least,
    seconds_after_a_kill,
    wait_until,
)
from sources.sql.test_parent_death import serving as accord_serving

psycopg = pytest.importorskip("psycopg", reason="the extra `sql` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="needs initdb: apt-get install postgresql"),
    pytest.mark.timeout(120),
]
ONLY_SELECT = "Only SELECT queries are allowed for security reasons"
HIDDEN = "The query reads what does not exist or may not be read"
TIMEOUT = 1.0
STOPPED = (
    "The query took longer than 1 s; it was stopped. Ask for less, or for what an index can find."
)
TABLES = """
CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL, email text UNIQUE);
CREATE TABLE posts (
  id serial PRIMARY KEY, user_id int REFERENCES users ON DELETE CASCADE, title text CHECK (title <> ''),
  tags text[], meta jsonb, price numeric(10, 2), made timestamptz, raw bytea,
  shout text GENERATED ALWAYS AS (upper(title)) STORED
);
CREATE INDEX posts_title ON posts (title) WHERE title IS NOT NULL;
CREATE TABLE secret (code text);
CREATE TABLE "Odd ""table" ("a b" text, PRIMARY KEY ("a b"));
CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
CREATE TABLE ids (id uuid PRIMARY KEY, day date, price numeric);
CREATE TABLE later (user_id int REFERENCES users DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE quiet (a int);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER nothing BEFORE INSERT ON quiet FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE VIEW names AS SELECT name FROM users;
CREATE VIEW leak AS SELECT code FROM secret;
CREATE TABLE fragile (a int);
CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER fall AFTER INSERT ON fragile DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION fall();
CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO secret VALUES ('new'); RETURN 1; END $$;
CREATE FUNCTION peek() RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN RETURN (SELECT code FROM secret LIMIT 1); END $$;
CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN RETURN (SELECT code::int FROM secret LIMIT 1); END $$;
CREATE TABLE days (day date) PARTITION BY RANGE (day);
CREATE TABLE days_of_may PARTITION OF days FOR VALUES FROM ('2024-05-01') TO ('2024-06-01');
CREATE TABLE days_of_june PARTITION OF days FOR VALUES FROM ('2024-06-01') TO ('2024-07-01');
INSERT INTO days VALUES ('2024-05-01'), ('2024-06-01');
CREATE ROLE guest LOGIN;
CREATE ROLE reporter LOGIN IN ROLE pg_read_server_files;
INSERT INTO users (name, email) VALUES ('John Doe', 'john@example.com');
ALTER TABLE secret ALTER code SET STORAGE EXTERNAL;
INSERT INTO secret VALUES ('hunter2'), (repeat('hunter2', 1000));
INSERT INTO ids VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-02-29', 12.5);
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with folder() as place, running(place) as url:
        yield url


@pytest.fixture(scope="module")
def url(cluster: str) -> str:
    with psycopg.connect(f"{cluster}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
    with psycopg.connect(f"{cluster}/shop", autocommit=True) as connection:
        connection.execute(TABLES)
    return f"{cluster}/shop"


@pytest.fixture(scope="module")
def shop(url: str) -> Iterator[Shop]:
    with serving(url, timeout=TIMEOUT, max_rows=50) as served:
        yield served


def state(url: str) -> Any:
    """All that the tests could have changed."""
    counts = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM posts), (SELECT count(*) FROM secret)"
    catalog = "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
    sequences = "SELECT last_value, is_called FROM users_id_seq"
    large = "SELECT count(*) FROM pg_largeobject_metadata"
    with psycopg.connect(url, autocommit=True) as connection:
        return [connection.execute(sql).fetchall() for sql in (counts, catalog, sequences, large)]


# The document's conversation, in PostgreSQL


def test_the_documents_calls_get_the_documents_replies(shop: Shop) -> None:
    assert shop.text("list_tables").splitlines()[:3] == ["Found 14 tables:", "- users", "- posts"]
    assert shop.data("list_tables")[-2:] == ["names", "leak"]
    assert shop.text("run_query", query="SELECT * FROM users WHERE id = 1") == (
        "Query executed successfully. Found 1 rows:\n[\n  {\n"
        '    "id": 1,\n    "name": "John Doe",\n    "email": "john@example.com"\n  }\n]'
    )
    data = {"name": "Jane Smith", "email": "jane@example.com"}
    said = shop.text("insert_row", table_name="users", data=data)
    assert said == "Row inserted successfully. Last insert ID: 2, Changes: 1"
    given = {"data": {"email": "john.doe@example.com"}, "where": {"id": 1}}
    said = shop.text("update_row", table_name="users", **given)
    assert said == "Rows updated successfully. Changes: 1"
    said = shop.text("delete_row", table_name="users", where={"id": 2})
    assert said == "Rows deleted successfully. Changes: 1"
    assert shop.refusal("DELETE FROM users") == ONLY_SELECT


def test_a_table_is_described_with_its_details(shop: Shop) -> None:
    described = shop.data("describe_table", table_name="posts", details=True)
    columns = {column.pop("name"): column for column in described["columns"]}
    assert columns["id"]["primary_key"] is columns["id"]["not_null"] is True
    assert columns["tags"]["type"] == "TEXT[]"
    assert columns["price"]["type"] == "NUMERIC(10, 2)"
    assert described["create_sql"].startswith("CREATE TABLE posts (")
    assert described["foreign_keys"] == [
        {
            "columns": ["user_id"],
            "references": {"table": "users", "columns": ["id"]},
            "on_update": "NO ACTION",
            "on_delete": "CASCADE",
        }
    ]
    (index,) = described["indexes"]
    assert (index["name"], index["partial"]) == ("posts_title", True)
    assert described["check_constraints"] == ["title <> ''::text"]
    assert described["generated_columns"] == [{"name": "shout", "kind": "stored"}]
    assert described["row_count_is_exact"] is True
    view = shop.data("describe_table", table_name="names")
    assert view["create_sql"].startswith("CREATE VIEW names AS SELECT")
    assert shop.data("describe_table", table_name="users", details=True)["unique_constraints"] == [
        ["email"]
    ]


# Refused queries

REFUSED: dict[str, tuple[str, str]] = {
    "a delete": ("DELETE FROM users", ONLY_SELECT),
    "an update that returns": ("UPDATE users SET name = 'x' RETURNING *", ONLY_SELECT),
    "a delete in parts": ("WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x", ONLY_SELECT),
    "a drop": ("DROP TABLE users", ONLY_SELECT),
    "an end, then a drop": ("COMMIT; DROP TABLE users", ONLY_SELECT),
    "a query, an end, a drop": ("SELECT 1; COMMIT; DROP TABLE users", ONLY_SELECT),
    "an end": ("COMMIT", ONLY_SELECT),
    "a rollback": ("ROLLBACK", ONLY_SELECT),
    "a cursor's end": ("SELECT 1; CLOSE accord; DROP TABLE users", ONLY_SELECT),
    "read write": ("SET TRANSACTION READ WRITE", ONLY_SELECT),
    "no more time limit": ("SET statement_timeout = 0", ONLY_SELECT),
    "code": ("DO $$ BEGIN DELETE FROM users; END $$", ONLY_SELECT),
    "a copy to a file": ("COPY users TO '/tmp/accord-copy'", ONLY_SELECT),
    "a copy to a program": ("COPY users TO PROGRAM 'cat'", ONLY_SELECT),
    "a new table": ("SELECT * INTO stolen FROM users", ONLY_SELECT),
    "a new table of a query": ("CREATE TABLE stolen AS SELECT * FROM users", ONLY_SELECT),
    "a vacuum": ("VACUUM", ONLY_SELECT),
    "nothing": ("", ONLY_SELECT),
    "a function that inserts": (
        "SELECT sneak()",
        "cannot execute INSERT in a read-only transaction",
    ),
    "a sequence": (
        "SELECT nextval('users_id_seq')",
        "cannot execute nextval() in a read-only transaction",
    ),
    "setting a sequence": (
        "SELECT setval('users_id_seq', 99)",
        "cannot execute setval() in a read-only transaction",
    ),
    "read write by a function": (
        "SELECT set_config('transaction_read_only', 'off', false), sneak()",
        "transaction read-write mode must be set before any query",
    ),
    "a lock": (
        "SELECT * FROM users FOR UPDATE",
        "cannot execute SELECT FOR UPDATE in a read-only transaction",
    ),
    "no SQL": ("SELEC 1", 'syntax error at or near "SELEC"'),
    "an unknown table": (
        "SELECT * FROM usrs",
        'relation "usrs" does not exist; did you mean "users"?',
    ),
    "an unknown column": (
        "SELECT nmae FROM users",
        'column "nmae" does not exist; did you mean "name"?',
    ),
}


@pytest.mark.parametrize(("query", "words"), REFUSED.values(), ids=list(REFUSED))
def test_postgresql_itself_refuses_what_writes(
    shop: Shop, url: str, query: str, words: str
) -> None:
    before = state(url)
    assert shop.refusal(query) == words
    assert state(url) == before


def test_what_a_query_does_beside_reading_is_undone(shop: Shop, url: str) -> None:
    before = state(url)
    shop.call("run_query", query="SELECT lo_create(0)")  # which read-only alone allows up to 15
    assert state(url) == before


def test_a_query_is_stopped_in_time_and_the_next_one_works(shop: Shop) -> None:
    shop.query("SELECT 1")
    for query in ("SELECT pg_sleep(30)", "SELECT count(*) FROM generate_series(1, 1e12)"):
        begun = monotonic()
        assert shop.refusal(query) == STOPPED
        assert monotonic() - begun < 20, "it would take 30 s or more"
    assert shop.query("SELECT 1 AS a") == [{"a": 1}]


def test_a_query_cannot_take_its_time_limit_away(shop: Shop, url: str) -> None:
    shop.query("SELECT 1")
    slow = (
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(CASE WHEN i > 64 THEN 30 ELSE 0 END)"
        " FROM generate_series(1, 100) i"
    )
    with serving(url, timeout=TIMEOUT, max_rows=100) as longer:
        assert longer.refusal(slow) == STOPPED
    with psycopg.connect(url, autocommit=True) as connection:
        still = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'accord' AND wait_event = 'PgSleep'"
        deadline = monotonic() + 20
        while connection.execute(still).fetchone() != (0,):
            assert monotonic() < deadline, "PostgreSQL still executes the cancelled query"


def test_a_worker_is_gone_a_second_after_its_server_is_killed(url: str) -> None:
    asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"

    def attempt() -> float:
        with (
            accord_serving(url, dict(os.environ)) as (peer, workers),
            psycopg.connect(url, autocommit=True) as connection,
        ):
            begin(peer, "run_query", query="SELECT pg_sleep(30)")
            wait_until(lambda: connection.execute(asleep).fetchone() == (1,))
            taken = seconds_after_a_kill(peer, workers)
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            )
            wait_until(lambda: connection.execute(asleep).fetchone() == (0,))
            return taken

    assert least(attempt) < SECONDS


def test_a_lock_that_outlives_transactions_does_not_outlive_the_query(shop: Shop, url: str) -> None:
    shop.query("SELECT pg_advisory_lock(7)")
    with psycopg.connect(url, autocommit=True) as connection:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert connection.execute(held).fetchone() == (0,)


def test_large_rows_come_one_by_one(url: str) -> None:
    with serving(url, timeout=20) as shop:
        query = "SELECT i, repeat('x', CASE WHEN i < 4 THEN 1 ELSE 1500000 END) AS a FROM generate_series(1, 90) i"
        rows, beside = shop.page(query)  # together they are more than a worker may have
        assert [row["i"] for row in rows] == [1, 2, 3]
        assert beside["truncated"] is True


# Values

VALUES: dict[str, tuple[str, Any]] = {
    "null": ("NULL", None),
    "a boolean": ("true", True),
    "a large integer": ("9223372036854775807", 2**63 - 1),
    "a real": ("0.1::float8", 0.1),
    "not a number": ("'NaN'::float8", {"$real": "NaN"}),
    "infinity": ("'-Infinity'::numeric", {"$real": "-Infinity"}),
    "a decimal": ("12.50::numeric", 12.5),
    "text": ("'Zoë'", "Zoë"),
    "bytes": ("'\\x00ff'::bytea", {"$blob": "AP8="}),
    "a date": ("DATE '2024-02-29'", "2024-02-29"),
    "a date before Python's": ("DATE '0044-03-15 BC'", "0044-03-15 BC"),
    "a day without end": ("'infinity'::timestamptz", "infinity"),
    "an interval": ("INTERVAL '1 day 2 hours'", "1 day 02:00:00"),
    "a list": ("ARRAY[1, NULL, 3]", [1, None, 3]),
    "a list of lists": ("ARRAY[[1.5, 'NaN'::float8]]", [[1.5, {"$real": "NaN"}]]),
    "JSON": ("""'{"a": [1, 2.50]}'::jsonb""", {"a": [1, 2.5]}),
    "a decimal that no double is near": ("1e400::numeric", "1" + "0" * 400),
    "JSON with such a number": ("'[1e400]'::json", "[1e400]"),
    "JSON with half a character": ("""'"\\ud800"'::json""", '"\\ud800"'),
    "JSON that is deep": (
        "(repeat('[', 2000) || repeat(']', 2000))::json",
        "[" * 2000 + "]" * 2000,
    ),
    "JSON on several lines": ("""E'{\\n"a": 1}'::json""", {"a": 1}),
    "an id": (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    "an address": ("'10.0.0.1/8'::inet", "10.0.0.1/8"),
    "a range": ("int4range(1, 5)", "[1,5)"),
    "a row": ("ROW(1, 'x')", "(1,x)"),
    "a list of rows": ("ARRAY[ROW(1, 'x')]", ["(1,x)"]),
    "a list of dates": ("ARRAY[DATE '2024-02-29']", ["2024-02-29"]),
}


@pytest.mark.parametrize(("sql", "value"), VALUES.values(), ids=list(VALUES))
def test_a_value_survives_as_json(shop: Shop, sql: str, value: Any) -> None:
    (row,) = shop.query(f"SELECT {sql} AS a, 1 AS b")
    assert row["b"] == 1
    assert row["a"] == value


def test_every_digit_of_a_decimal_is_there(shop: Shop) -> None:
    text = shop.text("run_query", query="SELECT 12345678901234567890.123456789::numeric AS a")
    assert '"a": 12345678901234567890.123456789\n' in text


def test_values_are_bound_by_number_and_by_name(shop: Shop) -> None:
    assert shop.query("SELECT $1::int + $2 AS a", params=[40, 2]) == [{"a": 42}]
    named = "SELECT :a::int AS a, ':b' AS b, $$:c$$ AS c, :d || :d AS d -- :e"
    assert shop.query(named, params={"a": 1, "d": "x"}) == [
        {"a": 1, "b": ":b", "c": ":c", "d": "xx"}
    ]
    for sql, value in {
        "ARRAY[:a, :a]": [7, 7],
        "(ARRAY[1, 2, 3])[:a - 5]": 2,
        "(ARRAY[1, 2, 3])[1:n] || :a": [1, 2, 7],
        "E'it\\'s :a' || :a": "it's :a7",
        "/* /* */ :b */ :a + 0": 7,
    }.items():
        query = f"SELECT {sql} AS x FROM (SELECT 2 AS n) t"
        assert shop.query(query, params={"a": 7}) == [{"x": value}]
    assert shop.query("SELECT '100%' AS a, 1 % 2 AS b") == [{"a": "100%", "b": 1}]
    (field,) = shop.problem("run_query", query="SELECT :a", params={"b": 1})["fields"]
    assert field["error"] == 'must have "a", which the query names'
    (field,) = shop.problem("run_query", query="SELECT $1::int", params=[])["fields"]
    assert field["field"] == "params"


def test_rows_beyond_the_limit_are_had_by_cursors(shop: Shop) -> None:
    query = "SELECT i FROM generate_series(1, 120) i"
    found, cursor = [], None
    while True:
        rows, beside = shop.page(query, **({} if cursor is None else {"cursor": cursor}))
        found += [row["i"] for row in rows]
        cursor = beside["page"].get("cursor")
        assert beside.get("truncated", False) is (cursor is not None)
        if cursor is None:
            break
    assert found == list(range(1, 121))


# Writes


def test_values_of_every_kind_are_written(shop: Shop) -> None:
    data = {
        "title": "hello",
        "tags": ["a", "b"],
        "meta": {"deep": [1, None]},
        "price": 12.5,
        "made": "2024-01-01 12:00+00",
        "raw": {"$blob": "AP8="},
    }
    new = shop.data("insert_row", table_name="posts", data=data)["last_insert_id"]
    (row,) = shop.query("SELECT * FROM posts WHERE id = $1", params=[new])
    assert {name: row[name] for name in data} == data | {"made": "2024-01-01 12:00:00+00"}
    assert row["shout"] == "HELLO"
    assert shop.data("delete_row", table_name="posts", where={"id": [new, None]}) == {"changes": 1}


def test_a_key_that_is_not_a_number_is_returned_and_one_of_two_columns_is_not(shop: Shop) -> None:
    table = 'Odd "table'
    said = shop.text("insert_row", table_name=table, data={"a b": "x"})
    assert said == 'Row inserted successfully. Last insert ID: "x", Changes: 1'
    said = shop.text("insert_row", table_name="pairs", data={"a": 1, "b": 2})
    assert said == "Row inserted successfully. Last insert ID: null, Changes: 1"


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "words"),
    [
        ("insert_row", {"data": {"email": "x"}}, "conflict", 'null value in column "name"'),
        ("insert_row", {"data": {"id": 1, "name": "x"}}, "conflict", "duplicate key value"),
        (
            "insert_row",
            {"data": {"nmae": 1}},
            "validation",
            'no column "nmae" in users; did you mean',
        ),
        ("insert_row", {"data": {"id": "x", "name": "x"}}, "validation", "invalid input syntax"),
        ("insert_row", {"data": {}}, "validation", "must name at least one column"),
        ("insert_row", {"data": {"name": "a\0b"}}, "validation", "cannot contain NUL"),
        ("delete_row", {"where": {}}, "validation", "must have at least one condition"),
        ("delete_row", {"where": {"id": 1}, "max_changes": 0}, "conflict", "is 0, and 1 rows"),
    ],
)
def test_what_does_not_fit_changes_nothing(
    shop: Shop, url: str, tool: str, arguments: Any, kind: str, words: str
) -> None:
    before = state(url)
    problem = shop.problem(tool, table_name="users", **arguments)
    assert problem["type"] == kind
    assert words in shop.error(tool, table_name="users", **arguments)
    assert state(url)[0] == before[0]


def test_a_dry_run_tells_and_does_nothing(shop: Shop, url: str) -> None:
    before = state(url)[0]
    shop.text("insert_row", table_name="users", data={"name": "x"}, dry_run=True)
    said = shop.text("delete_row", table_name="users", where={"id": 1}, dry_run=True)
    assert said == "Dry run, nothing was changed. Changes: 1"
    assert state(url)[0] == before


def test_a_condition_means_what_its_column_holds(shop: Shop) -> None:
    own = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    for where, changes in (
        ({"id": own}, 1),
        ({"id": [own, None]}, 1),
        ({"day": "2024-02-29"}, 1),
        ({"price": 12.5}, 1),
        ({"price": ["12.5", 3]}, 1),
        ({"price": []}, 0),
        ({"day": None}, 0),
    ):
        given: dict[str, Any] = {"table_name": "ids", "where": where, "dry_run": True}
        assert shop.data("delete_row", **given) == {"changes": changes}, where


def test_a_dry_run_knows_what_only_a_commit_would_refuse(shop: Shop) -> None:
    for is_dry in (True, False):
        given = {"table_name": "later", "data": {"user_id": 99}, "dry_run": is_dry}
        assert "violates foreign key constraint" in shop.error("insert_row", **given)


def test_a_connection_that_is_lost_with_a_change_leaves_it_in_doubt(shop: Shop) -> None:
    said = shop.error("insert_row", table_name="fragile", data={"a": 1})
    assert said == "The connection to the database was lost; check whether the change was made"
    assert shop.data("insert_row", table_name="pairs", data={"a": 8, "b": 8})["changes"] == 1


def test_a_row_that_a_trigger_leaves_out_is_not_counted(shop: Shop) -> None:
    assert shop.data("insert_row", table_name="quiet", data={"a": 1})["changes"] == 0


# Allowed tables


@pytest.fixture(scope="module")
def restricted(url: str) -> Iterator[Shop]:
    with serving(url, allow=frozenset({"users", "names"}), timeout=5) as served:
        yield served


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM secret",
        "SELECT count(*) FROM secret",
        "SELECT * FROM leak",
        "SELECT * FROM users, secret",
        "WITH users AS (SELECT * FROM secret) SELECT * FROM users",
        "SELECT peek()",
        "SELECT fail()",
        "SELECT code::int FROM secret",
        "SELECT query_to_xml('SELECT * FROM secret', true, true, '')",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM pg_stats",
        "SELECT * FROM pg_authid",
        "SELECT * FROM pg_database",
        "SELECT query_to_xml('SELECT code::regclass FROM secret LIMIT 1', true, true, '')",
        "SELECT query_to_xml('SELECT code::regrole FROM secret LIMIT 1', true, true, '')",
        "SELECT chunk_data FROM {overflow}",
    ],
)
def test_a_table_that_is_not_allowed_is_not_read_in_any_way(
    restricted: Shop, url: str, query: str
) -> None:
    with psycopg.connect(url) as connection:  # where PostgreSQL keeps what is long
        named = "SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = 'secret'"
        (overflow,) = connection.execute(named).fetchone()
    said = restricted.refusal(query.replace("{overflow}", overflow))
    assert "hunter2" not in said
    assert "may not be read" in said or said == "The query fails on a value that it reads"


def test_what_is_allowed_works(restricted: Shop) -> None:
    assert restricted.query("SELECT count(*) AS n FROM users JOIN names USING (name)") == [{"n": 1}]
    assert restricted.data("list_tables") == ["users", "names"]
    assert restricted.refusal("SELECT 'x'::int").startswith("invalid input syntax"), "its own text"
    assert restricted.error("insert_row", table_name="secret", data={"code": "x"}).startswith(
        "no table"
    )


def test_a_view_is_named_with_its_tables_and_a_partition_like_a_table(url: str) -> None:
    with serving(url, allow=frozenset({"names"})) as shop:
        assert shop.refusal("SELECT * FROM names") == f'{HIDDEN}; only "names" may be read'
    with serving(url, allow=frozenset({"days", "days_of_may"})) as shop:
        may = {"day": "2024-05-01"}
        assert shop.query("SELECT * FROM days WHERE day = '2024-05-01'") == [may]
        assert shop.query("SELECT * FROM days_of_may") == [may]
        for query in ("SELECT * FROM days", "SELECT * FROM days WHERE day = '2024-06-01'"):
            assert shop.refusal(query).startswith(HIDDEN)


POWERS = {
    "postgres": "is a superuser",
    "reporter": "has pg_read_server_files",
    "guest": None,
}


@pytest.mark.parametrize(("role", "power"), POWERS.items(), ids=list(POWERS))
def test_a_role_that_may_do_more_than_read_is_warned_of(
    url: str, role: str, power: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(url.replace("postgres@", f"{role}@")) as shop:
        shop.query("SELECT 1")
        shop.query("SELECT 1")
    said = capfd.readouterr().err
    if power is None:
        assert said == ""
    else:
        words = f"the role '{role}' {power}: functions such as pg_read_file"
        assert said.startswith(f"WARNING accord: {words}")
        assert said.count("the role") == 1


def test_a_database_that_cannot_be_reached_says_so_and_nothing_else() -> None:
    with serving("postgresql://ada:hunter2@127.0.0.1:1/shop", read_only=True) as nowhere:
        assert nowhere.error("list_tables") == "The database could not be reached"
