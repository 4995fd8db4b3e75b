"""Tasks over stdio, of a server that is started by its client."""

import asyncio
from pathlib import Path

from accord import Client
from commands import ACCORD, ENVIRONMENT, SAMPLES

COMMAND = f"{ACCORD} serve long_running:server"


def connect(*words: str) -> Client:
    return Client(" ".join([COMMAND, *words]), cwd=SAMPLES, env=ENVIRONMENT)


def test_a_task_is_fetched_while_other_calls_go_on() -> None:
    async def main() -> None:
        async with connect() as client:
            call = asyncio.create_task(client.call_tool("report", {"seconds": 0.3}, task=True))
            assert (await client.call_tool("add", {"a": 1, "b": 2})).value == 3
            assert not call.done()
            assert str((await call).value).startswith("report of")

    asyncio.run(main())


def test_a_task_ends_with_the_client_and_the_next_one_finds_out(tmp_path: Path) -> None:
    words = ["--store", f"sqlite:{tmp_path / 'tasks.db'}", "--grace", "1"]

    async def main() -> None:
        async with connect(*words) as client:
            reply = await client.call_tool_raw("report", {"seconds": 60}, task=True)
            stopped = reply.result["taskId"]
            reply = await client.call_tool_raw("again", {"seconds": 0.5}, task=True)
            restarted = reply.result["taskId"]
        async with connect(*words) as client:
            status = await client.task(stopped).get()
            assert (status.status, status.message) == (
                "failed",
                "The server was stopped before the task was done",
            )
            found = await client.task(restarted).wait()
            assert found.result["content"][0]["text"].startswith("again of")

    asyncio.run(main())
