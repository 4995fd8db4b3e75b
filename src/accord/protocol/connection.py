"""One peer's conversation: its revision, its open calls, and what each message means."""

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw

from accord.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    Reject,
)
from accord.protocol import messages
from accord.protocol.batch import Batch, read_batch
from accord.protocol.diagnosis import diagnose, overlong
from accord.protocol.events import Call, Cancel, Event
from accord.protocol.framing import Overlong
from accord.protocol.messages import NOTHING, Frame, Id, Meta
from accord.protocol.mirror import Mirror
from accord.revisions import REVISIONS, STATELESS, Revision, negotiate
from accord.tool import Client

log = logging.getLogger("accord")

_Found = Call | Raw | Reject
_LONGEST_KEPT: Final = 1_024  # bytes of a `_meta` that is remembered
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BEGIN: Final = (
    "Say which revision this is: begin with initialize, or send _meta with "
    "io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities"
)


class Host(Protocol):
    """What a connection asks of the server it leads to; results are complete for their revision."""

    def initialize(self, client: Client) -> Raw: ...
    def discover(self, client: Client) -> Raw: ...
    def list_tools(self, cursor: str | None, client: Client) -> Raw | Reject | None:
        """A page of tools; None if it takes a look at who asks, and so has to be run as a call."""


class Connection:
    """The protocol's side of one peer. No I/O: messages in, events out; results in, bytes out."""

    def __init__(
        self,
        host: Host,
        *,
        revision: Revision | None = None,
        handshake: bool = True,
        is_shared: bool = False,
    ) -> None:
        """Without a `revision` the peer says it: in a `handshake` if it may, or each time.

        One that `is_shared` by several peers keeps no calls, so none can take back another's.
        """
        self._host = host
        self._is_shared = is_shared
        self._handshake = handshake
        self.has_begun = False
        """Whether the peer has said `initialize`."""
        self._client = None if revision is None else Client(revision)
        self._open: dict[Id, list[Call]] = {}

    def receive(
        self, message: bytes | Overlong, mirror: Mirror | None = None, sender: Any = None
    ) -> list[Event]:
        """What one message means: replies to send, calls to start, calls to stop.

        A `mirror` is what came with it in HTTP headers, and has to agree with it; the `sender` is
        the HTTP request itself, for tools that act for whoever sent it.
        """
        if isinstance(message, Overlong):
            return [overlong(message.head, "the message is too long")]
        try:
            if not message.isascii():
                message.decode()
            call = self._start(message, mirror)
            if call is not None:
                call.sender = sender
                return [call]
            frame = _decode_frame(message)
        except _UNREADABLE:
            return self._receive_odd(message, sender)
        event = self._take(frame, None, mirror, sender)
        return [] if event is None else [event]

    def _start(self, message: bytes, mirror: Mirror | None) -> Call | None:
        """The call of a tool that most messages are, in few steps; None if it takes more."""
        try:
            frame = _decode_call(message)
        except _UNREADABLE:
            return None
        params = frame.params
        meta = b"" if params.meta is NOTHING else bytes(params.meta)
        client = self._whose(meta, _CALL_ROUTE, mirror)
        if type(client) is not Client:
            return None
        if mirror is not None and client.revision.stateless and not mirror.names(params.name):
            return None
        arguments = bytes(params.arguments)
        if arguments[:1] != b"{":
            return None
        call = Call(frame.id, client, None, meta, params.name, arguments)
        if not self._is_shared:
            self._open.setdefault(call.id, []).append(call)
        return call

    def finish(self, call: Call, reply: bytes) -> bytes | None:
        """The bytes that answer a call; None if it was cancelled, or its batch is not complete."""
        call.send = None
        if call.cancelled:
            return None
        if not self._is_shared:
            self._forget(call)
        if call.batch is None:
            return reply
        call.batch.add(reply)
        return call.batch.settle()

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

    def _receive_odd(self, message: bytes, sender: Any) -> list[Event]:
        """What did not decode as one message: nothing at all, a batch, a response, or a fault."""
        inner = message.strip(b" \t\r\n")
        if not inner:
            return []
        if inner[:1] == b"[":
            return self._receive_batch(message, sender)
        reply = diagnose(message)
        return [] if reply is None else [reply]

    def _receive_batch(self, message: bytes, sender: Any) -> list[Event]:
        members = read_batch(message, allowed=_has_batches(self._client))
        if not isinstance(members, list):
            return [] if members is None else [members]
        batch = Batch()
        events: list[Event] = []
        for member in members:
            event = self._take_member(member, batch, sender)
            if isinstance(event, bytes):
                batch.add(event)
            elif event is not None:
                events.append(event)
        reply = batch.settle()
        return events if reply is None else [*events, reply]

    def _take_member(self, message: bytes, batch: Batch, sender: Any) -> Event | None:
        try:
            frame = _decode_frame(message)
        except _UNREADABLE:
            return diagnose(message)
        return self._take(frame, batch, None, sender)

    def _take(
        self, frame: Frame, batch: Batch | None, mirror: Mirror | None, sender: Any
    ) -> Event | None:
        method, request_id = frame.method, frame.id
        if method is UNSET:
            is_response = frame.result or frame.error
            return None if is_response else messages.invalid(request_id, "there is no method")
        if request_id is UNSET:
            return self._notice(method, frame.params)
        try:
            call = Call(request_id, _NOBODY, batch, sender=sender)
            found = self._request(call, method, frame.params, mirror)
        except Exception:  # a bug of ours is no reason to leave a peer waiting
            log.exception("%s failed", method)
            found = Reject(INTERNAL_ERROR, "Internal error")
        return found if isinstance(found, Call) else messages.reply(request_id, found)

    def _notice(self, method: str, params: Raw) -> Cancel | None:
        if method != "notifications/cancelled":
            return None
        try:
            cancelled = _decode_cancelled(params)
        except _UNREADABLE:
            return None
        calls = self._open.get(cancelled.request_id)
        if not calls:
            return None
        call = calls[0]  # one notice takes back one call, also where several carry its id
        call.cancelled = True
        self._forget(call)
        return Cancel(call, None if call.batch is None else call.batch.settle())

    def _request(self, call: Call, method: str, raw: Raw, mirror: Mirror | None) -> _Found:
        route = _ROUTES.get(method, _UNKNOWN)
        fault: Reject | None = None
        try:
            params = route.decode(raw)
        except _UNREADABLE as error:
            params, fault = _look_again(route, method, bytes(raw), error)
        meta = b"" if params.meta is NOTHING else bytes(params.meta)
        client = self._whose(meta, route, mirror)
        if isinstance(client, Reject):
            return fault or client
        revision = client.revision
        if revision.stateless and mirror is not None:
            mismatch = mirror.fault(revision.date, method, params)
            if mismatch is not None:
                return mismatch
        if not (route.stateless if revision.stateless else route.handshake):
            return Reject(METHOD_NOT_FOUND, f"Method not found: {method}")
        if fault is None and call.batch is not None and not revision.batches:
            fault = messages.invalid_request("this revision has no batches")
        call.client, call.meta = client, meta
        return fault or route.take(self, params, call)

    def _whose(self, meta: bytes, route: "Route", mirror: Mirror | None) -> Client | Reject:
        """For whom a request is to be served: each one says so itself, or the handshake did."""
        if meta:
            said = _read_meta(meta) if len(meta) <= _LONGEST_KEPT else _read_meta.__wrapped__(meta)
            if said is not None:
                date, client = said
                if mirror is None or date is None or mirror.revision == date:
                    return client
                return mirror.revision_fault()
        if self._client is not None:
            return self._client
        if route.before_handshake and self._handshake:
            return _NOBODY
        return Reject(INVALID_PARAMS, _BEGIN)

    def _initialize(self, params: messages.InitializeParams, call: Call) -> Raw | Reject:
        if call.batch is not None:
            return messages.invalid_request("initialize cannot be part of a batch")
        revision = negotiate(params.protocol_version)
        self._client = Client(revision, params.capabilities, params.client_info)
        self.has_begun = True
        return self._host.initialize(self._client)

    def _ping(self, params: messages.Params, call: Call) -> Raw:
        return Raw(b"{}")

    def _discover(self, params: messages.Params, call: Call) -> Raw:
        return self._host.discover(call.client)

    def _list_tools(self, params: messages.ListParams, call: Call) -> Call | Raw | Reject:
        page = self._host.list_tools(params.cursor, call.client)
        if page is not None:
            return page
        call.listing, call.cursor = True, params.cursor
        return self._opened(call)

    def _call_tool(self, params: messages.CallParams, call: Call) -> Call | Reject:
        call.name = params.name
        arguments = bytes(params.arguments)
        if arguments[:1] == b"{":
            call.arguments = arguments
        elif arguments not in (b"", b"null"):
            return Reject(INVALID_PARAMS, "params.arguments must be an object")
        return self._opened(call)

    def _opened(self, call: Call) -> Call:
        """A call that is under way from now on."""
        if call.batch is not None:
            call.batch.expect()
        if not self._is_shared:
            self._open.setdefault(call.id, []).append(call)
        return call

    def _forget(self, call: Call) -> None:
        calls = self._open[call.id]
        if len(calls) == 1:
            del self._open[call.id]
        else:
            calls.remove(call)


class Route(msgspec.Struct, frozen=True):
    """What to do with a method, and in which of the two eras it exists."""

    decode: Callable[[Any], Any]
    take: Callable[[Connection, Any, Call], _Found]
    handshake: bool = True
    stateless: bool = True
    before_handshake: bool = False


def _decoder(params: type) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(params).decode


_decode_frame = msgspec.json.Decoder(Frame).decode
_decode_call = msgspec.json.Decoder(messages.CallFrame).decode
_decode_cancelled = msgspec.json.Decoder(messages.CancelledParams).decode

_NOBODY: Final = Client(negotiate(""))
_ANY_PARAMS: Final = _decoder(messages.Params)
_UNKNOWN: Final = Route(  # served to nobody, but a caller learns first whether it may ask at all
    _ANY_PARAMS, Connection._ping, handshake=False, stateless=False, before_handshake=True
)
_ROUTES: Final = {
    "initialize": Route(
        _decoder(messages.InitializeParams),
        Connection._initialize,
        stateless=False,
        before_handshake=True,
    ),
    "ping": Route(_ANY_PARAMS, Connection._ping, stateless=False, before_handshake=True),
    "server/discover": Route(_ANY_PARAMS, Connection._discover, handshake=False),
    "tools/list": Route(_decoder(messages.ListParams), Connection._list_tools),
    "tools/call": Route(_decoder(messages.CallParams), Connection._call_tool),
}

_CALL_ROUTE: Final = _ROUTES["tools/call"]


def _look_again(
    route: Route, method: str, raw: bytes, error: Exception
) -> tuple[Any, Reject | None]:
    """Params that did not decode: none at all, or of a wrong shape, of which `_meta` may do."""
    if raw in (b"", b"null"):
        raw = b"{}"
        try:
            return route.decode(raw), None
        except _UNREADABLE as missing:
            error = missing
    fault = Reject(INVALID_PARAMS, f"Invalid params for {method}: {_reason(error)}")
    try:
        return _ANY_PARAMS(raw), fault
    except _UNREADABLE:
        return messages.Params(), fault


def _has_batches(client: Client | None) -> bool:
    return client is not None and client.revision.batches


@lru_cache(256)  # clients send the same with every request
def _read_meta(raw: bytes) -> tuple[str | None, Client | Reject] | None:
    """The revision that `_meta` names, and who says so; None if it names none."""
    try:
        meta = messages.decode_meta(raw)
    except _UNREADABLE as error:
        return None, Reject(INVALID_PARAMS, f"Invalid params._meta: {_reason(error)}")
    if meta is None or meta.revision is UNSET:
        return None
    return meta.revision, _stateless_client(meta.revision, meta)


def _stateless_client(date: str, meta: Meta) -> Client | Reject:
    revision = REVISIONS.get(date)
    if revision is None or not revision.stateless:
        return Reject(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": STATELESS, "requested": date},
        )
    if meta.capabilities is UNSET:
        key = "io.modelcontextprotocol/clientCapabilities"
        return Reject(INVALID_PARAMS, f"params._meta lacks {key}")
    return Client(revision, meta.capabilities, meta.client)


def _reason(error: Exception) -> str:
    """In msgspec's words, which name the member and the types but never the value."""
    return str(error).replace("`", "").replace(" - at $", " at ").replace("at .", "at ")
