"""`accord logout`: forgets the sign-in at a remote server, and revokes its tokens."""

import argparse
import asyncio
import sys
from typing import Final

from accord.auth.fetch import bare
from accord.auth.sign_in import SignIn
from accord.cli.logs import log_directly
from accord.cli.remote import require_url
from accord.cli.terminal import visible

EXAMPLES: Final = """\
  accord logout https://mcp.example.com/mcp
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("url", metavar="URL", help="URL of the server")


def run(options: argparse.Namespace) -> int:
    """Sign out; exit code 1 if there is no sign-in."""
    log_directly()
    require_url(options.url)
    found = asyncio.run(SignIn(interactive=False).sign_out(options.url))
    url = visible(bare(options.url))
    if found is None:
        print(f"accord logout: not signed in to {url}", file=sys.stderr)
        return 1
    grant, was_revoked = found
    ending = " and revoked"
    if not was_revoked:
        ending = (
            f"; {bare(grant.issuer)} has not revoked them all, so some are valid until they expire"
        )
    print(visible(f"Signed out of {url}: the tokens are deleted{ending}"))
    return 0
