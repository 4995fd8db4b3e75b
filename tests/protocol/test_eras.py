"""Two eras on one connection: the one that begins with initialize, and the one without state."""

from typing import Any

import pytest

import wire
from peer import ABSENT, Peer, request
from samples.features import basics as server
from stdio_peer import CLIENT_INFO, META, modern_params

HANDSHAKE = wire.REVISIONS[:-1]
NEWEST_HANDSHAKE = "2025-11-25"
SERVER_INFO = {"name": "basics", "version": "1.0"}
ECHO = {"name": "echo", "arguments": {"value": 1}}


def begin(revision: Any) -> dict[str, Any]:
    return request("initialize", {"protocolVersion": revision, "capabilities": {}})


# Before anything was said


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", ABSENT),
        ("tools/list", None),
        ("tools/list", {"_meta": {}}),
        ("tools/list", {"_meta": {f"{META}/clientCapabilities": {}}}),
        ("tools/call", ECHO),
        ("tools/call", {"name": "nope"}),
        ("server/discover", ABSENT),
    ],
    ids=str,
)
def test_a_request_before_any_begin_is_told_both_ways(method: str, params: Any) -> None:
    peer = Peer(server)
    (reply,) = peer.receive(request(method, params))
    assert reply["error"]["code"] == -32602
    for way in ("initialize", "_meta", f"{META}/protocolVersion", f"{META}/clientCapabilities"):
        assert way in reply["error"]["message"]
    assert peer.open == []


def test_ping_and_initialize_are_served_before_any_begin() -> None:
    peer = Peer(server)
    (pong,) = peer.send(request("ping"))
    assert pong["result"] == {}
    assert peer.initialize("2025-06-18")["result"]["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("params", [ABSENT, None, [], {}], ids=str)
def test_an_unknown_method_is_unknown_before_any_begin(params: Any) -> None:
    (reply,) = Peer(server).send(request("nope", params))
    assert reply["error"] == {"code": -32601, "message": "Method not found: nope"}


# The handshake


@pytest.mark.requirement("mcp.versioning.negotiate", "mcp.capabilities.tools")
@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(revision, revision) for revision in HANDSHAKE]
    + [
        (asked, NEWEST_HANDSHAKE) for asked in (wire.STATELESS, "2024-01-01", "2099-01-01", "", "x")
    ],
)
def test_initialize_agrees_on(asked: str, agreed: str) -> None:
    assert Peer(server).initialize(asked)["result"] == {
        "protocolVersion": agreed,
        "capabilities": {"tools": {}},
        "serverInfo": SERVER_INFO,
    }


@pytest.mark.parametrize(
    "params",
    [
        *(ABSENT, None, [], {}, {"capabilities": {}}),
        *({"protocolVersion": wrong, "capabilities": {}} for wrong in (None, 5, ["2025-11-25"])),
        *({"protocolVersion": "2025-11-25", "capabilities": wrong} for wrong in (None, 5, "{}")),
    ],
    ids=str,
)
def test_initialize_with_wrong_params_is_refused_and_begins_nothing(params: Any) -> None:
    peer = Peer(server)
    (reply,) = peer.send(request("initialize", params))
    assert reply["error"]["code"] == -32602
    (reply,) = peer.send(request("tools/list"))
    assert reply["error"]["code"] == -32602


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_requests_are_served_before_the_client_says_initialized(revision: str) -> None:
    peer = Peer(server, revision)
    assert len(peer.ask("tools/list")["result"]["tools"]) == len(server.tools)
    assert peer.call("add", a=2, b=3)["result"]["content"][0]["text"] == "5"
    assert peer.ask("ping")["result"] == {}


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_discover_is_unknown_after_a_handshake(revision: str) -> None:
    reply = Peer(server, revision).ask("server/discover")
    assert reply["error"] == {"code": -32601, "message": "Method not found: server/discover"}


# The stateless era


@pytest.mark.requirement("mcp.discover.implemented")
def test_discover_says_what_the_server_is() -> None:
    result = Peer(server, wire.STATELESS).ask("server/discover")["result"]
    assert result["supportedVersions"] == [wire.STATELESS]
    assert result["capabilities"] == {"tools": {}}
    assert isinstance(result["ttlMs"], int)
    assert result["cacheScope"] in ("public", "private")


STATELESS_RESULTS = {
    "discover": ("server/discover", {}),
    "a list": ("tools/list", {}),
    "a call": ("tools/call", ECHO),
    "a failed call": ("tools/call", {"name": "broken"}),
    "wrong arguments": ("tools/call", {"name": "add", "arguments": {}}),
}


@pytest.mark.requirement("mcp.base.result-type")
@pytest.mark.parametrize(("method", "params"), STATELESS_RESULTS.values(), ids=STATELESS_RESULTS)
def test_a_stateless_result_is_complete_and_stamped(method: str, params: Any) -> None:
    result = Peer(server, wire.STATELESS).ask(method, params)["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][f"{META}/serverInfo"] == SERVER_INFO
    assert ("ttlMs" in result) == ("cacheScope" in result) == (method != "tools/call")


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize(("method", "params"), [("tools/list", {}), ("tools/call", ECHO)])
def test_a_result_after_a_handshake_has_nothing_of_that(
    method: str, params: Any, revision: str
) -> None:
    result = Peer(server, revision).ask(method, params)["result"]
    assert not result.keys() & {"resultType", "_meta", "ttlMs", "cacheScope"}


@pytest.mark.requirement("mcp.methods.removed")
@pytest.mark.parametrize("begun", [None, *HANDSHAKE], ids=str)
@pytest.mark.parametrize("method", ["ping", "initialize"])
def test_the_stateless_era_has_no(method: str, begun: str | None) -> None:
    params = modern_params({"protocolVersion": wire.STATELESS, "capabilities": {}})
    (reply,) = Peer(server, begun).send(request(method, params))
    assert reply["error"] == {"code": -32601, "message": f"Method not found: {method}"}


@pytest.mark.requirement("mcp.versioning.unsupported")
@pytest.mark.parametrize("begun", [None, NEWEST_HANDSHAKE], ids=str)
@pytest.mark.parametrize("revision", [*HANDSHAKE, "2099-01-01", "1999-01-01", "", "x"])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
def test_another_revision_in_meta_is_unsupported(
    method: str, revision: str, begun: str | None
) -> None:
    peer = Peer(server, begun)
    (reply,) = peer.receive(request(method, modern_params({"name": "echo"}, revision=revision)))
    assert reply["error"]["code"] == -32022
    assert reply["error"]["data"] == {"supported": [wire.STATELESS], "requested": revision}
    assert peer.open == []


MISSING = object()
WRONG_META: dict[str, tuple[str, Any]] = {
    "no capabilities": ("clientCapabilities", MISSING),
    "null for capabilities": ("clientCapabilities", None),
    "capabilities in an array": ("clientCapabilities", []),
    "capabilities in text": ("clientCapabilities", "{}"),
    "a number for a revision": ("protocolVersion", 20260728),
    "an array for a revision": ("protocolVersion", [wire.STATELESS]),
}


@pytest.mark.requirement("mcp.base.meta-required")
@pytest.mark.parametrize("begun", [None, NEWEST_HANDSHAKE], ids=str)
@pytest.mark.parametrize(("key", "value"), WRONG_META.values(), ids=WRONG_META)
def test_meta_that_lacks_what_it_must_hold_is_refused(
    key: str, value: Any, begun: str | None
) -> None:
    params = modern_params(ECHO)
    params["_meta"][f"{META}/{key}"] = value
    if value is MISSING:
        del params["_meta"][f"{META}/{key}"]
    peer = Peer(server, begun)
    (reply,) = peer.receive(request("tools/call", params))
    assert reply["error"]["code"] == -32602
    assert f"{META}/{key}" in reply["error"]["message"]
    assert peer.open == []


@pytest.mark.requirement("mcp.base.client-info-optional")
def test_the_name_of_the_client_may_be_missing() -> None:
    params = modern_params()
    del params["_meta"][f"{META}/clientInfo"]
    (reply,) = Peer(server).send(request("tools/list", params))
    assert "result" in reply


# Both on one connection


def served(peer: Peer, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a call is served: in the stateless era if it comes with capabilities."""
    params: dict[str, Any] = {"name": "caller", "arguments": {}}
    if capabilities is not None:
        params = modern_params(params, capabilities=capabilities)
    (reply,) = peer.send(request("tools/call", params))
    text = wire.decode(reply["result"]["content"][0]["text"].encode())
    return {**text, "stamped": "resultType" in reply["result"]}


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_requests_of_both_eras_are_served_each_in_its_own(revision: str) -> None:
    peer = Peer(server)
    modern = {"revision": wire.STATELESS, "stamped": True}
    old = {"revision": revision, "stamped": False, "capabilities": {"roots": {}}}
    assert served(peer, {}) == {**modern, "capabilities": {}}
    params = {"protocolVersion": revision, "capabilities": {"roots": {}}, "clientInfo": CLIENT_INFO}
    peer.send(request("initialize", params))
    assert served(peer) == old
    assert served(peer, {"sampling": {}}) == {**modern, "capabilities": {"sampling": {}}}
    assert served(peer) == old
    assert served(peer, {"elicitation": {}}) == {**modern, "capabilities": {"elicitation": {}}}
    assert served(peer, {"sampling": {}}) == {**modern, "capabilities": {"sampling": {}}}
    assert served(peer) == old


@pytest.mark.requirement("mcp.base.no-connection-state")
def test_calls_of_both_eras_in_flight_keep_their_era() -> None:
    peer = Peer(server, "2025-06-18")
    peer.receive(request("tools/call", ECHO, id=1))
    peer.receive(request("tools/call", modern_params(ECHO), id=1))
    old, modern = peer.open
    assert "resultType" in peer.finish(modern)["result"]
    assert "resultType" not in peer.finish(old)["result"]


def test_a_stateless_request_is_no_handshake() -> None:
    peer = Peer(server)
    peer.send(request("tools/list", modern_params()))
    (reply,) = peer.send(request("tools/list"))
    assert reply["error"]["code"] == -32602
