"""The rules of the Django REST framework document, in every revision.

Two levels: what JSON-RPC demands of every reply, and what `plain` makes of a tool's answer.
"""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import Problem, Server
from accord.model import schemas
from accord.model.tool import Bound, Tool
from peer import Peer, request

requirement = pytest.mark.requirement
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
HANDSHAKE = [date for date in wire.REVISIONS if date != wire.STATELESS]
FAILED_ARGUMENTS = ["2025-11-25", "2026-07-28"]
"""Revisions in which arguments that don't fit are a failed call."""
CUSTOMERS = [{"id": 1, "name": "Alice", "email": "alice@example.com"}]
SECRET = "the password is hunter2"
PLAIN = jsonschema_rs.validator_for(schemas.load("plain"))

VALUES: dict[str, Any] = {
    "a list": CUSTOMERS,
    "an empty list": [],
    "an object": {"count": 1, "next": None},
    "an empty object": {},
    "a number": 5,
    "a fraction": 0.5,
    "true": True,
    "null": None,
    "text": "Alice",
    "text that looks like JSON": '{"a": 1}',
    "text in other letters": "Zoë 🦊\n\u2028",
}
"""What a tool may return; each is JSON-serialised, since nothing says that it is text."""
PROBLEMS: dict[str, tuple[BaseException, str]] = {
    "a problem": (Problem.not_found("No customer 7"), "No customer 7"),
    "a problem of a view": (
        Problem.not_found("ViewSet returned error: {'detail': 'Not found.'}"),
        "ViewSet returned error: {'detail': 'Not found.'}",
    ),
    "a problem that could be a success": (Problem.conflict("[]"), "[]"),
    "a bug": (RuntimeError(SECRET), "Internal error"),
    "an exit": (SystemExit(1), "Internal error"),
}


def shop(value: Any = None) -> Server:
    """A server with a tool that returns the value or raises it, and others beside."""
    server = Server("shop", version="1.0")

    @server.tool
    def get() -> Any:
        """Get what there is."""
        if isinstance(value, BaseException):
            raise value
        return value

    @server.tool
    async def customers_list() -> list[dict[str, Any]]:
        """List customers."""
        return CUSTOMERS

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


# JSON-RPC: success

SUCCESSES: dict[str, tuple[str, dict[str, Any] | None, list[str]]] = {
    "tools/list": ("tools/list", None, list(wire.REVISIONS)),
    "a call": ("tools/call", {"name": "get"}, list(wire.REVISIONS)),
    "an async call": ("tools/call", {"name": "customers_list"}, list(wire.REVISIONS)),
    "ping": ("ping", None, HANDSHAKE),
    "server/discover": ("server/discover", None, [wire.STATELESS]),
}
IDS = [1, 0, -7, 2**53, "", "one", "Zoë"]


@requirement(
    "000.levels.two",
    "000.rpc.success.jsonrpc",
    "000.rpc.success.result",
    "000.rpc.success.id",
    "000.rpc.success.no-error",
)
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(
    ("method", "params", "revision"),
    [
        pytest.param(method, params, revision, id=f"{name} at {revision}")
        for name, (method, params, revisions) in SUCCESSES.items()
        for revision in revisions
    ],
)
def test_a_success_has_jsonrpc_id_and_result_and_nothing_else(
    method: str, params: dict[str, Any] | None, revision: str, id: Any
) -> None:
    reply = Peer(shop(), revision).ask(method, params, id=id)
    assert reply.keys() == {"jsonrpc", "id", "result"}
    assert reply["jsonrpc"] == "2.0"
    assert (type(reply["id"]), reply["id"]) == (type(id), id)
    assert isinstance(reply["result"], dict)


@requirement("000.levels.two")
@each_revision
def test_a_failed_tool_is_a_success_of_json_rpc(revision: str) -> None:
    reply = Peer(shop(Problem.not_found("No customer 7")), revision).call("get")
    assert reply.keys() == {"jsonrpc", "id", "result"}
    assert reply["result"]["isError"] is True


# JSON-RPC: error


def buggy() -> Server:
    """A server of which a part of ours, no tool, cannot do what it should."""
    server = Server("buggy")
    schema: dict[str, Any] = {"type": "object", "not": object()}
    server.add(
        Tool(
            name="it",
            description="",
            input_schema=schema,
            bind=Bound,
            invoke=lambda *_: None,
            is_async=False,
        )
    )
    return server


ERRORS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "an unknown method": ("invalid_method", {}, -32601, "Method not found: invalid_method"),
    "an unknown tool": ("tools/call", {"name": "gone"}, -32602, "Unknown tool: gone"),
    "a call of nothing": ("tools/call", {}, -32602, "Invalid params for tools/call: "),
    "arguments that are a list": ("tools/call", {"name": "get", "arguments": []}, -32602, ""),
    "a cursor that is none of ours": ("tools/list", {"cursor": "x"}, -32602, "Invalid cursor"),
}


def assert_error(reply: Any, id: Any, code: int, message: str) -> None:
    assert reply.keys() == {"jsonrpc", "id", "error"}
    assert reply["jsonrpc"] == "2.0"
    assert (type(reply["id"]), reply["id"]) == (type(id), id)
    assert type(reply["error"]["code"]) is int
    assert reply["error"]["code"] == code
    assert isinstance(reply["error"]["message"], str)
    assert reply["error"]["message"].startswith(message)
    assert reply["error"]["message"]


@requirement(
    "000.rpc.error.jsonrpc",
    "000.rpc.error.code",
    "000.rpc.error.message",
    "000.rpc.error.id",
    "000.rpc.error.no-result",
    "000.rpc.code.method-not-found",
)
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(("method", "params", "code", "message"), ERRORS.values(), ids=list(ERRORS))
@each_revision
def test_an_error_has_code_and_message_and_the_id_of_its_request(
    revision: str, method: str, params: dict[str, Any], code: int, message: str, id: Any
) -> None:
    assert_error(Peer(shop(), revision).ask(method, params, id=id), id, code, message)


@requirement(
    "000.rpc.error.jsonrpc",
    "000.rpc.error.id-of-parse-error",
    "000.rpc.error.no-result",
    "000.rpc.code.parse-error",
    "002.code.parse-error",
)
@pytest.mark.parametrize("raw", [b"{", b"hello", b"\xff", b'{"jsonrpc": "2.0", "id": 1,}'])
@each_revision
def test_what_is_no_json_is_a_parse_error_whose_id_is_null(revision: str, raw: bytes) -> None:
    (reply,) = Peer(shop(), revision).send(raw)
    assert_error(reply, None, -32700, "Parse error")


@requirement("002.code.invalid-request")
@pytest.mark.parametrize(
    ("message", "id"),
    [
        ({"id": 7, "method": "tools/list"}, 7),
        ({"jsonrpc": "1.0", "id": "a", "method": "tools/list"}, "a"),
        ({"jsonrpc": "2.0", "id": 7, "method": 5}, 7),
        (5, None),
    ],
    ids=["no jsonrpc", "a foreign jsonrpc", "a method that is no string", "a number"],
)
@each_revision
def test_what_is_no_json_rpc_is_an_invalid_request(revision: str, message: Any, id: Any) -> None:
    (reply,) = Peer(shop(), revision).send(message)
    assert_error(reply, id, -32600, "Invalid Request")


@requirement("002.code.method-not-found", "002.code.invalid-params")
@each_revision
def test_an_unknown_method_and_bad_params_are_told_apart(revision: str) -> None:
    peer = Peer(shop(), revision)
    assert_error(peer.ask("tools/run", {}, id=1), 1, -32601, "Method not found: tools/run")
    assert_error(peer.ask("tools/call", {"name": 5}, id=2), 2, -32602, "Invalid params")


@requirement("000.rpc.code.internal-error", "002.code.internal-error", "000.rpc.error.id")
@each_revision
def test_a_bug_of_ours_is_an_internal_error_that_tells_nothing(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Peer(buggy(), revision).ask("tools/list", id="a")
    assert_error(reply, "a", -32603, "Internal error")
    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert caplog.text


# tools/call


@requirement(
    "000.tool.success.content",
    "000.tool.success.type",
    "000.tool.success.text",
    "000.tool.success.no-is-error",
)
@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
@each_revision
def test_a_success_is_one_text_that_is_its_value_as_json(revision: str, value: Any) -> None:
    result = Peer(shop(value), revision).call("get")["result"]
    (block,) = result["content"]
    assert block.keys() == {"type", "text"}
    assert block["type"] == "text"
    assert json.loads(block["text"]) == value
    assert "isError" not in result


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@requirement("000.tool.success.text", "000.testing.every-response")
@given(value=json_values, revision=st.sampled_from(wire.REVISIONS))
def test_whatever_json_a_tool_returns_is_what_its_text_holds(value: Any, revision: str) -> None:
    result = Peer(shop(value), revision).call("get")["result"]
    assert json.loads(result["content"][0]["text"]) == value
    PLAIN.validate(result)


@requirement(
    "000.tool.error.content",
    "000.tool.error.type",
    "000.tool.error.prefix",
    "000.tool.error.is-error",
)
@pytest.mark.parametrize(("raised", "message"), PROBLEMS.values(), ids=list(PROBLEMS))
@each_revision
def test_a_failure_is_one_text_that_says_why_and_is_error(
    revision: str, raised: BaseException, message: str
) -> None:
    result = Peer(shop(raised), revision).call("get")["result"]
    assert result["content"] == [{"type": "text", "text": f"Error executing tool: {message}"}]
    assert result["isError"] is True
    assert SECRET not in str(result)


@requirement("000.tool.error.prefix", "000.tool.error.is-error")
@pytest.mark.parametrize("revision", FAILED_ARGUMENTS)
def test_arguments_that_do_not_fit_are_such_a_failure(revision: str) -> None:
    result = Peer(shop(), revision).call("add", a="two")["result"]
    (block,) = result["content"]
    assert block["text"].startswith("Error executing tool: Invalid arguments for add: ")
    assert result["isError"] is True


@requirement("000.testing.every-response", "000.testing.file")
@pytest.mark.parametrize("said", [*VALUES, *PROBLEMS])
@each_revision
def test_every_result_is_valid_under_the_published_schema(revision: str, said: str) -> None:
    value = VALUES[said] if said in VALUES else PROBLEMS[said][0]
    PLAIN.validate(Peer(shop(value), revision).call("get")["result"])


# initialize and tools/list


@requirement(
    "000.initialize.protocol-version", "000.initialize.capabilities", "000.initialize.server-info"
)
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_initialize_says_the_revision_the_capabilities_and_who_it_is(revision: str) -> None:
    assert Peer(shop()).initialize(revision)["result"] == {
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "shop", "version": "1.0"},
    }


@requirement(
    "000.tools-list.tools",
    "000.tools-list.name",
    "000.tools-list.description",
    "000.tools-list.input-schema",
)
@each_revision
def test_tools_are_listed_with_name_description_and_schema(revision: str) -> None:
    tools = Peer(shop(), revision).ask("tools/list")["result"]["tools"]
    assert [(tool["name"], tool["description"]) for tool in tools] == [
        ("get", "Get what there is."),
        ("customers_list", "List customers."),
        ("add", "Add two numbers."),
    ]
    for tool in tools:
        jsonschema_rs.meta.validate(tool["inputSchema"])
    assert tools[2]["inputSchema"] == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }


@requirement("000.tools-list.description")
def test_a_tool_that_nobody_described_has_a_description_nevertheless() -> None:
    server = Server("shop")
    server.tool(name="five")(lambda: 5)
    (tool,) = Peer(server, "2025-06-18").ask("tools/list")["result"]["tools"]
    assert tool["description"] == ""


@requirement("000.rpc.success.id")
@each_revision
def test_each_of_several_requests_gets_the_reply_with_its_own_id(revision: str) -> None:
    peer = Peer(shop(), revision)
    asked = [peer.worded("tools/call", {"name": name}, id=name) for name in ("get", "gone")]
    replies = [reply for message in asked for reply in peer.send(message)]
    assert [(reply["id"], "error" in reply) for reply in replies] == [
        ("get", False),
        ("gone", True),
    ]


@requirement("000.rpc.error.id")
@pytest.mark.parametrize("id", [None, True, 1.5, {}, []], ids=str)
@each_revision
def test_an_id_that_is_none_cannot_be_answered_to(revision: str, id: Any) -> None:
    message = request("tools/list", {}, id=id)
    (reply,) = Peer(shop(), revision).send(message)
    assert_error(reply, None, -32600, "Invalid Request")
