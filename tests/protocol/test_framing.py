"""Bytes into lines: however they are cut into chunks, the same lines come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.protocol import Lines, Overlong
from peer import Peer
from samples.features import basics as server

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LIMIT = 4

streams = st.text("ab\r\n", max_size=40).map(str.encode)


def fed(chunks: list[bytes]) -> list[bytes | Overlong]:
    lines = Lines(LIMIT)
    found = [line for chunk in chunks for line in lines.feed(chunk)] + lines.end()
    return [cut(line.head) if isinstance(line, Overlong) else line for line in found]


def cut(head: bytes) -> Overlong:
    """As much of a line that is too long as every way of feeding it has to keep."""
    assert len(head) > LIMIT
    return Overlong(head[: LIMIT + 1])


def expected(stream: bytes) -> list[bytes | Overlong]:
    """The lines of a stream, by a definition that knows no chunks."""
    *lines, rest = stream.split(b"\n")
    lines += [rest] if rest else []
    return [line if len(line) <= LIMIT else cut(line) for line in lines]


@given(streams, st.lists(st.integers(0, 40), max_size=8))
def test_chunks_make_no_difference(stream: bytes, cuts: list[int]) -> None:
    ends = sorted(cuts)
    chunks = [stream[i:j] for i, j in zip([0, *ends], [*ends, len(stream)], strict=True)]
    assert fed(chunks) == expected(stream)


@given(streams)
def test_a_cut_at_every_position_makes_no_difference(stream: bytes) -> None:
    assert fed([stream[i : i + 1] for i in range(len(stream))]) == expected(stream)
    for i in range(len(stream) + 1):
        assert fed([stream[:i], stream[i:]]) == expected(stream)


def test_a_line_without_end_is_one_error_and_is_not_kept() -> None:
    lines = Lines(LIMIT)
    found = [line for _ in range(1_000) for line in lines.feed(b"x" * 100)]
    assert found == [Overlong(b"x" * 100)]
    assert lines.feed(b"x\nab\n") == [b"ab"]


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1])
@pytest.mark.parametrize("ending", [b"\n", b""], ids=["ended", "at the end of the stream"])
def test_the_limit_is_the_longest_line(size: int, ending: bytes) -> None:
    (line,) = fed([b"x" * size + ending])
    assert isinstance(line, Overlong) == (size > LIMIT)


STREAMS = {
    "LF": (PING + b"\n" + PING + b"\n", 2),
    "CRLF": (PING + b"\r\n" + PING + b"\r\n", 2),
    "no last newline": (PING + b"\n" + PING, 2),
    "CR in place of the last newline": (PING + b"\n" + PING + b"\r", 2),
    "blank lines": (b"\n\n" + PING + b"\n\n\n" + PING + b"\n\n", 2),
    "blank lines with CR": (b"\r\n" + PING + b"\r\n\r\n", 1),
    "lines of spaces": (b"  \n\t\n" + PING + b"\n \n", 1),
    "spaces around": (b"  " + PING + b" \t \n", 1),
    "a lone CR between members": (PING.replace(b",", b",\r") + b"\n", 1),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize(("stream", "count"), STREAMS.values(), ids=STREAMS)
def test_each_message_is_answered_once_however_lines_end(stream: bytes, count: int) -> None:
    peer = Peer(server, "2025-11-25")
    lines = Lines(1_000)
    replies = [r for line in lines.feed(stream) + lines.end() for r in peer.send(line)]
    assert replies == [{"jsonrpc": "2.0", "id": 1, "result": {}}] * count


HEADS = {
    "a number": (b'{"jsonrpc":"2.0","id":7,"params":"', 7),
    "text": (b'{"jsonrpc":"2.0","id":"a","params":"', "a"),
    "an escape": (b'{"id":"\\u0061","params":"', "a"),
    "400 digits": (b'{"id":' + b"7" * 400 + b',"params":"', int("7" * 400)),
    "after params": (b'{"params":{"id":8,"a":["}"]},"id":7,"more":"', 7),
    "not the outermost": (b'{"params":{"id":8,"more":"', None),
    "a word in text": (b'{"params":"\\"id\\":8,","more":"', None),
    "a value called id": (b'{"params":"id","more":"', None),
    "after a value called id": (b'{"params":"id","id":7,"more":"', 7),
    "cut off": (b'{"id":77777777', None),
    "null": (b'{"id":null,"params":"', None),
    "a float": (b'{"id":1.5,"params":"', None),
    "an object": (b'{"id":{"id":8},"params":"', None),
    "a leading zero": (b'{"id":007,"params":"', None),
    "no UTF-8": (b'{"id":"\xff","params":"', None),
    "a surrogate as bytes": (b'{"id":"\xed\xa0\x80","params":"', None),
    "a lone surrogate": (b'{"id":"\\ud800","params":"', None),
    "an unknown escape": (b'{"id":"\\q","params":"', None),
    "a control character": (b'{"id":"\x01","params":"', None),
    "nothing": (b"", None),
    "quotes without end": (b'{"id":7,"a":' + b'"\\"' * 30_000, 7),
    "escaped quotes without end": (b'"' + b'\\"' * 40_000, None),
    "escaped quotes without end, cut elsewhere": (b'{"' + b'\\"' * 40_000, None),
    "brackets without end": (b"[" * 100_000, None),
}


@pytest.mark.timeout(5)
@pytest.mark.parametrize(("head", "identity"), HEADS.values(), ids=HEADS)
def test_a_line_too_long_is_refused_with_the_id_in_its_head(head: bytes, identity: object) -> None:
    (reply,) = Peer(server, "2025-11-25").send(Overlong(head))
    assert reply["id"] == identity
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32600, "Invalid Request")
