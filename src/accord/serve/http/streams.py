"""Event streams of calls and sessions, kept for a while so that clients can resume them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from itertools import islice
from typing import Any, Final, Self

from accord.budget import Budget
from accord.protocol.messages import MAX_SUBSCRIPTIONS

MOST_EVENTS: Final = 256
MAX_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of kept events; the newest one is always kept."""
_MAX_UNREAD: Final = 128 * 1024  # bytes at which a call that sends messages waits for its client
_KEPT: Final = Budget(32 * 1024 * 1024)
"""For the events that all streams of this process keep."""

KEEP_ALIVE: Final = b":\n\n"
PRIMING: Final = b""
"""An empty event whose id a client can resume from."""


Keep = Callable[[int, bytes | None, int], None]
"""Takes the number of an event and its message, or None for the end of the stream.

The last argument is the number of the first event that is still kept.
"""


class Stream:
    """Messages in order, each with an id; clients follow them from any kept one."""

    def __init__(self, name: str = "0", *, of_session: bool = False) -> None:
        self.name = name
        self.of_session = of_session
        """True for messages that belong to no call."""
        self._follower = 0
        self._followers = 0
        self._at = 0
        """The number of the next event that its follower reads."""
        self._events: deque[bytes] = deque()
        self._size = 0
        self._most = MOST_EVENTS
        self._unread_changes: set[bytes] = set()
        self.count: int = 0
        self._closed = False
        self._pause: float | None = None
        self._changed = asyncio.Event()
        self.keep: Keep | None = None
        """Stores the events for other processes, if the session has a store."""

    @classmethod
    def of_events(cls, name: str, first: int, events: Sequence[bytes], *, of_session: bool) -> Self:
        """Return a stream that another process has begun, with its events from a number on."""
        stream = cls(name, of_session=of_session)
        stream.count = first
        for event in events:
            stream.append(event)
        return stream

    def append(self, message: bytes) -> None:
        """Add a message. It is one line: JSON has no bare CR or LF, so neither has the event."""
        self._events.append(message)
        self._size += len(message)
        _KEPT.add(len(message))
        self.count += 1
        while len(self._events) > self._most or (self._is_too_large and len(self._events) > 1):
            self._drop_oldest()
        if self.keep is not None:
            self.keep(self.count - 1, message, self._first)
        self._wake()

    @property
    def _first(self) -> int:
        """The number of the first event that is kept."""
        return self.count - len(self._events)

    @property
    def _is_too_large(self) -> bool:
        return self._size > MAX_BYTES or _KEPT.is_exceeded

    def _drop_oldest(self) -> None:
        size = len(self._events.popleft())
        self._size -= size
        _KEPT.add(-size)

    def __del__(self) -> None:
        _KEPT.add(-self._size)

    @property
    def is_behind(self) -> bool:
        """True if a client follows it and has much to read."""
        if not self._followers or self._size <= _MAX_UNREAD:
            return False
        unread = islice(self._events, max(self._at - self._first, 0), None)
        return sum(map(len, unread)) > _MAX_UNREAD

    def drained(self) -> "Drained":
        """Return what can be awaited until its client has read, or is gone."""
        return Drained(self)

    def tell(self, change: bytes) -> None:
        """Add a message unless an equal one is still unread.

        There is room for every resource that a client can subscribe to, so a slow one misses none.
        """
        if change not in self._unread_changes:
            self._most = MOST_EVENTS + MAX_SUBSCRIPTIONS
            self._unread_changes.add(change)
            self.append(change)

    def close(self) -> None:
        """Mark the stream as complete."""
        if self.keep is not None and not self._closed:
            self.keep(self.count, None, self._first)
        self._closed = True
        self._wake()

    def pause(self, seconds: float) -> None:
        """End the responses that follow it; clients reconnect after so many seconds."""
        self._pause = seconds
        self._wake()

    def unpause(self) -> None:
        """Continue after `pause`: a client is back."""
        self._pause = None

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self, after: int, keep_alive: float) -> AsyncIterator[bytes]:
        """Yield the events after a number, encoded, until the stream is closed.

        The latest follower takes over: no message is sent twice.
        """
        self._follower += 1
        me = self._follower
        self._followers += 1
        self._at = at = after
        self._wake()
        try:
            while me == self._follower:
                first = self._first
                at = max(at, first)  # a reader that is too slow misses what is no longer kept
                if at < self.count:
                    message = self._events[at - first]
                    self._unread_changes.discard(message)
                    at += 1
                    self._at = at
                    if self._size > _MAX_UNREAD:
                        self._wake()
                    yield self._event(at - 1, message)
                elif self._closed:
                    while _KEPT.is_exceeded and self._events:  # all is sent; only resuming needs it
                        self._drop_oldest()
                    return
                elif self._pause is not None:
                    yield b"retry: %d\n\n" % (self._pause * 1000)
                    return
                else:
                    try:
                        async with asyncio.timeout(keep_alive):
                            await self._changed.wait()
                    except TimeoutError:
                        yield KEEP_ALIVE
        finally:
            self._followers -= 1
            self._wake()

    def _event(self, number: int, message: bytes) -> bytes:
        return b"id: %s-%d\ndata: %s\n\n" % (self.name.encode(), number, message)

    async def wait_until_drained(self) -> None:
        """Wait until its client has read, or is gone."""
        while self.is_behind:
            await self._changed.wait()


class Drained:
    """Waits for the client of a stream when awaited."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, None, None]:
        return self._stream.wait_until_drained().__await__()
