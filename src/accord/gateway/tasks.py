"""Tasks of upstreams: calls that they answer later, which are waited for here.

A caller that can fetch results later gets a task of the gateway itself: see `Tool.task`.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from typing import Any, Final, cast

import msgspec

from accord.client import Reply
from accord.client.tasks import ClientTask, TaskStatus, declaring, task_in
from accord.errors import PeerError
from accord.gateway.calls import ForwardedCall, ask
from accord.gateway.link import Link
from accord.gateway.questions import questions_in
from accord.model.answer import InputRequired
from accord.model.context import Context
from accord.protocol.tasks import EXTENSION
from accord.server.operation import RequestChannel

_STATE: Final = "dev.accord-mcp/task:"
"""Start of the state of a question in a task, before the id of the task."""
_TTL: Final = 3_600_000  # milliseconds for which a task of 2025-11-25 is asked to be kept
_CANCEL_SECONDS: Final = 5.0


def supports_tasks(link: Link | None, entry: Mapping[str, Any]) -> bool:
    """True if calls of a tool may become tasks of its server."""
    if link is None:
        return False
    if link.revision.stateless:
        return declares(link)
    return _support(entry) in ("optional", "required") and _takes_tasks(link)


def declares(link: Link) -> bool:
    """True if an upstream of the stateless era has the extension for tasks."""
    extensions = link.peer.capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(EXTENSION), dict)


def wants_task(link: Link, entry: Mapping[str, Any]) -> bool:
    """True if a tool of 2025-11-25 can be called as a task only."""
    return not link.revision.stateless and _support(entry) == "required" and _takes_tasks(link)


def _support(entry: Mapping[str, Any]) -> Any:
    execution = entry.get("execution")
    return execution.get("taskSupport") if isinstance(execution, dict) else None


def _takes_tasks(link: Link) -> bool:
    return link.revision.tasks and isinstance(link.peer.capabilities.get("tasks"), dict)


async def call_as_task(
    link: Link, call: ForwardedCall, params: Mapping[str, Any], options: Mapping[str, Any]
) -> Reply:
    """Call a tool of 2025-11-25 as a task and return its result; it is cancelled if this is."""
    params = {**params, "task": {"ttl": _TTL}}
    begun = asyncio.ensure_future(link.request(call, "tools/call", params, **options))
    try:
        reply = await asyncio.shield(begun)
    except asyncio.CancelledError:  # only its reply has the id by which it can be cancelled
        link.run(_cancel_begun(link, begun))
        raise
    task_id = _task_id(reply)
    if task_id is None:
        return reply
    try:
        params = {"taskId": task_id}
        return await link.request(call, "tasks/result", params, **{**options, "seconds": inf})
    except asyncio.CancelledError:
        await _cancel(link, task_id, {})
        raise


async def _cancel_begun(link: Link, begun: "asyncio.Future[Reply]") -> None:
    with suppress(PeerError):
        task_id = _task_id(await begun)
        if task_id is not None:
            await _cancel(link, task_id, {})


def _task_id(reply: Reply) -> str | None:
    """Return the id of the task that a call of 2025-11-25 has become."""
    result = reply.result
    task = result.get("task") if isinstance(result, dict) else None
    task_id = task.get("taskId") if isinstance(task, dict) else None
    return task_id if isinstance(task_id, str) else None


async def result_of(
    link: Link, reply: Reply, context: Context[Any], options: Mapping[str, Any]
) -> Reply:
    """Return the result of a call of the stateless era, once the task that it has become is over.

    A caller of the stateless era that has to answer a question comes back with its answers.
    """
    state = task_in(reply)
    return reply if state is None else await _TaskOwner(link, context, options).wait(state.id)


def open_task(state: str | None) -> str | None:
    """Return the id of the task that a caller comes back to."""
    is_task = state is not None and state.startswith(_STATE)
    return state.removeprefix(_STATE) if is_task and state else None


async def resumed(
    link: Link, task_id: str, answers: Any, context: Context[Any], options: Mapping[str, Any]
) -> Reply:
    """Pass the answers of a caller to a task, and return its result."""
    owner = _TaskOwner(link, context, options)
    await ClientTask(owner, task_id).answer(answers)
    return await owner.wait(task_id, frozenset(answers))


async def _cancel(link: Link, task_id: str, meta: Mapping[str, Any]) -> None:
    with suppress(PeerError):
        params: dict[str, Any] = {"taskId": task_id} | ({"_meta": meta} if meta else {})
        await link.peer.request("tasks/cancel", params, within=_CANCEL_SECONDS)


class _TaskOwner:
    """The client of a task: it asks the caller of the call what the task asks."""

    def __init__(self, link: Link, context: Context[Any], options: Mapping[str, Any]) -> None:
        self._link = link
        self._context = context
        self._options = options
        self._task_id = ""
        self._answered: frozenset[str] = frozenset()

    async def wait(self, task_id: str, answered: frozenset[str] = frozenset()) -> Reply:
        """Return the result of a task; it is cancelled if this is."""
        self._task_id, self._answered = task_id, answered
        try:
            return await ClientTask(self, task_id).wait(self._show)
        except asyncio.CancelledError:
            await _cancel(self._link, task_id, self.task_meta())
            raise

    def _show(self, state: TaskStatus) -> None:
        if state.message:
            self._context.channel.status(state.message)

    async def request(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Send a request about the task."""
        headers = self._options.get("headers")
        seconds = self._options["seconds"]
        return await self._link.peer.request(method, params, within=seconds, headers=headers)

    def task_meta(self) -> dict[str, Any]:
        """Return the `_meta` of a request about the task."""
        return declaring(self._options["capabilities"])

    async def answer_questions(self, requests: Any) -> dict[str, Any]:
        """Return the answers of the caller to questions of the task."""
        questions = questions_in({"inputRequests": requests})
        new = {key: each for key, each in questions.items() if key not in self._answered}
        if not new:
            return {}
        context = self._context
        is_task = cast(RequestChannel, context.channel).is_task
        if context.client.revision.stateless and not is_task:
            raise InputRequired(new, f"{_STATE}{self._task_id}")
        answers = await ask(context, new)
        return {key: msgspec.Raw(each) for key, each in answers.items()}
