"""JSON-RPC messages, as a client sends them and as it takes them from anybody."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from accord.errors import METHOD_NOT_FOUND, ContractError
from accord.revisions import Revision

Direction = Literal["sent", "received", "noise"]

_META: Final = "io.modelcontextprotocol"
SERVER_INFO: Final = f"{_META}/serverInfo"
_SHOWN: Final = 200  # characters of a peer's words inside a sentence of ours

_encode = msgspec.json.Encoder().encode


Answer = Mapping[str, Any]
"""What a client answers to a request of the server: `{"result": ...}` or `{"error": ...}`."""


class Client(msgspec.Struct, frozen=True):
    """What we call ourselves, and what we say that we can do."""

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any] = {}


class Message(msgspec.Struct, frozen=True):
    """One message as it went over the wire; `noise` is what came and is none."""

    direction: Direction
    raw: bytes
    time: float
    """Seconds since 1970."""


class Reply(msgspec.Struct, frozen=True):
    """What answered a request: as it came, and decoded."""

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
    """A message of ours, with what the wire has to know of it."""

    raw: bytes
    method: str = ""
    params: Mapping[str, Any] = {}
    id: int | None = None
    revision: Revision | None = None
    """None before one is agreed on."""
    headers: Mapping[str, str] = {}
    """HTTP headers of its own."""


def client_info() -> dict[str, str]:
    """What we call ourselves."""
    from importlib.metadata import version  # slow to import, and needed once a connection

    return {"name": "accord", "version": version("accord-mcp")}


def outgoing(
    method: str,
    params: Mapping[str, Any] | None,
    *,
    id: int | None = None,
    revision: Revision | None = None,
    client: Client | None = None,
    headers: Mapping[str, str] | None = None,
) -> Outgoing:
    """A notification, or with an id a request: in the stateless era that has a `_meta`."""
    if id is not None and revision is not None and revision.stateless:
        params = _with_meta(params or {}, revision, client or Client({}))
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = id
    message["method"] = method
    if params is not None:
        message["params"] = params
    try:
        raw = _encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the params of {method} cannot be JSON: {error}") from error
    return Outgoing(
        raw=raw, method=method, params=params or {}, id=id, revision=revision, headers=headers or {}
    )


def _with_meta(params: Mapping[str, Any], revision: Revision, client: Client) -> dict[str, Any]:
    ours = {
        f"{_META}/protocolVersion": revision.date,
        f"{_META}/clientInfo": client.info,
        f"{_META}/clientCapabilities": client.capabilities,
    }
    return {**params, "_meta": {**ours, **params.get("_meta", {})}}


def refusal(request: Mapping[str, Any]) -> Answer:
    """The answer of a client to a request of the server's that it does not know."""
    return {"error": {"code": METHOD_NOT_FOUND, "message": "This client only asks"}}


def response(identity: Any, answer: Answer, revision: Revision | None = None) -> Outgoing:
    """Our reply to a request of the server."""
    return Outgoing(raw=_encode({"jsonrpc": "2.0", "id": identity, **answer}), revision=revision)


def read(raw: bytes) -> list[tuple[bytes, dict[str, Any]]]:
    """The messages in what arrived: one, several from a batch, or none where it is no JSON-RPC."""
    value = _decode(raw)
    if isinstance(value, list):
        return [
            (part, each)
            for part, each in zip(_parts(raw, value), value, strict=True)
            if _is_message(each)
        ]
    return [(raw, value)] if _is_message(value) else []


def _decode(raw: bytes) -> Any:
    """Whatever is in there: some peers send NaN, lone surrogates and bytes that are no UTF-8."""
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


def in_words(error: Any) -> str:
    """A JSON-RPC error inside a sentence."""
    if not isinstance(error, dict):
        return shorten(repr(error))
    return f"{shorten(str(error.get('message')))} ({error.get('code')})"


def shorten(text: str) -> str:
    """Some words of a peer, on one line, that do not swamp ours."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
