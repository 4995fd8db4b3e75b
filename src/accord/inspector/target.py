"""The interface of a server that the page shows, and the data of a call."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from accord.inspector.reports import ReplyReport
from accord.model.answer import FieldError

Direction = Literal["sent", "received"]

CLIENT_CAPABILITIES: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
INPUT_REQUIRED: Final = b'{"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required"}}'
"""Stands for the reply of a call that waits for input responses."""


class WireMessage(msgspec.Struct, frozen=True, rename="camel"):
    """One message of a call, as it was sent or received."""

    direction: Direction
    raw: str
    size: int
    """Bytes of the whole message."""
    is_handshake: bool = False
    """True for the messages of the handshake."""
    is_truncated: bool = False
    """True if `raw` is only the beginning."""

    @classmethod
    def of(cls, direction: Direction, raw: bytes, *, is_handshake: bool = False) -> "WireMessage":
        """Return a whole message; invalid UTF-8 is replaced."""
        return cls(direction, raw.decode(errors="replace"), len(raw), is_handshake)

    @classmethod
    def up_to(cls, limit: int, direction: Direction, raw: bytes) -> "WireMessage":
        """Return a message truncated to `limit` bytes."""
        text = raw[:limit].decode(errors="replace")
        return cls(direction, text, len(raw), is_truncated=len(raw) > limit)


class RenderOptions(msgspec.Struct, frozen=True):
    """The profile and revision to render an answer in; None is the server's own."""

    profile: str | None = None
    revision: str | None = None


class CallRequest(msgspec.Struct, frozen=True):
    """A tool call to make; the arguments are the JSON that was typed."""

    tool: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    render: RenderOptions = RenderOptions()


class InputRequest(msgspec.Struct, frozen=True):
    """A request of the server to its client: elicitation, sampling or roots."""

    key: str
    """Identifies it among the open requests."""
    method: str
    params: Any


class InputResponse(msgspec.Struct, frozen=True):
    """The response to an input request: a result, or an error."""

    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw = msgspec.Raw(b"")

    @property
    def reply(self) -> dict[str, msgspec.Raw]:
        """Return it as a member of a JSON-RPC response."""
        return {"error": self.error} if bytes(self.error) else {"result": self.result}


class CallRecord(msgspec.Struct, frozen=True):
    """One call so far: its messages, its duration, and what is read in its reply."""

    tool: str
    arguments: msgspec.Raw
    messages: Sequence[WireMessage]
    reply: bytes
    """The reply as bytes."""
    report: ReplyReport
    """The report on the reply."""
    seconds: float
    revision: str
    is_rendered: bool = False
    """True if the reply was rendered here and never sent by the server."""
    input_requests: Sequence[InputRequest] = ()
    """Input requests that have to be answered before the call continues."""
    omitted: int = 0
    """Number of messages left out of `messages`."""


class Target(Protocol):
    """A server that the page shows. Failures of the server are PeerErrors."""

    def about(self) -> dict[str, Any]:
        """Return the server's name, instructions, profiles and revisions."""

    async def tools(self) -> list[dict[str, Any]]:
        """Return its tools, as in `tools/list`."""

    def schema(self, tool: str) -> dict[str, Any] | None:
        """Return the input schema of a tool, if it is known and an object."""

    async def check(self, request: CallRequest) -> Sequence[FieldError]:
        """Return the errors in the arguments, without calling the tool."""

    async def call(self, request: CallRequest) -> tuple[int, CallRecord]:
        """Call a tool; the number identifies the call for `answer` and `render`."""

    async def answer(
        self, number: int, answers: Mapping[str, InputResponse]
    ) -> tuple[int, CallRecord] | None:
        """Continue a call with input responses; None if it is no longer waiting."""

    def abandon(self, number: int) -> None:
        """Cancel a call that waits for input responses."""

    async def render(self, number: int, options: RenderOptions) -> CallRecord | None:
        """Render the answer of a call again, without calling; None if it is no longer stored."""

    async def reconnect(self) -> None:
        """Close the connection and open a new one; a command is restarted."""
