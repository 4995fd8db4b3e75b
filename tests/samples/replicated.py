"""A server for several replicas: `accord serve replicated:server`."""

import os

import long_running
import shared

from accord import Server

server = Server("replicated", changing=["tools"])
server.tasks(lease=float(os.environ.get("LEASE", "1.0")), poll=0.1)
server.include(shared.server, prefix="")
long_running.server.remove(long_running.server.tools["pid"])
server.include(long_running.server, prefix="")


@server.tool
async def hide(name: str) -> int:
    """Disable a tool."""
    server.disable(name)
    return os.getpid()


@server.tool
async def show(name: str) -> int:
    """Enable a tool."""
    server.enable(name)
    return os.getpid()
