"""Databases as targets of `accord serve`, `accord tools` and `accord call`."""

import json
import re
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import ACCORD, accord, accord_each
from http_peer import HttpPeer, HttpServer
from processes import children, is_gone
from serve.http.talk import eventually
from sources.sql.shop import make
from stdio_peer import StdioPeer

QUERY = '{"query": "SELECT * FROM users"}'
JOHN = [{"id": 1, "name": "John Doe", "email": "john@example.com"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "shop.db")
    return tmp_path


def test_a_file_and_its_url_are_the_same(folder: Path) -> None:
    names = {
        "its name": "shop.db",
        "its path": str(folder / "shop.db"),
        "a URL from here": "sqlite:///shop.db",
        "a URL with a path": f"sqlite:///{folder / 'shop.db'}",
    }
    table = {name: ["call", target, "run_query", QUERY] for name, target in names.items()}
    for name, done in accord_each(table, cwd=folder).items():
        assert (name, done.code, json.loads(done.out)) == (name, 0, JOHN)


def test_other_names_of_files_are_known(folder: Path) -> None:
    for suffix in ("sqlite", "sqlite3", "DB3"):
        (folder / "shop.db").rename(folder / f"shop.{suffix}")
        done = accord("tools", f"shop.{suffix}", "--read-only", cwd=folder)
        assert done.out.startswith("sqlite-mcp-server 1.0.0: 3 tools\n  list_tables()")
        (folder / f"shop.{suffix}").rename(folder / "shop.db")


REFUSED: dict[str, tuple[list[str], str]] = {
    "no such file": (
        ["serve", "gone.db"],
        "database {folder}/gone.db does not exist; `accord serve … --create` creates an empty one",
    ),
    "no such file to call": (
        ["call", "gone.db", "list_tables"],
        "database {folder}/gone.db does not exist; `accord serve … --create` creates an empty one",
    ),
    "another kind of file": (
        ["serve", "picture.db"],
        "{folder}/picture.db is not a SQLite database, or is encrypted",
    ),
    "a folder": (["serve", "folder.db"], "could not read {folder}/folder.db: Is a directory"),
    "a URL without a file": (
        ["tools", "sqlite://shop.db"],
        "sqlite://shop.db is not the URL of a file; write sqlite:///shop.db, or"
        " sqlite:////path/to/shop.db",
    ),
    "a file that cannot be made": (
        ["serve", "no/where.db", "--create"],
        "could not create {folder}/no/where.db: No such file or directory",
    ),
    "read-only and new": (
        ["serve", "new.db", "--create", "--read-only"],
        "read_only cannot be combined with create or wal",
    ),
    "two of them": (
        ["tools", "shop.db", "sqlite:///shop.db"],
        "both shop.db and sqlite:///shop.db have a tool 'list_tables'; give each a name:"
        " shop=shop.db shop2=sqlite:///shop.db",
    ),
    "no rows at all": (["serve", "shop.db", "--max-rows", "0"], "max_rows must be at least 1"),
    "no time at all": (
        ["serve", "shop.db", "--timeout", "0"],
        "timeout must be more than 0 seconds, and at most a day",
    ),
    "an option for no database": (
        ["serve", "shop:server", "--read-only", "--max-rows", "5"],
        "--read-only, --max-rows: only for a database, and no target is one",
    ),
    "an option for a call of no database": (
        ["call", "shop:server", "add", "{{}}", "--wal"],
        "--wal: only for a database, and no target is one",
    ),
    "PostgreSQL that is to be created": (
        ["serve", "postgresql://127.0.0.1:1/shop", "--create"],
        "create and wal must not be set for PostgreSQL, only SQLite",
    ),
}


def test_what_cannot_be_served_is_one_line_that_says_why(folder: Path) -> None:
    (folder / "picture.db").write_bytes(b"\x89PNG\r\n")
    (folder / "folder.db").mkdir()
    table = {name: words for name, (words, _) in REFUSED.items()}
    for name, done in accord_each(table, cwd=folder).items():
        verb, said = REFUSED[name][0][0], REFUSED[name][1].format(folder=folder)
        assert (name, done.code, done.out) == (name, 2, "")
        assert done.err == f"accord {verb}: {said}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["folder.db", "picture.db", "shop.db"]


def test_create_makes_an_empty_database_once(folder: Path) -> None:
    done = accord("call", "new.db", "list_tables", "--create", "--profile", "prose", cwd=folder)
    assert (done.code, done.out) == (0, "Found 0 tables:\n")
    make(folder / "new.db", "CREATE TABLE kept (a)")
    done = accord("call", "new.db", "list_tables", "--create", cwd=folder)
    assert json.loads(done.out) == ["kept"]


def test_the_options_hold_for_a_call(folder: Path) -> None:
    rows = '{"query": "VALUES (1), (2), (3)"}'
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    long = '{"query": "SELECT zeroblob(5000)"}'
    found = accord_each(
        {
            "rows": ["call", "shop.db", "run_query", rows, "--max-rows", "2"],
            "time": [
                "call",
                "shop.db",
                "run_query",
                json.dumps({"query": slow}),
                "--timeout",
                "0.3",
            ],
            "tables": ["call", "shop.db", "run_query", QUERY, "--allow", "posts, other"],
            "tools": ["call", "shop.db", "insert_row", "{}", "--read-only"],
            "length": ["call", "shop.db", "run_query", long, "--max-length", "1000"],
            "no table": ["serve", "shop.db", "--allow", " , "],
        },
        cwd=folder,
    )
    assert json.loads(found["rows"].out) == [{"column1": 1}, {"column1": 2}]
    assert '"hasMore":true' in found["rows"].err
    assert found["time"].err.startswith("error: The query took longer than 0.3 s; it was stopped\n")
    assert found["tables"].err.startswith(
        'error: The query reads what does not exist or may not be read; only "other", "posts"'
    )
    assert found["tools"].err.startswith(
        "accord call: there is no tool 'insert_row'; the server has: list_tables"
    )
    assert found["length"].err.startswith("error: A value or row has more than 1,000 bytes\nhint: ")
    assert "--allow must be names with commas between them" in found["no table"].err


def test_a_database_and_functions_are_served_as_one(folder: Path) -> None:
    (folder / "more.py").write_text(
        "from accord import Server\n"
        "server = Server('more', version='2.0')\n"
        "@server.tool\n"
        "def double(n: int) -> int:\n"
        "    return 2 * n\n"
    )
    with StdioPeer([ACCORD, "serve", "more.py", "shop.db", "--max-rows", "10"], cwd=folder) as peer:
        begun = peer.initialize("2025-11-25")["result"]
        assert begun["serverInfo"] == {"name": "more+sqlite-mcp-server", "version": "2.0+1.0.0"}
        names = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]
        assert names[:2] == ["double", "list_tables"]
        assert "read_more" not in names
        assert text(peer, "double", n=21) == "42"
        assert text(peer, "list_tables") == "Found 2 tables:\n- users\n- posts"


def text(peer: StdioPeer, tool: str, /, **arguments: Any) -> str:
    result = peer.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    assert "isError" not in result
    return str(result["content"][0]["text"])


def test_a_profile_and_a_name_can_be_chosen(folder: Path) -> None:
    words = ["serve", "shop.db", "--profile", "plain", "--name", "shop", "--server-version", "7"]
    with StdioPeer([ACCORD, *words], cwd=folder) as peer:
        assert peer.initialize()["result"]["serverInfo"] == {"name": "shop", "version": "7"}
        assert json.loads(text(peer, "run_query", query="SELECT * FROM users")) == JOHN


def test_cursors_outlive_the_server_with_a_key_file(folder: Path) -> None:
    query = {"query": "VALUES (1), (2), (3)", "limit": 2}
    pages: list[Any] = []
    for _ in range(2):
        with StdioPeer([ACCORD, "serve", "shop.db", "--key-file", "key"], cwd=folder) as peer:
            peer.initialize()
            more = {} if not pages else {"cursor": pages[0]["page"]["cursor"]}
            result = peer.request(
                "tools/call", {"name": "run_query", "arguments": {**query, **more}}
            )["result"]
            pages.append(result["_meta"]["dev.accord-mcp/answer"])
    assert pages[1]["page"] == {"offset": 2, "limit": 2, "hasMore": False}


def test_a_cursor_leads_on_in_the_next_call_with_a_key_file(folder: Path) -> None:
    rows: list[Any] = []
    query: dict[str, Any] = {"query": "VALUES (1), (2), (3)", "limit": 2}
    for _ in range(2):
        words = ["call", "shop.db", "run_query", json.dumps(query), "--key-file", "key"]
        done = accord(*words, cwd=folder)
        assert done.code == 0
        rows += json.loads(done.out)
        page = re.search("^page: (.*)$", done.err, re.M)
        assert page is not None
        query["cursor"] = json.loads(page[1]).get("cursor")
    assert (rows, query["cursor"]) == ([{"column1": n} for n in (1, 2, 3)], None)


def test_it_is_served_over_http_too(folder: Path) -> None:
    words = ["serve", "sqlite:///shop.db", "--http", "127.0.0.1:0"]
    with HttpServer([ACCORD, *words], cwd=folder) as server, HttpPeer(server.port) as peer:
        said = peer.call("run_query", query="SELECT * FROM users")
        assert json.loads(said.partition("\n")[2]) == JOHN


def test_a_table_that_is_not_there_is_warned_of_at_the_start(folder: Path) -> None:
    words = ["serve", "shop.db", "--allow", "users,potss,USERS", "--http", "127.0.0.1:0"]
    with HttpServer([ACCORD, *words], cwd=folder) as server:
        server.said(re.compile('^WARNING accord: shop: --allow: there is no table "potss"$', re.M))
    assert server.stderr.count("WARNING") == 1


def test_the_tools_can_be_looked_at_as_they_would_be_served(folder: Path) -> None:
    done = accord("tools", "shop.db", "--read-only", "--allow", "users,potss", cwd=folder)
    assert done.out.startswith("sqlite-mcp-server 1.0.0: 3 tools\n")
    assert done.err == 'WARNING accord: shop: --allow: there is no table "potss"\n'
    assert accord("tools", "shop.db", "--allow", "users", cwd=folder).err == ""


def test_a_database_that_says_nothing_is_warned_of_and_holds_up_no_start(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"postgresql://me:secret@127.0.0.1:{silent.getsockname()[1]}/orders"
        words = ["serve", url, "--timeout", "6", "--http", "127.0.0.1:0"]
        with HttpServer([ACCORD, *words], cwd=folder) as server, HttpPeer(server.port) as peer:
            assert peer.ask("tools/list").status == 200
            assert "WARNING" not in server.stderr
            server.said(re.compile("^WARNING accord: orders: .*$", re.M))
            server.said(re.compile("^ERROR accord: could not reach the database: .*$", re.M))
    assert "secret" not in server.stderr


def test_serving_leaves_a_file_as_it_was(folder: Path) -> None:
    before = (folder / "shop.db").read_bytes()
    with StdioPeer([ACCORD, "serve", "shop.db"], cwd=folder) as peer:
        peer.initialize()
        assert text(peer, "run_query", query="SELECT 1 AS a")
        peer.close_input()
        assert peer.wait() == 0
    assert peer.stderr == ""
    assert (folder / "shop.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["shop.db"]


def test_a_server_that_is_terminated_ends_its_workers(folder: Path) -> None:
    with StdioPeer([ACCORD, "serve", "shop.db"], cwd=folder) as peer:
        peer.initialize()
        assert text(peer, "insert_row", table_name="posts", data={"title": "x"})
        workers = children(peer.process.pid)
        assert len(workers) >= 2  # one more, if the first was slow to start
        peer.process.terminate()
        assert peer.wait() == 0
    assert eventually(lambda: all(map(is_gone, workers)))
    connection = sqlite3.connect(folder / "shop.db")
    assert connection.execute("SELECT count(*) FROM posts").fetchone() == (1,)
    connection.close()
