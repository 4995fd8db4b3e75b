"""HTTP headers that repeat parts of the body have to agree with it, and which fault is told first."""

import json
from base64 import b64encode
from typing import Any

import pytest

import wire
from accord.protocol import Call, Connection, ErrorReply, Mirror
from peer import request
from protocol.office import server
from stdio_peer import modern_params

MISMATCH, UNSUPPORTED, UNKNOWN, INVALID = -32020, -32022, -32601, -32602
HANDSHAKE = wire.REVISIONS[:-1]


def encoded(name: str) -> str:
    """A name as a header carries it that is no plain ASCII."""
    return f"=?base64?{b64encode(name.encode()).decode()}?="


def body(method: str, revision: str = wire.STATELESS, **params: Any) -> dict[str, Any]:
    return request(method, modern_params(params, revision=revision))


def told(message: Any, mirror: Mirror | None, connection: Connection | None = None) -> Any:
    """The error that a message gets; None if it is served."""
    raw = json.dumps(message).encode()
    (event,) = (connection or server.connect()).receive(raw, mirror)
    if isinstance(event, Call):
        return None
    assert isinstance(event, bytes)
    reply = wire.check(event, revision=wire.STATELESS, method=message["method"])
    if "error" not in reply:
        return None
    assert isinstance(event, ErrorReply)
    assert event.code == reply["error"]["code"]
    return reply["error"]


# What agrees is served

AGREEING: dict[str, tuple[dict[str, Any], Mirror]] = {
    "a list": (body("tools/list"), Mirror(wire.STATELESS, "tools/list")),
    "a list with a name": (body("tools/list"), Mirror(wire.STATELESS, "tools/list", "any")),
    "discover": (body("server/discover"), Mirror(wire.STATELESS, "server/discover")),
    "a call": (body("tools/call", name="add"), Mirror(wire.STATELESS, "tools/call", "add")),
    "a call by a name in Base64": (
        body("tools/call", name="add"),
        Mirror(wire.STATELESS, "tools/call", encoded("add")),
    ),
    "a call by a name that needs Base64": (
        body("tools/call", name="größe\n"),
        Mirror(wire.STATELESS, "tools/call", encoded("größe\n")),
    ),
    "a call by a name that looks like Base64": (
        body("tools/call", name=encoded("add")),
        Mirror(wire.STATELESS, "tools/call", encoded(encoded("add"))),
    ),
}


@pytest.mark.parametrize(("message", "mirror"), AGREEING.values(), ids=list(AGREEING))
def test_headers_that_agree_are_served(message: Any, mirror: Mirror) -> None:
    assert told(message, mirror) is None


def test_without_headers_nothing_is_compared() -> None:
    assert told(body("tools/call", name="add"), None) is None


# What does not is refused

CALL = Mirror(wire.STATELESS, "tools/call", "add")
CONTRADICTING: dict[str, tuple[Mirror, str, str]] = {
    "no headers": (Mirror(), "MCP-Protocol-Version", "is missing"),
    "no revision": (Mirror(None, "tools/call", "add"), "MCP-Protocol-Version", "is missing"),
    "no method": (Mirror(wire.STATELESS, None, "add"), "Mcp-Method", "is missing"),
    "no name": (Mirror(wire.STATELESS, "tools/call"), "Mcp-Name", "is missing"),
    "another revision": (Mirror("2025-11-25", "tools/call", "add"), "MCP-Protocol-Version", ""),
    "another method": (Mirror(wire.STATELESS, "tools/list", "add"), "Mcp-Method", ""),
    "a method in capitals": (Mirror(wire.STATELESS, "Tools/Call", "add"), "Mcp-Method", ""),
    "another name": (Mirror(wire.STATELESS, "tools/call", "echo"), "Mcp-Name", ""),
    "an empty name": (Mirror(wire.STATELESS, "tools/call", ""), "Mcp-Name", ""),
    "another name in Base64": (
        Mirror(wire.STATELESS, "tools/call", encoded("echo")),
        "Mcp-Name",
        "",
    ),
}
NO_BASE64 = ["YWRk!", "YWR", "Y W R k", "YWRk\n", "/w==", "größe"]


@pytest.mark.parametrize(
    ("mirror", "header", "fault"), CONTRADICTING.values(), ids=list(CONTRADICTING)
)
def test_a_header_that_is_missing_or_differs_is_named(
    mirror: Mirror, header: str, fault: str
) -> None:
    words = fault or "does not match the body"
    error = told(body("tools/call", name="add"), mirror)
    assert error == {"code": MISMATCH, "message": f"Header mismatch: {header} {words}"}


@pytest.mark.parametrize("inside", NO_BASE64, ids=ascii)
def test_a_name_that_cannot_be_decoded_matches_nothing(inside: str) -> None:
    mirror = Mirror(wire.STATELESS, "tools/call", f"=?base64?{inside}?=")
    assert told(body("tools/call", name="add"), mirror)["code"] == MISMATCH


def test_a_contradicting_call_is_not_opened() -> None:
    connection = server.connect()
    told(body("tools/call", name="add"), Mirror(wire.STATELESS, "tools/call", "echo"), connection)
    assert connection.is_idle


def test_each_message_is_held_against_its_own_headers() -> None:
    connection, message = server.connect(), body("tools/call", name="add")
    assert told(message, CALL, connection) is None
    assert told(message, Mirror("2025-11-25", "tools/call", "add"), connection)["code"] == MISMATCH
    assert told(message, CALL, connection) is None


# Before the stateless era headers say nothing of the body


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("mirror", [Mirror(), Mirror(wire.STATELESS, "nope", "nope")], ids=str)
def test_messages_of_the_handshake_ignore_the_headers(mirror: Mirror, revision: str) -> None:
    connection = server.connect()
    for message in (
        request("initialize", {"protocolVersion": revision, "capabilities": {}}),
        request("ping"),
        request("tools/list"),
        request("tools/call", {"name": "add"}),
    ):
        (event,) = connection.receive(json.dumps(message).encode(), mirror)
        assert isinstance(event, Call) or (isinstance(event, bytes) and b'"result"' in event)


# Which fault is told first

UNSERVED = [*HANDSHAKE, "2099-01-01", ""]
METHODS = ["nope", "ping", "initialize", "server/discover", "tools/list", "tools/call"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("revision", UNSERVED)
def test_a_header_against_the_body_comes_before_a_revision_that_is_not_served(
    revision: str, method: str
) -> None:
    message = body(method, revision, name="add", protocolVersion="", capabilities={})
    for stated in (None, wire.STATELESS):
        assert told(message, Mirror(stated, method, "add"))["code"] == MISMATCH
    error = told(message, Mirror(revision, method, "add"))
    assert error["code"] == UNSUPPORTED
    assert error["data"] == {"supported": [wire.STATELESS], "requested": revision}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("revision", UNSERVED)
def test_a_revision_that_is_not_served_comes_before_a_method_that_is_unknown(
    revision: str, method: str
) -> None:
    message = body(method, revision, name="add", protocolVersion="", capabilities={})
    assert told(message, None)["code"] == UNSUPPORTED


@pytest.mark.parametrize("params", [{}, {"protocolVersion": "2025-11-25", "capabilities": {}}])
def test_initialize_is_unknown_to_the_stateless_era(params: Any) -> None:
    mirror = Mirror(wire.STATELESS, "initialize")
    for headers in (None, mirror):
        assert told(body("initialize", **params), headers)["code"] == UNKNOWN


def test_a_header_against_the_body_comes_before_a_method_that_is_unknown() -> None:
    """Also from a client that was served before."""
    connection = server.connect()
    for _ in range(2):
        for mirror in (Mirror(wire.STATELESS, "tools/list"), Mirror("2025-11-25", "nope")):
            assert told(body("nope"), mirror, connection)["code"] == MISMATCH
        assert told(body("nope"), Mirror(wire.STATELESS, "nope"), connection)["code"] == UNKNOWN


def test_a_call_without_a_name_has_none_to_compare() -> None:
    assert told(body("tools/call"), Mirror(wire.STATELESS, "tools/call"))["code"] == INVALID
