"""`accord inspect`: serves the web page for remote servers."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from accord.cli import targets
from accord.cli.logs import log_in_background
from accord.cli.options import add_remote_options, reply_timeout
from accord.cli.remote import auth_for, hinting
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, visible
from accord.errors import ContractError, PeerError
from accord.gateway.config import read_config
from accord.gateway.spec import UpstreamSpec
from accord.revisions import REVISIONS
from accord.serve.shutdown import exit_within

if TYPE_CHECKING:
    from accord.inspector.remote_target import RemoteTarget

EXAMPLES: Final = """\
  accord inspect 'npx -y @modelcontextprotocol/server-everything'
  accord inspect https://mcp.example.com/mcp
  accord inspect https://example.com/mcp --header 'Authorization: Bearer ...'
  accord inspect 'accord serve shop:server' --http 127.0.0.1:8080 --open
  accord inspect mcp.json
  accord inspect fs='npx -y @modelcontextprotocol/server-filesystem .' https://example.com/mcp
"""
_CLOSE_TIMEOUT: Final = 6.0  # seconds for a child process to end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "target",
        nargs="+",
        metavar="TARGET",
        help=f"{targets.REMOTE_HELP}; NAME= before it names it on the page; or mcp.json, all of"
        " whose servers are shown; several targets are one page",
    )
    parser.add_argument(
        "--http",
        default="127.0.0.1:8001",
        metavar="HOST:PORT",
        help="address of the web page (default %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        help="MCP revision to use (default: the newest that the server supports)",
    )
    add_remote_options(parser)


def run(options: argparse.Namespace) -> int:
    """Serve the page until interrupted; Ctrl-C ends the processes of the servers first."""
    found = [each for target in options.target for each in _servers_of(target, options)]
    named = [each.label for each in found]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise ContractError(f"two servers are named {twice!r}; write NAME= before one of them")
    log_in_background()
    if len(found) > 1:
        asyncio.run(_inspect(options, found))
    else:
        with hinting(found[0].target):
            asyncio.run(_inspect(options, found))
    return 0


class _Inspected(NamedTuple):
    """A server to inspect: its name on the page, and how to reach it."""

    target: Target
    label: str
    address: str | Sequence[str]
    headers: Mapping[str, str]
    env: Mapping[str, str] | None = None
    cwd: str | None = None
    revision: str | None = None
    timeout: float | None = None
    name: str = ""


def _servers_of(word: str, options: argparse.Namespace) -> list[_Inspected]:
    """Return the server that a word names, or all servers of a file."""
    if targets.is_servers_file(word):
        if options.header:
            raise ContractError("--header is for a URL; a file has the headers of each server")
        return [_from_file(word, each) for each in read_config(Path(word))]
    target = targets.parse(word)
    if targets.is_config(word) or not targets.is_remote(target.target):
        raise ContractError(
            f"{word} is not a command line or URL; for a Server run: "
            f"accord serve {word} --http 127.0.0.1:8000"
        )
    headers = dict(options.header) if len(options.target) == 1 or _is_url(target) else {}
    return [_Inspected(target, target.word, target.target, headers, name=target.name or "")]


def _is_url(target: Target) -> bool:
    return targets.is_url(target.target)


def _from_file(word: str, spec: UpstreamSpec) -> _Inspected:
    connection = spec.connection
    return _Inspected(
        Target(spec.described, word=word),
        spec.name,
        spec.target,
        spec.headers,
        connection.get("env"),
        spec.cwd,
        spec.revision,
        spec.timeout,
        spec.name,
    )


async def _inspect(options: argparse.Namespace, found: Sequence[_Inspected]) -> None:
    from accord.inspector.page import InspectedServer, Page, StandaloneApp
    from accord.serve.http import listen as http

    what = found[0].label if len(found) == 1 else f"{len(found)} servers"
    line = StatusLine(f"reaching {visible(what)}")
    with http.listening(http.Address.parse(options.http)) as (listener, where):
        async with contextlib.AsyncExitStack() as stack:
            opened = [_remote_target(each, options, line) for each in found]
            for target in opened:
                await stack.enter_async_context(contextlib.aclosing(target))
            if len(opened) == 1:
                with line:
                    await opened[0].open()
            else:  # each on its own: one may fail, or wait for a person to sign in
                tasks = [
                    asyncio.create_task(_open(each, target))
                    for each, target in zip(found, opened, strict=True)
                ]
                stack.push_async_callback(_cancel, tasks)
            servers = [
                InspectedServer(target, target.stats, each.name)
                for each, target in zip(found, opened, strict=True)
            ]
            page = Page(servers, is_open=False)
            app = StandaloneApp(page, lambda: _announce(page.link(where.url), opens=options.open))
            await http.host(
                app,
                listener,
                http.Settings(),
                on_end=lambda seconds: exit_within(seconds + _CLOSE_TIMEOUT),
            )


async def _open(each: _Inspected, target: "RemoteTarget") -> None:
    try:
        await target.reconnect()
    except PeerError as error:
        print(f"{visible(each.label)}: {visible(str(error))}", file=sys.stderr)


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _remote_target(
    each: _Inspected, options: argparse.Namespace, line: StatusLine
) -> "RemoteTarget":
    from accord.inspector.remote_target import RemoteTarget

    address = each.address if isinstance(each.address, str) else ""
    target = RemoteTarget(
        each.address,
        label=each.label,
        headers=each.headers,
        auth=auth_for(
            address,
            each.headers,
            line,
            lambda url: target.announce_sign_in(url),  # noqa: PLW0108 - not bound yet
        ),
        revision=options.revision or each.revision,
        timeout=each.timeout or reply_timeout(options),
        env=each.env,
        cwd=each.cwd,
    )
    return target


def _announce(link: str, *, opens: bool) -> None:
    print(f"page at {link}", file=sys.stderr)
    if opens:
        import webbrowser

        webbrowser.open(link)
