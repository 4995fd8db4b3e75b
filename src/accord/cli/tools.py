"""`accord tools`: prints the tools of servers as tables, or as JSON."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from accord.cli import databases, targets
from accord.cli.listing import counted, described, print_json, print_table, signature
from accord.cli.logs import log_directly
from accord.cli.options import GRACE_HELP, add_grace_argument, add_remote_options, reply_timeout
from accord.cli.parsing import Parser
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, stdout_to_stderr
from accord.cli.tool_names import warn_of_names
from accord.errors import ContractError
from accord.model.context import ClientInfo
from accord.model.tool import Tool
from accord.revisions import NEWEST
from accord.server import Server

EXAMPLES: Final = """\
  accord tools shop:server
  accord tools shop.py
  accord tools shop.db --read-only
  accord tools 'accord serve shop:server'
  accord tools shop:server --json
  accord tools chinook=chinook.db northwind=northwind.db
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.targets = True
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help=targets.HELP,
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the entries of tools/list as a JSON array, with their schemas",
    )
    add_grace_argument(parser, GRACE_HELP)
    add_remote_options(parser)
    databases.add_tool_options(parser.add_argument_group(databases.TITLE))


def run(options: argparse.Namespace) -> int:
    """Print a row for each tool: its signature and its description.

    Local targets are one table, as they would be served; each remote server has its own. As JSON
    all are one array. Names that some clients refuse are warnings on standard error.
    """
    log_directly()
    given_targets = targets.expand(options.targets)
    remote = [each for each in given_targets if targets.is_remote(each.target)]
    local = [each for each in given_targets if each not in remote]
    if not remote and (options.header or options.timeout is not None):
        raise ContractError("--header and --timeout require a remote server, and none is named")
    names = [each.target for each in local]
    targets.require_tools(*names)
    given = databases.database_options(options, *names, exclude=["timeout"])
    entries: list[Mapping[str, Any]] = []
    if local:
        entries += _list_local(local, given, grace=options.grace, prints_table=not options.json)
    for peer in remote:
        entries += _list_remote(peer, options)
    if options.json:
        print_json(entries)
    warn_of_names(
        (str(each.get("name", "")), _mapping(each.get("inputSchema"))) for each in entries
    )
    for name in filter(databases.is_database, names if "allow" in given else ()):
        databases.warn_of_tables(name, given)
    return 0


def _list_local(
    local: Sequence[Target], database: Mapping[str, Any], *, grace: float, prints_table: bool
) -> list[Mapping[str, Any]]:
    """Return the entries of local tools in the newest revision, and print their table."""
    with stdout_to_stderr(), StatusLine(f"loading {' '.join(each.word for each in local)}"):
        server = targets.load(local, database=database)
    identity, client = server.identity, ClientInfo(NEWEST)
    with _lifespan(server, grace):  # it may add tools
        tools = list(server.tools.values())
        entries: list[Mapping[str, Any]] = [
            server.dispatcher.renderer.tool_entry(tool, client) for tool in tools
        ]
        if prints_table:
            rows = [_local_row(tool) for tool in tools]
            print_table(f"{identity.name} {identity.version}: {counted(len(rows), 'tool')}", rows)
    return entries


def _lifespan(server: Server, grace: float) -> AbstractContextManager[object]:
    """Return a context manager that runs the lifespan of a server, if it has one."""
    if not server.registry.has_lifespan:
        return nullcontext()
    from accord.cli.local_run import LocalRun  # it imports asyncio

    return LocalRun(server, grace)


def _list_remote(target: Target, options: argparse.Namespace) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a remote server, and print their table.

    They are as it sent them, but for the prefix of their names.
    """
    from accord.cli import remote  # it imports asyncio

    headers, within = dict(options.header), reply_timeout(options)
    with remote.hinting(target):
        found = remote.tools(target.target, headers=headers, within=within)
    name, version = (str(found.server.get(key, "")) for key in ("name", "version"))
    entries = [_prefixed(entry, target.prefix) for entry in found.tools]
    if not options.json:
        title = f"{target.name or name or target.target} {version}".rstrip()
        rows = [_remote_row(entry) for entry in entries]
        print_table(f"{title}: {counted(len(rows), 'tool')}", rows)
    return entries


def _prefixed(entry: Mapping[str, Any], prefix: str) -> Mapping[str, Any]:
    name = entry.get("name")
    return {**entry, "name": prefix + name} if prefix and isinstance(name, str) else entry


def _local_row(tool: Tool) -> tuple[str, str]:
    hints = tool.hints
    return _row(
        tool.name,
        tool.input_schema,
        tool.description,
        bool(hints.read_only),
        bool(hints.destructive),
    )


def _remote_row(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the row of a listed tool, whose members may have any type."""
    hints = _mapping(entry.get("annotations"))
    return _row(
        str(entry.get("name", "")),
        _mapping(entry.get("inputSchema")),
        str(entry.get("description") or ""),
        hints.get("readOnlyHint") is True,
        hints.get("destructiveHint") is True,
    )


def _row(
    name: str, schema: Mapping[str, Any], description: str, is_read_only: bool, is_destructive: bool
) -> tuple[str, str]:
    """Return the signature and the description of a tool."""
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    takes = [(each, each in needed) for each in _mapping(schema.get("properties"))]
    marks = [("[read-only]", is_read_only), ("[destructive]", is_destructive)]
    return signature(name, takes), described(description, *(mark for mark, is_so in marks if is_so))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
