"""A call run to its end where nothing else is going on: for the command line and for WSGI."""

import asyncio

from accord.protocol import Call, Outcome
from accord.server import Server, Work, drive


def run(server: Server, call: Call) -> Outcome:
    """Run one call on this thread and wait for its outcome."""
    work = server.prepare(call)
    if not isinstance(work, Work):
        return work
    if work.tool.is_async:
        return asyncio.run(server.run(work))
    return drive(server.run(work))
