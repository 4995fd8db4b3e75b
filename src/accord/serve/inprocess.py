"""Serve a server on this process's own pipes, or call its tools in process."""

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import ContractError
from accord.model.context import ClientInfo
from accord.profiles import asking_for, profile_named
from accord.protocol import Call
from accord.revisions import NEWEST
from accord.serve import stdio
from accord.serve.blocking import OneWay
from accord.serve.pipes import take_pipes
from accord.serve.shutdown import ending_in_time
from accord.server import Server
from accord.server.operation import Done, drive

if TYPE_CHECKING:
    from accord.reader import Reading


def run(server: Server) -> None:
    """Serve over standard input and output until the peer is gone."""
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    pipes = take_pipes()
    if is_terminal and sys.stderr is not None:
        sys.stderr.write(f"{server.identity.name}: {stdio.AT_A_TERMINAL}\n")
    with ending_in_time() as on_end:
        stdio.serve(server, pipes, on_end=on_end)


async def call(
    server: Server, name: str, arguments: Mapping[str, Any], profile: str | None
) -> "Reading":
    """Call a tool as a peer of the newest revision would, and read its result."""
    from accord.reader import read  # as long to load as all the rest

    job = server.prepare(_call(name, arguments, profile))
    if isinstance(job, Done):
        done = job
    elif job.is_async:
        done = await job.run()
    else:  # in a thread, as it would be served: it may block, or call asyncio.run
        done = await asyncio.to_thread(drive, job.run())
    return read(done.reply, name, dict(arguments))


def _call(name: str, arguments: Mapping[str, Any], profile: str | None) -> Call:
    wants = {} if profile is None else asking_for(profile_named(profile).name)
    try:
        sent = msgspec.json.encode(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the arguments of {name} cannot be JSON: {error}") from error
    call = Call(1, ClientInfo(NEWEST, wants), name=name, arguments=sent)
    call.edge = OneWay()
    return call
