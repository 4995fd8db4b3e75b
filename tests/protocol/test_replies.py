"""Who gets a reply: each request one, a cancelled one none, notifications and responses none."""

from typing import Any

import pytest

import wire
from peer import ABSENT, Peer, notification, request
from samples.features import basics as server
from stdio_peer import modern_params

every_revision = pytest.mark.parametrize("revision", wire.REVISIONS)


def opened(peer: Peer, identity: Any, value: Any) -> None:
    """Start a call of `echo` and leave it open."""
    params = {"name": "echo", "arguments": {"value": value}}
    assert peer.receive(peer.worded("tools/call", params, identity)) == []


def cancelled(identity: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", {"requestId": identity})


def said(reply: dict[str, Any] | None) -> tuple[Any, Any]:
    """The id of a reply, and the text in it."""
    assert reply is not None
    return reply["id"], reply["result"]["content"][0]["text"]


NOTIFICATIONS = {
    "initialized": notification("notifications/initialized"),
    "initialized with null": notification("notifications/initialized", None),
    "progress": notification("notifications/progress", {"progressToken": 1, "progress": 1}),
    "of an unknown kind": notification("notifications/nope", {"a": 1}),
    "with params in an array": notification("notifications/initialized", [5]),
    "with a number for params": notification("notifications/nope", 5),
    "a method of requests": notification("tools/list"),
    "a call": notification("tools/call", {"name": "echo", "arguments": {"value": 1}}),
    "a begin": notification("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}),
    "of the stateless era": notification("notifications/nope", modern_params()),
}

RESPONSES: dict[str, dict[str, Any]] = {
    "a result": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "a result that is null": {"jsonrpc": "2.0", "id": 1, "result": None},
    "an error": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "No."}},
    "an error that is null": {"jsonrpc": "2.0", "id": 1, "error": None},
    "a result and an error": {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
    "an error without an id": {"jsonrpc": "2.0", "error": {"code": -32700, "message": "No."}},
    "an error to null": {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "No."}},
    "a result to an object": {"jsonrpc": "2.0", "id": {}, "result": {}},
    "a result without jsonrpc": {"id": 1, "result": {}},
}


@every_revision
@pytest.mark.parametrize(
    "message", (NOTIFICATIONS | RESPONSES).values(), ids=NOTIFICATIONS | RESPONSES
)
def test_a_notification_or_response_gets_no_reply(message: Any, revision: str) -> None:
    peer = Peer(server, revision)
    assert peer.send(message) == []
    assert said(peer.call("add", a=2, b=3)) == (1, "5")


@every_revision
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_calls_that_share_an_id_get_each_their_own_answer(
    order: tuple[int, ...], revision: str
) -> None:
    peer = Peer(server, revision)
    for value in "abc":
        opened(peer, 1, value)
    calls = list(peer.open)
    assert [said(peer.finish(calls[i])) for i in order] == [(1, f'"{"abc"[i]}"') for i in order]


@every_revision
def test_an_id_can_be_used_again_once_it_is_answered(revision: str) -> None:
    peer = Peer(server, revision)
    assert said(peer.ask("tools/call", {"name": "echo", "arguments": {"value": 1}}, id=7)) == (
        7,
        "1",
    )
    assert said(peer.ask("tools/call", {"name": "echo", "arguments": {"value": 2}}, id=7)) == (
        7,
        "2",
    )


@every_revision
@pytest.mark.parametrize("identity", [1, 0, "a", "", "é", 10**30])
def test_a_cancelled_call_gets_no_reply_and_others_do(identity: Any, revision: str) -> None:
    peer = Peer(server, revision)
    opened(peer, identity, "unwanted")
    opened(peer, "other", "wanted")
    unwanted, wanted = peer.open
    assert peer.receive(cancelled(identity)) == []
    assert peer.stopped == [unwanted]
    assert peer.finish(unwanted) is None
    assert said(peer.finish(wanted)) == ("other", '"wanted"')


def test_a_cancellation_of_the_stateless_era_is_acted_on() -> None:
    peer = Peer(server, wire.STATELESS)
    opened(peer, 1, "unwanted")
    peer.receive(notification("notifications/cancelled", modern_params({"requestId": 1})))
    assert peer.stopped == peer.open
    assert peer.finish(peer.open[0]) is None


def test_an_id_may_be_spelled_otherwise_in_its_cancellation() -> None:
    peer = Peer(server, "2025-11-25")
    opened(peer, "a/é", "unwanted")
    peer.receive(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
        b'"params":{"requestId":"\\u0061\\/\xc3\xa9"}}'
    )
    assert peer.stopped == peer.open


@pytest.mark.parametrize("times", [1, 2])
def test_each_cancellation_takes_back_one_of_the_calls_that_share_an_id(times: int) -> None:
    peer = Peer(server, "2025-11-25")
    opened(peer, 1, "a")
    opened(peer, 1, "b")
    for _ in range(times):
        peer.receive(cancelled(1))
    replies = [peer.finish(call) for call in list(peer.open)]
    assert sum(reply is not None for reply in replies) == 2 - times


IGNORED_CANCELLATIONS: dict[str, Any] = {
    "of an unknown id": cancelled(99),
    "of a finished call": cancelled("finished"),
    "of a handshake": cancelled("initialize"),
    "of the digits as text": cancelled("1"),
    "of a float": cancelled(1.0),
    "of null": cancelled(None),
    "of true": cancelled(True),
    "of an object": cancelled({"id": 1}),
    "of an array": cancelled([1]),
    "of a lone surrogate": cancelled("\ud800"),
    "of something deep": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'
    + b"[" * 200
    + b"]" * 200
    + b"}}",
    "without params": notification("notifications/cancelled", ABSENT),
    "with null": notification("notifications/cancelled", None),
    "with an array": notification("notifications/cancelled", [1]),
    "with text": notification("notifications/cancelled", "1"),
    "without an id": notification("notifications/cancelled", {"reason": "none"}),
}


@every_revision
@pytest.mark.parametrize("message", IGNORED_CANCELLATIONS.values(), ids=IGNORED_CANCELLATIONS)
def test_a_cancellation_of_nothing_is_ignored(message: Any, revision: str) -> None:
    peer = Peer(server, revision)
    peer.ask("tools/call", {"name": "echo"}, id="finished")
    opened(peer, 1, "wanted")
    assert peer.receive(message) == []
    assert peer.stopped == []
    assert said(peer.finish(peer.open[0])) == (1, '"wanted"')


@pytest.mark.parametrize("revision", wire.REVISIONS[:-1])
@pytest.mark.parametrize("params", [ABSENT, None, {}, {"_meta": None}, {"unknown": 1}], ids=str)
def test_params_that_say_nothing_are_taken(params: Any, revision: str) -> None:
    for method in ("ping", "tools/list"):
        (reply,) = Peer(server, revision).send(request(method, params))
        assert "result" in reply


@every_revision
@pytest.mark.parametrize("given", [{}, {"arguments": None}, {"arguments": {}}], ids=str)
def test_arguments_may_be_left_out(given: Any, revision: str) -> None:
    assert said(Peer(server, revision).ask("tools/call", {"name": "echo", **given})) == (1, "null")


NEAR_THE_STACK = {
    "params": '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":%s}}',
    "an unknown argument": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":%s}}}',
    "a wrong argument": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exact","arguments":{"a":%s}}}',
    "capabilities": '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"a":%s}}}',
    "an id": '{"jsonrpc":"2.0","id":%s,"method":"tools/list"}',
    "an id without jsonrpc": '{"id":%s,"method":"tools/list"}',
}


@pytest.mark.parametrize("frame", NEAR_THE_STACK.values(), ids=NEAR_THE_STACK)
def test_nesting_of_any_depth_gets_one_reply(frame: str) -> None:
    peer = Peer(server, "2025-11-25")
    for depth in (100, *range(250, 260), *range(700, 1_010), 5_000):
        assert len(peer.send(frame.replace("%s", "[" * depth + "]" * depth).encode())) == 1


def test_a_cancellation_of_any_depth_is_ignored_or_refused() -> None:
    peer = Peer(server, "2025-11-25")
    frame = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}'
    for depth in range(700, 1_010):
        assert len(peer.send(frame.replace("%s", "[" * depth + "]" * depth).encode())) <= 1
