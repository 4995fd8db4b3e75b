"""The server: what it has, and how a request becomes a result.

Read `registry`, then `operation`, `rendering` and `server`.
"""

from accord.server.combined import combine
from accord.server.server import Server

__all__ = ["Server", "combine"]
