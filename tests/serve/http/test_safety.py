"""Who is let in, how much of it is read, and how long that may take."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPResponse
from itertools import islice
from typing import Any

import pytest

import wire
from cli.command import accord_each, assert_one_line_of_misuse
from commands import SAMPLES
from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, STATELESS, census, limited, serving

# Names

BAD_NAMES = [
    "evil.com",
    "evil.com:80",
    "localhost.evil.com",
    "127.0.0.1.evil.com",
    "evil.com#localhost",
    "evil.com?localhost",
    "evil.com/localhost",
    "localhost/",
    "localhost/../x?",
    "127.0.0.1:8977/../x?",
    "localhost#",
    "localhost@evil.com",
    "evil.com@localhost",
    "user:pass@127.0.0.1",
    "localhost,evil.com",
    "localhost evil.com",
    "local\thost",
    "localhost.",
    "127.0.0.1.",
    "localhost:",
    "localhost:port",
    "localhost:80:80",
    "localhost:-1",
    "localhost:+80",
    "localhost:999999",
    "localhost\\",
    "localhost%00",
    "%6cocalhost",
    "xlocalhost",
    "localhostx",
    "*",
    "0.0.0.0",
    "127.1",
    "127.0.0.2",
    "127.000.000.001",
    "2130706433",
    "0x7f000001",
    "::1",
    "[::1",
    "::1]",
    "[::]",
    "[::1].",
    "[::1]x",
    "[::1%lo]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "löcalhost",
    "null",
]
GOOD_NAMES = [
    "localhost",
    "LocalHost",
    "localhost:8000",
    "127.0.0.1",
    "127.0.0.1:1",
    "[::1]",
    "[::1]:65535",
]
BAD_ORIGINS = [
    *(f"http://{name}" for name in BAD_NAMES),
    "",
    "null",
    "localhost",
    "//localhost",
    "http:localhost",
    "http:/localhost",
    "http://",
    "http:///localhost",
    "http://localhost http://evil.com",
    "http://evil.com http://localhost",
    "file://localhost",
    "ftp://localhost",
    "javascript://localhost",
    "chrome-extension://localhost",
    "xhttp://localhost",
]
BAD_TYPES = [
    None,
    "",
    "text/plain",
    "text/plain; application/json",
    "text/plain;charset=application/json",
    "text/json",
    "multipart/form-data; boundary=application/json",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "application/json+x",
    "application/vnd.api+json",
    "application/json, text/plain",
    "application/json text/plain",
    "xapplication/json",
    "application",
    "json",
    "*/*",
    "application/*",
    '"application/json"',
]
GOOD_TYPES = [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "application/json ; x=y",
]


@pytest.fixture(scope="module")
def client(server: HttpServer) -> Iterator[HttpPeer]:
    with HttpPeer(server.port) as peer:
        yield peer


def _status(client: HttpPeer, headers: dict[str, Any]) -> int:
    """Return the status of a call with these headers, on a new connection."""
    with client.again() as fresh:
        return fresh.post(fresh.calling("echo", word="hi"), headers).status


@pytest.mark.parametrize("name", [*BAD_NAMES, ""])
def test_a_host_that_is_not_ours_is_refused(client: HttpPeer, name: str) -> None:
    assert _status(client, {"Host": name}) in (400, 403)


@pytest.mark.requirement("mcp.http.origin")
@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_an_origin_that_is_not_ours_is_refused(client: HttpPeer, origin: str) -> None:
    assert _status(client, {"Origin": origin}) == 403


@pytest.mark.parametrize("kind", BAD_TYPES)
def test_a_body_that_is_not_said_to_be_json_is_refused(client: HttpPeer, kind: str | None) -> None:
    assert _status(client, {"Content-Type": kind}) == 415


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": ["localhost", "evil.com"]},
        {"Host": ["evil.com", "localhost"]},
        {"Origin": ["http://localhost", "http://evil.com"]},
        {"Origin": ["http://evil.com", "http://localhost"]},
        {"Content-Type": ["application/json", "text/plain"]},
        {"Content-Type": ["text/plain", "application/json"]},
    ],
    ids=str,
)
def test_a_header_that_says_two_things_is_refused(client: HttpPeer, headers: Any) -> None:
    with client.again() as fresh:
        fresh.send(fresh.calling("echo", word="hi"), headers)
        assert fresh._connection.getresponse().status in (400, 403, 415)


def test_a_request_without_a_host_is_refused(client: HttpPeer) -> None:
    assert _status(client, {"Host": None}) in (400, 403)


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "headers", [{"Host": "evil.com"}, {"Origin": "http://evil.com"}], ids=["Host", "Origin"]
)
def test_no_verb_is_for_strangers(server: HttpServer, method: str, headers: Any) -> None:
    with HttpPeer(server.port, "2025-11-25") as session:
        assert session.visit(method, {**headers, "Accept": "text/event-stream"}).status == 403
        assert session.call("echo", word="hi") == "hi", "the session lives"


def test_health_is_not_told_to_strangers(client: HttpPeer) -> None:
    assert client.visit("GET", {"Host": "evil.com"}, path="/health").status == 403


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_our_own_names_are_let_in(client: HttpPeer, name: str) -> None:
    assert _status(client, {"Host": name}) == 200
    assert _status(client, {"Origin": f"http://{name}"}) == 200
    assert _status(client, {"Origin": f"https://{name}"}) == 200


@pytest.mark.parametrize("kind", GOOD_TYPES)
def test_json_is_let_in(client: HttpPeer, kind: str) -> None:
    assert _status(client, {"Content-Type": kind}) == 200


@pytest.mark.parametrize("revision", ERAS)
def test_a_refusal_does_not_say_what_was_refused(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as peer:
        response = peer.post(peer.calling("echo", word="hi"), {"Host": "<script>"})
        assert response.status == 403
        assert b"script" not in response.body


# Where to listen


def test_an_address_that_cannot_be_served_is_told_in_one_line() -> None:
    serve = ["serve", "features:progress"]
    refused = {
        "0.0.0.0:0": ["--allow-host"],
        "[::]:0": ["--allow-host"],
        "192.0.2.1:0": ["--allow-host"],
        "example.com:0": ["--allow-host"],
        "nowhere": ["nowhere"],
        "127.0.0.1:": ["127.0.0.1:"],
        "127.0.0.1:x": ["127.0.0.1:x"],
        "127.0.0.1:65536": ["65536"],
        "::1": ["::1"],
    }
    unreachable = {
        "192.0.2.1:0": ["192.0.2.1"],
        f"{'a' * 70}.example:0": ["aaa"],
        "..:0": [".."],
    }
    done = accord_each({a: [*serve, "--http", a] for a in refused}, cwd=SAMPLES)
    for address, words in refused.items():
        assert_one_line_of_misuse(done[address], *words)
    opened = ["--allow-host", "example.com"]
    done = accord_each({a: [*serve, "--http", a, *opened] for a in unreachable}, cwd=SAMPLES)
    for address, words in unreachable.items():
        assert_one_line_of_misuse(done[address], *words)


def test_a_port_that_is_taken_is_told_in_one_line(server: HttpServer) -> None:
    done = accord_each(
        {"taken": ["serve", "features:progress", "--http", f"127.0.0.1:{server.port}"]}, cwd=SAMPLES
    )
    assert_one_line_of_misuse(done["taken"], str(server.port))


def test_a_name_that_was_allowed_is_answered_and_no_other() -> None:
    words = ["--allow-host", "Shop.Example", "--allow-host", "port.example:81"]
    with serving(*words, address="0.0.0.0:0") as server, HttpPeer(server.port) as peer:
        for name, status in {
            "shop.example": 200,
            "SHOP.example:8000": 200,
            "port.example:81": 200,
            "port.example": 403,
            "port.example:82": 403,
            "x.shop.example": 403,
            "shop.example.evil.com": 403,
            "shop.example.": 403,
            "localhost": 200,
            "0.0.0.0": 403,
        }.items():
            assert (name, _status(peer, {"Host": name})) == (name, status)
            assert (name, _status(peer, {"Origin": f"https://{name}"})) == (name, status)


def test_it_listens_on_ipv6_too() -> None:
    with serving(address="[::1]:0") as server:
        assert server.host == "[::1]"
        with closing(socket.create_connection(("::1", server.port), timeout=30)) as connection:
            connection.sendall(b"GET /health HTTP/1.0\r\nHost: [::1]\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")


# How much, and how long


@contextmanager
def _connected(server: HttpServer) -> "Iterator[socket.socket]":
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as connection:
        yield connection


def _head(body: str, tool: str = "echo") -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"MCP-Protocol-Version: {STATELESS}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
        body,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def _call(size: int = 0) -> bytes:
    """A call of `echo`, padded to a size."""
    with HttpPeer(0) as peer:
        message = peer.calling("echo", word="hi")
    body = json.dumps(message).encode()
    return body + b" " * (size - len(body))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _status_of(connection: socket.socket) -> int:
    """The status of one response, read whole."""
    response = HTTPResponse(connection)
    response.begin()
    if body := response.read():
        wire.check(body, revision=STATELESS, method="tools/call")
    return response.status


LIMIT = 10_000


@pytest.fixture(scope="module")
def small() -> Iterator[HttpServer]:
    with limited(max_request=LIMIT) as server:
        yield server


@pytest.fixture(scope="module")
def hasty() -> Iterator[HttpServer]:
    """A server that does not wait long for a request."""
    with limited(max_request=LIMIT, body_seconds=0.3) as server:
        yield server


@pytest.mark.parametrize(("size", "status"), [(LIMIT, 200), (LIMIT + 1, 413), (10 * LIMIT, 413)])
@pytest.mark.parametrize("way", ["length", "one chunk", "chunks"])
def test_a_request_has_a_largest_size(small: HttpServer, way: str, size: int, status: int) -> None:
    body = _call(size)
    with _connected(small) as connection:
        if way == "length":
            connection.sendall(_head(f"Content-Length: {size}") + body)
        else:
            step = size if way == "one chunk" else 1_000
            parts = [_chunk(body[at : at + step]) for at in range(0, size, step)]
            connection.sendall(_head("Transfer-Encoding: chunked") + b"".join(parts) + b"0\r\n\r\n")
        assert _status_of(connection) == status


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(small: HttpServer) -> None:
    with _connected(small) as connection:
        connection.sendall(_head("Content-Length: 99999999999"))
        assert _status_of(connection) == 413


@pytest.mark.parametrize(("size", "status"), [(4 << 20, 200), ((4 << 20) + 1, 413)])
def test_the_usual_limit_is_4_mib(server: HttpServer, size: int, status: int) -> None:
    with _connected(server) as connection:
        connection.sendall(_head(f"Content-Length: {size}"))
        if status == 200:  # else it is refused before anything is read
            connection.sendall(_call(size))
        assert _status_of(connection) == status


def test_a_body_without_end_is_cut_off_and_never_held(server: HttpServer) -> None:
    with HttpPeer(server.port) as peer:
        before = census(peer)["kilobytes"]
        most = 200 << 20
        sent, piece = 0, _chunk(b" " * (1 << 20))
        with _connected(server) as connection:
            connection.sendall(_head("Transfer-Encoding: chunked"))
            try:
                while sent < most:
                    connection.sendall(piece)
                    sent += 1 << 20
            except OSError:
                pass
            assert sent < most, "the connection is closed after the refusal"
        assert census(peer)["kilobytes"] - before < 64 << 10
        assert peer.call("echo", word="hi") == "hi"


def test_a_body_may_come_byte_by_byte(server: HttpServer) -> None:
    body = _call()
    with _connected(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in _head(f"Content-Length: {len(body)}") + body:
            connection.send(bytes([byte]))
        assert _status_of(connection) == 200


def test_a_body_may_come_in_chunks_of_one_byte(server: HttpServer) -> None:
    chunks = b"".join(_chunk(bytes([byte])) for byte in _call())
    with _connected(server) as connection:
        connection.sendall(_head("Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n")
        assert _status_of(connection) == 200


def test_an_empty_body_in_chunks_is_no_message(server: HttpServer) -> None:
    with _connected(server) as connection:
        connection.sendall(_head("Transfer-Encoding: chunked") + b"0\r\n\r\n")
        assert _status_of(connection) == 400


STALLED = {
    "nothing of a length": _head("Content-Length: 100"),
    "half of a length": _head("Content-Length: 100") + b'{"jsonrpc"',
    "no chunk": _head("Transfer-Encoding: chunked"),
    "half a chunk": _head("Transfer-Encoding: chunked") + b'50\r\n{"jsonrpc"',
    "no last chunk": _head("Transfer-Encoding: chunked") + _chunk(_call()),
}


@pytest.mark.parametrize("what", STALLED)
def test_a_body_that_never_ends_is_a_408_and_the_connection_is_closed(
    hasty: HttpServer, what: str
) -> None:
    with _connected(hasty) as connection:
        connection.sendall(STALLED[what])
        assert _status_of(connection) == 408
        assert connection.recv(1) == b""


def test_a_body_that_trickles_is_a_408(hasty: HttpServer) -> None:
    with _connected(hasty) as connection:
        connection.sendall(_head("Content-Length: 100"))
        for byte in islice(_call(), 99):
            connection.send(bytes([byte]))
            if select.select([connection], [], [], 0.02)[0]:
                break
        assert _status_of(connection) == 408


@pytest.mark.parametrize("beginning", [b"", b"POST /mcp HTTP/1.1\r\nHost: local"])
def test_headers_that_never_end_do_not_hold_a_connection(
    hasty: HttpServer, beginning: bytes
) -> None:
    with _connected(hasty) as connection:
        connection.sendall(beginning)
        assert connection.recv(65_536)[:12] in (b"", b"HTTP/1.1 408")
