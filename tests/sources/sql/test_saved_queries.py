"""Saved queries as tools: their arguments, rows and pages; what is refused at the start, and where."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from accord import Server
from accord.errors import ContractError
from accord.sources.sql import Database, Options, sql_tools
from accord.sources.sql.saved_queries import saved_queries
from sources.sql.shop import Shop, make, state

TABLES = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, user INTEGER, item TEXT, day TEXT, price REAL, paid INTEGER, at TEXT
);
CREATE TABLE secret (code TEXT);
CREATE VIRTUAL TABLE docs USING fts5(body);
INSERT INTO docs VALUES ('a moth in a relay');
INSERT INTO users VALUES (1, 'Ada'), (2, 'Grace');
INSERT INTO orders VALUES
  (1, 1, 'punch cards', '2026-01-01', 4.2, 1, '2026-01-01 10:00:00'),
  (2, 1, 'cog', '2026-02-01', 25, 0, '2026-02-01 10:00:00'),
  (3, 2, 'moth trap', '2026-03-01', 19.99, 1, '2026-03-01 10:00:00');
"""
TOML = '''
[orders_of]
description = "Orders of one user, newest first"
sql = """
SELECT o.id, o.item FROM orders o JOIN users u ON u.id = o.user
WHERE u.name = :name AND (:since IS NULL OR o.day >= :since)
ORDER BY o.day DESC
"""
limit = 2

[orders_of.parameters.name]
type = "text"
description = "the name of the user"

[orders_of.parameters]
since = { type = "date", optional = true }

[matching]
description = "Orders that match"
sql = """SELECT id FROM orders WHERE price >= :least AND paid = :paid
  AND item IN (SELECT value FROM json_each(:items)) AND id <= :most AND day > :day
  AND at > datetime(:at) AND user = :user ORDER BY id"""

[matching.parameters]
least = { type = "number", default = 0, minimum = 0 }
paid = { type = "boolean", default = true }
items = { type = "text[]", default = ["punch cards", "moth trap", "cog"] }
most = { type = "integer", default = 100, maximum = 1000 }
day = { type = "date", default = 2025-12-31 }
at = { type = "datetime", default = 2025-12-31T00:00:00Z }
user = { type = "integer", enum = [1, 2], default = 1 }
'''
SQL = """-- Everything before the first line of SQL is about the query. See the README: it has more.
-- description: Users whose name begins with some letters,
--   in any case
-- limit: 5
-- param prefix: text = 'A' in ['A', 'G'] -- the letters,
--   of which there is one
-- param most: integer?

SELECT id, name FROM users
WHERE name LIKE :prefix || '%' AND id <= coalesce(:most, 100);
"""


@contextmanager
def offering(where: Path | str, queries: Path, **options: Any) -> Iterator[Shop]:
    """Serve the tools of a database and of its saved queries."""
    database = Database(str(where), Options(**options))
    server = Server("shop", version="1.0", profile="prose")
    try:
        tools = sql_tools(database)
        for tool in tools + saved_queries(database, queries, taken={each.name for each in tools}):
            server.add(tool)
        yield Shop(server)
    finally:
        database.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved")
    make(place / "shop.db", TABLES)
    (place / "queries").mkdir()
    (place / "queries" / "queries.toml").write_text(TOML)
    (place / "queries" / "users_like.sql").write_text(SQL)
    (place / "queries" / "README.md").write_text("not a query")
    (place / "queries" / ".hidden.sql").write_text("not a query")
    return place


@pytest.fixture(scope="module")
def shop(folder: Path) -> Iterator[Shop]:
    with offering(folder / "shop.db", folder / "queries") as served:
        yield served


def listed(shop: Shop, name: str) -> Any:
    (tool,) = [
        each for each in shop.peer.ask("tools/list")["result"]["tools"] if each["name"] == name
    ]
    return tool


# Tools


def test_each_query_is_a_tool_that_only_reads(shop: Shop) -> None:
    assert list(shop.server.tools)[6:] == ["orders_of", "matching", "users_like"]
    tool = listed(shop, "orders_of")
    assert tool["description"] == "Orders of one user, newest first"
    assert tool["annotations"] == {"readOnlyHint": True}
    properties = tool["inputSchema"]["properties"]
    assert list(properties) == ["name", "since", "limit", "cursor"]
    assert properties["name"] == {"type": "string", "description": "the name of the user"}
    assert properties["since"] == {"type": "string", "format": "date"}
    assert properties["limit"]["description"] == "The most rows to return, up to 2"
    assert tool["inputSchema"]["required"] == ["name"]


def test_an_sql_file_says_the_same_in_comments(shop: Shop) -> None:
    tool = listed(shop, "users_like")
    assert tool["description"] == "Users whose name begins with some letters, in any case"
    properties = tool["inputSchema"]["properties"]
    assert properties["prefix"] == {
        "type": "string",
        "enum": ["A", "G"],
        "description": "the letters, of which there is one",
        "default": "A",
    }
    assert properties["most"] == {"type": "integer"}
    assert tool["inputSchema"]["required"] == []


def test_the_output_schema_names_the_columns(shop: Shop) -> None:
    rows = listed(shop, "orders_of")["outputSchema"]["properties"]["result"]
    assert rows == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": {}, "item": {}},
            "required": ["id", "item"],
        },
    }


CALLS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "a required parameter": ("orders_of", {"name": "Grace"}, [3]),
    "quotes in a value": ("orders_of", {"name": "' OR 1=1 --"}, []),
    "an optional one": ("orders_of", {"name": "Ada", "since": "2026-02-01"}, [2]),
    "null for an optional one": ("orders_of", {"name": "Ada", "since": None}, [2, 1]),
    "only defaults": ("matching", {}, [1]),
    "null for a default": ("matching", {"user": None, "paid": None}, [1]),
    "a whole number for a number": ("matching", {"least": 5, "paid": False}, [2]),
    "a boolean": ("matching", {"paid": False}, [2]),
    "a choice": ("matching", {"user": 2}, [3]),
    "a list": ("matching", {"items": ["cog"], "paid": False}, [2]),
    "an empty list": ("matching", {"items": []}, []),
    "a maximum": ("matching", {"most": 0}, []),
    "a date": ("matching", {"day": "2026-01-01"}, []),
    "a time in another zone": ("matching", {"at": "2026-01-01T11:00:00+02:00"}, [1]),
    "a time that is later": ("matching", {"at": "2026-01-01T13:00:00+02:00"}, []),
    "defaults of a file": ("users_like", {}, [1]),
    "another choice": ("users_like", {"prefix": "G"}, [2]),
    "a number": ("users_like", {"most": 0}, []),
}


@pytest.mark.parametrize(("tool", "arguments", "ids"), CALLS.values(), ids=list(CALLS))
def test_arguments_are_bound(
    shop: Shop, tool: str, arguments: dict[str, Any], ids: list[int]
) -> None:
    assert [row["id"] for row in shop.data(tool, **arguments)] == ids


WRONG: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "nothing": ("orders_of", {}, ["name is required"]),
    "null": ("orders_of", {"name": None}, ["name must be a string, not null"]),
    "another type": ("matching", {"most": "1"}, ["most must be an integer, not a string"]),
    "no date": ("orders_of", {"name": "Ada", "since": "May"}, ["since must be a valid date"]),
    "no such date": (
        "orders_of",
        {"name": "Ada", "since": "2026-02-30"},
        ["since must be a valid date"],
    ),
    "a time without a zone": (
        "matching",
        {"at": "2026-01-01T10:00:00"},
        ["at must be a valid date-time"],
    ),
    "no choice": ("matching", {"user": 3}, ["user must be one of 1, 2"]),
    "too little": ("matching", {"least": -1}, ["least must be at least 0"]),
    "too much": ("matching", {"most": 1001}, ["most must be at most 1000"]),
    "an item": ("matching", {"items": ["a", 1]}, ["items[1] must be a string, not an integer"]),
    "several": (
        "matching",
        {"paid": "yes", "limit": 0},
        ["paid must be a boolean, not a string", "limit must be at least 1"],
    ),
}


@pytest.mark.parametrize(("tool", "arguments", "faults"), WRONG.values(), ids=list(WRONG))
def test_wrong_arguments_are_field_errors(
    shop: Shop, tool: str, arguments: dict[str, Any], faults: list[str]
) -> None:
    assert shop.error(tool, **arguments) == f"Invalid arguments for {tool}: {'; '.join(faults)}"


def test_an_unknown_argument_is_ignored_with_a_warning(shop: Shop) -> None:
    result = shop.call("orders_of", name="Grace", colour="x")
    (warning,) = result["_meta"]["dev.accord-mcp/answer"]["warnings"]
    assert warning["message"] == "Unknown argument 'colour' was ignored"


def test_pages_are_those_of_run_query(folder: Path) -> None:
    (folder / "all.sql").write_text("-- description: All\n-- limit: 2\nSELECT id FROM orders")
    with offering(folder / "shop.db", folder / "all.sql") as shop:
        first = shop.call("all", limit=100)
        page = first["_meta"]["dev.accord-mcp/answer"]["page"]
        assert first["structuredContent"]["result"] == [{"id": 1}, {"id": 2}]
        assert (page["limit"], page["hasMore"]) == (2, True)
        assert shop.data("all", cursor=page["cursor"]) == [{"id": 3}]
        assert shop.error("all", cursor="x") == "The cursor was not made by this server"
        other = shop.call("run_query", query="SELECT id FROM orders ", limit=1)
        cursor = other["_meta"]["dev.accord-mcp/answer"]["page"]["cursor"]
        assert shop.error("all", cursor=cursor).startswith("The cursor ")


def test_a_query_may_have_compact_rows(folder: Path) -> None:
    text = "-- description: All\n-- rows: compact\nSELECT id, user FROM orders WHERE id = 1"
    (folder / "compact.sql").write_text(text)
    with offering(folder / "shop.db", folder / "compact.sql") as shop:
        assert shop.data("compact") == {"columns": ["id", "user"], "rows": [[1, 1]]}
        table = listed(shop, "compact")["outputSchema"]
        assert table["properties"]["rows"]["items"] == {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
        }
        assert shop.text("compact").endswith('{"columns":["id","user"],"rows":[[1,1]]}')
    with offering(folder / "shop.db", folder / "queries", rows="compact") as shop:
        assert shop.data("users_like") == {"columns": ["id", "name"], "rows": [[1, "Ada"]]}


def test_a_query_without_rows_has_its_columns_checked_too(folder: Path) -> None:
    (folder / "none.sql").write_text("-- description: None\nSELECT id AS a FROM orders WHERE 0")
    with offering(folder / "shop.db", folder / "none.sql") as shop:
        rows = listed(shop, "none")["outputSchema"]["properties"]["result"]
        assert rows["items"]["required"] == ["a"]
        assert shop.data("none") == []


def test_virtual_tables_and_shown_tables_can_be_queried(folder: Path) -> None:
    (folder / "found.sql").write_text(
        "-- description: Find\n-- param words: text\nSELECT body FROM docs WHERE docs MATCH :words"
    )
    with offering(folder / "shop.db", folder / "found.sql", allow=frozenset({"docs"})) as shop:
        assert shop.data("found", words="moth") == [{"body": "a moth in a relay"}]


def test_queries_are_checked_without_being_run(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", "CREATE TABLE t (a)")
    (tmp_path / "slow.sql").write_text(
        "-- description: Slow\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT count(*) AS many FROM n"
    )
    before = state(tmp_path)
    with offering(path, tmp_path / "slow.sql", timeout=0.5) as shop:
        assert shop.error("slow").startswith("The query took longer than 0.5 s")
    assert state(tmp_path) == before


def test_queries_can_be_loaded_while_an_event_loop_runs(folder: Path) -> None:
    async def load() -> list[str]:
        database = Database(str(folder / "shop.db"), Options())
        try:
            tools = saved_queries(database, folder / "queries")
            rows = await tools[0].invoke(tools[0].bind(b'{"name": "Ada"}').arguments, None)
            return [each.name for each in tools] + [rows.message]
        finally:
            database.close()

    names = asyncio.run(load())
    assert names[:3] == ["orders_of", "matching", "users_like"]
    assert names[3] == "Query executed successfully. Found 2 rows:"


# What is refused at the start: file, line, query, and what to do

HEAD = '[a]\ndescription = "A"\n'


def toml(text: str) -> tuple[str, str]:
    return "queries.toml", text


def sql(text: str, name: str = "a") -> tuple[str, str]:
    return f"{name}.sql", text


REFUSED: dict[str, tuple[tuple[str, str], str]] = {
    "an empty file": (
        toml(""),
        'queries.toml has no queries; add one: [name], and below it description = "…" and'
        ' sql = "…"',
    ),
    "only comments": (toml("# later\n"), "queries.toml has no queries; add one:"),
    "no TOML": (
        toml("[a\n"),
        "queries.toml is not valid TOML: Expected ']' at the end of a table declaration (at line 1",
    ),
    "a query twice": (
        toml("[a]\n[a]\n"),
        "queries.toml is not valid TOML: Cannot declare ('a',) twice (at line 2",
    ),
    "no table": (
        toml("\nlimit = 5\n"),
        "queries.toml:2: query limit: must be a table; write settings below the [name] of their"
        " query",
    ),
    "an unknown key": (
        toml('[a]\ndescripton = "A"\nsql = "SELECT 1"'),
        "queries.toml:2: query a: unknown key 'descripton'; did you mean 'description'?",
    ),
    "a key like no other": (
        toml(HEAD + 'sql = "SELECT 1"\nzzz = 1'),
        "queries.toml:4: query a: unknown key 'zzz'; there are description, sql, limit, rows,"
        " parameters",
    ),
    "no description": (
        toml('\n\n[a]\nsql = "SELECT 1"'),
        "queries.toml:3: query a: description must be a text that is not empty; tell a model when"
        " to call it",
    ),
    "no SQL": (toml(HEAD), "queries.toml:1: query a: sql must be a SELECT, and is empty; write it"),
    "blank SQL": (
        toml(HEAD + 'sql = """\n-- nothing\n"""'),
        "queries.toml:3: query a: sql must be a SELECT, and is empty",
    ),
    "a bad name": (
        toml('["a b"]\ndescription = "A"\nsql = "SELECT 1"'),
        "queries.toml:1: query a b: the name must be a letter, then letters, digits, _ and -, at"
        " most 64; rename it",
    ),
    "a bad limit": (
        toml(HEAD + 'sql = "SELECT 1"\nlimit = 0'),
        "queries.toml:4: query a: limit must be a whole number of rows from 1",
    ),
    "too high a limit": (
        toml(HEAD + 'sql = "SELECT 1"\nlimit = 501'),
        "queries.toml:4: query a: limit must be at most 500, the rows that --max-rows allows;"
        " raise that",
    ),
    "a bad form of rows": (
        toml(HEAD + 'sql = "SELECT 1"\nrows = "csv"'),
        "queries.toml:4: query a: rows must be objects or compact",
    ),
    "a form of rows that is a list": (
        toml(HEAD + 'sql = "SELECT 1"\nrows = ["compact"]'),
        "queries.toml:4: query a: rows must be objects or compact",
    ),
    "a number with thousands of digits": (
        toml(HEAD + 'sql = "SELECT 1"\nlimit = ' + "9" * 5_000),
        "queries.toml is not valid TOML: ",
    ),
    "a limit with thousands of digits": (
        sql("-- description: A\n-- limit: " + "9" * 5_000 + "\nSELECT 1"),
        "a.sql:2: query a: limit must be a whole number of rows from 1",
    ),
    "a bound beyond 64 bits": (
        toml(f'{HEAD}sql = "SELECT :x"\nparameters.x = {{type = "integer", minimum = {1 << 63}}}'),
        "queries.toml:4: query a: parameter x: minimum must fit into 64 bits",
    ),
    "a default beyond 64 bits": (
        sql(f"-- description: A\n-- param x: integer[] = [1, {1 << 63}]\nSELECT :x"),
        "a.sql:2: query a: parameter x: default must fit into 64 bits",
    ),
    "a choice beyond 64 bits": (
        sql(f"-- description: A\n-- param x: integer in [1, {1 << 63}]\nSELECT :x"),
        "a.sql:2: query a: parameter x: enum must fit into 64 bits",
    ),
    "a reserved parameter in capitals": (
        sql("-- description: A\n-- param Limit: integer\nSELECT :Limit"),
        "a.sql:2: query a: parameter Limit is an argument of every saved query already",
    ),
    "a name in capitals": (
        toml(HEAD + 'sql = "SELECT 1"\n[A]\ndescription = "A"\nsql = "SELECT 1"'),
        "queries.toml:4: query A: ",
    ),
    "a built-in tool in capitals": (
        toml('[Run_Query]\ndescription = "A"\nsql = "SELECT 1"'),
        "queries.toml:1: query Run_Query: the database has a built-in tool of the same name",
    ),
    "a built-in tool": (
        toml('[run_query]\ndescription = "A"\nsql = "SELECT 1"'),
        "queries.toml:1: query run_query: the database has a built-in tool of the same name;"
        " rename the query",
    ),
    "a bad type": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "int"'),
        "queries.toml:5: query a: parameter x: type must be one of text, integer, number, boolean,"
        " date, datetime, text[]",
    ),
    "no type": (
        toml(HEAD + 'sql = "SELECT :x"\n\n[a.parameters.x]\ndescription = "X"'),
        "queries.toml:5: query a: parameter x: type must be one of text",
    ),
    "an unknown key of a parameter": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters]\nx = { type = "text", defualt = "" }'),
        "queries.toml:5: query a: parameter x: unknown key 'defualt'; did you mean 'default'?",
    ),
    "a default of another type": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "integer"\ndefault = "1"'),
        "queries.toml:6: query a: parameter x: default must be an integer, not a string",
    ),
    "a default that is no choice": (
        toml(
            HEAD
            + 'sql = "SELECT :x"\nparameters.x = { type = "text", enum = ["a"], default = "b" }'
        ),
        "queries.toml:4: query a: parameter x: default must be one of a",
    ),
    "a choice of another type": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "text"\nenum = [1]'),
        "queries.toml:6: query a: parameter x: enum must be a string, not an integer",
    ),
    "a choice of dates": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "date"\nenum = [2026-01-01]'),
        "queries.toml:6: query a: parameter x: enum is for text and integer only; leave it out",
    ),
    "a minimum of a text": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "text"\nminimum = 1'),
        "queries.toml:6: query a: parameter x: minimum is for integer and number only",
    ),
    "an infinite default": (
        toml(HEAD + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "number"\ndefault = inf'),
        "queries.toml:6: query a: parameter x: default must be a finite number",
    ),
    "optional with a default": (
        toml(
            HEAD
            + 'sql = "SELECT :x"\n[a.parameters.x]\ntype = "text"\ndefault = ""\noptional = true'
        ),
        "queries.toml:7: query a: parameter x: optional is for a parameter without a default",
    ),
    "a name that is taken": (
        toml(HEAD + 'sql = "SELECT :limit"\n[a.parameters.limit]\ntype = "integer"'),
        "queries.toml:4: query a: parameter limit is an argument of every saved query already;"
        " rename it",
    ),
    "a parameter that is not declared": (
        toml(HEAD + 'sql = """\nSELECT 1,\n  :city"""'),
        "queries.toml:5: query a: :city is not declared; add [a.parameters.city], and below it"
        ' type = "text"',
    ),
    "a parameter that is not used": (
        toml(HEAD + 'sql = "SELECT \':x\'"\n[a.parameters.x]\ntype = "text"'),
        "queries.toml:4: query a: parameter x is not used; write :x in the SQL, or leave it out",
    ),
    "another kind of placeholder": (
        toml(HEAD + "sql = '''\n\nSELECT ?'''"),
        "queries.toml:5: query a: ? must be a parameter with a name: :city",
    ),
    "SQL that does not parse": (
        toml(HEAD + 'sql = """\nSELECT 1\nFORM users\n"""'),
        'queries.toml:5: query a: cannot run: near "users": syntax error; change the SQL',
    ),
    "a table that does not exist": (
        toml(HEAD + 'sql = "SELECT * FROM usrs"'),
        'queries.toml:3: query a: cannot run: no such table: usrs; did you mean "users"?',
    ),
    "a column that does not exist": (
        toml(HEAD + 'sql = """SELECT\n  nmae FROM users"""'),
        "queries.toml:4: query a: cannot run: no such column: nmae",
    ),
    "a change": (
        toml(HEAD + 'sql = "DELETE FROM users RETURNING id"'),
        "queries.toml:3: query a: cannot run: Only SELECT queries are allowed for security reasons",
    ),
    "two statements": (
        toml(HEAD + 'sql = "SELECT 1; SELECT 2"'),
        "queries.toml:3: query a: cannot run: query takes one SELECT at a time",
    ),
    "a forbidden function": (
        toml(HEAD + "sql = \"SELECT load_extension('x')\""),
        "queries.toml:3: query a: cannot run: The function",
    ),
    "an SQL file without anything": (
        sql(""),
        "a.sql:1: query a: description must be a text that is not empty",
    ),
    "an SQL file with settings only": (
        sql("-- description: A\n"),
        "a.sql:2: query a: sql must be a SELECT, and is empty; write it",
    ),
    "an unknown setting": (
        sql("-- descripton: A\nSELECT 1"),
        "a.sql:1: query a: unknown key 'descripton'; did you mean 'description'?",
    ),
    "a setting twice": (
        sql("-- limit: 1\n-- limit: 2\nSELECT 1"),
        "a.sql:2: query a: limit is there twice; leave one out",
    ),
    "a limit in words": (
        sql("-- description: A\n-- limit: many\nSELECT 1"),
        "a.sql:2: query a: limit must be a whole number of rows from 1",
    ),
    "an unreadable parameter": (
        sql("-- description: A\n-- param x: text = = 1\nSELECT :x"),
        "a.sql:2: query a: could not read the parameter; write -- param city: text = 'Berlin' --"
        " what it is for",
    ),
    "an unreadable default": (
        sql("-- description: A\n-- param x: text = Berlin\nSELECT :x"),
        "a.sql:2: query a: could not read Berlin; write a text in quotes",
    ),
    "a parameter of a file that is not declared": (
        sql("-- description: A\n\nSELECT 1,\n  :x"),
        "a.sql:4: query a: :x is not declared; add a line: -- param x: text",
    ),
    "a parameter of a file that is not used": (
        sql("-- description: A\n-- param x: text\nSELECT 1"),
        "a.sql:2: query a: parameter x is not used; write :x in the SQL, or leave it out",
    ),
    "a fault in an SQL file": (
        sql("-- description: A\n\nSELECT 1\nFORM users"),
        'a.sql:4: query a: cannot run: near "users": syntax error; change the SQL',
    ),
    "a file with a bad name": (
        sql("-- description: A\nSELECT 1", "1 a"),
        "1 a.sql:1: query 1 a: the name must be a letter",
    ),
    "another kind of file": (
        ("queries.json", "{}"),
        "queries.json must be a .toml or .sql file, or a folder of them",
    ),
}


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[Database]:
    found = Database(str(folder / "shop.db"), Options())
    yield found
    found.close()


@pytest.mark.parametrize(("file", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_served_names_its_place_and_the_remedy(
    database: Database, tmp_path: Path, file: tuple[str, str], words: str
) -> None:
    name, text = file
    (tmp_path / name).write_text(text)
    taken = {tool.name for tool in sql_tools(database)}
    with pytest.raises(ContractError) as refused:
        saved_queries(database, tmp_path / name, taken=taken)
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(words)


def test_the_placeholders_of_a_long_query_are_found_in_time(
    database: Database, tmp_path: Path
) -> None:
    terms = "+1" * 40_000  # counting the lines before each token took seconds
    (tmp_path / "a.sql").write_text(f"-- description: A\nSELECT '{terms}' WHERE 1{terms}")
    begun = monotonic()
    with pytest.raises(ContractError):
        saved_queries(database, tmp_path / "a.sql")
    assert monotonic() - begun < 2


def test_a_hidden_table_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- description: A\nSELECT * FROM secret")
    with (
        pytest.raises(
            ContractError, match=r"a\.sql:2: query a: cannot run: .*only \"users\" may be"
        ),
        offering(folder / "shop.db", tmp_path / "a.sql", allow=frozenset({"users"})),
    ):
        pass


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, " has no .toml or .sql file; add one with a query"),
        (
            {
                "a.sql": "-- description: A\nSELECT 1",
                "b.toml": '\n[a]\ndescription="A"\nsql="VALUES (1)"',
            },
            "/b.toml:2: query a: {}/a.sql:1 has a query of the same name; rename one",
        ),
        ({"a.sql": b"-- description: \xff\nSELECT 1"}, "/a.sql must be UTF-8 ("),
    ],
)
def test_a_folder_is_checked_as_a_whole(
    database: Database, tmp_path: Path, files: dict[str, str | bytes], words: str
) -> None:
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(ContractError) as refused:
        saved_queries(database, tmp_path)
    assert str(refused.value).removeprefix(str(tmp_path)).startswith(words.format(tmp_path))


def test_a_missing_file_is_an_error(database: Database, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"could not read .*gone\.toml: No such file"):
        saved_queries(database, tmp_path / "gone.toml")


def test_a_byte_order_mark_does_no_harm(database: Database, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("\ufeff-- description: A\nSELECT 1", encoding="utf-8")
    (tool,) = saved_queries(database, tmp_path)
    assert tool.description == "A"
