"""Tasks as our own client uses them, in process and over HTTP."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from accord import Client, Context, ContractError, Elicited, MCPError, PeerError, Server
from accord.client import ClientTask, ElicitRequest, TaskStatus
from accord.client.tasks import status_of
from tasks.replica import EXTENSION
from tasks.shop import Shop
from tasks.stores import until

Test = Callable[[Client], Coroutine[Any, Any, None]]


def run(shop: Shop, test: Test, **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), Client(shop.server, **options) as client:
            await test(client)

    asyncio.run(main())


def agree(request: ElicitRequest) -> dict[str, Any]:
    return {"ok": True} if "ok" in str(request.schema) else {"name": "Ada"}


def quick(**settings: Any) -> Shop:
    return Shop(poll=0.05, **settings)


def test_a_call_waits_for_its_task_and_shows_its_states() -> None:
    shop = quick()
    seen: list[TaskStatus] = []

    def on_status(status: TaskStatus) -> None:
        seen.append(status)
        if status.message == "waiting":
            shop.gate.set()

    async def test(client: Client) -> None:
        reading = await client.call_tool("wait", task=True, on_status=on_status)
        assert reading.value == "done"
        assert [(each.status, each.message) for each in seen[-2:]] == [
            ("working", "waiting"),
            ("completed", "waiting"),
        ]
        assert seen[-1].is_final

    run(shop, test)


def test_the_server_decides_and_without_the_word_there_is_no_task() -> None:
    async def test(client: Client) -> None:
        for task in (True, False):
            reading = await client.call_tool("plain", {"a": 1}, task=task)
            assert reading.value == 1
            reading = await client.call_tool("soon", {"seconds": 0.01}, task=task)
            assert reading.value == "slept 0.01"
        reply = await client.call_tool_raw("add", {"a": 1, "b": 2})
        assert reply.result["resultType"] == "complete"
        reply = await client.call_tool_raw("add", {"a": 1, "b": 2}, task=True)
        assert reply.result["resultType"] == "task"
        with pytest.raises(MCPError) as error:
            await client.call_tool("required")
        assert error.value.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        assert (await client.call_tool("required", task=True)).value == "x"

    run(quick(), test)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("confirm", {}, "accept accept"),
        ("both", {}, "Ada True"),
        ("late_question", {}, "accept"),
        ("soon", {"seconds": 0.5, "ask": True}, "slept 0.5 Ada"),
    ],
)
def test_handlers_answer_the_questions_of_a_task(
    tool: str, arguments: dict[str, Any], text: str
) -> None:
    async def test(client: Client) -> None:
        reading = await client.call_tool(tool, arguments, task=True)
        assert reading.value == text

    run(quick(), test, on_elicit=agree)


def test_a_failed_tool_and_a_failed_task_are_told_apart() -> None:
    async def test(client: Client) -> None:
        reading = await client.call_tool("faulty", task=True)
        assert reading.is_failure
        assert "No such thing" in str(reading.response.error)
        with pytest.raises(MCPError, match="sampling"):
            await client.call_tool("sampling", task=True)

    run(quick(), test)


def test_cancelling_the_await_cancels_the_task() -> None:
    shop = quick()

    async def test(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("wait", task=True))
        await until(lambda: shop.runs["wait"] == 1)
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await until(lambda: shop.ended["cancelled"] == 1)

    run(shop, test)


def test_a_task_is_found_again_by_its_id() -> None:
    shop = quick()

    async def test(client: Client) -> None:
        reply = await client.call_tool_raw("wait", task=True)
        task = client.task(reply.result["taskId"])
        assert isinstance(task, ClientTask)
        assert (await task.get()).status == "working"
        shop.gate.set()
        reply = await task.wait()
        assert reply.result["content"][0]["text"] == "done"
        with pytest.raises(MCPError, match="Unknown task"):
            await client.task("unknown").get()

    run(shop, test)


def test_a_task_that_is_cancelled_elsewhere_is_an_error() -> None:
    async def test(client: Client) -> None:
        reply = await client.call_tool_raw("wait", task=True)
        task = client.task(reply.result["taskId"])
        await task.cancel()
        with pytest.raises(PeerError, match="was cancelled"):
            await task.wait()

    run(quick(), test)


def test_a_declined_question_is_an_answer() -> None:
    async def test(client: Client) -> None:
        reading = await client.call_tool("confirm", task=True)
        assert reading.value == "decline decline"

    run(quick(), test, on_elicit=lambda _: Elicited("decline"))


def test_older_revisions_have_no_tasks_that_the_client_uses() -> None:
    async def test(client: Client) -> None:
        assert (await client.call_tool("add", {"a": 1, "b": 2}, task=True)).value == 3
        with pytest.raises(ContractError, match="2025-11-25 has no tasks"):
            client.task("x")

    run(quick(), test, era="handshake")


@pytest.mark.parametrize("raw", [None, [], {}, {"taskId": 1, "status": "working"}, {"taskId": "x"}])
def test_a_task_without_id_or_status_is_an_error(raw: Any) -> None:
    with pytest.raises(PeerError, match="without an id or a status"):
        status_of(raw)


@pytest.mark.parametrize(
    ("wanted", "seconds"), [(None, 1), ("x", 1), (True, 1), (250, 0.25), (0, 0.05), (1e9, 30)]
)
def test_the_poll_interval_of_a_server_is_kept_within_limits(wanted: Any, seconds: float) -> None:
    assert TaskStatus("x", "working", raw={"pollIntervalMs": wanted}).poll_seconds == seconds


def test_a_status_in_an_ordinary_call_is_progress() -> None:
    server = Server("s")

    @server.tool
    async def work(ctx: Context) -> str:
        await ctx.status("reading")
        await ctx.progress(3, 4, "most")
        await ctx.status("writing")
        return "done"

    @server.tool
    def block(ctx: Context) -> str:
        ctx.status("in a thread")
        return "done"

    async def main() -> None:
        told: list[tuple[float, str | None]] = []
        async with Client(server) as client:
            await client.call_tool(
                "work", on_progress=lambda done, _, message: told.append((done, message))
            )
            assert (await client.call_tool("block", on_progress=lambda *_: None)).value == "done"
        assert [message for _, message in told] == ["reading", "most", "writing"]
        assert [done for done, _ in told] == sorted({done for done, _ in told})

    asyncio.run(main())
