"""Lets a server have tasks while it is served; what runs them is imported with the first."""

from functools import partial

from accord.server.dispatcher import Dispatcher
from accord.server.tasks import TaskBackend


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


async def close_tasks(dispatcher: Dispatcher, seconds: float) -> None:
    """End the tasks that run here within so many seconds, and close the store."""
    dispatcher.task_users -= 1
    if dispatcher.tasks is not None and dispatcher.task_users <= 0:
        await dispatcher.tasks.close(seconds)
