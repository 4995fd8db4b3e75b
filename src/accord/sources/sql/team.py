"""The workers of one event loop: who is asked, who is late, and who takes over.

A query that is answered at once costs less than to wake another process, so as long as a worker is
quick it is asked ahead, and the others sleep, or are not even started. A worker that stalls keeps
only what it has begun: what it was asked behind that goes to the others.
"""

import asyncio
from collections import deque
from itertools import islice
from time import monotonic
from typing import Final

from accord.frames import Ended
from accord.model.answer import Problem
from accord.sources.sql.messages import Settings
from accord.sources.sql.process import Worker

_AHEAD: Final = 8  # requests that a quick worker has at a time
_QUICK: Final = 0.001  # seconds for an answer, about what it takes us to pass it on
_FORGETTING: Final = 1.25  # the most that one answer raises what we expect: we may have been slow
_A_FEW: Final = 8  # answers after which we know whether a worker is quick
_STALL: Final = 0.02  # seconds after which a worker has stalled, and between looks at the clock
_SLACK: Final = 0.25  # seconds after the limit in which a worker may still say so itself
_BOOT: Final = 30.0  # seconds for Python to start, on a machine that is busy
_LATE: Final = 2.0  # seconds to start, after which another is tried
_IN_LINE: Final = 2  # requests for each worker that could be next, so that their time runs
_STARTS: Final = 2  # that fail, one after the other, until we say that none will do better
_NEVER: Final = float("inf")
_MAX_UNCLAIMED: Final = 16 * 1024 * 1024  # bytes of answers that callers have not taken yet
_NOBODY: Final = Problem.unavailable("No process can be started that asks the database")


class _Exchange:
    """A request, and the answer that somebody waits for."""

    __slots__ = ("answer", "deadline", "request", "since", "size")

    def __init__(self, request: bytes, answer: "asyncio.Future[bytes]") -> None:
        self.request = request
        self.answer = answer
        self.since = monotonic()
        self.deadline = _NEVER
        self.size = 0
        """Bytes of the answer, once it is there."""

    def end(self, problem: Problem) -> None:
        """There is no answer."""
        if not self.answer.done():
            self.answer.set_exception(problem)


class _Seat:
    """A worker, and what it has been asked and not answered; None is what others were asked too."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.line = worker.line
        self.asked: deque[_Exchange | None] = deque()
        self.is_ready = False
        self.since = monotonic()
        """When it began with the first of them, or to start."""
        self.answers = 0
        self.pace = _NEVER
        """Seconds that it takes for an answer, as far as we know."""

    @property
    def is_quick(self) -> bool:
        """Whether it is worth more than another that has nothing to do."""
        return self.pace < _QUICK

    def is_slow(self, now: float) -> bool:
        """Whether another beside it would be of use, as far as we know."""
        is_stalled = bool(self.asked) and now - self.since > _STALL
        return self.is_ready and (is_stalled or (self.answers > _A_FEW and not self.is_quick))

    @property
    def room(self) -> int:
        """How many requests it can be given."""
        if not self.is_ready or self.line.is_full:
            return 0
        return max((_AHEAD if self.is_quick else 1) - len(self.asked), 0)

    def give(self, exchanges: list[_Exchange], now: float) -> None:
        """Ask it, or raise Ended."""
        self.line.send(*[exchange.request for exchange in exchanges])
        if not self.asked:
            self.since = now
        self.asked += exchanges

    def note(self, answers: int, now: float) -> None:
        """It has given some answers; for the first it had to open the database."""
        if self.answers:
            self.pace = min((now - self.since) / answers, self.pace * _FORGETTING)
        self.answers += answers

    def take_back(self) -> list[_Exchange]:
        """What it has been asked and not begun with."""
        back = [each for each in islice(self.asked, 1, None) if each is not None]
        self.asked = deque(None if i else each for i, each in enumerate(self.asked))
        self.pace = _NEVER
        return back


class Team:
    """Up to `size` workers of one kind, started as they are needed, for those who ask on `loop`."""

    def __init__(self, settings: Settings, told: bytes, size: int) -> None:
        self._settings = settings
        self._told = told
        self._size = size
        self._seats: list[_Seat] = []
        self._waiting: deque[_Exchange] = deque()
        self._failed_starts = 0
        self._unclaimed = 0
        """Bytes of answers that callers have not taken yet: they may be held back."""
        self._next_look: asyncio.TimerHandle | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_free(self) -> bool:
        """Whether there is no loop any more that it belongs to."""
        return self.loop is None or self.loop.is_closed()

    def join(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work for another loop, without those who have not finished for the last one."""
        self.loop = loop
        self._waiting.clear()
        self._unclaimed = 0
        self._next_look = None
        seats, self._seats = self._seats, []
        for seat in seats:
            if seat.asked:
                seat.worker.hang_up()
            else:
                self._seat(seat)

    def start(self) -> None:
        """Have one more worker, if the system has room for it."""
        try:
            self._seat(_Seat(Worker(self._told, writes=self._settings.writes)))
        except OSError:
            self._note_failed_start()

    def _seat(self, seat: _Seat) -> None:
        self._seats.append(seat)
        if self.loop is not None:
            self.loop.add_reader(seat.line.reader, self._hear, seat)

    async def ask(self, request: bytes) -> bytes:
        """What a worker says; a Problem where none can, or not in time."""
        assert self.loop is not None
        exchange = _Exchange(request, self.loop.create_future())
        self._waiting.append(exchange)
        if len(self._waiting) == 1:  # else all have enough to do
            self._hand_out()
        self._keep_looking()
        try:
            return await exchange.answer
        finally:
            self._claim(exchange)
            if exchange.answer.cancelled() and exchange in self._waiting:
                self._waiting.remove(exchange)

    def _claim(self, exchange: _Exchange) -> None:
        """The caller has taken its answer, or no longer wants it."""
        if not exchange.size:
            return
        was_full = self._is_full
        self._unclaimed -= exchange.size
        if was_full and not self._is_full:
            self._hand_out()

    @property
    def _is_full(self) -> bool:
        """Whether callers have to take their answers before more is asked."""
        return self._unclaimed > _MAX_UNCLAIMED

    def _hand_out(self) -> None:
        """Ask whoever can be asked."""
        now = monotonic()
        while self._waiting and not self._is_full and (seat := self._find_seat(now)) is not None:
            given = [self._waiting.popleft() for _ in range(min(seat.room, len(self._waiting)))]
            try:
                seat.give(given, now)
            except Ended:
                self._waiting.extendleft(reversed(given))
                self._lose(seat)
                return
            for exchange in given:
                exchange.deadline = min(exchange.deadline, self._deadline(now))
            if seat.line.is_full and self.loop is not None:
                self.loop.add_writer(seat.line.writer, self._flush, seat)

    def _find_seat(self, now: float) -> _Seat | None:
        """Who is to be asked next, if not all have enough to do; then more of them may start."""
        quick = next((seat for seat in self._seats if seat.is_quick), None)
        if quick is not None:
            return quick if quick.room else None
        found = next((seat for seat in self._seats if seat.room), None)
        if found is None:
            for _ in range(self._wanted(now)):
                self.start()
        return found

    def _wanted(self, now: float) -> int:
        """How many more workers would be of use: the first will perhaps do for all."""
        if not self._seats:
            return 1
        if all(not seat.is_ready and now - seat.since > _LATE for seat in self._seats):
            return min(self._size - len(self._seats), 1)
        if not any(seat.is_slow(now) for seat in self._seats):
            return 0
        starting = sum(not seat.is_ready for seat in self._seats)
        return min(self._size - len(self._seats), len(self._waiting) - starting)

    def _deadline(self, now: float) -> float:
        return now + self._settings.timeout + _SLACK

    def _flush(self, seat: _Seat) -> None:
        assert self.loop is not None
        try:
            seat.line.flush()
        except Ended:
            self._lose(seat)
            return
        if not seat.line.is_full:
            self.loop.remove_writer(seat.line.writer)

    def _hear(self, seat: _Seat) -> None:
        try:
            replies = seat.line.receive()
        except Ended:
            self._lose(seat)
            return
        now = monotonic()
        if replies and not seat.is_ready:
            seat.is_ready = True
            self._failed_starts = 0
            del replies[0]
        for reply in replies:
            exchange = seat.asked.popleft()
            if exchange is not None and not exchange.answer.done():
                exchange.answer.set_result(reply)
                exchange.size = len(reply)
                self._unclaimed += exchange.size
        if replies:
            if not self._settings.writes:  # of whom nothing is asked ahead, for it could be lost
                seat.note(len(replies), now)
            seat.since = now
        self._hand_out()

    def _lose(self, seat: _Seat) -> None:
        """A worker has ended by itself, or does not come to start."""
        begun = seat.asked[0] if seat.asked else None
        self._remove(seat)
        if begun is not None:
            begun.end(_lost(is_write=self._settings.writes))
        if not seat.is_ready:
            self._note_failed_start()
        self._hand_out()

    def _note_failed_start(self) -> None:
        """Tell those who wait, if it is not the first time."""
        self._failed_starts += 1
        if self._failed_starts == _STARTS:
            self._failed_starts = 0
            for exchange in self._waiting:
                exchange.end(_NOBODY)
            self._waiting.clear()

    def _remove(self, seat: _Seat) -> None:
        """End a worker; what it has not begun with is for others."""
        assert self.loop is not None
        self._seats.remove(seat)
        self.loop.remove_reader(seat.line.reader)
        self.loop.remove_writer(seat.line.writer)
        seat.worker.kill()
        self._take_back(seat)

    def _take_back(self, seat: _Seat) -> None:
        back = [exchange for exchange in seat.take_back() if not exchange.answer.done()]
        self._waiting.extendleft(reversed(back))

    def _keep_looking(self) -> None:
        if self._next_look is None and self.loop is not None:
            self._next_look = self.loop.call_later(_STALL, self._look)

    def _look(self) -> None:
        """Look at the clock, as long as somebody waits."""
        now = monotonic()
        self._next_look = None
        for seat in list(self._seats):
            self._look_at(seat, now)
        self._look_along_the_line(now)
        self._hand_out()
        if self._waiting or any(seat.asked for seat in self._seats):
            self._keep_looking()

    def _look_at(self, seat: _Seat, now: float) -> None:
        first = seat.asked[0] if seat.asked else None
        if not seat.is_ready:
            if now - seat.since > _BOOT:
                self._lose(seat)
        elif first is not None and (now > first.deadline or self._is_given_up(first)):
            first.end(self._settings.killed)
            self._remove(seat)
            self.start()
        elif seat.asked and now - seat.since > _STALL:
            self._take_back(seat)

    def _is_given_up(self, exchange: _Exchange) -> bool:
        """Whether nobody waits for it any more; but a change that is under way is not stopped."""
        return exchange.answer.cancelled() and not self._settings.writes

    def _look_along_the_line(self, now: float) -> None:
        """Once the time of those at its front is up, all who have waited as long wait for nothing.

        But not while a worker starts, or while callers do not take their answers.
        """
        is_staffed = all(seat.is_ready for seat in self._seats) and not self._is_full
        is_late = False
        for exchange in islice(self._waiting, _IN_LINE * self._size):
            latest = self._deadline(now)
            exchange.deadline = min(exchange.deadline, latest) if is_staffed else latest
            is_late = is_late or now > exchange.deadline - _SLACK
        if is_late:
            self._send_away(now - self._settings.timeout)

    def _send_away(self, since: float) -> None:
        """Tell those who have waited since then that nobody has time for them."""
        waiting, self._waiting = self._waiting, deque()
        for exchange in waiting:
            if exchange.since <= since:
                exchange.end(Problem.unavailable("The database is busy; try again later"))
            else:
                self._waiting.append(exchange)

    def disband(self) -> None:
        """Let go of all workers, as somebody whose they are not."""
        for seat in self._seats:
            seat.worker.hang_up()
        self._seats.clear()

    def close(self) -> None:
        """End those that are idle, and those that only read; a change may come to its end."""
        seats, self._seats = self._seats, []
        waiting, self._waiting = self._waiting, deque()
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        for seat in seats:
            waiting += [each for each in seat.asked if each is not None]
            self._leave(seat)
        if not self.is_free:
            for exchange in waiting:
                exchange.end(_lost(is_write=self._settings.writes))

    def _leave(self, seat: _Seat) -> None:
        if not self.is_free and self.loop is not None:
            self.loop.remove_reader(seat.line.reader)
            self.loop.remove_writer(seat.line.writer)
        if not seat.asked:
            seat.worker.close()
        elif self._settings.writes:
            seat.worker.hang_up()
        else:
            seat.worker.kill()


def _lost(*, is_write: bool) -> Problem:
    """A process that is gone, of memory perhaps."""
    doubt = "; look whether the change took place" if is_write else ""
    return Problem.unavailable(f"The process that asks the database has ended{doubt}")
