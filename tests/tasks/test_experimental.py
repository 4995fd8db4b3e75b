"""The experimental tasks of 2025-11-25, from the same mechanism, checked by MCP's own schema."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from accord import Client, MCPError
from accord.client import ElicitRequest
from accord.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from tasks.replica import Message, store_name
from tasks.shop import Shop
from tasks.stores import until

REVISION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"
_TASK = {
    "type": "object",
    "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttl"],
    "properties": {
        "taskId": {"type": "string"},
        "status": {"enum": ["working", "input_required", "completed", "failed", "cancelled"]},
        "statusMessage": {"type": "string"},
        "createdAt": {"type": "string"},
        "lastUpdatedAt": {"type": "string"},
        "ttl": {"type": "integer"},
        "pollInterval": {"type": "integer"},
    },
    "additionalProperties": False,
}
_DEFINITIONS = {"tasks/get": "GetTaskResult", "tasks/cancel": "CancelTaskResult"}


@pytest.fixture(params=["memory", "sqlite"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    return Shop(store_name(request.param, tmp_path), experimental=True, poll=0.05)


def run(shop: Shop, test: Callable[..., Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), Client(shop.server, revision=REVISION, **options) as client:
            await test(client)

    asyncio.run(main())


async def begin(client: Client, tool: str, arguments: Message | None = None, ttl: Any = 1) -> str:
    """The id of the task that a call is made."""
    params = {"name": tool, "arguments": arguments or {}, "task": {"ttl": ttl}}
    reply = await client.request("tools/call", params)
    assert reply.error is None, reply.error
    assert reply.result.keys() == {"task"}
    check("CreateTaskResult", reply.result)
    jsonschema_rs.validate(_TASK, reply.result["task"])
    return str(reply.result["task"]["taskId"])


def check(definition: str, result: Message) -> None:
    """Hold a result against MCP's schema, where that is at hand."""
    folder = os.environ.get("MCP_SCHEMAS")
    if folder:
        document = json.loads(Path(folder, f"{REVISION}.json").read_bytes())
        jsonschema_rs.validate({**document, "allOf": [{"$ref": f"#/$defs/{definition}"}]}, result)


async def ask(client: Client, method: str, task_id: str) -> Message:
    """The result of a request for a task."""
    reply = await client.request(method, {"taskId": task_id})
    assert reply.error is None, reply.error
    if method in _DEFINITIONS:
        check(_DEFINITIONS[method], reply.result)
        jsonschema_rs.validate(_TASK, reply.result)
    result: Message = reply.result
    return result


async def until_asked(client: Client, task_id: str) -> None:
    """Wait until a task has questions."""
    while (await ask(client, "tasks/get", task_id))["status"] != "input_required":  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_it_is_off_unless_asked_for() -> None:
    async def test(client: Client) -> None:
        assert "tasks" not in client.capabilities
        params = {"name": "add", "arguments": {"a": 1, "b": 2}, "task": {"ttl": 1_000}}
        reply = await client.request("tools/call", params)
        assert reply.result["content"][0]["text"] == "3"
        for method in ("tasks/get", "tasks/cancel", "tasks/result", "tasks/list"):
            reply = await client.request(method, {"taskId": "x"})
            assert reply.error["code"] == METHOD_NOT_FOUND
        tools = {tool.name: tool.raw for tool in await client.list_tools()}
        assert not any("execution" in tool for tool in tools.values())

    run(Shop(), test)


def test_the_server_says_what_it_can_and_which_tools_can(shop: Shop) -> None:
    async def test(client: Client) -> None:
        assert client.capabilities["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}
        assert "extensions" not in client.capabilities
        tools = {tool.name: tool.raw.get("execution") for tool in await client.list_tools()}
        assert tools["add"] == tools["soon"] == {"taskSupport": "optional"}
        assert tools["required"] == {"taskSupport": "required"}
        assert tools["plain"] is None

    run(shop, test)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26", "2024-11-05"])
def test_older_revisions_have_none(shop: Shop, revision: str) -> None:
    async def main() -> None:
        async with Client(shop.server, revision=revision) as client:
            assert "tasks" not in client.capabilities
            reply = await client.request("tasks/get", {"taskId": "x"})
            assert reply.error["code"] == METHOD_NOT_FOUND
            assert (await client.call_tool("add", {"a": 1, "b": 2})).value == 3

    asyncio.run(main())


def test_a_result_is_waited_for_and_names_its_task(shop: Shop) -> None:
    async def test(client: Client) -> None:
        task_id = await begin(client, "wait", ttl=60_000)
        assert (await ask(client, "tasks/get", task_id))["status"] == "working"
        result = asyncio.create_task(ask(client, "tasks/result", task_id))
        await asyncio.sleep(0.1)
        assert not result.done()
        shop.gate.set()
        found = await result
        assert found["content"][0]["text"] == "done"
        assert found["_meta"][RELATED] == {"taskId": task_id}
        task = await ask(client, "tasks/get", task_id)
        assert (task["status"], task["ttl"]) == ("completed", 60_000)

    run(shop, test)


def test_a_call_without_the_param_is_an_ordinary_one(shop: Shop) -> None:
    async def test(client: Client) -> None:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).value == 3

    run(shop, test)


def test_a_failed_tool_is_a_failed_task_with_its_result(shop: Shop) -> None:
    async def test(client: Client) -> None:
        task_id = await begin(client, "faulty", ttl=60_000)
        found = await ask(client, "tasks/result", task_id)
        assert found["isError"] is True
        assert (await ask(client, "tasks/get", task_id))["status"] == "failed"

    run(shop, test)


def test_a_task_is_cancelled_before_the_reply_and_only_once(shop: Shop) -> None:
    async def test(client: Client) -> None:
        task_id = await begin(client, "wait", ttl=60_000)
        await until(lambda: shop.runs["wait"] == 1)
        assert (await ask(client, "tasks/cancel", task_id))["status"] == "cancelled"
        await until(lambda: shop.ended["cancelled"] == 1)
        reply = await client.request("tasks/cancel", {"taskId": task_id})
        assert reply.error["code"] == INVALID_PARAMS
        reply = await client.request("tasks/result", {"taskId": task_id})
        assert reply.error["message"] == "The task was cancelled"

    run(shop, test)


@pytest.mark.parametrize(("tool", "text"), [("confirm", "accept accept"), ("both", "Ada True")])
def test_questions_are_asked_while_the_result_is_waited_for(
    shop: Shop, tool: str, text: str
) -> None:
    asked: list[ElicitRequest] = []

    def answer(request: ElicitRequest) -> Message:
        asked.append(request)
        return {"ok": True} if "ok" in str(request.schema) else {"name": "Ada"}

    async def test(client: Client) -> None:
        task_id = await begin(client, tool, ttl=60_000)
        await until_asked(client, task_id)
        assert asked == []
        found = await ask(client, "tasks/result", task_id)
        assert found["content"][0]["text"] == text
        assert [each.params["_meta"][RELATED] for each in asked] == [{"taskId": task_id}] * 2

    run(shop, test, on_elicit=answer)


def test_wrong_use_is_an_unknown_method(shop: Shop) -> None:
    async def test(client: Client) -> None:
        params = {"name": "plain", "arguments": {"a": 1}, "task": {}}
        reply = await client.request("tools/call", params)
        assert reply.error["code"] == METHOD_NOT_FOUND
        with pytest.raises(MCPError, match="must be called as a task") as error:
            await client.call_tool("required")
        assert error.value.code == METHOD_NOT_FOUND

    run(shop, test)


@pytest.mark.parametrize("task", [7, "x", [], {"ttl": "long"}])
def test_a_malformed_param_is_refused(shop: Shop, task: Any) -> None:
    async def test(client: Client) -> None:
        params = {"name": "add", "arguments": {"a": 1, "b": 2}, "task": task}
        reply = await client.request("tools/call", params)
        assert reply.error["code"] == INVALID_PARAMS

    run(shop, test)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/result"])
def test_an_unknown_task_is_an_invalid_param(shop: Shop, method: str) -> None:
    async def test(client: Client) -> None:
        reply = await client.request(method, {"taskId": "x"})
        assert (reply.error["code"], reply.error["message"]) == (INVALID_PARAMS, "Unknown task")
        reply = await client.request("tasks/list", {})
        assert reply.error["code"] == METHOD_NOT_FOUND

    run(shop, test)


def test_the_time_of_a_task_is_at_most_that_of_the_server() -> None:
    async def test(client: Client) -> None:
        for wanted, given in ((10, 10), (10**9, 3_600_000), (0, 3_600_000), (None, 3_600_000)):
            task_id = await begin(client, "wait", ttl=wanted)
            if wanted != 10:
                assert (await ask(client, "tasks/get", task_id))["ttl"] == given

    run(Shop(experimental=True), test)
