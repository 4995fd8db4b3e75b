"""A client for any MCP server, by command line or URL, that keeps the raw messages.

    async with connect("npx some-server") as peer:
        reply = await peer.call("add", {"a": 2, "b": 3})

A command line needs nothing but Python; a URL needs the extra `accord-mcp[connect]`.
Read `peer`, then `session`, then the transports: `stdio` and `http` (on `sse`).
"""

from accord.client.messages import Message, Reply
from accord.client.peer import Peer, connect

__all__ = ["Message", "Peer", "Reply", "connect"]
