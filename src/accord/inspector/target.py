"""The interface of a server that the page shows, and the data of a call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from accord.inspector.reports import ReplyReport
from accord.model.answer import FieldError
from accord.model.context import Level
from accord.protocol.tasks import EXTENSION

Direction = Literal["sent", "received"]
Method = Literal["tools/call", "prompts/get", "resources/read"]
OnMessage = Callable[[bytes], None]
"""Receives a notification of the server, as JSON."""

CLIENT_CAPABILITIES: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
TASK_CAPABILITIES: Final[dict[str, Any]] = {**CLIENT_CAPABILITIES, "extensions": {EXTENSION: {}}}
"""Declared for a call that may become a task, and by requests about one."""
TASK_TTL: Final = 3_600_000  # milliseconds; asked for in the form of 2025-11-25
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


class CallRequest(msgspec.Struct, frozen=True, rename="camel"):
    """A tool call to make, a prompt to get or a resource to read."""

    tool: str
    """The name of the tool or prompt, or the URI of the resource."""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    """The JSON that was typed."""
    render: RenderOptions = RenderOptions()
    method: Method = "tools/call"
    log_level: Level | None = None
    """The lowest level of log messages to send during the call; None for the server's choice."""
    as_task: bool = False
    """True if the server may make a task of the call."""

    @property
    def params(self) -> dict[str, Any]:
        """The params of the request, without `_meta`."""
        if self.method == "resources/read":
            return {"uri": self.tool}
        return {"name": self.tool, "arguments": self.arguments}


class ServerRequest(msgspec.Struct, frozen=True):
    """A request that is not a call: for completion, about a task, or to set the log level."""

    method: Literal[
        "completion/complete",
        "logging/setLevel",
        "ping",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "tasks/result",
        "tasks/list",
    ]
    params: dict[str, Any] = {}
    revision: str | None = None
    """The revision to send it in, to a server of this process."""

    @property
    def is_for_task(self) -> bool:
        """True if it is about a task."""
        return self.method.startswith("tasks/")


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


class UpstreamReply(msgspec.Struct, frozen=True, rename="camel"):
    """The reply of an upstream of the gateway, as received, and what the gateway did with it."""

    server: str
    tool: str
    """The name of the tool in its own server."""
    raw: str
    size: int
    """Bytes of the whole reply."""
    replies: str
    """`as-is`, `repaired` or `normalised`."""
    changed: Sequence[str] = ()
    """What was repaired."""
    is_truncated: bool = False


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
    upstream: UpstreamReply | None = None
    """The reply of the upstream, if a gateway forwarded the call."""


class Target(Protocol):
    """A server that the page shows. Failures of the server are PeerErrors."""

    def about(self) -> dict[str, Any]:
        """Return the server's name, instructions, profiles and revisions."""

    def state(self) -> dict[str, Any]:
        """Return whether it is connected, why it is not, and the page of a sign-in under way."""

    async def tools(self) -> list[dict[str, Any]]:
        """Return its tools, as in `tools/list`."""

    async def features(self) -> dict[str, list[dict[str, Any]]]:
        """Return its `prompts`, `resources` and `resourceTemplates`, as listed."""

    def schema(self, tool: str) -> dict[str, Any] | None:
        """Return the input schema of a tool, if it is known and an object."""

    async def check(self, request: CallRequest) -> Sequence[FieldError]:
        """Return the errors in the arguments, without calling the tool."""

    async def call(self, request: CallRequest, on_message: OnMessage) -> tuple[int, CallRecord]:
        """Call a tool, or get a prompt or resource; the number identifies it from now on."""

    async def answer(
        self, number: int, answers: Mapping[str, InputResponse], on_message: OnMessage
    ) -> tuple[int, CallRecord] | None:
        """Continue a call with input responses; None if it is no longer waiting."""

    async def request(self, request: ServerRequest) -> bytes:
        """Return the reply to a request that is not a call."""

    async def listen(
        self, uris: Sequence[str], on_message: OnMessage, on_ready: Callable[[], None]
    ) -> None:
        """Pass on the notifications that belong to no call, until this is cancelled.

        Changes are reported of all lists, and of the resources with these URIs. `on_ready` is
        called once none is missed any longer.
        """

    def upstreams(self) -> dict[str, Any]:
        """Return the state of each upstream, if the server is a gateway."""

    def abandon(self, number: int) -> None:
        """Cancel a call that waits for input responses."""

    async def render(self, number: int, options: RenderOptions) -> CallRecord | None:
        """Render the answer of a call again, without calling; None if it is no longer stored."""

    async def sign_in(self) -> None:
        """Sign in to the server anew; its page is announced by the sign-in itself."""

    async def sign_out(self) -> None:
        """Forget the sign-in at the server."""

    async def reconnect(self) -> None:
        """Close the connection and open a new one; a command is restarted."""
