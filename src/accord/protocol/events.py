"""Events that a connection makes of a peer's messages. All of them are immutable data."""

from typing import Any, Final

import msgspec
from msgspec import Raw

from accord.model.context import ClientInfo
from accord.protocol.input_state import Retry
from accord.protocol.messages import Id
from accord.revisions import Revision

TOOLS_CALL: Final = "tools/call"
TOOLS_LIST: Final = "tools/list"
RESOURCES_LIST: Final = "resources/list"
PROMPTS_GET: Final = "prompts/get"
RESOURCES_READ: Final = "resources/read"
COMPLETE: Final = "completion/complete"
LISTEN: Final = "subscriptions/listen"
TASKS_GET: Final = "tasks/get"
TASKS_UPDATE: Final = "tasks/update"
TASKS_CANCEL: Final = "tasks/cancel"
TASKS_RESULT: Final = "tasks/result"


class Request(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A request to execute; its reply goes to `Connection.finish`.

    Requests are told apart by identity, never by `id`: two open ones may carry the same id.
    """

    id: Id
    client: ClientInfo
    method: str = TOOLS_CALL
    name: str = ""
    """Name of the tool or prompt, or URI of the resource."""
    arguments: bytes = b"{}"
    meta: bytes = b""
    """`params._meta` as it came."""
    params: Any = None
    """Params of methods that have more than a name and arguments."""
    retry: Retry | None = None
    """Responses to input requests, if the request is repeated with them."""

    @property
    def revision(self) -> Revision:
        """The client's protocol revision."""
        return self.client.revision


class Cancel(msgspec.Struct, frozen=True, eq=False):
    """The peer has cancelled a request; its reply is not sent."""

    request: Request
    reply: bytes | None
    """The reply to the request's batch, if only this request was open."""


class ServerRequest(msgspec.Struct, frozen=True, eq=False):
    """A request of the server to its client, such as elicitation."""

    id: Id
    message: bytes


class ClientResponse(msgspec.Struct, frozen=True, eq=False):
    """The client's response to a ServerRequest: a result or an error."""

    request: ServerRequest
    result: Raw
    error: Raw


Event = bytes | Request | Cancel | ClientResponse
"""A reply to send, a request to execute, a request to cancel, or a response of the client."""
