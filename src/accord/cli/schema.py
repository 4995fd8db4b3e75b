"""`accord schema`: prints a published JSON Schema, for a validator, a model or n8n."""

import argparse
from typing import Final

import msgspec

from accord.model import schemas

EXAMPLES: Final = """\
examples:
  accord schema response-v2
  accord schema generic --for n8n
  accord schema generic --wrapped
"""
_ALIASES: Final = {"envelope": "response-v2"}
"""Other names of schemas."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "name",
        choices=[*schemas.NAMES, *_ALIASES],
        metavar="NAME",
        help=f"one of {', '.join(schemas.NAMES)}; envelope is response-v2",
    )
    parser.add_argument(
        "--for",
        choices=["n8n"],
        dest="reader",
        help="write it for n8n's Structured Output Parser: no references, no conditions",
    )
    parser.add_argument(
        "--wrapped",
        action="store_true",
        help='put it into {"name": ..., "strict": false, "schema": ...}, as model APIs take it',
    )


def run(options: argparse.Namespace) -> int:
    """Print the schema as indented JSON."""
    name = _ALIASES.get(options.name, options.name)
    schema = schemas.load(name)
    if options.reader == "n8n":
        schema = schemas.for_n8n(schema)
    if options.wrapped:
        schema = schemas.wrapped(name, schema)
    print(msgspec.json.format(msgspec.json.encode(schema), indent=2).decode())
    return 0
