"""Responses, fed whole and byte by byte: what is read, what is refused, what may follow."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.http1.errors import ConnectionLost, HTTPError, ProtocolError
from accord.http1.parser import MAX_HEAD, MAX_HEADERS, ResponseParser

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def parse(raw: bytes, size: int = 0, *, method: str = "POST", eof: bool = False) -> ResponseParser:
    """Feed a response in parts of this size, whole by default."""
    parser = ResponseParser(method)
    size = size or max(len(raw), 1)
    for start in range(0, len(raw), size):
        parser.feed(raw[start : start + size])
    if eof:
        parser.feed_eof()
    return parser


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("raw", "status", "body", "can_reuse"),
    [
        (OK + b"Content-Length: 2\r\n\r\nab", 200, b"ab", True),
        (OK + b"content-length:2\r\n\r\nab", 200, b"ab", True),
        (OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
        (OK + b"Content-Length: 2\r\nConnection: close\r\n\r\nab", 200, b"ab", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, b"ab", False),
        (
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
            200,
            b"ab",
            True,
        ),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab", 200, b"ab", True),
        (CHUNKED + b"2\r\nab\r\n0\r\n\r\n", 200, b"ab", True),
        (CHUNKED + b"A\r\n0123456789\r\n1\r\na\r\n0\r\n\r\n", 200, b"0123456789a", True),
        (CHUNKED + b"2;name=value\r\nab\r\n000\r\nTrailer: x\r\n\r\n", 200, b"ab", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na", 200, b"a", True),
        (
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3
            + b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            404,
            b"",
            True,
        ),
    ],
)
def test_a_whole_response_is_read(
    raw: bytes, status: int, body: bytes, can_reuse: bool, size: int
) -> None:
    parser = parse(raw, size)
    assert parser.is_complete
    assert (parser.status, parser.take(), parser.can_reuse) == (status, body, can_reuse)
    assert "link" not in parser.headers


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("length", [b"", b"Content-Length: 5\r\n"])
def test_a_response_to_head_ends_with_its_head(length: bytes, size: int) -> None:
    parser = parse(OK + length + b"\r\n", size, method="HEAD")
    assert parser.is_complete
    assert parser.take() == b""


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    raw = OK + b"Content-Type: text/plain\r\n\r\nabc"
    assert not parse(raw, 1).is_complete
    parser = parse(raw, 1, eof=True)
    assert (parser.is_complete, parser.take(), parser.can_reuse) == (True, b"abc", False)


def test_headers_are_by_lower_case_names_and_repeated_ones_are_joined() -> None:
    raw = (
        OK
        + b"X-A: 1\r\nX-B:\r\nx-a: \t2 \t\r\nX-C: \xc3\xbc\r\nX-D: \xfc\r\nContent-Length: 0\r\n\r\n"
    )
    assert parse(raw, 1).headers == {
        "x-a": "1, 2",
        "x-b": "",
        "x-c": "ü",
        "x-d": "ü",
        "content-length": "0",
    }


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"\0" * 100,
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 xyz OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        OK + b"Content-Length: 2, 2\r\n\r\nab",
        OK + b"Content-Length: +2\r\n\r\nab",
        OK + b"Content-Length: -2\r\n\r\nab",
        OK + b"Content-Length: 0x2\r\n\r\nab",
        OK + b"Content-Length: 99999999999999999999999\r\n\r\nab",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\nab",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
        OK + b"X: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
        OK + b" X: a\r\nContent-Length: 0\r\n\r\n",
        OK + b"X : a\r\nContent-Length: 0\r\n\r\n",
        OK + b": a\r\nContent-Length: 0\r\n\r\n",
        OK + b"X\r\nContent-Length: 0\r\n\r\n",
        OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
        OK + b"X: a\rb\r\nContent-Length: 0\r\n\r\n",
        CHUNKED + b"zz\r\nab\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\nab\r\n0\r\n\r\n",
        CHUNKED + b"0x2\r\nab\r\n0\r\n\r\n",
        CHUNKED + b"2\nab\n0\n\n",
        CHUNKED + b"1\r\nab\r\n0\r\n\r\n",
        CHUNKED + b"fffffffffffffffff\r\n",
        CHUNKED + b"0\r\nX : a\r\n\r\n",
        OK + b"X: " + b"a" * MAX_HEAD + b"\r\n\r\n",
        OK + b"X: a\r\n" * (MAX_HEADERS + 1) + b"\r\n",
        OK + b"X" * (MAX_HEAD + 1),
        b"HTTP/1.1 200 " + b"x" * (MAX_HEAD + 1),
        b"HTTP/1.1 100 Continue\r\n\r\n" * (MAX_HEAD // 20),
        CHUNKED + b"1;" + b"x" * (MAX_HEAD + 1),
        CHUNKED + b"0\r\nX: " + b"x" * (MAX_HEAD + 1),
        CHUNKED + b"0\r\n" + b"X: a\r\n" * MAX_HEADERS + b"\r\n",
    ],
)
def test_a_response_that_is_invalid_ambiguous_or_endless_is_refused(raw: bytes, size: int) -> None:
    with pytest.raises(ProtocolError):
        parse(raw, size)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "without a response"),
        (b"HTTP/1.1 2", "within its response"),
        (OK + b"Content-Length: 3\r\n\r\n", "within its response"),
        (OK + b"Content-Length: 3\r\n\r\nab", "within its response"),
        (CHUNKED + b"2\r\nab\r\n", "within its response"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "within its response"),
    ],
)
def test_a_response_that_is_cut_off_is_an_error(raw: bytes, sentence: str, size: int) -> None:
    with pytest.raises(ConnectionLost, match=sentence):
        parse(raw, size, eof=True)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(
    "more",
    [b"x", b"\0\0", b"HTTP/1.1 200 OK\r\n", OK + b"Content-Length: 1\r\n\r\nz", b"<html>"],
)
def test_a_connection_on_which_more_follows_is_not_reused(more: bytes, size: int) -> None:
    parser = parse(OK + b"Content-Length: 2\r\n\r\nab" + more, size)
    assert (parser.is_complete, parser.take(), parser.can_reuse) == (True, b"ab", False)


# Laws

names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,9}", fullmatch=True).map(lambda name: f"X-{name}")
values = st.from_regex(r"([!-+.-~]([ -+.-~]{0,9}[!-+.-~])?)?", fullmatch=True)
bodies = st.lists(st.binary(min_size=1, max_size=40), max_size=5)


def encode(body: list[bytes], is_chunked: bool, headers: list[tuple[str, str]]) -> bytes:
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers)
    if not is_chunked:
        whole = b"".join(body)
        return OK + lines + b"Content-Length: %d\r\n\r\n" % len(whole) + whole
    parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in body)
    return OK + lines + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"


@given(
    body=bodies,
    is_chunked=st.booleans(),
    headers=st.lists(st.tuples(names, values), max_size=5),
    cuts=st.lists(st.integers(0, 600), max_size=8),
)
def test_how_a_response_is_cut_into_packets_changes_nothing(
    body: list[bytes], is_chunked: bool, headers: list[tuple[str, str]], cuts: list[int]
) -> None:
    raw = encode(body, is_chunked, headers)
    parser = ResponseParser("POST")
    taken = b""
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(raw)], strict=True):
        if part := raw[start:end]:
            assert not parser.is_complete
            parser.feed(part)
            taken += parser.take()
    assert (parser.is_complete, parser.can_reuse, taken) == (True, True, b"".join(body))
    for name, value in headers:
        assert value in parser.headers[name.lower()].split(", ")


@given(st.data())
def test_whatever_arrives_is_a_response_or_an_error_and_h11_never_reads_another_body(
    data: st.DataObject,
) -> None:
    """Change a valid response in one place; a parser of other authors is the referee."""
    raw = bytearray(encode(data.draw(bodies), data.draw(st.booleans()), [("X-A", "b")]))
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position : position + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        parser = parse(bytes(raw), eof=True)
    except HTTPError:
        return
    found = parser.take()
    reference = read_by_h11(bytes(raw))
    assert reference is None or not parser.can_reuse or reference == found


def read_by_h11(raw: bytes) -> bytes | None:
    """Return the body as h11 reads it; None if h11 refuses it."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "a")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    connection.receive_data(b"")
    body = b""
    try:
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            body += event.data if isinstance(event, h11.Data) else b""
            if event in (h11.NEED_DATA, h11.PAUSED):
                return None
    except h11.RemoteProtocolError:
        return None
    return body
