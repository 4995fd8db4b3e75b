"""What a connection makes of what a peer sent."""

from typing import Any

import msgspec

from accord.protocol.batch import Batch
from accord.protocol.messages import Id
from accord.revisions import Revision
from accord.tool import Client


class Call(msgspec.Struct, eq=False):
    """A request that is being served; as an event, one to run and to `finish` with an outcome.

    It is known by what it is, never by the peer's `id`: two calls in flight may carry the same one.
    """

    id: Id
    client: Client
    batch: Batch | None = None
    name: str = ""
    arguments: bytes = b"{}"
    cancelled: bool = False
    running: Any = None
    """Whatever the edge keeps to stop it with."""

    @property
    def revision(self) -> Revision:
        """The revision that its answer has to keep to."""
        return self.client.revision


class Cancel(msgspec.Struct, frozen=True, eq=False):
    """The peer no longer wants this call; its outcome will be dropped."""

    call: Call
    reply: bytes | None
    """The reply to a batch that was waiting for nothing but this call."""


Event = bytes | Call | Cancel
"""A reply that is ready to be sent, a call to start, or a call to stop."""
