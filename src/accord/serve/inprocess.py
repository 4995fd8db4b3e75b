"""Serve a server on this process's own pipes, or call its tools in process."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import ContractError, LifespanError, StoreError
from accord.model.context import ClientInfo
from accord.profiles import asking_for, profile_named
from accord.protocol import Request
from accord.revisions import NEWEST
from accord.serve import stdio
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import run_in_task
from accord.serve.lifespan import Lifespans, ensure
from accord.serve.pipes import take_pipes
from accord.serve.shutdown import DEFAULT_GRACE, ending_in_time
from accord.server import Server

if TYPE_CHECKING:
    from accord.reader import Reading


def run(server: Server) -> None:
    """Serve over standard input and output until the peer is gone.

    A lifespan that fails ends the process with one line on standard error.
    """
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    pipes = take_pipes()
    if is_terminal and sys.stderr is not None:
        sys.stderr.write(f"{server.identity.name}: {stdio.AT_A_TERMINAL}\n")
    try:
        with ending_in_time() as on_end:
            stdio.serve(server, pipes, on_end=on_end)
    except (ContractError, LifespanError, StoreError) as error:
        sys.exit(f"{server.identity.name}: {error}")


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[Any]:
    """Run the lifespan of a server on the running loop; gives its state."""
    lifespans = Lifespans(server.registry)
    await lifespans.start()
    try:
        yield server.registry.scope.state
    finally:
        await lifespans.stop(DEFAULT_GRACE)


async def call(
    server: Server, name: str, arguments: Mapping[str, Any], profile: str | None
) -> "Reading":
    """Call a tool as a peer of the newest revision would, and read its result."""
    from accord.reader import read  # slow to import

    await ensure(server.registry)
    done = await run_in_task(server.dispatcher, _call(name, arguments, profile))
    return read(done.reply, name, dict(arguments))


def _call(name: str, arguments: Mapping[str, Any], profile: str | None) -> RunningCall:
    wants = {} if profile is None else asking_for(profile_named(profile).name)
    try:
        sent = msgspec.json.encode(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the arguments of {name} cannot be JSON: {error}") from error
    request = Request(1, ClientInfo(NEWEST, wants), name=name, arguments=sent)
    return RunningCall(request, None, OneWay())
