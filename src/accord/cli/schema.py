"""`accord schema`: a published JSON Schema, to hand to a validator, a model or n8n."""

import argparse
from typing import Final

import msgspec

from accord import schemas

EXAMPLES: Final = """\
examples:
  accord schema response-v2
  accord schema generic --for n8n
  accord schema generic --wrapped
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument(
        "name", choices=schemas.NAMES, metavar="NAME", help=f"one of {', '.join(schemas.NAMES)}"
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
    schema = schemas.load(options.name)
    if options.reader == "n8n":
        schema = schemas.for_n8n(schema)
    if options.wrapped:
        schema = schemas.wrapped(options.name, schema)
    print(msgspec.json.format(msgspec.json.encode(schema), indent=2).decode())
    return 0
