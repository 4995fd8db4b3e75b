"""Clients of targets, of every kind, for the commands that list and read what a server has."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeVar

from accord.cli import databases, targets
from accord.cli.elicitation import TerminalUser
from accord.cli.options import GRACE_HELP, add_grace_argument, add_remote_options, reply_timeout
from accord.cli.parsing import Parser
from accord.cli.remote import auth_for, hinting
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, stdout_to_stderr, visible
from accord.client import Client, Listing
from accord.errors import METHOD_NOT_FOUND, ContractError, MCPError, did_you_mean
from accord.server import Server

T = TypeVar("T")


def add_target_arguments(parser: Parser, *, several: bool) -> None:
    """Add one target, or several, as `target`."""
    parser.targets = True
    parser.add_argument(
        "target", nargs="+" if several else None, metavar="TARGET", help=targets.HELP
    )


def add_session_options(parser: Parser) -> None:
    """Add the options of a connection."""
    add_grace_argument(parser, GRACE_HELP)
    add_remote_options(parser)
    databases.add_tool_options(parser.add_argument_group(databases.TITLE))


def each_server(
    options: argparse.Namespace,
    activity: str,
    use: Callable[[Client, StatusLine], Awaitable[T]],
) -> Iterator[tuple[Target | None, T]]:
    """Yield what `use` returns for each server, with the target of a remote one.

    The local targets are one server, as they would be served.
    """
    words = [options.target] if isinstance(options.target, str) else options.target
    given = targets.expand(words)
    remote = [each for each in given if targets.is_remote(each.target)]
    local = [each for each in given if each not in remote]
    if not remote and (options.header or options.timeout is not None):
        raise ContractError("--header and --timeout are for MCP servers at a URL or command line")
    names = [each.target for each in local]
    targets.require_tools(*names)
    database = databases.database_options(options, *names, exclude=["timeout"])
    if local:
        with stdout_to_stderr(), StatusLine(f"loading {' '.join(each.word for each in local)}"):
            server = targets.load(local, database=database)
        yield None, _use(server, options, activity, use)
    for each in remote:
        with hinting(each):
            yield each, _use(each.target, options, activity, use)


def _use(
    target: Server | str,
    options: argparse.Namespace,
    activity: str,
    use: Callable[[Client, StatusLine], Awaitable[T]],
) -> T:
    """Connect to one server, and return what `use` returns."""
    is_local = isinstance(target, Server)
    line = StatusLine(activity)
    settings: dict[str, Any] = {"answer_timeout": None, "on_elicit": TerminalUser(line).elicit}
    if not isinstance(target, Server):
        headers = dict(options.header)
        settings |= {
            "headers": headers,
            "auth": auth_for(target, headers),
            "timeout": reply_timeout(options),
        }

    async def main() -> T:
        async with Client(target, **settings) as client:
            return await use(client, line)

    with stdout_to_stderr() if is_local else nullcontext(), line:
        return asyncio.run(main())


def one_server(
    options: argparse.Namespace, activity: str, use: Callable[[Client, StatusLine], Awaitable[T]]
) -> T:
    """Return what `use` returns for the only server of the target."""
    ((_, found),) = each_server(options, activity, use)
    return found


def require_prefix(word: str, name: str, what: str) -> str:
    """Return the name that a remote server knows; it has no prefix there."""
    (target, *others) = targets.expand([word])
    if others or not targets.is_remote(target.target):
        return name
    if not name.startswith(target.prefix):
        raise ContractError(
            f"there is no {what} {name!r}; the {what}s of {target.name} begin with"
            f" {target.prefix}: {target.prefix}{name}"
        )
    return name.removeprefix(target.prefix)


@asynccontextmanager
async def suggesting(name: str, listing: Listing[Any], key: str) -> AsyncIterator[None]:
    """Add the nearest name of a list to the error of a server that does not know a name."""
    try:
        yield
    except MCPError as error:
        known = [str(each.get(key, "")) for each in await entries(listing)]
        if name in known:
            raise
        message = f"{error.message}{did_you_mean(name, known)}"
        raise MCPError(str(error), error.code, message, error.data) from error


def failure_printed(error: MCPError) -> int:
    """Print the error that a server answered with, and return the exit code."""
    print(f"error: {visible(error.message, keeps_lines=True)}", file=sys.stderr)
    return 1


async def entries(listing: Listing[Any]) -> list[dict[str, Any]]:
    """Return the entries of a list as received; none if the server does not have that list."""
    try:
        return [each.raw for each in await listing]
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND:
            return []
        raise


def title_of(server: Mapping[str, Any], target: Target | None) -> str:
    """Return the name and version of a server, for a heading."""
    name, version = (str(server.get(key) or "") for key in ("name", "version"))
    if target is not None:
        name = target.name or name or target.target
    return f"{name} {version}".rstrip()
