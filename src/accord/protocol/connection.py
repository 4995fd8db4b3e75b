"""One peer's protocol state: its revision, its open requests, and the meaning of its messages."""

import logging
from collections.abc import Callable, Set
from enum import Enum, auto
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Reject,
)
from accord.model.changes import Change, Updated, Watcher
from accord.model.context import ClientInfo, Level
from accord.model.questions import Question
from accord.protocol import messages
from accord.protocol.batch import Batch, read_batch
from accord.protocol.diagnosis import diagnose, overlong
from accord.protocol.events import Cancel, ClientResponse, Event, Request, ServerRequest
from accord.protocol.framing import Overlong
from accord.protocol.header_params import RequestHeaders
from accord.protocol.messages import MAX_SUBSCRIPTIONS, NOTHING, Frame, Id
from accord.protocol.methods import ROUTES, UNKNOWN, Route, Taken, decode_leniently
from accord.protocol.notifications import session_notification
from accord.protocol.request_meta import MAX_CACHED, UNREADABLE, read_cached_meta, read_meta
from accord.revisions import Revision, negotiate

log: logging.Logger = logging.getLogger("accord")

_DEFAULT_LEVEL: Final = "info"  # of log messages, for a client that has not set one
_QUESTION: Final = "question-"
_OF: Final = "."
_BEGIN: Final = (
    "Say which revision this is: begin with initialize, or send _meta with "
    "io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities"
)


class State(Enum):
    """The state of a connection.

    In every state, a request whose `_meta` names a revision is served in that revision. The state
    decides about a request that names none:

    ============= ================================= ============== =====================
    state         request without a revision        `initialize`   change notifications
    ============= ================================= ============== =====================
    NEW           initialize and ping only          -> SESSION     not sent
    STATELESS     rejected                          rejected       not sent
    SESSIONLESS   served in the transport's one     -> SESSION     not sent
    SESSION       served in the negotiated one      -> SESSION     sent
    ============= ================================= ============== =====================
    """

    NEW = auto()
    STATELESS = auto()
    SESSIONLESS = auto()
    """HTTP with the header MCP-Protocol-Version, but no session."""
    SESSION = auto()


class Host(Protocol):
    """The server behind a connection; its results are complete for the client's revision."""

    def initialize(self, client: ClientInfo, *, notifies: bool) -> Raw:
        """Return the result of `initialize`; if it `notifies`, the client hears of changes."""

    def discover(self, client: ClientInfo) -> Raw: ...
    def list_page(self, method: str, cursor: str | None, client: ClientInfo) -> Raw | Reject | None:
        """Return a page of a list; None if it depends on the caller, and has to be executed."""

    def has_feature(self, feature: str) -> bool: ...
    def subscription_fault(self, uri: str, revision: Revision) -> Reject | None: ...
    def watch(self, uri: str, watcher: Watcher) -> None: ...


Forward = Callable[[str, bytes], Reject | None]
"""Passes a message to the process of that name, or to all others of the session if it is empty."""


class Connection:
    """The protocol of one peer, without I/O: messages in, events out; replies in, bytes out.

    A session that several processes serve has a connection in each. What concerns all of them, or a
    request that is open in another one, goes through `forward`.
    """

    origin: str = ""
    """The name of this process, if others serve the session too: a part of the ids of requests."""
    forward: Forward | None = None
    is_changed: bool = False
    """True if the peer has changed the session since `initialize`: its log level, for example."""
    log_level: Level = _DEFAULT_LEVEL
    """The minimum level of log messages that the peer wants."""
    subscribed: Set[str] = frozenset()
    """URIs of the resources whose changes the peer wants."""
    _server_requests: dict[Id, ServerRequest] | None = None
    _server_request_count = 0
    _batches: dict[Request, Batch] | None = None

    def __init__(
        self,
        host: Host,
        *,
        revision: Revision | None = None,
        handshake: bool = True,
        is_shared: bool = False,
        sessions: bool = True,
    ) -> None:
        """Open a connection for a peer of a `revision`; if None, the peer names it.

        Without `handshake` every request has to name it. A connection that `is_shared` by several
        peers keeps no open requests, so no peer can cancel another's. Without `sessions`,
        `initialize` is answered but starts none.
        """
        self.host = host
        self.sessions = sessions
        self._is_shared = is_shared
        self._client = None if revision is None else ClientInfo(revision)
        self._state = State.SESSIONLESS
        if revision is None:
            self._state = State.NEW if handshake else State.STATELESS
        self._open: dict[Id, Request | list[Request]] = {}
        """The open requests; a list where several have the same id."""

    def receive(
        self, message: bytes | Overlong, headers: RequestHeaders | None = None
    ) -> list[Event]:
        """Return the events of one message.

        `headers` are the HTTP headers that repeat parts of it, and have to agree with it.
        """
        if isinstance(message, Overlong):
            return [overlong(message.head, "the message is too long")]
        try:
            if not message.isascii():
                message.decode()
            call = _decode_call(message)  # the most frequent message, taken in few steps
        except UNREADABLE:
            return self._receive_other(message, headers)
        params = call.params
        meta = b"" if params.meta is NOTHING else bytes(params.meta)
        client = self._client_of(meta, _CALL_ROUTE, headers)
        arguments = bytes(params.arguments)
        if (
            type(client) is not ClientInfo
            or arguments[:1] != b"{"
            or (
                headers is not None and client.revision.stateless and not headers.match(params.name)
            )
        ):
            return self._receive_other(message, headers)
        request = Request(call.id, client, "tools/call", params.name, arguments, meta)
        if not self._is_shared and self._open.setdefault(request.id, request) is not request:
            self._add_to_open(request)
        return [request]

    def _receive_other(self, message: bytes, headers: RequestHeaders | None) -> list[Event]:
        """Return the events of any message."""
        try:
            message.decode()
            frame = _decode_frame(message)
        except UNREADABLE:
            return self._receive_irregular(message)
        event = self._take(frame, None, headers)
        return [] if event is None else [event]

    def finish(self, request: Request, reply: bytes) -> bytes | None:
        """Return the bytes to send for a reply.

        None if the request was cancelled, or other requests of its batch are open.
        """
        if not self._is_shared:
            if self._open.get(request.id) is request:
                del self._open[request.id]
            elif not self._remove_from_open(request):
                return None
        if self._batches is None:
            return reply
        batch = self._batches.pop(request, None)
        if batch is None:
            return reply
        batch.add(reply)
        return batch.settle()

    def abandon(self) -> list[Request]:
        """Cancel all open requests and return them: the peer is gone."""
        requests: list[Request] = []
        for found in self._open.values():
            requests += found if isinstance(found, list) else [found]
        self._open.clear()
        return requests

    def begin_session(self, client: ClientInfo) -> None:
        """Answer `initialize` of a client."""
        self._client = client
        self._state = State.SESSION

    @property
    def client(self) -> ClientInfo | None:
        """The client of requests that name none."""
        return self._client

    @property
    def has_session(self) -> bool:
        """True once `initialize` was answered."""
        return self._state is State.SESSION

    def changes(self) -> list[bytes]:
        """Return messages that change a new session to what this one is."""
        if not self.is_changed or self._client is None:
            return []
        client = self._client
        begin = {
            "protocolVersion": client.revision.date,
            "capabilities": client.capabilities,
            "clientInfo": client.info,
        }
        return [
            messages.request(0, "initialize", begin),
            messages.request(0, "logging/setLevel", {"level": self.log_level}),
            *(messages.request(0, "resources/subscribe", {"uri": uri}) for uri in self.subscribed),
        ]

    def subscribe(self, uri: str) -> Reject | None:
        """Subscribe the peer to changes of a resource."""
        subscribed = self.subscribed | {uri}
        if len(subscribed) > MAX_SUBSCRIPTIONS:
            return Reject(INVALID_REQUEST, f"At most {MAX_SUBSCRIPTIONS} resources are watched")
        self.subscribed = subscribed
        return None

    def unsubscribe(self, uri: str) -> None:
        """Unsubscribe the peer from changes of a resource."""
        self.subscribed -= {uri}

    def wants(self, uri: str) -> bool:
        """True while the peer is subscribed to changes of a resource."""
        return uri in self.subscribed

    def notification(self, change: Change) -> bytes | None:
        """Return the notification of a change, if the peer gets one."""
        if self._state is not State.SESSION:
            return None
        if isinstance(change, Updated) and change.uri not in self.subscribed:
            return None
        return session_notification(change)

    def ask(self, question: Question, revision: Revision) -> ServerRequest:
        """Return a request to send to the client; its response comes back as an event."""
        self._server_request_count += 1
        origin = f"{self.origin}{_OF}" if self.origin else ""
        request_id = f"{_QUESTION}{origin}{self._server_request_count}"
        message = messages.request(request_id, question.method, question.params(revision))
        if self._server_requests is None:
            self._server_requests = {}
        request = self._server_requests[request_id] = ServerRequest(request_id, message)
        return request

    def withdraw(self, request: ServerRequest) -> bytes | None:
        """Stop waiting for a response; return the cancellation to send, unless it has come."""
        if self._take_server_request(request.id) is None:
            return None
        params = {"requestId": request.id, "reason": "The answer is no longer needed"}
        return messages.notification("notifications/cancelled", params)

    def _take_server_request(self, request_id: Id) -> ServerRequest | None:
        requests = self._server_requests
        return None if requests is None else requests.pop(request_id, None)

    @property
    def primes_streams(self) -> bool:
        """True if streams of the peer's revision begin with an empty event."""
        return self._client is not None and self._client.revision.primed_streams

    @property
    def is_idle(self) -> bool:
        """True if no request is open."""
        return not self._open

    def _receive_irregular(self, message: bytes) -> list[Event]:
        """Take what did not decode as one message: blank, a batch, a response, or malformed."""
        inner = message.strip(b" \t\r\n")
        if not inner:
            return []
        if inner[:1] == b"[":
            return self._receive_batch(message)
        reply = diagnose(message)
        return [] if reply is None else [reply]

    def _receive_batch(self, message: bytes) -> list[Event]:
        has_batches = self._client is not None and self._client.revision.batches
        members = read_batch(message, allowed=has_batches)
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

    def _take(
        self, frame: Frame, batch: Batch | None, headers: RequestHeaders | None
    ) -> Event | None:
        method, request_id = frame.method, frame.id
        if method is UNSET:
            if frame.result or frame.error:
                return self._take_response(frame)
            return messages.invalid(request_id, "there is no method")
        if request_id is UNSET:
            return self._take_notification(method, frame.params)
        try:
            taken = self._take_request(request_id, method, frame.params, batch, headers)
        except Exception:  # a bug of ours must not leave the peer without a reply
            log.exception("%s failed", method if method in ROUTES else "an unknown method")
            taken = Reject(INTERNAL_ERROR, "Internal error")
        return taken if isinstance(taken, Request) else messages.reply(request_id, taken)

    def _take_response(self, frame: Frame) -> ClientResponse | bytes | None:
        """Return the event of a response to a request of ours; other responses are ignored."""
        request = None if frame.id is UNSET else self._take_server_request(frame.id)
        if request is not None:
            return ClientResponse(request, frame.result, frame.error)
        owner = _process_of(frame.id)
        if self.forward is None or owner in ("", self.origin):
            return None
        fault = self.forward(owner, _encode(frame))
        return None if fault is None else messages.failure(None, fault)

    def _take_notification(self, method: str, params: Raw) -> Cancel | None:
        if method != "notifications/cancelled":
            return None
        try:
            cancelled = _decode_cancelled(params)
        except UNREADABLE:
            return None
        found = self._open.get(cancelled.request_id)
        if found is None:
            if self.forward is not None:
                self.forward("", _encode(Frame("2.0", method=method, params=params)))
            return None
        # one notification cancels one request, even if others share its id
        request = found[0] if isinstance(found, list) else found
        self._remove_from_open(request)
        batch = None if self._batches is None else self._batches.pop(request, None)
        return Cancel(request, None if batch is None else batch.settle())

    def _take_request(
        self,
        request_id: Id,
        method: str,
        raw: Raw,
        batch: Batch | None,
        headers: RequestHeaders | None,
    ) -> Taken:
        route = ROUTES.get(method, UNKNOWN)
        if route.feature is not None and not self.host.has_feature(route.feature):
            route = UNKNOWN
        fault: Reject | None = None
        try:
            params = route.decode(raw)
        except UNREADABLE as error:
            params, fault = decode_leniently(route, method, bytes(raw), error)
        meta = b"" if params.meta is NOTHING else bytes(params.meta)
        client = self._client_of(meta, route, headers)
        if isinstance(client, Reject):
            return fault or client
        revision = client.revision
        if revision.stateless and headers is not None:
            mismatch = headers.fault(revision.date, method, params)
            if mismatch is not None:
                return mismatch
        if not (route.stateless if revision.stateless else route.handshake):
            return Reject(METHOD_NOT_FOUND, f"Method not found: {method}")
        if fault is None and batch is not None:
            fault = _batch_fault(method, revision)
        if fault is not None:
            return fault
        had_session = self.has_session
        taken = route.take(self, params, Request(request_id, client, method, meta=meta))
        if isinstance(taken, Request):
            self._open_request(taken, batch)
        elif route.changes_session and had_session and not isinstance(taken, Reject):
            self.is_changed = True
            if self.forward is not None:
                self.forward("", _encode(Frame("2.0", request_id, method, raw)))
        return taken

    def _open_request(self, request: Request, batch: Batch | None) -> None:
        if batch is not None:
            batch.expect()
            if self._batches is None:
                self._batches = {}
            self._batches[request] = batch
        if not self._is_shared and self._open.setdefault(request.id, request) is not request:
            self._add_to_open(request)

    def _client_of(
        self, meta: bytes, route: Route, headers: RequestHeaders | None
    ) -> ClientInfo | Reject:
        """Return the client of a request: as its `_meta` says, or as the state of the peer."""
        if meta:
            known = read_cached_meta(meta) if len(meta) <= MAX_CACHED else read_meta(meta)
            if known is not None:
                date, client = known
                if headers is None or date is None or headers.revision == date:
                    return client
                return headers.revision_fault()
        if self._client is not None:  # SESSIONLESS, SESSION
            return self._client
        if self._state is State.NEW and route.before_handshake:
            return _UNKNOWN_CLIENT
        return Reject(INVALID_PARAMS, _BEGIN)

    def _add_to_open(self, request: Request) -> None:
        """Add a request whose id another open one has."""
        found = self._open[request.id]
        if isinstance(found, list):
            found.append(request)
        else:
            self._open[request.id] = [found, request]

    def _remove_from_open(self, request: Request) -> bool:
        """Remove an open request; False if it is not open any more."""
        found = self._open.get(request.id)
        if isinstance(found, list) and request in found:
            found.remove(request)
            if len(found) == 1:
                self._open[request.id] = found[0]
        elif found is request:
            del self._open[request.id]
        else:
            return False
        return True


def _process_of(request_id: Id | UnsetType) -> str:
    """Return the process that has sent a request, by the id of that; empty if the id has none."""
    if not isinstance(request_id, str) or not request_id.startswith(_QUESTION):
        return ""
    return request_id.removeprefix(_QUESTION).rpartition(_OF)[0]


def _batch_fault(method: str, revision: Revision) -> Reject | None:
    """Return the error of a request that cannot be part of a batch."""
    if not revision.batches:
        return messages.invalid_request("this revision has no batches")
    if method == "initialize":
        return messages.invalid_request("initialize cannot be part of a batch")
    return None


_encode = msgspec.json.Encoder().encode
_decode_frame = msgspec.json.Decoder(Frame).decode
_decode_call = msgspec.json.Decoder(messages.CallFrame).decode
_decode_cancelled = msgspec.json.Decoder(messages.CancelledParams).decode
_UNKNOWN_CLIENT: Final = ClientInfo(negotiate(""))
_CALL_ROUTE: Final = ROUTES["tools/call"]
