"""A call run to its end where nothing else is going on: for the command line and for WSGI."""

import asyncio

from accord.errors import Reject
from accord.protocol import Call
from accord.server import Done, Server, drive


def run(server: Server, call: Call) -> Done:
    """Run one call on this thread and wait for its end."""
    tool = server.find_tool(call.name)
    if isinstance(tool, Reject):
        return Done(tool, tool)
    if tool.is_async:
        return asyncio.run(server.run(call, tool))
    return drive(server.run(call, tool))
