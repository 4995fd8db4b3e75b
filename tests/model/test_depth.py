"""Values nested too deeply: one clear failure that names the limit, and one short log line."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import Answer, Context, Encoded, Problem, Server, read, render, success_response
from accord.errors import ContractError
from accord.model.arguments import Checker
from accord.model.values import MAX_DEPTH, as_json, is_deep, is_deep_json, require_json
from peer import Peer, asking
from stdio_peer import modern_params

REASON = f"is nested more than {MAX_DEPTH} levels deep, or contains itself"
V1, V2, V3, V4, V5 = wire.REVISIONS


class Node(msgspec.Struct):
    inner: "Node | None" = None


@dataclass
class Box:
    inner: "Box | None" = None


def lists(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def dicts(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def nodes(depth: int) -> Any:
    value = Node()
    for _ in range(depth - 1):
        value = Node(value)
    return value


def boxes(depth: int) -> Any:
    value = Box()
    for _ in range(depth - 1):
        value = Box(value)
    return value


def looped_list() -> Any:
    loop: list[Any] = []
    loop.append([loop])
    return loop


def looped_dict() -> Any:
    loop: dict[str, Any] = {}
    loop["a"] = {"b": loop}
    return loop


def text_of(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


DEEP: dict[str, Callable[[], Any]] = {
    "one level too many": lambda: lists(MAX_DEPTH + 1),
    "a list of 500 levels": lambda: lists(500),
    "a dict of 500 levels": lambda: dicts(500),
    "structs of 500 levels": lambda: nodes(500),
    "dataclasses of 500 levels": lambda: boxes(500),
    "a list of 100,000 levels": lambda: lists(100_000),
    "a dict of 100,000 levels": lambda: dicts(100_000),
    "structs of 100,000 levels": lambda: nodes(100_000),
    "dataclasses of 100,000 levels": lambda: boxes(100_000),
    "a list of itself": looped_list,
    "a dict of itself": looped_dict,
    "JSON of 500 levels": lambda: Encoded(text_of(500)),
    "JSON of 100,000 levels": lambda: Encoded(text_of(100_000)),
    "raw JSON of 500 levels": lambda: msgspec.Raw(text_of(500)),
    "raw JSON inside of a list": lambda: [1, msgspec.Raw(text_of(MAX_DEPTH))],
    "an answer": lambda: Answer(lists(500), message="Here it is"),
}


def returning(make: Callable[[], Any], *, is_async: bool = False, hint: Any = Any) -> Server:
    server = Server("deep")

    def get():
        return make()

    async def wait():
        return make()

    function = wait if is_async else get
    function.__annotations__["return"] = hint
    server.tool(name="get")(function)
    return server


def failure_of(reply: dict[str, Any]) -> str:
    """Return the message of a failed call, in any profile."""
    if "error" in reply:
        return str(reply["error"]["message"])
    assert reply["result"]["isError"] is True
    return str(reply["result"]["content"][0]["text"])


def assert_one_line(caplog: pytest.LogCaptureFixture, what: str) -> None:
    (record,) = caplog.records
    assert record.getMessage() == f"{what} {REASON}"
    assert record.exc_info is None


@pytest.mark.slow
@pytest.mark.parametrize("revision", [V1, V2, V3, V4, V5])
@pytest.mark.parametrize("profile", wire.PROFILES)
@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_a_deep_result_is_a_failure_that_names_the_limit(
    make: Callable[[], Any], profile: str, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Peer(returning(make), revision, asking(profile)).call("get")
    assert f"The result of get {REASON}" in failure_of(reply)
    assert_one_line(caplog, "tool get failed: the result of get")


@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_so_is_that_of_an_async_tool(make: Callable[[], Any]) -> None:
    reading = asyncio.run(returning(make, is_async=True).call("get", profile="envelope"))
    assert reading.is_failure
    assert reading.response.error is not None
    assert reading.response.error.code == "TOO_DEEP"


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: nodes(500), Node),
        (lambda: boxes(500), Box),
        (lambda: [nodes(500)], list[Node]),
        (lambda: nodes(100_000), Node),
        (lambda: boxes(100_000), Box),
        (lambda: {"a": lists(500)}, dict[str, Any]),
        (lambda: lists(500), list[list[int]]),
    ],
    ids=["struct", "dataclass", "list", "deep struct", "deep dataclass", "dict", "does not fit"],
)
def test_so_is_one_with_a_schema(
    make: Callable[[], Any], hint: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Peer(returning(make, hint=hint), V5).call("get")
    assert REASON in failure_of(reply)
    assert_one_line(caplog, "tool get failed: the result of get")


@pytest.mark.parametrize("revision", [V1, V3, V5])
@pytest.mark.parametrize("profile", wire.PROFILES)
@pytest.mark.parametrize("make", [lists, dicts, nodes, boxes])
def test_a_result_within_the_limit_is_sent(
    make: Callable[[int], Any], profile: str, revision: str
) -> None:
    reply = Peer(returning(lambda: make(MAX_DEPTH)), revision, asking(profile)).call("get")
    assert "isError" not in reply["result"]
    assert not read(reply, "get").is_failure


def test_a_reply_is_never_deeper_than_others_read() -> None:
    """serde_json, which the Rust SDK reads with, stops at 127 levels."""
    for profile in wire.PROFILES:
        for value in (lists(MAX_DEPTH), dicts(MAX_DEPTH)):
            for revision in (V1, V3, V5):
                assert not is_deep([replied(value, profile, revision)], 127)


def replied(value: Any, profile: str, revision: str) -> Any:
    """The reply of a tool that returns a value."""
    return Peer(returning(lambda: value), revision, asking(profile)).call("get")


def test_a_schema_that_refers_to_itself_sends_what_is_within_the_limit() -> None:
    reply = Peer(returning(lambda: nodes(MAX_DEPTH), hint=Node), V5).call("get")
    assert "isError" not in reply["result"]


# Arguments


def taking() -> Server:
    server = Server("deep")

    @server.tool
    def anything(value: Any) -> int:
        return len(value)

    @server.tool
    def number(value: int) -> int:
        return value

    @server.tool
    def tree(value: list[Any] | None = None, other: int = 0) -> int:
        return len(value or [])

    @server.tool
    def struct(value: Node) -> int:
        return 1

    return server


@pytest.mark.parametrize("tool", ["anything", "number", "tree", "struct"])
@pytest.mark.parametrize("others", [{}, {"unknown": 1}, {"other": "x"}], ids=str)
def test_deep_arguments_are_taken_or_refused_and_never_an_internal_error(
    tool: str, others: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer(taking(), V5)
    for depth in [101, 300, 500, *range(880, 1_000)]:
        arguments = (
            b'"value":'
            + text_of(depth)
            + b"".join(
                b",%s:%s" % (json.dumps(name).encode(), json.dumps(value).encode())
                for name, value in others.items()
            )
        )
        params = json.dumps(modern_params({"name": tool, "arguments": {}})).encode()
        params = params.replace(b'"arguments": {}', b'"arguments": {' + arguments + b"}")
        message = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}"
        (reply,) = peer.send(message)
        assert "Internal error" not in str(reply), depth
    assert not caplog.records


# Prompts, resources, log


def others() -> Server:
    server = Server("deep")

    @server.prompt
    def ask() -> Any:
        return lists(500)

    @server.resource("deep://list")
    def listed() -> Any:
        return lists(500)

    @server.resource("deep://{name}")
    async def named(name: str) -> Any:
        return looped_dict()

    @server.tool
    async def tell(context: Context) -> str:
        await context.log("info", lists(500))
        return "told"

    @server.tool
    def envelope() -> Any:
        return success_response(rows=lists(500))

    @server.tool
    def refuse() -> Any:
        raise Problem("No", remediation=lists(100_000))

    return server


@pytest.mark.parametrize("uri", ["deep://list", "deep://other"])
def test_a_deep_resource_is_an_error_that_names_the_limit(
    uri: str, caplog: pytest.LogCaptureFixture
) -> None:
    for revision in wire.REVISIONS:
        caplog.clear()
        reply = Peer(others(), revision).ask("resources/read", {"uri": uri})
        assert reply["error"]["message"] == f"The resource {uri} {REASON}"
        assert len(caplog.records) == 1


def test_a_deep_prompt_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    reply = Peer(others(), V5).ask("prompts/get", {"name": "ask"})
    assert reply["error"]["message"] == "Internal error"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("tool", "what"),
    [
        ("tell", "Log data"),
        ("envelope", "Data"),
        ("refuse", "What refuse says beside its data"),
    ],
)
@pytest.mark.parametrize("profile", ["envelope", "generic"])
def test_so_are_log_data_envelopes_and_problems(
    tool: str, what: str, profile: str, caplog: pytest.LogCaptureFixture
) -> None:
    reading = asyncio.run(others().call(tool, profile=profile))
    assert reading.response.error is not None
    assert reading.response.error.message == f"{what} {REASON}"
    assert_one_line(caplog, f"tool {tool} failed: {what[0].lower()}{what[1:]}")


# Without a server

DEEP_VALUES = [
    pytest.param(DEEP[name], id=name)
    for name in ("a list of itself", "a dict of itself", "a list of 500 levels")
]


@pytest.mark.parametrize("make", DEEP_VALUES)
@pytest.mark.parametrize(
    "use",
    [
        lambda value: render({"a": value}),
        lambda value: success_response(a=value),
        lambda value: require_json(value, "it"),
        lambda value: as_json(value, "it"),
    ],
    ids=["render", "success_response", "require_json", "as_json"],
)
def test_without_a_server_it_is_a_contract_error(
    use: Callable[[Any], Any], make: Callable[[], Any]
) -> None:
    with pytest.raises(ContractError, match=REASON):
        use(make())


@pytest.mark.slow
def test_a_schema_check_of_a_deep_value_fails_and_does_not_crash() -> None:
    tree = {"type": "array", "items": {"$ref": "#"}}
    checker = Checker(tree)
    assert checker.fits(lists(MAX_DEPTH))
    assert not checker.fits(lists(1_000_000))
    assert checker.errors(lists(1_000_000)) == []


# Reading


@pytest.mark.parametrize("depth", [500, 100_000, 1_000_000])
def test_deep_replies_are_read(depth: int) -> None:
    for reply in (
        {"content": [], "structuredContent": dicts(depth)},
        {"content": [{"type": "text", "text": text_of(depth).decode()}]},
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":'
        + text_of(depth)
        + b"}}}",
        lists(depth),
    ):
        assert read(reply, "get").response.tool_name == "get"


CRASHING = """
import sys
sys.path[:0] = {path!r}
from model import test_depth
from peer import Peer
for make in (test_depth.lists, test_depth.dicts, test_depth.nodes, test_depth.boxes):
    value = make(1_000_000)
    reply = Peer(test_depth.returning(lambda: value), {revision!r}).call("get")
    assert {reason!r} in test_depth.failure_of(reply)
    del value
print("alive")
"""


@pytest.mark.slow
def test_a_million_levels_do_not_end_the_interpreter() -> None:
    path = [each for each in sys.path if each]
    code = CRASHING.format(path=path, revision=V5, reason=REASON)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done.stderr[-2000:]


# How deep JSON is


json_values = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\a\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('[]{}"\\', max_size=3), inner, max_size=3)
    ),
)


def depth_of(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    items = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, items), default=0)


@given(json_values, st.integers(0, 12))
def test_values_and_their_json_are_equally_deep(value: Any, most: int) -> None:
    is_so = depth_of(value) > most
    assert is_deep(value, most) is is_so
    assert is_deep_json(json.dumps(value).encode(), most) is is_so


def test_tools_that_recurse_are_masked_as_before(caplog: pytest.LogCaptureFixture) -> None:
    """A RecursionError of the tool itself is not about its result."""

    def forever() -> Any:
        return forever()

    with caplog.at_level(logging.ERROR):
        reply = Peer(returning(forever), V5).call("get")
    assert failure_of(reply) == "Error executing tool: Internal error"
    (record,) = caplog.records
    assert record.exc_info is not None
