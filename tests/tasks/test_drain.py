"""Tasks of a process that is stopped: others take them over at once, or they have time to finish."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import pytest

from accord import Server
from redis_server import RedisServer
from tasks.replica import Replica
from tasks.stores import SHARED
from tasks.test_serve import begin, end_of, serving

LONG_LEASE = 600.0


@pytest.fixture(params=SHARED)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'tasks.db'}"
        return
    with RedisServer() as server:
        yield server.url


def _runs(log: Path, count: int) -> list[str]:
    """The lines of a log, once there are so many."""
    until = monotonic() + 15
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert monotonic() < until, "the task does not run"
        sleep(0.02)
    return log.read_text().splitlines()


def test_restartable_tasks_are_taken_over_at_once(store: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        serving("--store", store, lease=LONG_LEASE) as first,
        serving("--store", store, lease=LONG_LEASE) as second,
    ):
        task_ids = [begin(first, "again", seconds=4.0, log=str(log)) for _ in range(5)]
        _runs(log, 5)
        first.process.terminate()
        begun = monotonic()
        _runs(log, 10)
        assert monotonic() - begun < 4, "well before the lease runs out"
        assert first.wait() == 0
        for task_id in task_ids:
            task = end_of(second, task_id)
            assert task["result"]["content"][0]["text"] == f"again of {second.process.pid}"
    assert len(log.read_text().splitlines()) == 10


def test_rolling_restarts_are_no_failures_of_a_task(store: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving("--store", store, lease=LONG_LEASE)) for _ in range(6)
        ]
        task_id = begin(servers[0], "again", seconds=2.0, log=str(log))
        for count in range(1, 6):
            pid = int(_runs(log, count)[-1].split()[1])
            (runner,) = (each for each in servers if each.process.pid == pid)
            runner.process.terminate()
            assert runner.wait() == 0
            servers.remove(runner)
        task = end_of(servers[0], task_id)
        assert task["result"]["content"][0]["text"] == f"again of {servers[0].process.pid}"


def test_other_tasks_have_the_grace_period_and_then_fail(store: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        serving("--store", store) as second,
        serving("--store", store, "--grace", "3") as first,
    ):
        soon = begin(first, "report", seconds=1.5, log=str(log))
        late = begin(first, "report", seconds=60, log=str(log))
        _runs(log, 2)
        pid = first.process.pid
        first.process.terminate()
        begun = monotonic()
        task = end_of(second, soon)
        assert task["result"]["content"][0]["text"] == f"report of {pid}"
        task = end_of(second, late)
        assert 2 < monotonic() - begun < 6
        assert task["status"] == "failed"
        assert task["error"]["code"] == -32603
        assert "stopped before the task was done" in task["error"]["message"]
        assert task["statusMessage"] == task["error"]["message"]
        assert first.wait() == 0
    assert len(log.read_text().splitlines()) == 2, "neither ran again"


def test_a_task_that_its_client_cancels_is_not_taken_over(store: str, tmp_path: Path) -> None:
    def replica() -> Server:
        server = Server("shop", key=b"k" * 32)
        server.tasks(store=store, lease=LONG_LEASE)

        @server.tool(task=True, restartable=True)
        async def stubborn() -> str:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)
                raise
            return "done"

        return server

    async def main() -> None:
        async with Replica(replica()) as second:
            async with Replica(replica()) as first:
                task_id = await first.begin("stubborn")
                await second.cancel(task_id)
                await asyncio.sleep(0.2)
            task = await second.until(task_id)
            assert task["status"] == "cancelled"

    asyncio.run(main())
