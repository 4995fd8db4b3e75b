"""Tasks of a server: calls whose results are fetched later."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from accord.client.callbacks import call_listener
from accord.client.messages import Reply, mcp_error
from accord.errors import INTERNAL_ERROR, PeerError
from accord.protocol.tasks import EXTENSION

CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_FINAL: Final = frozenset({"completed", "failed", "cancelled"})
_DEFAULT_POLL: Final = 1.0  # seconds
_MIN_POLL: Final = 0.05
_MAX_POLL: Final = 30.0
_MAX_RETRIES: Final = 60  # in a row, while the server says that its store is away
_encode = msgspec.json.Encoder().encode


class TaskStatus(msgspec.Struct, frozen=True):
    """The state of a task: `working`, `input_required`, `completed`, `failed` or `cancelled`."""

    id: str
    status: str
    message: str | None = None
    raw: Mapping[str, Any] = {}
    """The task as the server sent it."""

    @property
    def is_final(self) -> bool:
        """True if the task is over."""
        return self.status in _FINAL

    @property
    def poll_seconds(self) -> float:
        """The seconds that the server wants between two requests for it."""
        wanted = self.raw.get("pollIntervalMs")
        is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
        seconds = wanted / 1000 if is_number and wanted is not None else _DEFAULT_POLL
        return min(max(seconds, _MIN_POLL), _MAX_POLL)


OnStatus = Callable[[TaskStatus], object]
"""A function, async or not, that is given each state of a task that differs from the last."""


class _Asking(Protocol):
    """The client of a task."""

    async def request(self, method: str, params: Mapping[str, Any]) -> Reply: ...
    def task_meta(self) -> dict[str, Any]: ...
    async def answer_questions(self, requests: Any) -> dict[str, Any]: ...


class ClientTask:
    """A task of a server, by its id: `Client.task`, or the reply to a call that became one."""

    def __init__(self, client: _Asking, task_id: str) -> None:
        self.id = task_id
        self._client = client

    async def get(self) -> TaskStatus:
        """Return the state of the task."""
        return status_of(await self._request("tasks/get"))

    async def cancel(self) -> None:
        """Ask the server to cancel the task; a task that has ended does not change."""
        await self._request("tasks/cancel")

    async def answer(self, answers: Mapping[str, Any]) -> None:
        """Send answers to questions of the task, by their keys."""
        await self._request("tasks/update", inputResponses=dict(answers))

    async def wait(self, on_status: OnStatus | None = None) -> Reply:
        """Wait until the task ends, and return the reply that the call would have returned.

        The handlers of the client answer its questions. A task that was cancelled is a PeerError.
        """
        seen: tuple[str, str | None] | None = None
        answered: set[str] = set()
        while True:
            state = await self._get_patiently()
            if on_status is not None and seen != (state.status, state.message):
                seen = (state.status, state.message)
                await call_listener(on_status, state)
            if state.is_final:
                return _reply_of(state)
            if state.status == "input_required":
                await self._answer_new(state, answered)
            await asyncio.sleep(state.poll_seconds)

    async def _answer_new(self, state: TaskStatus, answered: set[str]) -> None:
        requests = state.raw.get("inputRequests")
        if not isinstance(requests, dict):
            return
        new = {key: each for key, each in requests.items() if key not in answered}
        if new:
            await self.answer(await self._client.answer_questions(new))
            answered |= new.keys()

    async def _get_patiently(self) -> TaskStatus:
        """Return the state of the task; wait while the server says that it cannot tell now."""
        for _ in range(_MAX_RETRIES):
            reply = await self._send("tasks/get")
            seconds = _retry_after(reply.error)
            if seconds is None:
                return status_of(_result("tasks/get", reply))
            await asyncio.sleep(seconds)
        raise PeerError("the server cannot tell the state of the task")

    async def _request(self, method: str, **params: Any) -> Any:
        return _result(method, await self._send(method, **params))

    async def _send(self, method: str, **params: Any) -> Reply:
        meta = self._client.task_meta()
        return await self._client.request(method, {"taskId": self.id, **params, "_meta": meta})


def declaring(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a request that may become a task, or is for one."""
    extensions = capabilities.get("extensions")
    known = extensions if isinstance(extensions, dict) else {}
    return {CAPABILITIES: {**capabilities, "extensions": {**known, EXTENSION: {}}}}


def task_in(reply: Reply) -> TaskStatus | None:
    """Return the task that a call has become, if it has."""
    result = reply.result
    is_task = isinstance(result, dict) and result.get("resultType") == "task"
    return status_of(result) if is_task else None


def status_of(result: Any) -> TaskStatus:
    """Read a task; raise PeerError if it is none."""
    found = result if isinstance(result, dict) else {}
    task_id, status, message = (found.get(n) for n in ("taskId", "status", "statusMessage"))
    if not isinstance(task_id, str) or not isinstance(status, str):
        raise PeerError("the server sent a task without an id or a status")
    return TaskStatus(task_id, status, message if isinstance(message, str) else None, found)


def _reply_of(state: TaskStatus) -> Reply:
    """Return the reply that a call would have had."""
    if state.status == "cancelled":
        raise PeerError(f"the task was cancelled: {state.message or 'no reason is given'}")
    member = "result" if state.status == "completed" else "error"
    content = state.raw.get(member)
    if not isinstance(content, dict):
        raise PeerError(f"the server sent a {state.status} task without {member}")
    message = {"jsonrpc": "2.0", "id": 0, member: content}
    return Reply(_encode(message), message)


def _result(method: str, reply: Reply) -> Any:
    if reply.error is not None:
        raise mcp_error(method, reply.error)
    return reply.result


def _retry_after(error: Any) -> float | None:
    """Return the seconds after which to try again, if the error is not the request's."""
    data = error.get("data") if isinstance(error, dict) else None
    seconds = data.get("retryAfter") if isinstance(data, dict) else None
    if not isinstance(seconds, int | float) or error.get("code") != INTERNAL_ERROR:
        return None
    return min(max(seconds, _MIN_POLL), _MAX_POLL)
