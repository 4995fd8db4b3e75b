"""What a connection makes of what a peer sent."""

from collections.abc import Callable
from typing import Any

import msgspec

from accord.protocol.batch import Batch
from accord.protocol.messages import Id, Progress, decode_meta, notification
from accord.revisions import Revision
from accord.tool import Client


class Call(msgspec.Struct, eq=False):
    """A request that is being served; as an event, one to run and to `finish` with an outcome.

    It is known by what it is, never by the peer's `id`: two calls in flight may carry the same one.
    """

    id: Id
    client: Client
    batch: Batch | None = None
    meta: bytes = b""
    """Its `_meta`, as it came."""
    name: str = ""
    arguments: bytes = b"{}"
    cancelled: bool = False
    listing: bool = False
    """No tool is called, but a list of them asked for that depends on who asks."""
    cursor: str | None = None
    """From where the list is to go on."""
    sender: Any = None
    """The HTTP request that it came in, as the edge has it: see `Context.sender`."""
    running: Any = None
    """Whatever the edge keeps to stop it with."""
    send: Callable[[bytes], None] | None = None
    """How the edge sends a message that belongs to this call, before its result."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send how far the call has come, if its caller asked for that and still waits."""
        if self.cancelled or self.send is None or not self.meta:
            return
        token = decode_meta(self.meta)
        if token is not None and token.progress_token is not None:
            params = Progress(token.progress_token, progress, total, message)
            self.send(notification("notifications/progress", params))

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
