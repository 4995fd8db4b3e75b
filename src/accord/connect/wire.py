"""What a way to a server has to be able to do."""

import asyncio
from typing import Protocol

from accord.connect.messages import Outgoing, Reply


class Wire(Protocol):
    """One way to one server."""

    @property
    def has_headers(self) -> bool:
        """Whether messages travel with HTTP headers."""

    async def exchange(self, request: Outgoing, answer: "asyncio.Future[Reply]") -> None:
        """Send a request, and do what there is to do for its answer to come.

        A PeerError says that none will come. Whoever waits for the answer cancels this.
        """

    async def send(self, message: Outgoing) -> None:
        """Send what wants no answer."""

    def cancel(self, request: Outgoing, notice: Outgoing) -> None:
        """Let the server know, by the notice or otherwise, that nobody waits any longer."""

    def hint(self) -> str:
        """What else is known of the server, for the end of a sentence; or nothing."""

    async def close(self) -> None:
        """End it, and whatever hangs on it."""
