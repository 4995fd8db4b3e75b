"""What a server shares with other processes while it is served: its tasks, and rates of calls.

What does that is imported with the first task or rate.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from accord.server.dispatcher import Dispatcher
from accord.server.rates import RateLimit
from accord.server.tasks import MEMORY, TaskBackend

if TYPE_CHECKING:
    from accord.serve.rate_sync import RateSync


def offer_tasks(dispatcher: Dispatcher) -> None:
    """Let the calls of a server be tasks, if its tools want it."""
    dispatcher.serve_tasks(partial(_runner_of, dispatcher))


def _runner_of(dispatcher: Dispatcher) -> TaskBackend:
    from accord.serve.task_runner import TaskRunner  # few servers have tasks

    return TaskRunner(dispatcher)


async def open_tasks(dispatcher: Dispatcher) -> None:
    """Open the store of tasks, if there are any; raise StoreError if that is not possible."""
    if dispatcher.tasks is not None:
        await dispatcher.tasks.ready()
    dispatcher.task_users += 1


def drain_tasks(dispatcher: Dispatcher) -> None:
    """Leave restartable tasks to other processes: this one is about to end."""
    if dispatcher.tasks is not None and dispatcher.task_users <= 1:
        dispatcher.tasks.drain()


async def close_tasks(dispatcher: Dispatcher, seconds: float, *, waits: bool = True) -> None:
    """End the tasks that run here within so many seconds, and close the store.

    If it `waits`, tasks have most of that time to finish.
    """
    dispatcher.task_users -= 1
    if dispatcher.tasks is not None and dispatcher.task_users <= 0:
        await dispatcher.tasks.close(seconds, waits=waits)


def shared_rates(dispatcher: Dispatcher, *more: RateLimit | None) -> Sequence[RateLimit]:
    """Return the rates that the processes of a store share: those of middleware, and more."""
    if dispatcher.task_settings.store == MEMORY:
        return ()
    functions = [each for scope in dispatcher.registry.scopes for each in scope.middleware]
    found = [*more, *(getattr(each, "rate", None) for each in functions)]
    return [each for each in found if isinstance(each, RateLimit)]


async def open_rates(dispatcher: Dispatcher, *more: RateLimit | None) -> "RateSync | None":
    """Share rates with other processes; raise StoreError if the store is not there."""
    limits = shared_rates(dispatcher, *more)
    if not limits:
        return None
    from accord.serve.rate_sync import RateSync  # seldom needed

    rates = RateSync(dispatcher, limits)
    await rates.start()
    return rates
