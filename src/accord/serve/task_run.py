"""A task that runs in this process: its state, its messages and its questions."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from accord.errors import INTERNAL_ERROR, Reject, StoreError
from accord.model import task as states
from accord.model.answer import Problem
from accord.model.questions import Question, digest
from accord.model.task import Asked, Outcome, Task
from accord.revisions import Revision
from accord.serve.task_call import TaskCall
from accord.server.operation import Done
from accord.tasks.service import Step, TaskService
from accord.tasks.store import Stored

_THROTTLE: Final = 0.5  # seconds between two messages of a task in the store
_TOO_LARGE: Final = (
    "The result has {:,} bytes; at most {:,} are stored for a task: call the tool for a smaller one"
)
_encode = msgspec.json.Encoder().encode


class _Reply(msgspec.Struct, frozen=True):
    """The members of a JSON-RPC reply."""

    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _ErrorMessage(msgspec.Struct, frozen=True):
    message: str = ""


class _IsError(msgspec.Struct, frozen=True):
    is_error: bool = msgspec.field(name="isError", default=False)


_decode_reply = msgspec.json.Decoder(_Reply).decode
_decode_message = msgspec.json.Decoder(_ErrorMessage).decode
_decode_is_error = msgspec.json.Decoder(_IsError).decode


def outcome_of_reply(reply: bytes, most: int) -> Outcome:
    """Return the end of a task whose call has this reply; a failure above so many bytes."""
    found = _decode_reply(reply)
    error, result = bytes(found.error), bytes(found.result)
    if (size := max(len(error), len(result))) > most:
        return failure(_TOO_LARGE.format(size, most))
    if error:
        return Outcome("failed", error=error, message=_decode_message(error).message)
    return Outcome("completed", result=result, is_error=_decode_is_error(result).is_error)


def failure(message: str) -> Outcome:
    """Return the end of a task that could not be finished."""
    return Outcome("failed", error=_encode(Reject(INTERNAL_ERROR, message)), message=message)


class TaskRun:
    """A task that runs here; before it is stored, a call that may become one.

    `spawn` runs a coroutine function in the background; `on_end` is called once the task is to end.
    """

    __slots__ = (
        *("call", "done", "is_done", "is_stopped", "loop", "on_done", "settled", "stored"),
        *("thread",),
        *("_changing", "_is_created", "_message", "_message_due", "_news", "_next_message"),
        *("_on_end", "_reported", "_service", "_spawn"),
    )

    def __init__(
        self,
        call: TaskCall,
        service: TaskService,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, Any]]], object],
        on_end: Callable[["TaskRun"], object],
    ) -> None:
        self.call = call
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.thread: int = threading.get_ident()
        self.is_done: bool = False
        self.is_stopped = False
        """True if the worker of an engine that runs it is stopped."""
        self.settled: asyncio.Future[None] | None = None
        """Done once the end of the task is stored, if a worker waits for it."""
        self.done: Done | None = None
        """The outcome of the call, once it is done; None if it was cancelled."""
        self.on_done: Callable[[TaskRun], object] | None = None
        self.stored: Stored | None = None
        """The last state known here; None until the task is stored."""
        self._service = service
        self._spawn = spawn
        self._on_end = on_end
        self._is_created: asyncio.Future[bool] | None = None
        self._reported = 0
        """The latest version that was reported."""
        self._changing: asyncio.Lock | None = None
        self._news: asyncio.Event | None = None
        """Set with the next state, if a question waits for that."""
        self._message: str | None = None
        self._message_due: asyncio.TimerHandle | None = None
        self._next_message = 0.0

    @property
    def task(self) -> Task:
        """The last state known here."""
        assert self.stored is not None, "the task is not stored yet"
        return self.stored.task

    def deliver(self, _: object, done: Done | None) -> None:
        """Take the outcome of the call."""
        if not self.is_done:
            self.is_done, self.done = True, done
            if self.on_done is not None:
                self.on_done(self)

    def call_when_done(self, listener: Callable[["TaskRun"], object]) -> None:
        """Call a function with this once the call is done; it replaces the one before."""
        self.on_done = listener
        if self.is_done:
            listener(self)

    def begin(self) -> None:
        """Make the call a task; questions wait until it is stored."""
        self._is_created = self.loop.create_future()
        self.call.run = self

    def set_stored(self, stored: Stored | None) -> None:
        """Set the first state, once it is stored; None if that is not possible."""
        self.stored = stored
        if stored is None:
            self.call.run = None
        if self._is_created is not None:
            self._is_created.set_result(stored is not None)
            self._is_created = None

    async def is_stored(self) -> bool:
        """Return whether the call is a task, once that is known."""
        if self._is_created is not None:
            return await asyncio.shield(self._is_created)
        return self.stored is not None

    async def change(self, step: Step) -> Task | None:
        """Take the task to its next state, one change after the other."""
        if self._changing is None:
            self._changing = asyncio.Lock()
        async with self._changing:
            assert self.stored is not None
            changed = await self._service.change(self.stored, step)
            if changed is not None:
                self._set(changed)
        self._catch_up()
        return None if changed is None else changed.task

    def report(self, version: int) -> None:
        """Take notice that the task has changed; this process may have done it."""
        self._reported = max(self._reported, version)
        if self._changing is None or not self._changing.locked():
            self._catch_up()

    def _catch_up(self) -> None:
        if self.stored is not None and self._reported > self.stored.version:
            self._spawn(self.refresh)

    async def refresh(self) -> None:
        """Read the task; a failure is left to the next renewal of its lease."""
        with suppress(StoreError):
            stored = await self._service.store.read(self.task.id)
            if stored is not None and stored.version >= self._version:
                self._set(stored)

    @property
    def _version(self) -> int:
        return 0 if self.stored is None else self.stored.version

    def _set(self, stored: Stored) -> None:
        self.stored = stored
        news, self._news = self._news, None
        if news is not None:
            news.set()
        task = stored.task
        if task.is_final or task.is_cancelling or task.owner != self._service.owner:
            self._on_end(self)

    # The status

    def set_message(self, message: str) -> None:
        """Set the status message; several in a short time are stored as one."""
        self._message = message
        if self._message_due is None:
            due = max(self._next_message, self.loop.time())
            self._message_due = self.loop.call_at(due, self._store_message)

    def _store_message(self) -> None:
        self._next_message = self.loop.time() + _THROTTLE
        self._message_due = None
        message, self._message = self._message, None
        if message is not None and self.stored is not None:
            owner = self._service.owner
            self._change_later(partial(states.with_message, message=message, owner=owner))

    def _change_later(self, step: Step) -> None:
        async def change() -> None:
            with suppress(StoreError):
                await self.change(step)

        self._spawn(change)

    # Questions

    async def ask(self, questions: Mapping[str, Question], revision: Revision) -> dict[str, bytes]:
        """Store questions and wait for all answers; a run before this one may have had some."""
        asked = [_asked(name, each, revision) for name, each in questions.items()]
        answers = self._answers_before(asked)
        missing = [each for each in asked if each.name not in answers]
        if not missing:
            return answers
        keys = await self._store_questions(missing)
        try:
            while not keys.keys() <= self.task.answered.keys():
                if self._news is None:
                    self._news = asyncio.Event()
                await self._news.wait()
        except BaseException:
            owner = self._service.owner
            self._change_later(partial(states.not_asking, keys=tuple(keys), owner=owner))
            raise
        return answers | {name: self.task.answered[key].answer for key, name in keys.items()}

    async def _store_questions(self, asked: list[Asked]) -> dict[str, str]:
        """Store open questions; return their keys in the task, with their names."""
        step = partial(states.asking, questions=asked, owner=self._service.owner)
        try:
            task = await self.change(step)
        except StoreError as error:
            raise Problem.unavailable("The client cannot be asked now") from error
        if task is None:
            raise Problem.unavailable("The client cannot be asked: the task is over")
        names = [each.name for each in asked]
        return dict(zip([*task.asked][-len(names) :], names, strict=True))

    def _answers_before(self, asked: list[Asked]) -> dict[str, bytes]:
        """Return the answers that runs before this one were given to the same questions."""
        if self.task.runs == 1:
            return {}
        given = {(each.name, each.digest): each.answer for each in self.task.answered.values()}
        known = [each for each in asked if (each.name, each.digest) in given]
        return {each.name: given[each.name, each.digest] for each in known}

    def end(self) -> None:
        """Drop what belongs to the call: it is over."""
        if self._message_due is not None:
            self._message_due.cancel()
        self.call.run = None
        self.call.edge = None


def _asked(name: str, question: Question, revision: Revision) -> Asked:
    params = _encode(question.params(revision))
    return Asked(name, digest(question, revision), question.method, params)
