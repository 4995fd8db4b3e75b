"""Sessions of the handshake era, as far as this process serves them."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import uniform
from time import monotonic
from typing import Final

from accord.model.changes import KINDS
from accord.protocol import Connection, Request
from accord.protocol.messages import MAX_SUBSCRIPTIONS
from accord.serve.http.session_id import SessionId, SessionIds
from accord.serve.http.streams import PRIMING, Stream
from accord.signing import CLOCK_SKEW

_DIGITS: Final = 16
_MOST_STREAMS: Final = 16  # a session's streams that can be resumed
_MOST_ENDED: Final = 100_000  # sessions that have ended before their ids expire
_ANNOUNCEMENTS: Final = 4  # of a session in use, in the time in which it would expire
_OF: Final = "."
_RECONNECT: Final = (0.1, 1.0)  # seconds in which the clients of a process that ends come back
_LISTENING: Final = "l"  # in the name of a stream that belongs to no call
_MOST_KEPT: Final = MAX_SUBSCRIPTIONS + len(KINDS)  # changes for a client that does not listen yet


class Unverified:
    """The principal of a session that another worker has told of: the digest in its id decides."""


UNVERIFIED: Final = Unverified()
Principal = bytes | Unverified | None
"""A client's identity; None for a client without one."""


KeepEvent = Callable[[str, int, bytes | None, int], None]
"""Takes the name of a stream, and what `accord.serve.http.streams.Keep` takes."""


class Session:
    """A client's protocol connection and the streams that it may resume."""

    __slots__ = (
        "_announce",
        "_cancel",
        "_opened",
        "_streams",
        "_unheard",
        "connection",
        "expires",
        "keep_event",
        "listeners",
        "listening_workers",
        "principal",
        "seal",
        "used",
        "used_announced",
    )

    def __init__(
        self,
        seal: SessionId,
        connection: Connection,
        principal: Principal,
        cancel: Callable[[Request], None] = lambda _: None,
        announce: Callable[["Session", bool], None] = lambda session, is_open: None,
    ) -> None:
        """`cancel` cancels an open request of the session.

        `announce` tells the other workers that this one begins or ends to follow the session.
        """
        self.seal: SessionId = seal
        self.connection: Connection = connection
        self.principal: Principal = principal
        self._cancel = cancel
        self._announce = announce
        self.used: float = monotonic()
        self.used_announced: float = 0.0
        """When the other workers were last told that it is in use."""
        self.expires: float = 0.0
        """When its id expires, by the same clock as `used`."""
        self.listeners: Counter[Stream] = Counter()
        """The streams of this session's GET requests, with the number of followers."""
        self.listening_workers: frozenset[str] = frozenset()
        """The other workers that have such streams."""
        self.keep_event: KeepEvent | None = None
        """Stores the events of its streams, if other processes may serve them."""
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self._opened = 0
        self._unheard: dict[bytes, None] = {}

    @property
    def id(self) -> str:
        """Its id."""
        return self.seal.text

    @property
    def is_idle(self) -> bool:
        """True if it has no open call here, and no listener in any worker."""
        return self.connection.is_idle and not self.listeners and not self.listening_workers

    def open_stream(self, *, of_session: bool = False) -> Stream:
        """Open a stream; above the limit the oldest is dropped, those of calls first."""
        self._opened += 1
        kind = _LISTENING if of_session else ""
        name = f"{self._opened}{kind}{_OF}{self.connection.origin}"
        stream = Stream(name, of_session=of_session)
        self._add(stream)
        if self.connection.primes_streams:
            stream.append(PRIMING)
        return stream

    def has_stream(self, name: str) -> bool:
        """True if a stream can be resumed here."""
        return name in self._streams

    def adopt(self, name: str, first: int, events: Sequence[bytes], *, is_closed: bool) -> None:
        """Take over a stream of a process that has ended, with its events from a number on.

        One of a call ends with its last event: the call has ended with the process.
        """
        of_session = name.partition(_OF)[0].endswith(_LISTENING)
        stream = Stream.of_events(name, first, events, of_session=of_session)
        self._add(stream)
        if is_closed or not of_session:
            stream.close()

    def _add(self, stream: Stream) -> None:
        if self.keep_event is not None:
            stream.keep = partial(self.keep_event, stream.name)
        self._streams[stream.name] = stream
        while len(self._streams) > _MOST_STREAMS:
            of_calls = (each.name for each in self._streams.values() if not each.of_session)
            del self._streams[next(of_calls, None) or next(iter(self._streams))]

    def listen(self) -> Stream:
        """Open a stream for messages that belong to no call."""
        stream = self.open_stream(of_session=True)
        self._hear(stream)
        return stream

    def _hear(self, stream: Stream) -> None:
        for message in self._unheard:
            stream.tell(message)
        self._unheard.clear()
        self.listeners[stream] += 1
        if self.listeners.total() == 1:
            self._announce(self, True)

    def set_listening(self, worker: str, *, is_open: bool) -> None:
        """Note that another worker has begun or ended to follow the session."""
        if is_open:
            self.listening_workers |= {worker}
            self._unheard.clear()
        else:
            self.listening_workers -= {worker}

    def leave(self, stream: Stream) -> None:
        """Remove a follower of a stream."""
        if self.listeners[stream] > 1:
            self.listeners[stream] -= 1
        else:
            del self.listeners[stream]
        if not self.listeners:
            self._announce(self, False)

    def tell(self, message: bytes) -> None:
        """Send a message that belongs to no call: to one listener, or to the next one.

        If several workers have listeners, the first of them sends it.
        """
        others = self.listening_workers
        listener = next(iter(self.listeners), None)
        if listener is not None:
            if not others or self.connection.origin < min(others):
                listener.tell(message)
        elif not others and len(self._unheard) < _MOST_KEPT:
            self._unheard[message] = None

    def resume(self, last_event: str) -> tuple[Stream, int] | None:
        """Return the stream of an event and the number of the next one; None if not kept."""
        name, _, number = last_event.partition("-")
        stream = self._streams.get(name)
        if stream is None or not (number.isascii() and number.isdigit() and len(number) < _DIGITS):
            return None
        if int(number) >= stream.count:
            return None
        stream.unpause()
        if stream.of_session:
            self._hear(stream)
        return stream, int(number) + 1

    def close(self) -> None:
        """Close its streams and cancel its calls."""
        for request in self.connection.abandon():
            self._cancel(request)
        for stream in (*self.listeners, *self._streams.values()):
            stream.close()


def process_of(event: str) -> str:
    """Return the process that has sent an event, by the id of the event."""
    return event.partition("-")[0].partition(_OF)[2]


class Sessions:
    """The sessions of this process, in order of their last use.

    A session that is not used is dropped. Its id is enough to serve it again, unless its client has
    changed it: then it has ended, and its id is refused from then on.
    """

    def __init__(
        self,
        ids: SessionIds,
        limit: int,
        idle_seconds: float,
        clock: Callable[[], float] = monotonic,
        *,
        on_end: Callable[[SessionId], None] = lambda _: None,
        on_use: Callable[[Session], None] = lambda _: None,
        is_stored: bool = False,
    ) -> None:
        """`on_end` and `on_use` tell other workers that a session has ended or is in use.

        If what changes a session `is_stored`, one that is dropped can be served again.
        """
        self._is_stored = is_stored
        self._ids = ids
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._on_end = on_end
        self._on_use = on_use
        self._ended: OrderedDict[str, int] = OrderedDict()
        """Ended sessions by their nonces, with the time at which their ids expire."""
        self._by_id: OrderedDict[str, Session] = OrderedDict()
        self._due = 0.0
        """The earliest time at which a session can expire."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._by_id

    def add(self, session: Session) -> bool:
        """Add a session; False if too many are in use."""
        now = self._clock()
        self._expire(now)
        if len(self._by_id) >= self._limit:
            idle = next((each for each in self._by_id.values() if each.is_idle), None)
            if idle is None:
                return False
            self._drop(idle)
        session.used = now
        session.expires = now + session.seal.until - self._ids.clock()
        self._by_id[session.id] = session
        return True

    def read(self, session_id: str, principal: Principal = UNVERIFIED) -> SessionId | None:
        """Return an id that has not expired, if it is this principal's and has not ended."""
        seal = self._ids.read(session_id)
        if seal is None or seal.nonce in self._ended or not self._is_of(seal, principal):
            return None
        return seal

    def _is_of(self, seal: SessionId, principal: Principal) -> bool:
        if isinstance(principal, Unverified):
            return True
        return self._ids.is_of(seal, principal)

    def find(self, session_id: str, principal: Principal = UNVERIFIED) -> Session | None:
        """Return the session with an id, if it is here and this principal's."""
        now = self._clock()
        if now >= self._due:
            self._expire(now)
        session = self._by_id.get(session_id)
        if session is None:
            return None
        if session.principal != principal and not isinstance(principal, Unverified):
            if session.principal is not UNVERIFIED or not self._is_of(session.seal, principal):
                return None
            session.principal = principal
        if now >= session.expires:
            self.end(session)
            return None
        self._touch(session, now)
        if session.connection.is_changed:
            self._announce_use(session, now)
        return session

    def _announce_use(self, session: Session, now: float) -> None:
        """Keep a session from ending in other workers."""
        if now - session.used_announced > self._idle_seconds / _ANNOUNCEMENTS:
            session.used_announced = now
            self._on_use(session)

    def touch(self, session_id: str) -> None:
        """Note that another worker uses a session."""
        session = self._by_id.get(session_id)
        if session is not None:
            self._touch(session, self._clock())

    def _touch(self, session: Session, now: float) -> None:
        session.used = now
        self._by_id.move_to_end(session.id)

    def end(self, session: Session) -> None:
        """End a session: its id is refused from now on."""
        self._refuse({session.seal.nonce: session.seal.until})
        self._forget(session)
        self._on_end(session.seal)

    def refuse(self, session_id: str) -> None:
        """End a session that another worker has ended."""
        seal = self._ids.read(session_id)
        if seal is not None:
            self._refuse({seal.nonce: seal.until})
        held = self._by_id.get(session_id)
        if held is not None:
            self._forget(held)

    def refuse_all(self, ended: Mapping[str, int]) -> None:
        """End sessions that another worker has ended, given as `ended`."""
        self._refuse(ended)
        for session in [each for each in self._by_id.values() if each.seal.nonce in ended]:
            self._forget(session)

    def _refuse(self, ended: Mapping[str, int]) -> None:
        now = self._ids.clock()
        self._ended |= ended
        while self._ended:
            oldest = next(iter(self._ended))
            if len(self._ended) <= _MOST_ENDED and self._ended[oldest] + CLOCK_SKEW > now:
                break
            del self._ended[oldest]

    @property
    def ended(self) -> dict[str, int]:
        """The nonces of sessions that have ended, with the time at which their ids expire."""
        return dict(self._ended)

    def _drop(self, session: Session) -> None:
        """Drop a session from memory."""
        if session.connection.is_changed and not self._is_stored:
            self.end(session)
        else:
            self._forget(session)

    def _forget(self, session: Session) -> None:
        self._by_id.pop(session.id, None)
        session.close()

    def tell(self, message_for: Callable[[Connection], bytes | None]) -> None:
        """Send each session its message, if there is one."""
        for session in self._by_id.values():
            message = message_for(session.connection)
            if message is not None:
                session.tell(message)

    def close_listeners(self) -> None:
        """End the listening streams; their clients come back, to other processes if there are."""
        for session in self._by_id.values():
            for stream in session.listeners:
                stream.pause(uniform(*_RECONNECT))  # noqa: S311 - no secret

    def lose(self, worker: str) -> None:
        """Note that a worker has ended: it follows no session any more."""
        for session in self._by_id.values():
            session.set_listening(worker, is_open=False)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._by_id.values())

    def end_all(self) -> None:
        """Drop all sessions from memory."""
        for session in list(self._by_id.values()):
            self._forget(session)

    def _expire(self, now: float) -> None:
        self._due = now + self._idle_seconds
        while self._by_id:
            oldest = next(iter(self._by_id.values()))
            if oldest.used > now - self._idle_seconds:
                self._due = oldest.used + self._idle_seconds
                return
            if oldest.is_idle:
                self._drop(oldest)
            else:  # in use, though its client has not spoken for a while
                self._touch(oldest, now)
                if oldest.connection.is_changed:
                    self._announce_use(oldest, now)
