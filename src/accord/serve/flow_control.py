"""Flow control: when calls start and go on, and when stdin is read.

`OutputGate` holds calls back while too much output is unsent, `StartWindow` bounds how many calls
run at once, and `ReadThrottle` pauses stdin. Together they bound the memory that a peer can claim
by sending calls and not reading the replies.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from accord.protocol import Request
from accord.serve.pipes import Input

DEFAULT_MAX_UNSENT: Final = 16 * 1024 * 1024
_WINDOW: Final = 256  # running calls: their answers may all arrive while none can be sent
_MAX_PAUSE: Final = 0.05  # seconds; a cancellation may be waiting in the pipe
_TRIM_INTERVAL: Final = 0.25  # seconds: it takes milliseconds
_MAX_HELD: Final = 16 * 1024 * 1024  # bytes of requests whose calls are not over


class _Waiters:
    """Tasks that wait in order of arrival. Each one that goes on wakes the next."""

    def __init__(self) -> None:
        self._futures: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._futures)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds after a `wake`; a task woken in vain keeps its place."""
        insert = self._futures.append
        try:
            while not condition():
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                insert(future)
                await future
                insert = self._futures.appendleft
        finally:
            if condition():
                self.wake()

    def wake(self) -> None:
        """Let the first task go on that still waits."""
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)
                return


class OutputGate:
    """Open while at most `limit` bytes of output are unsent.

    A call starts, or goes on after an await, only while the gate is open. `arrive` and
    `wait_in_thread` are for threads, everything else for the event loop's own.
    """

    def __init__(self, limit: int = DEFAULT_MAX_UNSENT) -> None:
        self.limit = limit
        self.unsent: int = 0
        self.is_open: bool = True
        self.waiting: int = 0
        """Number of tasks that wait for the gate."""
        self._blocked_threads = 0
        self.has_queue: Callable[[], bool] = lambda: False
        """True if calls wait to start."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when the gate opens or closes; may run in any thread, with the lock held."""
        self._trim: asyncio.TimerHandle | None = None
        self._arriving = 0
        """Bytes of replies that threads have made and the event loop has not taken yet."""
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._event.set()
        self._waiters = _Waiters()

    @property
    def is_clear(self) -> bool:
        """True if the peer keeps up with the output."""
        return self.unsent <= self.limit // 4

    def update(self, unsent: int) -> None:
        """Set how many bytes are unsent."""
        self.unsent = unsent
        self._settle()

    def arrive(self, size: int) -> None:
        """Count a reply that a thread has made."""
        with self._lock:
            self._arriving += size
            if self.unsent + self._arriving > self.limit:
                self._close()

    def take(self, size: int) -> None:
        """Stop counting such a reply: it is sent, or will never be."""
        with self._lock:
            self._arriving -= size
        self._settle()

    def _close(self) -> None:
        self.is_open = False
        self._event.clear()
        self.on_change()

    def _settle(self) -> None:
        """Open or close the gate."""
        with self._lock:
            is_open = self.unsent + self._arriving <= self.limit
            if is_open is self.is_open:
                return
            if is_open:
                self.is_open = True
                self._event.set()
            else:
                self._close()
        if is_open:
            self._waiters.wake()
            self.on_change()
        if self._trim is None:
            self._trim = asyncio.get_running_loop().call_later(_TRIM_INTERVAL, self._trim_heap)

    def _trim_heap(self) -> None:
        """Return freed memory to the system until the peer keeps up again."""
        _trim_heap()
        again = not self.is_clear
        loop = asyncio.get_running_loop()
        self._trim = loop.call_later(_TRIM_INTERVAL, self._trim_heap) if again else None

    async def wait(self) -> None:
        """Wait until the gate is open."""
        self.waiting += 1
        try:
            await self._waiters.wait_until(lambda: self.is_open)
        finally:
            self.waiting -= 1

    def wait_in_thread(self) -> None:
        """Block until the gate is open."""
        with self._lock:
            self._blocked_threads += 1
        self._event.wait()
        with self._lock:
            self._blocked_threads -= 1

    @property
    def is_contended(self) -> bool:
        """True if calls wait for the gate to open."""
        return not self.is_open and (
            self.waiting > 0 or self._blocked_threads > 0 or self.has_queue()
        )


def _trim_heap() -> None:
    """Return freed memory to the system: glibc keeps it otherwise."""
    import ctypes  # takes milliseconds, and few servers ever come here

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class StartWindow:
    """Bounds how many calls run at once.

    The window doubles while calls wait for it and the gate is open: then the running calls wait for
    something else than the peer. It shrinks again when most of them have finished.
    """

    def __init__(self, gate: OutputGate, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.has_room: bool = gate.is_open
        """True if a call may start now."""
        self.on_room: Callable[[], None] = lambda: None
        self._gate = gate
        self._size = _WINDOW
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        gate.on_change = self._settle

    def enter(self) -> None:
        """Count a call that runs and has to wait for something."""
        self._running += 1
        if self._running >= self._size:
            self.has_room = False

    def leave(self) -> None:
        """Stop counting a call: it has finished, or waits for its client."""
        self._running -= 1
        if self._running < _WINDOW // 2:
            self._size = _WINDOW
        if not self.has_room:
            self._settle()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Do not count a call while it waits for its client."""
        self.leave()
        try:
            yield
        finally:
            self.enter()

    def watch(self) -> None:
        """Let the window grow if calls wait for it too long."""
        if self._timer is None:
            self._timer = self._loop.call_later(_MAX_PAUSE, self._grow)

    def _grow(self) -> None:
        self._timer = None
        if self._running >= self._size and self._gate.is_open:
            self._size *= 2
        self._settle()
        if self._running >= self._size:
            self.watch()

    def _settle(self) -> None:
        """Update `has_room`, and call `on_room` if it is true."""
        self.has_room = self._running < self._size and self._gate.is_open
        if self.has_room:
            self.on_room()


class ReadThrottle:
    """Pauses stdin while many calls are open, or while much output is unsent.

    If no call finishes for a while although the peer reads, one chunk is read: a cancellation may
    be waiting in the pipe.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: Input,
        gate: OutputGate,
        open_calls: Callable[[], int],
        *,
        max_open: int,
    ) -> None:
        self._loop = loop
        self._source = source
        self._gate = gate
        self._open_calls = open_calls
        self._max_open = max_open
        self._max_unsent = 2 * gate.limit  # the gate lets running calls exceed its limit
        self.held: dict[Request, int] = {}
        """Bytes of each large request that is read and whose call is not over."""
        self._held = 0
        self._timer: asyncio.TimerHandle | None = None
        self._may_exceed = False
        self._open_before = 0

    def hold(self, request: Request, size: int) -> None:
        """Count the bytes of a request until `release`."""
        self.held[request] = size
        self._held += size

    def release(self, request: Request) -> None:
        """Stop counting a request: nothing refers to its call any more."""
        self._held -= self.held.pop(request, 0)

    def note_read(self) -> None:
        """A chunk has been read."""
        self._may_exceed = False

    def regulate(self, unsent: int) -> None:
        """Pause or resume reading; `unsent` is how many bytes of output wait for the peer."""
        source = self._source
        share = 2 if source.paused else 1  # once paused, until half of the calls have finished
        is_busy = self._open_calls() > self._max_open // share or self._held > _MAX_HELD // share
        if is_busy and self._timer is None:
            self._open_before = self._open_calls()
            self._timer = self._loop.call_later(_MAX_PAUSE, self._check_stall)
        if (is_busy and not self._may_exceed) or unsent > self._max_unsent:
            source.pause()
        elif source.paused:
            source.resume()

    def _check_stall(self) -> None:
        self._timer = None
        self._may_exceed = self._gate.is_clear and self._open_calls() >= self._open_before
        self.regulate(self._gate.unsent)
