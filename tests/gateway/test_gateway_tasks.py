"""Tasks of upstreams, of both eras: waited for, or tasks of the gateway for clients that fetch them."""

import asyncio
from typing import Any

import pytest

from commands import ACCORD
from gateway.gateways import HERE, User, client_of, gateway_of, message_of

OLD, NEW = "2025-11-25", "2026-07-28"
TARGET = [ACCORD, "serve", str(HERE / "task_upstream.py")]
pytestmark = pytest.mark.requirement("gateway.12.tasks")


@pytest.mark.parametrize("behind", [OLD, NEW])
@pytest.mark.parametrize("front", [OLD, NEW])
def test_a_task_is_waited_for_by_a_call(behind: str, front: str) -> None:
    async def main() -> None:
        user = User()
        gateway = gateway_of(TARGET, revision=behind)
        async with client_of(gateway.server, front, user) as client:
            assert (await client.call_tool("count", {"to": 3})).value == 3
            failed = await client.call_tool("fail")
            assert failed.is_failure
            assert "No lamp here" in message_of(failed)
            assert (await client.call_tool("ask")).value == "accept: blue"
            assert user.asked == ["Which colour?"]

    asyncio.run(main())


@pytest.mark.parametrize("behind", [OLD, NEW])
@pytest.mark.parametrize("front", [OLD, NEW])
def test_a_call_that_is_cancelled_ends_the_task(behind: str, front: str) -> None:
    async def main() -> None:
        async with client_of(gateway_of(TARGET, revision=behind).server, front) as client:
            call = asyncio.create_task(client.call_tool("wait"))
            async with asyncio.timeout(20):
                while (await client.call_tool("waits")).value != [1, 0]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                call.cancel()
                while (await client.call_tool("waits")).value != [1, 1]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

    asyncio.run(main())


@pytest.mark.parametrize("behind", [OLD, NEW])
def test_a_client_that_fetches_results_gets_a_task(behind: str) -> None:
    async def main() -> None:
        user = User()
        async with client_of(gateway_of(TARGET, revision=behind).server, NEW, user) as client:
            states: list[Any] = []
            made = await client.call_tool_raw("count", {"to": 60}, task=True)
            assert made.result["resultType"] == "task"
            reply = await client.task(made.result["taskId"]).wait(states.append)
            assert reply.result["content"][0]["text"] == "60"
            assert states[-1].status == "completed"

    asyncio.run(main())
