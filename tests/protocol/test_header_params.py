"""Arguments that HTTP headers repeat: which can be marked, and what has to agree."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator, MutableMapping
from typing import Annotated, Any

import msgspec
import pytest

import wire
from accord import ClientInfo, ContractError, Header, Server
from accord.model.tool import Bound, Tool
from accord.protocol import Request
from accord.protocol.header_params import HeaderParam, header_params_fault, header_params_of
from accord.revisions import NEWEST
from commands import ACCORD, ENVIRONMENT, SAMPLES
from http_peer import HttpPeer, HttpServer
from peer import request
from stdio_peer import modern_params

STRING = {"type": "string", "x-mcp-header": "Region"}


def tool(schema: dict[str, Any]) -> Tool:
    return Tool(
        name="t",
        description="",
        input_schema={"type": "object", **schema},
        bind=Bound,
        invoke=lambda arguments, _: None,
        is_async=False,
    )


def test_a_parameter_is_marked_where_it_is_written() -> None:
    server = Server("s")

    @server.tool
    def find(region: Annotated[str, Header("Region")], row: Annotated[int, Header("row-2")]) -> str:
        return "x"

    properties = server.tools["find"].input_schema["properties"]
    assert properties["region"] == STRING
    assert server.registry.header_params["find"] == (
        HeaderParam(("region",), b"mcp-param-region"),
        HeaderParam(("row",), b"mcp-param-row-2"),
    )
    server.remove(server.tools["find"])
    assert server.registry.header_params == {}


def test_headers_repeat_nothing_of_a_prompt_by_the_name_of_such_a_tool() -> None:
    server = Server("s")

    @server.tool
    @server.prompt
    def find(region: Annotated[str, Header("Region")]) -> str:
        return region

    client = ClientInfo(NEWEST)
    arguments = b'{"region": "north"}'
    tools = Request(1, client, name="find", arguments=arguments)
    prompts = Request(1, client, "prompts/get", "find", arguments)
    assert server.dispatcher.header_fault(tools, {}) is not None
    assert server.dispatcher.header_fault(prompts, {}) is None


def test_a_mark_may_stand_deep_in_objects() -> None:
    schema = {"properties": {"a": {"type": "object", "properties": {"b": STRING}}}}
    assert header_params_of(tool(schema)) == (HeaderParam(("a", "b"), b"mcp-param-region"),)


REFUSED: dict[str, dict[str, Any]] = {
    "an empty name": {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
    "a name with a blank": {"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}},
    "a name with a line": {"properties": {"a": {"type": "string", "x-mcp-header": "a\r\nb"}}},
    "no text for a name": {"properties": {"a": {"type": "string", "x-mcp-header": 5}}},
    "a number": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
    "an object": {"properties": {"a": {"type": "object", "x-mcp-header": "A"}}},
    "no type": {"properties": {"a": {"x-mcp-header": "A"}}},
    "a name twice": {
        "properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "string", "x-mcp-header": "a"},
        }
    },
    "items": {"properties": {"a": {"type": "array", "items": STRING}}},
    "a choice": {"properties": {"a": {"anyOf": [STRING, {"type": "null"}]}}},
    "a definition": {"$defs": {"a": STRING}},
    "a condition": {"if": {"properties": {"a": STRING}}},
    "the root": {"x-mcp-header": "A"},
}


@pytest.mark.requirement("mcp.http.custom-header-names")
@pytest.mark.parametrize("name", REFUSED)
def test_a_mark_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match="x-mcp-header of tool 't'"):
        Server("s").add(tool(REFUSED[name]))


def test_data_is_no_mark() -> None:
    schema = {"properties": {"a": {"type": "object", "default": STRING, "examples": [STRING]}}}
    assert header_params_of(tool(schema)) == ()


def encoded(text: str) -> bytes:
    return b"=?base64?" + b64encode(text.encode()) + b"?="


AGREE: list[tuple[Any, bytes | None]] = [
    ("us-west1", b"us-west1"),
    ("us-west1", b"  us-west1\t"),
    ("Hello, 世界", encoded("Hello, 世界")),
    ("us-west1", encoded("us-west1")),
    (" padded ", encoded(" padded ")),
    ("=?base64?x?=", encoded("=?base64?x?=")),
    ("=?base64?SGVsbG8=", b"=?base64?SGVsbG8="),
    (42, b"42"),
    (42, b"42.0"),
    (42.0, b"42"),
    (-7, b"-7"),
    (2**53 - 1, str(2**53 - 1).encode()),
    (True, b"true"),
    (False, b"false"),
    (None, None),
    (..., None),
]
DIFFER: list[tuple[Any, bytes | None]] = [
    ("us-west1", None),
    ("us-west1", b"us-west2"),
    ("us-west1", b"US-WEST1"),
    ("us-west1", b""),
    ("Hello", b"=?base64?SGVsbG8?="),
    ("Hello", b"=?base64?SGVs!!!bG8=?="),
    ("Hello", b"=?BASE64?SGVsbG8=?="),
    ("h\xe9", b"h\xe9"),
    (42, b"43"),
    (42, b"0x2a"),
    (42, b"forty-two"),
    (42, b"4_2"),
    (42, b"4.2e1"),
    (42, encoded(" 42")),
    (42, encoded("４２")),
    (42, b"0" * 5_000 + b"42"),
    (2**53, str(2**53 + 1).encode()),
    (True, b"True"),
    (True, b"1"),
    (1, b"true"),
    (None, b"null"),
    (..., b"us-west1"),
    ({"a": 1}, b"x"),
]
MARKS = (HeaderParam(("a", "b"), b"mcp-param-b"),)


def differs(value: Any, header: bytes | None) -> Any:
    arguments = {"a": {} if value is ... else {"b": value}}
    headers = {} if header is None else {b"mcp-param-b": header}
    return header_params_fault(MARKS, headers, msgspec.json.encode(arguments))


@pytest.mark.requirement("mcp.http.custom-headers")
@pytest.mark.parametrize(("value", "header"), AGREE, ids=range(len(AGREE)))
def test_what_agrees_passes(value: Any, header: bytes | None) -> None:
    assert differs(value, header) is None


@pytest.mark.requirement("mcp.http.custom-headers")
@pytest.mark.parametrize(("value", "header"), DIFFER, ids=range(len(DIFFER)))
def test_what_differs_is_refused(value: Any, header: bytes | None) -> None:
    found = differs(value, header)
    assert (found.code, "Mcp-Param-B" in found.message) == (-32020, True)
    assert "us-west" not in found.message


@pytest.mark.parametrize("arguments", [b"{}", b'{"a": 5}', b'{"a": null}'])
def test_where_there_is_nothing_no_header_is_expected(arguments: bytes) -> None:
    assert header_params_fault(MARKS, {}, arguments) is None


@pytest.fixture(scope="module")
def every_feature() -> Iterator[HttpServer]:
    command = [ACCORD, "serve", "features:every_feature", "--http", "127.0.0.1:0"]
    with HttpServer(command, cwd=SAMPLES, env=ENVIRONMENT) as running:
        yield running


@pytest.mark.requirement("mcp.http.custom-headers")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Param-Region": "north", "Mcp-Param-Row": "7"}, 200),
        ({"MCP-PARAM-REGION": "north", "mcp-param-row": "7", "Mcp-Param-Other": "x"}, 200),
        ({"Mcp-Param-Region": "south", "Mcp-Param-Row": "7"}, 400),
        ({"Mcp-Param-Region": "north"}, 400),
        ({}, 400),
    ],
    ids=range(5),
)
def test_over_http_they_are_held_against_each_other(
    every_feature: HttpServer, headers: dict[str, str], status: int
) -> None:
    with HttpPeer(every_feature.port) as peer:
        response = peer.post(peer.calling("shelf", region="north", row=7), headers)
        assert response.status == status
        if status == 400:
            assert response.code == -32020
    with HttpPeer(every_feature.port, "2025-11-25") as old:
        assert old.call("shelf", region="north", row=7) == "north 7", "older eras have none"


@pytest.mark.requirement("mcp.http.custom-headers")
def test_a_prompt_is_not_held_against_the_headers_of_a_tool_of_its_name() -> None:
    server = Server("s")

    @server.tool
    def find(region: Annotated[str, Header("Region")]) -> str:
        return region

    server.prompt(name="find")(lambda region: f"Find {region}")
    app, sent = server.asgi(), []
    params = modern_params({"name": "find", "arguments": {"region": "north"}})
    body = msgspec.json.encode(request("prompts/get", params))
    headers = {
        "Host": "localhost",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": wire.STATELESS,
        "Mcp-Method": "prompts/get",
        "Mcp-Name": "find",
    }
    fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": fields}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 200
    assert b"Find north" in sent[1]["body"]
