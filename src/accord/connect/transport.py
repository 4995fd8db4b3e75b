"""The interface of a transport to a server, and the errors that a session acts on.

PeerError
├── Disconnected    the server has exited, or no longer reads
├── TimedOut        no reply within the time limit
├── HTTPRefused     an HTTP error status without a JSON-RPC message
└── SessionExpired  the server no longer knows the MCP session
"""

import asyncio
from typing import Protocol

from accord.connect.messages import Outgoing, Reply
from accord.errors import PeerError


class Disconnected(PeerError):
    """The server has exited, or no longer reads."""


class TimedOut(PeerError):
    """The server did not reply within the time limit."""

    def __init__(self, method: str, message: str) -> None:
        super().__init__(message)
        self.method = method


class HTTPRefused(PeerError):
    """The server answered with an HTTP error status and no JSON-RPC message."""


class SessionExpired(PeerError):
    """The server no longer knows the MCP session."""


class Transport(Protocol):
    """Carries messages to and from one server."""

    @property
    def has_headers(self) -> bool:
        """True if messages are sent with HTTP headers."""

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        """Send a request and read until its reply arrives.

        Raises a PeerError if no reply will come. The caller cancels this when it has the reply.
        """

    async def send(self, message: Outgoing) -> None:
        """Send a notification or a response."""

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        """Tell the server, by the notification or otherwise, that the request is cancelled."""

    def diagnostics(self) -> str:
        """Return what else is known of the server, to end an error message with; may be empty."""

    async def close(self) -> None:
        """Close the connection, and end the server's process if there is one."""
