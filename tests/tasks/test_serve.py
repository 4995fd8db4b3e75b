"""`accord serve --store`: tasks of real processes, which are killed and started again."""

import http.client
import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import pytest

from commands import ACCORD, ENVIRONMENT, SAMPLES
from http_peer import HttpServer
from redis_server import RedisServer, needs_redis
from stdio_peer import modern_params
from tasks.replica import DECLARED, FINAL, Message, checked_task
from tasks.stores import SHARED

_IDS = itertools.count(1)


def serving(*words: str, lease: float = 1.0) -> HttpServer:
    """Start `accord serve` with the sample server."""
    command = [ACCORD, "serve", "long_running:server", "--http", "127.0.0.1:0", "--no-page", *words]
    return HttpServer(command, cwd=SAMPLES, env={**ENVIRONMENT, "LEASE": str(lease)})


def post(
    server: HttpServer,
    method: str,
    params: Message,
    capabilities: Message = DECLARED,
    token: str | None = None,
) -> Any:
    """The reply to a request, on a connection of its own."""
    _, reply, _ = exchange(server, method, params, capabilities, token)
    return reply


def exchange(
    server: HttpServer,
    method: str,
    params: Message,
    capabilities: Message = DECLARED,
    token: str | None = None,
) -> tuple[int, Any, http.client.HTTPMessage]:
    """The status, reply and headers of the response to a request."""
    message = {
        "jsonrpc": "2.0",
        "id": next(_IDS),
        "method": method,
        "params": modern_params(params, capabilities=capabilities),
    }
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    if "taskId" in params or "name" in params:
        headers["mcp-name"] = params.get("taskId") or params["name"]
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.headers
    finally:
        connection.close()


def begin(server: HttpServer, tool: str, **arguments: Any) -> str:
    """The id of the task that a call becomes."""
    reply = post(server, "tools/call", {"name": tool, "arguments": arguments})
    return str(reply["result"]["taskId"])


def get(server: HttpServer, task_id: str) -> Message:
    """The state of a task."""
    return checked_task(post(server, "tasks/get", {"taskId": task_id})["result"])


def end_of(server: HttpServer, task_id: str, seconds: float = 15) -> Message:
    """The state of a task once it is over."""
    until = monotonic() + seconds
    while (task := get(server, task_id))["status"] not in FINAL:
        assert monotonic() < until, task
        sleep(0.05)
    return task


def pid_of(server: HttpServer) -> int:
    """A process that answers calls."""
    reply = post(server, "tools/call", {"name": "pid", "arguments": {}})
    return int(reply["result"]["content"][0]["text"])


@pytest.fixture(params=SHARED)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'tasks.db'}"
        return
    with RedisServer() as server:
        yield server.url


@pytest.mark.parametrize("has_store", [False, True], ids=["their own", "a file"])
def test_workers_share_their_tasks(tmp_path: Path, has_store: bool) -> None:
    words = ["--store", f"sqlite:{tmp_path / 'tasks.db'}"] if has_store else []
    with serving("--workers", "2", *words) as server:
        seen = set[str]()
        until = monotonic() + 20
        while len(seen) < 2 and monotonic() < until:
            task_id = begin(server, "report", seconds=0.1)
            for _ in range(5):
                assert get(server, task_id)["taskId"] == task_id
            seen.add(end_of(server, task_id)["result"]["content"][0]["text"])
        assert len(seen) == 2


def test_a_killed_server_leaves_its_tasks_to_the_next(store: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving("--store", store) as first:
        failed = begin(first, "report", seconds=60, log=str(log))
        restarted = begin(first, "again", seconds=0.5, log=str(log))
        done = begin(first, "report", seconds=0)
        assert end_of(first, done)["status"] == "completed"
        while not log.exists() or len(log.read_text().splitlines()) < 2:
            sleep(0.02)
        os.kill(first.process.pid, signal.SIGKILL)
        first.wait()
    with serving("--store", store) as second:
        assert get(second, done)["status"] == "completed"
        task = end_of(second, failed)
        assert task["status"] == "failed"
        assert task["error"]["code"] == -32603
        task = end_of(second, restarted)
        assert task["result"]["content"][0]["text"] == f"again of {second.process.pid}"
    runs = [line.split()[0] for line in log.read_text().splitlines()]
    assert sorted(runs) == ["again", "again", "report"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_however_often_replicas_are_killed_each_task_ends_once(store: str, tmp_path: Path) -> None:
    tasks: list[tuple[str, Path]] = []
    with ExitStack() as stack:
        replicas = [stack.enter_context(serving("--store", store, lease=0.5)) for _ in range(2)]
        for number in range(50):
            for server in replicas:
                for name in ("report", "again"):
                    log = tmp_path / f"{name}-{len(tasks)}"
                    tasks.append((begin(server, name, seconds=0.3, log=str(log)), log))
            victim = replicas.pop(0)
            os.kill(victim.process.pid, signal.SIGKILL)
            victim.wait()
            replicas.append(stack.enter_context(serving("--store", store, lease=0.5)))
            assert get(replicas[number % 2], tasks[-1][0])
        ends = [require_one_end(replicas, *each) for each in tasks]
    assert {"completed", "failed"} == set(ends)


def require_one_end(replicas: list[HttpServer], task_id: str, log: Path) -> str:
    """The status of a task at its end, which is the same everywhere and fits how often it ran."""
    name, _, _ = log.name.partition("-")
    task = end_of(replicas[0], task_id, 30)
    assert get(replicas[1], task_id) == task
    runs = len(log.read_text().splitlines()) if log.exists() else 0
    if task["status"] == "failed":
        assert "has ended" in task["error"]["message"]
        assert runs <= (1 if name == "report" else 3)
    else:
        assert task["result"]["content"][0]["text"].startswith(name)
        assert runs == 1 or (name == "again" and runs <= 3)
    return str(task["status"])


@needs_redis
def test_calls_without_tasks_send_no_command_however_many_workers() -> None:
    with RedisServer() as redis, serving("--store", redis.url, lease=600) as server:
        post(server, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        redis.command("CONFIG", "RESETSTAT")
        for number in range(300):
            post(server, "tools/call", {"name": "add", "arguments": {"a": number, "b": 2}})
        assert redis.calls() == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--store", "redis://127.0.0.1:1/0"], "the task store redis://127.0.0.1:1/0 cannot be"),
        (["--store", "sqlite:no/such/folder.db"], "the folder of the task store"),
        (["--store", "mongo"], "the store must be memory, sqlite:PATH or redis://HOST:PORT/N"),
    ],
    ids=["no Redis", "no folder", "no store"],
)
@pytest.mark.parametrize(
    "over",
    [["--http", "127.0.0.1:0"], ["--http", "127.0.0.1:0", "--workers", "2"], []],
    ids=["HTTP", "workers", "stdio"],
)
def test_a_store_that_is_away_ends_the_start_with_one_line(
    words: list[str], said: str, over: list[str]
) -> None:
    if "redis" in words[1]:
        pytest.importorskip("redis")
    began = perf_counter()
    done = subprocess.run(
        [ACCORD, "serve", "long_running:server", *over, *words],
        cwd=SAMPLES,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert perf_counter() - began < 20
