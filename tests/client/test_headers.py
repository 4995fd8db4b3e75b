"""HTTP headers that repeat parts of a message, and the encoding of their values."""

from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.client.messages import argument_headers, encode_header, find_header_params
from accord.errors import PeerError

REGION = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("a\r\nInjected: yes", "=?base64?YQ0KSW5qZWN0ZWQ6IHllcw==?="),
    ],
)
def test_a_value_is_encoded_as_the_specification_shows(value: str, header: str) -> None:
    assert encode_header(value) == header


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_value_comes_back_and_no_header_can_be_injected(value: str) -> None:
    header = encode_header(value)
    assert header.isascii()
    assert not {"\r", "\n", "\0"} & set(header)
    assert header.strip() == header
    if header.startswith("=?base64?") and header.endswith("?="):
        assert b64decode(header[9:-2]).decode() == value
    else:
        assert header == value


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        (schema(a={"type": "string"}), {}),
        (schema(a=REGION), {("a",): "Region"}),
        (schema(a=schema(b=REGION)), {("a", "b"): "Region"}),
        (schema(a={"type": "string", "default": {"x-mcp-header": ""}}), {}),
        (schema(a=REGION, b={"type": "integer", "x-mcp-header": "N"}), {("a",): "Region", ("b",): "N"}),
        ({}, {}),
        (None, {}),
        ("nonsense", {}),
    ],
)  # fmt: skip
def test_the_arguments_that_are_wanted_as_headers_are_found(tool: Any, found: Any) -> None:
    assert find_header_params(tool) == found


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (schema(a={"type": "string", "x-mcp-header": ""}), "not a valid header name"),
        (schema(a={"type": "string", "x-mcp-header": "a b"}), "not a valid header name"),
        (schema(a={"type": "string", "x-mcp-header": "a\r\nb"}), "not a valid header name"),
        (schema(a={"type": "string", "x-mcp-header": 7}), "not a valid header name"),
        (schema(a={"type": "number", "x-mcp-header": "N"}), "must be on an integer"),
        (schema(a={"type": "array", "x-mcp-header": "N"}), "must be on an integer"),
        (schema(a={"x-mcp-header": "N"}), "must be on an integer"),
        (schema(a=REGION, b={"type": "string", "x-mcp-header": "rEGION"}), "used twice"),
        (schema(a={"type": "array", "items": REGION}), "must annotate a property"),
        (schema(a={"anyOf": [REGION]}), "must annotate a property"),
        ({"$defs": {"r": REGION}}, "must annotate a property"),
        (schema(a={"items": schema(b=REGION)}), "must annotate a property"),
    ],
)
def test_a_tool_with_invalid_annotations_is_rejected(tool: Any, reason: str) -> None:
    with pytest.raises(PeerError, match=reason):
        find_header_params(tool)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("eu", "eu"),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        ("ü", "=?base64?w7w=?="),
        (None, None),
        (2**53, None),
        (1.5, None),
        (["eu"], None),
    ],
)
def test_an_argument_becomes_a_header(value: Any, header: str | None) -> None:
    headers = argument_headers({("a", "b"): "Region"}, {"a": {"b": value}})
    assert headers == ({} if header is None else {"Mcp-Param-Region": header})


@pytest.mark.parametrize("arguments", [{}, {"a": 1}, {"a": {}}, {"b": "x"}])
def test_an_argument_that_is_not_there_is_no_header(arguments: Any) -> None:
    assert argument_headers({("a", "b"): "Region"}, arguments) == {}
