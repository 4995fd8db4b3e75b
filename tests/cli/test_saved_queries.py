"""`--queries`, `--only-queries` and `--rows` on the command line and in accord.toml."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.cli.reload import Watcher
from cli.command import ACCORD, accord, accord_each, assert_one_line_of_misuse
from cli.test_reload import SERVES, STARTS, reloading
from http_peer import HttpPeer
from sources.sql.shop import make
from stdio_peer import StdioPeer

QUERY = "-- description: {}\n-- param id: integer = 1\nSELECT name FROM users WHERE id = :id\n"
OTHER = '[all_posts]\ndescription = "All posts"\nsql = "SELECT * FROM posts"\n'
JOHN = [{"name": "John Doe"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "shop.db")
    make(tmp_path / "other.db", "CREATE TABLE posts (title TEXT)")
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "user_name.sql").write_text(QUERY.format("The name of a user"))
    (tmp_path / "other.toml").write_text(OTHER)
    return tmp_path


def tools_of(out: str) -> list[str]:
    return [each["name"] for each in json.loads(out)]


def test_saved_queries_are_listed_and_called(folder: Path) -> None:
    queries = ["--queries", "queries"]
    done = accord_each(
        {
            "tools": ["tools", "shop.db", "--json", *queries],
            "alone": ["tools", "shop.db", "--json", *queries, "--only-queries"],
            "read-only": ["tools", "shop.db", "--json", *queries, "--read-only"],
            "call": ["call", "shop.db", "user_name", '{"id": 1}', *queries],
            "defaults": ["call", "shop.db", "user_name", "{}", *queries, "--only-queries"],
            "compact": ["call", "shop.db", "user_name", "--rows", "compact", "--json", *queries],
        },
        cwd=folder,
    )
    assert [each.code for each in done.values()] == [0] * 6, done
    assert len(tools_of(done["tools"].out)) == 7
    assert tools_of(done["alone"].out) == ["user_name"]
    assert len(tools_of(done["read-only"].out)) == 4
    assert json.loads(done["call"].out) == json.loads(done["defaults"].out) == JOHN
    text = json.loads(done["compact"].out)["content"][0]["text"]
    assert '{"columns":["name"],"rows":[["John Doe"]]}' in text


def test_a_server_with_only_queries_has_no_other_tool(folder: Path) -> None:
    words = [ACCORD, "serve", "shop.db", "--queries", "queries", "--only-queries"]
    with StdioPeer(words, cwd=folder) as peer:
        peer.initialize("2025-11-25")
        listed = peer.request("tools/list")["result"]["tools"]
        called = peer.request("tools/call", {"name": "user_name", "arguments": {}})
        refused = peer.request("tools/call", {"name": "run_query", "arguments": {"query": "x"}})
    assert [tool["name"] for tool in listed] == ["user_name"]
    assert called["result"]["structuredContent"] == {"result": JOHN}
    assert refused["error"]["message"] == "Unknown tool: run_query"


def test_each_database_may_have_queries_of_its_own(folder: Path) -> None:
    (folder / "accord.toml").write_text(
        'rows = "compact"\n[shop]\ntarget = "shop.db"\nqueries = "queries"\n'
        'only-queries = true\n[other]\ntarget = "other.db"\nqueries = "other.toml"\n'
        'rows = "objects"\nread-only = true\n'
    )
    (folder / "away").mkdir()
    done = accord_each(
        {
            "tools": ["tools", "../accord.toml", "--json"],
            "shop": ["call", "../accord.toml", "shop_user_name", "{}", "--profile", "plain"],
            "other": ["call", "../accord.toml", "other_all_posts", "{}"],
        },
        cwd=folder / "away",
    )
    assert [each.code for each in done.values()] == [0] * 3, done
    names = tools_of(done["tools"].out)
    assert names[0] == "shop_user_name"
    assert names[1:] == [
        "other_list_tables",
        "other_describe_table",
        "other_run_query",
        "other_all_posts",
    ]
    assert json.loads(done["shop"].out) == {"columns": ["name"], "rows": [["John Doe"]]}
    assert json.loads(done["other"].out) == []


REFUSED: dict[str, tuple[list[str], str]] = {
    "no database": (
        ["serve", "shop:server", "--queries", "queries"],
        "--queries: only for a database, and no target is one",
    ),
    "only without queries": (
        ["serve", "shop.db", "--only-queries"],
        "--only-queries requires --queries: a file or a folder of them",
    ),
    "no file": (
        ["serve", "shop.db", "--queries", "gone.sql"],
        "could not read gone.sql: No such file or directory",
    ),
    "of another database": (
        ["tools", "shop=shop.db", "other=other.db", "--queries", "queries"],
        "queries/user_name.sql:3: query user_name: cannot run: no such table: users; there are"
        ' "posts"; change the SQL',
    ),
    "in a file": (
        ["tools", "wrong.toml"],
        "wrong.toml:3: [shop] queries must be a string",
    ),
    "too many rows": (
        ["call", "shop.db", "user_name", "{}", "--queries", "limit.sql", "--max-rows", "5"],
        "limit.sql:2: query limit: limit must be at most 5, the rows that --max-rows allows; raise"
        " that",
    ),
}


def test_what_cannot_be_served_is_one_line_that_says_why(folder: Path) -> None:
    (folder / "wrong.toml").write_text('[shop]\ntarget = "shop.db"\nqueries = 1\n')
    (folder / "limit.sql").write_text("-- description: A\n-- limit: 6\nSELECT 1")
    table = {name: words for name, (words, _) in REFUSED.items()}
    for name, done in accord_each(table, cwd=folder).items():
        assert (name, done.code, done.out) == (name, 2, "")
        assert done.err == f"accord {REFUSED[name][0][0]}: {REFUSED[name][1]}\n"


def test_install_writes_the_full_path_of_the_queries(folder: Path) -> None:
    options = "--serve=--queries queries --only-queries"
    done = accord("install", "cursor", "shop.db", options, "--print", cwd=folder)
    assert done.code == 0, done.err
    (entry,) = json.loads(done.out)["mcpServers"].values()
    assert entry["args"][2:] == ["--queries", str(folder / "queries"), "--only-queries"]


def descriptions(server: Any) -> list[str]:
    with HttpPeer(server.port) as peer:
        tools = peer.ask("tools/list").message["result"]["tools"]
    return [tool["description"] for tool in tools]


def test_a_change_of_the_queries_starts_the_server_again(folder: Path) -> None:
    words = ["--queries", "queries", "--only-queries"]
    with reloading(folder, *words, target="shop.db") as server:
        assert descriptions(server) == ["The name of a user"]
        (folder / "queries" / "user_name.sql").write_text(QUERY.format("Another text"))
        server.said(STARTS, 1)
        server.said(SERVES, 2)
        assert descriptions(server) == ["Another text"]
        (folder / "queries" / "new.sql").write_text("-- description: New\nSELECT 1\nFORM x")
        server.said(re.compile(r"new\.sql:3: query new: cannot run: "))
        (folder / "queries" / "new.sql").write_text("-- description: New\nSELECT 1")
        server.said(SERVES, 3)
        assert descriptions(server) == ["New", "Another text"]


def test_queries_that_are_gone_are_a_change(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text("SELECT 1")
    watcher = Watcher([], [], [tmp_path])
    (tmp_path / "note.txt").write_text("no query")
    assert watcher.changes() == []
    file.unlink()
    assert watcher.changes() == [file]
    file.write_text("SELECT 2")
    assert watcher.changes() == [file]


def test_another_form_of_rows_is_refused(folder: Path) -> None:
    done = accord("serve", "shop.db", "--rows", "csv", cwd=folder)
    assert_one_line_of_misuse(done, "--rows must be one of objects, compact, not 'csv'")


def test_databases_with_saved_queries_may_explore_too(folder: Path) -> None:
    words = [ACCORD, "serve", "a=shop.db", "b=shop.db", "--queries", "queries", "--explore"]
    with StdioPeer(words, cwd=folder) as peer:
        peer.initialize("2025-11-25")
        listed = [each["name"] for each in peer.request("tools/list")["result"]["tools"]]
        called = peer.request("tools/call", {"name": "b_user_name", "arguments": {"id": 1}})
    assert {"a_user_name", "b_user_name", "a_explain_query", "search_schema"} <= {*listed}
    assert listed.count("search_schema") == 1
    assert called["result"]["structuredContent"] == {"result": JOHN}


def test_a_database_of_a_file_may_offer_only_queries_beside_one_that_explores(folder: Path) -> None:
    (folder / "accord.toml").write_text(
        '[shop]\ntarget = "shop.db"\nqueries = "queries"\nonly-queries = true\n'
        '[other]\ntarget = "other.db"\nexplore = true\nread-only = true\n'
    )
    with StdioPeer([ACCORD, "serve", "accord.toml"], cwd=folder) as peer:
        peer.initialize("2025-11-25")
        listed = [each["name"] for each in peer.request("tools/list")["result"]["tools"]]
        params = {"name": "search_schema", "arguments": {"words": "users title"}}
        found = peer.request("tools/call", params)["result"]["structuredContent"]["result"]
    assert [name for name in listed if name.startswith("shop_")] == ["shop_user_name"]
    assert [(each["database"], each["table"]) for each in found] == [("other", "posts")]


def test_exploring_is_refused_where_it_cannot_be(folder: Path) -> None:
    (folder / "search_schema.sql").write_text(QUERY.format("A name that is taken"))
    queries = ["shop.db", "--explore", "--queries"]
    done = accord_each(
        {
            "alone": ["serve", *queries, "queries", "--only-queries"],
            "taken": ["serve", *queries, "search_schema.sql"],
        },
        cwd=folder,
    )
    assert_one_line_of_misuse(done["alone"], "--only-queries cannot be combined with --explore")
    assert_one_line_of_misuse(
        done["taken"], "search_schema.sql:1: query search_schema: the database has a built-in tool"
    )
