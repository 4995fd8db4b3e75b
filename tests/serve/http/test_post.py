"""POST: what each revision's messages are answered with, and the status that goes with it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from http_peer import HttpPeer, HttpServer
from serve.http.talk import HANDSHAKE, REVISIONS, STATELESS, eventually, limited
from stdio_peer import META, modern_params

NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {}}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def peer(server: HttpServer, revision: str, *, begin: bool = False) -> HttpPeer:
    return HttpPeer(server.port, revision, begin=begin)


# What is right


@pytest.mark.requirement("mcp.http.endpoint")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_call_is_answered_in_its_revision(server: HttpServer, revision: str) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.post(client.calling("revision", id="x"))
        assert (response.status, response.headers["Content-Type"]) == (200, "application/json")
        assert (response.message["id"], response.text) == ("x", revision)


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_call_needs_no_session(server: HttpServer, revision: str) -> None:
    with peer(server, revision) as client:
        response = client.post(client.calling("revision"))
        assert (response.status, response.text) == (200, revision)
        assert response.headers["Mcp-Session-Id"] is None


def test_a_call_that_names_no_revision_speaks_2025_03_26(server: HttpServer) -> None:
    with peer(server, "2025-03-26") as client:
        response = client.post(client.calling("revision"), {"MCP-Protocol-Version": None})
        assert (response.status, response.text) == (200, "2025-03-26")


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_speaks_what_was_agreed_whatever_a_header_leaves_out(
    server: HttpServer, revision: str
) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.post(client.calling("revision"), {"MCP-Protocol-Version": None})
        assert response.text == revision


@pytest.mark.parametrize("asked", [*HANDSHAKE, STATELESS, "1999-01-01"])
@pytest.mark.parametrize("header", [None, "2025-11-25"])
def test_initialize_makes_a_session(server: HttpServer, asked: str, header: str | None) -> None:
    with peer(server, "2025-11-25") as client:
        params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}}
        message = client.request("initialize", params)
        response = client.post(message, {"MCP-Protocol-Version": header})
        agreed = asked if asked in HANDSHAKE else "2025-11-25"
        assert (response.status, response.headers["Mcp-Session-Id"] is None) == (200, False)
        assert response.message["result"]["protocolVersion"] == agreed


@pytest.mark.requirement("mcp.http.notification-202", "mcp.base.no-answer-to-notifications")
@pytest.mark.parametrize("begin", [True, False], ids=["in a session", "without"])
@pytest.mark.parametrize("message", [NOTE, ANSWER], ids=["notification", "response"])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_what_wants_no_answer_is_accepted_with_no_body(
    server: HttpServer, revision: str, message: Any, begin: bool
) -> None:
    with peer(server, revision, begin=begin) as client:
        response = client.post(message)
        assert (response.status, response.body) == (202, b"")


def test_a_notification_of_the_stateless_era_is_accepted(server: HttpServer) -> None:
    with peer(server, STATELESS) as client:
        response = client.post({"jsonrpc": "2.0", "method": "notifications/whatever"})
        assert (response.status, response.body) == (202, b"")


@pytest.mark.parametrize("begin", [True, False], ids=["in a session", "without"])
def test_a_batch_is_answered_with_an_array(server: HttpServer, begin: bool) -> None:
    with peer(server, "2025-03-26", begin=begin) as client:
        calls = [client.calling("echo", id=n, word=str(n)) for n in range(3)]
        response = client.post([*calls, NOTE, {**PING, "id": "p"}])
        replies = {reply["id"]: reply["result"] for reply in response.message}
        assert response.status == 200
        assert replies.keys() == {0, 1, 2, "p"}
        assert [replies[n]["content"][0]["text"] for n in range(3)] == ["0", "1", "2"]


@pytest.mark.parametrize("tool", ["meet", "meet_in_threads"])
def test_the_calls_of_a_batch_run_at_the_same_time(server: HttpServer, tool: str) -> None:
    with HttpPeer(server.port, "2025-03-26") as client:
        arguments = {"parties": 3} if tool == "meet" else {}
        response = client.post([client.calling(tool, id=n, **arguments) for n in range(3)])
        assert sorted(reply["id"] for reply in response.message) == [0, 1, 2]


def test_a_batch_that_wants_no_answer_is_accepted(server: HttpServer) -> None:
    with peer(server, "2025-03-26", begin=True) as client:
        response = client.post([NOTE, ANSWER])
        assert (response.status, response.body) == (202, b"")


def test_a_call_that_its_own_batch_takes_back_leaves_the_others_their_answers(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port, "2025-03-26") as client:
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "never"},
        }
        call = client.calling("wait", id="never", name="own batch", until="never")
        response = client.post([{**PING, "id": "p"}, call, cancel])
        assert [reply["id"] for reply in response.message] == ["p"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_last_slash_makes_no_difference(server: HttpServer, path: str) -> None:
    with HttpPeer(server.port, path=path) as client:
        assert client.call("echo", word="hi") == "hi"


def test_the_discovery_names_the_stateless_revision(server: HttpServer) -> None:
    with peer(server, STATELESS) as client:
        response = client.ask("server/discover")
        assert (response.status, response.message["result"]["supportedVersions"]) == (
            200,
            [STATELESS],
        )


# What is wrong, in both eras

UNREADABLE: dict[str, tuple[bytes, int]] = {
    "no JSON": (b"{nonsense", -32700),
    "nothing": (b"", -32700),
    "blanks": (b" \r\n", -32700),
    "two messages": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2, -32700),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
    "a number": (b"5", -32600),
    "a null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    "a bool as id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    "an object as id": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    "no version and no id": (b'{"method":"ping"}', -32600),
    "an empty batch": (b"[]", -32600),
}


@pytest.mark.parametrize("what", UNREADABLE)
@pytest.mark.parametrize("revision", REVISIONS)
def test_what_nobody_can_read_is_a_400_and_the_next_call_works(
    server: HttpServer, revision: str, what: str
) -> None:
    body, code = UNREADABLE[what]
    with peer(server, revision, begin=True) as client:
        response = client.post(body)
        assert (response.status, response.code) == (400, code)
        if revision < "2025-11-25":
            assert response.message["id"] is None
        else:
            assert "id" not in response.message
        assert client.call("echo", word="hi") == "hi"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_bad_request_with_an_id_is_answered_under_it(server: HttpServer, revision: str) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.post(b'{"jsonrpc":"1.0","id":"mine","method":"ping"}')
        assert (response.status, response.code, response.message["id"]) == (400, -32600, "mine")


@pytest.mark.parametrize("revision", [r for r in REVISIONS if r != "2025-03-26"])
def test_a_batch_outside_of_2025_03_26_is_refused(server: HttpServer, revision: str) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.post([PING])
        assert (response.status, response.code) == (400, -32600)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", None, -32601),
        ("server/discover", None, -32601),
        ("tools/call", {"name": "no such tool"}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/list", {"cursor": "garbage"}, -32602),
    ],
)
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_an_error_of_the_handshake_era_comes_with_a_200(
    server: HttpServer, revision: str, method: str, params: Any, code: int
) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.ask(method, params)
        assert (response.status, response.code) == (200, code)


@pytest.mark.requirement("mcp.methods.unknown")
@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("no/such", None, 404, -32601),
        ("initialize", {"protocolVersion": "2025-11-25"}, 404, -32601),
        ("ping", None, 404, -32601),
        ("tools/call", {"name": "no_such_tool"}, 400, -32602),
        ("tools/list", {"cursor": "garbage"}, 400, -32602),
        ("tools/list", {"cursor": 5}, 400, -32602),
    ],
)
def test_an_error_of_the_stateless_era_has_a_status(
    server: HttpServer, method: str, params: Any, status: int, code: int
) -> None:
    with peer(server, STATELESS) as client:
        response = client.ask(method, params)
        assert (response.status, response.code) == (status, code)


@pytest.mark.requirement("mcp.base.meta-required")
@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities", "_meta", "params"])
def test_a_stateless_request_that_lacks_its_meta_is_a_400(server: HttpServer, missing: str) -> None:
    with peer(server, STATELESS) as client:
        message = client.request("tools/list")
        if missing == "params":
            del message["params"]
        elif missing == "_meta":
            del message["params"]["_meta"]
        else:
            del message["params"]["_meta"][f"{META}/{missing}"]
        response = client.post(message)
        assert (response.status, response.code) == (400, -32602)


@pytest.mark.requirement("mcp.errors.missing-capability")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_tool_that_needs_more_of_its_client_says_so(server: HttpServer, revision: str) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.post(client.calling("need_sampling"))
        if revision == STATELESS:
            assert (response.status, response.code) == (400, -32021)
        else:
            assert (response.status, response.message["result"]["isError"]) == (200, True)


@pytest.fixture(scope="module")
def rough() -> Iterator[HttpServer]:
    """A server for tools that mean it no good."""
    with limited() as running:
        yield running


@pytest.mark.parametrize("tool", ["cancel_itself", "raise_cancelled", "leave", "leave_from_thread"])
@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_a_tool_that_tries_to_end_its_server_is_answered_like_any_other(
    rough: HttpServer, revision: str, tool: str
) -> None:
    with HttpPeer(rough.port, revision) as client:
        response = client.post(client.calling(tool, id="x"))
        assert (response.status, response.message["id"]) == (200, "x")
        message = client.watching(tool)
        response = client.post(message)
        reply = response.rest()[-1].message if response.is_stream else response.message
        assert (response.status, reply["id"]) == (200, message["id"])
        assert client.call("echo", word="next") == "next"


def test_a_call_too_many_is_told_to_come_again() -> None:
    with limited(max_calls=2) as own, HttpPeer(own.port) as client, ExitStack() as stack:
        for number in range(2):
            other = stack.enter_context(client.again())
            other.send(other.calling("wait", name=str(number), until="never"))

        def refused() -> bool:
            result = client.post(client.calling("revision")).message["result"]
            return result.get("isError", False) and "Too many calls" in str(result["content"])

        assert eventually(refused)
        stack.close()
        assert eventually(lambda: not refused()), "the others have left"


def test_calls_too_many_of_a_batch_are_told_to_come_again() -> None:
    with limited(max_calls=1) as own, HttpPeer(own.port, "2025-03-26") as client:
        batch = [client.calling("nap_in_thread", seconds=0.1) for _ in range(3)]
        results = [reply["result"] for reply in client.post(batch).message]
        refused = [result for result in results if result.get("isError", False)]
        assert (len(results), len(refused)) == (3, 2)
        assert all("Too many calls" in str(result["content"]) for result in refused)


# An unknown revision

UNKNOWN = ["1999-01-01", "2099-12-31", "latest", "", "2025-11-25, 2026-07-28", "2026-07-28 x"]


@pytest.mark.requirement("mcp.http.unknown-version")
@pytest.mark.parametrize("message", [PING, NOTE, ANSWER], ids=["request", "note", "answer"])
@pytest.mark.parametrize("date", UNKNOWN)
def test_a_header_with_an_unknown_revision_is_a_400(
    server: HttpServer, date: str, message: Any
) -> None:
    with peer(server, "2025-11-25", begin=True) as client:
        response = client.post(message, {"MCP-Protocol-Version": date})
        assert response.status == 400


@pytest.mark.parametrize("date", UNKNOWN)
def test_a_header_alone_with_an_unknown_revision_learns_which_are_known(
    server: HttpServer, date: str
) -> None:
    with peer(server, "2025-11-25") as client:
        error = client.post(PING, {"MCP-Protocol-Version": date}).message["error"]
        assert (error["code"], error["message"]) == (-32022, "Unsupported protocol version")
        assert error["data"] == {"supported": [*reversed(REVISIONS)], "requested": date}


@pytest.mark.parametrize(
    "message",
    [
        PING,
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"cursor": 1}},
        {"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 7, "method": "no/such"},
    ],
    ids=lambda message: message["method"],
)
def test_what_an_unknown_revision_asks_is_judged_by_no_other(
    server: HttpServer, message: dict[str, Any]
) -> None:
    with peer(server, "2025-11-25") as client:
        response = client.post(message, {"MCP-Protocol-Version": "2099-12-31"})
        assert (response.status, response.code) == (400, -32022)
        assert response.message["id"] == message["id"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_revision_opens_and_ends_nothing(server: HttpServer, method: str) -> None:
    with peer(server, "2025-11-25", begin=True) as client:
        headers = {"MCP-Protocol-Version": "2099-12-31", "Accept": "text/event-stream"}
        assert client.visit(method, headers).status in (400, 405)
        assert client.call("echo", word="hi") == "hi"


@pytest.mark.requirement("mcp.versioning.unsupported")
def test_an_unknown_revision_in_header_and_body_learns_which_are_known(server: HttpServer) -> None:
    with peer(server, STATELESS) as client:
        params = modern_params({}, revision="2099-12-31")
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
        response = client.post(message, {"MCP-Protocol-Version": "2099-12-31"})
        assert (response.status, response.code) == (400, -32022)
        data = response.message["error"]["data"]
        assert data == {"supported": [STATELESS], "requested": "2099-12-31"}


# Other ways to be wrong


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_stateless_era_has_post_alone(server: HttpServer, method: str) -> None:
    with peer(server, STATELESS) as client:
        response = client.visit(method, {"Accept": "text/event-stream"})
        assert (response.status, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_another_verb_is_a_405(server: HttpServer, revision: str, method: str) -> None:
    with peer(server, revision, begin=True) as client:
        response = client.visit(method)
        assert response.status == 405
        assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize("path", ["/x", "/mcpx", "/mcp/x", "//mcp", "/MCP", "/x/mcp"])
def test_nothing_is_anywhere_else(server: HttpServer, path: str) -> None:
    with HttpPeer(server.port, path=path) as client:
        assert client.post(client.calling("echo", word="hi")).status == 404


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (None, 200),
        ("*/*", 200),
        ("application/*, text/*", 200),
        ("Application/JSON;q=0.5 , TEXT/event-stream", 200),
        ("text/html", 406),
        ("", 406),
        ("application/jsonx", 406),
    ],
)
@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_an_answer_has_to_be_acceptable(
    server: HttpServer, revision: str, accept: str | None, status: int
) -> None:
    with peer(server, revision) as client:
        response = client.post(client.calling("echo", word="hi"), {"Accept": accept})
        assert response.status == status


def test_health_is_told_to_anybody_here(server: HttpServer) -> None:
    with peer(server, STATELESS) as client:
        response = client.visit("GET", path="/health")
        assert (response.status, json.loads(response.body)) == (200, {"status": "ok"})
