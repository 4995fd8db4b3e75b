"""What a connection carries: several requests, a client that does not read, and what is no HTTP."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPResponse
from typing import Any

import pytest

from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, census, eventually, limited


@contextmanager
def _connected(server: HttpServer) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as connection:
        yield connection


def _request(
    client: HttpPeer, message: Any, *more: str, method: str = "POST", path: str = "/mcp"
) -> bytes:
    body = b"" if message is None else json.dumps(message).encode()
    headers = {name: value for name, value in client.headers_for(message).items() if value}
    headers |= {"Host": "localhost", "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


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


@pytest.mark.parametrize("tool", ["echo", "echo_later"])
def test_what_came_before_garbage_is_answered_first(server: HttpServer, tool: str) -> None:
    with HttpPeer(server.port) as client, _connected(server) as connection:
        call = _request(client, client.calling(tool, word="hi"))
        connection.sendall(call + b"\0 garbage \0\r\n\r\n")
        answers = _Answers(connection)
        assert answers.text() == "hi"
        assert answers.rest() == b""


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
        try:
            connection.sendall(begin + head)
            answer = connection.recv(65_536)
        except ConnectionError:
            answer = b""  # it was closed while we were still sending
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")
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
