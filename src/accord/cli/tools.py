"""`accord tools`: the tools of a server, as a table for a person."""

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from accord.cli import databases, targets
from accord.cli.patience import Patience
from accord.cli.quiet import quiet
from accord.cli.visible import visible
from accord.tool import Tool

EXAMPLES: Final = """\
examples:
  accord tools shop:server
  accord tools shop.py
  accord tools shop.db --read-only
"""
_GAP: Final = "  "
_NARROWEST: Final = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=targets.HELP)
    databases.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print a row for each tool: how it is called, and what it does."""
    with quiet(), Patience(f"loading {' '.join(options.targets)}"):
        said = databases.said_of_databases(options, *options.targets)
        server = targets.load(options.targets, database=said)
    identity = server.identity
    count = len(server.tools)
    print(f"{identity.name} {identity.version}: {count} tool{'' if count == 1 else 's'}")
    for line in _table([(_signature(tool), _words(tool)) for tool in server.tools.values()]):
        print(line)
    return 0


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    columns = max(shutil.get_terminal_size().columns, _NARROWEST)
    longest = max((len(call) for call, _ in rows), default=0)
    width = min(longest, columns // 2 - len(_GAP))
    room = columns - width - 2 * len(_GAP)
    for call, words in rows:
        calls = textwrap.wrap(call, width, subsequent_indent="  ") or [""]
        texts = textwrap.wrap(words, room) or [""]
        for index in range(max(len(calls), len(texts))):
            left = calls[index] if index < len(calls) else ""
            right = texts[index] if index < len(texts) else ""
            yield f"{_GAP}{left:{width}}{_GAP}{right}".rstrip()


def _signature(tool: Tool) -> str:
    required = tool.input_schema.get("required", [])
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    return visible(f"{tool.name}({', '.join(n if n in required else n + '?' for n in properties)})")


def _words(tool: Tool) -> str:
    summary = tool.description.partition("\n\n")[0]
    marks = [
        mark
        for mark, given in (
            ("read-only", tool.hints.read_only),
            ("destructive", tool.hints.destructive),
        )
        if given
    ]
    return visible(" ".join([*summary.split(), *(f"[{mark}]" for mark in marks)]))
