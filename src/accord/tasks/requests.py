"""What clients do with tasks: get, update, cancel, wait for the result, subscribe."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, Reject, Rejected, StoreError, Unavailable
from accord.model import task as states
from accord.model.questions import Question
from accord.model.task import Asked, Task
from accord.protocol import Request, tasks
from accord.protocol.results import Result
from accord.revisions import Revision
from accord.tasks.service import Changed, TaskService
from accord.tasks.store import Stored

T = TypeVar("T")
_RETRY_AFTER: Final = 1  # seconds
_RETRY_PAUSE: Final = 1.0  # seconds before a subscription reads again from a store that is away
_AWAY: Final = "Tasks are not available now; try again later"
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_error = msgspec.json.Decoder(Reject).decode


class _Edge(Protocol):
    """The transport of a request."""

    def push(self, message: bytes) -> Awaitable[object] | None: ...
    async def ask(self, call: Any, questions: Mapping[str, Question]) -> dict[str, bytes]: ...


class _Call(Protocol):
    """A request for a task, in execution."""

    @property
    def request(self) -> Request: ...
    @property
    def edge(self) -> _Edge | None: ...
    @property
    def principal(self) -> bytes | None: ...


def unavailable(error: StoreError) -> Unavailable:
    """Return the error for a client while the store is away."""
    return Unavailable(INTERNAL_ERROR, _AWAY, {"retryAfter": _RETRY_AFTER})


class StoredQuestion(msgspec.Struct, frozen=True):
    """A question of a task, to be asked while its result is awaited."""

    asked: Asked
    task_id: str

    @property
    def method(self) -> str:
        """The method of the request."""
        return self.asked.method

    def lacks(self, capabilities: Any, revision: Revision) -> None:
        """Return None: that was checked when the function asked."""

    def params(self, revision: Revision) -> dict[str, Any]:
        """Return the params, which name the task."""
        params: dict[str, Any] = msgspec.json.decode(self.asked.params)
        return params | {"_meta": params.get("_meta", {}) | tasks.related(self.task_id)}

    def read(self, answer: bytes) -> bytes:
        """Return the response as it is: the function reads it."""
        return answer


class TaskRequests:
    """Answers requests for tasks, whichever process runs them."""

    service: TaskService

    async def ready(self) -> None:
        """Open the store; raise StoreError if that is not possible."""
        raise NotImplementedError

    def withdraw(self, task: Task) -> None:
        """Remove a task from the queue of an engine."""
        raise NotImplementedError

    async def get(self, call: _Call, task_id: str) -> Result | Reject:
        """Return the state of a task."""

        async def show(stored: Stored) -> Result:
            return _shown(stored.task, call.request.revision)

        return await self._with_task(call, task_id, show)

    async def update(self, call: _Call, task_id: str) -> Result | Reject:
        """Give answers to the questions of a task."""
        answers = {key: bytes(each) for key, each in call.request.params.responses.items()}

        async def answer(stored: Stored) -> Result:
            await self.service.change(stored, partial(states.answering, answers=answers))
            return {}

        return await self._with_task(call, task_id, answer)

    async def cancel(self, call: _Call, task_id: str) -> Result | Reject:
        """Ask a task to end; in 2025-11-25 it is over at once."""
        is_stateless = call.request.revision.stateless

        async def cancel(stored: Stored) -> Any:
            if stored.task.owner == states.QUEUED:
                self.withdraw(stored.task)
            if is_stateless:
                await self.service.change(stored, states.cancelling)
                return {}
            ended = await self.service.change(stored, states.ended_by_client)
            if ended is None:
                return Reject(INVALID_PARAMS, "The task is over and cannot be cancelled")
            return tasks.experimental(ended.task)

        found: Result | Reject = await self._with_task(call, task_id, cancel)
        return found

    async def result(self, call: _Call, task_id: str) -> Result | Reject:
        """Wait for the end of a task and return its result; ask its questions meanwhile."""
        with self.service.watching(task_id) as changed:
            while True:
                found = await self._with_task(call, task_id, _as_it_is)
                if isinstance(found, Reject):
                    return found
                stored = found
                if stored.task.is_final:
                    return _result_of(stored.task)
                if stored.task.asked and call.edge is not None:
                    await self._ask(call, call.edge, stored)
                else:
                    await changed.wait()

    async def _ask(self, call: _Call, edge: _Edge, stored: Stored) -> None:
        """Ask the open questions of a task on the stream of a request."""
        task = stored.task
        questions: dict[str, Any] = {
            key: StoredQuestion(each, task.id) for key, each in task.asked.items()
        }
        answers = await edge.ask(call, questions)
        with suppress(StoreError):
            await self.service.change(stored, partial(states.answering, answers=answers))

    async def _with_task(
        self, call: _Call, task_id: str, work: Callable[[Stored], Awaitable[T]]
    ) -> T | Reject:
        """Do something with a task of the caller, or return the error."""
        try:
            await self.ready()
            stored = await self.service.find(task_id, call.principal)
            return tasks.unknown_task() if stored is None else await work(stored)
        except StoreError as error:
            return unavailable(error)

    # Subscriptions

    async def accept(self, call: _Call, task_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks whose changes the caller may see."""
        try:
            await self.ready()
            found = [await self.service.find(each, call.principal) for each in task_ids]
        except StoreError as error:
            raise Rejected(unavailable(error)) from error
        return tuple(each.task.id for each in found if each is not None)

    @contextmanager
    def following(self, call: _Call, task_ids: Sequence[str]) -> Iterator[None]:
        """Send the states of tasks to a subscription: the present ones, then each other one."""
        with self.service.watching(*task_ids) as changed:
            changed.add(*task_ids)
            sending = asyncio.create_task(self._send_changes(call, changed))
            try:
                yield
            finally:
                sending.cancel()

    async def _send_changes(self, call: _Call, changed: Changed) -> None:
        sent: dict[str, int] = {}
        while True:
            for task_id in await changed.wait():
                try:
                    stored = await self.service.store.read(task_id)
                except StoreError:
                    await asyncio.sleep(_RETRY_PAUSE)
                    changed.add(task_id)
                    continue
                if stored is None or call.edge is None or stored.version <= sent.get(task_id, 0):
                    continue
                sent[task_id] = stored.version
                room = call.edge.push(tasks.task_notification(call.request.id, stored.task))
                if room is not None:
                    await room


async def _as_it_is(stored: Stored) -> Stored:
    return stored


def _shown(task: Task, revision: Revision) -> Result:
    return tasks.detailed(task) if revision.stateless else tasks.experimental(task)


def _result_of(task: Task) -> Result | Reject:
    """Return the result of a task that is over, as 2025-11-25 has it."""
    if task.status == "failed":
        return _decode_error(task.error)
    if task.status == "cancelled":
        return Reject(INVALID_PARAMS, "The task was cancelled")
    result: Result = dict(_members(task.result))
    meta = _members(result["_meta"]) if "_meta" in result else {}
    return result | {"_meta": meta | tasks.related(task.id)}
