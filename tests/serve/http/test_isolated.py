"""Large replies to `POST /read` are read in a child process that can be ended."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from accord import Server
from accord.serve.http import read_endpoint
from accord.serve.isolated import IN_PLACE, MAX_WAITING
from http_peer import HttpServer
from processes import children, is_gone
from serve.http.talk import eventually, limited

LARGE = IN_PLACE + 1
ROWS = [{"id": n, "name": f"row {n}"} for n in range(2_000)]
RESULT = {"content": [{"type": "text", "text": json.dumps({"rows": ROWS})}]}
BODY = json.dumps({"reply": RESULT, "tool": "list_rows"}).encode()
SLOW = b"[" + b"{}," * 1_300_000 + b"1]"
"""Takes a second or more to read."""


class Answer:
    """A status, and the decoded body."""

    def __init__(self, status: int, raw: bytes) -> None:
        self.status = status
        self.raw = raw

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def finding(self) -> str:
        assert self.status == 200, self.raw
        return str(self.body["findings"][0])


def send(server: HttpServer, body: bytes) -> HTTPConnection:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=50)
    connection.request("POST", "/read", body, {"content-type": "application/json"})
    return connection


def answer_on(connection: HTTPConnection) -> Answer:
    response = connection.getresponse()
    raw = response.read()
    connection.close()
    return Answer(response.status, raw)


def post(server: HttpServer, body: bytes) -> Answer:
    return answer_on(send(server, body))


def health(server: HttpServer) -> int:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status


def child_of(server: HttpServer) -> int:
    """Return the only child of a server, once those that were ended are gone."""
    assert eventually(lambda: len(living_children(server)) == 1)
    return living_children(server)[0]


def living_children(server: HttpServer) -> list[int]:
    return [pid for pid in children(server.process.pid) if not is_gone(pid)]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does nothing meanwhile: to its parent, one whose work does not end."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with limited(reader=True) as running:
        yield running
    assert "Traceback" not in running.stderr


@contextmanager
def reading_server(**settings: Any) -> Iterator[HttpServer]:
    """A server that has its child already."""
    with limited(reader=True, **settings) as running:
        assert post(running, BODY).status == 200
        yield running
    assert "Traceback" not in running.stderr


# What is read is the same in either process

LONG = "x" * LARGE
REPLIES: dict[str, bytes] = {
    "a result": BODY,
    "a bare result": json.dumps(RESULT).encode(),
    "a message": json.dumps({"jsonrpc": "2.0", "id": 1, "result": RESULT}).encode(),
    "an error": json.dumps(
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": LONG}}
    ).encode(),
    "text": LONG.encode(),
    "a text of lines": "".join(f"- item {n}: value\n" for n in range(4_000)).encode(),
    "a table": ("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000).encode(),
    "a JSON string": json.dumps(LONG).encode(),
    "a failure": json.dumps(
        {"reply": {"isError": True, "content": [{"type": "text", "text": f"No such file {LONG}"}]}}
    ).encode(),
    "half a character": json.dumps({"reply": {"a": "\ud800", "b": LONG}}).encode(),
    "bytes that are not UTF-8": b'{"a": "\xff' + b"x" * LARGE + b'"}',
    "binary": b"\0\1\2" * LARGE,
    "NaN": b'{"reply": [NaN, 1e999, "' + b"x" * LARGE + b'"]}',
    "a number of 400 digits": b"[" + b"7" * 400 + b"," + b"1," * LARGE + b"1]",
    "deep": b"[" * 100_000,
    "deep and closed": b"[" * 50_000 + b"]" * 50_000,
    "a tool that is no text": json.dumps({"reply": LONG, "tool": 5}).encode(),
    "arguments that are no object": json.dumps({"reply": LONG, "arguments": []}).encode(),
}


@pytest.mark.parametrize("body", REPLIES.values(), ids=REPLIES.keys())
def test_a_child_answers_byte_for_byte_what_its_parent_would(
    server: HttpServer, body: bytes
) -> None:
    assert len(body) > IN_PLACE
    expected = read_endpoint.answer(body)
    answer = post(server, body)
    assert (answer.status, answer.raw) == (expected.status, expected.body)


def test_a_small_reply_starts_no_process() -> None:
    with limited(reader=True) as server:
        assert post(server, b"x" * IN_PLACE).status == 200
        assert children(server.process.pid) == []
        assert post(server, b"x" * LARGE).status == 200
        assert child_of(server)


def test_an_app_loads_nothing_of_it_before_it_is_needed() -> None:
    script = (
        "import sys; from accord import Server; Server('x').asgi(reader=True)\n"
        "assert not {'accord.serve.isolated', 'accord.reader'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# What takes too long


def test_a_reply_that_takes_too_long_is_answered_as_text() -> None:
    with reading_server(read_seconds=0.05) as server:
        for body in (SLOW, b'{"tool": "rows", "reply": ' + SLOW + b"}"):
            answer = post(server, body)
            assert answer.finding.startswith("reading was stopped after 0.05 seconds")
            response = answer.body["response"]
            assert response["responseType"] == "single"
            assert response["metadata"] == {"truncated": True}
            text = response["data"]["text"]
            assert SLOW.decode().startswith(text)
            assert text
            assert len(answer.raw) < 200_000
        assert response["toolName"] == "rows"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (json.dumps({"reply": "é" + LONG}).encode(), "é" + LONG),
        (json.dumps({"reply": {"a": LONG}}).encode(), json.dumps({"a": LONG})),
        (b"\xff" + LONG.encode(), "\ufffd" + LONG),
        (json.dumps({"reply": LONG, "tool": 5}).encode(), '{"reply": "xxx'),
        (b'{"reply": "\\ud800' + LONG.encode() + b'"}', '{"reply": "\\ud800xxx'),
    ],
    ids=["text", "an object", "not UTF-8", "a tool that is no text", "half a character"],
)
def test_the_text_is_that_of_the_reply(body: bytes, text: str) -> None:
    with reading_server(read_seconds=2) as server, stopped(child_of(server)):
        answer = post(server, body)
    assert "reading was stopped" in answer.finding
    assert answer.body["response"]["data"]["text"].startswith(text)
    assert answer.body["confidence"] == "guess"


def test_others_are_answered_meanwhile_and_the_next_reply_is_read() -> None:
    with reading_server(read_seconds=4) as server:  # in which another child can start
        first = child_of(server)
        with stopped(first):
            connection = send(server, BODY)
            assert health(server) == 200
            assert post(server, b"{}").body["response"]["responseType"] == "single"
            assert answer_on(connection).finding.startswith("reading was stopped after 4 seconds")
        assert post(server, BODY).body["response"]["summary"]["returned"] == len(ROWS)
        assert child_of(server) != first
        assert eventually(lambda: is_gone(first))


def test_a_reply_that_needs_too_much_memory_is_answered_as_text() -> None:
    with limited(reader=True, max_request=64 * 1024 * 1024, read_seconds=50) as server:
        answer = post(server, b"[" + b'{"a":1},' * 5_000_000 + b"1]")
        assert "too much memory" in answer.finding
        assert post(server, BODY).body["response"]["responseType"] == "list"


# A child that ends


def test_a_child_that_has_ended_is_replaced() -> None:
    with reading_server() as server:
        for _ in range(2):
            os.kill(child_of(server), signal.SIGKILL)
            assert post(server, BODY).body["response"]["responseType"] == "list"


def test_a_child_that_ends_while_it_reads_is_replaced_once() -> None:
    with reading_server() as server:
        first = child_of(server)
        with stopped(first):
            connection = send(server, BODY)
            assert health(server) == 200
            os.kill(first, signal.SIGKILL)
            assert answer_on(connection).body["response"]["responseType"] == "list"


# Many at once, and those who leave


def test_twenty_large_replies_at_once_are_all_read(server: HttpServer) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda _: post(server, BODY), range(20)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.raw for answer in answers}) == 1
    assert child_of(server)


def fill(server: HttpServer) -> list[HTTPConnection]:
    """One that is being read, and as many as may wait."""
    connections = []
    for _ in range(1 + MAX_WAITING):
        connections.append(send(server, BODY))
        assert health(server) == 200  # so that it has been taken in
    return connections


def is_full(server: HttpServer) -> bool:
    connection = send(server, BODY)
    connection.sock.settimeout(0.2)
    try:
        return answer_on(connection).status == 503
    except TimeoutError:
        return False
    finally:
        connection.close()


def test_more_than_may_wait_are_refused_and_the_others_read() -> None:
    with reading_server(read_seconds=60) as server:
        with stopped(child_of(server)):
            connections = fill(server)
            assert eventually(lambda: is_full(server))
            refused = post(server, BODY)
            assert refused.status == 503
            assert "try again later" in refused.body["error"]["message"]
            assert post(server, b"{}").status == 200
        assert {answer_on(each).status for each in connections} == {200}


def test_a_client_that_leaves_gives_up_its_place() -> None:
    with reading_server(read_seconds=60) as server:
        with stopped(child_of(server)):
            first, *others = fill(server)
            assert eventually(lambda: is_full(server))
            for each in others:
                each.close()
            assert eventually(lambda: not is_full(server))
        assert answer_on(first).status == 200


def test_a_client_that_leaves_while_its_reply_is_read_is_not_waited_for() -> None:
    with reading_server(read_seconds=60) as server, stopped(child_of(server)):
        send(server, BODY).close()
        assert post(server, BODY).status == 200


# The end


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_child_ends_with_its_server(number: int, is_busy: bool) -> None:
    with reading_server(read_seconds=60) as server:
        child = child_of(server)
        if is_busy:
            os.kill(child, signal.SIGSTOP)
            connection = send(server, BODY)
            assert health(server) == 200
        os.kill(server.process.pid, number)
        server.wait()
        assert eventually(lambda: is_gone(child))
        if is_busy:
            connection.close()


# Wherever an app runs


async def ask(app: Any, body: bytes) -> tuple[int, bytes]:
    """A request as an ASGI server would make it."""
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": body}]
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/read", "headers": headers}

    async def receive() -> Any:
        return messages.pop() if messages else await asyncio.Event().wait()

    async def collect(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    return sent[0]["status"], sent[1]["body"]


async def live(app: Any, *bodies: bytes) -> list[tuple[int, bytes]]:
    """The answers of an app from its start to its end."""
    steps = asyncio.Queue[Any]()
    steps.put_nowait({"type": "lifespan.startup"})
    said = asyncio.Queue[Any]()
    life = asyncio.create_task(app({"type": "lifespan"}, steps.get, said.put))
    assert (await said.get())["type"] == "lifespan.startup.complete"
    answers = [await ask(app, body) for body in bodies]
    steps.put_nowait({"type": "lifespan.shutdown"})
    await life
    return answers


def run_by_uvloop(work: Any) -> Any:
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@pytest.mark.parametrize("run", [asyncio.run, run_by_uvloop], ids=["asyncio", "uvloop"])
def test_one_app_reads_on_one_loop_after_the_other_and_leaves_nothing(run: Any) -> None:
    expected = read_endpoint.answer(BODY)
    before = children(os.getpid())
    for _ in range(2):
        app = Server("own").asgi(reader=True)
        answers = run(live(app, BODY, BODY))
        assert answers == [(200, expected.body)] * 2
        assert eventually(lambda: set(children(os.getpid())) <= set(before))


def test_an_app_that_is_not_told_of_its_end_leaves_one_child_at_most() -> None:
    before = children(os.getpid())
    app = Server("own").asgi(reader=True)
    for _ in range(3):
        assert asyncio.run(ask(app, BODY))[0] == 200
    assert eventually(lambda: len(set(children(os.getpid())) - set(before)) <= 1)


def test_loops_in_two_threads_have_a_child_each() -> None:
    expected = read_endpoint.answer(BODY).body

    def run() -> bytes:
        return asyncio.run(live(Server("own").asgi(reader=True), BODY))[0][1]

    with ThreadPoolExecutor(2) as threads:
        both: list[Future[bytes]] = [threads.submit(run) for _ in range(2)]
        assert {each.result() for each in both} == {expected}


SCARCE = """
import asyncio, os, resource, sys
from accord.serve.http.read_endpoint import answer_isolated
body = sys.stdin.buffer.read()
async def check():
    open_files = set(os.listdir("/proc/self/fd"))
    limit = max(map(int, open_files)) + 3  # one pipe, but not two
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for _ in range(3):
        assert b"no process could be started" in (await answer_isolated(body, 60)).body
    assert len(os.listdir("/proc/self/fd")) == len(open_files)
asyncio.run(check())
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_child_that_finds_no_descriptors_leaves_none_open() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", SCARCE], input=BODY, check=True)


FORKS = """
import asyncio, os, sys
from accord.serve.http.read_endpoint import answer, answer_isolated
body = sys.stdin.buffer.read()
expected = answer(body)
def check():
    assert asyncio.run(answer_isolated(body, 60)) == expected
check()
pid = os.fork()
check()
if pid:
    assert os.waitpid(pid, 0)[1] == 0
    check()
"""


def test_a_forked_process_starts_a_child_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", FORKS], input=BODY, check=True)
