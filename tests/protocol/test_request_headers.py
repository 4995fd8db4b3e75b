"""HTTP headers that repeat parts of the body have to agree with it, and which fault is told first."""

import json
from base64 import b64encode
from typing import Any

import pytest

import wire
from accord.protocol import Connection, ErrorReply, Request, RequestHeaders
from peer import request
from samples.features import basics as server
from stdio_peer import modern_params

MISMATCH, UNSUPPORTED, UNKNOWN, INVALID = -32020, -32022, -32601, -32602
HANDSHAKE = wire.REVISIONS[:-1]


def encoded(name: str) -> str:
    """A name as a header carries it that is no plain ASCII."""
    return f"=?base64?{b64encode(name.encode()).decode()}?="


def body(method: str, revision: str = wire.STATELESS, **params: Any) -> dict[str, Any]:
    return request(method, modern_params(params, revision=revision))


def told(message: Any, headers: RequestHeaders | None, connection: Connection | None = None) -> Any:
    """The error that a message gets; None if it is served."""
    raw = json.dumps(message).encode()
    (event,) = (connection or server.dispatcher.connect()).receive(raw, headers)
    if isinstance(event, Request):
        return None
    assert isinstance(event, bytes)
    reply = wire.check(event, revision=wire.STATELESS, method=message["method"])
    if "error" not in reply:
        return None
    assert isinstance(event, ErrorReply)
    assert event.code == reply["error"]["code"]
    return reply["error"]


# What agrees is served

AGREEING: dict[str, tuple[dict[str, Any], RequestHeaders]] = {
    "a list": (body("tools/list"), RequestHeaders(wire.STATELESS, "tools/list")),
    "a list with a name": (body("tools/list"), RequestHeaders(wire.STATELESS, "tools/list", "any")),
    "discover": (body("server/discover"), RequestHeaders(wire.STATELESS, "server/discover")),
    "a call": (body("tools/call", name="add"), RequestHeaders(wire.STATELESS, "tools/call", "add")),
    "a call by a name in Base64": (
        body("tools/call", name="add"),
        RequestHeaders(wire.STATELESS, "tools/call", encoded("add")),
    ),
    "a call by a name that needs Base64": (
        body("tools/call", name="größe\n"),
        RequestHeaders(wire.STATELESS, "tools/call", encoded("größe\n")),
    ),
    "a call by a name that looks like Base64": (
        body("tools/call", name=encoded("add")),
        RequestHeaders(wire.STATELESS, "tools/call", encoded(encoded("add"))),
    ),
}


@pytest.mark.parametrize(("message", "headers"), AGREEING.values(), ids=list(AGREEING))
def test_headers_that_agree_are_served(message: Any, headers: RequestHeaders) -> None:
    assert told(message, headers) is None


def test_without_headers_nothing_is_compared() -> None:
    assert told(body("tools/call", name="add"), None) is None


# What does not is refused

CALL = RequestHeaders(wire.STATELESS, "tools/call", "add")
CONTRADICTING: dict[str, tuple[RequestHeaders, str, str]] = {
    "no headers": (RequestHeaders(), "MCP-Protocol-Version", "is missing"),
    "no revision": (
        RequestHeaders(None, "tools/call", "add"),
        "MCP-Protocol-Version",
        "is missing",
    ),
    "no method": (RequestHeaders(wire.STATELESS, None, "add"), "Mcp-Method", "is missing"),
    "no name": (RequestHeaders(wire.STATELESS, "tools/call"), "Mcp-Name", "is missing"),
    "another revision": (
        RequestHeaders("2025-11-25", "tools/call", "add"),
        "MCP-Protocol-Version",
        "",
    ),
    "another method": (RequestHeaders(wire.STATELESS, "tools/list", "add"), "Mcp-Method", ""),
    "a method in capitals": (RequestHeaders(wire.STATELESS, "Tools/Call", "add"), "Mcp-Method", ""),
    "another name": (RequestHeaders(wire.STATELESS, "tools/call", "echo"), "Mcp-Name", ""),
    "an empty name": (RequestHeaders(wire.STATELESS, "tools/call", ""), "Mcp-Name", ""),
    "another name in Base64": (
        RequestHeaders(wire.STATELESS, "tools/call", encoded("echo")),
        "Mcp-Name",
        "",
    ),
}
NO_BASE64 = ["YWRk!", "YWR", "Y W R k", "YWRk\n", "/w==", "größe"]


@pytest.mark.parametrize(
    ("headers", "header", "fault"), CONTRADICTING.values(), ids=list(CONTRADICTING)
)
def test_a_header_that_is_missing_or_differs_is_named(
    headers: RequestHeaders, header: str, fault: str
) -> None:
    words = fault or "does not match the body"
    error = told(body("tools/call", name="add"), headers)
    assert error == {"code": MISMATCH, "message": f"Header mismatch: {header} {words}"}


@pytest.mark.parametrize("inside", NO_BASE64, ids=ascii)
def test_a_name_that_cannot_be_decoded_matches_nothing(inside: str) -> None:
    headers = RequestHeaders(wire.STATELESS, "tools/call", f"=?base64?{inside}?=")
    assert told(body("tools/call", name="add"), headers)["code"] == MISMATCH


def test_a_contradicting_call_is_not_opened() -> None:
    connection = server.dispatcher.connect()
    told(
        body("tools/call", name="add"),
        RequestHeaders(wire.STATELESS, "tools/call", "echo"),
        connection,
    )
    assert connection.is_idle


def test_each_message_is_held_against_its_own_headers() -> None:
    connection, message = server.dispatcher.connect(), body("tools/call", name="add")
    assert told(message, CALL, connection) is None
    assert (
        told(message, RequestHeaders("2025-11-25", "tools/call", "add"), connection)["code"]
        == MISMATCH
    )
    assert told(message, CALL, connection) is None


# Before the stateless era headers say nothing of the body


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize(
    "headers", [RequestHeaders(), RequestHeaders(wire.STATELESS, "nope", "nope")], ids=str
)
def test_messages_of_the_handshake_ignore_the_headers(
    headers: RequestHeaders, revision: str
) -> None:
    connection = server.dispatcher.connect()
    for message in (
        request("initialize", {"protocolVersion": revision, "capabilities": {}}),
        request("ping"),
        request("tools/list"),
        request("tools/call", {"name": "add"}),
    ):
        (event,) = connection.receive(json.dumps(message).encode(), headers)
        assert isinstance(event, Request) or (isinstance(event, bytes) and b'"result"' in event)


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
        assert told(message, RequestHeaders(stated, method, "add"))["code"] == MISMATCH
    error = told(message, RequestHeaders(revision, method, "add"))
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
    for headers in (None, RequestHeaders(wire.STATELESS, "initialize")):
        assert told(body("initialize", **params), headers)["code"] == UNKNOWN


def test_a_header_against_the_body_comes_before_a_method_that_is_unknown() -> None:
    """Also from a client that was served before."""
    connection = server.dispatcher.connect()
    for _ in range(2):
        for headers in (
            RequestHeaders(wire.STATELESS, "tools/list"),
            RequestHeaders("2025-11-25", "nope"),
        ):
            assert told(body("nope"), headers, connection)["code"] == MISMATCH
        assert (
            told(body("nope"), RequestHeaders(wire.STATELESS, "nope"), connection)["code"]
            == UNKNOWN
        )


def test_a_call_without_a_name_has_none_to_compare() -> None:
    assert told(body("tools/call"), RequestHeaders(wire.STATELESS, "tools/call"))["code"] == INVALID
