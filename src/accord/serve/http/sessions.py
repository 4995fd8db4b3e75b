"""Sessions of the handshake era, by random ids."""

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

from accord.model.changes import KINDS
from accord.protocol import Connection, Request
from accord.protocol.messages import MAX_SUBSCRIPTIONS
from accord.serve.http.streams import PRIMING, Stream

_DIGITS: Final = 16
_MOST_STREAMS: Final = 16  # a session's streams that can be resumed
_MOST_KEPT: Final = MAX_SUBSCRIPTIONS + len(KINDS)  # changes for a client that does not listen yet


class Session:
    """A client's protocol connection and the streams that it may resume."""

    def __init__(
        self,
        connection: Connection,
        principal: bytes | None,
        cancel: Callable[[Request], None] = lambda _: None,
    ) -> None:
        """`cancel` cancels an open request of the session."""
        self.id = secrets.token_urlsafe(24)
        self.connection = connection
        self.principal = principal
        self._cancel = cancel
        self.used = monotonic()
        self.listeners: Counter[Stream] = Counter()
        """The streams of this session's GET requests, with the number of followers."""
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self._opened = 0
        self._unheard: dict[bytes, None] = {}

    @property
    def is_idle(self) -> bool:
        """True if it has no open call and no listener."""
        return self.connection.is_idle and not self.listeners

    def open_stream(self, *, of_session: bool = False) -> Stream:
        """Open a stream; above the limit the oldest is dropped, those of calls first."""
        self._opened += 1
        stream = Stream(str(self._opened), of_session=of_session)
        if self.connection.primes_streams:
            stream.append(PRIMING)
        self._streams[stream.name] = stream
        while len(self._streams) > _MOST_STREAMS:
            of_calls = (each.name for each in self._streams.values() if not each.of_session)
            del self._streams[next(of_calls, None) or next(iter(self._streams))]
        return stream

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

    def leave(self, stream: Stream) -> None:
        """Remove a follower of a stream."""
        if self.listeners[stream] > 1:
            self.listeners[stream] -= 1
        else:
            del self.listeners[stream]

    def tell(self, message: bytes) -> None:
        """Send a message that belongs to no call: to a listener, or to the next one."""
        listener = next(iter(self.listeners), None)
        if listener is not None:
            listener.tell(message)
        elif len(self._unheard) < _MOST_KEPT:
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


class Sessions:
    """All sessions, in order of their last use."""

    def __init__(
        self, limit: int, idle_seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._by_id: OrderedDict[str, Session] = OrderedDict()
        self._due = 0.0
        """The earliest time at which a session can expire."""

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, session: Session) -> bool:
        """Add a session; False if too many are in use."""
        now = self._clock()
        self._expire(now)
        if len(self._by_id) >= self._limit:
            idle = next((each for each in self._by_id.values() if each.is_idle), None)
            if idle is None:
                return False
            self.end(idle)
        session.used = now
        self._by_id[session.id] = session
        return True

    def find(self, session_id: str, principal: bytes | None) -> Session | None:
        """Return the session with an id, if it is this principal's and has not expired."""
        now = self._clock()
        if now >= self._due:
            self._expire(now)
        session = self._by_id.get(session_id)
        if session is None or session.principal != principal:
            return None
        session.used = now
        self._by_id.move_to_end(session_id)
        return session

    def end(self, session: Session) -> None:
        """End a session."""
        self._by_id.pop(session.id, None)
        session.close()

    def tell(self, message_for: Callable[[Connection], bytes | None]) -> None:
        """Send each session its message, if there is one."""
        for session in self._by_id.values():
            message = message_for(session.connection)
            if message is not None:
                session.tell(message)

    def close_listeners(self) -> None:
        """Close the listening streams."""
        for session in self._by_id.values():
            for stream in session.listeners:
                stream.close()

    def end_all(self) -> None:
        """End all sessions."""
        for session in list(self._by_id.values()):
            self.end(session)

    def _expire(self, now: float) -> None:
        self._due = now + self._idle_seconds
        while self._by_id:
            oldest = next(iter(self._by_id.values()))
            if oldest.used > now - self._idle_seconds:
                self._due = oldest.used + self._idle_seconds
                return
            if oldest.is_idle:
                self.end(oldest)
            else:  # in use, though its client has not spoken for a while
                oldest.used = now
                self._by_id.move_to_end(oldest.id)
