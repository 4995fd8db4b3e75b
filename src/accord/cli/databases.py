"""Databases on the command line: their targets, options and servers."""

import argparse
import logging
import os
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accord.cli.values import invalid, seconds, size
from accord.errors import ContractError
from accord.model.answer import Problem
from accord.server import Server

if TYPE_CHECKING:
    from accord.model.tool import Tool
    from accord.sources.sql import Database

log: logging.Logger = logging.getLogger("accord")

TITLE: Final = "Databases"
"""The title of the options of a database."""
_TARGET: Final = re.compile(
    r"sqlite:.*|postgres(?:ql)?(?:\+psycopg)?://.*|[^:]*\.(?:db|db3|sqlite|sqlite3)", re.I | re.S
)
_VERSION: Final = "1.0.0"
OPTIONS: Final = (
    "read_only",
    "explore",
    "create",
    "wal",
    "allow",
    "max_rows",
    "timeout",
    "max_length",
    "rows",
    "queries",
    "only_queries",
)
_OF_QUERIES: Final = ("queries", "only_queries")
"""Options that are about saved queries, not about the database."""


def is_database(target: str, folder: Path | None = None) -> bool:
    """True if a target is the URL of a database, or a file with the suffix of one.

    Several words are a command line, unless a file in `folder` has that path.
    """
    if _TARGET.fullmatch(target) is None:
        return False
    is_one_word = ":" in target or len(target.split()) == 1  # `:` is in a URL only
    return is_one_word or _is_file((folder or Path()) / target)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # it is too long
        return False


def may_be_file(target: str) -> bool:
    """True if a command line has the suffix of a database."""
    return _TARGET.fullmatch(target) is not None


def add_arguments(parser: argparse.ArgumentParser, *, timeout: bool = True) -> None:
    """Add the options of a database; without `timeout` where the command has its own."""
    group = parser.add_argument_group(TITLE)
    add_tool_options(group)
    group.add_argument(
        "--max-rows",
        type=size,
        metavar="ROWS",
        help="maximum number of rows in a result (default 500)",
    )
    group.add_argument(
        "--rows",
        choices=["objects", "compact"],
        help="format of rows unless a call asks for another: objects (default), or compact, which"
        " names the columns once",
    )
    if timeout:
        group.add_argument(
            "--timeout",
            type=seconds,
            metavar="SECONDS",
            help="time limit of each query (default 5)",
        )
    group.add_argument(
        "--max-length",
        type=size,
        metavar="BYTES",
        help="maximum size of a value in SQLite (default 1000000)",
    )
    group.add_argument(
        "--create",
        action="store_true",
        help="create an empty SQLite database if the file does not exist",
    )
    group.add_argument(
        "--wal",
        action="store_true",
        help="switch the SQLite file to write-ahead logging; without this option its journal mode"
        " stays",
    )


def add_tool_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that decide which tools and tables a database has."""
    group.add_argument("--read-only", action="store_true", help="offer no tools that write")
    group.add_argument(
        "--explore",
        action="store_true",
        help="add tools and resources for exploring the schema: search_schema, explain_query",
    )
    group.add_argument(
        "--allow",
        type=table_names,
        metavar="TABLE,…",
        help="the only tables that can be used; a view also needs its tables",
    )
    group.add_argument(
        "--queries",
        type=Path,
        metavar="PATH",
        help="saved queries, each of which is a tool: a .toml or .sql file, or a folder of them",
    )
    group.add_argument(
        "--only-queries",
        action="store_true",
        help="offer the saved queries only, not run_query and the other tools",
    )


def database_options(
    options: argparse.Namespace, *targets: str, exclude: Collection[str] = ()
) -> dict[str, Any]:
    """Return the options given for databases; an error if none of the targets is one.

    `exclude` are the options that mean something else to this command, or to these targets.
    """
    values = {name: getattr(options, name, None) for name in OPTIONS if name not in exclude}
    given = {
        name: value for name, value in values.items() if value is not None and value is not False
    }
    if given and not any(map(is_database, targets)):
        names = ", ".join("--" + name.replace("_", "-") for name in given)
        raise ContractError(f"{names}: only for a database, and no target is one")
    return given


def absolute_target(target: str, folder: Path | None = None) -> str:
    """Return a target that means the same database in every working directory.

    A relative path is relative to `folder`, or to the current one.
    """
    from urllib.parse import quote

    path = _path(target, folder)
    if path is None:
        return target
    return str(path) if is_database(str(path)) else f"sqlite:///{quote(str(path))}"


def database_name(target: str) -> str:
    """Return the name of a database: of its file, or the end of its URL."""
    path = _path(target)
    if path is not None:
        return path.stem
    from urllib.parse import urlsplit

    return urlsplit(target).path.strip("/") or "postgresql"


def exists(target: str) -> bool:
    """True if the file exists; also for PostgreSQL, which is not checked."""
    path = _path(target)
    return path is None or path.exists()


def _path(target: str, folder: Path | None = None) -> Path | None:
    """Return the absolute path of the file, which need not exist; None for PostgreSQL."""
    scheme, _, file = target.partition(":///")
    if scheme.lower() == "sqlite" and file and "?" not in file:
        from urllib.parse import unquote

        target = unquote(file)
    elif ":" in target:
        from accord.sources.sql.database import resolve_url

        resolve_url(target)  # raises if it is not one
        return None
    found = target if folder is None else str(folder / target)
    return Path(os.path.abspath(found))  # noqa: PTH100 - links stay as they are


def warn_of_tables(target: str, options: Mapping[str, Any]) -> None:
    """Warn of tables in --allow that do not exist, as a server does at its start."""
    database = connect(target, options)
    try:
        _log_faults(database_name(target), database)
    finally:
        database.close()


def connect(target: str, options: Mapping[str, Any]) -> "Database":
    """Return a database; its first worker starts with `start`, or with the first request."""
    from accord.sources.sql import Database, Options

    if options.get("only_queries") and options.get("queries") is None:
        raise ContractError("--only-queries requires --queries: a file or a folder of them")
    if options.get("only_queries") and options.get("explore"):
        raise ContractError("--only-queries cannot be combined with --explore; leave one out")
    of_database = {name: value for name, value in options.items() if name not in _OF_QUERIES}
    return Database(target, Options(**of_database))


def start(database: "Database", name: str) -> None:
    """Start a worker of a database before the first call, and check the database meanwhile."""
    database.start()
    _check_in_background(name, database)


def server_of(database: "Database", options: Mapping[str, Any], key: bytes | None) -> Server:
    """Return a server with the tools of one database."""
    kind = "sqlite" if database.is_sqlite else "postgresql"
    server = Server(f"{kind}-mcp-server", version=_VERSION, profile="prose")
    for tool in _tools(database, options, key):
        server.add(tool)
    return server


def schema_server(explored: Mapping[str, "Database"]) -> Server:
    """Return a server with one search over the schemas of all databases, and their resources."""
    from accord.sources.sql import schema_features

    server = Server("schemas", version=_VERSION, profile="prose")
    for feature in schema_features(explored):
        server.add(feature)
    return server


def _tools(database: "Database", options: Mapping[str, Any], key: bytes | None) -> Sequence["Tool"]:
    """Return the tools of a database, and those of its saved queries."""
    from accord.sources.sql import sql_tools
    from accord.sources.sql.schema_search import SEARCH

    path = options.get("queries")
    tools = [] if options.get("only_queries") else sql_tools(database, key)
    if path is None:
        return tools
    from accord.sources.sql.saved_queries import saved_queries  # it imports tomllib

    taken = {tool.name for tool in tools}
    if database.options.explore:
        taken.add(SEARCH)
    try:
        return tools + saved_queries(database, path, key, taken=taken)
    except ContractError:
        database.close()
        raise


def _check_in_background(name: str, database: "Database") -> None:
    """Check a database in a thread, unless nothing can be wrong.

    The start neither waits for it nor fails: a database may start later than its server.
    """
    if database.options.allow is not None or not database.is_sqlite:
        threading.Thread(target=_log_faults, args=(name, database), daemon=True).start()


def _log_faults(name: str, database: "Database") -> None:
    """Log a warning if a database cannot be reached, and for each allowed table it lacks."""
    import asyncio  # slow to import, and most servers check nothing

    for fault in asyncio.run(_faults(database)):
        log.warning("%s: %s", name, fault)


async def _faults(database: "Database") -> list[str]:
    from asyncio import gather

    from accord.sources.sql.messages import DescribeTable, ListTables

    try:
        await database.read(ListTables())
    except Problem as problem:
        return [problem.message]
    requests = [DescribeTable(table) for table in sorted(database.options.allow or ())]
    answers = await gather(*map(database.read, requests), return_exceptions=True)
    found = zip(requests, answers, strict=True)
    return [
        _fault(request.table_name, each) for request, each in found if isinstance(each, Problem)
    ]


def _fault(table: str, problem: Problem) -> str:
    """Describe why an allowed table cannot be read."""
    from accord.sources.sql.problems import quote_name

    is_missing = problem.kind == "not_found"
    reason = f"there is no table {quote_name(table)}" if is_missing else problem.message
    return f"--allow: {reason}"


def table_names(text: str) -> frozenset[str]:
    """Parse names with commas between them."""
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise invalid(text, "names with commas between them")
    return names
