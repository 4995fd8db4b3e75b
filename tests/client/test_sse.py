"""Server-sent events: the events of a byte stream, however it is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.client.sse import EventStreamDecoder, ServerSentEvent
from accord.errors import PeerError

STREAMS: dict[str, tuple[bytes, list[ServerSentEvent]]] = {
    "one event": (b"data: a\n\n", [ServerSentEvent(b"a")]),
    "two events": (b"data: a\n\ndata: b\n\n", [ServerSentEvent(b"a"), ServerSentEvent(b"b")]),
    "lines that end with CR": (b"data: a\r\rdata: b\r\r", [ServerSentEvent(b"a"), ServerSentEvent(b"b")]),
    "lines that end with CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [ServerSentEvent(b"a"), ServerSentEvent(b"b")]),
    "line ends of all kinds": (b"data: a\r\ndata: b\rdata: c\n\r\n", [ServerSentEvent(b"a\nb\nc")]),
    "several lines of data": (b"data: a\ndata:\ndata: c\n\n", [ServerSentEvent(b"a\n\nc")]),
    "no space after the colon": (b"data:a\n\n", [ServerSentEvent(b"a")]),
    "two spaces after the colon": (b"data:  a\n\n", [ServerSentEvent(b" a")]),
    "a colon in the data": (b"data: a: b\n\n", [ServerSentEvent(b"a: b")]),
    "a field without a colon": (b"data\n\n", [ServerSentEvent(b"")]),
    "empty data": (b"id: 1\ndata: \n\n", [ServerSentEvent(b"", id="1")]),
    "a comment": (b": hello\n\ndata: a\n: more\n\n", [ServerSentEvent(b"a")]),
    "only a comment": (b":\n\n", []),
    "unknown fields": (b"colour: red\n: x\nDATA: no\ndata: a\n\n", [ServerSentEvent(b"a")]),
    "a type": (b"event: endpoint\ndata: /x\n\ndata: a\n\n", [ServerSentEvent(b"/x", "endpoint"), ServerSentEvent(b"a")]),
    "an empty type": (b"event:\ndata: a\n\n", [ServerSentEvent(b"a")]),
    "an id that stays": (b"id: 7\ndata: a\n\ndata: b\n\n", [ServerSentEvent(b"a", id="7"), ServerSentEvent(b"b", id="7")]),
    "an id with NUL": (b"id: 7\nid: a\0b\ndata: a\n\n", [ServerSentEvent(b"a", id="7")]),
    "an id taken back": (b"id: 7\n\nid\ndata: a\n\n", [ServerSentEvent(b"a")]),
    "a mark at the beginning": (b"\xef\xbb\xbfdata: a\n\n", [ServerSentEvent(b"a")]),
    "a mark later": (b"\n\xef\xbb\xbfdata: a\n\n", []),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    "bytes that are no UTF-8": (b"data: \xff\xc3\n\n", [ServerSentEvent(b"\xff\xc3")]),
    "characters of several bytes": ("data: ü🦉\u2028\x85x\n\n".encode(), [ServerSentEvent("ü🦉\u2028\x85x".encode())]),
    "an event that is cut off": (b"data: a\n\ndata: b\n", [ServerSentEvent(b"a")]),
    "a line that is cut off": (b"data: a\n\ndata: b", [ServerSentEvent(b"a")]),
    "do_nothing": (b"", []),
    "blank lines": (b"\n\r\n\r\n\n", []),
}  # fmt: skip

FIELDS = st.sampled_from(
    [b"data", b"id", b"event", b"retry", b"", b"x", b"data:", b"\xef\xbb\xbfdata"]
)
VALUES = st.sampled_from([b"", b" ", b":", b": a", b":b", b": \xc3\xbc", b": 7", b":\0", b": \xff"])
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"])
BYTES = st.lists(st.tuples(FIELDS, VALUES, ENDS)).map(
    lambda parts: b"".join(part for line in parts for part in line)
)


def read(*chunks: bytes) -> list[ServerSentEvent]:
    events = EventStreamDecoder(1_000)
    return [event for chunk in chunks for event in events.feed(chunk)]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_says(name: str) -> None:
    stream, events = STREAMS[name]
    assert read(stream) == events


@pytest.mark.parametrize("name", STREAMS)
def test_it_says_the_same_byte_by_byte(name: str) -> None:
    stream, events = STREAMS[name]
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == events


@given(BYTES | st.binary(), st.lists(st.integers(0, 200)))
def test_any_chunks_give_the_same_events(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert read(*chunks) == read(stream)


@given(st.lists(st.binary().filter(lambda data: not {10, 13} & set(data)), min_size=1))
def test_whatever_lines_are_sent_as_data_arrive(lines: list[bytes]) -> None:
    stream = b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
    assert EventStreamDecoder(100_000).feed(stream) == [ServerSentEvent(b"\n".join(lines))]


def test_an_event_comes_with_the_cr_that_ends_it() -> None:
    events = EventStreamDecoder(1_000)
    assert events.feed(b"data: a\r\n\r") == [ServerSentEvent(b"a")]
    assert events.feed(b"\ndata: b\r\r") == [ServerSentEvent(b"b")]


@pytest.mark.parametrize(
    ("stream", "retry"),
    [
        (b"retry: 1500\n\n", 1500),
        (b"retry:0\n\n", 0),
        (b"retry: soon\n\n", None),
        (b"retry: 1.5\n\n", None),
        (b"retry: -1\n\n", None),
        (b"retry:\n\n", None),
        (b"retry: 99999999999999999999\n\n", None),
    ],
)
def test_it_knows_when_to_come_back(stream: bytes, retry: int | None) -> None:
    events = EventStreamDecoder(1_000)
    events.feed(stream)
    assert events.retry == retry


def test_it_knows_the_last_id_of_an_event_without_data() -> None:
    events = EventStreamDecoder(1_000)
    assert events.feed(b"id: 7\n\nid: 8\n") == []
    assert events.last_id == "7"


@pytest.mark.parametrize(
    "chunks",
    [[b"data: " + b"x" * 1_001], [b"data: x\n"] * 600, [b"x" * 600, b"x" * 600]],
    ids=["one long line", "many lines", "a line in parts"],
)
def test_an_event_beyond_the_limit_is_the_peers_fault(chunks: list[bytes]) -> None:
    with pytest.raises(PeerError, match="longer than 1000 bytes"):
        read(*chunks)


def test_events_together_may_be_longer_than_the_limit() -> None:
    assert len(read(*[b"data: " + b"x" * 500 + b"\n\n"] * 10)) == 10
