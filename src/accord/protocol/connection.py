"""One peer's conversation: its revision, its open calls, and what each message means."""

import logging
from collections.abc import Set
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Raw

from accord.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Reject,
)
from accord.model.changes import Change, Updated
from accord.model.context import ClientInfo, Level
from accord.model.questions import Question
from accord.protocol import messages
from accord.protocol.batch import Batch, read_batch
from accord.protocol.clients import LONGEST_KEPT, UNREADABLE, read_known_meta, read_meta
from accord.protocol.diagnosis import diagnose, overlong
from accord.protocol.events import Answered, Call, Cancel, Event, Posed
from accord.protocol.framing import Overlong
from accord.protocol.messages import MOST_WATCHED, NOTHING, Frame, Id
from accord.protocol.methods import ROUTES, UNKNOWN, Found, Route, look_again
from accord.protocol.mirror import Mirror
from accord.protocol.news import news
from accord.revisions import Revision, negotiate

log = logging.getLogger("accord")

_USUAL_LEVEL: Final = "info"  # from where on log is sent to a client that has said nothing about it
_BEGIN: Final = (
    "Say which revision this is: begin with initialize, or send _meta with "
    "io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities"
)


class Host(Protocol):
    """What a connection asks of the server it leads to; results are complete for their revision."""

    def initialize(self, client: ClientInfo) -> Raw: ...
    def discover(self, client: ClientInfo) -> Raw: ...
    def list_page(self, method: str, cursor: str | None, client: ClientInfo) -> Raw | Reject | None:
        """A page of a list; None if it depends on who asks, and so has to be run as a call."""

    @property
    def catalog(self) -> "Catalog": ...


class Catalog(Protocol):
    """What a connection asks about what a server has."""

    def has(self, feature: str) -> bool: ...
    def watch_fault(self, uri: str, revision: Revision) -> Reject | None: ...


class Connection:
    """The protocol's side of one peer, without I/O: messages in, events out; replies in and out."""

    level: Level = _USUAL_LEVEL
    """From where on the peer wants to see log."""
    subscribed: Set[str] = frozenset()
    """The resources whose changes the peer wants to hear of."""
    _posed: dict[Id, Posed] | None = None
    _questions = 0

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
        self.host = host
        self._is_shared = is_shared
        self._handshake = handshake
        self.has_begun = False
        """Whether the peer has said `initialize`."""
        self._client = None if revision is None else ClientInfo(revision)
        self._open: dict[Id, list[Call]] = {}

    def receive(self, message: bytes | Overlong, mirror: Mirror | None = None) -> list[Event]:
        """What one message means: replies to send, calls to start, calls to stop.

        A `mirror` is what came with it in HTTP headers, and has to agree with it.
        """
        if isinstance(message, Overlong):
            return [overlong(message.head, "the message is too long")]
        try:
            if not message.isascii():
                message.decode()
            call = self._start(message, mirror)
            if call is not None:
                return [call]
            frame = _decode_frame(message)
        except UNREADABLE:
            return self._receive_odd(message)
        event = self._take(frame, None, mirror)
        return [] if event is None else [event]

    def _start(self, message: bytes, mirror: Mirror | None) -> Call | None:
        """The call of a tool that most messages are, in few steps; None if it takes more."""
        try:
            frame = _decode_call(message)
        except UNREADABLE:
            return None
        params = frame.params
        meta = b"" if params.meta is NOTHING else bytes(params.meta)
        client = self._whose(meta, _CALL_ROUTE, mirror)
        if type(client) is not ClientInfo:
            return None
        if mirror is not None and client.revision.stateless and not mirror.names(params.name):
            return None
        arguments = bytes(params.arguments)
        if arguments[:1] != b"{":
            return None
        call = Call(frame.id, client, None, meta, self, params.name, arguments)
        if not self._is_shared:
            self._open.setdefault(call.id, []).append(call)
        return call

    def finish(self, call: Call, reply: bytes) -> bytes | None:
        """The bytes that answer a call; None if it was cancelled, or its batch is not complete."""
        call.edge = None
        if call.cancelled:
            return None
        if not self._is_shared:
            self._forget(call)
        if call.batch is None:
            return reply
        call.batch.add(reply)
        return call.batch.settle()

    def abandon(self) -> list[Call]:
        """Cancel every open call and return them: the peer is gone."""
        calls = [call for calls in self._open.values() for call in calls]
        self._open.clear()
        for call in calls:
            call.cancelled = True
        return calls

    def begin(self, client: ClientInfo) -> None:
        """The peer has said who it is."""
        self._client = client
        self.has_begun = True

    def subscribe(self, uri: str) -> Reject | None:
        """The peer wants to hear of changes of a resource."""
        subscribed = self.subscribed | {uri}
        if len(subscribed) > MOST_WATCHED:
            return Reject(INVALID_REQUEST, f"At most {MOST_WATCHED} resources are watched")
        self.subscribed = subscribed
        return None

    def unsubscribe(self, uri: str) -> None:
        """The peer no longer wants to."""
        self.subscribed -= {uri}

    def news(self, change: Change) -> bytes | None:
        """What to send for a change of the server, if the peer is one that gets to hear of it."""
        if not self.has_begun or (
            isinstance(change, Updated) and change.uri not in self.subscribed
        ):
            return None
        return news(change)

    def pose(self, question: Question, revision: Revision) -> Posed:
        """A question to be sent; its answer comes back as an event."""
        self._questions += 1
        question_id = f"question-{self._questions}"
        message = messages.request(question_id, question.method, question.params(revision))
        if self._posed is None:
            self._posed = {}
        posed = self._posed[question_id] = Posed(question_id, message)
        return posed

    def withdraw(self, posed: Posed) -> bytes | None:
        """Wait for an answer no longer; what tells the peer so, if it has not answered."""
        if self._take_posed(posed.id) is None:
            return None
        params = {"requestId": posed.id, "reason": "The answer is no longer needed"}
        return messages.notification("notifications/cancelled", params)

    def _take_posed(self, question_id: Id) -> Posed | None:
        return None if self._posed is None else self._posed.pop(question_id, None)

    @property
    def primes_streams(self) -> bool:
        """Whether the peer's revision begins a stream with an empty event."""
        return self._client is not None and self._client.revision.primed_streams

    @property
    def is_idle(self) -> bool:
        """Whether no call is open."""
        return not self._open

    def _receive_odd(self, message: bytes) -> list[Event]:
        """What did not decode as one message: nothing at all, a batch, a response, or a fault."""
        inner = message.strip(b" \t\r\n")
        if not inner:
            return []
        if inner[:1] == b"[":
            return self._receive_batch(message)
        reply = diagnose(message)
        return [] if reply is None else [reply]

    def _receive_batch(self, message: bytes) -> list[Event]:
        members = read_batch(message, allowed=_has_batches(self._client))
        if not isinstance(members, list):
            return [] if members is None else [members]
        batch = Batch()
        events: list[Event] = []
        for member in members:
            event = self._take_member(member, batch)
            if isinstance(event, bytes):
                batch.add(event)
            elif event is not None:
                events.append(event)
        reply = batch.settle()
        return events if reply is None else [*events, reply]

    def _take_member(self, message: bytes, batch: Batch) -> Event | None:
        try:
            frame = _decode_frame(message)
        except UNREADABLE:
            return diagnose(message)
        return self._take(frame, batch, None)

    def _take(self, frame: Frame, batch: Batch | None, mirror: Mirror | None) -> Event | None:
        method, request_id = frame.method, frame.id
        if method is UNSET:
            if frame.result or frame.error:
                return self._answer(frame)
            return messages.invalid(request_id, "there is no method")
        if request_id is UNSET:
            return self._notice(method, frame.params)
        try:
            found = self._request(request_id, method, frame.params, batch, mirror)
        except Exception:  # a bug of ours is no reason to leave a peer waiting
            log.exception("%s failed", method if method in ROUTES else "an unknown method")
            found = Reject(INTERNAL_ERROR, "Internal error")
        return found if isinstance(found, Call) else messages.reply(request_id, found)

    def _answer(self, frame: Frame) -> Answered | None:
        """A response: the answer to a question of ours, or nothing that anybody waits for."""
        posed = None if frame.id is UNSET else self._take_posed(frame.id)
        return None if posed is None else Answered(posed, frame.result, frame.error)

    def _notice(self, method: str, params: Raw) -> Cancel | None:
        if method != "notifications/cancelled":
            return None
        try:
            cancelled = _decode_cancelled(params)
        except UNREADABLE:
            return None
        calls = self._open.get(cancelled.request_id)
        if not calls:
            return None
        call = calls[0]  # one notice takes back one call, also where several carry its id
        call.cancelled = True
        self._forget(call)
        return Cancel(call, None if call.batch is None else call.batch.settle())

    def _request(
        self, request_id: Id, method: str, raw: Raw, batch: Batch | None, mirror: Mirror | None
    ) -> Found:
        route = ROUTES.get(method, UNKNOWN)
        if route.feature is not None and not self.host.catalog.has(route.feature):
            route = UNKNOWN
        fault: Reject | None = None
        try:
            params = route.decode(raw)
        except UNREADABLE as error:
            params, fault = look_again(route, method, bytes(raw), error)
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
        if fault is None and batch is not None and not revision.batches:
            fault = messages.invalid_request("this revision has no batches")
        if fault is not None:
            return fault
        call = Call(request_id, client, batch, meta, self)
        found = route.take(self, params, call)
        if found is call:  # it can be cancelled from now on, and has to be finished
            if batch is not None:
                batch.expect()
            if not self._is_shared:
                self._open.setdefault(request_id, []).append(call)
        return found

    def _whose(self, meta: bytes, route: Route, mirror: Mirror | None) -> ClientInfo | Reject:
        """For whom a request is to be served: each one says so itself, or the handshake did."""
        if meta:
            said = read_known_meta(meta) if len(meta) <= LONGEST_KEPT else read_meta(meta)
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

    def _forget(self, call: Call) -> None:
        calls = self._open[call.id]
        if len(calls) == 1:
            del self._open[call.id]
        else:
            calls.remove(call)


_decode_frame = msgspec.json.Decoder(Frame).decode
_decode_call = msgspec.json.Decoder(messages.CallFrame).decode
_decode_cancelled = msgspec.json.Decoder(messages.CancelledParams).decode
_NOBODY: Final = ClientInfo(negotiate(""))
_CALL_ROUTE: Final = ROUTES["tools/call"]


def _has_batches(client: ClientInfo | None) -> bool:
    return client is not None and client.revision.batches
