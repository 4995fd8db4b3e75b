"""Streams of events: when an answer is one, and how a client gets on with one that it lost."""

import asyncio
import json
import re

import pytest

from accord.serve.http.streams import MAX_BYTES, MOST_EVENTS, Stream
from http_peer import HttpPeer, HttpServer, text_of
from serve.http.talk import ERAS, REVISIONS, STATELESS, census, eventually, limited

TRICKY = {
    "line breaks": "one\r\ntwo\rthree\nfour",
    "an event of its own": 'x\n\nid: 9-9\ndata: {"jsonrpc":"2.0"}\n\n',
    "Unicode's line breaks": "a\u2028b\u2029c\u0085d\x0be\x0cf",
    "a NUL": "a\0b",
    "a colon first": ": no comment",
}


# When


@pytest.mark.requirement("mcp.http.json-or-stream")
@pytest.mark.parametrize("revision", REVISIONS)
def test_progress_makes_the_answer_a_stream(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as client:
        response = client.post(client.watching("say", token="tok", message="half"))
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
        assert response.headers["Content-Length"] is None
        assert response.headers["X-Accel-Buffering"] == "no"
        assert "no-store" in response.headers["Cache-Control"]
        progress, result = response.rest()
        params = progress.message["params"]
        assert (params["progressToken"], params["progress"]) == ("tok", 1)
        assert (params["total"], params["message"]) == (2, "half")
        assert text_of(result.message) == "half"


@pytest.mark.parametrize("token", [7, "seven", 0, ""])
@pytest.mark.parametrize("revision", ERAS)
def test_a_token_comes_back_as_it_was(server: HttpServer, revision: str, token: int | str) -> None:
    with HttpPeer(server.port, revision) as client:
        progress, _ = client.post(client.watching("say", token=token, message="m")).rest()
        assert progress.message["params"]["progressToken"] == token


@pytest.mark.requirement("mcp.http.json-or-stream", "mcp.progress.known-token")
@pytest.mark.parametrize("revision", ERAS)
def test_without_a_token_or_progress_the_answer_is_plain(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as client:
        for message in (client.calling("say", message="m"), client.watching("echo", word="m")):
            response = client.post(message)
            assert response.headers["Content-Type"] == "application/json"
            assert response.text == "m"


def test_a_call_of_the_handshake_era_without_a_session_is_streamed_too(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False) as client:
        _, result = client.post(client.watching("say", message="m")).rest()
        assert text_of(result.message) == "m"


@pytest.mark.parametrize("revision", ERAS)
def test_progress_is_sent_when_it_is_made(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as client, client.again() as other:
        response = client.post(client.watching("act", scenes=3, until=f"prompt {revision}"))
        assert response.next().message["params"]["progress"] == 0, "though the call still waits"
        other.call("mark", name=f"prompt {revision}")
        *progress, result = response.rest()
        assert [event.message["params"]["progress"] for event in progress] == [1, 2]
        assert text_of(result.message) == "3 scenes"


@pytest.mark.parametrize("what", TRICKY)
@pytest.mark.parametrize("revision", ERAS)
def test_no_text_breaks_an_event(server: HttpServer, revision: str, what: str) -> None:
    with HttpPeer(server.port, revision) as client:
        progress, result = client.post(client.watching("say", message=TRICKY[what])).rest()
        assert progress.message["params"]["message"] == TRICKY[what]
        assert text_of(result.message) == TRICKY[what]


@pytest.mark.requirement("mcp.progress.stops")
@pytest.mark.parametrize("revision", ERAS)
def test_progress_after_the_answer_goes_nowhere(revision: str) -> None:
    with limited() as server, HttpPeer(server.port, revision) as client:
        before = census(client)["tasks"]
        assert client.post(client.watching("brag")).text == "done"
        client.call("mark", name="bragged")
        assert eventually(lambda: census(client)["tasks"] <= before)
        assert client.call("echo", word="next") == "next"
        server.process.terminate()
        server.wait()
        assert server.stderr == ""


# Resuming


@pytest.mark.requirement("mcp.http.event-ids")
def test_ids_of_events_differ_in_all_streams_of_a_session(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        ids = [
            event.id
            for _ in range(5)
            for event in client.post(client.watching("say", message="m")).rest()
        ]
        assert None not in ids
        assert len(set(ids)) == 10


def test_a_client_that_lost_its_stream_gets_the_rest_and_the_result(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        first = client.post(client.watching("act", scenes=4, until="reunion")).next()
        client.close()
        with client.again() as later, client.again() as other:
            stream = later.listen(first.id)
            other.call("mark", name="reunion")
            *progress, result = stream.rest()
            assert [event.message["params"]["progress"] for event in progress] == [1, 2, 3]
            assert text_of(result.message) == "4 scenes"


@pytest.mark.requirement("mcp.http.replay-own")
def test_a_stream_can_be_resumed_again_and_after_its_end(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        events = client.post(client.watching("say", message="m")).rest()
        other = client.post(client.watching("say", message="other")).rest()
        for _ in range(2):
            assert client.listen(events[0].id).rest() == events[1:], "of this stream alone"
        assert client.listen(other[0].id).rest() == other[1:]
        assert client.listen(events[-1].id).rest() == []


UNKNOWN = [
    *("", "x", "-", "0-0", "99-0", "1", "1-0", "1.-0", ".-0", "1.00000000-0", "1.../x-0"),
    *("0@-0", "99@-0", "1@", "1@-", "1@-x", "1@--1", "1@-999", "1@-²", "1@-0-0"),
]
"""Ids of events, with `@` for the part of the process."""


@pytest.mark.parametrize("last", [*UNKNOWN, "1@-" + "9" * 5_000], ids=range(len(UNKNOWN) + 1))
def test_an_event_that_never_was_is_a_400(server: HttpServer, last: str) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        events = client.post(client.watching("say", message="m")).rest()
        found = re.fullmatch(r"1(\.[0-9a-f]{8})-1", events[0].id or "")
        assert found, "so that the table is near the truth"
        last = last.replace("@", found[1])
        response = client.visit("GET", {"Accept": "text/event-stream", "Last-Event-ID": last})
        assert response.status == 400
        assert response.messages


def test_an_event_of_another_session_is_a_400(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, HttpPeer(server.port, "2025-11-25") as one:
        event, _ = client.post(client.watching("say", message="m")).rest()
        assert one.listen(event.id).status == 400


def test_the_store_of_a_session_is_bounded_and_the_newest_streams_are_kept(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        firsts = [client.post(client.watching("say", message="m")).rest()[0] for _ in range(50)]
        assert client.listen(firsts[0].id).status == 400
        for event in firsts[-5:]:
            (result,) = client.listen(event.id).rest()
            assert text_of(result.message) == "m"


def test_a_long_stream_that_was_lost_still_has_its_result(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        first = client.post(client.watching("act", scenes=1_000, until="long")).next()
        client.close()
        with client.again() as later:
            later.call("mark", name="long")
            *progress, result = later.listen(first.id).rest()
            numbers = [event.message["params"]["progress"] for event in progress]
            assert numbers == list(range(1_000 - len(numbers), 1_000)), "the newest, in order"
            assert text_of(result.message) == "1000 scenes"


def test_a_quiet_stream_says_that_it_is_still_there() -> None:
    with (
        limited(keep_alive_seconds=0.02) as server,
        HttpPeer(server.port, "2025-11-25") as client,
        client.again() as listener,
        client.again() as other,
    ):
        quiet = listener.listen()
        acting = client.post(client.watching("act", scenes=1, until="quiet"))
        acting.next()
        primed = [quiet._raw.readline() for _ in range(3)]
        assert re.fullmatch(rb"id: 1l\.\w+-0\ndata: \n\n", b"".join(primed)), "to come back to"
        for stream in (quiet, acting):
            lines = [stream._raw.readline() for _ in range(4)]
            assert lines == [b":\n", b"\n", b":\n", b"\n"]
        other.call("mark", name="quiet")
        (result,) = acting.rest()
        assert text_of(result.message) == "1 scenes"


# The store by itself


def _numbers(events: list[bytes]) -> list[tuple[int, int]]:
    """What each event says its number is, and the number it was made with."""
    pairs = []
    for event in events:
        id, data = event.decode().removesuffix("\n\n").split("\n")
        pairs.append((int(id.rpartition("-")[2]), json.loads(data.removeprefix("data: "))))
    return pairs


def test_a_reader_that_falls_behind_never_gets_a_message_under_anothers_id() -> None:
    async def read_slowly() -> list[bytes]:
        stream = Stream("s")
        for number in range(5):
            stream.append(b"%d" % number)
        events = stream.follow(0, 60)
        read = [await anext(events)]
        for number in range(5, MOST_EVENTS + 50):
            stream.append(b"%d" % number)
        stream.close()
        return read + [event async for event in events]

    pairs = _numbers(asyncio.run(read_slowly()))
    assert [id for id, _ in pairs] == [number for _, number in pairs]
    assert [number for _, number in pairs] == sorted({number for _, number in pairs})
    assert pairs[-1][1] == MOST_EVENTS + 49


def test_a_reader_that_keeps_up_gets_everything() -> None:
    async def read() -> list[bytes]:
        stream = Stream("s")
        events = stream.follow(0, 60)
        read = []
        for number in range(3 * MOST_EVENTS):
            stream.append(b"%d" % number)
            read.append(await anext(events))
        stream.close()
        return read + [event async for event in events]

    assert _numbers(asyncio.run(read())) == [(n, n) for n in range(3 * MOST_EVENTS)]


@pytest.mark.requirement("mcp.http.no-resuming")
def test_the_stateless_era_does_not_resume(server: HttpServer) -> None:
    with HttpPeer(server.port, STATELESS) as client:
        event, _ = client.post(client.watching("say", message="m")).rest()
        assert client.listen(event.id or "0-0").status == 405


def test_a_stream_keeps_a_bounded_number_of_bytes_and_always_the_newest_event() -> None:
    async def read() -> list[bytes]:
        stream = Stream()
        for message in (b"1" * MAX_BYTES, b"2" * MAX_BYTES, b"3" * (2 * MAX_BYTES)):
            stream.append(message)
        stream.close()
        return [event async for event in stream.follow(0, 1)]

    [event] = asyncio.run(read())
    assert event.startswith(b"id: 0-2\ndata: 3")
