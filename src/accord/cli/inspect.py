"""`accord inspect`: serves the web page for a remote server."""

import argparse
import asyncio
import contextlib
import shlex
import sys
from pathlib import Path
from typing import Final

from accord.cli import targets
from accord.cli.logs import log_in_background
from accord.cli.options import add_remote_options, reply_timeout
from accord.cli.remote import auth_for, hinting
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, visible
from accord.errors import ContractError
from accord.gateway.config import read_config
from accord.revisions import REVISIONS
from accord.serve.shutdown import exit_within

EXAMPLES: Final = """\
examples:
  accord inspect 'npx -y @modelcontextprotocol/server-everything'
  accord inspect https://mcp.example.com/mcp
  accord inspect https://example.com/mcp --header 'Authorization: Bearer ...'
  accord inspect 'accord serve shop:server' --http 127.0.0.1:8080 --open
  accord inspect mcp.json
"""
_CLOSE_TIMEOUT: Final = 6.0  # seconds for a child process to end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help=f"{targets.REMOTE_HELP}; NAME= before it names it on the page; or mcp.json, all of"
        " whose servers are shown",
    )
    parser.add_argument(
        "--http",
        default="127.0.0.1:8001",
        metavar="HOST:PORT",
        help="address of the page (default %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        help="the MCP revision to use (default: what the server prefers)",
    )
    add_remote_options(parser)


def run(options: argparse.Namespace) -> int:
    """Serve the page until interrupted; Ctrl-C ends the server's process first."""
    if targets.is_servers_file(options.target):
        return _inspect_all(options)
    target = targets.parse(options.target)
    if targets.is_config(options.target) or not targets.is_remote(target.target):
        raise ContractError(
            f"{options.target} is not a command line or URL; for a Server run: "
            f"accord serve {options.target} --http 127.0.0.1:8000"
        )
    log_in_background()
    with hinting(target):
        asyncio.run(_inspect(options, target))
    return 0


def _inspect_all(options: argparse.Namespace) -> int:
    """Serve the page for all servers of a file, through a gateway in a process of its own."""
    read_config(Path(options.target))  # a mistake in it is shown here
    if options.header:
        raise ContractError("--header is for a URL; a file has the headers of each server")
    command = [sys.executable, "-m", "accord", "serve", options.target]
    named = Target(shlex.join(command), word=options.target)
    log_in_background()
    asyncio.run(_inspect(options, named))
    return 0


async def _inspect(options: argparse.Namespace, named: Target) -> None:
    from accord.inspector.call_stats import CallStats
    from accord.inspector.page import Page, StandaloneApp
    from accord.inspector.remote_target import RemoteTarget
    from accord.serve.http import listen as http

    stats = CallStats()
    line = StatusLine(f"reaching {visible(options.target)}")
    headers = dict(options.header)
    target = RemoteTarget(
        named.target,
        label=named.word,
        headers=headers,
        auth=auth_for(named.target, headers, line),
        revision=options.revision,
        timeout=reply_timeout(options),
        stats=stats,
    )
    page = Page(target, stats, is_open=False)
    with http.listening(http.Address.parse(options.http)) as (listener, where):
        async with contextlib.aclosing(target):
            with line:
                await target.open()
            app = StandaloneApp(page, lambda: _announce(page.link(where.url), opens=options.open))
            await http.host(
                app,
                listener,
                http.Settings(),
                on_end=lambda seconds: exit_within(seconds + _CLOSE_TIMEOUT),
            )


def _announce(link: str, *, opens: bool) -> None:
    print(f"page at {link}", file=sys.stderr)
    if opens:
        import webbrowser

        webbrowser.open(link)
