"""Batches: under one revision alone, answered with one array when the last call is done."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from peer import Peer, notification, request
from samples.features import basics as server
from stdio_peer import modern_params


def echo(identity: Any, value: Any = None) -> dict[str, Any]:
    return request("tools/call", {"name": "echo", "arguments": {"value": value}}, identity)


def cancelled(identity: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", {"requestId": identity})


def ids(batch: list[dict[str, Any]] | None) -> list[Any]:
    assert batch is not None
    return [member["id"] for member in batch]


BATCHES: dict[str, list[Any]] = {
    "empty": [],
    "a call": [echo(1)],
    "two requests": [echo(1), request("ping", id=2)],
    "a notification": [notification("notifications/initialized")],
    "a number": [5],
    "an array": [[]],
}


@pytest.fixture
def peer() -> Peer:
    return Peer(server, wire.BATCHES)


@pytest.mark.parametrize(
    "revision", [None, *(r for r in wire.REVISIONS if r != wire.BATCHES)], ids=str
)
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_elsewhere_a_batch_is_one_invalid_request(batch: Any, revision: str | None) -> None:
    peer = Peer(server, revision)
    (reply,) = peer.receive(batch)
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert peer.open == []


def test_an_empty_batch_is_an_invalid_request(peer: Peer) -> None:
    (reply,) = peer.send(b" [ ] ")
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    "frame", [b"[", b"[{},", b'[{"jsonrpc":"2.0","id":1}', b"[NaN]", b'["\xff"]']
)
def test_an_array_that_is_not_json_is_a_parse_error(peer: Peer, frame: bytes) -> None:
    (reply,) = peer.send(frame)
    assert (reply["id"], reply["error"]["code"]) == (None, -32700)


def test_each_request_gets_its_own_reply_in_one_array(peer: Peer) -> None:
    (batch,) = peer.send(
        [
            echo(1, "a"),
            notification("notifications/initialized"),
            request("ping", id="two"),
            {"jsonrpc": "2.0", "id": 8, "result": {}},
            request("nope", id=3),
            request("tools/call", {"name": "nope"}, id=4),
            request("tools/call", [], id=5),
            echo(1, "b"),
        ]
    )
    outcomes = {(m["id"], m.get("error", {}).get("code"), _text(m)) for m in batch}
    assert len(batch) == 6
    assert outcomes == {
        (1, None, '"a"'),
        ("two", None, None),
        (3, -32601, None),
        (4, -32602, None),
        (5, -32602, None),
        (1, None, '"b"'),
    }


def _text(message: dict[str, Any]) -> Any:
    return message.get("result", {}).get("content", [{"text": None}])[0]["text"]


@pytest.mark.parametrize(
    ("member", "identity"),
    [
        *((no_object, None) for no_object in (5, "x", None, [], [echo(2)])),
        *((nameless, None) for nameless in ({}, request("ping", id=None))),
        *((named, 2) for named in ({"id": 2}, request(5, id=2))),
    ],
    ids=str,
)
def test_a_bad_member_spoils_no_other(peer: Peer, member: Any, identity: Any) -> None:
    (batch,) = peer.send([member, request("ping", id=1)])
    outcomes = {m["id"]: m.get("error", {}).get("code") for m in batch}
    assert outcomes == {identity: -32600, 1: None}


def test_a_lone_surrogate_in_a_member_spoils_no_other(peer: Peer) -> None:
    (batch,) = peer.send([request("ping", id=1), echo(2, "\ud800")])
    outcomes = {m["id"]: m.get("error", {}).get("code") for m in batch}
    assert outcomes == {1: None, 2: -32600}


def test_initialize_inside_a_batch_is_refused_and_changes_nothing(peer: Peer) -> None:
    begin = request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, id=1)
    (batch,) = peer.send([begin, request("ping", id=2)])
    assert {m["id"]: m.get("error", {}).get("code") for m in batch} == {1: -32600, 2: None}
    assert len(peer.send([request("ping")])) == 1


def test_a_stateless_request_inside_a_batch_is_refused(peer: Peer) -> None:
    (batch,) = peer.send([request("tools/list", modern_params(), id=1), request("ping", id=2)])
    assert {m["id"]: m.get("error", {}).get("code") for m in batch} == {1: -32600, 2: None}


def test_notifications_and_responses_alone_get_no_reply(peer: Peer) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert peer.send([notification("notifications/initialized"), cancelled(9)]) == []
    assert peer.send([response, notification("nope")]) == []


def test_the_length_of_a_batch_is_bounded(peer: Peer) -> None:
    (batch,) = peer.send([echo(n) for n in range(50)])
    assert ids(batch) == list(range(50))
    (reply,) = peer.receive([echo(n) for n in range(10_000)])
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert peer.open == []


def test_the_array_comes_when_the_last_call_is_done(peer: Peer) -> None:
    assert peer.receive([echo(1), request("ping", id=2), echo(3), echo(4)]) == []
    first, second, third = peer.open
    assert peer.finish(third) is None
    assert peer.finish(first) is None
    assert sorted(ids(peer.finish(second))) == [1, 2, 3, 4]


def test_two_batches_in_flight_do_not_mix(peer: Peer) -> None:
    peer.receive([echo(1), echo(2)])
    peer.receive([echo(1), echo(3)])
    one, two, other_one, three = peer.open
    assert peer.finish(one) is None
    assert peer.finish(three) is None
    assert sorted(ids(peer.finish(other_one))) == [1, 3]
    assert sorted(ids(peer.finish(two))) == [1, 2]


def test_a_call_may_be_cancelled_by_its_own_batch(peer: Peer) -> None:
    (batch,) = peer.send([echo(1), cancelled(1), request("ping", id=2)])
    assert ids(batch) == [2]


def test_a_batch_of_cancelled_calls_gets_no_reply(peer: Peer) -> None:
    peer.receive([echo(1), echo(2)])
    assert peer.receive(cancelled(1)) == peer.receive(cancelled(2)) == []
    assert [peer.finish(call) for call in list(peer.open)] == [None, None]


@given(st.data())
def test_every_call_that_was_not_cancelled_is_in_the_array(data: st.DataObject) -> None:
    peer = Peer(server, wire.BATCHES)
    wanted = data.draw(st.lists(st.booleans(), min_size=1, max_size=6))
    peer.receive([echo(n, n) for n in range(len(wanted))])
    arrays = []
    for n, call in data.draw(st.permutations(list(enumerate(peer.open)))):
        if not wanted[n]:
            arrays += peer.receive(cancelled(n))
        reply = peer.finish(call)
        arrays += [] if reply is None else [reply]
    expected = [(n, str(n)) for n, is_wanted in enumerate(wanted) if is_wanted]
    assert len(arrays) == bool(expected)
    assert sorted((m["id"], _text(m)) for array in arrays for m in array) == expected
