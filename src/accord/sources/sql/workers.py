"""Several workers, so that a slow query holds up nobody else; one that is late is replaced."""

import os
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final

import msgspec

from accord.answer import Problem
from accord.errors import AccordError
from accord.sources.sql.frames import Ended, GivenUp, Late
from accord.sources.sql.messages import (
    Broken,
    Failed,
    Reply,
    Request,
    Settings,
    decode_reply,
    encode_request,
)
from accord.sources.sql.process import NeverAsked, Worker

_SLACK: Final = 0.25  # seconds after the limit in which a worker may still say so itself


class WorkerBug(AccordError):
    """What went wrong in a worker, with its traceback, for the log."""


class Workers:
    """Up to `size` workers of one kind, started as they are needed."""

    def __init__(self, settings: Settings, size: int) -> None:
        self._settings = settings
        self._size = size
        self._told = msgspec.json.encode(settings)
        self._reset()

    def _reset(self) -> None:
        self._owner = os.getpid()
        self._idle: deque[Worker] = deque()
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._size):
            self._turns.put(None)

    def start(self) -> None:
        """Have one ready before anybody asks."""
        self._idle.append(Worker(self._told))

    def ask(self, request: Request, is_given_up: Callable[[], bool]) -> Reply:
        """What the database says; a Problem where it cannot, or not in time."""
        if self._owner != os.getpid():  # a fork: the workers are our parent's
            self._reset()
        deadline = monotonic() + self._settings.timeout + _SLACK
        try:
            self._turns.get(timeout=self._settings.timeout)
        except Empty as error:
            raise Problem.unavailable("The database is busy; try again later") from error
        try:
            said = self._ask(encode_request(request), deadline, is_given_up)
            reply: Reply = decode_reply(said)
        finally:
            self._turns.put(None)
        if isinstance(reply, Failed):
            raise reply.problem
        if isinstance(reply, Broken):
            raise WorkerBug(reply.traceback)
        return reply

    def _ask(self, request: bytes, deadline: float, is_given_up: Callable[[], bool]) -> bytes:
        worker = self._take()
        try:
            try:
                reply = worker.ask(request, deadline, is_given_up)
            except NeverAsked:  # it has died of something else, long ago
                worker.kill()
                worker = Worker(self._told)
                reply = worker.ask(request, deadline, is_given_up)
        except (Ended, NeverAsked) as error:
            worker.kill()
            raise _lost(is_write=self._settings.writes) from error
        except (Late, GivenUp) as error:
            worker.kill()
            self.start()
            raise self._settings.killed from error
        self._idle.append(worker)
        return reply

    def _take(self) -> Worker:
        try:
            return self._idle.pop()
        except IndexError:
            return Worker(self._told)

    def close(self) -> None:
        """End those that are idle."""
        while self._idle:
            self._idle.pop().close()


def _lost(*, is_write: bool) -> Problem:
    """A process that is gone, of memory perhaps."""
    doubt = "; look whether the change took place" if is_write else ""
    return Problem.unavailable(f"The process that asks the database has ended{doubt}")
