"""Calls that become tasks, and the requests for tasks; a backend keeps and runs them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from accord.errors import METHOD_NOT_FOUND, ContractError, Reject
from accord.model.answer import Problem
from accord.model.context import MissingCapability
from accord.model.tool import Tool
from accord.protocol import Request, messages
from accord.protocol.events import TASKS_GET, TASKS_UPDATE
from accord.protocol.messages import TaskMetadata
from accord.protocol.results import Result
from accord.protocol.tasks import CAPABILITY, declares_tasks, undeclared
from accord.server.operation import (
    C,
    Done,
    FeatureOperation,
    Invocation,
    Operation,
    RequestChannel,
    rejected,
)

if TYPE_CHECKING:
    from accord.server.dispatcher import Dispatcher


MEMORY: Final = "memory"
SQLITE: Final = "sqlite:"
REDIS: Final = ("redis://", "rediss://", "unix://")


def require_store_name(name: str) -> None:
    """Raise ContractError unless a text names a store."""
    if name != MEMORY and not (name.startswith((SQLITE, *REDIS)) and name != SQLITE):
        raise ContractError(
            f"the store must be memory, sqlite:PATH or redis://HOST:PORT/N, not {name!r}"
        )


class QueuedTask(msgspec.Struct, frozen=True):
    """A task that is handed to an engine."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    attempt: int = 1
    """Above 1 if a worker that had begun with it has ended."""


_ABOVE_ZERO: Final = (
    *("ttl", "poll", "lease"),
    *("max_tasks", "max_tasks_per_caller", "max_result_bytes"),
)
HandOver = Callable[[QueuedTask], object]
"""A function that puts a task into a queue; async or not."""
DOCKET: Final = "docket"


class TaskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a server keeps tasks."""

    store: str = MEMORY
    """`memory`, `sqlite:PATH` or `redis://HOST:PORT/N`."""
    ttl: float = 3600.0
    """Seconds from its start for which a task can be fetched."""
    poll: float = 1.0
    """Seconds between requests for a task that clients are asked to wait."""
    lease: float = 10.0
    """Seconds after which the tasks of a process that has died are noticed."""
    max_tasks: int = 10_000
    """Maximum number of tasks that run in one process."""
    max_tasks_per_caller: int = 1_000
    """Maximum number of those that one caller has: see `Context.caller_key`."""
    max_result_bytes: int = 16 * 1024 * 1024
    """Maximum size of a result, as JSON; a task with a larger one fails."""
    is_private: bool = False
    """True if no other user can read the store: then it is not encrypted."""
    engine: str | HandOver | None = None
    """`docket`, or a function that puts tasks into a queue; without, the server runs them."""
    experimental: bool = False
    """True if clients of 2025-11-25 get tasks in the form of that revision."""

    def __post_init__(self) -> None:
        require_store_name(self.store)
        if self.engine is not None and self.engine != DOCKET and not callable(self.engine):
            raise ContractError(
                "tasks(engine=...) must be 'docket' or a function that puts a task into a queue,"
                f" not {self.engine!r}"
            )
        for name in _ABOVE_ZERO:
            if not getattr(self, name) > 0:
                raise ContractError(f"tasks({name}=...) must be above 0")


class TaskBackend(Protocol):
    """Keeps and runs the tasks of a server: see `accord.serve.task_runner`."""

    async def ready(self) -> None:
        """Open the store; raise StoreError if that is not possible."""

    def drain(self) -> None:
        """Leave restartable tasks to other processes; the others go on."""

    async def close(self, seconds: float, *, waits: bool = True) -> None:
        """End the tasks that run here, and close the store; if it `waits`, let them finish."""

    async def start(self, call: Any, tool: Tool) -> Done:
        """Run a call as a task; return the reply with the task, or with the result itself."""

    async def get(self, call: Any, task_id: str) -> Result | Reject: ...
    async def update(self, call: Any, task_id: str) -> Result | Reject: ...
    async def cancel(self, call: Any, task_id: str) -> Result | Reject: ...
    async def result(self, call: Any, task_id: str) -> Result | Reject:
        """Wait for the end of a task and return its result, as 2025-11-25 has it."""

    async def accept(self, call: Any, task_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks whose changes the caller may see."""

    def following(self, call: Any, task_ids: Sequence[str]) -> AbstractContextManager[None]:
        """Send the states of tasks to a subscription for the time of a block."""


class TaskOperation(Operation[C], kw_only=True):
    """A call of a tool that may become a task."""

    backend: TaskBackend
    tool: Tool

    @property
    def label(self) -> str:
        """Its name in the log."""
        return f"task of tool {self.tool.name}"

    def bind(self) -> Invocation:
        """Return the backend's function, with the call."""
        return self.backend.start, self.call, self.tool

    def render(self, value: Done) -> Done:
        """Return the outcome that the backend returned."""
        return value

    def reply(self, outcome: Problem | Reject) -> bytes:
        """Return the reply with a failure, as the call itself would have it."""
        request, dispatcher = self.call.request, self.dispatcher
        return dispatcher.renderer.render(request, self.tool, outcome)


def task_call(
    dispatcher: "Dispatcher", backend: TaskBackend | None, call: C, tool: Tool
) -> Operation[C] | Done | None:
    """Return the operation of a call that may become a task; None if it is an ordinary one."""
    request = call.request
    if backend is None or call.is_task:
        return None
    is_asked = isinstance(request.params, TaskMetadata)
    if not tool.task:
        fault = f"Tool {tool.name} does not support tasks"
        return rejected(request, Reject(METHOD_NOT_FOUND, fault)) if is_asked else None
    if is_asked or (request.revision.stateless and declares_tasks(request.client.capabilities)):
        return TaskOperation(call, dispatcher, is_async=True, backend=backend, tool=tool)
    if tool.task != "required":
        return None
    operation = TaskOperation(call, dispatcher, is_async=True, backend=backend, tool=tool)
    if request.revision.tasks and dispatcher.registry.has_experimental_tasks:
        fault = f"Tool {tool.name} must be called as a task"
        return rejected(request, Reject(METHOD_NOT_FOUND, fault))
    return operation.fail(MissingCapability(CAPABILITY))


def task_request(
    dispatcher: "Dispatcher", backend: TaskBackend | None, call: C
) -> Operation[C] | Done:
    """Return the operation of a request for a task: get, update, cancel or result."""
    request = call.request
    if request.revision.stateless and not declares_tasks(request.client.capabilities):
        return rejected(request, undeclared())
    assert backend is not None, "the method is not served without a backend"
    return FeatureOperation(
        call,
        dispatcher,
        is_async=True,
        what=request.method,
        invocation=lambda: (_function_for(backend, request), call, request.name),
        to_result=lambda result: result,
    )


def _function_for(backend: TaskBackend, request: Request) -> Callable[[Any, str], Any]:
    if request.method == TASKS_GET:
        return backend.get
    if request.method == TASKS_UPDATE:
        return backend.update
    return backend.cancel if request.method == "tasks/cancel" else backend.result


async def hold_with_tasks(
    backend: TaskBackend, call: RequestChannel, wanted: messages.Wanted, task_ids: Sequence[str]
) -> None:
    """Send changes to a subscription, those of tasks too."""
    accepted = await backend.accept(call, task_ids)
    with backend.following(call, accepted):
        await call.hold(msgspec.structs.replace(wanted, task_ids=accepted or None))
