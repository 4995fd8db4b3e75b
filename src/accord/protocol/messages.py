"""JSON-RPC and MCP messages, as far as a server decodes them."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import INVALID_REQUEST, PARSE_ERROR, Reject, Unavailable
from accord.model.context import Level

NOTHING: Final = Raw(b"")

Id = int | str

MAX_SUBSCRIPTIONS: Final = 1_000
"""Maximum number of resources that a session or subscription watches."""


class Frame(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Any message; the members that depend on its kind are left undecoded."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING


class Meta(msgspec.Struct, frozen=True):
    """`params._meta` of a request; in the stateless era it names the client and the revision."""

    revision: str | UnsetType = msgspec.field(
        name="io.modelcontextprotocol/protocolVersion", default=UNSET
    )
    capabilities: dict[str, Any] | UnsetType = msgspec.field(
        name="io.modelcontextprotocol/clientCapabilities", default=UNSET
    )
    client: dict[str, Any] = msgspec.field(
        name="io.modelcontextprotocol/clientInfo", default_factory=dict
    )
    progress_token: Id | None = msgspec.field(name="progressToken", default=None)
    log_level: Level | None = msgspec.field(name="io.modelcontextprotocol/logLevel", default=None)


class Params(msgspec.Struct, frozen=True):
    """The params of any request."""

    meta: Raw = msgspec.field(name="_meta", default=NOTHING)
    """A `Meta`, undecoded: clients repeat it in every request."""


class InitializeParams(Params, frozen=True, rename="camel", kw_only=True):
    """Params of `initialize`."""

    protocol_version: str
    capabilities: dict[str, Any] = {}
    client_info: dict[str, Any] = {}


class ListParams(Params, frozen=True):
    """Params of a list: the cursor of the page."""

    cursor: str | None = None


class RetriedParams(Params, frozen=True, kw_only=True, gc=False):
    """Params of a request that is repeated with input responses."""

    responses: Raw = msgspec.field(name="inputResponses", default=NOTHING)
    state: str | None = msgspec.field(name="requestState", default=None)


class TaskMetadata(msgspec.Struct, frozen=True):
    """The `task` of `tools/call` in 2025-11-25: the client wants a task."""

    ttl: int | None = None
    """Milliseconds for which the client wants it to be kept."""


class CallParams(RetriedParams, frozen=True, kw_only=True, gc=False):
    """Params of `tools/call` and `prompts/get`."""

    name: str
    arguments: Raw = NOTHING
    task: Raw = NOTHING
    """A `TaskMetadata`; other revisions ignore it."""


class PlainCallParams(Params, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Params of `tools/call` without input responses."""

    name: str
    arguments: Raw = NOTHING


class CallFrame(msgspec.Struct, frozen=True, gc=False, tag_field="method", tag="tools/call"):
    """A plain `tools/call` request, the most frequent message, decoded at once."""

    jsonrpc: Literal["2.0"]
    id: Id
    params: PlainCallParams


class ReadParams(RetriedParams, frozen=True, kw_only=True):
    """Params of `resources/read`."""

    uri: str


class ResourceParams(Params, frozen=True, kw_only=True):
    """Params of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class TaskParams(Params, frozen=True, kw_only=True, rename="camel"):
    """Params of `tasks/get`, `tasks/cancel` and `tasks/result`."""

    task_id: str


class UpdateTaskParams(TaskParams, frozen=True, kw_only=True):
    """Params of `tasks/update`."""

    responses: dict[str, Raw] = msgspec.field(name="inputResponses")


class LevelParams(Params, frozen=True, kw_only=True):
    """Params of `logging/setLevel`."""

    level: Level


class PromptReference(msgspec.Struct, frozen=True, tag_field="type", tag="ref/prompt"):
    """Reference to the prompt whose argument is completed."""

    name: str


class ResourceReference(msgspec.Struct, frozen=True, tag_field="type", tag="ref/resource"):
    """Reference to the resource template whose variable is completed."""

    uri: str


class PartialArgument(msgspec.Struct, frozen=True):
    """An argument, and the text to complete."""

    name: str
    value: str


class CompletionContext(msgspec.Struct, frozen=True):
    """The other arguments."""

    arguments: dict[str, str] = {}


class CompleteParams(Params, frozen=True, kw_only=True):
    """Params of `completion/complete`."""

    ref: PromptReference | ResourceReference
    argument: PartialArgument
    context: CompletionContext = CompletionContext()


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The changes that a subscription wants."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: tuple[str, ...] | None = None
    task_ids: tuple[str, ...] | None = None


class ListenParams(Params, frozen=True, kw_only=True):
    """Params of `subscriptions/listen`."""

    notifications: Wanted


class Progress(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Params of `notifications/progress`."""

    progress_token: Id
    progress: float
    total: float | None = None
    message: str | None = None


class LogMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A log message: the params of `notifications/message`."""

    level: Level
    data: Any
    logger: str | None = None


class CancelledParams(msgspec.Struct, frozen=True, rename="camel"):
    """Params of `notifications/cancelled`."""

    request_id: Id


class _Notification(msgspec.Struct, frozen=True):
    jsonrpc: str
    method: str
    params: Any | UnsetType = UNSET


class _Request(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: Id
    method: str
    params: Any


class _Success(msgspec.Struct, frozen=True, gc=False):
    jsonrpc: str
    id: Id
    result: Any


class _Failure(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: Id | None
    error: Reject


_encode = msgspec.json.Encoder().encode
_SUCCESS: Final = b'{"jsonrpc":"2.0","id":'
_RESULT: Final = b',"result":'
decode_meta: Callable[[Any], Meta | None] = msgspec.json.Decoder(Meta | None).decode


_NULL_ID: Final = b'{"jsonrpc":"2.0","id":null,'


class ErrorReply(bytes):
    """A reply with an error, and its code: HTTP has a status for some of them."""

    code: int
    retry_after: int | None = None
    """Seconds after which the client may try again, if the error is not the request's."""

    def without_null_id(self) -> "ErrorReply":
        """Return the reply without `"id": null`, for revisions that do not allow it."""
        if not self.startswith(_NULL_ID):
            return self
        reply = ErrorReply(self.replace(b'"id":null,', b"", 1))
        reply.code, reply.retry_after = self.code, self.retry_after
        return reply


def failure(request_id: Id | None, error: Reject) -> ErrorReply:
    """Return a reply with an error; the id is null if the request's cannot be read."""
    reply = ErrorReply(_encode(_Failure("2.0", request_id, error)))
    reply.code = error.code
    if isinstance(error, Unavailable):
        reply.retry_after = error.data["retryAfter"]
    return reply


def reply(request_id: Id, result: Reject | dict[str, Any] | Raw) -> bytes:
    """Return the reply with a result or an error."""
    if isinstance(result, Reject):
        return failure(request_id, result)
    return _encode(_Success("2.0", request_id, result))


def success(request_id: Id, result: Iterable[bytes]) -> bytes:
    """Return the reply with a result that is given as parts of JSON."""
    return b"".join((_SUCCESS, _encode(request_id), _RESULT, *result, b"}"))


def invalid(request_id: Id | UnsetType | None, reason: str) -> ErrorReply:
    """Return the reply to JSON that is not a valid message."""
    return failure(None if request_id is UNSET else request_id, invalid_request(reason))


def notification(method: str, params: object = UNSET) -> bytes:
    """Encode a notification."""
    return _encode(_Notification("2.0", method, params))


def request(request_id: Id, method: str, params: object) -> bytes:
    """Encode a request."""
    return _encode(_Request("2.0", request_id, method, params))


def parse_error() -> Reject:
    """Return the error for a message that is not JSON."""
    return Reject(PARSE_ERROR, "Parse error")


def invalid_request(reason: str) -> Reject:
    """Return the error for JSON that is not a valid message."""
    return Reject(INVALID_REQUEST, "Invalid Request", reason)
