"""`accord schema`: prints a published JSON Schema, for a validator, a model or n8n."""

import argparse
from typing import Final

import msgspec

from accord.errors import ContractError
from accord.model import schemas

EXAMPLES: Final = """\
  accord schema response-v2
  accord schema generic --for n8n
  accord schema generic --wrapped
  accord schema gateway
"""
GATEWAY: Final = "gateway"
"""The schema of the file with the servers behind a gateway."""
_ALIASES: Final = {"envelope": "response-v2"}
"""Other names of schemas."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "name",
        choices=[*schemas.NAMES, GATEWAY, *_ALIASES],
        metavar="NAME",
        help=f"one of {', '.join(schemas.NAMES)}; envelope is response-v2; {GATEWAY} is that of"
        " mcp.json",
    )
    parser.add_argument(
        "--for",
        choices=["n8n"],
        dest="reader",
        help="write it for n8n's Structured Output Parser: without references and conditions",
    )
    parser.add_argument(
        "--wrapped",
        action="store_true",
        help='wrap it in {"name": ..., "strict": false, "schema": ...}, as model APIs take it',
    )


def run(options: argparse.Namespace) -> int:
    """Print the schema as indented JSON."""
    name = _ALIASES.get(options.name, options.name)
    if name == GATEWAY:
        _print_gateway(options)
        return 0
    schema = schemas.load(name)
    if options.reader == "n8n":
        schema = schemas.for_n8n(schema)
    if options.wrapped:
        schema = schemas.wrapped(name, schema)
    _print(schema)
    return 0


def _print_gateway(options: argparse.Namespace) -> None:
    from accord.gateway.config import config_schema

    if options.reader is not None or options.wrapped:
        raise ContractError(f"--for and --wrapped are for schemas of results, not {GATEWAY}")
    _print(config_schema())


def _print(schema: schemas.JsonSchema) -> None:
    print(msgspec.json.format(msgspec.json.encode(schema), indent=2).decode())
