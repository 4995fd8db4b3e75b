"""A client for anybody's MCP server, by command line or URL, that keeps what was really said.

    async with connect("npx some-server") as peer:
        reply = await peer.call("add", {"a": 2, "b": 3})

A command line needs nothing but Python; a URL needs the extra `accord-mcp[connect]`.
"""

from accord.connect.messages import Message, Reply
from accord.connect.open import connect
from accord.connect.peer import Peer

__all__ = ["Message", "Peer", "Reply", "connect"]
