"""Databases on the command line: which targets are one, and how they are served."""

import argparse
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from accord.errors import ContractError
from accord.server import Server

HELP: Final = "a database: shop.db, sqlite:///shop.db or postgresql://user@host/name"
_DATABASE: Final = re.compile(
    r"sqlite:.*|postgres(?:ql)?(?:\+psycopg)?://.*|[^:]*\.(?:db|db3|sqlite|sqlite3)", re.I | re.S
)
_VERSION: Final = "1.0.0"
_NAMES: Final = ("read_only", "create", "wal", "allow", "max_rows", "timeout", "max_length")


def is_database(target: str) -> bool:
    """Whether somebody means a database: by its URL, or by how the name of a file ends."""
    return _DATABASE.fullmatch(target) is not None


def add_arguments(parser: argparse.ArgumentParser, *, timeout: bool = True) -> None:
    """What can be said of a database; without `timeout` where the verb has one of its own."""
    group = parser.add_argument_group("for a database")
    add_choice(group)
    group.add_argument(
        "--max-rows", type=int, metavar="ROWS", help="the most rows of an answer (default 500)"
    )
    if timeout:
        group.add_argument(
            "--timeout", type=float, metavar="SECONDS", help="for each call (default 5)"
        )
    group.add_argument(
        "--max-length",
        type=int,
        metavar="BYTES",
        help="of the longest value in SQLite (default 1000000)",
    )
    group.add_argument(
        "--create", action="store_true", help="make an empty SQLite database if there is none"
    )
    group.add_argument(
        "--wal",
        action="store_true",
        help="change the SQLite file to write-ahead logging; else its journal stays as it is",
    )


def add_choice(group: argparse._ArgumentGroup) -> None:
    """What decides which tools a database has, and what for."""
    group.add_argument("--read-only", action="store_true", help="offer no tools that write")
    group.add_argument(
        "--allow",
        type=_names,
        metavar="TABLE,…",
        help="the only tables that may be touched; a view needs its tables, too",
    )


def said_of_databases(
    options: argparse.Namespace, *targets: str, but: Collection[str] = ()
) -> dict[str, Any]:
    """What was said of databases; an error where none of the targets is one.

    `but` are the options that mean something else to this verb, or to these targets.
    """
    values = {name: getattr(options, name, None) for name in _NAMES if name not in but}
    given = {
        name: value for name, value in values.items() if value is not None and value is not False
    }
    if given and not any(map(is_database, targets)):
        names = ", ".join("--" + name.replace("_", "-") for name in given)
        raise ContractError(f"{names}: for a database, and none is named")
    return given


def from_anywhere(target: str) -> str:
    """A target that means the same database in every folder."""
    from urllib.parse import quote

    path = _path(target)
    if path is None:
        return target
    return str(path) if is_database(str(path)) else f"sqlite:///{quote(str(path))}"


def name_of(target: str) -> str:
    """What people call a database: by its file, or by the end of its URL."""
    path = _path(target)
    if path is not None:
        return path.stem
    from urllib.parse import urlsplit

    return urlsplit(target).path.strip("/") or "postgresql"


def is_there(target: str) -> bool:
    """Whether there is such a file; what is no file is somewhere else."""
    path = _path(target)
    return path is None or path.exists()


def _path(target: str) -> Path | None:
    """The file that is meant, whole, whether it is there or not; None for PostgreSQL."""
    scheme, _, file = target.partition(":///")
    if scheme.lower() == "sqlite" and file and "?" not in file:
        from urllib.parse import unquote

        target = unquote(file)
    elif ":" in target:
        from accord.sources.sql.target import find

        find(target)  # which says what is wrong, if something is
        return None
    return Path(os.path.abspath(target))  # noqa: PTH100 - links stay as they are


def warn_of_tables(target: str, said: Mapping[str, Any]) -> None:
    """Warn of tables that are to be touched and are not there, as a server does at its start."""
    from accord.cli.forewarning import warn
    from accord.sources.sql import Database, Options

    database = Database(target, Options(**said))
    try:
        warn(name_of(target), database)
    finally:
        database.close()


def load(target: str, said: dict[str, Any], key: bytes | None, *, starts: bool) -> Server:
    """A database as a server; with `starts` it gets ready before anybody asks."""
    from accord.sources.sql import Database, Options, sql_tools

    database = Database(target, Options(**said))
    kind = "sqlite" if database.target.is_sqlite else "postgresql"
    server = Server(f"{kind}-mcp-server", version=_VERSION, profile="prose")
    for tool in sql_tools(database, key):
        server.add(tool)
    if starts:
        from accord.cli.forewarning import forewarn

        database.start()
        forewarn(name_of(target), database)
    return server


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(text)
    return names
