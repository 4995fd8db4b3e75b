"""Laws over what hypothesis makes up: no frame breaks a connection, and no two calls are mixed up."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from accord import Server
from accord.protocol import Lines
from laws import examples
from peer import Peer, notification, request
from samples.features import add, echo
from samples.features import basics as server
from stdio_peer import modern_params

# Any frame

quick = Server("quick")
quick.tool(add)
quick.tool(echo)

FRAMES = [
    json.dumps(message).encode()
    for message in (
        request("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}}),
        request("ping", id="a"),
        request("tools/list", {"cursor": "1abc"}),
        request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}),
        request("tools/call", {"name": "echo", "arguments": {"value": ["\u00e9", -1.5e3, None]}}),
        request(
            "tools/call", modern_params({"name": "echo", "arguments": {"more": "\ud83d\ude00"}})
        ),
        request("server/discover", modern_params()),
        notification("notifications/cancelled", {"requestId": 1}),
        [request("ping", id=1), notification("notifications/initialized"), request("nope", id=2)],
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    )
]
SCRAPS = (
    *(
        b"\xff",
        b"\xed\xa0\x80",
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"\\ud800",
        b"\\u0000",
        b"\\q",
        b"\x00",
    ),
    *(
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"7" * 400,
        b"-0",
        b"01",
        b"1.0",
        b"true",
        b"null",
        b"{}",
        b"[]",
    ),
    *(b'"', b"\\", b",", b":", b"{", b"}", b"[", b"]", b" ", b"\r", b"\n", b"\t", b'"id":2,'),
    *(
        b"[" * 1_100,
        b'{"a":' * 990,
        b"x" * 5_000,
        b'"jsonrpc":"1.0",',
        b'"method":5,',
        b'"params":',
    ),
)

BEGUN = (None, *wire.REVISIONS[:-1])

scraps = st.sampled_from(SCRAPS) | st.sampled_from(FRAMES) | st.binary(max_size=4)


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A good frame with some of its parts cut out and scraps put in."""
    frame = draw(st.sampled_from(FRAMES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(frame)))
        end = start + draw(st.integers(0, 12))
        frame = frame[:start] + draw(scraps | st.just(b"")) + frame[end:]
    return frame


@settings(max_examples=examples(500))
@given(st.lists(mutants(), min_size=1, max_size=3), st.sampled_from(BEGUN))
def test_after_any_frame_a_good_call_works(frames: list[bytes], revision: str | None) -> None:
    peer = Peer(quick, revision)
    lines = Lines(4_000)
    for line in lines.feed(b"\n".join(frames)) + lines.end():
        assert len(peer.send(line)) <= 1
    params = modern_params({"name": "add", "arguments": {"a": 2, "b": 3}})
    (reply,) = peer.send(request("tools/call", params, id="good"))
    assert reply["result"]["content"] == [{"type": "text", "text": "5"}]
    assert peer.initialize("2025-11-25")["result"]["protocolVersion"] == "2025-11-25"


# Any order

IDS = (1, 2, "1", "a")
steps = st.lists(
    st.tuples(st.just("ask"), st.sampled_from(IDS), st.booleans())
    | st.tuples(st.just("cancel"), st.sampled_from(IDS), st.booleans())
    | st.tuples(st.just("finish"), st.integers(0, 20), st.booleans()),
    max_size=40,
)


@settings(max_examples=examples(300))
@given(steps, st.sampled_from(wire.REVISIONS[:-1]))
def test_every_call_not_cancelled_gets_its_own_reply_once(
    steps: list[tuple[str, Any, bool]], revision: str
) -> None:
    peer = Peer(server, revision)
    for number, (step, which, is_modern) in enumerate(steps):
        if step == "ask":
            ask(peer, which, number, is_modern=is_modern)
        elif step == "cancel":
            cancel(peer, which)
        elif peer.open:
            finish(peer, which % len(peer.open))
    while peer.open:
        finish(peer, 0)


def ask(peer: Peer, identity: Any, number: int, *, is_modern: bool) -> None:
    params = {"name": "echo", "arguments": {"value": number}}
    asked = request("tools/call", modern_params(params) if is_modern else params, identity)
    before = len(peer.open)
    assert peer.receive(asked) == []
    assert len(peer.open) == before + 1


def cancel(peer: Peer, identity: Any) -> None:
    waiting = [call for call in peer.open if call.id == identity and call not in peer.stopped]
    before = list(peer.stopped)
    assert peer.receive(notification("notifications/cancelled", {"requestId": identity})) == []
    stopped = peer.stopped[len(before) :]
    assert len(stopped) == bool(waiting)
    assert all(call in waiting for call in stopped)


def finish(peer: Peer, index: int) -> None:
    call = peer.open[index]
    reply = peer.finish(call)
    if call in peer.stopped:
        assert reply is None
        return
    assert reply["id"] == call.id
    value = json.loads(call.arguments)["value"]
    assert reply["result"]["content"] == [{"type": "text", "text": str(value)}]
