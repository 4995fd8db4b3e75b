"""`accord serve`: serves tools over stdio or HTTP."""

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from accord.cli import databases, targets
from accord.cli.auth_options import add_auth_arguments, given_options, http_settings
from accord.cli.foreign_options import add_foreign_arguments, foreign_options
from accord.cli.logs import log_in_background
from accord.cli.main import gc_disabled
from accord.cli.options import (
    add_grace_argument,
    add_key_argument,
    add_sheet_arguments,
    key_from,
    sheet_options,
)
from accord.cli.parsing import Parser
from accord.cli.targets import Target
from accord.cli.tool_names import warn_of_names
from accord.cli.values import count, size
from accord.errors import ContractError
from accord.profiles import PROFILES
from accord.serve import stdio
from accord.serve.pipes import take_pipes
from accord.serve.shutdown import exit_within
from accord.server import Server
from accord.server.tasks import MEMORY, REDIS, SQLITE, require_store_name
from accord.telemetry import Telemetry

if TYPE_CHECKING:
    from accord.serve.http.worker import Worker

log: logging.Logger = logging.getLogger("accord")

EXAMPLES: Final = """\
  accord serve shop:server
  accord serve shop.py:server other:server --name shops
  accord serve shop:server --http 127.0.0.1:8000
  accord serve shop:server --http 127.0.0.1:8000 --workers 4
  accord serve shop:server --http 127.0.0.1:8000 --store redis://127.0.0.1:6379/0
  accord serve shop.db --http 127.0.0.1:8000 --token-file tokens.toml --scope shop:read
  accord serve shop:server --profile envelope
  accord serve reader --http 127.0.0.1:8000
  accord serve shop.db --read-only --max-rows 100
  accord serve sheets --out ./sheets
  accord serve chinook=chinook.db northwind=northwind.db
  accord serve accord.toml
  accord serve shop.py --http 127.0.0.1:8000 --reload
  accord serve mcp.json --http 127.0.0.1:8000
  accord serve fs='npx -y @modelcontextprotocol/server-filesystem /data' https://example.com/mcp
"""
_TASKS_FILE: Final = "tasks.db"
_PAGE_HINT: Final = "--http 127.0.0.1:8000 serves a page to try it on"
_LOOPBACK: Final = {"//0.0.0.0:": "//127.0.0.1:", "//[::]:": "//[::1]:"}
_STATS: Final = "stats"
_NO_KEY: Final = (
    "without --key-file, tasks in Redis are not encrypted, and sessions are not shared with other"
    " machines"
)
Announce = Callable[[str, str], None]
"""Prints the URL and the name of what is served."""
_CONTRACTS: Final = {"v1": "plain", "v2": "envelope", None: None}


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.targets = True
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help=f"{targets.HELP}; also reader, which normalises replies over HTTP",
    )
    parser.add_argument("--name", help="name of the server")
    parser.add_argument("--server-version", metavar="VERSION", help="version of the server")
    add_key_argument(parser)
    parser.add_argument(
        "--store",
        metavar="STORE",
        help="where tasks are stored: memory (default), sqlite:PATH for processes of one machine,"
        " redis://HOST:PORT/N for several machines; workers share a file by default",
    )
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="count calls, for envelopes, OpenTelemetry spans and /metrics",
    )
    add_grace_argument(
        parser, "time for running calls and the lifespan to end after the input has ended"
    )
    _add_http_arguments(parser.add_argument_group("HTTP"))
    add_auth_arguments(parser)
    _add_result_arguments(parser.add_argument_group("Results"))
    add_foreign_arguments(parser)
    databases.add_arguments(parser)
    add_sheet_arguments(parser)


def _add_http_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of serving over HTTP."""
    group.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve over HTTP instead of stdio: MCP at /mcp, the reader at /read, a web page at /",
    )
    group.add_argument(
        "--workers",
        type=count,
        default=1,
        metavar="N",
        help="number of worker processes (default 1)",
    )
    group.add_argument(
        "--stateless",
        action="store_true",
        help="use no sessions; each request is served by itself",
    )
    group.add_argument(
        "--reload",
        action="store_true",
        help="restart when Python files, accord.toml or saved queries change; for development",
    )
    group.add_argument("--no-page", action="store_true", help="do not serve the web page")
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="accept this name in the Host header as well; may be repeated",
    )
    group.add_argument(
        "--log-format",
        choices=["text", "json"],
        help="format of the access log (default text)",
    )


def _add_result_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options for the format of results and their size."""
    rendering = group.add_mutually_exclusive_group()
    rendering.add_argument(
        "--profile",
        choices=list(PROFILES),
        help="format of results, unless the client or the tool asks for another",
    )
    rendering.add_argument(
        "--contract",
        choices=["v1", "v2"],
        help="v2 is --profile envelope (response-v2), v1 is --profile plain",
    )
    group.add_argument(
        "--no-structure",
        action="store_true",
        help="send results as text only, without structuredContent",
    )
    group.add_argument(
        "--max-bytes",
        type=size,
        metavar="BYTES",
        help="maximum size of the text of a result (default 262144)",
    )


def run(options: argparse.Namespace, announce: Announce | None = None) -> int:
    """Serve until the input ends, or over HTTP until interrupted.

    `announce` prints the URL and the name of what is served over HTTP.
    """
    log_in_background()
    given = targets.expand(options.targets, options)
    if options.store is not None:
        from accord.tasks.opening import require_reachable  # few servers have one

        asyncio.run(require_reachable(options.store))
    if options.http is None:
        require_stdio(options, given)
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        pipes = take_pipes()
        server = _load(options, given)
        if is_terminal:
            hint = f"{stdio.AT_A_TERMINAL}, and {_PAGE_HINT}"
            print(f"{server.identity.name}: {hint}", file=sys.stderr)
        stdio.serve(server, pipes, stdio.Settings(grace=options.grace), on_end=exit_within)
        return 0

    announce = announce or partial(_announce, options, given)
    if options.reload:
        from accord.cli.reload import reloader, watcher_of
        from accord.cli.workers import supervise

        return supervise(options, announce, reloader(watcher_of(given, options)))
    if options.workers > 1:
        from accord.cli.workers import supervise

        return supervise(options, announce)
    _load_and_serve(options, given, announce)
    return 0


def run_worker(options: argparse.Namespace, worker: "Worker") -> int:
    """Serve over HTTP as one of several workers."""
    log_in_background()
    given = targets.expand(options.targets, options)
    _load_and_serve(options, given, partial(_announce, options, given), worker)
    return 0


def _load_and_serve(
    options: argparse.Namespace,
    given: Sequence[Target],
    announce: Announce,
    worker: "Worker | None" = None,
) -> None:
    from accord.cli.terminal import StatusLine  # not needed for stdio

    if worker is not None and not worker.config.is_first:
        server = _load(options, given, worker)
    else:
        with StatusLine(f"loading {' '.join(options.targets)}"):
            server = _load(options, given, worker)
    _serve_http(server, options, announce, worker)


def require_stdio(options: argparse.Namespace, given: Sequence[Target]) -> None:
    """Raise on targets and options that require HTTP."""
    if any(targets.is_reader(each.target) for each in given):
        raise ContractError("the reader requires HTTP: add --http 127.0.0.1:8000")
    for_http = {
        "--no-page": options.no_page,
        "--allow-host": options.allow_host,
        "--log-format": options.log_format,
        "--workers": options.workers > 1,
        "--stateless": options.stateless,
        "--reload": options.reload,
        **given_options(options),
    }
    for name, value in for_http.items():
        if value:
            raise ContractError(f"{name} requires HTTP: add --http 127.0.0.1:8000")


@gc_disabled()
def _load(
    options: argparse.Namespace, given: Sequence[Target], worker: "Worker | None" = None
) -> Server:
    served = [each.target for each in given]
    foreign = foreign_options(options, given)
    other = ["read_only"] if foreign else []
    server = targets.load(
        given,
        database=databases.database_options(options, *served, exclude=other),
        write_scope=options.write_scope,
        foreign=foreign,
        starts=True,
        sheets=sheet_options(options, *served),
        profile=options.profile or _CONTRACTS[options.contract],
        structured=False if options.no_structure else None,
        max_bytes=options.max_bytes,
        key=key_from(options),
        fallback_key=None if worker is None else worker.config.key,
        telemetry=Telemetry(spans=True) if options.telemetry else None,
    )
    changes = {"name": options.name, "version": options.server_version}
    changed = {key: value for key, value in changes.items() if value is not None}
    server.identify(msgspec.structs.replace(server.identity, **changed))
    _set_store(server, options.store, None if worker is None else worker.config.folder)
    if worker is None or worker.config.is_first:
        dispatcher = server.dispatcher
        if dispatcher.task_settings.store.startswith(REDIS) and not dispatcher.has_given_key:
            log.warning("%s", _NO_KEY)
        warn_of_names((tool.name, tool.input_schema) for tool in server.tools.values())
    _collect_less()
    return server


def _set_store(server: Server, store: str | None, folder: str | None) -> None:
    """Set where tasks are kept; workers share them, in their own folder by default."""
    if store is None and folder is not None and server.dispatcher.task_settings.store == MEMORY:
        server.tasks(store=f"{SQLITE}{folder}/{_TASKS_FILE}", is_private=True)
    if store is not None:
        require_store_name(store)
        server.tasks(store=store)


def _serve_http(
    server: Server,
    options: argparse.Namespace,
    announce: Announce,
    worker: "Worker | None" = None,
) -> None:
    from accord.inspector.call_stats import CallStats
    from accord.inspector.local_target import LocalTarget
    from accord.inspector.page import InspectedServer, Page
    from accord.reader.reading import to_json
    from accord.serve.http import listen as http  # an extra: uvicorn

    stats = None if options.no_page else CallStats()
    settings = http.Settings(
        grace=options.grace,
        allow_hosts=tuple(options.allow_host),
        reader=True,
        stateless=options.stateless,
        **http_settings(options, server.auth),
    )
    access = http.AccessLog(options.log_format or "text", None if stats is None else stats.add)
    place = None if worker is None else worker.place()
    page = None
    if stats is not None:
        page = Page(
            [InspectedServer(LocalTarget(server, access), stats)],
            is_open=True,
            mcp_path=settings.path,
            token=None if worker is None else worker.config.page_token,
            stats_of_others=None if place is None else lambda: place.siblings.gather(_STATS),
        )

    def ready(url: str) -> None:
        if worker is None:
            announce(url, server.identity.name)
        else:
            worker.ready(server.identity.name, server.dispatcher.key)

    http.serve(
        server,
        http.Address.parse(options.http) if worker is None else worker.address,
        settings,
        access,
        page=page,
        ready=ready,
        on_end=exit_within,
        place=place,
        figures={} if stats is None else {_STATS: lambda: to_json(stats.report())},
    )


def _announce(options: argparse.Namespace, given: Sequence[Target], url: str, name: str) -> None:
    """Print the URLs of what is served."""
    reads = any(targets.is_reader(each.target) for each in given)
    is_public = options.public_url is not None  # then the page needs a token
    has_page = not options.no_page and (not is_public or options.admin_scope is not None)
    addresses = _addresses(url, reads=reads, has_page=has_page)
    print(f"{name}: {addresses}", file=sys.stderr)


def _addresses(url: str, *, reads: bool, has_page: bool) -> str:
    """Return the URLs of what is served, reachable from this machine."""
    for any_address, loopback in _LOOPBACK.items():
        url = url.replace(any_address, loopback)
    top = url.removesuffix("mcp")
    replies = f"reader at {top}read, " if reads else ""
    page = f" and a page at {top}" if has_page else ""
    return f"{replies}MCP at {url}{page}"


def _collect_less() -> None:
    """Exclude loaded modules from garbage collection, and collect less often."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
