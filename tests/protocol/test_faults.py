"""What is wrong with a message decides its code; its id, where one can be read, gets the reply."""

from collections.abc import Callable
from typing import Any

import pytest

import wire
from accord import Answer, Encoded, FieldError, Link, Page, Problem, Server
from accord.model.tool import Bound, Tool
from peer import Peer, request
from samples.features import SECRET
from samples.features import basics as server
from stdio_peer import modern_params

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

NOT_JSON = {
    "words": b"hello",
    "half an object": b'{"jsonrpc":"2.0"',
    "something after the object": LIST + b" 5",
    "two messages parted by a lone CR": LIST + b"\r" + LIST,
    "a comma too many": b'{"jsonrpc":"2.0","id":1,"method":"tools/list",}',
    "single quotes": b"{'jsonrpc':'2.0','id':1,'method':'tools/list'}",
    "a leading zero": b'{"jsonrpc":"2.0","id":01,"method":"tools/list"}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":NaN}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":Infinity}}',
    "minus Infinity": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":-Infinity}}',
    "an unknown escape": b'{"jsonrpc":"2.0","id":"\\q","method":"tools/list"}',
    "half an escape": b'{"jsonrpc":"2.0","id":"\\u12","method":"tools/list"}',
    "a control character in text": b'{"jsonrpc":"2.0","id":"\x01","method":"tools/list"}',
    "a lone CR in text": b'{"jsonrpc":"2.0","id":"a\rb","method":"tools/list"}',
    "NUL": b"\x00",
    "a byte that is no UTF-8": b"\xff",
    "no UTF-8 in the id": b'{"jsonrpc":"2.0","id":"\xff","method":"tools/list"}',
    "no UTF-8 in the method": b'{"jsonrpc":"2.0","id":1,"method":"tools/\xff"}',
    "no UTF-8 in a name": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","\xff":1}',
    "no UTF-8 in the params": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":"\xff"}}',
    "no UTF-8 in an array": b'["\xff"]',
    "half a character": b'{"jsonrpc":"2.0","id":"\xc3","method":"tools/list"}',
    "a character written too long": b'{"jsonrpc":"2.0","id":"\xc0\xaf","method":"tools/list"}',
    "a surrogate as bytes": b'{"jsonrpc":"2.0","id":"\xed\xa0\x80","method":"tools/list"}',
    "a byte order mark": b"\xef\xbb\xbf" + LIST,
    "UTF-16": LIST.decode().encode("utf-16-le"),
}

NO_REQUEST: dict[str, tuple[bytes, Any]] = {
    "an empty array": (b"[]", None),
    "a number": (b"5", None),
    "a string": (b'"tools/list"', None),
    "true": (b"true", None),
    "null": (b"null", None),
    "an empty object": (b"{}", None),
    "jsonrpc missing": (b'{"id":7,"method":"tools/list"}', 7),
    "jsonrpc 1.0": (b'{"jsonrpc":"1.0","id":"a","method":"tools/list"}', "a"),
    "jsonrpc a number": (b'{"jsonrpc":2.0,"id":-7,"method":"tools/list"}', -7),
    "jsonrpc null": (b'{"jsonrpc":null,"id":"","method":"tools/list"}', ""),
    "jsonrpc missing and no id": (b'{"method":"tools/list"}', None),
    "method missing": (b'{"jsonrpc":"2.0","id":7}', 7),
    "method null": (b'{"jsonrpc":"2.0","id":7,"method":null}', 7),
    "method a number": (b'{"jsonrpc":"2.0","id":7,"method":5}', 7),
    "method an array": (b'{"jsonrpc":"2.0","id":7,"method":["tools/list"]}', 7),
    "method an object": (b'{"jsonrpc":"2.0","id":7,"method":{}}', 7),
    "method a number beside a result": (b'{"jsonrpc":"2.0","id":7,"method":5,"result":{}}', 7),
    "method a number and no id": (b'{"jsonrpc":"2.0","method":5}', None),
    "method a lone surrogate": (b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', 7),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None),
    "id true": (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', None),
    "id a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', None),
    "id a whole float": (b'{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}', None),
    "id with an exponent": (b'{"jsonrpc":"2.0","id":1e2,"method":"tools/list"}', None),
    "id past a double": (b'{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}', None),
    "id an object": (b'{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}', None),
    "id an array": (b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', None),
    "id a lone surrogate": (b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}', None),
    "id a lone surrogate, no method": (b'{"jsonrpc":"2.0","id":"\\udfff"}', None),
    "id null of a tools/call": (b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}', None),
    "id null of an unknown method": (b'{"jsonrpc":"2.0","id":null,"method":"nope"}', None),
    "id null and jsonrpc missing": (b'{"id":null,"method":"tools/list"}', None),
}

UNKNOWN_METHODS = (
    *("nope", "", "Tools/list", "tools/list ", "tools/call/add", "rpc.discover", "né\n"),
    *("resources/list", "prompts/list", "notifications/initialized", "notifications/cancelled"),
)

WRONG_PARAMS: dict[str, tuple[str, Any]] = {
    "an array": ("tools/list", []),
    "a number": ("tools/list", 5),
    "text": ("tools/call", "add"),
    "true": ("tools/call", True),
    "_meta a number": ("tools/list", {"_meta": 5}),
    "_meta an array": ("tools/list", {"_meta": []}),
    "a cursor that is no text": ("tools/list", {"cursor": 5}),
    "no tool": ("tools/call", {}),
    "a tool without a name": ("tools/call", {"name": None}),
    "a tool with a number for a name": ("tools/call", {"name": 5, "arguments": {}}),
    "arguments in an array": ("tools/call", {"name": "add", "arguments": [1, 2]}),
    "arguments in text": ("tools/call", {"name": "add", "arguments": '{"a":1,"b":2}'}),
    "arguments a number": ("tools/call", {"name": "add", "arguments": 5}),
    "arguments false": ("tools/call", {"name": "add", "arguments": False}),
}

every_revision = pytest.mark.parametrize("revision", wire.REVISIONS)


@every_revision
@pytest.mark.parametrize("frame", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_a_parse_error_without_an_id(frame: bytes, revision: str) -> None:
    (reply,) = Peer(server, revision).send(frame)
    assert reply["id"] is None
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32700, "Parse error")


@every_revision
@pytest.mark.parametrize(("frame", "identity"), NO_REQUEST.values(), ids=NO_REQUEST)
def test_json_that_is_no_request_is_invalid(frame: bytes, identity: Any, revision: str) -> None:
    (reply,) = Peer(server, revision).send(frame)
    assert reply["id"] == identity
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32600, "Invalid Request")


@every_revision
@pytest.mark.parametrize("method", UNKNOWN_METHODS)
@pytest.mark.parametrize("params", [{}, None, [5]], ids=["params", "null", "array"])
def test_an_unknown_method_is_named(method: str, params: Any, revision: str) -> None:
    (reply,) = Peer(server, revision).send(request(method, params))
    assert reply["id"] == 1
    assert reply["error"] == {"code": -32601, "message": f"Method not found: {method}"}


@every_revision
@pytest.mark.parametrize(("method", "params"), WRONG_PARAMS.values(), ids=WRONG_PARAMS)
def test_params_of_the_wrong_shape_are_refused(method: str, params: Any, revision: str) -> None:
    if revision == wire.STATELESS and isinstance(params, dict) and "_meta" not in params:
        params = modern_params(params)
    (reply,) = Peer(server, revision).send(request(method, params))
    assert reply["id"] == 1
    assert reply["error"]["code"] == -32602


@every_revision
@pytest.mark.parametrize("name", ["nope", "", "Add", "add ", "a/b", "é"])
def test_an_unknown_tool_is_named(name: str, revision: str) -> None:
    reply = Peer(server, revision).call(name, a="no number")
    assert reply["error"] == {"code": -32602, "message": f"Unknown tool: {name}"}


IDS = {
    "zero": b"0",
    "minus one": b"-1",
    "text": b'"a"',
    "no text": b'""',
    "digits as text": b'"1"',
    "an escape": b'"\\u0061\\/\\n"',
    "an accent": '"é"'.encode(),
    "a pair of surrogates": b'"\\ud83d\\ude00"',
    "past 64 bits": b"18446744073709551616",
    "400 digits": b"7" * 400,
    "minus 400 digits": b"-" + b"7" * 400,
    "a long text": b'"' + b"x" * 10_000 + b'"',
}


@pytest.mark.parametrize("revision", wire.REVISIONS[:-1])
@pytest.mark.parametrize("identity", IDS.values(), ids=IDS)
@pytest.mark.parametrize("method", ["ping", "tools/list", "nope"])
def test_a_reply_carries_the_very_id(method: str, identity: bytes, revision: str) -> None:
    frame = b'{"jsonrpc":"2.0","id":%b,"method":"%b"}' % (identity, method.encode())
    (reply,) = Peer(server, revision).send(frame)
    assert reply["id"] == wire.decode(identity)
    assert ("error" in reply) == (method == "nope")


@every_revision
def test_the_cause_of_a_failure_goes_to_the_log_alone(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Peer(server, revision).call("broken")
    assert reply["result"]["isError"] is True
    assert SECRET not in str(reply)
    assert SECRET in caplog.text


def raising(error: Exception) -> Any:
    raise error


UNSPEAKABLE: dict[str, Callable[[], Any]] = {
    "text": lambda: "\ud800",
    "data": lambda: ["\ud800"],
    "a name in data": lambda: {"\ud800": 1},
    "a warning": lambda: Answer(1, warnings=["\ud800"]),
    "a cursor": lambda: Answer(1, page=Page(cursor="\ud800")),
    "a link": lambda: Answer(1, blocks=[Link("file:///\ud800", "a")]),
    "a problem": lambda: raising(Problem("\ud800")),
    "a field error": lambda: raising(
        Problem.validation("No.", fields=[FieldError("\ud800", "\ud800")])
    ),
    "a remediation": lambda: raising(Problem("No.", remediation="\ud800")),
    "JSON that is no UTF-8": lambda: Answer(Encoded(b'"\xff"')),
    "JSON that is none": lambda: Answer(Encoded(b"{")),
    "JSON in two lines": lambda: Answer(Encoded(b'{"a":\n1}')),
    "no JSON at all": object,
}


@every_revision
@pytest.mark.parametrize("says", [str, Any], ids=["says text", "says data"])
@pytest.mark.parametrize("answer", UNSPEAKABLE.values(), ids=UNSPEAKABLE)
def test_an_answer_that_cannot_be_sent_gets_one_reply_that_can(
    answer: Callable[[], Any], says: Any, revision: str
) -> None:
    def speak() -> Any:
        return answer()

    speak.__annotations__["return"] = says
    speaker = Server("speaker")
    speaker.tool(speak)
    assert Peer(speaker, revision).call("speak")["id"] == 1


def buggy(**parts: Any) -> Server:
    """A server whose only tool breaks the promises that a Tool makes."""
    whole: dict[str, Any] = {"input_schema": {"type": "object"}, "bind": Bound, "is_async": False}
    found = Server("buggy")
    found.add(Tool(name="it", description="", invoke=lambda *_: None, **whole | parts))
    return found


@every_revision
def test_a_bug_of_ours_is_an_internal_error(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer(buggy(input_schema={"type": "object", "not": object()}), revision)
    reply = peer.ask("tools/list")
    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert "TypeError" in caplog.text


@every_revision
def test_a_bug_in_taking_arguments_is_a_masked_failure(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer(buggy(bind=lambda _: raising(RuntimeError(SECRET))), revision)
    reply = peer.call("it")
    assert "error" in reply or reply["result"]["isError"]
    assert SECRET not in str(reply)
    assert SECRET in caplog.text
