"""`accord token`: makes bearer tokens for `accord serve --token-file`."""

import argparse
import sys
from pathlib import Path
from typing import Final

EXAMPLES: Final = """\
  accord token add ci --scope shop:read --file tokens.toml
  accord serve shop.db --http 127.0.0.1:8000 --token-file tokens.toml --scope shop:read
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("action", choices=["add"], help="add a token")
    parser.add_argument("name", metavar="NAME", help="name of the caller, for logs")
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="scope of the token; may be repeated",
    )
    parser.add_argument(
        "--file",
        type=Path,
        default=Path("tokens.toml"),
        metavar="TOML",
        help="token file; created if it does not exist (default tokens.toml)",
    )


def run(options: argparse.Namespace) -> int:
    """Add a token to the file, which keeps its SHA-256, and print the token once."""
    from accord.auth.static_tokens import add_token

    token = add_token(options.file, options.name, options.scope)
    print(token)
    print(f"{options.file} has its SHA-256; keep the token, it is not shown again", file=sys.stderr)
    return 0
