"""A bounded pool of daemon threads for tools that block."""

import contextlib
import os
import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Final, NamedTuple

from accord.protocol import Call
from accord.server import Done, Server, drive
from accord.tool import Tool

DEFAULT_THREADS: Final = min(32, (os.cpu_count() or 1) + 4)
DEFAULT_CAPACITY: Final = 10_000


class _Job(NamedTuple):
    call: Call
    tool: Tool
    context: Context


class Pool:
    """Runs work in threads and delivers outcomes on the loop, many at a time where many are done.

    Only the loop's own thread calls `submit`; threads start when there is more work than threads,
    and being daemons they never hold the process when it wants to end.
    """

    def __init__(
        self,
        server: Server,
        loop: AbstractEventLoop,
        deliver: Callable[[Call, Done], None],
        *,
        threads: int = DEFAULT_THREADS,
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        self._server = server
        self._loop = loop
        self._deliver = deliver
        self._most_threads = threads
        self._capacity = capacity
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._done: deque[tuple[Call, Done | None]] = deque()
        self._delivery_due = False
        self._threads = 0
        self.pending = 0

    def submit(self, call: Call, tool: Tool) -> bool:
        """Run it as soon as a thread is free; False if too many are waiting already."""
        if self.pending >= self._capacity:
            return False
        self.pending += 1
        if self._threads < min(self.pending, self._most_threads):
            self._threads += 1
            threading.Thread(target=self._serve, name="accord-tool", daemon=True).start()
        self._jobs.put(_Job(call, tool, copy_context()))
        return True

    def _serve(self) -> None:
        while True:
            call, tool, context = self._jobs.get()
            done = None if call.cancelled else context.run(drive, self._server.run(call, tool))
            self._hand_over(call, done)

    def _hand_over(self, call: Call, done: Done | None) -> None:
        self._done.append((call, done))
        if not self._delivery_due:  # cleared before the loop drains, so none is left behind
            self._delivery_due = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for it
                self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._delivery_due = False
        while self._done:
            call, done = self._done.popleft()
            self.pending -= 1
            if done is not None:
                self._deliver(call, done)
