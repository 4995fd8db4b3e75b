"""A call run to its end where nothing else is going on: for the command line and for WSGI."""

import asyncio

from accord.protocol import Call
from accord.server import Server
from accord.work import Done, drive


def run(server: Server, call: Call) -> Done:
    """Run one call on this thread and wait for its end."""
    job = server.prepare(call)
    if isinstance(job, Done):
        return job
    return asyncio.run(job.run()) if job.is_async else drive(job.run())
