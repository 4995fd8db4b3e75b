"""`accord serve`: tools over stdio, or over HTTP."""

import argparse
import gc
import sys
from typing import Final

import msgspec

from accord.cli import databases, targets
from accord.cli.form_arguments import add_sheet_arguments, said_of_sheets
from accord.cli.keys import add_key_argument, key_of
from accord.cli.logs import log_in_background
from accord.cli.options import seconds
from accord.cli.startup import uncollected
from accord.errors import ContractError
from accord.profiles import PROFILES
from accord.serve import stdio
from accord.serve.pipes import take_pipes
from accord.serve.shutdown import exit_within
from accord.server import Server
from accord.telemetry import Telemetry

EXAMPLES: Final = """\
examples:
  accord serve shop:server
  accord serve shop.py:server other:server --name shops
  accord serve shop:server --http 127.0.0.1:8000
  accord serve shop:server --profile envelope
  accord serve reader --http 127.0.0.1:8000
  accord serve shop.db --read-only --max-rows 100
  accord serve sheets --out ./sheets
"""
_ON_A_PAGE: Final = "--http 127.0.0.1:8000 shows it on a page"
_HERE: Final = {"//0.0.0.0:": "//127.0.0.1:", "//[::]:": "//[::1]:"}
_CONTRACTS: Final = {"v1": "plain", "v2": "envelope", None: None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help=f"{targets.HELP}; reader, which reads anybody's replies, with --http",
    )
    parser.add_argument("--name", help="what the server calls itself")
    parser.add_argument("--server-version", metavar="VERSION", help="the version it says it has")
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve over HTTP instead of stdio: MCP at /mcp, replies to read at /read, a page to"
        " look at it all at /",
    )
    parser.add_argument("--no-page", action="store_true", help="with --http: leave out the page")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="with --http: answer to this name too; may be repeated",
    )
    parser.add_argument(
        "--log-format",
        choices=["text", "json"],
        help="with --http: how the line for each call is written (default text)",
    )
    _add_answer_arguments(parser)
    databases.add_arguments(parser)
    add_sheet_arguments(parser)
    parser.add_argument(
        "--grace",
        type=seconds,
        default=stdio.Settings().grace,
        metavar="SECONDS",
        help="how long open calls may go on once the input has ended (default %(default)s)",
    )


def _add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    """How answers are worded, and how large they get."""
    wording = parser.add_mutually_exclusive_group()
    wording.add_argument(
        "--profile",
        choices=list(PROFILES),
        help="how answers are worded, where neither the client nor the tool asks for another way",
    )
    wording.add_argument(
        "--contract",
        choices=["v1", "v2"],
        help="v2 is --profile envelope (response-v2), v1 is --profile plain",
    )
    parser.add_argument(
        "--no-structure",
        action="store_true",
        help="send text alone, and save the tokens that structuredContent costs",
    )
    parser.add_argument(
        "--max-bytes",
        type=int,
        metavar="BYTES",
        help="the most text that an answer may have (default 262144)",
    )
    add_key_argument(parser)
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="count calls, and show them in envelopes, in spans and at /metrics",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends, or over HTTP until somebody stops it."""
    log_in_background()
    if options.http is None:
        require_stdio(options)
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        pipes = take_pipes()
        server = _load(options)
        if is_terminal:
            said = f"{stdio.AT_A_TERMINAL}, and {_ON_A_PAGE}"
            print(f"{server.identity.name}: {said}", file=sys.stderr)
        stdio.serve(server, pipes, stdio.Settings(grace=options.grace), on_end=exit_within)
    else:
        from accord.cli.patience import Patience  # stdio starts without, where nobody looks on

        with Patience(f"loading {' '.join(options.targets)}"):
            server = _load(options)
        _serve_http(server, options)
    return 0


def require_stdio(options: argparse.Namespace) -> None:
    """Refuse what cannot be done over stdio, or would do nothing."""
    if any(map(targets.is_reader, options.targets)):
        raise ContractError("the reader is served over HTTP alone: add --http 127.0.0.1:8000")
    given = {
        "--no-page": options.no_page,
        "--allow-host": options.allow_host,
        "--log-format": options.log_format,
    }
    for name, value in given.items():
        if value:
            raise ContractError(f"{name} is for HTTP: add --http 127.0.0.1:8000")


@uncollected()
def _load(options: argparse.Namespace) -> Server:
    server = targets.load(
        options.targets,
        database=databases.database_options(options, *options.targets),
        starts=True,
        sheets=said_of_sheets(options, *options.targets),
        profile=options.profile or _CONTRACTS[options.contract],
        structured=False if options.no_structure else None,
        max_bytes=options.max_bytes,
        key=key_of(options),
        telemetry=Telemetry(spans=True) if options.telemetry else None,
    )
    changes = {"name": options.name, "version": options.server_version}
    given = {key: value for key, value in changes.items() if value is not None}
    server.identify(msgspec.structs.replace(server.identity, **given))
    _collect_less()
    return server


def _serve_http(server: Server, options: argparse.Namespace) -> None:
    from accord.inspector.own import Own
    from accord.inspector.page import Page
    from accord.inspector.tally import Tally
    from accord.serve.http import listen as http  # an extra: uvicorn, which stdio has no use for

    tally = None if options.no_page else Tally()
    settings = http.Settings(
        grace=options.grace, allow_hosts=tuple(options.allow_host), reader=True
    )
    access = http.AccessLog(options.log_format or "text", None if tally is None else tally.add)
    page = None
    if tally is not None:
        page = Page(Own(server, access), tally, is_open=True, mcp_path=settings.path)
    reads = any(map(targets.is_reader, options.targets))

    def tell(url: str) -> None:
        said = _places(url, reads=reads, has_page=page is not None)
        print(f"{server.identity.name}: {said}", file=sys.stderr)

    http.serve(
        server,
        http.Address.parse(options.http),
        settings,
        access,
        page=page,
        ready=tell,
        on_end=exit_within,
    )


def _places(url: str, *, reads: bool, has_page: bool) -> str:
    """What is served where, at an address that the server answers to from this machine."""
    for everywhere, here in _HERE.items():
        url = url.replace(everywhere, here)
    top = url.removesuffix("mcp")
    replies = f"replies are read at {top}read, " if reads else ""
    page = f" and a page at {top}" if has_page else ""
    return f"{replies}MCP at {url}{page}"


def _collect_less() -> None:
    """What is loaded by now stays, and a burst of calls leaves nothing behind to search for."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
