"""`accord tools`: the tools of a server, ours or somebody else's, as a table for a person."""

import argparse
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from accord.cli import databases, targets
from accord.cli.logs import log_at_once
from accord.cli.options import add_peer_options, patience
from accord.cli.patience import Patience
from accord.cli.quiet import quiet
from accord.cli.visible import visible
from accord.errors import ContractError
from accord.model.tool import Tool

EXAMPLES: Final = """\
examples:
  accord tools shop:server
  accord tools shop.py
  accord tools shop.db --read-only
  accord tools 'accord serve shop:server'
"""
_GAP: Final = "  "
_NARROWEST: Final = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument(
        "targets", nargs="+", metavar="TARGET", help=f"{targets.HELP}; or {targets.PEER_HELP}"
    )
    add_peer_options(parser)
    databases.add_tool_options(parser.add_argument_group("for a database"))


def run(options: argparse.Namespace) -> int:
    """Print a row for each tool: how it is called, and what it does.

    Servers of ours are one table, as they would be served; each of somebody else's has its own.
    """
    log_at_once()
    peers = [target for target in options.targets if targets.is_peer(target)]
    ours = [target for target in options.targets if target not in peers]
    if not peers and (options.header or options.timeout is not None):
        raise ContractError("--header and --timeout: for somebody else's server, and none is named")
    targets.require_tools(*ours)
    said = databases.database_options(options, *ours, exclude=["timeout"])
    if ours:
        _print_ours(ours, said)
    for peer in peers:
        _print_theirs(peer, options)
    return 0


def _print_ours(names: Sequence[str], said: Mapping[str, Any]) -> None:
    with quiet(), Patience(f"loading {' '.join(names)}"):
        server = targets.load(names, database=said)
    identity = server.identity
    _print(identity.name, identity.version, [_of_ours(tool) for tool in server.tools.values()])
    for name in filter(databases.is_database, names if "allow" in said else ()):
        databases.warn_of_tables(name, said)


def _print_theirs(target: str, options: argparse.Namespace) -> None:
    from accord.cli import peers  # what a Server of ours has no use for

    found = peers.tools(target, headers=dict(options.header), within=patience(options))
    name, version = (str(found.server.get(key, "")) for key in ("name", "version"))
    _print(name or target, version, [_of_theirs(entry) for entry in found.tools])


def _print(name: str, version: str, rows: list[tuple[str, str]]) -> None:
    count = len(rows)
    print(visible(f"{f'{name} {version}'.rstrip()}: {count} tool{'' if count == 1 else 's'}"))
    for line in _table(rows):
        print(line)


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    """Two columns in the room that there is; a name that is too long for its own stays whole."""
    columns = max(shutil.get_terminal_size().columns, _NARROWEST)
    longest = max((len(call) for call, _ in rows), default=0)
    width = min(longest, columns // 2 - len(_GAP))
    room = columns - width - 2 * len(_GAP)
    for call, words in rows:
        calls = textwrap.wrap(
            call, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        texts = textwrap.wrap(words, room)
        if max(map(len, calls)) > width:
            texts = [""] * len(calls) + texts
        for left, right in zip_longest(calls, texts, fillvalue=""):
            yield f"{_GAP}{left:{width}}{_GAP}{right}".rstrip()


def _of_ours(tool: Tool) -> tuple[str, str]:
    hints = tool.hints
    return _row(
        tool.name,
        tool.input_schema,
        tool.description,
        bool(hints.read_only),
        bool(hints.destructive),
    )


def _of_theirs(entry: Mapping[str, Any]) -> tuple[str, str]:
    """A row of what somebody sent, which may be anything."""
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
    """How a tool is called, and what it does."""
    required = schema.get("required")
    is_needed = set(map(str, required)) if isinstance(required, list) else set()
    takes = [n if n in is_needed else f"{n}?" for n in _mapping(schema.get("properties"))]
    marks = [("[read-only]", is_read_only), ("[destructive]", is_destructive)]
    words = [*description.partition("\n\n")[0].split(), *(mark for mark, is_so in marks if is_so)]
    return visible(f"{name}({', '.join(takes)})"), visible(" ".join(words))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
