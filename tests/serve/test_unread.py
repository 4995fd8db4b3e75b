"""Clients that send calls and do not read the answers: memory stays bounded, and no answer is lost."""

import json
import re
import resource
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

import pytest

from commands import Popen
from processes import children
from serve.talk import ACCORD, SAMPLES, UNWATCHED, calling
from wire import Message

MB = 1_000_000
SIZE = 250_000
STDIO_LIMIT = 250 * MB
HTTP_LIMIT = 200 * MB
QUERY = "SELECT text FROM lines"
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("now", {"size": SIZE}),
    ("in_thread", {"size": SIZE}),
    ("later", {"size": SIZE}),
    ("later", {"size": SIZE, "seconds": 1.5}),
    ("run_query", {"query": QUERY}),
]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "calls", [3_000, pytest.param(20_000, marks=pytest.mark.long)], ids=lambda n: f"{n} calls"
)
@pytest.mark.parametrize(("tool", "arguments"), TOOLS)
def test_unread_answers_are_bounded_and_all_arrive(
    tool: str, arguments: dict[str, Any], calls: int, tmp_path: Path
) -> None:
    with _serving(_target(tool, tmp_path)) as server:
        server.send([calling(n, tool, **arguments) for n in range(calls)])
        server.wait_until_steady()
        ids, failures = server.read_all(calls)
        assert ids == set(range(calls))
        assert failures == []
        assert server.peak < STDIO_LIMIT


def test_a_cancellation_acts_while_answers_are_unread() -> None:
    """Both on a call that runs and on one that waits for its start."""
    with _serving("faulty:large") as server:
        server.send([calling("running", "wait", name="ended")])
        server.send([calling(n, "now", size=SIZE) for n in range(400)])
        server.send([calling("waiting", "start", name="never")])
        server.wait_until_steady()
        cancelled = "notifications/cancelled"
        for call in ("running", "waiting"):
            server.send([{"jsonrpc": "2.0", "method": cancelled, "params": {"requestId": call}}])
        server.send([calling("ended", "started", name="ended")])
        server.send([calling("never", "started", name="never")])
        replies = server.read(402)
        assert _text(replies["ended"]) == "1"
        assert _text(replies["never"]) == "0"


def test_a_ping_is_answered_before_calls_that_wait_to_start() -> None:
    """Only what was ready before it comes first: at most 16 MiB, and what ran meanwhile."""
    with _serving("faulty:large") as server:
        server.send([calling(n, "now", size=SIZE) for n in range(1_000)])
        server.wait_until_steady()
        ping = calling("ping", "now")
        server.send([ping | {"method": "tools/list", "params": {"_meta": ping["params"]["_meta"]}}])
        server.wait_until_steady()
        replies = server.read(1_001)
        assert list(replies).index("ping") < 100


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["start", "in_thread"])
@pytest.mark.parametrize("place", ["arguments", "_meta"])
def test_large_requests_that_are_cancelled_before_they_start_stay_bounded(
    tool: str, place: str
) -> None:
    """200 MB of requests, each taken back at once: the server keeps no more than it can hold."""
    with _serving("faulty:large") as server:
        server.send([calling(n, "now", size=SIZE) for n in range(90)])
        server.wait_until_steady()
        for number in range(200):
            call = calling(f"large {number}", tool)
            call["params"][place]["name"] = "x" * MB
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": call["id"]}}
            server.send([call, {"jsonrpc": "2.0"} | cancelled])
        server.send([calling("last", "started", name="last")])
        server.wait_until_steady()
        assert server.peak < STDIO_LIMIT - 100 * MB
        assert "last" in server.read(91)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("tool", "arguments"), TOOLS)
def test_connections_that_never_read_cost_little_and_their_memory_comes_back(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    """A client that reads is served all the while."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with _serving(_target(tool, tmp_path), "--http", "127.0.0.1:0") as server, ExitStack() as stack:
        port = server.port()
        request = _request(port, tool, arguments)
        assert _post(port, request) > SIZE - 50_000
        before = _memory(server.child.pid)
        for _ in range(1_500):
            _send_unread(port, request * 16, stack)
        assert _post(port, request) > SIZE - 50_000
        sleep(1)
        peak = server.peak
        stack.close()
        server.wait_until(lambda: _memory(server.child.pid) < before + 60 * MB)
        assert peak < HTTP_LIMIT


def test_what_a_client_has_read_of_a_large_answer_no_longer_holds_up_others() -> None:
    """It stops while 12 of 40 MB are left: less than the limit, and more than a socket holds."""
    size, left = 40 * MB, 12 * MB
    with _serving("faulty:large", "--http", "127.0.0.1:0") as server:
        port = server.port()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(_request(port, "later", {"size": size}))
            with slow.makefile("rb") as stream:
                received = len(stream.read(size - left))
                assert _post(port, _request(port, "later", {"size": 10})) > 10
                assert received + len(stream.read(left)) == size


def _target(tool: str, folder: Path) -> str:
    """Return the target that has a tool; for a query, a database with answers of that size."""
    if tool != "run_query":
        return "faulty:large"
    file = folder / "lines.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE lines (text TEXT)")
        rows = [("x" * 1_000,) for _ in range(SIZE // 2_050)]  # text and structure, once each
        database.executemany("INSERT INTO lines VALUES (?)", rows)
    database.close()
    return str(file)


@dataclass
class _Server:
    """A server whose output stays in the pipe until a test reads it."""

    child: "subprocess.Popen[bytes]"
    peak: int = 0
    is_over: bool = False
    _writers: list[threading.Thread] = field(default_factory=list)

    def send(self, messages: list[Message]) -> None:
        """Send behind what was sent before, without waiting for the server to take it."""
        before = self._writers[-1:]
        writer = threading.Thread(target=self._write, args=(messages, before), daemon=True)
        self._writers.append(writer)
        writer.start()

    def _write(self, messages: list[Message], before: list[threading.Thread]) -> None:
        for thread in before:
            thread.join()
        stream = _open(self.child.stdin)
        stream.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        stream.flush()

    def wait_until_steady(self) -> None:
        """Wait until the server neither works nor grows."""
        before, now = -1.0, 0.0
        while now > before:
            sleep(0.5)
            before, now = now, self._cpu_seconds() - 0.02  # what a process takes that is idle

    def wait_until(self, condition: Any) -> None:
        end = monotonic() + 40
        while not condition():
            assert monotonic() < end
            sleep(0.1)

    def read_all(self, count: int) -> tuple[set[int], list[bytes]]:
        """The ids of so many replies, and those that say that they failed."""
        ids, failures = set(), []
        stream = _open(self.child.stdout)
        for _ in range(count):
            line = stream.readline()
            found = re.search(rb'"id":(\d+)', line[:100])
            ids.add(int(found[1]) if found else -1)
            if b'"isError"' in line[-1_000:] or b'"error"' in line[:100]:
                failures.append(line[:1_000])
        return ids, failures

    def read(self, count: int) -> dict[Any, Message]:
        """So many replies, in their order."""
        stream = _open(self.child.stdout)
        replies = [json.loads(stream.readline()) for _ in range(count)]
        return {reply["id"]: reply for reply in replies}

    def port(self) -> int:
        """Return the port, from standard error."""
        stderr = _open(self.child.stderr)
        found = re.search(rb"http://127\.0\.0\.1:(\d+)", stderr.readline())
        assert found
        threading.Thread(target=stderr.read, daemon=True).start()
        return int(found[1])

    def memory(self) -> int:
        """Bytes of the server and its children."""
        return sum(_memory(pid) for pid in _family(self.child.pid))

    def watch(self) -> None:
        while not self.is_over:
            self.peak = max(self.peak, self.memory())
            sleep(0.1)

    def _cpu_seconds(self) -> float:
        return sum(_cpu_seconds(pid) for pid in _family(self.child.pid))


@contextmanager
def _serving(target: str, *options: str) -> Iterator[_Server]:
    pipe = subprocess.PIPE
    command = [ACCORD, "serve", target, "--grace", "0", *options]
    stderr = pipe if options else None
    with Popen(
        command, cwd=SAMPLES, env=UNWATCHED, stdin=pipe, stdout=pipe, stderr=stderr
    ) as child:
        server = _Server(child)
        watcher = threading.Thread(target=server.watch, daemon=True)
        watcher.start()
        try:
            yield server
        finally:
            server.is_over = True
            child.kill()
            watcher.join()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _text(reply: Message) -> str:
    return str(reply["result"]["content"][0]["text"])


def _family(pid: int) -> list[int]:
    """A process and its children."""
    return [pid, *(each for child in children(pid) for each in _family(child))]


def _memory(pid: int) -> int:
    """Bytes in memory, shared ones by their share."""
    try:
        return (
            int(re.findall(r"Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())[0])
            * 1024
        )
    except (OSError, IndexError):
        return 0


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / 100


def _request(port: int, tool: str, arguments: dict[str, Any]) -> bytes:
    body = json.dumps(calling(1, tool, **arguments)).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _send_unread(port: int, requests: bytes, stack: ExitStack) -> None:
    """Send as much as the server takes at once, on a connection with little room for answers."""
    connection = stack.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    connection.send(requests)


def _post(port: int, request: bytes) -> int:
    """The length of the answer to a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as stream:
            assert stream.readline().split()[1] == b"200"
            headers = iter(stream.readline, b"\r\n")
            length = next(int(h.split(b":")[1]) for h in headers if h.startswith(b"content-length"))
            for _ in headers:
                pass
            return len(stream.read(length))
