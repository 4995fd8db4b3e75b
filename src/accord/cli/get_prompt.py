"""`accord get-prompt`: prints the messages of a prompt."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from accord.cli.arguments import arguments_of
from accord.cli.listing import print_json
from accord.cli.logs import log_directly
from accord.cli.media import Media, save, saved_line
from accord.cli.parsing import Parser
from accord.cli.session import (
    add_session_options,
    add_target_arguments,
    failure_printed,
    one_server,
    require_prefix,
    suggesting,
)
from accord.cli.terminal import StatusLine, for_stdout, visible
from accord.client import Client
from accord.errors import ContractError, MCPError
from accord.model.content import Audio, Embedded, Image, Link, Message

EXAMPLES: Final = """\
  accord get-prompt shop.py greet name=Ada
  accord get-prompt shop.py greet '{"name": "Ada"}' --json
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    add_target_arguments(parser, several=False)
    parser.add_argument("prompt", metavar="PROMPT", help="name of the prompt")
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="ARGUMENT",
        help="its arguments, which are texts: name=Ada, or a JSON object; - reads that from"
        " standard input",
    )
    parser.add_argument("--json", action="store_true", help="print the raw result")
    parser.add_argument(
        "--save-to",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder for images and audio (default: this folder)",
    )
    add_session_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print each message with its role; exit code 1 if the prompt is refused."""
    log_directly()
    name = require_prefix(options.target, options.prompt, "prompt")
    arguments = _texts(options.arguments)

    async def get(client: Client, line: StatusLine) -> Any:
        async with suggesting(name, client.list_prompts(), "name"):
            return await client.get_prompt(name, arguments, on_progress=line.progress)

    try:
        found = one_server(options, f"getting {visible(name)}", get)
    except MCPError as error:
        return failure_printed(error)
    if options.json:
        print_json(found.raw)
        return 0
    for number, each in enumerate(found.messages):
        print("\n" if number else "", end="")
        _print(each, options)
    return 0


def _texts(words: Sequence[str]) -> dict[str, str]:
    arguments = arguments_of(words)
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ContractError(f"{name} must be a text: the arguments of prompts are texts")
    return arguments


def _print(message: Message, options: argparse.Namespace) -> None:
    print(f"{message.role}:")
    match message.content:
        case str(text) | Embedded(content=str(text)):
            print(for_stdout(text), flush=True)
        case Link(uri):
            print(for_stdout(uri), flush=True)
        case Image(data, kind) | Audio(data, kind) | Embedded(_, bytes(data), kind):
            sys.stdout.flush()
            media = Media(data, kind or "", options.prompt)
            print(visible(saved_line(media, save(media, options.save_to))), file=sys.stderr)
