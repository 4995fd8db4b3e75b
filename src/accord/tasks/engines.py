"""Engines: queues that people already run, whose workers run the tasks of a server.

An engine is given the ids of tasks; all else is in the store. Its workers call
`Server.run_task`, or do the work on their own and call `Server.finish`.
"""

import asyncio
import inspect
from typing import Final, Protocol

from accord.errors import ContractError
from accord.server.tasks import DOCKET, MEMORY, HandOver, QueuedTask, TaskSettings

_SECONDS: Final = 10.0  # for a queue to take a task


class Engine(Protocol):
    """Puts tasks into a queue."""

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""

    async def close(self) -> None: ...
    async def submit(self, task: QueuedTask) -> None:
        """Put a task into the queue; raise if that is not possible."""

    async def withdraw(self, task_id: str) -> None:
        """Remove a task that was cancelled from the queue, if the engine can do that."""


class FunctionEngine:
    """Puts tasks into a queue by a function of the user."""

    def __init__(self, hand_over: HandOver) -> None:
        self._hand_over = hand_over

    async def open(self) -> None:
        """Do nothing: the function connects."""

    async def close(self) -> None:
        """Do nothing."""

    async def submit(self, task: QueuedTask) -> None:
        """Call the function, one that is not async in a thread."""
        async with asyncio.timeout(_SECONDS):
            if inspect.iscoroutinefunction(self._hand_over):
                await self._hand_over(task)
            else:
                found = await asyncio.to_thread(self._hand_over, task)
                if inspect.isawaitable(found):
                    await found

    async def withdraw(self, task_id: str) -> None:
        """Do nothing: a worker finds that the task is over."""


def engine_of(settings: TaskSettings, server: str) -> Engine | None:
    """Return the engine that runs the tasks of a server; None if the server does."""
    engine = settings.engine
    if engine is None:
        return None
    if settings.store == MEMORY:
        raise ContractError(
            "an engine needs a store that its workers share: server.tasks(engine=...,"
            " store='redis://...')"
        )
    if engine == DOCKET:
        from accord.tasks.docket import DocketEngine  # an extra

        return DocketEngine(settings.store, server)
    assert callable(engine)
    return FunctionEngine(engine)
