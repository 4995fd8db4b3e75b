"""The referee must be able to say no: good and bad messages for `wire`, and a talk by `StdioPeer`."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import wire
from stdio_peer import StdioPeer, modern_params
from wire import WireError

V1, V2, V3, V4, V5 = wire.REVISIONS
TEXT = {"type": "text", "text": "5"}
FAILED = {"type": "text", "text": "Error executing tool: no"}
SERVER_INFO = {"name": "shop", "version": "1.0"}
STAMP = {"_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO}}
COMPLETE = {"resultType": "complete", **STAMP}
CACHED = {**COMPLETE, "ttlMs": 0, "cacheScope": "public"}
ADD = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
ANY_OUTPUT = {**ADD, "outputSchema": {"type": "array"}}
OBJECT_OUTPUT = {**ADD, "outputSchema": {"type": "object"}}


def reply(result: Any, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failure(code: Any, id: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "No.", **more}}


def notice(method: Any, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def call(*content: Any, **members: Any) -> dict[str, Any]:
    return reply({"content": list(content) or [TEXT], **members})


def tools(*listed: Any, **members: Any) -> dict[str, Any]:
    return reply({"tools": list(listed), **members})


def initialized(revision: str) -> dict[str, Any]:
    return reply(
        {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}
    )


def without(message: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != member}


LINK = {"type": "resource_link", "uri": "file:///a.txt", "name": "a"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
UNSUPPORTED = {"supported": [V5], "requested": "1999-01-01"}
DISCOVERED = reply({**CACHED, "supportedVersions": [V5], "capabilities": {"tools": {}}})
PROGRESS = notice("notifications/progress", {"progressToken": 1, "progress": 0.5})
QUESTION = {**notice("roots/list"), "id": 1}

GOOD: dict[str, tuple[Any, ...]] = {
    "text in the oldest revision": (V1, "tools/call", call()),
    "an image in the oldest revision": (V1, "tools/call", call(TEXT, IMAGE)),
    "audio once it exists": (V2, "tools/call", call(TEXT, AUDIO)),
    "a link once it exists": (V3, "tools/call", call(TEXT, LINK)),
    "structure once it exists": (V3, "tools/call", call(structuredContent={"result": 5})),
    "a failed call": (V4, "tools/call", call(FAILED, isError=True)),
    "members at the root, as in bare": (V4, "tools/call", call(pdf="a.pdf", page=None)),
    "a stateless call with a list": (V5, "tools/call", call(structuredContent=[5], **COMPLETE)),
    "a stateless call with null": (V5, "tools/call", call(structuredContent=None, **COMPLETE)),
    "no tools": (V1, "tools/list", tools()),
    "a tool and a cursor": (V1, "tools/list", tools(ADD, nextCursor="c")),
    "an output schema": (V3, "tools/list", tools(OBJECT_OUTPUT)),
    "a stateless list": (V5, "tools/list", tools(ANY_OUTPUT, **CACHED)),
    "discover": (V5, "server/discover", DISCOVERED),
    "ping": (V2, "ping", reply({})),
    "initialize as asked": (V1, "initialize", initialized(V1)),
    "initialize with an unknown revision": ("1999-01-01", "initialize", initialized(V4)),
    "initialize with a stateless revision": (V5, "initialize", initialized(V4)),
    "initialize refused": ("1999-01-01", "initialize", failure(-32602)),
    "a text id": (V4, "ping", reply({}, id="a")),
    "an error with data": (V4, "tools/call", failure(-32602, data={"field": "a"})),
    "an unsupported revision": (V5, "tools/list", failure(-32022, data=UNSUPPORTED)),
    "a parse error without a revision": (None, None, failure(-32700, id=None)),
    "an invalid request without an id": (V4, None, failure(-32600, id=None)),
    "an id left out over HTTP": (V4, None, without(failure(-32700), "id")),
    "a result to an unknown method": (V4, None, reply({"anything": 1})),
    "a result under an unknown revision": (None, "tools/call", reply({})),
    "a notification": (V4, None, PROGRESS),
    "a stateless notification": (V5, None, PROGRESS),
    "a question to the client": (V4, None, QUESTION),
    "a batch": (V2, {1: "tools/call", 2: "ping"}, [call(), reply({}, id=2)]),
    "bytes with a newline": (V4, "ping", b'{"jsonrpc":"2.0","id":1,"result":{}}\n'),
    "bytes without one": (V4, "ping", b'{"jsonrpc":"2.0","id":1,"result":{}}'),
}

BAD: dict[str, tuple[Any, ...]] = {
    "a line break inside": (V4, "ping", b'{"jsonrpc":"2.0",\n"id":1,"result":{}}\n', "one line"),
    "a carriage return": (V4, "ping", b'{"jsonrpc":"2.0","id":1,"result":{}}\r\n', "one line"),
    "no JSON": (None, None, b"hello\n", "JSON in UTF-8"),
    "an empty line": (None, None, b"\n", "JSON in UTF-8"),
    "a byte order mark": (V4, None, b'\xef\xbb\xbf{"jsonrpc":"2.0"}', "JSON in UTF-8"),
    "no UTF-8": (V4, None, b'{"jsonrpc":"\xff"}', "JSON in UTF-8"),
    "NaN": (V4, None, b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}', "no NaN"),
    "minus infinity": (V4, None, b'{"jsonrpc":"2.0","id":1,"result":{"a":-Infinity}}', "Infinity"),
    "NaN in a dict": (V4, None, reply({"a": float("nan")}), "without NaN"),
    "a number past a double": (
        V4,
        None,
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1e999}}',
        "double",
    ),
    "the same member twice": (V4, None, b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', "distinct"),
    "a lone surrogate": (
        V4,
        None,
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}',
        "lone surrogates",
    ),
    "a lone surrogate where the id is left out": (
        V4,
        None,
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"\\ud800"}}',
        "lone surrogates",
    ),
    "a number for a message": (V4, None, b"5", "is an object"),
    "no jsonrpc": (V4, "ping", without(reply({}), "jsonrpc"), '"jsonrpc": "2.0"'),
    "another jsonrpc": (V4, "ping", {**reply({}), "jsonrpc": "1.0"}, '"jsonrpc": "2.0"'),
    "result and error": (V4, "ping", {**reply({}), **failure(-32603)}, "not both"),
    "neither result nor error": (V4, "ping", without(reply({}), "result"), "not both"),
    "a further member": (V4, "ping", {**reply({}), "extra": 1}, r"no members beyond .*'extra'"),
    "a result that is a list": (V4, "ping", reply([]), "result is an object"),
    "a result without id": (V4, "ping", without(reply({}), "id"), "without the id"),
    "a null id of a result": (V4, "ping", reply({}, id=None), "without the id"),
    "a null id of another error": (V4, None, failure(-32601, id=None), "without the id"),
    "an id left out too early": (
        V3,
        None,
        without(failure(-32700), "id"),
        "id of an error is null",
    ),
    "a boolean id": (V4, "ping", reply({}, id=True), "string or an integer"),
    "a float id": (V4, "ping", reply({}, id=1.0), "string or an integer"),
    "an object id": (V4, "ping", reply({}, id={}), "string or an integer"),
    "an error that is text": (V4, None, {**failure(1), "error": "no"}, "error is an object"),
    "a code that is text": (V4, None, failure("-32603"), "code of an error"),
    "a boolean code": (V4, None, failure(True), "code of an error"),
    "a message that is null": (V4, None, failure(-32603, message=None), "message of an error"),
    "a further member of an error": (V4, None, failure(-32603, trace="x"), "no members beyond"),
    "a retired code": (V5, "tools/call", failure(-32002), "-32002 is never sent"),
    "no content": (V4, "tools/call", reply({}), "has content"),
    "empty content": (V4, "tools/call", reply({"content": []}), "never an empty one"),
    "no content but resultType": (V5, "tools/call", reply(COMPLETE), "has content"),
    "audio too early": (V1, "tools/call", call(TEXT, AUDIO), "type audio"),
    "a link too early": (V2, "tools/call", call(TEXT, LINK), "type resource_link"),
    "a block of no known type": (V4, "tools/call", call({"type": "video"}), "official model"),
    "a text block without text": (V4, "tools/call", call({"type": "text"}), "official model"),
    "structure too early": (V2, "tools/call", call(structuredContent={}), "no structuredContent"),
    "a list as structure": (V4, "tools/call", call(structuredContent=[5]), "is an object"),
    "null as structure": (V4, "tools/call", call(structuredContent=None), "is an object"),
    "isError false": (V4, "tools/call", call(isError=False), "isError"),
    "isError null": (V4, "tools/call", call(isError=None), "isError"),
    "isError in words": (V4, "tools/call", call(isError="true"), "isError"),
    "resultType too early": (V4, "tools/call", call(**COMPLETE), "no resultType"),
    "no resultType": (V5, "tools/call", call(), '"resultType": "complete"'),
    "another resultType": (V5, "tools/call", call(resultType="done"), '"resultType": "complete"'),
    "a null cursor": (V4, "tools/list", tools(ADD, nextCursor=None), "nextCursor"),
    "no tools member": (V4, "tools/list", reply({}), "official model"),
    "a null title": (V4, "tools/list", tools({**ADD, "title": None}), r"null: \['title'\]"),
    "no input schema": (V4, "tools/list", tools({"name": "add"}), "inputSchema of tool 'add'"),
    "an array as input": (V5, "tools/list", tools({**ADD, "inputSchema": {}}, **CACHED), "root"),
    "an output schema too early": (V2, "tools/list", tools(OBJECT_OUTPUT), "no outputSchema"),
    "an array as output": (V4, "tools/list", tools(ANY_OUTPUT), "outputSchema of tool 'add'"),
    "a schema that is none": (
        V4,
        "tools/list",
        tools({**ADD, "inputSchema": {"type": "object", "required": 5}}),
        "valid JSON Schema",
    ),
    "a schema in an unknown dialect": (
        V4,
        "tools/list",
        tools({**ADD, "inputSchema": {"type": "object", "$schema": "urn:none"}}),
        "valid JSON Schema",
    ),
    "cache hints too early": (V4, "tools/list", tools(ttlMs=0), "no ttlMs"),
    "no cache hints": (V5, "tools/list", tools(**COMPLETE), "has ttlMs and cacheScope"),
    "a time in words": (V5, "tools/list", tools(**{**CACHED, "ttlMs": "5"}), "at ttlMs"),
    "a scope of no kind": (
        V5,
        "tools/list",
        tools(**{**CACHED, "cacheScope": "all"}),
        "cacheScope",
    ),
    "discover too early": (V4, "server/discover", reply({}), "no such message"),
    "ping too late": (V5, "ping", reply(COMPLETE), "no such message"),
    "initialize with another revision": (V1, "initialize", initialized(V4), f"answers with {V1}"),
    "initialize with no revision": (None, "initialize", reply({}), "begins with initialize"),
    "initialize into statelessness": (V5, "initialize", initialized(V5), "begins with initialize"),
    "initialize without serverInfo": (
        V4,
        "initialize",
        reply({"protocolVersion": V4, "capabilities": {}}),
        "at serverInfo",
    ),
    "an unknown notification": (V4, None, notice("notifications/none"), "no such message"),
    "a notification without its params": (V4, None, notice("notifications/progress"), "params"),
    "a notification with a number in words": (
        V4,
        None,
        notice("notifications/progress", {"progressToken": 1, "progress": "0.5"}),
        "at params.progress",
    ),
    "a notification with a further member": (V4, None, {**PROGRESS, "x": 1}, "no members beyond"),
    "params that are a list": (V4, None, notice("notifications/message", []), "Params are"),
    "a method that is a number": (V4, None, notice(5), "method is a string"),
    "a question in the stateless era": (V5, None, QUESTION, "no such message"),
    "a question with a null id": (V4, None, {**QUESTION, "id": None}, "string or an integer"),
    "a batch in another revision": (V3, "ping", [reply({})], f"under {V2} only"),
    "an empty batch": (V2, None, [], "at least one"),
    "a bad reply in a batch": (
        V2,
        {1: "ping", 2: "tools/call"},
        [reply({}), reply({}, 2)],
        "content",
    ),
    "a question in a batch": (V2, None, [QUESTION], "replies only"),
    "a batch in a batch": (V2, None, [[]], "is an object"),
}


@pytest.mark.parametrize(("revision", "method", "message"), GOOD.values(), ids=GOOD.keys())
def test_a_right_message_is_returned_decoded(revision: Any, method: Any, message: Any) -> None:
    expected = json.loads(message) if isinstance(message, bytes) else message

    assert wire.check(message, revision=revision, method=method) == expected


@pytest.mark.parametrize(("revision", "method", "message", "says"), BAD.values(), ids=BAD.keys())
def test_a_wrong_message_is_refused_with_the_broken_rule(
    revision: Any, method: Any, message: Any, says: str
) -> None:
    with pytest.raises(WireError) as refused:
        wire.check(message, revision=revision, method=method)

    assert re.search(says, refused.value.broken)


def shaped(shape: Any, **members: Any) -> dict[str, Any]:
    """A call whose text is an object of the profile's own."""
    return call({"type": "text", "text": json.dumps(shape)}, **members)


V2_SUCCESS = {"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}}
V2_FAILURE = {**V2_SUCCESS, "success": False, "error": "No."}
GENERIC = {"toolName": "add", "responseType": "single", "data": {"a": 1}}
GENERIC_ERROR = {"toolName": "add", "responseType": "error", "error": {"message": "No."}}
PROSE_FAILED = {"type": "text", "text": "Error executing add: no"}

FITTING: dict[str, tuple[Any, ...]] = {
    "a success": ("plain", call()),
    "a failure": ("plain", call(FAILED, isError=True)),
    "a failure that names its tool": ("prose", call(PROSE_FAILED, isError=True)),
    "an envelope": ("envelope", shaped(V2_SUCCESS, structuredContent=V2_SUCCESS)),
    "an envelope that failed": ("envelope", shaped(V2_FAILURE, isError=True)),
    "a generic response": ("generic", shaped(GENERIC, structuredContent=GENERIC)),
    "a generic failure": ("generic", shaped(GENERIC_ERROR, isError=True)),
}
UNFITTING: dict[str, tuple[Any, ...]] = {
    "a failure without its beginning": ("plain", call(TEXT, isError=True), "Error executing"),
    "a failure in another profile": ("bare", call(PROSE_FAILED, isError=True), "Error executing"),
    "a failure in no profile at all": (None, call(TEXT, isError=True), "prose.*generic"),
    "structure of a failure": (
        "prose",
        call(PROSE_FAILED, isError=True, structuredContent={}),
        "structuredContent",
    ),
    "no envelope": ("envelope", call(), "schema of envelope"),
    "words for an envelope": ("envelope", call(FAILED, isError=True), "no JSON text"),
    "a picture for an envelope": ("envelope", call(IMAGE), "no JSON text"),
    "a failed envelope without isError": ("envelope", shaped(V2_FAILURE), "isError"),
    "isError without a failed response": ("generic", shaped(GENERIC, isError=True), "isError"),
    "an envelope that says two things": (
        "envelope",
        shaped(V2_SUCCESS, structuredContent={**V2_SUCCESS, "data": {"a": 1}}),
        "not its text",
    ),
}


@pytest.mark.parametrize(("profile", "message"), FITTING.values(), ids=FITTING)
def test_a_result_that_keeps_its_profile_is_right(profile: str, message: Any) -> None:
    assert wire.check(message, revision=V4, method="tools/call", profile=profile)
    assert wire.check(message, revision=V4, method="tools/call")


@pytest.mark.parametrize(("profile", "message", "says"), UNFITTING.values(), ids=UNFITTING)
def test_a_result_that_breaks_its_profile_is_refused(
    profile: str | None, message: Any, says: str
) -> None:
    with pytest.raises(WireError) as refused:
        wire.check(message, revision=V4, method="tools/call", profile=profile)

    assert re.search(says, refused.value.broken)


def test_an_unknown_revision_is_a_mistake_of_the_test() -> None:
    with pytest.raises(ValueError, match="1999-01-01"):
        wire.check(reply({}), revision="1999-01-01", method="ping")


def test_every_broken_rule_is_named() -> None:
    with pytest.raises(WireError, match=r"(?s)has content.*isError"):
        wire.check(reply({"isError": False}), revision=V4, method="tools/call")


def test_the_summary_counts_what_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_SCHEMAS", raising=False)
    monkeypatch.setattr(wire, "COUNTS", Counter())

    wire.check([call(), failure(-32602, id=2)], revision=V2, method="tools/call")
    wire.check(reply({}), revision=None, method=None)

    assert wire.summary() == (
        "wire: 3 messages checked, 2 against mcp-types, 0 against MCP's JSON Schemas, "
        "1 against ours"
    )


@pytest.fixture(params=["$defs", "definitions"])
def schemas(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with a schema of our own, whose demands the official models do not make."""
    open_definitions: dict[str, Any] = {
        "JSONRPCResponse": {"required": ["result"]},
        "JSONRPCError": {"properties": {"id": {"type": "integer"}}},
        "EmptyResult": {"maxProperties": 0},
        "ToolListChangedNotification": {"required": ["params"]},
    }
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        request.param: open_definitions,
    }
    (tmp_path / f"{V4}.json").write_text(json.dumps(document))
    monkeypatch.setenv("MCP_SCHEMAS", str(tmp_path))
    monkeypatch.setattr(wire, "COUNTS", Counter())


@pytest.mark.usefixtures("schemas")
@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("ping", reply({"_meta": {}})),
        ("ping", failure(-32601, id="a")),
        (None, notice("notifications/tools/list_changed")),
    ],
    ids=["result", "error", "notification"],
)
def test_a_schema_can_refuse_what_the_models_allow(method: str | None, message: Any) -> None:
    with pytest.raises(WireError, match=f"MCP's schema of {V4} refuses"):
        wire.check(message, revision=V4, method=method)


@pytest.mark.usefixtures("schemas")
def test_messages_held_against_a_schema_are_counted_and_null_ids_exempt() -> None:
    wire.check(reply({}), revision=V4, method="ping")
    wire.check(failure(-32601), revision=V4, method="none")
    wire.check(failure(-32700, id=None), revision=V4, method=None)

    assert (wire.COUNTS["messages"], wire.COUNTS["schemas"]) == (3, 2)


@pytest.mark.usefixtures("schemas")
def test_a_revision_without_a_schema_in_the_folder_is_no_silent_pass() -> None:
    with pytest.raises(FileNotFoundError):
        wire.check(reply({}), revision=V3, method="ping")


# A server that answers by script: each request's params say what it prints.
SCRIPTED = """
import json, sys
print("started", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    first = message[0] if isinstance(message, list) else message
    for said in first.get("params", {}).get("say", []):
        print(said if isinstance(said, str) else json.dumps(said), flush=True)
    if "end" in first.get("params", {}):
        sys.exit(first["params"]["end"])
"""


def scripted(**options: Any) -> StdioPeer:
    return StdioPeer([sys.executable, "-c", SCRIPTED], **options)


def say(*messages: Any) -> dict[str, Any]:
    return {"say": list(messages)}


def handshake(peer: StdioPeer, revision: str) -> None:
    params = {"protocolVersion": revision, **say(initialized(revision))}
    peer.request("initialize", params, id=1)


def test_the_peer_returns_the_reply_and_keeps_the_rest_in_order() -> None:
    with scripted() as peer:
        handshake(peer, V4)
        wanted = peer.request("ping", say(PROGRESS, reply({}, 7), reply({}, 2)), id=2)

        assert peer.revision == V4
        assert wanted == reply({}, 2)
        assert peer.replies(1) == [reply({}, 7)]
        assert peer.receive() == PROGRESS


@pytest.mark.parametrize("revision", [V3, V4])
def test_the_peer_checks_a_reply_under_the_agreed_revision(revision: str) -> None:
    with scripted() as peer:
        handshake(peer, revision)
        with pytest.raises(WireError, match="structuredContent is an object"):
            peer.request("tools/call", say(call(structuredContent=[1])), id=1)


def test_the_peer_checks_a_stateless_reply_under_its_own_revision() -> None:
    good = call(structuredContent=[1], **COMPLETE)
    with scripted() as peer:
        handshake(peer, V4)

        assert peer.modern("tools/call", say(good), id=1) == good
        with pytest.raises(WireError, match="resultType"):
            peer.modern("tools/call", say(call()), id=1)


def test_the_stateless_params_have_three_meta_keys_and_keep_the_callers_own() -> None:
    meta = modern_params({"name": "add", "_meta": {"progressToken": 1}})["_meta"]

    assert sorted(meta) == [
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/protocolVersion",
        "progressToken",
    ]


def test_the_peer_knows_the_methods_inside_a_batch() -> None:
    with scripted() as peer:
        handshake(peer, V2)
        answered = [reply({}, 2), call()]
        answer = json.dumps(answered)
        peer.send([{**notice("ping", say(answer)), "id": 2}, {**notice("tools/call"), "id": 1}])

        assert peer.receive_batch() == answered
        peer.send([{**notice("tools/call", say(f"[{json.dumps(reply({}))}]")), "id": 1}])
        with pytest.raises(WireError, match="has content"):
            peer.receive_batch()


def test_two_requests_of_one_id_get_a_check_of_their_shape() -> None:
    with scripted() as peer:
        handshake(peer, V4)
        peer.send({**notice("tools/call"), "id": 1})
        peer.send({**notice("ping", say(reply({}), call())), "id": 1})

        assert peer.replies(2) == [reply({}), call()]


def test_bytes_are_sent_as_they_are_and_still_known_by_method() -> None:
    line = json.dumps({**notice("tools/call", say(reply({}))), "id": 1}).encode()
    with scripted() as peer:
        handshake(peer, V4)
        for start in range(0, len(line), 20):
            peer.send(line[start : start + 20])
        peer.close_input()

        with pytest.raises(WireError, match="has content"):
            peer.receive()


def test_what_nobody_received_is_checked_on_leaving() -> None:
    with pytest.raises(WireError, match="JSON in UTF-8"), scripted() as peer:
        peer.notify("x", say("a stray print"))


def test_on_stdio_a_reply_has_an_id_member() -> None:
    with scripted() as peer:
        handshake(peer, V4)
        peer.notify("x", say(without(failure(-32700), "id")))
        with pytest.raises(WireError, match="id member"):
            peer.receive()


def test_the_last_message_ends_with_a_newline() -> None:
    child = "import sys; sys.stdout.write('{}')"
    refused = pytest.raises(WireError, match="ends with a newline")
    with StdioPeer([sys.executable, "-c", child]) as peer, refused:
        peer.receive()


def test_silence_is_a_timeout_and_the_end_is_an_eof() -> None:
    with scripted() as peer:
        with pytest.raises(TimeoutError):
            peer.receive(timeout=0.05)
        peer.notify("x", {"say": [PROGRESS], "end": 3})

        assert peer.rest() == [PROGRESS]
        assert peer.wait() == 3
        assert peer.stderr == "started\n"
        with pytest.raises(EOFError, match="started"):
            peer.request("ping")


def test_a_child_that_does_not_end_is_killed_and_half_a_line_forgiven() -> None:
    child = "import sys, time; sys.stdout.write('{\"json'); sys.stdout.flush(); time.sleep(60)"
    late = pytest.raises(TimeoutError, match="runs on")
    with StdioPeer([sys.executable, "-c", child], grace=0.05) as peer, late:
        peer.wait(timeout=0.05)

    assert peer.process.returncode == -9


def test_a_child_that_reads_nothing_does_not_block_the_sender() -> None:
    child = "import time; time.sleep(60)"
    with StdioPeer([sys.executable, "-c", child], grace=0) as peer:
        peer.send(b"x" * 10_000_000)
        peer.notify("x")
        with pytest.raises(TimeoutError):
            peer.receive(timeout=0.05)
