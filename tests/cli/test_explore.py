"""`--explore` on the command line: one database or several, and accord.toml."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import accord, accord_each, assert_one_line_of_misuse, write
from commands import ACCORD
from stdio_peer import StdioPeer

SEED = ["list_tables", "describe_table", "run_query", "insert_row", "update_row", "delete_row"]
EXPLORING = [*SEED[:3], "explain_query", *SEED[3:], "search_schema"]
CODE = """
from accord import Server

server = Server("code", version="1.0")


@server.tool
def add(a: int) -> int:
    return a
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, table in {"chinook": "artists", "northwind": "customers"}.items():
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection:
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
    return write(tmp_path, code=CODE)


def names(peer: StdioPeer) -> list[str]:
    return [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]


def uris(peer: StdioPeer) -> list[str]:
    return [each["uri"] for each in peer.request("resources/list")["result"]["resources"]]


def search(peer: StdioPeer, words: str) -> list[Any]:
    params = {"name": "search_schema", "arguments": {"words": words}}
    result = peer.request("tools/call", params)["result"]
    text = result["content"][0]["text"]
    assert text.startswith("Found "), "in the profile of databases"
    return [(row["database"], row["table"]) for row in result["structuredContent"]["result"]]


def test_one_database_explores_only_when_told(folder: Path) -> None:
    with StdioPeer([ACCORD, "serve", "chinook.db"], cwd=folder) as peer:
        assert peer.initialize()["result"]["capabilities"] == {"tools": {}}
        assert names(peer) == SEED
        assert "error" in peer.request("resources/list")
    with StdioPeer([ACCORD, "serve", "chinook.db", "--explore"], cwd=folder) as peer:
        started = peer.initialize()["result"]
        assert started["capabilities"].keys() == {"tools", "resources", "completions"}
        assert started["serverInfo"] == {"name": "sqlite-mcp-server", "version": "1.0.0"}
        assert names(peer) == EXPLORING
        assert uris(peer) == ["schema://chinook", "schema://chinook/artists"]
        assert search(peer, "name") == [("chinook", "artists")]


def test_several_databases_have_one_search(folder: Path) -> None:
    targets = ["chinook=chinook.db", "northwind=northwind.db", "code"]
    with StdioPeer([ACCORD, "serve", *targets, "--explore", "--read-only"], cwd=folder) as peer:
        assert peer.initialize()["result"]["serverInfo"]["name"] == "chinook+northwind+code"
        found = names(peer)
        assert found.count("search_schema") == 1
        assert {"chinook_explain_query", "northwind_describe_table", "add"} <= set(found)
        assert set(search(peer, "name")) == {("chinook", "artists"), ("northwind", "customers")}
        assert uris(peer) == [
            "schema://chinook", "schema://northwind",
            "schema://chinook/artists", "schema://northwind/customers",
        ]  # fmt: skip


def test_a_file_lets_single_databases_explore(folder: Path) -> None:
    (folder / "accord.toml").write_text("""
[music]
target = "chinook.db"
explore = true

[shop]
target = "northwind.db"
read-only = true
""")
    with StdioPeer([ACCORD, "serve", "accord.toml"], cwd=folder) as peer:
        peer.initialize()
        assert names(peer) == [
            *(f"music_{name}" for name in EXPLORING[:-1]),
            *(f"shop_{name}" for name in SEED[:3]),
            "search_schema",
        ]
        assert search(peer, "id") == [("music", "artists")]
    with StdioPeer([ACCORD, "serve", "accord.toml", "--explore"], cwd=folder) as peer:
        peer.initialize()
        assert len(search(peer, "id")) == 2


def test_a_profile_and_the_allowed_tables_are_for_the_search_too(folder: Path) -> None:
    options = ["--explore", "--allow", "artists", "--profile", "envelope"]
    with StdioPeer(
        [ACCORD, "serve", "a=chinook.db", "b=northwind.db", *options], cwd=folder
    ) as peer:
        peer.initialize()
        params = {"name": "search_schema", "arguments": {"words": "name"}}
        text = peer.request("tools/call", params)["result"]["content"][0]["text"]
        envelope = json.loads(text)
        assert [row["table"] for row in envelope["data"]["tables"]] == ["artists"]


def test_other_verbs_take_the_option_and_refuse_it_without_a_database(folder: Path) -> None:
    arguments = json.dumps({"query": "SELECT * FROM artists"})
    found = accord_each(
        {
            "call": ["call", "chinook.db", "explain_query", arguments, "--explore"],
            "tools": ["tools", "a=chinook.db", "b=northwind.db", "--explore", "--json"],
            "none": ["serve", "code", "--explore"],
        },
        cwd=folder,
    )
    assert json.loads(found["call"].out) == {"plan": [{"detail": "SCAN artists"}]}
    assert [tool["name"] for tool in json.loads(found["tools"].out)][-1] == "search_schema"
    assert_one_line_of_misuse(found["none"], "--explore: only for a database")


def test_names_of_tables_are_completed(folder: Path) -> None:
    with StdioPeer([ACCORD, "serve", "chinook.db", "--explore"], cwd=folder) as peer:
        peer.initialize()
        reply = peer.request(
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "schema://chinook/{table}"},
                "argument": {"name": "table", "value": "art"},
            },
        )
        assert reply["result"]["completion"]["values"] == ["artists"]


def test_install_keeps_the_option(folder: Path) -> None:
    done = accord(
        "install", "claude-code", "chinook.db", "--serve=--explore", "--print", cwd=folder
    )
    assert "--explore" in done.out
