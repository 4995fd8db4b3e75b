"""Runs blocking operations in a bounded pool of daemon threads."""

import contextlib
import os
import threading
from asyncio import AbstractEventLoop
from collections import deque
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import ClassVar, Final

from accord.model.answer import Problem
from accord.serve.call import RunningCall
from accord.serve.flow_control import OutputGate
from accord.server.operation import Done, Operation, drive, perform

DEFAULT_THREADS: Final = 32
DEFAULT_CAPACITY: Final = 10_000
_LARGE: Final = 4096  # bytes of a reply that is worth counting while it waits for the event loop
_MAX_GROWTH: Final = 4  # times the threads, while some hang in cancelled calls


class ForkCounter:
    """Counts the forks that led to this process: a tool that forks comes back in both."""

    count: ClassVar[int] = 0

    @classmethod
    def add(cls) -> None:
        """Count a fork."""
        cls.count += 1


if hasattr(os, "register_at_fork"):  # not on Windows; a function once, since it stays for ever
    os.register_at_fork(after_in_child=ForkCounter.add)


class ThreadRunner:
    """Runs operations in threads and delivers them on the loop, many at a time if many are done.

    Only the loop's own thread calls `submit` and `cancel`. Threads start when there are more
    operations than threads; as daemons they do not delay the exit of the process.
    """

    def __init__(
        self, loop: AbstractEventLoop, *, gate: OutputGate, threads: int, capacity: int
    ) -> None:
        self._gate = gate
        self._loop = loop
        self._size = threads
        self._capacity = capacity
        self._operations: SimpleQueue[tuple[Operation[RunningCall], Context] | None] = SimpleQueue()
        """What the threads take; None ends one."""
        self._done: deque[tuple[RunningCall, Done | None]] = deque()
        self._delivery_due = False
        self._threads = 0
        self._running: set[RunningCall] = set()
        self._orphaned: set[RunningCall] = set()
        """Cancelled calls that still occupy a thread."""
        self.pending: int = 0
        """Number of operations that are queued or running."""
        self._forks = ForkCounter.count

    def submit(self, operation: Operation[RunningCall]) -> bool:
        """Run an operation as soon as a thread is free; False if none can be expected."""
        if self.pending >= self._capacity or len(self._orphaned) >= _MAX_GROWTH * self._size:
            return False
        self.pending += 1
        self._grow()
        if not self._threads:
            self.pending -= 1
            return False
        self._operations.put((operation, copy_context()))
        return True

    def cancel(self, call: RunningCall) -> None:
        """Let another thread take the place of a cancelled call that runs."""
        if call in self._running:
            self._orphaned.add(call)
            self._grow()
            if len(self._orphaned) >= self._threads:
                self._refuse_queued()

    def _refuse_queued(self) -> None:
        """Refuse the queued operations: every thread hangs, and no more can start."""
        busy = Problem.unavailable("Too many calls hang; try again later")
        with contextlib.suppress(Empty):
            while True:
                queued = self._operations.get_nowait()
                if queued is not None:
                    self._hand_over(queued[0].call, queued[0].refuse(busy))

    def stop(self) -> None:
        """End the threads, once each has finished its operation: the loop has ended."""
        for _ in range(self._threads):
            self._operations.put(None)

    def _grow(self) -> None:
        most = min(self._size + len(self._orphaned), _MAX_GROWTH * self._size)
        if self._threads < min(self.pending, most):
            with contextlib.suppress(RuntimeError):  # the system has no more; one may come free
                threading.Thread(target=self._serve, name="accord-tool", daemon=True).start()
                self._threads += 1

    def _serve(self) -> None:
        while (queued := self._operations.get()) is not None:
            operation, context = queued
            call = operation.call
            if not self._gate.is_open:
                self._gate.wait_in_thread()
            self._running.add(call)
            done: Done | None = None
            if not call.cancelled:
                try:
                    done = context.run(drive, perform(operation))
                except BaseException as error:  # noqa: BLE001 - SystemExit, for example
                    done = operation.fail(error)
            if ForkCounter.count != self._forks:  # both processes come back here
                os._exit(0)
            self._running.discard(call)
            self._hand_over(call, done)
            del queued, operation, context, call, done  # large replies must not stay here

    def _hand_over(self, call: RunningCall, done: Done | None) -> None:
        if done is not None and len(done.reply) > _LARGE:
            self._gate.arrive(len(done.reply))
        self._done.append((call, done))
        if not self._delivery_due:  # cleared before the loop drains, so none is left behind
            self._delivery_due = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._delivery_due = False
        while self._done:
            call, done = self._done.popleft()
            self.pending -= 1
            self._orphaned.discard(call)
            call.deliver(call, done)
            if done is not None and len(done.reply) > _LARGE:
                self._gate.take(len(done.reply))
