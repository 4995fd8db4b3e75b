"""The shapes of JSON-RPC and MCP messages, as far as a server has to look into them."""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import INVALID_REQUEST, PARSE_ERROR, Reject

NOTHING: Final = Raw(b"")
NULL: Final = b"null"


class Frame(msgspec.Struct, frozen=True):
    """Any message, with everything that depends on its kind left as it came."""

    jsonrpc: Literal["2.0"]
    id: Raw = NOTHING
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING


class Meta(msgspec.Struct, frozen=True):
    """`params._meta` of a request."""

    revision: str | UnsetType = msgspec.field(
        name="io.modelcontextprotocol/protocolVersion", default=UNSET
    )
    capabilities: Raw = msgspec.field(
        name="io.modelcontextprotocol/clientCapabilities", default=NOTHING
    )
    client: Raw = msgspec.field(name="io.modelcontextprotocol/clientInfo", default=NOTHING)


class Params(msgspec.Struct, frozen=True):
    """What the params of any request may hold."""

    meta: Meta | None = msgspec.field(name="_meta", default=None)


class InitializeParams(Params, frozen=True, rename="camel", kw_only=True):
    """What a client says of itself when it begins."""

    protocol_version: str
    capabilities: dict[str, Any] = {}
    client_info: dict[str, Any] = {}


class ListParams(Params, frozen=True):
    """Which part of a list is wanted."""

    cursor: str | None = None


class CallParams(Params, frozen=True, kw_only=True):
    """Which tool to call, and with what."""

    name: str
    arguments: Raw = NOTHING


class CancelledParams(msgspec.Struct, frozen=True, rename="camel"):
    """Which request is no longer wanted."""

    request_id: Raw


class _Success(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: Raw
    result: Any


class _Failure(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: Raw
    error: Reject


_encode = msgspec.json.Encoder().encode


def success(id: bytes, result: object) -> bytes:
    """A reply with a result; `result` is a mapping, or Raw JSON."""
    return _encode(_Success("2.0", Raw(id), result))


def failure(id: bytes, error: Reject) -> bytes:
    """A reply with an error; `id` is `null` where the request's cannot be read."""
    return _encode(_Failure("2.0", Raw(id), error))


def parse_error(reason: str | None = None) -> Reject:
    """For what is not JSON at all."""
    return Reject(PARSE_ERROR, "Parse error", reason)


def invalid_request(reason: str) -> Reject:
    """For JSON that is no message."""
    return Reject(INVALID_REQUEST, "Invalid Request", reason)


def is_id(raw: bytes) -> bool:
    """Whether this JSON is a string or an integer: nothing else can be a request's id."""
    return raw[:1] == b'"' or raw.removeprefix(b"-").isdigit()
