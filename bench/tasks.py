"""What a store costs: stateless calls, tasks, the memory of open ones, and changes between replicas."""

import json
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import wire
from bench.auth import cost_of
from bench.child import HttpChild
from bench.contenders import accord_command
from bench.http_trial import PATH, Exchange, has_wrk, post, run_wrk
from bench.report import number, table, verdict
from bench.wire import STATELESS, WrongReplyError

ROUNDS = 9
SECONDS = 2
MAX_RATIO = 1.02
MAX_COMMANDS = 6
OPEN_TASKS = 10_000
MAX_MB = 50
MAX_MS = 100
TASKS = 50
CHANGES = 20
EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
BACKGROUND = {"info", "config|resetstat"}

METHOD = """\
*A call*: `add` over HTTP in the 2026 era with `accord serve`, without a store and with `--store redis://…` and a key;
CPU time of the server, the median ratio of {rounds} rounds in which both alternate. Its commands are those of `INFO
commandstats` during {tasks} tasks, and during the calls, above those of as many idle seconds. *Open tasks*: memory of
the process with {open:,} tasks that wait, minus without. *A change*: from the request that makes it at one replica to
the notification at the other, the median of {changes}. Redis is on loopback."""


@contextmanager
def redis() -> Iterator[int]:
    """Run redis-server on a free port; yield that."""
    with socket.socket() as probe, TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        probe.close()
        words = ["--port", str(port), "--save", "", "--dir", folder, "--bind", "127.0.0.1"]
        with subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL) as process:
            try:
                while b"PONG" not in command(port, "PING"):
                    time.sleep(0.02)
                yield port
            finally:
                process.kill()


def command(port: int, *words: str) -> bytes:
    """Return the reply to a command that has a short one."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(" ".join(words).encode() + b"\r\n")
            return connection.recv(1 << 16)
    except OSError:
        return b""


def commands(port: int) -> int:
    """Return the number of commands so far."""
    lines = command(port, "INFO", "commandstats").decode().splitlines()
    found = {
        name.removeprefix("cmdstat_"): int(figures.removeprefix("calls=").partition(",")[0])
        for name, _, figures in (line.partition(":") for line in lines if "cmdstat_" in line)
    }
    return sum(count for name, count in found.items() if name not in BACKGROUND)


@contextmanager
def server(store: str, folder: str) -> Iterator[HttpChild]:
    """Serve with a store, or without one if it is empty."""
    options = ["--store", store, "--key-file", str(Path(folder, "key"))] if store else []
    words = ("bench.servers.task_server:server", "--http", "127.0.0.1:{port}", *options)
    with HttpChild(accord_command(*words), {}, keep_stderr=False) as child:
        child.wait_until_listening()
        yield child


@contextmanager
def served() -> Iterator[tuple[int, HttpChild]]:
    """Serve with a Redis of its own; yield its port and the server."""
    with (
        redis() as port,
        TemporaryDirectory() as folder,
        server(f"redis://127.0.0.1:{port}/0", folder) as child,
    ):
        yield port, child


def request(method: str, params: dict[str, Any], name: str | None = None) -> Exchange:
    """Return a request of a client that has tasks."""
    headers = wire.http_headers(STATELESS, method, name)
    message = json.loads(wire.call(STATELESS, 1, "add"))
    meta = message["params"]["_meta"]
    meta["io.modelcontextprotocol/clientCapabilities"] = EXTENSION
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return Exchange(headers, json.dumps(body).encode(), b"")


def result(child: HttpChild, sent: Exchange) -> Any:
    """Return the result of a request."""
    reply, _ = post(child, sent.headers, sent.body)
    found = json.loads(reply)
    if "result" not in found:
        raise WrongReplyError(reply.decode()[:300])
    return found["result"]


def begin(child: HttpChild, seconds: float) -> str:
    """Return the id of a new task."""
    params = {"name": "wait", "arguments": {"seconds": seconds}}
    return str(result(child, request("tools/call", params, "wait"))["taskId"])


def measure_calls(rounds: int, seconds: int) -> tuple[float, float, float]:
    """Return the CPU µs of a call without a store, the ratio with one, and commands a call."""
    with redis() as port, TemporaryDirectory() as folder, ExitStack() as stack:
        children = [
            stack.enter_context(server(store, folder))
            for store in ("", f"redis://127.0.0.1:{port}/0")
        ]
        sent = wire.http_headers(STATELESS, "tools/call", "add")
        body = wire.call(STATELESS, 1, "add").rstrip()
        calls = [(child, Exchange(sent, body, post(child, sent, body)[0])) for child in children]
        for child, call in calls:
            run_wrk(child, call, 1, str(wire.expected_value("add", 1)))
        begun = commands(port)
        time.sleep(seconds)
        idle = commands(port) - begun
        begun = commands(port)
        count, _ = run_wrk(*calls[1], seconds)
        sent_for_calls = max(0, commands(port) - begun - 2 * idle - 4)
        found = [(cost_of(*calls[0], seconds), cost_of(*calls[1], seconds)) for _ in range(rounds)]
        ratio = statistics.median(with_store / plain for plain, with_store in found)
        return statistics.median(plain for plain, _ in found), ratio, sent_for_calls / count


def measure_tasks() -> float:
    """Return the commands of a task that is created and fetched once."""
    with served() as (port, child):
        begin(child, 0)
        begun, start = commands(port), time.perf_counter()
        for _ in range(TASKS):
            task_id = begin(child, 0)
            time.sleep(0.02)
            found = result(child, request("tasks/get", {"taskId": task_id}, task_id))
            if found["status"] != "completed":
                raise WrongReplyError(str(found))
        counted, seconds = commands(port) - begun, time.perf_counter() - start
        begun = commands(port)
        time.sleep(seconds)
        return max(0.0, counted - (commands(port) - begun)) / TASKS


def measure_memory() -> float:
    """Return the megabytes of the open tasks of a process."""
    with served() as (_, child):
        for _ in range(200):
            begin(child, 0)
        before = child.memory_bytes()
        sent = request("tools/call", {"name": "wait", "arguments": {"seconds": 600}}, "wait")

        def open_some(count: int) -> None:
            connection = HTTPConnection("127.0.0.1", child.port, timeout=60)
            for _ in range(count):
                connection.request("POST", PATH, sent.body, dict(sent.headers))
                reply = json.loads(connection.getresponse().read())
                if reply["result"]["resultType"] != "task":
                    raise WrongReplyError(str(reply))
            connection.close()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(open_some, [OPEN_TASKS // 8] * 8))
        return (child.memory_bytes() - before) / 1e6


def measure_changes() -> float:
    """Return the milliseconds until a change at one replica is told at another."""
    with redis() as port, TemporaryDirectory() as folder, ExitStack() as stack:
        store = f"redis://127.0.0.1:{port}/0"
        one, other = (stack.enter_context(server(store, folder)) for _ in "ab")
        wanted = {"notifications": {"resourceSubscriptions": ["tasks://watched"]}}
        listening = request("subscriptions/listen", wanted)
        connection = HTTPConnection("127.0.0.1", other.port, timeout=30)
        connection.request("POST", PATH, listening.body, dict(listening.headers))
        stream = connection.getresponse()
        require_line(stream, b"acknowledged")
        times = []
        for _ in range(CHANGES):
            begun = time.perf_counter()
            result(one, request("tools/call", {"name": "touch", "arguments": {}}, "touch"))
            require_line(stream, b"resources/updated")
            times.append((time.perf_counter() - begun) * 1000)
        connection.close()
        return statistics.median(times)


def require_line(stream: Any, part: bytes) -> None:
    """Read a stream up to a line."""
    while part not in (line := stream.readline()):
        if not line:
            raise WrongReplyError("the stream has ended")


def tasks_parts(is_quick: bool) -> list[str]:
    """Measure, and return Markdown."""
    if not (shutil.which("redis-server") and has_wrk()):
        return ["## Stores and tasks", "Not measured: that needs redis-server and wrk."]
    rounds, seconds = (3, 1) if is_quick else (ROUNDS, SECONDS)
    cost, ratio, for_a_call = measure_calls(rounds, seconds)
    for_a_task, memory, change = measure_tasks(), measure_memory(), measure_changes()
    lines = [
        ["with Redis as the store", "at most", "measured", ""],
        [
            f"`add` over HTTP ({number(cost)} CPU µs without a store)",
            f"{MAX_RATIO:g}×",
            f"{ratio:.3f}×",
            verdict(ratio, MAX_RATIO),
        ],
        ["Redis commands of such a call", "0.001", f"{for_a_call:.4f}", verdict(for_a_call, 0.001)],
        [
            "Redis commands of a task, created and fetched",
            str(MAX_COMMANDS),
            f"{for_a_task:.1f}",
            verdict(for_a_task, MAX_COMMANDS),
        ],
        [f"{OPEN_TASKS:,} open tasks", f"{MAX_MB} MB", f"{memory:.0f} MB", verdict(memory, MAX_MB)],
        [
            "a change told by another replica",
            f"{MAX_MS} ms",
            f"{change:.0f} ms",
            verdict(change, MAX_MS),
        ],
    ]
    how = METHOD.format(rounds=rounds, tasks=TASKS, open=OPEN_TASKS, changes=CHANGES)
    return ["## Stores and tasks", table(lines), how]


if __name__ == "__main__":
    print("\n\n".join(tasks_parts(is_quick=False)))
