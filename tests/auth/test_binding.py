"""Sessions, cursors, input state and streams belong to the caller, not to one token."""

import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import wire
from commands import ACCORD, SAMPLES
from http_peer import HttpPeer, HttpServer, Response
from token_issuer import Issuer

ELICITING: Mapping[str, Any] = {"elicitation": {"form": {}}}
OTHERS: dict[str, dict[str, Any]] = {
    "another user": {"sub": "yan"},
    "the user by another application": {"client_id": "other"},
    "an application without a user": {"sub": ...},
    "the user without an application": {"client_id": ...},
    "a user of a similar name": {"sub": 'zoe","agent'},
}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module", params=[1, 2], ids=["1 worker", "2 workers"])
def server(request: pytest.FixtureRequest, issuer: Issuer) -> Iterator[HttpServer]:
    words = ["--http", "127.0.0.1:0", "--grace", "0.5", "--workers", str(request.param)]
    command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", *words]
    with HttpServer(command, env={**os.environ, "ISSUER": issuer.url}) as running:
        yield running
    assert "Traceback" not in running.stderr, running.stderr


def by(issuer: Issuer, **claims: Any) -> dict[str, str]:
    """A header with a new token: of Zoe, if the claims do not say otherwise."""
    return {"Authorization": f"Bearer {issuer.token(jti=str(next(_numbers)), **claims)}"}


def session(server: HttpServer, issuer: Issuer, revision: str = "2025-11-25") -> HttpPeer:
    """A session of Zoe."""
    return HttpPeer(server.port, revision, headers=by(issuer), capabilities=ELICITING)


def told(response: Response) -> tuple[int, Any]:
    return response.status, json.loads(response.body)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_session_survives_a_refreshed_token(
    server: HttpServer, issuer: Issuer, revision: str
) -> None:
    with session(server, issuer, revision) as zoe:
        for _ in range(4):
            peer = zoe.again()
            answer = peer.post(peer.calling("add", a=1, b=2), by(issuer, scope="shop:read more"))
            assert answer.status == 200
            peer.close()


@pytest.mark.requirement("mcp.authorization.bound")
@pytest.mark.parametrize("other", OTHERS)
def test_another_callers_session_is_as_if_there_were_none(
    server: HttpServer, issuer: Issuer, other: str
) -> None:
    with session(server, issuer) as zoe:
        thief = by(issuer, **OTHERS[other])
        peer = zoe.again()
        call = peer.calling("add", a=1, b=2)
        stolen = told(peer.post(call, thief))
        peer.session = "1" + "A" * 80
        assert stolen == told(peer.post(call, thief))
        assert stolen[0] == 404
        peer.session = zoe.session
        for _ in range(3):
            assert peer.visit("DELETE", thief).status == 404
            assert peer.visit("GET", {"Accept": "text/event-stream", **thief}).status == 404
        assert zoe.call("add", a=1, b=2) == "3"
        peer.close()


def test_a_session_needs_a_token(server: HttpServer, issuer: Issuer) -> None:
    with session(server, issuer) as zoe:
        peer = zoe.again()
        for method in ("GET", "DELETE"):
            assert peer.visit(method, {"Authorization": None}).status == 401
        assert peer.post(peer.calling("add", a=1, b=2), {"Authorization": None}).status == 401
        assert zoe.call("add", a=1, b=2) == "3"
        peer.close()


@pytest.mark.parametrize("revision", ["2025-11-25", wire.STATELESS])
def test_a_list_cursor_is_of_its_caller(server: HttpServer, issuer: Issuer, revision: str) -> None:
    peer = HttpPeer(server.port, revision, headers=by(issuer), begin=False)
    first = peer.ask("tools/list").message["result"]
    cursor = {"cursor": first["nextCursor"]}
    again = peer.post(peer.request("tools/list", cursor, id=7), by(issuer))
    assert again.message["result"]["tools"]
    assert again.message["result"]["tools"] != first["tools"]
    stolen = peer.post(peer.request("tools/list", cursor, id=7), by(issuer, sub="yan"))
    unknown = peer.post(peer.request("tools/list", {"cursor": "1AAAA"}, id=7), by(issuer))
    assert told(stolen) == told(unknown)
    assert stolen.code == -32602
    peer.close()


def test_the_cursor_of_an_answer_is_of_its_caller(server: HttpServer, issuer: Issuer) -> None:
    peer = HttpPeer(server.port, headers=by(issuer))
    answer = peer.post(peer.calling("lines")).message["result"]
    text = json.dumps(answer)
    cursor = text.partition("rest.accord.")[2].partition("\\")[0].partition('"')[0]
    cursor = f"rest.accord.{cursor}"
    more = peer.post(peer.calling("lines", id=7, cursor=cursor), by(issuer))
    assert "isError" not in more.message["result"]
    assert "line 999" in more.body.decode() or "rest.accord." in more.body.decode()
    stolen = peer.post(peer.calling("lines", id=7, cursor=cursor), by(issuer, sub="yan"))
    forged = cursor[:-8] + "AAAAAAAA"
    unknown = peer.post(peer.calling("lines", id=7, cursor=forged), by(issuer))
    assert told(stolen) == told(unknown)
    assert "was not issued by this server" in stolen.body.decode()
    peer.close()


def test_input_state_is_of_its_caller(server: HttpServer, issuer: Issuer) -> None:
    peer = HttpPeer(server.port, headers=by(issuer), capabilities=ELICITING)
    asked = peer.post(peer.calling("order")).message["result"]
    [key] = asked["inputRequests"]
    answers = {
        "name": "order",
        "arguments": {},
        "requestState": asked["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {"value": 3}}},
    }
    stolen = peer.post(peer.request("tools/call", answers, id=7), by(issuer, sub="yan"))
    assert stolen.code == -32602
    kept = peer.post(peer.request("tools/call", answers, id=7), by(issuer))
    assert "accept" in kept.text
    peer.close()


def expiring(issuer: Issuer, seconds: float) -> dict[str, str]:
    """A header with a token that is accepted for so many seconds more."""
    return by(issuer, exp=time.time() - 60 + seconds)


def test_a_token_that_expires_in_a_session_is_refused_until_it_is_refreshed(
    server: HttpServer, issuer: Issuer
) -> None:
    with session(server, issuer) as zoe:
        short, call = expiring(issuer, 4), zoe.calling("add", a=1, b=2)
        assert zoe.post(call, short).status == 200
        deadline = time.monotonic() + 10
        while (last := zoe.post(call, short)).status == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert last.status == 401
        assert 'error="invalid_token"' in last.headers["WWW-Authenticate"]
        assert zoe.post(call, by(issuer)).status == 200


def test_a_listening_stream_ends_with_its_token_and_goes_on_with_a_fresh_one(
    server: HttpServer, issuer: Issuer
) -> None:
    with session(server, issuer) as zoe:
        listener = zoe.again()
        short = expiring(issuer, 4)
        stream = listener.visit("GET", {"Accept": "text/event-stream", **short})
        assert stream.status == 200
        events = stream.rest()  # it ends by itself
        assert listener.visit("GET", {"Accept": "text/event-stream", **short}).status == 401
        last = events[-1].id if events and events[-1].id else None
        fresh = {"Accept": "text/event-stream", "Last-Event-ID": last, **by(issuer)}
        listener.close()
        other = zoe.again()
        assert other.visit("GET", fresh).status == 200
        other.close()


def test_a_subscription_ends_with_its_token(server: HttpServer, issuer: Issuer) -> None:
    peer = HttpPeer(server.port, headers=expiring(issuer, 4))
    wanted = {"notifications": {"toolsListChanged": True}}
    stream = peer.ask("subscriptions/listen", wanted)
    assert stream.status == 200
    assert "result" in stream.rest()[-1].message
    peer.close()


def test_a_call_that_outlives_its_token_is_finished(server: HttpServer, issuer: Issuer) -> None:
    peer = HttpPeer(server.port, headers=expiring(issuer, 1.5))
    events = peer.post(peer.watching("count", to=40)).rest()
    assert events[-1].message["result"]["content"][0]["text"] == "40"
    peer.close()


@pytest.mark.parametrize("other", ["another user", "the user by another application"])
def test_a_stream_is_resumed_by_its_caller_alone(
    server: HttpServer, issuer: Issuer, other: str
) -> None:
    with session(server, issuer) as zoe:
        caller = zoe.again()
        stream = caller.post(caller.watching("count", to=20))
        event = stream.next()
        assert event.id
        caller.close()
        peer = zoe.again()
        resuming = {"Accept": "text/event-stream", "Last-Event-ID": event.id}
        assert peer.visit("GET", {**resuming, **by(issuer, **OTHERS[other])}).status == 404
        resumed = peer.visit("GET", {**resuming, **by(issuer)})
        assert resumed.rest()[-1].message["result"]["content"][0]["text"] == "20"
        peer.close()


def test_callers_have_keys_that_differ_and_last(server: HttpServer, issuer: Issuer) -> None:
    peer = HttpPeer(server.port)

    def key(**claims: Any) -> str:
        answer = peer.post(peer.calling("whoami"), by(issuer, **claims))
        return str(json.loads(answer.text)["key"])

    assert key() == key() == key(scope="shop:read shop:write")
    keys = [key(), *(key(**claims) for claims in OTHERS.values())]
    assert len(set(keys)) == len(keys)
    peer.close()
