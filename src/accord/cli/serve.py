"""`accord serve`: tools over stdio, or over HTTP."""

import argparse
import gc
import os
import sys
import threading
from typing import Final

import msgspec

from accord.cli import targets
from accord.cli.logs import log_in_background
from accord.serve import stdio
from accord.serve.pipes import take_pipes
from accord.server import Server

EXAMPLES: Final = """\
examples:
  accord serve shop:server
  accord serve shop.py:server other:server --name shops
  accord serve shop:server --http 127.0.0.1:8000
"""
_LAST_BREATH: Final = 0.5  # seconds for Python to end by itself once the time is up


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=targets.HELP)
    parser.add_argument("--name", help="what the server calls itself")
    parser.add_argument("--server-version", metavar="VERSION", help="the version it says it has")
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="serve over HTTP, at /mcp, instead of stdio"
    )
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
        default="text",
        help="with --http: how the line for each call is written (default %(default)s)",
    )
    parser.add_argument(
        "--grace",
        type=seconds,
        default=stdio.Settings().grace,
        metavar="SECONDS",
        help="how long open calls may go on once the input has ended (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends, or over HTTP until somebody stops it."""
    log_in_background()
    if options.http is None:
        pipes = take_pipes()
        stdio.serve(_load(options), pipes, stdio.Settings(grace=options.grace), on_end=_exit_within)
    else:
        _serve_http(_load(options), options)
    return 0


def _load(options: argparse.Namespace) -> Server:
    server = targets.load(options.targets)
    changes = {"name": options.name, "version": options.server_version}
    given = {key: value for key, value in changes.items() if value is not None}
    server.identify(msgspec.structs.replace(server.identity, **given))
    _collect_less()
    return server


def _serve_http(server: Server, options: argparse.Namespace) -> None:
    from accord.serve.http import listen as http  # an extra: uvicorn, which stdio has no use for

    http.serve(
        server,
        http.Address.parse(options.http),
        http.Settings(grace=options.grace, allow_hosts=tuple(options.allow_host)),
        http.AccessLog(options.log_format),
        ready=lambda url: print(f"{server.identity.name}: MCP at {url}", file=sys.stderr),
        on_end=_exit_within,
    )


def _collect_less() -> None:
    """What is loaded by now stays, and a burst of calls leaves nothing behind to search for."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


def _exit_within(seconds: float) -> None:
    """End the process in any case: a tool may block the loop, or hold on to a thread."""
    watchdog = threading.Timer(seconds + _LAST_BREATH, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()


def seconds(text: str) -> float:
    """A time that one can wait."""
    number = float(text)
    if not 0 <= number < threading.TIMEOUT_MAX:
        raise ValueError(text)
    return number
