"""What a connection carries: several requests, a client that does not read, and what is no HTTP."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPResponse
from typing import Any

import pytest

from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, census, eventually, limited


@contextmanager
def _connected(server: HttpServer) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as connection:
        yield connection


def _request(
    client: HttpPeer,
    message: Any,
    *more: str,
    method: str = "POST",
    path: str = "/mcp",
    version: str = "1.1",
) -> bytes:
    body = b"" if message is None else json.dumps(message).encode()
    headers = {name: value for name, value in client.headers_for(message).items() if value}
    headers |= {"Host": "localhost", "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/{version}", *(f"{k}: {v}" for k, v in headers.items()), *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _chunked(client: HttpPeer, message: Any, end: bytes = b"0\r\n\r\n") -> bytes:
    head, body = _request(client, message).split(b"\r\n\r\n", 1)
    length = b"Content-Length: %d" % len(body)
    head = head.replace(length, b"Transfer-Encoding: chunked")
    return head + b"\r\n\r\n%x\r\n%b\r\n" % (len(body), body) + end


class _Answers:
    """The responses on one connection, one after another."""

    def __init__(self, connection: socket.socket, method: str = "POST") -> None:
        self._file = connection.makefile("rb")
        self._method = method

    def next(self) -> HTTPResponse:
        response = HTTPResponse(self, method=self._method)  # type: ignore[arg-type]  # it wants `makefile`
        response.begin()
        response.body = response.read()  # type: ignore[attr-defined]
        return response

    def makefile(self, _mode: str) -> Any:
        return _Unclosed(self._file)

    def text(self) -> str:
        response = self.next()
        assert response.status == 200
        result = json.loads(response.body)["result"]  # type: ignore[attr-defined]
        return str(result["content"][0]["text"])

    def rest(self) -> bytes:
        with self._file:
            return self._file.read()


class _Unclosed:
    """A file that the end of one response leaves open for the next."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("tool", ["echo_later", "echo"])
def test_requests_sent_together_are_answered_in_their_order(
    server: HttpServer, revision: str, tool: str
) -> None:
    words = [f"word {n}" for n in range(100)]
    with HttpPeer(server.port, revision) as client, _connected(server) as connection:
        calls = [_request(client, client.calling(tool, word=word)) for word in words]
        connection.sendall(b"".join(calls))
        answers = _Answers(connection)
        assert [answers.text() for _ in words] == words


@pytest.mark.parametrize("revision", ERAS)
def test_a_request_behind_one_that_takes_its_time_waits_for_it(
    server: HttpServer, revision: str
) -> None:
    name = f"first {revision}"
    with (
        HttpPeer(server.port, revision) as client,
        client.again() as other,
        _connected(server) as connection,
    ):
        first = client.calling("wait", name=name, until=f"{name} may end")
        second = client.calling("mark", name=f"{name} is answered")
        connection.sendall(_request(client, first) + _request(client, second))
        other.call("when", name=f"{name} began")
        assert other.call("has", name=f"{name} is answered") == "false"
        other.call("mark", name=f"{name} may end")
        answers = _Answers(connection)
        assert answers.text() == name
        assert answers.next().status == 200
        assert other.call("has", name=f"{name} is answered") == "true"


def test_a_stateless_client_that_leaves_with_requests_waiting_has_taken_them_all_back(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client:
        with _connected(server) as connection:
            first = client.calling("wait", name="left", until="never")
            second = client.calling("mark", name="left behind")
            connection.sendall(_request(client, first) + _request(client, second))
            client.call("when", name="left began")
        assert client.call("when", name="left ended") == "CancelledError"
        assert client.call("has", name="left behind") == "false"


def test_a_stateless_client_that_sent_much_and_leaves_has_taken_back_its_call(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client:
        with _connected(server) as connection:
            first = client.calling("wait", name="little", until="much is there")
            second = _request(client, client.calling("wait", name="much", until="never " * 12_000))
            connection.sendall(_request(client, first) + second[:60_000])
            client.call("when", name="little began")
            connection.sendall(second[60_000:])
            client.call("nap", seconds=0.05)
            client.call("mark", name="much is there")
            client.call("when", name="much began")
        assert client.call("when", name="much ended") == "CancelledError"


@pytest.mark.slow
@pytest.mark.parametrize("revision", ERAS)
def test_a_client_that_does_not_read_gets_no_more_work_done_for_it(revision: str) -> None:
    calls, size = 100, 1_000_000
    with (
        limited() as server,
        HttpPeer(server.port, revision) as client,
        client.again() as other,
        _connected(server) as connection,
    ):
        other.call("text", size=size)
        before = census(other)["kilobytes"]
        connection.sendall(_request(client, client.calling("text", size=size)) * calls)
        for _ in range(20):
            other.call("nap", seconds=0.01)
        assert census(other)["kilobytes"] - before < 50_000
        answers = _Answers(connection)
        assert all(len(answers.text()) == size for _ in range(calls))


@pytest.fixture(scope="module")
def hasty() -> Iterator[HttpServer]:
    """A server that does not wait long for its clients."""
    with limited(body_seconds=2) as running:
        yield running


MUCH = 15  # megabytes: more than the system keeps for a connection


@pytest.mark.parametrize("revision", ERAS)
def test_a_client_that_never_reads_is_let_go(hasty: HttpServer, revision: str) -> None:
    with HttpPeer(hasty.port, revision) as client, ExitStack() as stack:
        before = census(client)
        for _ in range(5):
            connection = stack.enter_context(_connected(hasty))
            connection.sendall(_request(client, client.calling("text", size=1_000_000)) * MUCH)
        for what in ("descriptors", "tasks"):
            assert eventually(lambda what=what: census(client)[what] <= before[what]), what  # type: ignore[misc]


def test_a_client_that_reads_slowly_is_given_its_time(hasty: HttpServer) -> None:
    size = MUCH * 1_000_000
    with HttpPeer(hasty.port) as client, _connected(hasty) as connection:
        connection.sendall(_request(client, client.calling("text", size=size)))
        received = 0
        while received < size:
            part = connection.recv(500_000, socket.MSG_WAITALL)
            assert part
            received += len(part)
            client.call("nap", seconds=0.1)


@pytest.mark.parametrize("revision", ERAS)
def test_calls_on_one_connection_have_contexts_of_their_own(
    server: HttpServer, revision: str
) -> None:
    with HttpPeer(server.port, revision) as client:
        labels = [client.call("relabel_task", label=label) for label in ("one", "two", "three")]
        assert len(set(labels)) == 1, "none sees the label that another gave"


@pytest.mark.parametrize("revision", ERAS)
def test_time_runs_out_inside_a_tool(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as client:
        assert client.call("run_out_of_time") == "timed out"


@pytest.mark.parametrize("revision", ERAS)
def test_a_tool_that_cancels_its_task_and_never_waits_is_answered(
    server: HttpServer, revision: str
) -> None:
    with HttpPeer(server.port, revision) as client:
        assert client.call("cancel_at_once") == "went on"
        assert client.call("echo", word="next") == "next"


def test_a_client_that_asks_first_is_told_to_continue(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling("echo", word="hi"), "Expect: 100-continue")
        head, body = call.split(b"\r\n\r\n", 1)
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert _Answers(connection).text() == "hi"


def test_a_client_that_asks_first_and_is_refused_is_let_go(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling("echo", word="hi"), "Expect: 100-continue")
        head = call.split(b"\r\n\r\n", 1)[0].replace(b"application/json", b"text/plain")
        connection.sendall(head + b"\r\n\r\n")
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (415, "close")
        assert answers.rest() == b""


EARLY = {
    415: (b"application/json\r\nAccept", b"text/plain\r\nAccept"),
    403: (b"localhost", b"evil.example"),
}


def _begin_refused(client: HttpPeer, connection: socket.socket, status: int, size: int) -> bytes:
    """Send the head of a large request that is refused, and return its body."""
    call = _request(client, client.calling("length", word="x" * size))
    head, body = call.replace(*EARLY[status], 1).split(b"\r\n\r\n", 1)
    connection.sendall(head + b"\r\n\r\n")
    return body


@pytest.mark.parametrize("status", EARLY)
def test_a_request_that_is_answered_before_it_is_whole_is_the_last(
    server: HttpServer, status: int
) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        body = _begin_refused(client, connection, status, 1_000_000)
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (status, "close")
        connection.sendall(body)
        assert answers.rest() == b"", "the body is not taken for anything else"


@pytest.mark.parametrize("status", EARLY)
def test_a_client_that_sends_all_before_it_reads_hears_why_it_was_refused(
    server: HttpServer, status: int
) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        body = _begin_refused(client, connection, status, 3_000_000)
        client.call("nap", seconds=0.05)
        for at in range(0, len(body), 100_000):
            connection.sendall(body[at : at + 100_000])
        answers = _Answers(connection)
        assert answers.next().status == status
        assert answers.rest() == b""


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\0" * 100])
def test_what_is_no_http_is_a_400_and_the_connection_is_closed(
    server: HttpServer, garbage: bytes
) -> None:
    with _connected(server) as connection:
        connection.sendall(garbage)
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (400, "close")
        assert answers.rest() == b""


def test_a_body_that_is_no_http_is_a_400(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling("echo", word="hi"))
        head = call.split(b"\r\n\r\n", 1)[0].replace(b"Content-Length", b"X-Length")
        connection.sendall(head + b"\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n")
        answers = _Answers(connection)
        assert answers.next().status == 400
        assert answers.rest() == b""


def test_a_length_may_begin_with_zeros(server: HttpServer) -> None:
    """More of them than Python makes a number of."""
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling("echo", word="hi"))
        connection.sendall(call.replace(b"Content-Length: ", b"Content-Length: " + b"0" * 5_000))
        assert _Answers(connection).text() == "hi"


@pytest.mark.parametrize("tool", ["echo", "echo_later"])
def test_what_came_before_garbage_is_answered_first(server: HttpServer, tool: str) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling(tool, word="hi"))
        connection.sendall(call + b"\0 garbage \0\r\n\r\n")
        answers = _Answers(connection)
        assert answers.text() == "hi"
        assert answers.rest() == b""


BROKEN = {
    "garbage": b"\0 garbage \0\r\n\r\n",
    "much garbage": b"\0" * 1_000_000,
    "a request that breaks off": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nno number\r\n",
}


@pytest.mark.parametrize("end", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("tool", ["echo", "echo_later"])
def test_all_that_came_whole_before_garbage_is_answered(
    server: HttpServer, tool: str, end: bytes
) -> None:
    words = [f"word {n}" for n in range(5)]
    with HttpPeer(server.port) as client, _connected(server) as connection:
        calls = [_request(client, client.calling(tool, word=word)) for word in words]
        connection.sendall(b"".join(calls) + end)
        answers = _Answers(connection)
        assert [answers.text() for _ in words] == words
        assert answers.rest() == b""


HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
AMBIGUOUS = {
    "a length and chunks": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": "Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}",
    "a length twice": "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": "Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": "Content-Length: +2\r\n\r\n{}",
    "a length too large for any": "Content-Length: 18446744073709551618\r\n\r\n{}",
    "a blank before the colon": "Content-Length : 2\r\n\r\n{}",
    "chunks that are not the last": "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "something like chunks": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks, and then not": "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
    "a bare LF": "X: a\nContent-Length: 2\r\n\r\n{}",
    "a bare LF at the end": "Content-Length: 2\r\n\n{}",
    "a bare CR": "X: a\rContent-Length: 2\r\n\r\n{}",
    "a line that goes on": "X: a\r\n Content-Length: 2\r\n\r\n{}",
    "a NUL": "X: a\0\r\nContent-Length: 2\r\n\r\n{}",
    "chunks with bare LFs": "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n",
    "a chunk longer than it says": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n",
    "a chunk's length with a prefix": "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
}


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_a_request_with_two_readings_is_a_400_and_carries_no_other(
    server: HttpServer, what: str
) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        hidden = _request(client, client.calling("mark", name=what))
        connection.sendall((HEAD + AMBIGUOUS[what]).encode() + hidden)
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (400, "close")
        assert answers.rest() == b""
        assert client.call("has", name=what) == "false"


def test_trailers_are_let_go(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        trailers = b"0\r\nHost: evil.example\r\nX-Trailer: a\r\n\r\n"
        call = _chunked(client, client.calling("echo", word="hi"), trailers)
        connection.sendall(call * 2)
        answers = _Answers(connection)
        assert [answers.text() for _ in range(2)] == ["hi", "hi"]


TRAILERS = {
    "a trailer without end": b"X-Long: " + b"a" * 2_000_000,
    "trailers without end": b"".join(b"X-%d: a\r\n" % n for n in range(200_000)),
    "a chunk's extension without end": b"0;" + b"a" * 2_000_000,
}


@pytest.mark.parametrize("what", TRAILERS)
def test_trailers_have_a_limit(server: HttpServer, what: str) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        end = TRAILERS[what] if "extension" in what else b"0\r\n" + TRAILERS[what]
        connection.sendall(_chunked(client, client.calling("mark", name=what), b""))
        connection.sendall(end)
        answers = _Answers(connection)
        assert answers.next().status == 431
        assert answers.rest() == b""
        assert client.call("has", name=what) == "false"


@pytest.mark.parametrize("revision", ERAS)
def test_a_client_of_http_1_0_gets_a_stream_without_chunks(
    server: HttpServer, revision: str
) -> None:
    with HttpPeer(server.port, revision) as client, _connected(server) as connection:
        call = client.watching("say", message="hi")
        connection.sendall(_request(client, call, version="1.0"))
        head, _, events = _Answers(connection).rest().partition(b"\r\n\r\n")
        assert b"connection: close" in head.lower()
        assert b"transfer-encoding" not in head.lower()
        *primed, progress, result, end = events.split(b"\n\n")
        primings = [re.fullmatch(rb"id: 1\.\w+-0\ndata: ", event) for event in primed]
        assert [bool(each) for each in primings] == [True] * (revision == "2025-11-25")
        assert all(event.startswith(b"id: ") for event in (progress, result))
        assert b'"hi"' in result
        assert end == b""


@pytest.mark.parametrize("wish", ["h2c", "websocket"])
def test_a_wish_to_speak_something_else_is_not_granted(server: HttpServer, wish: str) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        more = (f"Upgrade: {wish}", "Connection: Upgrade")
        asked = _request(client, None, *more, method="GET", path="/health")
        connection.sendall(asked + b"something else")
        answers = _Answers(connection)
        assert answers.next().status == 200
        assert answers.rest() == b"", "and what follows is no request"


def test_a_client_that_wants_no_other_request_is_let_go(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = client.calling("echo", word="hi")
        connection.sendall(_request(client, call, "Connection: close"))
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (200, "close")
        assert answers.rest() == b""


def test_the_answer_to_head_has_no_body(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        head = _request(client, None, method="HEAD", path="/health")
        connection.sendall(head * 2)
        answers = _Answers(connection, "HEAD")
        assert [answers.next().status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("path", ["/mcp?x=1", "/%6dcp", "http://localhost/mcp"])
def test_a_path_may_be_written_in_other_ways(server: HttpServer, path: str) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        connection.sendall(_request(client, client.calling("echo", word="hi"), path=path))
        assert _Answers(connection).text() == "hi"


def test_large_bodies_may_follow_each_other(server: HttpServer) -> None:
    word = "x" * 1_000_000
    with HttpPeer(server.port) as client, _connected(server) as connection:
        calls = [_request(client, client.calling("length", word=word)) for _ in range(3)]
        connection.sendall(b"".join(calls))
        answers = _Answers(connection)
        assert [answers.text() for _ in calls] == ["1000000"] * 3


def test_connections_that_come_and_go_leave_nothing_behind() -> None:
    with limited() as server, HttpPeer(server.port) as client:
        client.call("echo", word="warm")
        before = census(client)
        for _ in range(50):
            with _connected(server) as connection:
                connection.sendall(_request(client, client.calling("nap", seconds=60)) * 3)
        kept = ("tasks", "descriptors")
        assert eventually(lambda: all(census(client)[k] <= before[k] for k in kept))


HEADS = {
    "a header without end": b"X-Long: " + b"a" * 300_000,
    "headers without end": b"".join(b"X-%d: a\r\n" % n for n in range(40_000)),
    "a path without end": b"/" + b"a" * 300_000,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_headers_have_a_limit_and_the_server_goes_on(server: HttpServer, head: bytes) -> None:
    begin = b"POST " if head.startswith(b"/") else b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
    with _connected(server) as connection:
        connection.sendall(begin + head)
        answers = _Answers(connection)
        response = answers.next()
        assert (response.status, response.headers["Connection"]) == (431, "close")
        assert answers.rest() == b""
    with HttpPeer(server.port, ERAS[0]) as peer:
        assert peer.call("echo", word="still here") == "still here"


def test_many_headers_that_are_not_too_many_are_fine(server: HttpServer) -> None:
    with HttpPeer(server.port, ERAS[0]) as peer, _connected(server) as connection:
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        more = [f"X-Header-{n}: {'a' * 100}" for n in range(100)]
        connection.sendall(_request(peer, message, *more))
        assert json.loads(_Answers(connection).next().body) == {  # type: ignore[attr-defined]
            "jsonrpc": "2.0",
            "id": 1,
            "result": {},
        }
