"""Tasks as the extension of 2026-07-28, with every store."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from accord.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
)
from accord.model.caller import Caller, TokenRequest
from redis_server import RedisServer, needs_redis
from tasks.replica import DECLARED, EXTENSION, Message, Replica, checked_task, store_name, text_of
from tasks.shop import Shop
from tasks.stores import KINDS, SHARED, until

YES = {"action": "accept", "content": {"ok": True}}
ADA = {"action": "accept", "content": {"name": "Ada"}}
Make = Callable[..., Shop]
_SLOW = {"soon": {"seconds": 9}, "wait": {}}


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a shop with one of the stores."""
    yield from _makers(request.param, tmp_path)


@pytest.fixture(params=SHARED)
def make_shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes shops that share a store."""
    yield from _makers(request.param, tmp_path)


def _makers(kind: str, folder: Path) -> Iterator[Make]:
    if kind != "redis":
        yield lambda **options: Shop(store_name(kind, folder), **options)
        return
    with RedisServer() as server:
        yield lambda **options: Shop(server.url, **options)


def run(test: Callable[..., Coroutine[Any, Any, None]], *shops: Shop) -> None:
    """Run a test with a replica for each shop."""

    async def main() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(20):
            replicas = [await stack.enter_async_context(Replica(each.server)) for each in shops]
            await test(*replicas)

    asyncio.run(main())


def error_of(reply: Message) -> tuple[int, str]:
    return reply["error"]["code"], reply["error"]["message"]


# Life


@pytest.mark.requirement("mcp.tasks.result")
def test_the_result_of_a_task_is_that_of_the_call(make: Make) -> None:
    async def test(replica: Replica) -> None:
        arguments = {"a": 2, "b": 3}
        direct = await replica.call("add", arguments, capabilities={})
        task_id = await replica.begin("add", arguments)
        task = await replica.until(task_id)
        assert task["status"] == "completed"
        assert task["result"] == direct
        assert task["ttlMs"] == 3_600_000
        assert task["pollIntervalMs"] == 1_000
        assert await replica.get(task_id) == task

    run(test, make())


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_a_task_works_until_it_is_done(make: Make, tool: str) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        result = await replica.call(tool)
        assert result["status"] == "working"
        assert "result" not in await replica.get(result["taskId"])
        shop.gate.set()
        assert text_of(await replica.until(result["taskId"])) == "done"

    run(test, shop)


@pytest.mark.requirement("mcp.tasks.tool-error")
def test_a_failed_tool_completes_with_its_error(make: Make) -> None:
    async def test(replica: Replica) -> None:
        for tool, said in (("faulty", "No such thing"), ("buggy", "Internal error")):
            task = await replica.until(await replica.begin(tool))
            assert task["status"] == "completed"
            assert task["result"]["isError"] is True
            assert said in task["result"]["content"][0]["text"]
            assert "secret" not in str(task)

    run(test, make())


@pytest.mark.requirement("mcp.tasks.protocol-error")
def test_a_protocol_error_is_the_failure_of_a_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task = await replica.until(await replica.begin("sampling"))
        assert task["status"] == "failed"
        assert task["error"]["code"] == MISSING_CLIENT_CAPABILITY
        assert task["statusMessage"] == task["error"]["message"]

    run(test, make())


def test_invalid_arguments_are_told_in_the_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task = await replica.until(await replica.begin("required", {"size": 0}))
        assert task["result"]["isError"] is True
        assert "size" in task["result"]["content"][0]["text"]

    run(test, make())


def test_ids_are_long_and_never_the_same(make: Make) -> None:
    async def test(replica: Replica) -> None:
        ids = [await replica.begin("add", {"a": i, "b": 1}) for i in range(20)]
        assert len(set(ids)) == 20

    run(test, make())


@pytest.mark.requirement("mcp.tasks.ttl", "mcp.tasks.unknown")
def test_a_task_is_gone_after_its_time(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("add", {"a": 1, "b": 1})
        task = await replica.until(task_id)
        assert task["ttlMs"] == 500
        await asyncio.sleep(0.6)
        reply = await replica.send("tasks/get", {"taskId": task_id})
        assert error_of(reply) == (INVALID_PARAMS, "Unknown task")

    run(test, make(ttl=0.5))


def test_a_task_that_takes_longer_than_its_time_is_ended(make: Make) -> None:
    shop = make(ttl=0.3)

    async def test(replica: Replica) -> None:
        await replica.begin("wait")
        await until(lambda: shop.ended["cancelled"] > 0)

    run(test, shop)


def test_too_many_tasks_are_refused(make: Make) -> None:
    shop = make(max_tasks=2)

    async def test(replica: Replica) -> None:
        for _ in range(2):
            await replica.begin("wait")
        result = await replica.call("wait")
        assert result["resultType"] == "complete"
        assert "Too many tasks are open" in result["content"][0]["text"]
        shop.gate.set()

    run(test, shop)


def test_a_caller_has_so_many_open_tasks(make: Make) -> None:
    shop = make(max_tasks_per_caller=2)

    async def test(replica: Replica) -> None:
        begun = [await replica.begin("wait", token="one") for _ in range(2)]
        before = shop.runs["wait"]
        for tool, arguments in (("wait", {}), ("soon", {"seconds": 9}), ("again", {})):
            refused = await replica.call(tool, arguments, token="one")
            assert refused["resultType"] == "complete"
            assert "You have 2 open tasks" in refused["content"][0]["text"]
            assert "RATE_LIMITED" in str(refused)
        assert (await replica.call("wait", token="two"))["resultType"] == "task"
        plain = await replica.call("plain", {"a": 1}, token="one")
        assert plain["content"][0]["text"] == "1"
        assert shop.runs["again"] == 0
        assert shop.runs["wait"] <= before + 1
        await replica.send("tasks/cancel", {"taskId": begun[0]}, token="one")
        await until(lambda: len(replica.runner._runs) == 2)
        assert (await replica.call("wait", token="one"))["resultType"] == "task"
        shop.gate.set()
        await until(lambda: not replica.runner._runs)
        assert (await replica.call("wait", token="one"))["resultType"] == "task"

    run(test, shop)


def test_calls_at_once_leave_no_caller_more_tasks(make: Make) -> None:
    shop = make(max_tasks_per_caller=3, max_tasks=5)

    async def test(replica: Replica) -> None:
        for token, room in (("one", 3), ("two", 2)):
            calls = [replica.call(each, a, token=token) for each, a in _SLOW.items()]
            calls += [replica.call("wait", token=token) for _ in range(6)]
            found = await asyncio.gather(*calls)
            assert [each["resultType"] for each in found].count("task") == room
        shop.gate.set()

    run(test, shop)


def test_a_result_that_is_too_large_is_a_failure_that_says_so(make: Make) -> None:
    async def test(replica: Replica) -> None:
        small = await replica.until(await replica.begin("long", {"size": 100}))
        assert small["status"] == "completed"
        large = await replica.until(await replica.begin("long", {"size": 5_000}))
        assert large["status"] == "failed"
        assert large["error"]["code"] == INTERNAL_ERROR
        assert "at most 2,000 are stored for a task" in large["error"]["message"]
        assert large["statusMessage"] == large["error"]["message"]

    run(test, make(max_result_bytes=2_000))


# Who gets one


@pytest.mark.requirement("mcp.tasks.undeclared")
def test_a_client_without_the_extension_waits_for_the_result(make: Make) -> None:
    async def test(replica: Replica) -> None:
        undeclared: list[Message] = [{}, {"extensions": {}}, {"extensions": {EXTENSION: None}}]
        for capabilities in undeclared:
            result = await replica.call("add", {"a": 1, "b": 2}, capabilities=capabilities)
            assert result["resultType"] == "complete"
            assert "taskId" not in result

    run(test, make())


@pytest.mark.requirement("mcp.tasks.required")
def test_a_tool_that_requires_tasks_refuses_other_clients(make: Make) -> None:
    async def test(replica: Replica) -> None:
        params = {"name": "required", "arguments": {}}
        reply = await replica.send("tools/call", params, capabilities={})
        assert replica.status == 400
        assert reply["error"]["code"] == MISSING_CLIENT_CAPABILITY
        assert reply["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}

    run(test, make())


@pytest.mark.requirement("mcp.tasks.legacy-param")
def test_a_tool_without_tasks_never_becomes_one(make: Make) -> None:
    async def test(replica: Replica) -> None:
        params = {"name": "plain", "arguments": {"a": 1}, "task": {"ttl": 1_000}}
        reply = await replica.send("tools/call", params)
        assert reply["result"]["resultType"] == "complete"
        assert replica.runner._runs == {}

    run(test, make())


@pytest.mark.requirement("mcp.tasks.methods", "mcp.tasks.headers")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_requests_for_tasks_need_the_extension(make: Make, method: str) -> None:
    params: Message = {"taskId": "x"}
    if method == "tasks/update":
        params["inputResponses"] = {}

    async def test(replica: Replica) -> None:
        reply = await replica.send(method, params, capabilities={})
        assert replica.status == 400
        assert reply["error"]["code"] == MISSING_CLIENT_CAPABILITY
        assert reply["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        reply = await replica.send(method, params)
        assert error_of(reply) == (INVALID_PARAMS, "Unknown task")
        reply = await replica.send(method, params, more={"mcp-name": "y"})
        assert reply["error"]["code"] == HEADER_MISMATCH

    run(test, make())


@pytest.mark.requirement("mcp.tasks.removed")
@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
def test_what_the_extension_has_dropped_is_unknown(make: Make, method: str) -> None:
    async def test(replica: Replica) -> None:
        reply = await replica.send(method, {"taskId": "x"})
        assert replica.status == 404
        assert reply["error"]["code"] == METHOD_NOT_FOUND

    run(test, make())


@pytest.mark.requirement("mcp.tasks.advertised")
def test_the_extension_is_offered_if_a_tool_wants_it(make: Make) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        reply = await replica.send("server/discover", {})
        assert reply["result"]["capabilities"]["extensions"] == {EXTENSION: {}}
        assert "tasks" not in reply["result"]["capabilities"]
        for tool in list(shop.server.tools.values()):
            if tool.task:
                shop.server.remove(tool)
        reply = await replica.send("server/discover", {})
        assert "extensions" not in reply["result"]["capabilities"]
        reply = await replica.send("tasks/get", {"taskId": "x"})
        assert reply["error"]["code"] == METHOD_NOT_FOUND

    run(test, shop)


@pytest.mark.requirement("mcp.tasks.owner")
def test_a_task_of_another_caller_is_as_if_there_were_none(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("confirm", token="ada")
        await replica.until(task_id, "input_required", token="ada")
        for token in ("bob", None):
            for method, more in (
                ("tasks/get", {}),
                ("tasks/cancel", {}),
                ("tasks/update", {"inputResponses": {"elicit.1": YES}}),
            ):
                reply = await replica.send(method, {"taskId": task_id, **more}, token=token)
                unknown = await replica.send(method, {"taskId": "x", **more}, token=token)
                assert reply["error"] == unknown["error"]
        async with replica.listening(task_id, token="bob") as events:
            acknowledged = await events.get()
            assert acknowledged["params"]["notifications"] == {}
        assert (await replica.get(task_id, token="ada"))["status"] == "input_required"

    run(test, make())


class Names:
    """Tokens are `NAME-NUMBER`; the name is the caller."""

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        return Caller(issuer="https://issuer.test", subject=token.partition("-")[0])


def test_a_task_belongs_to_the_verified_caller_whatever_the_token(make_shared: Make) -> None:
    shop = make_shared()

    async def main() -> None:
        async with asyncio.timeout(20):
            async with Replica(shop.server, auth=Names()) as replica:
                task_id = await replica.begin("again", token="ada-1")
                assert (await replica.get(task_id, token="ada-2"))["status"] == "working"
                reply = await replica.send("tasks/get", {"taskId": task_id}, token="bob-1")
                assert error_of(reply) == (INVALID_PARAMS, "Unknown task")
            other = make_shared(like=shop)
            async with Replica(other.server, auth=Names()) as replica:
                shop.gate.set()
                task = await replica.until(task_id, token="ada-3")
                assert text_of(task).startswith("run ")
                assert "127.0.0.1" not in text_of(task)  # the key of the caller is another digest

    asyncio.run(main())


# Status


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_a_status_is_the_message_of_the_task(make: Make, tool: str) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        task_id = await replica.begin(tool)
        task = await replica.told(task_id)
        assert task["statusMessage"] == ("waiting" if tool == "wait" else "in a thread")
        assert task["lastUpdatedAt"] >= task["createdAt"]
        shop.gate.set()

    run(test, shop)


def test_progress_and_logs_are_the_message_of_the_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("steps")
        seen: dict[str, None] = {}
        while (task := await replica.get(task_id))["status"] == "working":
            seen[task.get("statusMessage", "")] = None
            await asyncio.sleep(0.02)
        assert [*filter(None, seen)] == ["12 of 40: reading", "writing", '{"rows":40}']

    run(test, make())


def test_a_long_status_is_cut(make: Make) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        task_id = await replica.begin("wait", {"status": "é" * 9_000})
        task = await replica.told(task_id)
        assert task["statusMessage"] == "é" * 499 + "…"
        shop.gate.set()

    run(test, shop)


# Questions


@pytest.mark.requirement("mcp.tasks.keys")
def test_a_question_waits_for_its_answer_and_its_key_is_not_used_again(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("confirm")
        keys = []
        for message in ("Sure?", "Really?"):
            task = await replica.until(task_id, "input_required")
            ((key, request),) = task["inputRequests"].items()
            assert request["method"] == "elicitation/create"
            assert request["params"]["message"] == message
            keys.append(key)
            await replica.update(task_id, {"other": YES, **dict.fromkeys(keys, YES)})
        assert len(set(keys)) == 2
        assert text_of(await replica.until(task_id)) == "accept accept"

    run(test, make())


@pytest.mark.requirement("mcp.tasks.partial")
def test_questions_are_answered_one_at_a_time(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("both")
        task = await replica.until(task_id, "input_required")
        name, sure = task["inputRequests"]
        await replica.update(task_id, {name: ADA})
        task = await replica.get(task_id)
        assert task["status"] == "input_required"
        assert [*task["inputRequests"]] == [sure]
        await replica.update(task_id, {name: {"action": "decline"}})
        await replica.update(task_id, {})
        await replica.update(task_id, {sure: YES})
        assert text_of(await replica.until(task_id)) == "Ada True"

    run(test, make())


def test_an_answer_that_does_not_fit_fails_the_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("confirm")
        task = await replica.until(task_id, "input_required")
        await replica.update(task_id, dict.fromkeys(task["inputRequests"], 7))
        task = await replica.until(task_id)
        assert task["status"] == "failed"
        assert task["error"]["code"] == INVALID_PARAMS

    run(test, make())


@pytest.mark.parametrize("responses", [None, [], 7, "x"])
def test_answers_that_are_no_object_are_refused(make: Make, responses: Any) -> None:
    async def test(replica: Replica) -> None:
        params = {"taskId": "x", "inputResponses": responses}
        reply = await replica.send("tasks/update", params)
        assert reply["error"]["code"] == INVALID_PARAMS
        assert "Unknown task" not in reply["error"]["message"]

    run(test, make())


# Cancelling


@pytest.mark.requirement("mcp.tasks.final")
def test_a_cancelled_task_ends_and_stays_cancelled(make: Make) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        task_id = await replica.begin("wait")
        await replica.until(task_id, "working")
        await until(lambda: shop.runs["wait"] > 0)
        await replica.cancel(task_id)
        task = await replica.until(task_id)
        assert task["status"] == "cancelled"
        assert shop.ended["cancelled"] == 1
        await replica.cancel(task_id)
        shop.gate.set()
        await asyncio.sleep(0.05)
        assert await replica.get(task_id) == task

    run(test, shop)


def test_a_task_that_asks_can_be_cancelled(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("confirm")
        await replica.until(task_id, "input_required")
        await replica.cancel(task_id)
        assert (await replica.until(task_id, "cancelled"))["status"] == "cancelled"

    run(test, make())


def test_a_task_in_a_thread_is_over_once_it_is_cancelled(make: Make) -> None:
    shop = make()

    async def test(replica: Replica) -> None:
        task_id = await replica.begin("block")
        await until(lambda: shop.runs["block"] > 0)
        await replica.cancel(task_id)
        assert (await replica.until(task_id))["status"] == "cancelled"
        shop.gate.set()

    run(test, shop)


def test_finishing_and_cancelling_at_once_has_one_winner(make: Make) -> None:
    async def test(replica: Replica) -> None:
        for _ in range(20):
            task_id = await replica.begin("add", {"a": 1, "b": 2})
            await replica.cancel(task_id)
            task = await replica.until(task_id)
            await asyncio.sleep(0)
            assert await replica.get(task_id) == task

    run(test, make())


# Auto


def test_an_answer_that_is_ready_soon_is_given_at_once(make: Make) -> None:
    async def test(replica: Replica) -> None:
        result = await replica.call("soon", {"seconds": 0.01})
        assert result["content"][0]["text"] == "slept 0.01"
        assert replica.runner._runs == {}

    run(test, make())


def test_a_call_that_takes_longer_becomes_a_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        began = perf_counter()
        result = await replica.call("soon", {"seconds": 0.6})
        assert result["resultType"] == "task"
        assert perf_counter() - began < 0.55
        assert text_of(await replica.until(result["taskId"])) == "slept 0.6"

    run(test, make())


def test_questions_before_the_task_are_asked_in_rounds(make: Make) -> None:
    async def test(replica: Replica) -> None:
        arguments = {"seconds": 0.6, "ask": True}
        first = await replica.call("soon", arguments)
        assert first["resultType"] == "input_required"
        assert "taskId" not in first
        (key,) = first["inputRequests"]
        params = {
            "name": "soon",
            "arguments": arguments,
            "inputResponses": {key: ADA},
            "requestState": first["requestState"],
        }
        second = (await replica.send("tools/call", params))["result"]
        assert checked_task(second, "task")["status"] == "working"
        assert text_of(await replica.until(second["taskId"])) == "slept 0.6 Ada"

    run(test, make())


def test_questions_after_that_are_asked_in_the_task(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("late_question")
        task = await replica.until(task_id, "input_required")
        await replica.update(task_id, dict.fromkeys(task["inputRequests"], YES))
        assert text_of(await replica.until(task_id)) == "accept"

    run(test, make())


# Several replicas


@pytest.mark.requirement("mcp.tasks.durable")
def test_a_task_is_known_to_every_replica_at_once(make_shared: Make) -> None:
    shop = make_shared()

    async def test(one: Replica, two: Replica) -> None:
        for _ in range(10):
            task_id = await one.begin("wait")
            assert (await two.get(task_id))["status"] == "working"
        shop.gate.set()
        assert text_of(await two.until(task_id)) == "done"

    run(test, shop, make_shared(like=shop))


def test_another_replica_answers_and_cancels(make_shared: Make) -> None:
    async def test(one: Replica, two: Replica) -> None:
        asking, cancelled = await one.begin("both"), await one.begin("wait")
        task = await two.until(asking, "input_required")
        for key, answer in zip(task["inputRequests"], (ADA, YES), strict=True):
            await two.update(asking, {key: answer})
        assert text_of(await two.until(asking)) == "Ada True"
        await two.cancel(cancelled)
        assert (await one.until(cancelled))["status"] == "cancelled"

    shop = make_shared()
    run(test, shop, make_shared(like=shop))


def test_a_task_of_a_dead_process_fails_and_says_so(make_shared: Make) -> None:
    shop = make_shared()

    async def test(one: Replica, two: Replica) -> None:
        task_id = await one.begin("wait")
        await until(lambda: shop.runs["wait"] > 0)
        await one.die()
        task = await two.until(task_id)
        assert task["status"] == "failed"
        assert task["error"]["code"] == -32603
        assert "has ended" in task["error"]["message"]
        shop.gate.set()
        assert shop.runs["wait"] == 1
        assert await two.get(task_id) == task

    run(test, shop, make_shared(like=shop))


def test_a_restartable_task_runs_again_elsewhere(make_shared: Make) -> None:
    shop = make_shared()

    async def test(one: Replica, two: Replica) -> None:
        task_id = await one.begin("again", {"ask": True})
        task = await two.until(task_id, "input_required")
        await two.update(task_id, dict.fromkeys(task["inputRequests"], ADA))
        await two.until(task_id, "working")
        await asyncio.sleep(0.1)
        await one.die()
        await until(lambda: shop.runs["again"] == 2)
        assert (await two.get(task_id))["status"] == "working"  # it does not ask again
        shop.gate.set()
        assert text_of(await two.until(task_id)) == "run 2 for Ada by 127.0.0.1"

    run(test, shop, make_shared(like=shop))


def test_tasks_end_with_a_server_that_stops_unless_they_may_run_again(make_shared: Make) -> None:
    shop = make_shared()

    async def first(replica: Replica) -> None:
        ids.append(await replica.begin("wait"))
        ids.append(await replica.begin("again"))
        await until(lambda: shop.runs.total() == 2)

    async def second(replica: Replica) -> None:
        task = await replica.get(ids[0])
        assert task["status"] == "failed"
        assert task["statusMessage"] == "The server was stopped before the task was done"
        shop.gate.set()
        assert text_of(await replica.until(ids[1])).startswith("run 2")
        assert shop.runs["wait"] == 1

    ids: list[str] = []
    run(first, shop)
    run(second, make_shared(like=shop))


# Subscriptions


@pytest.mark.requirement("mcp.tasks.notification")
def test_a_subscription_has_the_present_state_then_each_other_one(make: Make) -> None:
    async def test(replica: Replica) -> None:
        task_id = await replica.begin("confirm")
        await replica.until(task_id, "input_required")
        async with replica.listening(task_id, "unknown") as events:
            acknowledged = await events.get()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == {"taskIds": [task_id]}
            subscription = acknowledged["params"]["_meta"]
            statuses = []
            while "completed" not in statuses:
                event = await events.get()
                assert event["method"] == "notifications/tasks"
                task = checked_task(event["params"], None)
                assert task["_meta"] == subscription
                assert task["taskId"] == task_id
                statuses.append(task["status"])
                if task["status"] == "input_required":
                    await replica.update(task_id, dict.fromkeys(task["inputRequests"], YES))
            assert statuses[0] == "input_required"
            assert text_of(task) == "accept accept"

    run(test, make())


def test_a_change_on_one_replica_is_told_on_the_other_at_once(make_shared: Make) -> None:
    shop = make_shared()

    async def test(one: Replica, two: Replica) -> None:
        task_id = await one.begin("wait")
        async with two.listening(task_id) as events:
            for _ in range(2):
                await events.get()
            await asyncio.sleep(0.1)
            while not events.empty():
                events.get_nowait()
            shop.gate.set()
            began = perf_counter()
            while (await events.get())["params"]["status"] != "completed":
                pass
            assert perf_counter() - began < 0.5  # 0.1 on a machine that is not busy

    run(test, shop, make_shared(like=shop))


@pytest.mark.requirement("mcp.tasks.subscription-declared")
def test_a_subscription_to_tasks_needs_the_extension(make: Make) -> None:
    async def test(replica: Replica) -> None:
        params = {"notifications": {"taskIds": ["x"]}}
        reply = await replica.send("subscriptions/listen", params, capabilities={})
        assert reply["error"]["code"] == MISSING_CLIENT_CAPABILITY

    run(test, make())


# Faults of the store


@needs_redis
class TestStoreAway:
    """Redis is stopped, or not there."""

    def test_tasks_are_refused_in_time_and_other_calls_go_on(self) -> None:
        with RedisServer() as server:
            shop = Shop(server.url)

            async def test(replica: Replica) -> None:
                task_id = await replica.begin("add", {"a": 1, "b": 2})
                await replica.until(task_id)
                server.stop()
                for method, params in (
                    ("tools/call", {"name": "wait", "arguments": {}}),
                    ("tasks/get", {"taskId": task_id}),
                    ("tasks/cancel", {"taskId": task_id}),
                    ("subscriptions/listen", {"notifications": {"taskIds": [task_id]}}),
                ):
                    began = perf_counter()
                    reply = await replica.send(method, params)
                    assert perf_counter() - began < 1.5
                    assert replica.status == 503
                    assert replica.headers["retry-after"] == "1"
                    assert error_of(reply) == (
                        -32603,
                        "Tasks are not available now; try again later",
                    )
                assert shop.runs["wait"] == 0
                result = await replica.call("plain", {"a": 7})
                assert result["content"][0]["text"] == "7"
                result = await replica.call("soon", {"seconds": 0.4})
                assert result["content"][0]["text"] == "slept 0.4"
                server.start()
                task_id = await replica.begin("add", {"a": 1, "b": 2})
                assert text_of(await replica.until(task_id)) == "3"

            run(test, shop)

    def test_a_result_is_stored_once_the_store_is_back(self) -> None:
        import os
        import signal

        with RedisServer() as server:
            shop = Shop(server.url, lease=5.0)

            async def test(replica: Replica) -> None:
                task_id = await replica.begin("wait")
                await replica.get(task_id)
                os.kill(server.pid, signal.SIGSTOP)
                shop.gate.set()
                await asyncio.sleep(1.2)
                os.kill(server.pid, signal.SIGCONT)
                assert text_of(await replica.until(task_id)) == "done"
                assert shop.runs["wait"] == 1

            run(test, shop)

    def test_a_flushed_store_answers_nothing_wrong(self) -> None:
        with RedisServer() as server:
            shop = Shop(server.url)

            async def test(replica: Replica) -> None:
                task_id = await replica.begin("wait")
                server.command("FLUSHALL")
                shop.gate.set()
                await asyncio.sleep(0.5)
                reply = await replica.send("tasks/get", {"taskId": task_id})
                assert error_of(reply) == (INVALID_PARAMS, "Unknown task")
                assert replica.runner._runs == {}
                task_id = await replica.begin("add", {"a": 1, "b": 2})
                assert text_of(await replica.until(task_id)) == "3"

            run(test, shop)

    def test_a_call_without_tasks_needs_no_command(self) -> None:
        with RedisServer() as server:
            shop = Shop(server.url, lease=60.0)

            async def test(replica: Replica) -> None:
                server.command("CONFIG", "RESETSTAT")
                for number in range(200):
                    await replica.call("plain", {"a": number})
                assert server.calls() == {}

            run(test, shop)

    def test_a_task_costs_six_commands(self) -> None:
        with RedisServer() as server:
            shop = Shop(server.url, lease=60.0)

            async def test(replica: Replica) -> None:
                await replica.until(await replica.begin("add", {"a": 1, "b": 2}))
                server.command("CONFIG", "RESETSTAT")
                task_id = await replica.begin("add", {"a": 1, "b": 2})
                await asyncio.sleep(0.2)
                assert text_of(await replica.get(task_id)) == "3"
                calls = server.calls()
                calls.pop("client|setinfo", None)
                calls.pop("hello", None)
                assert sum(calls.values()) <= 6, calls

            run(test, shop)


def test_declares_the_extension_as_the_specification_says() -> None:
    assert DECLARED["extensions"] == {"io.modelcontextprotocol/tasks": {}}
