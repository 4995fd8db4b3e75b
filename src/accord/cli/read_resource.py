"""`accord read-resource`: prints a resource of a server, or saves it to a file."""

import argparse
import sys
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from accord.cli.listing import print_json
from accord.cli.logs import log_directly
from accord.cli.media import Media, save, saved_line
from accord.cli.parsing import Parser
from accord.cli.session import (
    add_session_options,
    add_target_arguments,
    failure_printed,
    one_server,
    suggesting,
)
from accord.cli.terminal import StatusLine, for_stdout, visible
from accord.client import Client
from accord.errors import ContractError, MCPError
from accord.model.content import Embedded

EXAMPLES: Final = """\
  accord read-resource shop.py shop://opening-hours
  accord read-resource shop.py shop://logo -o logo.png
  accord read-resource https://mcp.example.com/mcp shop://items/7 --json
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    add_target_arguments(parser, several=False)
    parser.add_argument(
        "uri", metavar="URI", help="URI of the resource, as accord resources lists it"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write its content to this file"
    )
    form.add_argument("--json", action="store_true", help="print the raw result")
    form.add_argument(
        "--save-to",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder for content that is not text (default: this folder)",
    )
    add_session_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print text to standard output, and save other content; exit code 1 if it is refused."""
    log_directly()

    async def read(client: Client, line: StatusLine) -> Any:
        if options.json:
            reply = await client.request("resources/read", {"uri": options.uri})
            return reply.result if reply.error is None else reply.error, reply.error is not None
        async with suggesting(options.uri, client.list_resources(), "uri"):
            return await client.read_resource(options.uri, on_progress=line.progress)

    try:
        found = one_server(options, f"reading {visible(options.uri)}", read)
    except MCPError as error:
        return failure_printed(error)
    if options.json:
        print_json(found[0])
        return 1 if found[1] else 0
    if options.output is not None:
        _write(options.output, found)
    else:
        for each in found:
            _print(each, options.save_to)
    return 0


def _write(file: Path, contents: list[Embedded]) -> None:
    if len(contents) != 1:
        raise ContractError(f"the resource has {len(contents)} contents; -o is for one")
    (content,) = contents
    data = content.content
    try:
        file.write_bytes(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise ContractError(f"could not write {file}: {error.strerror}") from error


def _print(content: Embedded, folder: Path) -> None:
    if isinstance(content.content, str):
        text = for_stdout(content.content)
        print(text, end="" if text.endswith("\n") else "\n", flush=True)
        return
    name = PurePosixPath(urlsplit(content.uri).path).stem or urlsplit(content.uri).netloc
    media = Media(content.content, content.mime_type or "", name)
    print(visible(saved_line(media, save(media, folder))), file=sys.stderr)
