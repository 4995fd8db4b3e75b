"""A child on real pipes: no frame kills or hangs it, and no cancelled call costs it anything."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from commands import ACCORD, SAMPLES, TESTS, launch_command
from peer import notification, request
from serve.http.talk import eventually
from stdio_peer import StdioPeer

SERVE = [ACCORD, "serve", "features:basics", "--grace", "1"]
NARROW = launch_command(
    "stdio", "features:basics", grace=1, max_request=1_000, max_calls=4, threads=1
)

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


@pytest.fixture
def peer() -> Iterator[StdioPeer]:
    with StdioPeer(SERVE, cwd=SAMPLES) as peer:
        peer.initialize()
        yield peer


@pytest.fixture
def narrow() -> Iterator[StdioPeer]:
    with StdioPeer(NARROW, cwd=TESTS) as peer:
        peer.initialize("2025-03-26")
        yield peer


def call(name: str, identity: Any, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": name, "arguments": arguments}, identity)


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def cancelled(identity: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", {"requestId": identity})


def works(peer: StdioPeer) -> bool:
    """True if a task and a thread answer a good call."""
    texts = [
        peer.request("tools/call", {"name": name, "arguments": arguments})["result"]["content"]
        for name, arguments in (("add", {"a": 2, "b": 3}), ("echo", {"value": 5}))
    ]
    return texts == [[{"type": "text", "text": "5"}]] * 2


def said_nothing_more(peer: StdioPeer) -> bool:
    """True if the server ends without a further message once its input ends."""
    peer.close_input()
    return peer.rest() == []


def listing(identity: str = "7", params: str = "{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":%b}' % (
        identity.encode(),
        params.encode(),
    )


def echoing(value: str, tool: str = "exact", name: str = "a") -> bytes:
    return (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call",'
        f'"params":{{"name":"{tool}","arguments":{{"{name}":{value}}}}}}}'
    ).encode()


DEEP = "[" * 100_000 + "]" * 100_000
BAD_FRAMES: dict[str, tuple[bytes, Any, int | None]] = {
    "broken JSON": (b'{"jsonrpc":"2.0","id":7,', None, PARSE_ERROR),
    "invalid UTF-8": (b"\xff\xfe\xfd", None, PARSE_ERROR),
    "invalid UTF-8 in the id": (
        b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
        None,
        PARSE_ERROR,
    ),
    "invalid UTF-8 in the method": (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', None, PARSE_ERROR),
    "invalid UTF-8 in a name": (b'{"jsonrpc":"2.0","id":7,"\xff":1}', None, PARSE_ERROR),
    "invalid UTF-8 in an argument": (echoing('"@"').replace(b"@", b"\xc3"), None, PARSE_ERROR),
    "NaN": (echoing("NaN"), None, PARSE_ERROR),
    "Infinity": (echoing("Infinity"), None, PARSE_ERROR),
    "minus Infinity": (listing(params='{"a":-Infinity}'), None, PARSE_ERROR),
    "the same name twice": (b'{"jsonrpc":"2.0","id":7,"method":"nope","method":"ping"}', 7, None),
    "the same argument twice": (echoing('1,"a":2'), 7, None),
    "the same id twice": (b'{"jsonrpc":"2.0","id":7,"id":7,"method":"ping"}', 7, None),
    "an id of 400 digits": (listing("7" * 400), int("7" * 400), None),
    "an argument of 400 digits": (echoing("7" * 400), 7, None),
    "an argument of 400 digits that is ignored": (echoing('1,"b":' + "7" * 400), 7, None),
    "an argument past a double": (echoing("1e400"), 7, None),
    "deep params": (listing(params=DEEP), 7, INVALID_REQUEST),
    "a deep argument": (echoing(DEEP), 7, INVALID_REQUEST),
    "an argument that is somewhat deep": (echoing("[" * 300 + "]" * 300), 7, None),
    "a deep id": (listing(DEEP), None, INVALID_REQUEST),
    "a deep array": (DEEP.encode(), None, INVALID_REQUEST),
    "a deep array without an end": (b"[" * 100_000, None, INVALID_REQUEST),
    "a deep object without an end": (b'{"a":' * 100_000, None, INVALID_REQUEST),
    "a lone surrogate in the id": (listing('"\\ud800"'), None, INVALID_REQUEST),
    "a lone surrogate in the method": (
        b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}',
        7,
        INVALID_REQUEST,
    ),
    "a lone surrogate in the params": (listing(params='{"cursor":"\\ud800"}'), 7, INVALID_REQUEST),
    "a lone surrogate in an argument": (echoing('"\\udfff"', "echo", "value"), 7, INVALID_REQUEST),
    "a lone surrogate in a name": (echoing("1", "echo", "\\ud800"), 7, INVALID_REQUEST),
    "id null": (listing("null"), None, INVALID_REQUEST),
    "id true": (listing("true"), None, INVALID_REQUEST),
    "id a float": (listing("1.5"), None, INVALID_REQUEST),
    "id an object": (listing("{}"), None, INVALID_REQUEST),
    "a lone CR between messages": (listing() + b"\r" + listing(), None, PARSE_ERROR),
    "a lone CR in text": (listing('"a\rb"'), None, PARSE_ERROR),
    "a lone CR between members": (listing().replace(b",", b"\r,"), 7, None),
    "NUL": (b"\x00", None, PARSE_ERROR),
    "5 MiB": (listing(params='{"a":"' + "x" * 5 * 2**20 + '"}'), 7, INVALID_REQUEST),
    "5 MiB of escaped quotes": (b'{"a":"' + b'\\"' * 5 * 2**19, None, INVALID_REQUEST),
    "text that has no UTF-8": (echoing("1", "unspeakable"), 7, None),
}


@pytest.mark.requirement("mcp.base.error-shape")
@pytest.mark.parametrize(("frame", "identity", "code"), BAD_FRAMES.values(), ids=BAD_FRAMES)
def test_a_bad_frame_gets_one_reply_and_a_good_call_works(
    peer: StdioPeer, frame: bytes, identity: Any, code: int | None
) -> None:
    peer.send(frame + b"\n")
    reply = peer.receive(timeout=5)
    assert reply["id"] == identity
    assert code is None or reply["error"]["code"] == code
    assert works(peer)
    assert said_nothing_more(peer)


def test_all_bad_frames_in_one_stream_get_one_reply_each(peer: StdioPeer) -> None:
    peer.send(b"".join(frame + b"\n" for frame, _, _ in BAD_FRAMES.values()))
    replies = peer.replies(len(BAD_FRAMES), timeout=10)
    expected = [identity for _, identity, _ in BAD_FRAMES.values()]
    assert sorted(map(str, (reply["id"] for reply in replies))) == sorted(map(str, expected))
    assert works(peer)


def test_a_missing_last_newline_hides_no_message(peer: StdioPeer) -> None:
    peer.send(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
    peer.close_input()
    assert peer.rest() == [{"jsonrpc": "2.0", "id": 7, "result": {}}]
    assert peer.wait() == 0


@pytest.mark.parametrize(
    "head", [b'{"id":"a","method":"ping","params":"', b'{"id":"\\q","params":"', b"\xff"]
)
def test_an_endless_line_is_refused_before_it_ends(narrow: StdioPeer, head: bytes) -> None:
    narrow.send(head)
    for _ in range(100):
        narrow.send(b"x" * 10_000)
    reply = narrow.receive()
    assert (reply["id"], reply["error"]["code"]) == ("a" if b'"a"' in head else None, -32600)
    narrow.send(b"\n")
    assert works(narrow)
    assert said_nothing_more(narrow)


kinds = pytest.mark.parametrize("tool", ["forever", "patient"], ids=["task", "thread"])


def until_waiting(peer: StdioPeer, count: int) -> None:
    """Go on once that many calls wait to be cancelled."""
    found = -1
    while found != count:
        result = peer.request("tools/call", {"name": "waiting"})["result"]
        found = int(result["content"][0]["text"])


@kinds
def test_a_cancelled_call_gets_no_reply_and_leaves_its_room(narrow: StdioPeer, tool: str) -> None:
    for identity in range(1_000, 1_006):
        narrow.send(call(tool, identity))
        until_waiting(narrow, 1)
        narrow.send(cancelled(identity))
        until_waiting(narrow, 0)
    assert works(narrow)
    assert said_nothing_more(narrow)


@kinds
def test_a_call_cancelled_at_once_leaves_its_room(narrow: StdioPeer, tool: str) -> None:
    for identity in range(1_000, 1_006):
        narrow.send(line(call(tool, identity)) + line(cancelled(identity)))
        assert "result" in narrow.request("ping")
    assert eventually(lambda: works(narrow))  # a thread that has begun has to end first
    assert said_nothing_more(narrow)


@kinds
def test_a_batch_is_answered_when_its_last_call_is_cancelled(narrow: StdioPeer, tool: str) -> None:
    narrow.send([request("ping", id="a"), call(tool, "b")])
    until_waiting(narrow, 1)
    narrow.send(cancelled("b"))
    assert [member["id"] for member in narrow.receive_batch()] == ["a"]
    assert works(narrow)


def test_a_call_cancelled_before_a_thread_is_free_holds_up_no_batch(narrow: StdioPeer) -> None:
    narrow.send(call("patient", "a"))
    until_waiting(narrow, 1)
    narrow.send([request("ping", id="b"), call("echo", "c")])
    narrow.send(cancelled("c"))
    assert [member["id"] for member in narrow.receive_batch()] == ["b"]
    narrow.send(cancelled("a"))
    assert works(narrow)


def test_calls_in_flight_with_one_id_get_each_their_own_answer(peer: StdioPeer) -> None:
    for value in range(50):
        peer.send(call("echo", "same", value=value))
        peer.send(call("add", "same", a=value, b=1_000))
    replies = peer.replies(100)
    texts = sorted(int(reply["result"]["content"][0]["text"]) for reply in replies)
    assert {reply["id"] for reply in replies} == {"same"}
    assert texts == [*range(50), *range(1_000, 1_050)]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_both_eras_are_served_on_one_pipe(revision: str) -> None:
    with StdioPeer(SERVE, cwd=SAMPLES) as peer:
        assert peer.modern("server/discover")["result"]["resultType"] == "complete"
        assert peer.initialize(revision)["result"]["protocolVersion"] == revision
        assert works(peer)
        assert peer.modern("tools/call", {"name": "echo"})["result"]["resultType"] == "complete"
        assert works(peer)
