"""The server: what it has, and how a request becomes a reply.

Read `server`, `registry` and `inclusion`, then `dispatcher`, `operation`, `middleware`, `outcome`
and `rendering`.
"""

from accord.server.server import Server, combine

__all__ = ["Server", "combine"]
