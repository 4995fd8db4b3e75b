"""Changes of a server while it is served: told to those who want to hear of them, and to nobody else."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wire
from commands import TESTS, Popen, launch_command
from http_peer import HttpPeer, HttpServer, Response
from peer import request
from serve.http.talk import eventually
from serve.talk import ENVIRONMENT, cancel
from serve.test_questions import http, http_census, is_back, stdio
from stdio_peer import StdioPeer, modern_params

REVISION = "2025-11-25"
ID = "io.modelcontextprotocol/subscriptionId"
KINDS = ["tools", "prompts", "resources"]
ALL = {f"{kind}ListChanged": True for kind in KINDS}


def listening(id: Any, **wanted: Any) -> dict[str, Any]:
    params = modern_params({"notifications": wanted})
    return {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}


def listen(peer: StdioPeer, id: Any, **wanted: Any) -> dict[str, Any]:
    """Open a subscription; what will be told."""
    peer.send(listening(id, **wanted))
    first = peer.receive()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"] == {ID: id}
    honoured: dict[str, Any] = first["params"]["notifications"]
    return honoured


def call(peer: StdioPeer, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Call a tool of the stateless era; what came before, or with, its answer."""
    params = {"name": tool, "arguments": arguments}
    assert "result" in peer.modern("tools/call", params)
    peer.modern("tools/call", {"name": "echo", "arguments": {"word": "x", "rounds": 3}})
    came = list(peer._waiting)
    peer._waiting.clear()
    return came  # type: ignore[return-value]


# The stateless era, over stdio


@pytest.mark.requirement("mcp.subscriptions.acknowledged", "mcp.subscriptions.supported-only")
def test_a_subscription_is_acknowledged_with_what_it_will_get() -> None:
    with stdio() as peer:
        asked = {**ALL, "resourceSubscriptions": ["sample://a", "sample://still", "x://y", ""]}
        assert listen(peer, 1, **asked) == {**ALL, "resourceSubscriptions": ["sample://a"]}
        assert listen(peer, "two", toolsListChanged=False) == {}
        assert listen(peer, "three", promptsListChanged=True) == {"promptsListChanged": True}


@pytest.mark.requirement("mcp.subscriptions.only-wanted", "mcp.subscriptions.tagged")
def test_each_subscription_gets_what_it_wants_under_its_own_id() -> None:
    with stdio() as peer:
        listen(peer, 1, toolsListChanged=True)
        listen(peer, "two", toolsListChanged=True, resourceSubscriptions=["sample://a"])
        came = call(peer, "change", kinds=["tools"])
        assert {(m["method"], m["params"]["_meta"][ID]) for m in came} == {
            ("notifications/tools/list_changed", 1),
            ("notifications/tools/list_changed", "two"),
        }
        (updated,) = call(peer, "update", uri="sample://a")
        assert updated["params"] == {"_meta": {ID: "two"}, "uri": "sample://a"}
        assert call(peer, "update", uri="sample://b") == []
        assert call(peer, "change", kinds=["prompts", "resources"]) == []


@pytest.mark.requirement("mcp.subscriptions.cancelled")
def test_a_subscription_that_is_taken_back_hears_nothing_more() -> None:
    with stdio() as peer:
        listen(peer, 1, **ALL)
        listen(peer, 2, **ALL)
        cancel(peer, 1)
        came = call(peer, "change", kinds=["tools"])
        assert {m["params"]["_meta"][ID] for m in came} == {2}
        peer.close_input()
        (end,) = peer.rest()
        assert end["id"] == 2, "and gets no answer"  # type: ignore[call-overload]


@pytest.mark.requirement("mcp.subscriptions.graceful-end")
def test_the_end_of_the_server_ends_its_subscriptions_with_an_answer() -> None:
    with stdio(grace=50) as peer:
        listen(peer, 1, **ALL)
        listen(peer, "two", **ALL)
        peer.process.send_signal(signal.SIGTERM)
        ends = {reply["id"]: reply["result"] for reply in peer.replies(2)}
        assert {id: end["_meta"][ID] for id, end in ends.items()} == {1: 1, "two": "two"}
        assert peer.wait() == 0, "and does not wait for its grace to pass"


@pytest.mark.parametrize(
    "params", [{}, {"notifications": None}, {"notifications": {"toolsListChanged": "yes"}}]
)
def test_a_wish_that_makes_no_sense_is_refused(params: dict[str, Any]) -> None:
    with stdio() as peer:
        assert peer.modern("subscriptions/listen", params)["error"]["code"] == -32602


def test_nobody_hears_of_changes_who_has_not_asked() -> None:
    with stdio() as peer:
        assert call(peer, "change", kinds=KINDS) == []
        assert call(peer, "update", uri="sample://a") == []


# The handshake era, over stdio


def test_one_that_has_begun_hears_of_lists_and_of_what_it_has_subscribed_to() -> None:
    with stdio() as peer:
        peer.initialize(REVISION)
        for uri in ("sample://a", "sample://b"):
            assert peer.request("resources/subscribe", {"uri": uri})["result"] == {}
        assert peer.request("resources/unsubscribe", {"uri": "sample://b"})["result"] == {}
        peer.request("tools/call", {"name": "change", "arguments": {"kinds": KINDS}})
        for uri in ("sample://a", "sample://b", "sample://c"):
            peer.request("tools/call", {"name": "update", "arguments": {"uri": uri}})
        peer.request("tools/call", {"name": "echo", "arguments": {"word": "x", "rounds": 3}})
        came = list(peer._waiting)
        methods = [m["method"] for m in came]  # type: ignore[call-overload]
        assert methods == [
            *[f"notifications/{kind}/list_changed" for kind in KINDS for _ in range(2)],
            "notifications/resources/updated",
        ]
        assert came[-1]["params"] == {"uri": "sample://a"}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("uri", "code"), [("sample://still", -32602), ("x://y", -32002), (5, -32602)]
)
def test_what_is_not_watched_cannot_be_subscribed_to(uri: Any, code: int) -> None:
    with stdio() as peer:
        peer.initialize(REVISION)
        assert peer.request("resources/subscribe", {"uri": uri})["error"]["code"] == code


def test_a_peer_has_so_many_subscriptions_and_no_more() -> None:
    with stdio() as peer:
        peer.initialize(REVISION)
        for n in range(1_001):
            message = {"method": "resources/subscribe", "params": {"uri": f"sample://{n}"}}
            peer.send({"jsonrpc": "2.0", "id": n, **message})
        errors = [reply["id"] for reply in peer.replies(1_001) if "error" in reply]
        assert errors == [1_000]
        again = peer.request("resources/subscribe", {"uri": "sample://0"})
        assert again["result"] == {}, "which it had already"


def test_a_subscription_has_so_many_resources_and_each_once() -> None:
    with stdio() as peer:
        uris = [f"sample://{n}" for n in range(5_000)]
        honoured = listen(peer, 1, resourceSubscriptions=["sample://0", *uris])
        assert honoured["resourceSubscriptions"] == uris[:1_000]


# Over HTTP


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with http() as running:
        yield running
    assert "Traceback" not in running.stderr


def subscribed(peer: HttpPeer, **wanted: Any) -> Response:
    stream = peer.post(peer.request("subscriptions/listen", {"notifications": wanted}))
    assert (stream.status, stream.is_stream) == (200, True)
    assert stream.headers["X-Accel-Buffering"] == "no"
    assert stream.next().message["method"] == "notifications/subscriptions/acknowledged"
    return stream


@pytest.mark.requirement("mcp.subscriptions.tagged", "mcp.http.no-requests-on-streams")
def test_a_stream_carries_what_its_subscription_wants(server: HttpServer) -> None:
    with HttpPeer(server.port) as peer, peer.again() as other:
        stream = subscribed(peer, promptsListChanged=True, resourceSubscriptions=["sample://a"])
        other.call("change", kinds=KINDS)
        other.call("update", uri="sample://b")
        other.call("update", uri="sample://a")
        came = [stream.next().message for _ in range(2)]
        assert [m["method"] for m in came] == [
            "notifications/prompts/list_changed",
            "notifications/resources/updated",
        ]
        assert {m["params"]["_meta"][ID] for m in came} == {1}


@pytest.mark.requirement("mcp.http.disconnect-cancels")
def test_subscribers_that_leave_leave_nothing_behind(server: HttpServer) -> None:
    with HttpPeer(server.port) as watcher:
        before = http_census(watcher)
        for _ in range(50):
            with watcher.again() as peer:
                subscribed(peer, **ALL)
        assert eventually(lambda: is_back(http_census(watcher), before)), http_census(watcher)


@pytest.mark.requirement("mcp.subscriptions.graceful-end")
def test_a_server_that_ends_says_so_to_its_subscribers() -> None:
    with http(grace=50) as server, HttpPeer(server.port) as peer:
        stream = subscribed(peer, **ALL)
        server.process.terminate()
        (end,) = stream.rest()
        assert end.message["result"]["_meta"][ID] == end.message["id"]
        assert server.wait() == 0


@pytest.mark.requirement("mcp.http.one-stream")
def test_a_session_hears_of_each_change_on_one_stream(server: HttpServer) -> None:
    with (
        HttpPeer(server.port, REVISION) as peer,
        peer.again() as one,
        peer.again() as two,
        HttpPeer(server.port, REVISION) as stranger,
        stranger.again() as elsewhere,
    ):
        streams = [one.listen(), two.listen()]
        other = elsewhere.listen()
        peer.ask("resources/subscribe", {"uri": "sample://a"})
        for _ in range(3):
            peer.call("update", uri="sample://a")
        peer.call("change", kinds=["tools"])
        assert peer.visit("DELETE").status == 204
        came = [event.message["method"] for stream in streams for event in stream.rest()]
        assert came.count("notifications/resources/updated") == 3
        assert came.count("notifications/tools/list_changed") == 1, "there and gone at once"
        stranger.visit("DELETE")
        heard = {event.message["method"] for event in other.rest()}
        assert "notifications/resources/updated" not in heard


def test_a_client_that_listens_late_hears_what_it_has_missed_once(server: HttpServer) -> None:
    with HttpPeer(server.port, REVISION) as peer, peer.again() as late:
        peer.ask("resources/subscribe", {"uri": "sample://a"})
        for _ in range(100):
            peer.call("update", uri="sample://a")
        stream = late.listen()
        assert stream.next().message["params"] == {"uri": "sample://a"}
        peer.visit("DELETE")
        assert stream.rest() == []


def test_a_client_that_comes_back_to_its_stream_hears_what_it_missed_and_what_is_new(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port, REVISION) as peer, peer.again() as first, peer.again() as second:
        uris = [f"sample://{name}" for name in "abc"]
        for uri in uris:
            peer.ask("resources/subscribe", {"uri": uri})
        streams = [first.listen()]
        peer.call("update", uri="sample://a")
        tasks = http_census(peer)["tasks"]
        last = streams.pop().next()
        first.close()
        assert eventually(lambda: http_census(peer)["tasks"] < tasks), "it has been seen to leave"
        peer.call("update", uri="sample://b")
        stream = second.listen(last.id)
        peer.call("update", uri="sample://c")
        came = [stream.next().message["params"]["uri"] for _ in range(2)]
        assert came == ["sample://b", "sample://c"]
        peer.visit("DELETE")
        assert stream.rest() == []


def test_the_stream_of_a_session_outlives_those_of_its_calls(server: HttpServer) -> None:
    with HttpPeer(server.port, REVISION) as peer, peer.again() as first, peer.again() as second:
        peer.ask("resources/subscribe", {"uri": "sample://a"})
        stream = first.listen()
        peer.call("update", uri="sample://a")
        last = stream.next()
        for _ in range(20):
            assert peer.post(peer.watching("detach", seconds=0)).next()
            peer.close()
        assert second.listen(last.id).status == 200


@pytest.mark.requirement("mcp.http.one-stream")
def test_whoever_comes_back_to_a_stream_takes_it_over(server: HttpServer) -> None:
    with HttpPeer(server.port, REVISION) as peer, peer.again() as first, peer.again() as second:
        peer.ask("resources/subscribe", {"uri": "sample://a"})
        old = first.listen()
        peer.call("update", uri="sample://a")
        new = second.listen(old.next().id)
        assert old.rest() == []
        peer.call("update", uri="sample://a")
        assert new.next().message["params"] == {"uri": "sample://a"}
        peer.visit("DELETE")
        assert new.rest() == []


def test_without_a_session_there_is_nobody_to_tell(server: HttpServer) -> None:
    with HttpPeer(server.port, REVISION, begin=False) as peer:
        reply = peer.ask("resources/subscribe", {"uri": "sample://a"})
        assert (reply.status, reply.code) == (400, -32600)


# Those who do not read


BEGINNINGS = {
    "handshake": [
        request("initialize", {"protocolVersion": REVISION, "capabilities": {}}, 0),
        request("resources/subscribe", {"uri": "sample://a"}, 1),
    ],
    "stateless": [
        request("ping", {}, 0),
        listening(1, resourceSubscriptions=["sample://a"]),
    ],
}


@pytest.mark.parametrize("era", BEGINNINGS)
def test_a_peer_that_does_not_read_hears_of_a_change_once_when_it_reads_again(
    era: str, tmp_path: Path
) -> None:
    """It leaves two megabytes unread while a resource changes a thousand times."""
    flag = tmp_path / "updated"
    later = ("update_later", {"uri": "sample://a", "flag": str(flag)})
    calls = [later, *[("many_words", {"size": 200_000})] * 10]
    messages = [
        *BEGINNINGS[era],
        *(
            request("tools/call", modern_params({"name": name, "arguments": arguments}), n)
            for n, (name, arguments) in enumerate(calls, 2)
        ),
    ]
    command = launch_command("stdio", "features:interactive")
    pipe = subprocess.PIPE
    with Popen(command, cwd=TESTS, env=ENVIRONMENT, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        child.stdin.flush()
        assert eventually(flag.exists)
        came = [json.loads(child.stdout.readline()) for _ in range(len(messages) + 1)]
        child.stdin.close()
        came += [json.loads(line) for line in child.stdout]
    assert sorted(m["id"] for m in came if "id" in m) == list(range(13))
    updates = [m for m in came if m.get("method") == "notifications/resources/updated"]
    assert len(updates) == 1


def test_a_subscriber_that_does_not_read_is_no_burden(server: HttpServer) -> None:
    with HttpPeer(server.port) as peer, peer.again() as other:
        stream = subscribed(peer, resourceSubscriptions=["sample://a"])
        for _ in range(20):
            other.call("update", uri="sample://a", times=1_000)
        assert json.loads(other.call("census"))["tasks"] < 20
        assert stream.next().message["method"] == "notifications/resources/updated"


@pytest.mark.parametrize("is_late", [False, True])
def test_no_change_is_lost_when_much_changes_at_once(server: HttpServer, is_late: bool) -> None:
    uris = [f"sample://{n}" for n in range(1_000)]
    with (
        HttpPeer(server.port) as peer,
        HttpPeer(server.port, REVISION) as old,
        old.again() as listener,
    ):
        stream = subscribed(peer, resourceSubscriptions=uris)
        for uri in uris:
            assert old.ask("resources/subscribe", {"uri": uri}).message["result"] == {}
        streams = [] if is_late else [listener.listen()]
        old.call("update_all", uris=uris * 2)
        streams = streams or [listener.listen()]
        for each in (stream, *streams):
            assert [each.next().message["params"]["uri"] for _ in uris] == uris


@pytest.mark.parametrize("revision", wire.REVISIONS[:-1])
def test_older_revisions_have_no_subscriptions_of_that_kind(revision: str) -> None:
    with stdio() as peer:
        peer.initialize(revision)
        reply = peer.request("subscriptions/listen", {"notifications": ALL})
        assert reply["error"]["code"] == -32601
