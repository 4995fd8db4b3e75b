"""A server: how it lists its tools, and what becomes of whatever a tool does."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest

import wire
from accord import (
    Answer,
    Context,
    ContractError,
    Embedded,
    Encoded,
    Image,
    Link,
    Notice,
    Page,
    Problem,
    Server,
)
from accord.server import combine
from peer import Peer, notification
from stdio_peer import CLIENT_INFO

V1, V2, V3, V4, V5 = wire.REVISIONS
SECRET = "sk-live-4f9a"
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
MASKED = {
    "content": [{"type": "text", "text": "Error executing tool: Internal error"}],
    "isError": True,
    "_meta": {
        "dev.accord-mcp/answer": {
            "problem": {
                "kind": "internal",
                "code": "INTERNAL_ERROR",
                "message": "Internal error",
                "retryable": False,
            }
        }
    },
}


def of(*functions: Callable[..., Any], **options: Any) -> Server:
    server = Server("shop", version="1.0", **options)
    for function in functions:
        server.tool(function)
    return server


def entries(server: Server, revision: str) -> list[Any]:
    tools: list[Any] = Peer(server, revision).ask("tools/list")["result"]["tools"]
    return tools


# What a server says of itself


def test_initialize_answers_as_the_seed_does() -> None:
    server = Server("django-rest-framework-mcp", version="0.1.0")
    assert Peer(server).initialize("2025-06-18")["result"] == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "django-rest-framework-mcp", "version": "0.1.0"},
    }


@each_revision
def test_a_tool_is_listed_with_its_hints_where_the_revision_has_them(revision: str) -> None:
    server = Server("shop")

    @server.tool(
        title="Look up", read_only=True, destructive=False, idempotent=True, open_world=False
    )
    def find(x: int):
        """Find it."""

    hints = {
        "title": "Look up",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    (entry,) = entries(server, revision)
    assert entry == {
        "name": "find",
        "description": "Find it.",
        "inputSchema": {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "required": ["x"],
        },
        **({} if revision == V1 else {"annotations": hints}),
        **({} if revision in (V1, V2) else {"title": "Look up"}),
    }


def test_tools_come_in_the_order_they_were_added() -> None:
    def b(): ...
    def a(): ...

    server = of(b, a)
    assert [entry["name"] for entry in entries(server, V5)] == ["b", "a"]
    server.tool(name="c")(a)
    assert [entry["name"] for entry in entries(server, V5)] == ["b", "a", "c"]


def test_two_tools_of_one_name_are_our_own_fault() -> None:
    def a(): ...

    with pytest.raises(ContractError, match="two tools named 'a'"):
        of(a, a)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"profile": "fancy"}, "no profile 'fancy'; there are plain"),
        ({"page_size": 0}, "page_size is at least 1"),
        ({"key": b"short"}, "16 to 64 bytes"),
    ],
    ids=["profile", "page size", "key"],
)
def test_a_setting_that_makes_no_sense_is_our_own_fault(options: Any, sentence: str) -> None:
    with pytest.raises(ContractError, match=sentence):
        Server("shop", **options)


def test_a_profile_that_is_none_is_refused_for_a_tool_as_well() -> None:
    with pytest.raises(ContractError, match="no profile 'fancy'"):
        Server("shop").tool(profile="fancy")(move)


# Arguments that do not fit


def move(x: int, to: str): ...


BAD = "Invalid arguments for move: x must be an integer, not a string; to is required"


@pytest.mark.parametrize("revision", [V1, V2, V3])
def test_bad_arguments_are_a_json_rpc_error_before_2025_11_25(revision: str) -> None:
    error = Peer(of(move), revision).call("move", x=SECRET)["error"]
    assert (error["code"], error["message"]) == (-32602, BAD)
    fields = [
        {"field": "x", "error": "must be an integer, not a string", "severity": "error"},
        {"field": "to", "error": "is required", "severity": "error"},
    ]
    assert error["data"] == {
        "validation_errors": fields,
        "dev.accord-mcp/answer": {
            "kind": "validation",
            "code": "VALIDATION_ERROR",
            "message": BAD,
            "fields": fields,
            "retryable": False,
        },
    }


@pytest.mark.parametrize("revision", [V4, V5])
def test_bad_arguments_are_a_failed_call_after(revision: str) -> None:
    result = Peer(of(move), revision).call("move", x=SECRET)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == f"Error executing tool: {BAD}"
    assert SECRET not in json.dumps(result)


# What a tool raises


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


def raising(error: BaseException) -> Server:
    def now():
        raise error

    async def later():
        raise error

    return of(now, later)


MISHAPS: dict[str, BaseException] = {
    "an error": ValueError(f"{SECRET} in /srv/shop.db"),
    "an error of ours": ContractError(SECRET),
    "an error of msgspec": msgspec.ValidationError(SECRET),
    "an exit": SystemExit(SECRET),
    "an interrupt": KeyboardInterrupt(SECRET),
    "a cancellation of its own": asyncio.CancelledError(SECRET),
    "the end of an iteration": StopIteration(SECRET),
    "no memory": MemoryError(SECRET),
    "a group": BaseExceptionGroup(SECRET, [ValueError(SECRET)]),
}


@pytest.mark.parametrize("name", ["now", "later"])
@pytest.mark.parametrize("error", MISHAPS.values(), ids=list(MISHAPS))
def test_what_is_no_problem_is_masked_and_logged(
    error: BaseException, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Peer(raising(error), V4).call(name)["result"] == MASKED
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("accord", logging.ERROR)
    assert name in record.getMessage()
    assert SECRET in caplog.text


@pytest.mark.parametrize("name", ["now", "later"])
def test_an_error_that_cannot_even_be_shown_is_masked(name: str) -> None:
    assert Peer(raising(Unspeakable()), V4).call(name)["result"] == MASKED


@pytest.mark.parametrize("name", ["now", "later"])
def test_a_problem_is_no_mishap(name: str, caplog: pytest.LogCaptureFixture) -> None:
    problem = Problem.not_found("No customer 7")
    result = Peer(raising(problem), V4).call(name)["result"]
    assert result["content"][0]["text"] == "Error executing tool: No customer 7"
    assert caplog.records == []


# What a tool returns


def returning(value: Any, hint: Any) -> Server:
    def get():
        return value

    get.__annotations__ = {"return": hint}
    return of(get)


@dataclass
class Reading:
    value: float | None


MISFITS: dict[str, tuple[Any, Any, str]] = {
    # the hint, the value, and what the log says of it
    "text for a number": (int, SECRET, "int"),
    "nothing for a number": (int, None, "int"),
    "truth for a number": (int, True, "int"),
    "a number for text": (str, 5, "str"),
    "nothing for text": (Answer[str], Answer(), "str"),
    "one bad item": (list[int], [1, SECRET], "int"),
    "a missing member": (Notice, {}, "message"),
    "no number": (float, float("nan"), "float"),
    "no number in a list": (Any, {"a": [1.5, float("inf"), None]}, "float"),
    "no number in a dataclass": (Any, [Reading(float("nan"))], "float"),
    "an object of no known type": (Any, object(), "object"),
    "keys that are no text": (Any, {(1, 2): SECRET}, "the name (1, 2), which JSON does not have"),
    "half a character": (Any, "\ud800", "surrogates"),
}


@pytest.mark.parametrize(("hint", "value", "reason"), MISFITS.values(), ids=list(MISFITS))
def test_a_result_that_breaks_its_promise_is_masked_and_the_log_says_why(
    hint: Any, value: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Peer(returning(value, hint), V4).call("get")["result"] == MASKED
    assert "get" in caplog.records[0].getMessage()
    assert reason in caplog.text


HALF = "\ud800"
UNSENDABLE: dict[str, tuple[Any, Any]] = {
    "half a character as text": (str, HALF),
    "half a character in a warning": (Any, Answer(1, warnings=[HALF])),
    "half a character in a page": (Any, Answer(1, page=Page(cursor=HALF))),
    "half a character in a link": (Any, Answer(1, blocks=[Link(HALF, "a")])),
    "half a character in a resource": (Any, Answer(1, blocks=[Embedded("shop://a", HALF)])),
    "a block that is none": (Any, Answer(1, blocks=[5])),  # type: ignore[list-item]
    "a block in no list": (Any, Answer(1, blocks=Image(b"", "a/b"))),  # type: ignore[arg-type]
    "an image of text": (Any, Answer(1, blocks=[Image("x", "image/png")])),  # type: ignore[arg-type]
    "JSON that is none": (Any, Encoded(b"nope")),
    "JSON that is not UTF-8": (Any, Encoded(b'"\xff"')),
    "no JSON at all": (Any, Encoded(b"")),
    "raw JSON that is none": (Any, msgspec.Raw(b"nope")),
    "raw JSON inside that is none": (Any, {"a": msgspec.Raw(b"nope")}),
    "a second message inside": (Any, [msgspec.Raw(b'1]}\n{"jsonrpc":"2.0","id":99,"result":{}}')]),
}


@pytest.mark.parametrize(("hint", "value"), UNSENDABLE.values(), ids=list(UNSENDABLE))
def test_an_answer_that_cannot_be_sent_is_a_masked_failure(
    hint: Any, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert Peer(returning(value, hint), V4).call("get")["result"] == MASKED
    assert "get" in caplog.records[0].getMessage()


@pytest.mark.parametrize(
    "problem",
    [Problem.not_found(f"No file {HALF}"), Problem("No.", remediation=HALF)],
    ids=["message", "remediation"],
)
def test_a_problem_that_cannot_be_sent_is_a_failure_still(problem: Problem) -> None:
    assert Peer(raising(problem), V4).call("now")["result"]["isError"] is True


@each_revision
@pytest.mark.parametrize("raw", [b'{\n  "a": 1\n}', b' {"a":1}'], ids=["lines", "a space"])
def test_encoded_data_goes_out_as_one_line_like_any_other(raw: bytes, revision: str) -> None:
    peer = Peer(returning(Encoded(raw), Any), revision)
    result = peer.call("get")["result"]
    assert json.loads(result["content"][0]["text"]) == {"a": 1}
    assert result.get("structuredContent", {"a": 1}) == {"a": 1}


# Context


def facts(call: Context) -> list[Any]:
    return [call.tool, call.revision, call.cancelled, call.client.info, call.client.capabilities]


def by_position(call: Context, x: int):
    return facts(call)


def by_name(x: int, *, call: Context):
    return facts(call)


def before_all(call: Context, /, x: int):
    return facts(call)


def perhaps(x: int, call: Context | None = None):
    assert call is not None
    return facts(call)


def annotated(x: int, call: Annotated[Context, "who calls"]):
    return facts(call)


async def later(x: int, call: Context):
    return facts(call)


@each_revision
@pytest.mark.parametrize(
    "function",
    [by_position, by_name, before_all, perhaps, annotated, later],
    ids=lambda f: f.__name__,
)
def test_a_context_is_hidden_from_the_schema_and_given_to_the_function(
    function: Callable[..., Any], revision: str
) -> None:
    server = of(function)
    (entry,) = entries(server, revision)
    assert list(entry["inputSchema"]["properties"]) == ["x"]
    (said,) = Peer(server, revision).call(function.__name__, x=1)["result"]["content"]
    assert json.loads(said["text"]) == [function.__name__, revision, False, CLIENT_INFO, {}]


def test_an_argument_cannot_pose_as_the_context() -> None:
    result = Peer(of(by_position), V4).call("by_position", x=1, call={"tool": "forged"})["result"]
    assert result["structuredContent"]["result"][0] == "by_position"


CANCEL = notification("notifications/cancelled", {"requestId": 1})


@pytest.mark.parametrize("raises", [None, RuntimeError("stopped"), Problem("stopped")], ids=repr)
def test_a_cancelled_call_knows_it_and_ends_without_a_reply(
    raises: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    seen = []

    def work(call: Context):
        seen.append(call.cancelled)
        peer.receive(CANCEL)
        seen.append(call.cancelled)
        if raises:
            raise raises

    peer = Peer(of(work), V4)
    assert peer.send(peer.worded("tools/call", {"name": "work"}, 1)) == []
    assert seen == [False, True]
    assert caplog.records == []


# Several servers as one


def add(a: int, b: int) -> int:
    return a + b


def test_combined_servers_have_the_tools_of_all_in_order() -> None:
    one = Server("shop", version="1.0", instructions="Buy.")
    two = Server("bank", version="2.0", instructions="Pay.")
    one.tool(move)
    two.tool(add)
    peer = Peer(both := combine({"shop:server": one, "bank:server": two}))
    hello = peer.initialize(V4)["result"]
    assert hello["serverInfo"] == {"name": "shop+bank", "version": "1.0+2.0"}
    assert hello["instructions"] == "Buy.\n\nPay."
    assert peer.call("add", a=2, b=3)["result"]["structuredContent"] == {"result": 5}
    assert [list(server.tools) for server in (both, one, two)] == [
        ["move", "add"],
        ["move"],
        ["add"],
    ]


def test_a_name_that_two_servers_have_names_both_targets() -> None:
    with pytest.raises(ContractError) as caught:
        combine({"shop:server": of(move, add), "bank.py:app": of(add)})
    fault = "both shop:server and bank.py:app have a tool 'add'; rename one of them"
    assert str(caught.value) == fault


def test_one_server_stays_itself() -> None:
    server = of(add)
    assert combine({"shop:server": server}) is server


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ({"a": msgspec.Raw(b'{\n "b": 1\n}')}, '{"a":{"b":1}}'),
        ({"a": [None, 1.5]}, '{"a":[null,1.5]}'),
    ],
    ids=["raw JSON in many lines", "null in an array"],
)
def test_json_is_sent_in_one_line(value: Any, sent: str) -> None:
    peer = Peer(returning(value, Any), V4)
    assert peer.call("get")["result"]["content"][0]["text"] == sent


@pytest.mark.parametrize("name", ["now", "later"])
def test_a_task_group_that_failed_for_one_problem_is_that_problem(name: str) -> None:
    group = ExceptionGroup("tasks", [Problem.not_found("No customer 7")])
    result = Peer(raising(group), V4).call(name)["result"]
    assert result["content"][0]["text"] == "Error executing tool: No customer 7"


def test_a_log_that_breaks_loses_no_reply() -> None:
    def refuse(record: logging.LogRecord) -> bool:
        raise RuntimeError(record)

    log = logging.getLogger("accord")
    log.addFilter(refuse)
    try:
        assert Peer(raising(ValueError()), V4).call("now")["result"] == MASKED
    finally:
        log.removeFilter(refuse)
