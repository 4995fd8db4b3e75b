"""Tasks that a queue's workers run: docket on a real Redis, Celery, and any other."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from accord import Answer, ContractError, Problem, Server
from accord.server.tasks import QueuedTask
from commands import ACCORD, ENVIRONMENT, SAMPLES, Popen
from http_peer import HttpServer
from redis_server import RedisServer, needs_redis
from tasks.replica import FINAL, Replica, text_of
from tasks.stores import SHARED
from tasks.test_serve import begin, end_of, get, post

KEY = b"k" * 32
needs_docket = pytest.mark.skipif(find_spec("docket") is None, reason="pydocket is not installed")


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=SHARED)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'tasks.db'}"
        return
    with RedisServer() as server:
        yield server.url


# docket, in processes of its own


@contextmanager
def worker(redis: RedisServer) -> Iterator["subprocess.Popen[bytes]"]:
    """docket's own worker."""
    command = [sys.executable, "-m", "docket", "worker", "--tasks", "queued:tasks"]
    command += ["--docket", "accord-queued", "--url", redis.url, "--redelivery-timeout", "2s"]
    env = {**ENVIRONMENT, "STORE": redis.url, "PYTHONPATH": str(SAMPLES)}
    with Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        cwd=SAMPLES,
        env=env,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def serving(redis: RedisServer) -> HttpServer:
    """A replica that hands its tasks to docket."""
    command = [ACCORD, "serve", "queued:server", "--http", "127.0.0.1:0", "--no-page"]
    return HttpServer(command, cwd=SAMPLES, env={**ENVIRONMENT, "STORE": redis.url})


def _until(server: HttpServer, task_id: str, condition: Callable[[Any], bool]) -> Any:
    until = monotonic() + 30
    while not condition(task := get(server, task_id)):
        assert task["status"] not in FINAL, task
        assert monotonic() < until, task
        sleep(0.05)
    return task


def _lines(log: Path, count: int) -> list[str]:
    until = monotonic() + 30
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert monotonic() < until, "no worker has begun"
        sleep(0.05)
    return log.read_text().splitlines()


@needs_docket
@needs_redis
@pytest.mark.timeout(120)
def test_docket_runs_tasks_with_status_questions_and_failures(redis: RedisServer) -> None:
    with serving(redis) as server:
        waiting = begin(server, "report", seconds=1.0)
        assert get(server, waiting)["status"] == "working", "it waits for a worker"
        with worker(redis) as process:
            task = _until(server, waiting, lambda task: "statusMessage" in task)
            assert task["statusMessage"] == "reading"
            assert text_of(end_of(server, waiting)) == f"report of {process.pid}"
            counted = end_of(server, begin(server, "blocking", year=2026))
            assert text_of(counted) == f"2026 of {process.pid}"
            failed = end_of(server, begin(server, "faulty"))
            assert failed["result"]["isError"] is True
            asking = begin(server, "greet")
            task = _until(server, asking, lambda task: task["status"] == "input_required")
            (key,) = task["inputRequests"]
            answer = {key: {"action": "accept", "content": {"name": "Ada"}}}
            post(server, "tasks/update", {"taskId": asking, "inputResponses": answer})
            assert text_of(end_of(server, asking)) == "Hello Ada"
            pid = post(server, "tools/call", {"name": "pid", "arguments": {}}, {})
            assert int(pid["result"]["content"][0]["text"]) == server.process.pid


@needs_docket
@needs_redis
@pytest.mark.timeout(120)
def test_a_task_is_cancelled_in_the_queue_and_while_it_runs(
    redis: RedisServer, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with serving(redis) as server:
        queued = begin(server, "report", seconds=60, log=str(log))
        post(server, "tasks/cancel", {"taskId": queued})
        assert get(server, queued)["status"] == "cancelled"
        with worker(redis):
            running = begin(server, "report", seconds=60, log=str(log))
            _lines(log, 1)
            post(server, "tasks/cancel", {"taskId": running})
            assert end_of(server, running)["status"] == "cancelled"
            done = begin(server, "report", seconds=0)
            assert end_of(server, done)["status"] == "completed"
        assert len(_lines(log, 1)) == 1, "what was cancelled in the queue never ran"
        assert get(server, queued)["status"] == "cancelled"


@needs_docket
@needs_redis
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_tasks_of_a_worker_that_ends(
    redis: RedisServer, tmp_path: Path, number: signal.Signals
) -> None:
    log = tmp_path / "log"
    with serving(redis) as server:
        with worker(redis) as process:
            lost = begin(server, "report", seconds=6, log=str(log))
            kept = begin(server, "again", seconds=2, log=str(log))
            _lines(log, 2)
            os.kill(process.pid, number)
            if number == signal.SIGTERM:  # docket lets its tasks finish
                assert end_of(server, kept)["status"] == "completed"
                assert end_of(server, lost)["status"] == "completed"
                return
            task = end_of(server, lost)
            assert task["status"] == "failed"
            assert "has ended" in task["error"]["message"]
            assert get(server, kept)["status"] == "working"
        with worker(redis) as other:
            assert text_of(end_of(server, kept)) == f"again of {other.pid}"
            assert get(server, lost) == task
        assert len(_lines(log, 3)) == 3


@needs_docket
@needs_redis
@pytest.mark.timeout(240)
def test_each_task_ends_once_however_often_workers_are_killed(
    redis: RedisServer, tmp_path: Path
) -> None:
    tasks: list[tuple[str, Path]] = []
    with serving(redis) as server:
        for _ in range(5):
            with worker(redis) as process:
                for name in ("report", "again"):
                    log = tmp_path / f"{name}-{len(tasks)}"
                    tasks.append((begin(server, name, seconds=0.5, log=str(log)), log))
                _lines(tasks[-2][1], 1)
                with suppress(ProcessLookupError):
                    process.kill()
        with worker(redis):
            for task_id, log in tasks:
                task = end_of(server, task_id, 30)
                assert get(server, task_id) == task
                runs = len(log.read_text().splitlines()) if log.exists() else 0
                assert runs <= (1 if log.name.startswith("report") else 3)
                assert task["status"] == "completed" or "has ended" in task["error"]["message"]


def test_an_engine_is_imported_with_the_first_task_only() -> None:
    code = (
        "import sys; from accord import Server; s = Server('a')\n"
        "s.tasks(store='redis://127.0.0.1:1/0', engine='docket')\n"
        "s.asgi(); print('docket' in sys.modules, 'celery' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False False\n"


# Any other queue


def queued_server(store: str, hand_over: Callable[[QueuedTask], object] | None) -> Server:
    """A server as each process has it."""
    server = Server("shop", key=KEY, profile="envelope")
    server.tasks(store=store, engine=hand_over, poll=0.1, lease=1.0)

    @server.tool(task=True)
    async def report(year: int) -> dict[str, int]:
        """Write a report."""
        return {"year": year, "pages": 3}

    @server.tool(task=True, restartable=True)
    async def slow(seconds: float) -> str:
        """Take long."""
        await asyncio.sleep(seconds)
        return "done"

    return server


def test_work_of_another_program_is_finished_once(store: str) -> None:
    taken: list[QueuedTask] = []

    async def main() -> None:
        elsewhere = queued_server(store, None)
        async with Replica(queued_server(store, taken.append)) as replica:
            task_id = await replica.begin("report", {"year": 2026})
            assert [(each.id, each.tool, each.arguments) for each in taken] == [
                (task_id, "report", {"year": 2026})
            ]
            assert await elsewhere.set_status(task_id, "half of it")
            assert (await replica.told(task_id))["statusMessage"] == "half of it"
            ends = await asyncio.gather(
                *(elsewhere.finish(task_id, {"year": 2026, "pages": n}) for n in range(5))
            )
            assert sorted(ends) == [False] * 4 + [True]
            task = await replica.get(task_id)
            envelope = task["result"]["structuredContent"]
            assert envelope["data"] == {"year": 2026, "pages": ends.index(True)}
            assert not await elsewhere.finish(task_id, {"year": 1, "pages": 1})
            assert not await elsewhere.set_status(task_id, "late")
            assert await replica.get(task_id) == task
            failed = await replica.begin("report", {"year": 1})
            assert await elsewhere.finish(failed, Problem.not_found("No such year"))
            assert (await replica.get(failed))["result"]["isError"] is True
            answered = await replica.begin("report", {"year": 2})
            answer = Answer({"year": 2, "pages": 1}, message="short")
            assert await elsewhere.finish(answered, answer)
            assert not await elsewhere.finish("unknown", "x")

    asyncio.run(main())


def test_an_answer_that_is_too_large_is_a_failure(store: str) -> None:
    async def main() -> None:
        elsewhere = queued_server(store, None)
        elsewhere.tasks(max_result_bytes=50)
        async with Replica(queued_server(store, lambda _: None)) as replica:
            task_id = await replica.begin("report", {"year": 2026})
            assert await elsewhere.finish(task_id, {"year": 2026, "pages": 1})
            task = await replica.get(task_id)
            assert task["status"] == "failed"
            assert "at most 50 are stored" in task["error"]["message"]

    asyncio.run(main())


def test_an_answer_that_does_not_fit_is_an_error_of_the_caller(store: str) -> None:
    async def main() -> None:
        server = queued_server(store, lambda _: None)
        async with Replica(server) as replica:
            task_id = await replica.begin("report", {"year": 2026})
            with pytest.raises(ContractError):
                await server.finish(task_id, {"year": "no number"})
            assert (await replica.get(task_id))["status"] == "working"

    asyncio.run(main())


def test_a_client_cancels_what_another_program_works_on(store: str) -> None:
    async def main() -> None:
        server, elsewhere = queued_server(store, lambda _: None), queued_server(store, None)
        async with Replica(server) as replica:
            task_id = await replica.begin("report", {"year": 2026})
            await replica.cancel(task_id)
            assert (await replica.get(task_id))["status"] == "cancelled"
            assert not await elsewhere.set_status(task_id, "working")
            assert not await elsewhere.finish(task_id, {"year": 1, "pages": 1})
            await elsewhere.run_task(task_id)
            assert (await replica.get(task_id))["status"] == "cancelled"

    asyncio.run(main())


def test_a_queue_that_takes_nothing_is_an_error_before_the_task_is_announced(store: str) -> None:
    def broken(task: QueuedTask) -> None:
        raise OSError("the broker is away")

    async def main() -> None:
        async with Replica(queued_server(store, broken)) as replica:
            result = await replica.call("report", {"year": 2026})
            assert result["isError"] is True
            assert "could not be queued" in result["content"][0]["text"]

    asyncio.run(main())


def test_a_worker_that_is_stopped_gives_restartable_tasks_back(store: str) -> None:
    taken: list[QueuedTask] = []

    async def main() -> None:
        elsewhere = queued_server(store, taken.append)
        async with Replica(queued_server(store, taken.append)) as replica:
            task_id = await replica.begin("slow", {"seconds": 30})
            running = asyncio.create_task(elsewhere.run_task(task_id))
            await asyncio.sleep(0.5)
            await elsewhere.run_task("unknown")
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            async with asyncio.timeout(10):
                while len(taken) < 2:  # noqa: ASYNC110 - the lease is told to have ended
                    await asyncio.sleep(0.02)
            assert taken[1].id == task_id
            assert taken[1].attempt > taken[0].attempt
            assert (await replica.get(task_id))["status"] == "working"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "celery", "store": "sqlite:x"}, "must be 'docket' or a function"),
        ({"engine": print}, "an engine needs a store"),
        pytest.param(
            {"engine": "docket", "store": "sqlite:x.db"},
            "needs a store redis://",
            marks=needs_docket,
        ),
    ],
)
def test_misuse_is_an_error_with_the_way_out(settings: dict[str, Any], said: str) -> None:
    async def main() -> None:
        server = Server("shop")
        server.tasks(**settings)

        @server.tool(task=True)
        async def work() -> int:
            return 1

        await server.asgi().start()

    with pytest.raises(ContractError, match=said):
        asyncio.run(main())


# Celery


@needs_redis
def test_celery_runs_tools_and_does_work_of_its_own(redis: RedisServer) -> None:
    celery = pytest.importorskip("celery")
    from celery.contrib.testing.worker import start_worker
    from celery.signals import setup_logging

    setup_logging.connect(lambda **_: None, weak=False)  # else it disables loggers of other tests
    app = celery.Celery("shop", broker="memory://", backend="cache+memory://")
    elsewhere = queued_server(redis.url, None)
    threads = set()

    @app.task(name="run")
    def run(task_id: str) -> None:
        threads.add(threading.get_ident())
        asyncio.run(elsewhere.run_task(task_id))

    @app.task(name="report")
    def report(task_id: str, year: int) -> None:
        asyncio.run(elsewhere.finish(task_id, {"year": year, "pages": 7}))

    def hand_over(task: QueuedTask) -> None:
        if task.tool == "report":
            report.delay(task.id, task.arguments["year"])
        else:
            run.delay(task.id)

    async def main() -> None:
        async with Replica(queued_server(redis.url, hand_over)) as replica:
            ids = [await replica.begin("slow", {"seconds": 0.1}) for _ in range(3)]
            written = await replica.begin("report", {"year": 2026})
            for task_id in ids:
                task = await replica.until(task_id)
                assert task["result"]["structuredContent"]["data"] == {"result": "done"}
            task = await replica.until(written)
            assert task["result"]["structuredContent"]["data"] == {"year": 2026, "pages": 7}

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=20):
        asyncio.run(main())
    assert threads
    assert threading.get_ident() not in threads
