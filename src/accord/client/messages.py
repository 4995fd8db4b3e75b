"""JSON-RPC messages, the HTTP headers that repeat parts of them, and the interface of a transport.

PeerError
├── Disconnected    the server has exited, or no longer reads
├── TimedOut        no reply within the time limit
├── HTTPRefused     an HTTP error status without a JSON-RPC message
└── SessionExpired  the server no longer knows the MCP session
"""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, Protocol

import msgspec

from accord.errors import METHOD_NOT_FOUND, ContractError, MCPError, PeerError
from accord.revisions import Revision

Direction = Literal["sent", "received", "noise"]
Response = Mapping[str, Any]
"""The response to a request of the server: `{"result": ...}` or `{"error": ...}`."""
ArgumentPath = tuple[str, ...]
"""The names that lead to an argument, from the outermost."""

_META: Final = "io.modelcontextprotocol"
SERVER_INFO: Final = f"{_META}/serverInfo"
_MAX_QUOTED: Final = 200  # characters of a server's text in an error message
_ANNOTATION: Final = "x-mcp-header"
_NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_PLAIN_VALUE: Final = re.compile(r"[!-~]([\t -~]*[!-~])?")
_ENCODED_VALUE: Final = re.compile(r"=\?base64\?.*\?=")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TYPES: Final = ("integer", "string", "boolean")
_DATA_KEYWORDS: Final = ("const", "default", "enum", "examples")
_SAFE_INTEGER: Final = 2**53 - 1

_encode = msgspec.json.Encoder().encode


class ClientDescription(msgspec.Struct, frozen=True):
    """The name, version and capabilities that this client reports."""

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any] = {}


class Message(msgspec.Struct, frozen=True):
    """One message as sent or received; `noise` is received data that is not a message."""

    direction: Direction
    raw: bytes
    time: float
    """Seconds since 1970."""


class Reply(msgspec.Struct, frozen=True):
    """The reply to a request: its bytes as received, and decoded."""

    raw: bytes
    message: dict[str, Any]

    @property
    def result(self) -> Any:
        """The result, or None where the reply has none."""
        return self.message.get("result")

    @property
    def error(self) -> Any:
        """The JSON-RPC error, or None where the reply has none."""
        return self.message.get("error")


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """An encoded message, with what a transport needs to send it."""

    raw: bytes
    method: str = ""
    params: Mapping[str, Any] = {}
    id: int | None = None
    revision: Revision | None = None
    """None until one is negotiated."""
    headers: Mapping[str, str] = {}
    """Further HTTP headers."""


@cache
def client_info() -> Mapping[str, str]:
    """Return the name and version of this client."""
    from importlib.metadata import version  # slow to import

    return {"name": "accord", "version": version("accord-mcp")}


def outgoing(
    method: str,
    params: Mapping[str, Any] | None,
    *,
    id: int | None = None,
    revision: Revision | None = None,
    client: ClientDescription | None = None,
    headers: Mapping[str, str] | None = None,
) -> Outgoing:
    """Encode a notification, or a request if there is an id."""
    if id is not None and revision is not None and revision.stateless:
        params = _with_meta(params or {}, revision, client or ClientDescription({}))
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = id
    message["method"] = method
    if params is not None:
        message["params"] = params
    try:
        raw = _encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the params of {method} cannot be encoded as JSON: {error}") from error
    return Outgoing(
        raw=raw, method=method, params=params or {}, id=id, revision=revision, headers=headers or {}
    )


def _with_meta(
    params: Mapping[str, Any], revision: Revision, client: ClientDescription
) -> dict[str, Any]:
    client_meta = {
        f"{_META}/protocolVersion": revision.date,
        f"{_META}/clientInfo": client.info,
        f"{_META}/clientCapabilities": client.capabilities,
    }
    return {**params, "_meta": {**client_meta, **params.get("_meta", {})}}


def method_not_found(request: Mapping[str, Any]) -> Response:
    """Return the response to a request that this client does not support."""
    return {"error": {"code": METHOD_NOT_FOUND, "message": "This client does not support requests"}}


def response(request_id: Any, answer: Response, revision: Revision | None = None) -> Outgoing:
    """Encode the response to a request of the server."""
    return Outgoing(raw=_encode({"jsonrpc": "2.0", "id": request_id, **answer}), revision=revision)


def parse_messages(raw: bytes) -> list[tuple[bytes, dict[str, Any]]]:
    """Return the messages in `raw`: one, those of a batch, or none if it is not JSON-RPC."""
    value = _decode(raw)
    if isinstance(value, list):
        return [
            (part, each)
            for part, each in zip(_parts(raw, value), value, strict=True)
            if _is_message(each)
        ]
    return [(raw, value)] if _is_message(value) else []


def _decode(raw: bytes) -> Any:
    """Decode JSON leniently: some servers send NaN, lone surrogates and invalid UTF-8."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(raw.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _parts(raw: bytes, members: list[Any]) -> list[bytes]:
    try:
        return [bytes(part) for part in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [json.dumps(member).encode() for member in members]


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(("method", "result", "error"))


def require_seconds(name: str, value: object) -> None:
    """Raise ContractError unless a time limit is a number above 0; it may be infinite."""
    if not isinstance(value, int | float) or not value > 0:
        raise ContractError(f"{name} must be a number of seconds above 0, not {value!r}")


def describe_error(error: Any) -> str:
    """Describe a JSON-RPC error in an error message."""
    if not isinstance(error, dict):
        return shorten(repr(error))
    return f"{shorten(str(error.get('message')))} ({error.get('code')})"


def mcp_error(activity: str, error: Any) -> MCPError:
    """Return the exception for the JSON-RPC error of a reply; a malformed one has the code 0."""
    members = error if isinstance(error, dict) else {}
    code = members.get("code")
    return MCPError(
        f"{activity} failed: {describe_error(error)}",
        code if isinstance(code, int) else 0,
        str(members.get("message", "")),
        members.get("data"),
    )


def shorten(text: str) -> str:
    """Return a server's text on one line, cut to a maximum length."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTED else line[:_MAX_QUOTED] + "…"


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

    @property
    def in_session(self) -> bool:
        """True if messages belong to a session that the server may forget."""

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        """Send a request and read until its reply arrives.

        Raises a PeerError if no reply will come. The caller cancels this when it has the reply.
        """

    async def send(self, message: Outgoing) -> None:
        """Send a notification or a response."""

    async def listening(self) -> None:
        """Return once messages of the server that belong to no request can arrive."""

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        """Tell the server, by the notification or otherwise, that the request is cancelled."""

    def diagnostics(self) -> str:
        """Return what else is known of the server, to end an error message with; may be empty."""

    async def close(self) -> None:
        """Close the connection, and end the server's process if there is one."""


def message_headers(message: Outgoing) -> dict[str, str]:
    """Return the headers of one message for its revision."""
    if message.revision is None:
        return {}
    headers = {"MCP-Protocol-Version": message.revision.date}
    if not message.revision.stateless:
        return {**headers, **message.headers}
    headers["Mcp-Method"] = message.method
    name = message.params.get(_NAMED_BY.get(message.method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header(name)
    return {**headers, **message.headers}


def encode_header(value: str) -> str:
    """Encode a header value: as it is, or as Base64 between markers."""
    if (_PLAIN_VALUE.fullmatch(value) or not value) and not _ENCODED_VALUE.fullmatch(value):
        return value
    return f"=?base64?{b64encode(value.encode(errors='replace')).decode()}?="


def find_header_params(schema: Any) -> dict[ArgumentPath, str]:
    """Return the header name of each argument that a schema annotates; PeerError if invalid."""
    found: dict[ArgumentPath, str] = {}
    open_: list[tuple[ArgumentPath, Any, bool]] = [((), schema, True)]
    while open_:
        path, node, is_reachable = open_.pop()
        if isinstance(node, list):
            open_ += [(path, each, False) for each in node]
        if not isinstance(node, dict):
            continue
        if _ANNOTATION in node:
            found[path] = _header_name(node, is_reachable, found)
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                open_ += [((*path, name), each, is_reachable) for name, each in value.items()]
            elif key not in _DATA_KEYWORDS:
                open_.append((path, value, False))
    return found


def _header_name(
    node: Mapping[str, Any], is_reachable: bool, found: Mapping[ArgumentPath, str]
) -> str:
    name = node[_ANNOTATION]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise PeerError(f"{_ANNOTATION} {name!r} is not a valid header name")
    if not is_reachable:
        raise PeerError(f"{_ANNOTATION} {name!r} must annotate a property of an object")
    if node.get("type") not in _HEADER_TYPES:
        raise PeerError(f"{_ANNOTATION} {name!r} must be on an integer, string or boolean")
    if name.lower() in (other.lower() for other in found.values()):
        raise PeerError(f"{_ANNOTATION} {name!r} is used twice")
    return name


def argument_headers(
    names: Mapping[ArgumentPath, str], arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Return the headers for the given arguments."""
    headers = {}
    for path, name in names.items():
        text = _text(_at(path, arguments))
        if text is not None:
            headers[f"Mcp-Param-{name}"] = encode_header(text)
    return headers


def _at(path: ArgumentPath, value: Any) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) <= _SAFE_INTEGER:
            return str(value)
        case str():
            return value
        case _:
            return None
