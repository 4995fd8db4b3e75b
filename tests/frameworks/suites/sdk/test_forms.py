"""What the official SDK's objects and their dumps say: the same as on the wire, in every form."""

import base64
import itertools
import json
from typing import Any

import pytest
from mcp import types

from accord import read

try:
    from mcp.shared.exceptions import McpError as ProtocolError
except ImportError:
    from mcp.shared.exceptions import MCPError as ProtocolError

BYTES = base64.b64encode(b"abc").decode()
TEXT = {"type": "text", "text": '[{"id": 1, "left": null}]'}
MEDIA: dict[str, Any] = {
    "image": {"type": "image", "data": BYTES, "mimeType": "image/png"},
    "audio": {"type": "audio", "data": BYTES, "mimeType": "audio/wav"},
    "a link": {
        "type": "resource_link",
        "uri": "x://a/b",
        "name": "b",
        "mimeType": "text/plain",
        "annotations": {"audience": ["user"], "priority": 0.5},
    },
    "a text resource": {
        "type": "resource",
        "resource": {"uri": "x://c/d", "mimeType": "text/plain", "text": "hi", "_meta": {"k": 1}},
    },
    "a blob": {
        "type": "resource",
        "resource": {"uri": "x://e/f", "mimeType": "a/b", "blob": BYTES},
        "_meta": {"k": 2},
    },
}
RESULTS: dict[str, Any] = {
    "a text": {"content": [TEXT]},
    "structure": {"content": [TEXT], "structuredContent": {"id": 1, "left": None}},
    "a wrapped list": {"content": [TEXT], "structuredContent": {"result": [{"id": 1}]}},
    "a failure": {"content": [{"type": "text", "text": "no such id"}], "isError": True},
    "a failure with structure": {
        "content": [],
        "structuredContent": {"reason": "no such id"},
        "isError": True,
    },
    "nothing": {"content": []},
    "meta": {
        "content": [TEXT],
        "_meta": {"dev.accord-mcp/answer": {"page": {"total": 9}, "warnings": [{"message": "w"}]}},
    },
    "a problem": {
        "content": [{"type": "text", "text": "Error executing tool: No."}],
        "isError": True,
        "_meta": {
            "dev.accord-mcp/answer": {
                "problem": {"kind": "not_found", "code": "NOT_FOUND", "message": "No."}
            }
        },
    },
    **{f"a text and {name}": {"content": [TEXT, block]} for name, block in MEDIA.items()},
    **{f"{name} alone": {"content": [block]} for name, block in MEDIA.items()},
    "all": {"content": [TEXT, *MEDIA.values()], "structuredContent": {"id": 1}},
}
OPTIONS: list[dict[str, Any]] = [
    {"mode": mode, "by_alias": by_alias, "exclude_none": exclude_none}
    for mode, by_alias, exclude_none in itertools.product(
        ("python", "json"), (True, False), (True, False)
    )
]


def said(reply: Any, tool: str | None = "list_things") -> tuple[Any, ...]:
    reading = read(reply, tool)
    assert reading.raw is reply
    response = reading.response.to_dict()
    json.dumps(response, allow_nan=False)
    return response, reading.page, list(reading.warnings), reading.is_partial, reading.findings


def forms(model: Any) -> list[Any]:
    """An object, and each of its dumps."""
    return [model, *(model.model_dump(**options) for options in OPTIONS)]


@pytest.mark.parametrize("wire", RESULTS.values(), ids=list(RESULTS))
def test_every_form_of_a_result_says_what_the_wire_says(wire: Any) -> None:
    model = types.CallToolResult.model_validate(wire)
    for form in forms(model):
        assert said(form) == said(wire), form


@pytest.mark.parametrize("wire", RESULTS.values(), ids=list(RESULTS))
def test_a_list_of_blocks_says_what_the_result_says(wire: Any) -> None:
    if not wire["content"] or len(wire) > 1:
        return
    blocks = types.CallToolResult.model_validate(wire).content
    assert said(blocks) == said(wire)
    assert said(tuple(blocks)) == said(wire)
    for options in OPTIONS:
        assert said([each.model_dump(**options) for each in blocks]) == said(wire)


def test_one_text_is_one_value_and_several_are_items() -> None:
    one = types.TextContent(type="text", text='{"id": 1}')
    assert read(one, "get").response.data == {"id": 1}
    assert read([one], "get").response.data == {"id": 1}
    assert read([one, one], "list").response.data == [{"id": 1}, {"id": 1}]


@pytest.mark.parametrize("wire", RESULTS.values(), ids=list(RESULTS))
def test_a_message_says_what_its_result_says(wire: Any) -> None:
    message = types.JSONRPCResponse(jsonrpc="2.0", id=1, result=wire)
    for form in forms(message):
        assert said(form) == said(wire)


ERROR = {"code": -32602, "message": "Unknown tool: x", "data": {"tool": "x"}}


@pytest.mark.parametrize("error", [ERROR, {"code": -32603, "message": "no"}], ids=str)
def test_an_error_is_a_failure_in_every_form(error: Any) -> None:
    wire = {"jsonrpc": "2.0", "id": 1, "error": error}
    data = types.ErrorData.model_validate(error)
    for form in forms(types.JSONRPCError.model_validate(wire)):
        assert said(form) == said(wire)
    assert said(data) == said(wire)
    try:
        exception = ProtocolError(data)
    except TypeError:
        exception = ProtocolError(data.code, data.message, data.data)
    assert said(exception) == said(wire)


def test_results_of_other_methods_are_read_with_a_finding() -> None:
    contents = [{"uri": "x://a", "mimeType": "text/plain", "text": "hi"}]
    resource = types.ReadResourceResult.model_validate({"contents": contents})
    reading = read(resource, "read")
    assert "the reply is a result of resources/read, not of a tool" in reading.findings
    assert "hi" in json.dumps(reading.response.to_dict())
    messages = [{"role": "user", "content": {"type": "text", "text": "hi"}}]
    prompt = types.GetPromptResult.model_validate({"messages": messages})
    assert "the reply is a result of prompts/get, not of a tool" in read(prompt, "get").findings


# Back again


@pytest.mark.parametrize("wire", RESULTS.values(), ids=list(RESULTS))
@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_a_reading_becomes_an_object_of_the_sdk_that_says_the_same(wire: Any, profile: str) -> None:
    reading = read(wire, "list_things")
    result = reading.to_result(profile, as_type=types.CallToolResult)
    assert type(result) is types.CallToolResult
    again = read(result, "list_things")
    assert again.is_failure == reading.is_failure
    assert again.page == reading.page
    if reading.is_failure:
        assert again.response.error == reading.response.error
    elif profile == "generic":
        assert again.response == reading.response
    media = [each for each in wire["content"] if each["type"] != "text"]
    kept = result.model_dump(mode="json", by_alias=True, exclude_none=True)["content"]
    assert [each for each in kept if each["type"] != "text"] == media


def test_meta_of_the_original_result_is_kept() -> None:
    wire = {"content": [TEXT], "_meta": {"example.com/trace": "t1"}}
    result = read(wire, "list").to_result(as_type=types.CallToolResult)
    assert result.meta is not None
    assert result.meta["example.com/trace"] == "t1"
