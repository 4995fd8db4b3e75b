"""What the processes of a server tell each other, whatever carries it.

`siblings` links the workers of one machine by sockets, `replicas` those of several by Redis. Both
send the messages that are defined here, and relay requests with `relay_through` and
`serve_relayed`. Each has its own way to frame and acknowledge messages, and to notice that a
process has ended: a socket shows its end, and Redis has a number that no longer increases.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from accord.child_process import PipeClosed
from accord.errors import StoreError
from accord.model.changes import Change, Kind, ListChanged, Updated
from accord.serve.http.exchange import EVENT_STREAM, Exchange, Message
from accord.serve.http.request import Header, refuse
from accord.serve.http.response import Response, refused
from accord.server.registry import Rules
from accord.signing import BadSignature

log: logging.Logger = logging.getLogger("accord")

ACK_SECONDS: Final = 1.0  # for a process that is busy: after that it is not waited for
_ENDED: Final = "The worker that has what this request is about has ended; try again"
_FRAMING: Final = (b"content-type", b"content-length", b"connection")


class Forwarded(msgspec.Struct, frozen=True, tag="forwarded"):
    """A message of a client for the session in another worker."""

    session: str
    message: bytes


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A session has ended."""

    session: str


class AllEnded(msgspec.Struct, frozen=True, tag="all ended"):
    """The sessions that have ended: their nonces, with the time at which their ids expire."""

    sessions: dict[str, int]


class Listening(msgspec.Struct, frozen=True, tag="listening"):
    """A worker has begun or ended to follow a session for its client."""

    session: str
    is_open: bool


class Used(msgspec.Struct, frozen=True, tag="used"):
    """A session is in use, and must not expire."""

    session: str


class Changed(msgspec.Struct, frozen=True, tag="changed"):
    """A list of the server has changed, or a resource."""

    kind: Kind | None
    uri: str | None

    @classmethod
    def of(cls, change: Change) -> "Changed":
        """Return the message for a change."""
        return cls(None, change.uri) if isinstance(change, Updated) else cls(change.kind, None)

    @property
    def change(self) -> Change:
        """The change."""
        return Updated(self.uri or "") if self.kind is None else ListChanged(self.kind)


class Switched(msgspec.Struct, frozen=True, tag="switched"):
    """Features of the server were enabled or disabled."""

    rules: list[tuple[str, str, int, bool]]

    @classmethod
    def of(cls, rules: Rules) -> "Switched":
        """Return the message for the rules of a registry."""
        return cls([(*selector, *rule) for selector, rule in rules.items()])

    @property
    def by_selector(self) -> Rules:
        """The rules, as the registry has them."""
        return {(kind, name): (number, on) for kind, name, number, on in self.rules}


class Wanted(msgspec.Struct, frozen=True, tag="wanted"):
    """A question for figures of a worker, such as its counters; the acknowledgement has them."""

    what: str


Linked = Forwarded | Ended | AllEnded | Listening | Used | Changed | Switched | Wanted
"""A message on a link."""
Figures = Mapping[str, Callable[[], bytes]]
"""Functions that return figures of this process, by name."""


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    name: str
    proof: str
    """The name, signed: the other side has the key."""
    is_relay: bool = False


class Sent(msgspec.Struct, frozen=True, tag="sent"):
    number: int
    """For the acknowledgement; 0 if none is wanted."""
    message: Linked


class Ack(msgspec.Struct, frozen=True, tag="ack"):
    number: int
    body: bytes = b""


class RelayedRequest(msgspec.Struct, frozen=True, tag="request"):
    method: str
    path: str
    headers: list[Header]
    body: bytes
    address: str | None


class ResponseStart(msgspec.Struct, frozen=True, tag="start"):
    status: int
    headers: list[Header]


class ResponseBody(msgspec.Struct, frozen=True, tag="body"):
    body: bytes
    more: bool


Frame = Hello | Sent | Ack | RelayedRequest | ResponseStart | ResponseBody
encode_frame: Callable[[Frame], bytes] = msgspec.msgpack.Encoder().encode
decode_frame: Callable[[bytes], Frame] = msgspec.msgpack.Decoder(Frame).decode


GONE: Final = (PipeClosed, OSError, EOFError, msgspec.MsgspecError, BadSignature, StoreError)
"""The other side has ended, or is not a worker."""


class SessionState(Protocol):
    """The sessions of a worker."""

    def take(self, worker: str, message: Linked) -> None:
        """Take a message of another worker."""

    def greeting(self) -> Iterable[Linked]:
        """Return the messages that tell a new worker the state of all sessions."""

    def lose(self, worker: str) -> None:
        """Forget a worker that has ended."""

    def restore(self) -> None:
        """Store again what is known here: the store has lost it."""

    def refresh(self) -> None:
        """Read again what the store has: messages of other workers were lost."""


class Pipe(Protocol):
    """A connection between two processes for one request; raises one of its GONE at its end."""

    @property
    def is_closing(self) -> bool:
        """True if nothing can be written any more."""

    async def read(self) -> Frame: ...
    async def ended(self) -> None:
        """Wait until the other side has closed it."""

    async def write(self, frame: Frame) -> None: ...
    def close(self) -> None: ...


AnswerRelayed = Callable[
    [str, str, list[Header], bytes, "Relayed"],
    Response | Coroutine[Any, Any, Response | None],
]
"""Answers a request of another worker, by its method, path, headers, body and connection."""


class Links(Protocol):
    """The links of one process to the others that serve the same sessions."""

    name: str

    def has(self, worker: str) -> bool:
        """True if a process of this name is linked."""

    async def start(self, sessions: SessionState, answer: AnswerRelayed, figures: Figures) -> None:
        """Begin to take messages; raise StoreError if that is not possible."""

    def stop(self) -> None:
        """End the requests that are relayed."""

    async def close(self) -> None:
        """Close all links."""

    def send(self, worker: str, message: Linked) -> Awaitable[object]:
        """Send a message to one linked process; the awaitable raises StoreError if it is lost."""

    def tell(self, message: Linked) -> None:
        """Send a message to all."""

    def tell_threadsafe(self, message: Linked) -> None:
        """Send a message to all, from any thread."""

    def broadcast(self, message: Linked) -> Awaitable[object]:
        """Send a message to all; the awaitable waits for their acknowledgements."""

    async def relay(self, worker: str, exchange: Exchange, body: bytes) -> Response | None:
        """Let another process answer a request; None if the response was a stream."""


async def relay_through(
    pipe: Pipe, exchange: Exchange, body: bytes, closing: asyncio.Event
) -> Response | None:
    """Let the process at the other end of a pipe answer a request."""
    fields = [*exchange.head.fields.items()]
    request = RelayedRequest(exchange.method, exchange.path, fields, body, exchange.address)
    waits = [asyncio.ensure_future(exchange.gone()), asyncio.ensure_future(closing.wait())]
    passing = asyncio.ensure_future(_pass_on(pipe, request, exchange))
    try:
        await asyncio.wait({passing, *waits}, return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            return passing.result()
        if exchange.has_started:
            await exchange.send({"type": "http.response.body", "body": b""})
            return None
        return refused(refuse(503, "The server is about to end"))
    except GONE:
        return None if exchange.has_started else refused(refuse(502, _ENDED))
    finally:
        for task in (*waits, passing):
            task.cancel()
        await asyncio.gather(passing, *waits, return_exceptions=True)
        pipe.close()


def no_owner() -> Response:
    """Return the response if the process that a request is for has ended."""
    return refused(refuse(502, _ENDED))


async def serve_relayed(pipe: Pipe, answer: AnswerRelayed) -> None:
    """Answer the request of another process."""
    request = await pipe.read()
    if not isinstance(request, RelayedRequest):
        return
    connection = Relayed(pipe, request.address)
    try:
        found = answer(request.method, request.path, request.headers, request.body, connection)
        response = found if isinstance(found, Response) else await found
    except Exception:
        log.exception("A request failed")
        return
    if response is not None:
        start = {"type": "http.response.start", "status": response.status}
        await connection.send(start | {"headers": response.headers()})
        await connection.send({"type": "http.response.body", "body": response.body})


class Relayed:
    """ASGI's receive and send for a request that another worker has relayed."""

    def __init__(self, pipe: Pipe, address: str | None) -> None:
        self._pipe = pipe
        self.scope: dict[str, tuple[str, int] | None] = {
            "client": None if address is None else (address, 0)
        }

    async def receive(self) -> Message:
        """Wait until the client or its worker is gone."""
        await self._pipe.ended()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the response to the worker of the client, unless that is gone."""
        if self._pipe.is_closing:
            return
        frame: Frame
        if message["type"] == "http.response.start":
            frame = ResponseStart(message["status"], list(message["headers"]))
        else:
            frame = ResponseBody(bytes(message["body"]), message.get("more_body", False))
        with suppress(*GONE):
            await self._pipe.write(frame)


async def _pass_on(pipe: Pipe, request: RelayedRequest, exchange: Exchange) -> Response | None:
    """Pass the response of another worker on to the client."""
    await pipe.write(request)
    start = await pipe.read()
    if not isinstance(start, ResponseStart):
        raise PipeClosed
    kind = dict(start.headers).get(b"content-type", b"")
    if kind != EVENT_STREAM:
        more = tuple(each for each in start.headers if each[0] not in _FRAMING)
        return Response(start.status, (await _read_body(pipe)).body, more, kind)
    exchange.has_started = True
    head = {"type": "http.response.start", "status": start.status, "headers": start.headers}
    await exchange.send(head)
    while (part := await _read_body(pipe)).more:
        await exchange.send({"type": "http.response.body", "body": part.body, "more_body": True})
    await exchange.send({"type": "http.response.body", "body": part.body})
    return None


async def _read_body(pipe: Pipe) -> ResponseBody:
    found = await pipe.read()
    if not isinstance(found, ResponseBody):
        raise PipeClosed
    return found
