"""Tasks on the wire: as extension of 2026-07-28, and in the experimental form of 2025-11-25."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Raw

from accord.errors import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, Reject
from accord.model.task import Asked, Task
from accord.protocol.messages import Id, notification
from accord.protocol.results import SUBSCRIPTION, Result

EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
CAPABILITY: Final[Mapping[str, Any]] = {"extensions": {EXTENSION: {}}}
"""What a client or server declares that has the extension."""
EXPERIMENTAL: Final[Mapping[str, Any]] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
"""The capability `tasks` of a server in 2025-11-25."""
_NOTIFICATION: Final = "notifications/tasks"


def declares_tasks(capabilities: Mapping[str, Any]) -> bool:
    """True if a client has the extension."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(EXTENSION), dict)


def undeclared() -> Reject:
    """Return the error of a request that needs the extension."""
    message = "The client lacks a capability: extensions (io.modelcontextprotocol/tasks)"
    return Reject(MISSING_CLIENT_CAPABILITY, message, {"requiredCapabilities": CAPABILITY})


def unknown_task() -> Reject:
    """Return the error for a task that is not known, has expired, or is another client's."""
    return Reject(INVALID_PARAMS, "Unknown task")


def created(task: Task) -> Result:
    """Return the result of a call that has become a task."""
    return {"resultType": "task", **_summary(task)}


def detailed(task: Task) -> Result:
    """Return the result of `tasks/get`: the task with its result, error or questions."""
    return _summary(task) | _details(task)


def task_notification(subscription: Id, task: Task) -> bytes:
    """Return the notification of a task that has changed."""
    return notification(_NOTIFICATION, {"_meta": {SUBSCRIPTION: subscription}, **detailed(task)})


def _summary(task: Task) -> Result:
    return _times(task) | {"ttlMs": task.ttl_ms, "pollIntervalMs": task.poll_ms}


def _times(task: Task) -> Result:
    found: Result = {"taskId": task.id, "status": task.status}
    if task.message is not None:
        found["statusMessage"] = task.message
    return found | {"createdAt": _date(task.created), "lastUpdatedAt": _date(task.updated)}


def _details(task: Task) -> Result:
    if task.status == "completed":
        return {"result": Raw(task.result)}
    if task.status == "failed":
        return {"error": Raw(task.error)}
    if task.status == "input_required":
        return {"inputRequests": {key: _request(each) for key, each in task.asked.items()}}
    return {}


def _request(asked: Asked) -> Result:
    return {"method": asked.method, "params": Raw(asked.params)}


def _date(milliseconds: int) -> str:
    date = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def experimental(task: Task) -> Result:
    """Return a task as 2025-11-25 has it: one whose tool has failed is `failed`."""
    found = _times(task) | {"ttl": task.ttl_ms, "pollInterval": task.poll_ms}
    if task.status == "completed" and task.is_error:
        found["status"] = "failed"
    return found


def related(task_id: str) -> Result:
    """Return the `_meta` of messages that belong to a task of 2025-11-25."""
    return {RELATED_TASK: {"taskId": task_id}}
