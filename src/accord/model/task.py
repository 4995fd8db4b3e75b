"""Tasks: calls that take long, whose results are fetched later.

A `Task` is the whole state of one. The functions below return the next state, or None if there is
nothing to change; a store keeps the states (`accord.tasks`).
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal

import msgspec

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

FINAL: Final[frozenset[Status]] = frozenset({"completed", "failed", "cancelled"})
"""States that never change."""
QUEUED: Final = "queue"
"""The owner of tasks that are handed to an engine, until a worker of it begins with them."""
_replace = msgspec.structs.replace


class Asked(msgspec.Struct, frozen=True):
    """A question to the client that has no answer yet."""

    name: str
    """The name that the function uses for it; its key in the task is another one."""
    digest: str
    method: str
    params: bytes
    """The params of the request, as JSON."""


class Answered(msgspec.Struct, frozen=True):
    """The client's answer to a question."""

    name: str
    digest: str
    answer: bytes
    """The result of the request, as JSON."""


class StoredCall(msgspec.Struct, frozen=True):
    """What is needed to run the call of a restartable task again."""

    arguments: bytes
    revision: str
    capabilities: bytes
    """The client's capabilities, as JSON."""
    client: bytes
    """The client's `clientInfo`, as JSON."""
    caller: bytes | None
    """The verified caller without its claims, if there is one."""
    caller_key: str
    address: str | None


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a task. Times are milliseconds since 1970."""

    id: str
    tool: str
    principal: bytes = b""
    """Digest of the identity that may use it; empty if the sender had none."""
    created: int
    updated: int
    ttl_ms: int
    poll_ms: int
    owner: str
    """The process that runs it."""
    status: Status = "working"
    message: str | None = None
    asked: Mapping[str, Asked] = {}
    """The open questions by key."""
    answered: Mapping[str, Answered] = {}
    """The answers by key."""
    count: int = 0
    """Number of questions so far, from which keys are made: none is used twice."""
    runs: int = 1
    releases: int = 0
    """Runs that a process has left to others when it was stopped."""
    is_cancelling: bool = False
    """True once the client wants it to end."""
    is_error: bool = False
    """True if the result says that the tool has failed."""
    result: bytes = b""
    """The result of a completed task, as JSON."""
    error: bytes = b""
    """The JSON-RPC error of a failed task, as JSON."""
    call: StoredCall | None = None
    """Given if it may run again after its process has ended."""

    @property
    def is_final(self) -> bool:
        """True if the task is over."""
        return self.status in FINAL


class Outcome(msgspec.Struct, frozen=True):
    """The end of a task: a status with a result or an error."""

    status: Status
    result: bytes = b""
    error: bytes = b""
    message: str | None = None
    is_error: bool = False


CANCELLED: Final = Outcome("cancelled", message="The task was cancelled")


def finished(task: Task, now: int, *, outcome: Outcome, owner: str) -> Task | None:
    """Return a task with its outcome; None if it is over, or another process runs it."""
    if task.is_final or task.owner != owner:
        return None
    return _replace(
        task,
        status=outcome.status,
        result=outcome.result,
        error=outcome.error,
        message=outcome.message or task.message,
        is_error=outcome.is_error,
        asked={},
        answered={},
        call=None,
        updated=max(now, task.updated),
    )


def ended_by_client(task: Task, now: int) -> Task | None:
    """Return a task that is cancelled at once, whatever its process still does."""
    return finished(task, now, outcome=CANCELLED, owner=task.owner)


def cancelling(task: Task, now: int) -> Task | None:
    """Return a task whose process is to end it; one that no process has begun ends at once."""
    if task.owner == QUEUED:
        return ended_by_client(task, now)
    if task.is_final or task.is_cancelling:
        return None
    return _replace(task, is_cancelling=True, updated=max(now, task.updated))


def with_message(task: Task, now: int, *, message: str, owner: str) -> Task | None:
    """Return a task with another status message."""
    if task.is_final or task.owner != owner or task.message == message:
        return None
    return _replace(task, message=message, updated=max(now, task.updated))


def asking(task: Task, now: int, *, questions: Collection[Asked], owner: str) -> Task | None:
    """Return a task with further open questions, each under a new key."""
    if task.is_final or task.owner != owner:
        return None
    keys = [f"{each.name}.{task.count + i}" for i, each in enumerate(questions, 1)]
    return _replace(
        task,
        status="input_required",
        asked={**task.asked, **dict(zip(keys, questions, strict=True))},
        count=task.count + len(keys),
        updated=max(now, task.updated),
    )


def not_asking(task: Task, now: int, *, keys: Collection[str], owner: str) -> Task | None:
    """Return a task without some open questions: the function does not wait for them any more."""
    if task.is_final or task.owner != owner or task.asked.keys().isdisjoint(keys):
        return None
    open_questions = {key: each for key, each in task.asked.items() if key not in keys}
    status: Status = "input_required" if open_questions else "working"
    return _replace(task, status=status, asked=open_questions, updated=max(now, task.updated))


def answering(task: Task, now: int, *, answers: Mapping[str, bytes]) -> Task | None:
    """Return a task with answers to open questions; others are ignored."""
    given = {
        key: Answered(task.asked[key].name, task.asked[key].digest, answer)
        for key, answer in answers.items()
        if key in task.asked
    }
    if not given or task.is_final:
        return None
    open_questions = {key: each for key, each in task.asked.items() if key not in given}
    return _replace(
        task,
        status="input_required" if open_questions else "working",
        asked=open_questions,
        answered={**task.answered, **given},
        updated=max(now, task.updated),
    )


def released(task: Task, now: int, *, owner: str) -> Task | None:
    """Return a task that its process leaves to another one; None if it is over or ending."""
    if task.is_final or task.is_cancelling or task.owner != owner:
        return None
    return _replace(
        task, releases=task.releases + 1, status="working", asked={}, updated=max(now, task.updated)
    )


def finished_elsewhere(task: Task, now: int, *, outcome: Outcome) -> Task | None:
    """Return a task with its outcome, whatever process runs it; None if it is over."""
    return finished(task, now, outcome=outcome, owner=task.owner)


def queued(task: Task, now: int) -> Task | None:
    """Return a task that is handed to the engine again; None if it is over."""
    if task.is_final:
        return None
    return _replace(task, owner=QUEUED, status="working", asked={}, updated=max(now, task.updated))


def begun(task: Task, now: int, *, owner: str) -> Task | None:
    """Return a task that a worker of the engine begins with; None if another one has."""
    return taken_over(task, now, owner=owner) if task.owner == QUEUED else None


def taken_over(task: Task, now: int, *, owner: str) -> Task | None:
    """Return a task that another process runs from now on, from its beginning."""
    if task.is_final:
        return None
    return _replace(
        task,
        owner=owner,
        status="working",
        asked={},
        runs=task.runs + 1,
        updated=max(now, task.updated),
    )
