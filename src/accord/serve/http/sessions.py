"""Sessions of the handshake era: one connection each, known by an id that nobody can guess."""

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

from accord.changes import KINDS
from accord.protocol import Connection
from accord.protocol.messages import MOST_WATCHED
from accord.serve.http.streams import PRIMING, Stream

_DIGITS: Final = 16
_MOST_STREAMS: Final = 16  # a session's streams that can be resumed
_MOST_KEPT: Final = MOST_WATCHED + len(KINDS)  # changes for a client that does not listen yet


class Session:
    """One client's connection, and the streams that it may come back to."""

    def __init__(self, connection: Connection, principal: bytes | None) -> None:
        self.id = secrets.token_urlsafe(24)
        self.connection = connection
        self.principal = principal
        self.used = monotonic()
        self.listeners: Counter[Stream] = Counter()
        """The streams for what belongs to no call, and how many follow each."""
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self._opened = 0
        self._unheard: dict[bytes, None] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is open in it."""
        return self.connection.is_idle and not self.listeners

    def open_stream(self, *, of_session: bool = False) -> Stream:
        """A new stream; when there are too many, the oldest is forgotten, those of calls first."""
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
        """A stream for what belongs to no call."""
        stream = self.open_stream(of_session=True)
        self._hear(stream)
        return stream

    def _hear(self, stream: Stream) -> None:
        for message in self._unheard:
            stream.tell(message)
        self._unheard.clear()
        self.listeners[stream] += 1

    def leave(self, stream: Stream) -> None:
        """One who followed a stream does so no longer."""
        if self.listeners[stream] > 1:
            self.listeners[stream] -= 1
        else:
            del self.listeners[stream]

    def tell(self, message: bytes) -> None:
        """Send what belongs to no call: to one who listens, or to the next one who does."""
        listener = next(iter(self.listeners), None)
        if listener is not None:
            listener.tell(message)
        elif len(self._unheard) < _MOST_KEPT:
            self._unheard[message] = None

    def resume(self, last_event: str) -> tuple[Stream, int] | None:
        """The stream that an event belonged to, and the number of the next one."""
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
        """End everything that hangs on it."""
        for call in self.connection.abandon():
            if call.running is not None:
                call.running.cancel()
        for stream in (*self.listeners, *self._streams.values()):
            stream.close()


class Sessions:
    """All sessions, the one that was used last at the end."""

    def __init__(
        self, limit: int, idle_seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._by_id: OrderedDict[str, Session] = OrderedDict()
        self._due = 0.0
        """Before that no session can expire."""

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, session: Session) -> bool:
        """Take it in; False if there are too many that are in use."""
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
        """The session of that id, if it belongs to this caller and still lives."""
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
        """Forget a session."""
        self._by_id.pop(session.id, None)
        session.close()

    def tell(self, message_for: Callable[[Connection], bytes | None]) -> None:
        """Send every client what there is for it."""
        for session in self._by_id.values():
            message = message_for(session.connection)
            if message is not None:
                session.tell(message)

    def close_listeners(self) -> None:
        """End the streams that nothing is in flight for."""
        for session in self._by_id.values():
            for stream in session.listeners:
                stream.close()

    def end_all(self) -> None:
        """Forget every session."""
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
