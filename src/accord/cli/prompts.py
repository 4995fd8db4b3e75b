"""`accord prompts`: lists the prompts of servers."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, Final

from accord.cli.listing import counted, described, print_json, print_table, signature
from accord.cli.logs import log_directly
from accord.cli.parsing import Parser
from accord.cli.session import (
    add_session_options,
    add_target_arguments,
    each_server,
    entries,
    title_of,
)
from accord.cli.terminal import StatusLine
from accord.client import Client

EXAMPLES: Final = """\
  accord prompts shop.py
  accord prompts https://mcp.example.com/mcp
  accord prompts 'npx -y some-server' --json
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    add_target_arguments(parser, several=True)
    parser.add_argument(
        "--json", action="store_true", help="print the entries of prompts/list as a JSON array"
    )
    add_session_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print a row for each prompt: its signature and its description."""
    log_directly()
    printed: list[Mapping[str, Any]] = []
    for target, (server, found) in each_server(options, "listing prompts", _list):
        prefix = "" if target is None else target.prefix
        prompts = [{**each, "name": f"{prefix}{each.get('name', '')}"} for each in found]
        printed += prompts
        if not options.json:
            title = f"{title_of(server, target)}: {counted(len(prompts), 'prompt')}"
            print_table(title, [_row(entry) for entry in prompts])
    if options.json:
        print_json(printed)
    return 0


async def _list(client: Client, _: StatusLine) -> tuple[Mapping[str, Any], list[Any]]:
    return client.server_info, await entries(client.list_prompts())


def _row(entry: Mapping[str, Any]) -> tuple[str, str]:
    return (
        signature(entry["name"], _arguments(entry)),
        described(str(entry.get("description") or entry.get("title") or "")),
    )


def _arguments(entry: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the arguments of a prompt, and whether each is required."""
    given = entry.get("arguments")
    for each in given if isinstance(given, list) else ():
        if isinstance(each, dict):
            yield str(each.get("name", "")), each.get("required") is True
