"""Finding one's way in a PostgreSQL database, which is started for these tests."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from sources.sql.cluster import folder, programs, running
from sources.sql.schemas import Explored, exploring
from sources.sql.shop import Shop, make, serving
from sources.sql.test_functions import OF_GROUPS, ROWS

psycopg = pytest.importorskip("psycopg", reason="the extra `sql` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="needs initdb: apt-get install postgresql"),
    pytest.mark.timeout(120),
]
DOCS = Path(__file__).parents[3] / "docs"
ONLY_SELECT = "Only SELECT queries are allowed for security reasons"
TABLES = """
CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL, email text DEFAULT '?');
CREATE TABLE posts (id int PRIMARY KEY, user_id int REFERENCES users, title text, meta jsonb);
CREATE TABLE secret (code text, user_id int REFERENCES users);
CREATE TABLE large (a int);
CREATE TABLE measured (a int);
CREATE TABLE "Odd Table" ("a b" text);
CREATE TABLE defaults (id serial PRIMARY KEY, n int DEFAULT 7, m int GENERATED ALWAYS AS (n * 2) STORED,
  k int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE bare (a int);
CREATE TABLE "Sec ""ret" (a int);
CREATE TABLE odd_types (id int PRIMARY KEY, place box, author users, hidden secret[], many "Sec ""ret",
  number regclass DEFAULT 'secret'::regclass);
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.users (badge int PRIMARY KEY);
CREATE TABLE badges (badge int REFERENCES elsewhere.users);
CREATE VIEW quoted AS SELECT a FROM "Sec ""ret";
CREATE VIEW names AS SELECT name FROM users;
CREATE VIEW leak AS SELECT code FROM secret;
CREATE MATERIALIZED VIEW stored AS SELECT name FROM users;
COMMENT ON TABLE users IS 'People who buy; see secret';
COMMENT ON TABLE posts IS 'Letters to the editor';
COMMENT ON COLUMN posts.title IS 'The headline';
COMMENT ON COLUMN users.name IS 'As in secret';
INSERT INTO users (name) VALUES ('Ada'), ('Grace');
INSERT INTO posts VALUES (1, 1, 'Cogs', '{"a": 1}');
INSERT INTO secret VALUES ('hunter2', 2);
INSERT INTO large SELECT generate_series(1, 20000);
INSERT INTO measured SELECT generate_series(1, 20000);
ANALYZE measured;
CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO secret VALUES ('new'); RETURN 1; END $$;
CREATE FUNCTION peek() RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN RETURN (SELECT code FROM secret LIMIT 1); END $$;
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with folder() as place, running(place) as server:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE shop")
        with psycopg.connect(f"{server}/shop", autocommit=True) as connection:
            connection.execute(TABLES)
        yield f"{server}/shop"


@pytest.fixture(scope="module")
def shop(url: str) -> Iterator[Explored]:
    with exploring({"shop": url}, timeout=2) as served:
        yield served


@pytest.fixture(scope="module")
def restricted(url: str) -> Iterator[Explored]:
    allow = frozenset({"users", "posts", "names", "leak", "odd_types", "quoted"})
    with exploring({"shop": url}, allow=allow) as served:
        yield served


def test_tables_are_told_from_views(shop: Explored) -> None:
    kinds = {each["name"]: each["kind"] for each in shop.data("list_tables")}
    assert kinds["users"] == kinds["Odd Table"] == "table"
    assert (kinds["names"], kinds["stored"]) == ("view", "materialized view")


def test_tables_are_described_with_comments_keys_both_ways_estimates_and_rows(
    shop: Explored,
) -> None:
    found = shop.data("describe_table", table_name=["posts", "users"], sample_rows=2)
    posts, users = found["tables"]
    assert posts["comment"] == "Letters to the editor"
    assert [each["comment"] for each in posts["columns"]] == [None, None, "The headline", None]
    assert posts["foreign_keys"][0]["references"] == {"table": "users", "columns": ["id"]}
    assert [each["table"] for each in users["referenced_by"]] == ["posts", "secret"]
    assert users["referenced_by"][0] == {
        "table": "posts", "columns": ["user_id"], "references": ["id"]
    }  # fmt: skip
    assert (users["row_estimate"], users["row_estimate_is"]) == (2, "exact")
    assert posts["sample_rows"] == [{"id": 1, "user_id": 1, "title": "Cogs", "meta": {"a": 1}}]
    odd = shop.data("describe_table", table_name="Odd Table", sample_rows=1)
    assert odd["sample_rows"] == []


@pytest.mark.parametrize(
    ("table", "estimate"),
    [
        ("large", (10_000, "at least")),
        ("measured", (20_000, "from statistics")),
        ("names", (None, None)),
        ("stored", (0, "exact")),
    ],
)
def test_an_estimate_reads_few_rows(
    shop: Explored, table: str, estimate: tuple[int | None, str | None]
) -> None:
    found = shop.data("describe_table", table_name=table)
    assert (found["row_estimate"], found["row_estimate_is"]) == estimate


def test_one_search_is_over_databases_of_both_kinds(url: str, tmp_path: Path) -> None:
    lite = make(tmp_path / "lite.db")
    with exploring({"lite": lite, "pg": url}) as both:
        assert both.found("users name")[:2] == [
            ("lite", "users", ["name"]), ("pg", "users", ["name"])
        ]  # fmt: skip
        assert both.found("headline") == [("pg", "posts", ["title"])]
        assert both.found("editor") == [("pg", "posts", [])]
        assert "schema://pg/Odd%20Table" in both.resources()
        (content,) = both.read("schema://pg/Odd%20Table")["result"]["contents"]
        assert json.loads(content["text"])["columns"][0]["name"] == "a b"
        column = "schema://pg/{table}/{column}"
        assert both.complete(column, "column", "", table="posts") == [
            "id",
            "user_id",
            "title",
            "meta",
        ]
        assert both.complete(column, "table", "p") == ["posts"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT nam FROM users", 'column "nam" does not exist; did you mean "name"?'),
        ("SELECT u.nam FROM users u", 'column u.nam does not exist; did you mean "name"?'),
        ("SELECT zork FROM users", 'column "zork" does not exist'),
        ("SELECT 1 FROM public.usrs", 'relation "public.usrs" does not exist; did you mean "users"?'),
        ("DROP TABLE nosuch", ONLY_SELECT),
        ("DELETE FROM nosuch", ONLY_SELECT),
        ("WITH x AS (SELECT 1) DELETE FROM nosuch", ONLY_SELECT),
        ("UPDATE users SET nosuch = 1", ONLY_SELECT),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
    ],
)  # fmt: skip
def test_an_unknown_name_gets_postgresqls_message_and_the_nearest_one(
    shop: Explored, query: str, words: str
) -> None:
    assert shop.refusal(query) == words
    assert shop.error("explain_query", query=query) == words


def test_a_row_of_defaults_alone_is_inserted(url: str) -> None:
    with serving(url) as shop:
        inserted = shop.data("insert_row", table_name="defaults", data={})
        assert inserted == {"last_insert_id": 1, "changes": 1}
        assert shop.query("SELECT * FROM defaults") == [{"id": 1, "n": 7, "m": 14, "k": 1}]
        said = shop.error("insert_row", table_name="bare", data={})
        assert said == 'data must name at least one column; "bare" has "a"'


# explain_query


def test_a_plan_is_postgresqls_json_with_a_text(shop: Explored) -> None:
    query = "SELECT * FROM users JOIN posts ON posts.user_id = users.id WHERE users.id = $1"
    plan = shop.data("explain_query", query=query, params=[1])["plan"]
    assert "Plans" in plan["Plan"]
    text = shop.text("explain_query", query=query, params=[1])
    assert re.match(r"Plan of the query:\n- \w.*\(cost [\d.]+, rows \d+\)\n", text)
    assert "\n  - " in text
    assert "actual" not in text
    named = shop.text("explain_query", query="SELECT * FROM users WHERE id = :id", params={"id": 1})
    assert "users" in named


def test_only_analyze_runs_the_query_and_not_beyond_the_time_limit(shop: Explored) -> None:
    slow = "SELECT pg_sleep(30)"
    assert "Result" in shop.text("explain_query", query=slow)
    begun = monotonic()
    assert "took longer than 2 s" in shop.error("explain_query", query=slow, analyze=True)
    assert monotonic() - begun < 8
    text = shop.text("explain_query", query="SELECT * FROM users", analyze=True)
    assert "actual rows 2" in text
    assert "Execution Time: " in text


WRITES = [
    "DELETE FROM users",
    "INSERT INTO secret VALUES ('x')",
    "WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x",
    "SELECT 1; DELETE FROM users",
    "SELECT * INTO copied FROM users",
    "CREATE TABLE copied AS SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM users",
    "ANALYZE DELETE FROM users",
    "(ANALYZE) DELETE FROM users",
    "SELECT sneak()",
    "SELECT nextval('users_id_seq')",
    "SELECT * FROM users FOR UPDATE",
    "COPY users TO '/tmp/accord-copied'",
    "SELECT set_config('transaction_read_only', 'off', false), sneak()",
    "REFRESH MATERIALIZED VIEW stored",
    "VACUUM users",
    "COMMIT; DELETE FROM users",
]


def state(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        found = [
            connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in ("users", "secret")
        ]
        found.append(connection.execute("SELECT last_value FROM users_id_seq").fetchall())
        found.append(connection.execute("SELECT relname FROM pg_class ORDER BY 1").fetchall())
    return found


@pytest.mark.parametrize("query", WRITES)
def test_no_plan_writes(shop: Explored, url: str, query: str) -> None:
    before = state(url)
    assert shop.call("explain_query", query=query, analyze=True).get("isError"), query
    shop.call("explain_query", query=query)
    assert state(url) == before
    assert not Path("/tmp/accord-copied").exists()


def test_a_type_that_is_not_built_in_is_described_by_its_name(
    shop: Explored, capfd: pytest.CaptureFixture[str]
) -> None:
    found = shop.data("describe_table", table_name="odd_types", details=True, sample_rows=1)
    types = [each["type"] for each in found["columns"]]
    assert types == ["INTEGER", "box", "users", "secret[]", '"Sec ""ret"', "REGCLASS"]
    assert "author users" in found["create_sql"]
    added = shop.data("insert_row", table_name="odd_types", data={"id": 1, "place": "(1,1),(0,0)"})
    assert added["changes"] == 1
    assert "Warning: " not in capfd.readouterr().err


def test_a_key_to_a_table_of_another_schema_has_its_schema_and_is_hidden(
    url: str, shop: Explored
) -> None:
    (key,) = shop.data("describe_table", table_name="badges")["foreign_keys"]
    assert key["references"] == {"table": "elsewhere.users", "columns": ["badge"]}
    allow = frozenset({"users", "badges"})
    with serving(url, allow=allow) as plain, exploring({"shop": url}, allow=allow) as explored:
        for served in (plain, explored):
            found = served.data("describe_table", table_name="badges", details=True)
            assert found["foreign_keys"] == []


# What is hidden

HIDDEN = [
    "SELECT * FROM secret",
    "SELECT nosuch FROM secret",
    "SELECT * FROM public.secret",
    "SELECT * FROM zork",
    "SELECT nosuch FROM zork",
    "SELECT * FROM leak",
    "SELECT secret.nosuch FROM secret",
]


@pytest.mark.parametrize("tool", ["run_query", "explain_query"])
def test_a_hidden_table_is_refused_like_one_that_does_not_exist(
    restricted: Explored, tool: str
) -> None:
    assert {restricted.error(tool, query=query) for query in HIDDEN} == {
        "The query reads what does not exist or may not be read;"
        ' only "leak", "names", "odd_types", "posts", "quoted", "users" may be read'
    }
    for query in ("SELECT peek()", "SELECT name FROM users WHERE peek() > name"):
        assert "may not be read" in restricted.error("run_query", query=query)
    assert "may not be read" in restricted.error(
        "explain_query", query="SELECT peek()", analyze=True
    )
    assert restricted.refusal("SELECT nam FROM users").endswith('did you mean "name"?')


def test_a_hidden_table_is_named_nowhere(restricted: Explored) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_tables", {}),
        ("describe_table", {"table_name": ["users", "posts", "leak"], "details": True, "sample_rows": 2}),
        ("describe_table", {"table_name": ["odd_types", "quoted"], "details": True}),
        ("describe_table", {"table_name": "users"}),
        ("search_schema", {"words": "odd_types hidden"}),
        ("search_schema", {"words": "user name people code"}),
        ("explain_query", {"query": "SELECT * FROM users, posts"}),
        ("explain_query", {"query": "SELECT * FROM leak"}),
        ("run_query", {"query": "SELECT * FROM secre"}),
        ("delete_row", {"table_name": "users", "where": {"id": 2}}),
    ]  # fmt: skip
    texts = [json.dumps(restricted.call(tool, **arguments)) for tool, arguments in calls]
    texts += [json.dumps(restricted.read(uri)) for uri in restricted.resources()]
    for typed in ("", "s"):
        found = restricted.complete("schema://shop/{table}", "table", typed)
        texts.append(json.dumps(found))
    for text in texts:
        assert "secret" not in text.replace("secre\\", ""), text
        assert "Sec " not in text
        assert "hunter2" not in text


@pytest.mark.parametrize("expression", [each for each in OF_GROUPS if each[0] in "svcr"])
def test_the_statistics_of_sqlite_are_those_of_postgresql(
    shop: Explored, tmp_path: Path, expression: str
) -> None:
    query = f"SELECT {expression} AS v FROM ({{}}) AS t GROUP BY g ORDER BY g"
    real = f"SELECT g, x::float8, y::float8 FROM (VALUES {ROWS}) AS v (g, x, y)"
    plain = f"SELECT column1 AS g, column2 AS x, column3 AS y FROM (VALUES {ROWS})"
    with serving(make(tmp_path / "a.db")) as lite:
        found = [row["v"] for row in lite.query(query.format(plain))]
    theirs = [row["v"] for row in shop.query(query.format(real))]
    assert found == [each if each is None else pytest.approx(each, rel=1e-12) for each in theirs]


# The role in the documentation


def test_the_role_of_the_documentation_reads_and_cannot_write(url: str) -> None:
    recipe = re.search(
        r"```sql\n-- A role that only reads\n(.*?)```", (DOCS / "sql.md").read_text(), re.S
    )
    assert recipe is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(recipe[1])
    role = url.replace("postgres@", "reader@")
    before = state(url)
    with serving(role) as shop:
        assert_reads_alone(shop)
    with psycopg.connect(role, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")  # which any client may
        for statement in (
            "INSERT INTO users (name) VALUES ('x')",
            "UPDATE users SET name = 'x'",
            "DELETE FROM users",
            "TRUNCATE users",
            "DROP TABLE bare",
            "CREATE TABLE made (a int)",
            "CREATE TEMP TABLE made (a int)",
            "SELECT nextval('users_id_seq')",
            "SELECT pg_read_file('/etc/passwd')",
            "COPY users TO '/tmp/accord-copied'",
            "COPY users TO PROGRAM 'cat'",
            "SELECT lo_import('/etc/passwd')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    assert state(url) == before
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE later (a int)")
    with serving(role, read_only=True) as shop:
        assert shop.query("SELECT count(*) AS n FROM later") == [{"n": 0}], "later tables, too"


def assert_reads_alone(shop: Shop) -> None:
    assert shop.query("SELECT count(*) AS n FROM users") == [{"n": 2}]
    changes: dict[str, dict[str, Any]] = {
        "insert_row": {"data": {"name": "x"}},
        "update_row": {"data": {"name": "x"}, "where": {"id": 1}},
        "delete_row": {"where": {"id": 1}},
    }
    for tool, arguments in changes.items():
        said = shop.error(tool, table_name="users", **arguments)
        assert "permission denied" in said or "read-only" in said
