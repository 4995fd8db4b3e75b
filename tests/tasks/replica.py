"""A server with tasks, served in this process as one of several replicas; its messages are checked."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import jsonschema_rs

from accord import Server
from accord.serve.task_runner import TaskRunner
from stdio_peer import modern_params

EXTENSION = "io.modelcontextprotocol/tasks"
DECLARED: dict[str, Any] = {"extensions": {EXTENSION: {}}, "elicitation": {}}
FINAL = ("completed", "failed", "cancelled")
Message = dict[str, Any]

_TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
_TASK: Message = {
    "type": "object",
    "required": ["resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
    "properties": {
        "resultType": {"const": "complete"},
        "_meta": {},
        "taskId": {"type": "string", "minLength": 43},
        "status": {"enum": ["working", "input_required", *FINAL]},
        "statusMessage": {"type": "string"},
        "createdAt": _TIME,
        "lastUpdatedAt": _TIME,
        "ttlMs": {"type": "integer", "minimum": 1},
        "pollIntervalMs": {"type": "integer", "minimum": 1},
    },
    "additionalProperties": False,
}


def _with(**more: Message) -> Message:
    """The schema of a task with these members, which it must have."""
    return {
        **_TASK,
        "required": [*_TASK["required"], *more],
        "properties": _TASK["properties"] | more,
    }


_RESULT: Message = {"type": "object", "required": ["resultType", "content"]}
_ERROR: Message = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
}
_REQUESTS: Message = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "object", "required": ["method", "params"]},
}
_DETAILED = {
    "working": _TASK,
    "cancelled": _TASK,
    "completed": _with(result=_RESULT),
    "failed": _with(error=_ERROR),
    "input_required": _with(inputRequests=_REQUESTS),
}
_EMPTY = {
    "type": "object",
    "required": ["resultType", "_meta"],
    "properties": {"resultType": {"const": "complete"}, "_meta": {}},
    "additionalProperties": False,
}


def checked_task(task: Message, result_type: str | None = "complete") -> Message:
    """A task as `tasks/get` or a notification has it, if it is right."""
    schema = _DETAILED[task["status"]]
    types = {"resultType": {"const": result_type}}
    if result_type is None:
        required = [each for each in schema["required"] if each != "resultType"]
        schema = {**schema, "required": required}
    else:
        schema = {**schema, "properties": schema["properties"] | types}
    jsonschema_rs.validate(schema, task)
    return task


class Replica:
    """One process of a server, as its clients see it."""

    def __init__(self, server: Server, **settings: Any) -> None:
        self.server = server
        self.app = server.asgi(grace=0.5, **settings)
        self._ids = itertools.count(1)
        self.status = 0
        """Of the last response."""
        self.headers: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._lifespan = self.app.lifespan()
        await self._lifespan.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._lifespan.__aexit__(None, None, None)

    @property
    def runner(self) -> TaskRunner:
        """What runs its tasks."""
        found = self.server.dispatcher.tasks
        assert isinstance(found, TaskRunner)
        return found

    async def die(self) -> None:
        """End like a process that is killed: nothing is stored any more."""
        runner = self.runner
        runner.service.owner = "nobody"
        assert runner._keeper is not None
        runner._keeper.cancel()
        for run in list(runner._runs.values()):
            runner._cancel(run)
        await asyncio.sleep(0.05)
        runner._over.clear()

    async def send(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        capabilities: Message = DECLARED,
        token: str | None = None,
        more: Mapping[str, str] | None = None,
        events: "asyncio.Queue[Message] | None" = None,
    ) -> Message:
        """The reply to a request; the messages of a stream go to `events`."""
        message = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": modern_params(dict(params), capabilities=capabilities),
        }
        name = params.get("taskId") or params.get("name")
        headers = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            **({} if name is None else {"mcp-name": name}),
            **({} if token is None else {"authorization": f"Bearer {token}"}),
            **(more or {}),
        }
        found = await self._exchange(json.dumps(message).encode(), headers, events)
        assert found["id"] == message["id"]
        return found

    async def _exchange(
        self, body: bytes, headers: Mapping[str, str], events: "asyncio.Queue[Message] | None"
    ) -> Message:
        sent: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        parts: list[bytes] = []

        async def receive() -> Message:
            if sent:
                return sent.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
                return
            parts.append(message.get("body", b""))
            if events is not None:
                for line in message.get("body", b"").splitlines():
                    if line.startswith(b"data: {"):
                        events.put_nowait(json.loads(line.removeprefix(b"data: ")))

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
            "client": ("127.0.0.1", 1),
        }
        await self.app(scope, receive, send)
        body = b"".join(parts)
        if self.headers["content-type"].startswith("text/event-stream"):
            lines = [each for each in body.splitlines() if each.startswith(b"data: {")]
            body = lines[-1].removeprefix(b"data: ")
        found: Message = json.loads(body)
        return found

    async def call(self, tool: str, arguments: Message | None = None, **options: Any) -> Message:
        """The result of a call, whatever its type."""
        params = {"name": tool, "arguments": arguments or {}}
        reply = await self.send("tools/call", params, **options)
        assert "result" in reply, reply
        result: Message = reply["result"]
        if result["resultType"] == "task":
            checked_task(result, "task")
        return result

    async def begin(self, tool: str, arguments: Message | None = None, **options: Any) -> str:
        """The id of the task that a call becomes."""
        result = await self.call(tool, arguments, **options)
        assert result["resultType"] == "task", result
        return str(result["taskId"])

    async def get(self, task_id: str, **options: Any) -> Message:
        """The state of a task."""
        reply = await self.send("tasks/get", {"taskId": task_id}, **options)
        return checked_task(reply["result"])

    async def until(self, task_id: str, *statuses: str, **options: Any) -> Message:
        """The state of a task once it has one of these, or any final one."""
        while True:
            task = await self.get(task_id, **options)
            if task["status"] in (statuses or FINAL):
                return task
            assert task["status"] not in FINAL, task
            await asyncio.sleep(0.02)

    async def told(self, task_id: str, **options: Any) -> Message:
        """The state of a task once it has a status message."""
        task = await self.get(task_id, **options)
        while "statusMessage" not in task:
            await asyncio.sleep(0.02)
            task = await self.get(task_id, **options)
        return task

    async def update(self, task_id: str, answers: Message, **options: Any) -> None:
        """Answer questions of a task."""
        params = {"taskId": task_id, "inputResponses": answers}
        reply = await self.send("tasks/update", params, **options)
        jsonschema_rs.validate(_EMPTY, reply["result"])

    async def cancel(self, task_id: str, **options: Any) -> None:
        """Ask a task to end."""
        reply = await self.send("tasks/cancel", {"taskId": task_id}, **options)
        jsonschema_rs.validate(_EMPTY, reply["result"])

    @asynccontextmanager
    async def listening(
        self, *task_ids: str, **options: Any
    ) -> AsyncIterator["asyncio.Queue[Message]"]:
        """A subscription to tasks; gives its messages, the acknowledgement first."""
        events: asyncio.Queue[Message] = asyncio.Queue()
        params = {"notifications": {"taskIds": list(task_ids)}}
        stream = asyncio.create_task(
            self.send("subscriptions/listen", params, events=events, **options)
        )
        try:
            yield events
        finally:
            stream.cancel()
            await asyncio.gather(stream, return_exceptions=True)


def store_name(kind: str, folder: Path, url: str | None = None) -> str:
    """The store of a kind, as `--store` names it."""
    return {"memory": "memory", "sqlite": f"sqlite:{folder / 'tasks.db'}"}.get(kind) or str(url)


def text_of(task: Message) -> str:
    """The text of the result of a task that is completed."""
    assert task["status"] == "completed", task
    return str(task["result"]["content"][0]["text"])
