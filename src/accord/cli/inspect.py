"""`accord inspect`: the page for somebody else's server."""

import argparse
import asyncio
import contextlib
import sys
from typing import Final

from accord.cli import targets
from accord.cli.logs import log_in_background
from accord.cli.options import add_peer_options, patience
from accord.cli.patience import Patience
from accord.cli.visible import visible
from accord.errors import ContractError
from accord.revisions import REVISIONS
from accord.serve.shutdown import exit_within

EXAMPLES: Final = """\
examples:
  accord inspect 'npx -y @modelcontextprotocol/server-everything'
  accord inspect https://example.com/mcp --header 'Authorization: Bearer ...'
  accord inspect 'accord serve shop:server' --http 127.0.0.1:8080 --open
"""
_FAREWELL: Final = 6.0  # seconds that a child may take to end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("target", metavar="TARGET", help=targets.PEER_HELP)
    parser.add_argument(
        "--http",
        default="127.0.0.1:8001",
        metavar="HOST:PORT",
        help="where the page is (default %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="show the page in a browser at once")
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        help="the MCP revision to speak (default: what the server prefers)",
    )
    add_peer_options(parser)


def run(options: argparse.Namespace) -> int:
    """Show the page until somebody stops it. Ctrl-C ends the server's process first."""
    if not targets.is_peer(options.target):
        raise ContractError(
            f"{options.target} is no command line and no URL; for a Server of yours say: "
            f"accord serve {options.target} --http 127.0.0.1:8000"
        )
    log_in_background()
    asyncio.run(_inspect(options))
    return 0


async def _inspect(options: argparse.Namespace) -> None:
    from accord.inspector.alone import Alone
    from accord.inspector.others import Others
    from accord.inspector.page import Page
    from accord.inspector.tally import Tally
    from accord.serve.http import listen as http

    tally = Tally()
    target = Others(
        options.target,
        headers=dict(options.header),
        revision=options.revision,
        timeout=patience(options),
        tally=tally,
    )
    page = Page(target, tally, is_open=False)
    with http.listening(http.Address.parse(options.http)) as (listener, where):
        async with contextlib.aclosing(target):
            with Patience(f"reaching {visible(options.target)}"):
                await target.open()
            app = Alone(page, lambda: _tell(page.link(where.url), opens=options.open))
            await http.host(app, listener, http.Settings(), on_end=_exit_within)


def _tell(link: str, *, opens: bool) -> None:
    print(f"page at {link}", file=sys.stderr)
    if opens:
        import webbrowser

        webbrowser.open(link)


def _exit_within(seconds: float) -> None:
    exit_within(seconds + _FAREWELL)
