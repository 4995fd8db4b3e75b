"""What workers of an engine call: to run a task of a server, or to finish one on their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from accord.errors import ContractError
from accord.model import task as states
from accord.model.answer import Problem
from accord.serve.lifespan import ensure
from accord.serve.task_run import outcome_of_reply
from accord.serve.task_runner import TaskRunner, call_again, store_of
from accord.serve.tasks import close_tasks, offer_tasks, open_tasks
from accord.server.operation import ToolOperation
from accord.server.tasks import MEMORY
from accord.tasks.service import TaskService

if TYPE_CHECKING:
    from accord.server import Server

_SECONDS = 1.0  # to close the store


async def run_task(server: "Server", task_id: str) -> None:
    """Run a task that was handed to an engine, to its end."""
    dispatcher = server.dispatcher
    offer_tasks(dispatcher)
    runner = dispatcher.tasks
    if not isinstance(runner, TaskRunner):
        raise ContractError(f"server {server.identity.name!r} has no tools with tasks")
    await ensure(server.registry)
    await open_tasks(dispatcher)
    try:
        await runner.run_queued(task_id)
    finally:
        await close_tasks(dispatcher, _SECONDS, waits=False)


async def finish(server: "Server", task_id: str, answer: Any) -> bool:
    """Store the answer of a task; False if it is over, or not known."""
    async with _service(server) as service:
        stored = await service.store.read(task_id)
        if stored is None or stored.task.is_final:
            return False
        tool = server.registry.tools.get(stored.task.tool)
        if tool is None or stored.task.call is None:
            name = stored.task.tool
            raise ContractError(f"the task of {name!r} is not one that was handed to an engine")
        operation = ToolOperation(
            call_again(stored.task), server.dispatcher, is_async=True, tool=tool, warnings=()
        )
        is_failure = isinstance(answer, Problem)
        done = operation.fail(answer) if is_failure else operation.render(answer)
        outcome = outcome_of_reply(done.reply, server.dispatcher.task_settings.max_result_bytes)
        step = partial(states.finished_elsewhere, outcome=outcome)
        ended = await service.change(stored, step)
        await service.store.release(states.QUEUED, [task_id])
        return ended is not None


async def set_status(server: "Server", task_id: str, message: str) -> bool:
    """Set the status message of a task; False if it is over, or not known."""
    async with _service(server) as service:
        stored = await service.store.read(task_id)
        if stored is None or stored.task.is_final:
            return False
        step = partial(states.with_message, message=message, owner=stored.task.owner)
        await service.change(stored, step)
        return True


@asynccontextmanager
async def _service(server: "Server") -> AsyncIterator[TaskService]:
    """Give the tasks of a server, on a connection of their own."""
    settings = server.dispatcher.task_settings
    if settings.store == MEMORY:
        raise ContractError("another process cannot finish tasks that are in memory; give a store")
    service = TaskService(store_of(server.dispatcher), lambda *_: None)
    await service.store.open()
    try:
        yield service
    finally:
        await service.store.close()
