"""Sample databases, and a client of one that is served in this process with real workers."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wire
from accord import Server
from accord.sources.sql import Database, Options, sql_tools
from peer import Peer

SEED = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO users (name, email) VALUES ('John Doe', 'john@example.com');
"""
"""A database as the document of the SQLite server shows it."""

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n"


def make(path: Path, sql: str = SEED) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.commit()
    connection.close()
    return path


def state(folder: Path) -> dict[str, str]:
    """Return every file of a folder with the hash of its content."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


class Shop:
    """A client of one database, in the revision of 2025-11-25."""

    def __init__(self, server: Server, revision: str = "2025-11-25") -> None:
        self.server = server
        self.peer = Peer(server, revision)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Return the result of a call."""
        return self.peer.call(tool, **arguments)["result"]

    def text(self, tool: str, /, **arguments: Any) -> str:
        """Return the text of a success."""
        result = self.call(tool, **arguments)
        assert "isError" not in result, result
        return str(result["content"][0]["text"])

    def data(self, tool: str, /, **arguments: Any) -> Any:
        """Return the data of a success."""
        result = self.call(tool, **arguments)
        assert "isError" not in result, result
        data = result["structuredContent"]
        return data.get("result", data)

    def query(self, query: str, **arguments: Any) -> Any:
        """Return the rows of a query, without details such as a page."""
        data = self.data("run_query", query=query, **arguments)
        if isinstance(data, dict):
            data.pop("_accord", None)
        return data

    def page(self, query: str, **arguments: Any) -> tuple[Any, Any]:
        """Return the rows of a query, and the answer's metadata."""
        result = self.call("run_query", query=query, **arguments)
        beside = result.get("_meta", {}).get("dev.accord-mcp/answer", {})
        return result["structuredContent"]["result"], beside

    def error(self, tool: str, /, **arguments: Any) -> str:
        """Return the text of a failure, without its prefix."""
        result = self.call(tool, **arguments)
        assert result.get("isError"), (arguments, result)
        words = f"Error executing {tool}: "
        text = result["content"][0]["text"]
        assert text.startswith(words)
        return str(text.removeprefix(words))

    def refusal(self, query: str, **arguments: Any) -> str:
        """Return the error of a query."""
        return self.error("run_query", query=query, **arguments)

    def problem(self, tool: str, /, **arguments: Any) -> Any:
        """Return the error of a failure as the envelope has it, with code and fields."""
        capabilities = {"extensions": {"dev.accord-mcp/profile": {"name": "envelope"}}}
        peer = Peer(self.server, wire.STATELESS, capabilities)
        envelope = json.loads(peer.call(tool, **arguments)["result"]["content"][0]["text"])
        assert envelope["success"] is False
        return envelope["meta"]["error"]


@contextmanager
def serving(where: Path | str, **options: Any) -> Iterator[Shop]:
    """Serve a database in this process until the block ends."""
    database = Database(str(where), Options(**options))
    server = Server("sqlite-mcp-server", version="1.0.0", profile="prose")
    for tool in sql_tools(database):
        server.add(tool)
    try:
        yield Shop(server)
    finally:
        database.close()
