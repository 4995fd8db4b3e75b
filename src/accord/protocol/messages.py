"""The shapes of JSON-RPC and MCP messages, as far as a server has to look into them."""

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import INVALID_REQUEST, PARSE_ERROR, Reject
from accord.model.context import Level

NOTHING: Final = Raw(b"")

Id = int | str

MAX_SUBSCRIPTIONS: Final = 1_000
"""The resources of which one peer, or one subscription, is told that they change."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """Any message, with everything that depends on its kind left as it came."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING


class Meta(msgspec.Struct, frozen=True):
    """`params._meta` of a request: in the stateless era, who sends it and in which revision."""

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
    """What the params of any request may hold."""

    meta: Raw = msgspec.field(name="_meta", default=NOTHING)
    """A `Meta`, left as it came: clients send the same one with every request."""


class InitializeParams(Params, frozen=True, rename="camel", kw_only=True):
    """What a client says of itself when it begins."""

    protocol_version: str
    capabilities: dict[str, Any] = {}
    client_info: dict[str, Any] = {}


class ListParams(Params, frozen=True):
    """Which part of a list is wanted."""

    cursor: str | None = None


class RetriedParams(Params, frozen=True, kw_only=True, gc=False):
    """What comes along when a request is sent again with answers to its questions."""

    responses: Raw = msgspec.field(name="inputResponses", default=NOTHING)
    state: str | None = msgspec.field(name="requestState", default=None)


class CallParams(RetriedParams, frozen=True, kw_only=True, gc=False):
    """Which tool to call, or which prompt to get, and with what."""

    name: str
    arguments: Raw = NOTHING


class PlainCallParams(Params, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The same where there is nothing else."""

    name: str
    arguments: Raw = NOTHING


class CallFrame(msgspec.Struct, frozen=True, gc=False, tag_field="method", tag="tools/call"):
    """A whole request to call a tool: what most messages are, read in one go."""

    jsonrpc: Literal["2.0"]
    id: Id
    params: PlainCallParams


class ReadParams(RetriedParams, frozen=True, kw_only=True):
    """Which resource to read."""

    uri: str


class ResourceParams(Params, frozen=True, kw_only=True):
    """Which resource to watch, or no longer."""

    uri: str


class LevelParams(Params, frozen=True, kw_only=True):
    """From which level on log is wanted."""

    level: Level


class PromptReference(msgspec.Struct, frozen=True, tag_field="type", tag="ref/prompt"):
    """A prompt, one of whose arguments is to be completed."""

    name: str


class ResourceReference(msgspec.Struct, frozen=True, tag_field="type", tag="ref/resource"):
    """A resource template, one of whose variables is to be completed."""

    uri: str


class Typed(msgspec.Struct, frozen=True):
    """An argument, and what was typed of it so far."""

    name: str
    value: str


class Others(msgspec.Struct, frozen=True):
    """The arguments that are known already."""

    arguments: dict[str, str] = {}


class CompleteParams(Params, frozen=True, kw_only=True):
    """What is to be completed."""

    ref: PromptReference | ResourceReference
    argument: Typed
    context: Others = Others()


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Which changes a client wants to hear of."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: tuple[str, ...] | None = None


class ListenParams(Params, frozen=True, kw_only=True):
    """Which changes to tell of from now on."""

    notifications: Wanted


class Progress(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How far a call has come: the params of `notifications/progress`."""

    progress_token: Id
    progress: float
    total: float | None = None
    message: str | None = None


class LogMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of log: the params of `notifications/message`."""

    level: Level
    data: Any
    logger: str | None = None


class CancelledParams(msgspec.Struct, frozen=True, rename="camel"):
    """Which request is no longer wanted."""

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
decode_meta = msgspec.json.Decoder(Meta | None).decode


_NULL_ID: Final = b'{"jsonrpc":"2.0","id":null,'


class ErrorReply(bytes):
    """A reply with an error, that still knows its code: HTTP has a status for some of them."""

    code: int

    def without_null_id(self) -> "ErrorReply":
        """The same where an id that cannot be read is left out rather than null."""
        if not self.startswith(_NULL_ID):
            return self
        reply = ErrorReply(self.replace(b'"id":null,', b"", 1))
        reply.code = self.code
        return reply


def failure(request_id: Id | None, error: Reject) -> ErrorReply:
    """A reply with an error; the id is null where the request's cannot be read."""
    reply = ErrorReply(_encode(_Failure("2.0", request_id, error)))
    reply.code = error.code
    return reply


def reply(request_id: Id, result: Reject | dict[str, Any] | Raw) -> bytes:
    """The reply to a request: a result, or that there is none."""
    if isinstance(result, Reject):
        return failure(request_id, result)
    return _encode(_Success("2.0", request_id, result))


def success(request_id: Id, result: Iterable[bytes]) -> bytes:
    """The reply to a request, with a result that is JSON in parts."""
    return b"".join((_SUCCESS, _encode(request_id), _RESULT, *result, b"}"))


def invalid(request_id: Id | UnsetType | None, reason: str) -> ErrorReply:
    """The reply to JSON that is no message."""
    return failure(None if request_id is UNSET else request_id, invalid_request(reason))


def notification(method: str, params: object = UNSET) -> bytes:
    """A message that wants no reply."""
    return _encode(_Notification("2.0", method, params))


def request(request_id: Id, method: str, params: object) -> bytes:
    """A message that wants a reply."""
    return _encode(_Request("2.0", request_id, method, params))


def parse_error() -> Reject:
    """For what is not JSON at all."""
    return Reject(PARSE_ERROR, "Parse error")


def invalid_request(reason: str) -> Reject:
    """For JSON that is no message."""
    return Reject(INVALID_REQUEST, "Invalid Request", reason)
