"""One peer's conversation: which revision it speaks, which calls are open, what each message means."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Raw

from accord.answer import Answer, Problem
from accord.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    Reject,
)
from accord.protocol import messages
from accord.protocol.batch import Batch
from accord.protocol.diagnosis import Diagnosis, diagnose, overlong
from accord.protocol.events import Call, Cancel, Event
from accord.protocol.framing import Overlong
from accord.protocol.messages import NULL, Frame, Meta
from accord.revisions import REVISIONS, STATELESS, Revision, negotiate
from accord.tool import Client

Outcome = Answer[Any] | Problem | Reject
"""How a call ended."""

_LONGEST_BATCH: Final = 100
_BEGIN: Final = (
    "Say which revision this is: begin with initialize, or send _meta with "
    "io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities"
)


class Host(Protocol):
    """What a connection asks of the server it leads to. Results are JSON, complete for `revision`."""

    def initialize(self, revision: Revision) -> Raw: ...
    def discover(self, revision: Revision) -> Raw: ...
    def list_tools(self, cursor: str | None, revision: Revision) -> Raw | Reject: ...
    def render(self, call: Call, outcome: Outcome) -> dict[str, Any] | Reject: ...


class Connection:
    """The protocol's side of one peer. No I/O: messages in, events out; outcomes in, bytes out."""

    def __init__(self, host: Host, *, revision: Revision | None = None) -> None:
        self._host = host
        self._revision = revision
        self._client = Client()
        self._stateless_client = (b"", Client())
        self._open: dict[bytes, list[Call]] = {}

    def receive(self, message: bytes | Overlong) -> list[Event]:
        """What one message means: replies to send, calls to start, calls to stop."""
        if isinstance(message, Overlong):
            return [_reject(overlong(message.head, "the message is too long"))]
        try:
            if not message.isascii():
                message.decode()
            frame = _decode_frame(message)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._receive_odd(message)
        event = self._take(frame, None)
        return [] if event is None else [event]

    def finish(self, call: Call, outcome: Outcome) -> bytes | None:
        """The bytes that answer a call; None if it was cancelled, or its batch is not complete."""
        if not call.cancelled:
            self._forget(call)
            result = self._host.render(call, outcome)
            reply = _reply(call.id, result)
            if call.batch is None:
                return reply
            call.batch.add(reply)
        return call.batch.settle() if call.batch else None

    def abandon(self) -> list[Call]:
        """Cancel every open call, since nobody waits any longer, and say which they were."""
        calls = [call for calls in self._open.values() for call in calls]
        self._open.clear()
        for call in calls:
            call.cancelled = True
        return calls

    @property
    def is_idle(self) -> bool:
        """Whether no call is open."""
        return not self._open

    def _receive_odd(self, message: bytes) -> list[Event]:
        """What did not decode as one message: a batch, a response, or a fault."""
        if message.lstrip()[:1] == b"[":
            return self._receive_batch(message)
        if not message.strip():
            return []
        diagnosis = diagnose(message)
        return [_reject(diagnosis)] if diagnosis else []

    def _receive_batch(self, message: bytes) -> list[Event]:
        try:
            message.decode()
            members = _decode_batch(message)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            diagnosis = diagnose(message)
            return [_reject(diagnosis)] if diagnosis else []
        fault = self._batch_fault(members)
        if fault:
            return [messages.failure(NULL, messages.invalid_request(fault))]
        batch = Batch()
        events: list[Event] = []
        for member in members:
            event = self._take_member(bytes(member), batch)
            if isinstance(event, bytes):
                batch.add(event)
            elif event is not None:
                events.append(event)
        reply = batch.settle()
        return events if reply is None else [*events, reply]

    def _batch_fault(self, members: list[Raw]) -> str | None:
        if self._revision is None or not self._revision.batches:
            return "batches are part of revision 2025-03-26 alone"
        if not members:
            return "the batch is empty"
        if len(members) > _LONGEST_BATCH:
            return f"a batch has at most {_LONGEST_BATCH} messages"
        return None

    def _take_member(self, message: bytes, batch: Batch) -> Event | None:
        try:
            return self._take(_decode_frame(message), batch)
        except (msgspec.MsgspecError, RecursionError):
            diagnosis = diagnose(message)
            return _reject(diagnosis) if diagnosis else None

    def _take(self, frame: Frame, batch: Batch | None) -> Event | None:
        raw_id = bytes(frame.id)
        method = frame.method
        if method is UNSET:
            if frame.result or frame.error:
                return None  # a response to a question nobody asked
            diagnosis = Diagnosis(_id_or_null(raw_id), messages.invalid_request("there is no method"))
            return _reject(diagnosis)
        if not raw_id:
            return self._notice(method, frame.params)
        if not messages.is_id(raw_id):
            return messages.failure(
                NULL, messages.invalid_request("id must be a string or an integer")
            )
        outcome = self._request(raw_id, method, frame.params, batch)
        return outcome if isinstance(outcome, Call) else _reply(raw_id, outcome)

    def _notice(self, method: str, params: Raw) -> Event | None:
        if method != "notifications/cancelled":
            return None
        try:
            cancelled = _decode_cancelled(params)
        except msgspec.MsgspecError:
            return None
        calls = self._open.get(_key(bytes(cancelled.request_id)))
        if not calls:
            return None
        call = calls[0]
        call.cancelled = True
        self._forget(call)
        return Cancel(call)

    def _request(
        self, raw_id: bytes, method: str, raw: Raw, batch: Batch | None
    ) -> Call | Raw | Reject:
        route = _ROUTES.get(method)
        if route is None:
            return Reject(METHOD_NOT_FOUND, f"Method not found: {method}")
        try:
            params = route.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            if bytes(raw) not in (b"", NULL):
                return Reject(INVALID_PARAMS, _params_fault(method, error))
            return self._request(raw_id, method, Raw(b"{}"), batch)
        context = self._context(params.meta, method)
        if isinstance(context, Reject):
            return context
        revision, client = context
        if batch is not None and not revision.batches:
            return messages.invalid_request("this revision has no batches")
        if not (route.stateless if revision.stateless else route.handshake):
            return Reject(METHOD_NOT_FOUND, f"Method not found: {method}")
        return route.take(self, params, Call(raw_id, revision, client, batch))

    def _context(self, meta: Meta | None, method: str) -> "tuple[Revision, Client] | Reject":
        """Under which revision, and for whom, a request is to be served."""
        if meta is not None and meta.revision is not UNSET:
            return self._stateless_context(meta)
        if self._revision is not None:
            return self._revision, self._client
        if method in _BEFORE_HANDSHAKE:
            return negotiate(""), self._client
        return Reject(INVALID_PARAMS, _BEGIN)

    def _stateless_context(self, meta: Meta) -> "tuple[Revision, Client] | Reject":
        revision = REVISIONS.get(str(meta.revision))
        if revision is None or not revision.stateless:
            return Reject(
                UNSUPPORTED_PROTOCOL_VERSION,
                "Unsupported protocol version",
                {"supported": STATELESS, "requested": meta.revision},
            )
        said = bytes(meta.capabilities) + b"\0" + bytes(meta.client)
        if said != self._stateless_client[0]:  # clients say the same on every request
            client = _client(meta)
            if isinstance(client, Reject):
                return client
            self._stateless_client = (said, client)
        return revision, self._stateless_client[1]

    def _initialize(self, params: messages.InitializeParams, call: Call) -> Raw | Reject:
        if call.batch:
            return messages.invalid_request("initialize cannot be part of a batch")
        self._revision = negotiate(params.protocol_version)
        self._client = Client(params.capabilities, params.client_info)
        return self._host.initialize(self._revision)

    def _ping(self, params: messages.Params, call: Call) -> Raw:
        return Raw(b"{}")

    def _discover(self, params: messages.Params, call: Call) -> Raw:
        return self._host.discover(call.revision)

    def _list_tools(self, params: messages.ListParams, call: Call) -> Raw | Reject:
        return self._host.list_tools(params.cursor, call.revision)

    def _call_tool(self, params: messages.CallParams, call: Call) -> Call | Reject:
        call.name = params.name
        arguments = bytes(params.arguments)
        if arguments[:1] == b"{":
            call.arguments = arguments
        elif arguments not in (b"", NULL):
            return Reject(INVALID_PARAMS, "params.arguments must be an object")
        if call.batch is not None:
            call.batch.expect()
        self._open.setdefault(_key(call.id), []).append(call)
        return call

    def _forget(self, call: Call) -> None:
        key = _key(call.id)
        calls = self._open[key]
        if len(calls) == 1:
            del self._open[key]
        else:
            calls.remove(call)


class Route(NamedTuple):
    """What to do with a method, and in which of the two eras it exists."""

    decode: Callable[[Any], Any]
    take: Callable[[Connection, Any, Call], Call | Raw | Reject]
    handshake: bool = True
    stateless: bool = True


def _decoder(type: type) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(type).decode


_decode_frame = msgspec.json.Decoder(Frame).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
_decode_cancelled = msgspec.json.Decoder(messages.CancelledParams).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

_BEFORE_HANDSHAKE: Final = frozenset({"initialize", "ping"})
_ROUTES: Final = {
    "initialize": Route(
        _decoder(messages.InitializeParams), Connection._initialize, stateless=False
    ),
    "ping": Route(_decoder(messages.Params), Connection._ping, stateless=False),
    "server/discover": Route(_decoder(messages.Params), Connection._discover, handshake=False),
    "tools/list": Route(_decoder(messages.ListParams), Connection._list_tools),
    "tools/call": Route(_decoder(messages.CallParams), Connection._call_tool),
}


def _reply(raw_id: bytes, result: object) -> bytes:
    if isinstance(result, Reject):
        return messages.failure(raw_id, result)
    return messages.success(raw_id, result)


def _reject(diagnosis: Diagnosis) -> bytes:
    return messages.failure(diagnosis.id, diagnosis.error)


def _id_or_null(raw_id: bytes) -> bytes:
    return raw_id if messages.is_id(raw_id) else NULL


def _key(raw_id: bytes) -> bytes:
    """One spelling for an id that can be written in several."""
    return raw_id if b"\\" not in raw_id else msgspec.json.encode(msgspec.json.decode(raw_id))


def _client(meta: Meta) -> Client | Reject:
    try:
        capabilities = _decode_object(meta.capabilities)
    except (msgspec.MsgspecError, RecursionError):
        key = "io.modelcontextprotocol/clientCapabilities"
        return Reject(INVALID_PARAMS, f"params._meta must hold {key}, an object")
    try:
        info = _decode_object(meta.client)
    except (msgspec.MsgspecError, RecursionError):
        info = {}
    return Client(capabilities, info)


def _params_fault(method: str, error: Exception) -> str:
    """msgspec names the member and the types, never the value."""
    reason = str(error).replace("`", "").replace(" - at $", " at params")
    return f"Invalid params for {method}: {reason}"
