"""The worker processes of one event loop: dispatches requests, enforces time limits.

A query that is answered at once costs less than to wake another process. So a fast worker gets
several requests ahead of its replies, and the others sleep or are not even started. A worker that
stalls keeps only the request that it executes; the others go back to the queue.
"""

import asyncio
from collections import deque
from itertools import islice
from time import monotonic
from typing import Final

from accord.child_process import FramedPipe, PipeClosed
from accord.model.answer import Problem
from accord.sources.sql.messages import WorkerSettings
from accord.sources.sql.worker_process import WorkerProcess

_MAX_PIPELINED: Final = 8  # requests that a fast worker has at a time
_FAST: Final = 0.001  # seconds for a reply, about what it takes this process to pass it on
_MAX_GROWTH: Final = 1.25  # of the estimate by one slow reply: this process may have been slow
_MIN_SAMPLES: Final = 8  # replies after which the estimate is trusted
_STALL: Final = 0.02  # seconds after which a worker has stalled; also between two checks
_GRACE: Final = 0.25  # seconds after the time limit in which a worker may still reply itself
_START_TIMEOUT: Final = 30.0  # seconds for Python to start, on a busy machine
_SLOW_START: Final = 2.0  # seconds after which another worker is started as well
_TIMED_PER_WORKER: Final = 2  # requests at the front of the queue whose deadline is set
_MAX_FAILED_STARTS: Final = 2  # in a row, until queued requests fail
_NEVER: Final = float("inf")
_MAX_UNCLAIMED: Final = 16 * 1024 * 1024  # bytes of replies that callers have not taken yet
_NOT_STARTED: Final = Problem.unavailable("The database worker process could not be started")


class _PendingRequest:
    """A request, and the future of its reply."""

    __slots__ = ("created", "deadline", "reply", "reply_size", "request")

    def __init__(self, request: bytes, reply: "asyncio.Future[bytes]") -> None:
        self.request = request
        self.reply = reply
        self.created = monotonic()
        self.deadline = _NEVER
        self.reply_size = 0
        """Bytes of the reply, once it has arrived."""

    def fail(self, problem: Problem) -> None:
        """Fail with a Problem, unless the request is already done."""
        if not self.reply.done():
            self.reply.set_exception(problem)


class WorkerSlot:
    """A worker process and its unanswered requests; None is one that another worker got as well."""

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process
        self.pipe: FramedPipe = process.pipe
        self.requests: deque[_PendingRequest | None] = deque()
        self.is_ready = False
        self.since: float = monotonic()
        """Time at which the first request began to execute, or the process to start."""
        self.replies: int = 0
        self.latency: float = _NEVER
        """Estimated seconds for a reply."""

    @property
    def is_fast(self) -> bool:
        """True if it should get requests ahead of its replies."""
        return self.latency < _FAST

    def is_slow(self, now: float) -> bool:
        """True if another worker beside it would help."""
        is_stalled = bool(self.requests) and now - self.since > _STALL
        return self.is_ready and (is_stalled or (self.replies > _MIN_SAMPLES and not self.is_fast))

    @property
    def capacity(self) -> int:
        """Number of requests that can be sent to it now."""
        if not self.is_ready or self.pipe.is_full:
            return 0
        return max((_MAX_PIPELINED if self.is_fast else 1) - len(self.requests), 0)

    def send(self, requests: list[_PendingRequest], now: float) -> None:
        """Send requests, or raise PipeClosed."""
        self.pipe.send(*[each.request for each in requests])
        if not self.requests:
            self.since = now
        self.requests += requests

    def update_latency(self, replies: int, now: float) -> None:
        """Count replies; the first is not measured, since it includes opening the database."""
        if self.replies:
            self.latency = min((now - self.since) / replies, self.latency * _MAX_GROWTH)
        self.replies += replies

    def take_back(self) -> list[_PendingRequest]:
        """Return the requests that it has not begun to execute."""
        back = [each for each in islice(self.requests, 1, None) if each is not None]
        self.requests = deque(None if i else each for i, each in enumerate(self.requests))
        self.latency = _NEVER
        return back


class WorkerPool:
    """Up to `size` workers with the same settings, started on demand, for one event loop."""

    def __init__(self, settings: WorkerSettings, encoded_settings: bytes, size: int) -> None:
        self._settings = settings
        self._encoded_settings = encoded_settings
        self._size = size
        self._slots: list[WorkerSlot] = []
        self._queue: deque[_PendingRequest] = deque()
        self._failed_starts = 0
        self._unclaimed = 0
        """Bytes of replies that callers have not taken yet; flow control may hold them back."""
        self._timer: asyncio.TimerHandle | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_detached(self) -> bool:
        """True if it has no event loop, or one that is closed."""
        return self.loop is None or self.loop.is_closed()

    @property
    def has_worker(self) -> bool:
        """True if a worker is running, or starting."""
        return bool(self._slots)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve an event loop, without the workers that are still busy for the last one."""
        self.loop = loop
        self._queue.clear()
        self._unclaimed = 0
        self._timer = None
        slots, self._slots = self._slots, []
        for slot in slots:
            if slot.requests:
                slot.process.abandon()
            else:
                self._add(slot)

    def start_worker(self) -> None:
        """Start one more worker, if the system has room for it."""
        try:
            process = WorkerProcess(self._encoded_settings, writes=self._settings.writes)
        except OSError:
            self._count_failed_start()
        else:
            self._add(WorkerSlot(process))

    def _add(self, slot: WorkerSlot) -> None:
        self._slots.append(slot)
        if self.loop is not None and not self.is_detached:
            self.loop.add_reader(slot.pipe.reader, self._receive, slot)

    async def request(self, request: bytes) -> bytes:
        """Return the reply of a worker; a Problem if there is none in time."""
        assert self.loop is not None
        pending = _PendingRequest(request, self.loop.create_future())
        self._queue.append(pending)
        if len(self._queue) == 1:  # else no worker has capacity
            self._dispatch()
        self._schedule_check()
        try:
            return await pending.reply
        finally:
            self._claim(pending)
            if pending.reply.cancelled() and pending in self._queue:
                self._queue.remove(pending)

    def _claim(self, pending: _PendingRequest) -> None:
        """Count a reply as taken: its caller has it, or was cancelled."""
        if not pending.reply_size:
            return
        was_full = self._is_full
        self._unclaimed -= pending.reply_size
        if was_full and not self._is_full:
            self._dispatch()

    @property
    def _is_full(self) -> bool:
        """True if callers must take replies before more requests are sent."""
        return self._unclaimed > _MAX_UNCLAIMED

    def _dispatch(self) -> None:
        """Send queued requests to the workers that have capacity."""
        now = monotonic()
        while self._queue and not self._is_full and (slot := self._find_slot(now)) is not None:
            batch = [self._queue.popleft() for _ in range(min(slot.capacity, len(self._queue)))]
            try:
                slot.send(batch, now)
            except PipeClosed:
                self._queue.extendleft(reversed(batch))
                self._lose(slot)
                return
            for pending in batch:
                pending.deadline = min(pending.deadline, self._deadline(now))
            if slot.pipe.is_full and self.loop is not None:
                self.loop.add_writer(slot.pipe.writer, self._flush, slot)

    def _find_slot(self, now: float) -> WorkerSlot | None:
        """Return a worker with capacity; if there is none, more may be started."""
        fast = next((slot for slot in self._slots if slot.is_fast), None)
        if fast is not None:
            return fast if fast.capacity else None
        found = next((slot for slot in self._slots if slot.capacity), None)
        if found is None:
            for _ in range(self._missing_workers(now)):
                self.start_worker()
        return found

    def _missing_workers(self, now: float) -> int:
        """Return how many workers to start: none while a single one may be fast enough."""
        if not self._slots:
            return 1
        if all(not slot.is_ready and now - slot.since > _SLOW_START for slot in self._slots):
            return min(self._size - len(self._slots), 1)
        if not any(slot.is_slow(now) for slot in self._slots):
            return 0
        starting = sum(not slot.is_ready for slot in self._slots)
        return min(self._size - len(self._slots), len(self._queue) - starting)

    def _deadline(self, now: float) -> float:
        return now + self._settings.timeout + _GRACE

    def _flush(self, slot: WorkerSlot) -> None:
        assert self.loop is not None
        try:
            slot.pipe.flush()
        except PipeClosed:
            self._lose(slot)
            return
        if not slot.pipe.is_full:
            self.loop.remove_writer(slot.pipe.writer)

    def _receive(self, slot: WorkerSlot) -> None:
        try:
            replies = slot.pipe.receive()
        except PipeClosed:
            self._lose(slot)
            return
        now = monotonic()
        if replies and not slot.is_ready:
            slot.is_ready = True
            self._failed_starts = 0
            del replies[0]
        for reply in replies:
            pending = slot.requests.popleft()
            if pending is not None and not pending.reply.done():
                pending.reply.set_result(reply)
                pending.reply_size = len(reply)
                self._unclaimed += pending.reply_size
        if replies:
            if not self._settings.writes:  # a writer gets no requests ahead: they could be lost
                slot.update_latency(len(replies), now)
            slot.since = now
        self._dispatch()

    def _lose(self, slot: WorkerSlot) -> None:
        """Remove a worker that has exited, or does not start."""
        executing = slot.requests[0] if slot.requests else None
        self._remove(slot)
        if executing is not None:
            executing.fail(_worker_exited(is_write=self._settings.writes))
        if not slot.is_ready:
            self._count_failed_start()
        self._dispatch()

    def _count_failed_start(self) -> None:
        """Fail all queued requests if several starts in a row have failed."""
        self._failed_starts += 1
        if self._failed_starts == _MAX_FAILED_STARTS:
            self._failed_starts = 0
            for pending in self._queue:
                pending.fail(_NOT_STARTED)
            self._queue.clear()

    def _remove(self, slot: WorkerSlot) -> None:
        """Kill a worker, and queue the requests that it has not begun to execute."""
        assert self.loop is not None
        self._slots.remove(slot)
        self.loop.remove_reader(slot.pipe.reader)
        self.loop.remove_writer(slot.pipe.writer)
        slot.process.kill()
        self._requeue(slot)

    def _requeue(self, slot: WorkerSlot) -> None:
        back = [pending for pending in slot.take_back() if not pending.reply.done()]
        self._queue.extendleft(reversed(back))

    def _schedule_check(self) -> None:
        if self._timer is None and self.loop is not None:
            self._timer = self.loop.call_later(_STALL, self._check)

    def _check(self) -> None:
        """Enforce deadlines, again and again while requests are pending."""
        now = monotonic()
        self._timer = None
        for slot in list(self._slots):
            self._check_slot(slot, now)
        self._check_queue(now)
        self._dispatch()
        if self._queue or any(slot.requests for slot in self._slots):
            self._schedule_check()

    def _check_slot(self, slot: WorkerSlot, now: float) -> None:
        first = slot.requests[0] if slot.requests else None
        if not slot.is_ready:
            if now - slot.since > _START_TIMEOUT:
                self._lose(slot)
        elif first is not None and (now > first.deadline or self._can_stop(first)):
            first.fail(self._settings.kill_problem)
            self._remove(slot)
            self.start_worker()
        elif slot.requests and now - slot.since > _STALL:
            self._requeue(slot)

    def _can_stop(self, pending: _PendingRequest) -> bool:
        """True if a request was cancelled; a change is never stopped half way."""
        return pending.reply.cancelled() and not self._settings.writes

    def _check_queue(self, now: float) -> None:
        """Fail requests that have been queued for as long as one may take.

        Deadlines move while a worker starts, and while callers do not take their replies.
        """
        is_running = all(slot.is_ready for slot in self._slots) and not self._is_full
        is_late = False
        for pending in islice(self._queue, _TIMED_PER_WORKER * self._size):
            latest = self._deadline(now)
            pending.deadline = min(pending.deadline, latest) if is_running else latest
            is_late = is_late or now > pending.deadline - _GRACE
        if is_late:
            self._fail_queued_before(now - self._settings.timeout)

    def _fail_queued_before(self, time: float) -> None:
        queue, self._queue = self._queue, deque()
        for pending in queue:
            if pending.created <= time:
                pending.fail(Problem.unavailable("The database is busy; try again later"))
            else:
                self._queue.append(pending)

    def abandon(self) -> None:
        """Let go of all workers in a fork: they belong to the parent process."""
        for slot in self._slots:
            slot.process.abandon()
        self._slots.clear()

    def close(self) -> None:
        """End all workers; one that executes a change finishes it first."""
        slots, self._slots = self._slots, []
        pending, self._queue = self._queue, deque()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for slot in slots:
            pending += [each for each in slot.requests if each is not None]
            self._close_slot(slot)
        if not self.is_detached:
            for each in pending:
                each.fail(_worker_exited(is_write=self._settings.writes))

    def _close_slot(self, slot: WorkerSlot) -> None:
        if not self.is_detached and self.loop is not None:
            self.loop.remove_reader(slot.pipe.reader)
            self.loop.remove_writer(slot.pipe.writer)
        if not slot.requests:
            slot.process.close()
        elif self._settings.writes:
            slot.process.abandon()
        else:
            slot.process.kill()


def _worker_exited(*, is_write: bool) -> Problem:
    """Return the Problem of a request whose worker exited, for lack of memory perhaps."""
    advice = "; check whether the change was made" if is_write else ""
    return Problem.unavailable(f"The database worker process has ended{advice}")
