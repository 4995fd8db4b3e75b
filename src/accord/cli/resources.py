"""`accord resources`: lists the resources of servers, and their templates."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from accord.cli.listing import counted, described, print_json, print_table
from accord.cli.logs import log_directly
from accord.cli.parsing import Parser
from accord.cli.session import (
    add_session_options,
    add_target_arguments,
    each_server,
    entries,
    title_of,
)
from accord.cli.terminal import StatusLine, visible
from accord.client import Client

EXAMPLES: Final = """\
  accord resources shop.py
  accord resources shop.db --explore
  accord resources 'npx -y some-server' --json
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    add_target_arguments(parser, several=True)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the entries of resources/list and resources/templates/list as a JSON array",
    )
    add_session_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print a row for each resource and template: its URI, and what it is."""
    log_directly()
    found: list[Mapping[str, Any]] = []
    for target, (server, resources, templates) in each_server(options, "listing resources", _lists):
        found += [*resources, *templates]
        if not options.json:
            counts = [counted(len(resources), "resource")]
            if templates:
                counts.append(counted(len(templates), "template"))
            rows = [_row(entry) for entry in (*resources, *templates)]
            print_table(f"{title_of(server, target)}: {', '.join(counts)}", rows)
    if options.json:
        print_json(found)
    return 0


async def _lists(client: Client, _: StatusLine) -> tuple[Mapping[str, Any], list[Any], list[Any]]:
    resources = await entries(client.list_resources())
    return client.server_info, resources, await entries(client.list_resource_templates())


def _row(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the row of an entry, whose members may have any type."""
    uri = entry.get("uri", entry.get("uriTemplate"))
    about = entry.get("description") or entry.get("title") or entry.get("name") or ""
    kind, size = entry.get("mimeType"), entry.get("size")
    marks = [f"[{kind}]"] if kind else []
    if isinstance(size, int):
        marks.append(f"[{size:,} bytes]")
    return visible(str(uri or "")), described(str(about), *marks)
