"""The server: what it has, and how a request becomes a reply.

Read `server` and `registry`, then `dispatcher`, `operation`, `middleware`, `outcome` and
`rendering`.
"""

from accord.server.combined import combine
from accord.server.server import Server

__all__ = ["Server", "combine"]
