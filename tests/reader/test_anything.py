"""Anything at all gives a Reading: objects of the names that the reader knows, and text of its marks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.model import schemas
from accord.model.response import Response
from accord.reader import Reading, read

GENERIC = jsonschema_rs.validator_for(schemas.load("generic"))
NAMES = st.sampled_from(
    """jsonrpc id result error code message data content structuredContent isError _meta type text
    resource uri blob mimeType output response json toolName responseType pagination summary status
    metadata success meta version wrapper warnings warning_details details errors ok items results
    total hasMore next nextCursor offset limit page total_pages count tools name inputSchema
    dev.accord-mcp/answer partial truncated _warnings failed successful""".split()
)
WORDS = st.sampled_from(
    [
        *("", " ", "text", "image", "resource", "2.0", "list", "error", "response-v2", "success"),
        *("http://[x/?offset=1", "[1, 2]", '{"a": 1}', "```json\n[1]\n```", "No results found"),
        *("Error: no", "- a\n- b", "\ud800", "\x00", "{'a': None}", "Found 2:\n[1]", "partial"),
        *("['\\x']", "a[1]: b", "<a><b/></a>", "a\tb\n1\t2"),
    ]
)
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=16,
)
MESSAGES = st.dictionaries(
    st.sampled_from(
        """tool_call_id part_kind return_value raw_item call_id additional_kwargs kind type content
        output artifact outcome status base64 image_url data mime_type media_type name tool_name
        structured_content is_error meta result_type input_requests""".split()
    ),
    VALUES | st.lists(st.dictionaries(st.sampled_from(["type", "kind", "base64", "data"]), VALUES)),
    max_size=6,
)
"""Members of the messages of agent frameworks and of SDKs' dumps, with anything in them."""
ENVELOPES = st.fixed_dictionaries(
    {
        "success": ATOMS,
        "data": VALUES,
        "error": VALUES,
        "meta": st.dictionaries(NAMES, VALUES, max_size=4).map(lambda meta: {"version": 2, **meta}),
    }
)
GENERICS = st.builds(
    lambda kind, rest: {"toolName": "x", **rest, "responseType": kind},
    st.sampled_from(["list", "single", "action", "error", "tool_catalog"]),
    st.dictionaries(NAMES, VALUES, max_size=5),
)
"""Shapes of our own, which say themselves what they are, with anything in them."""
TOOLS = st.none() | st.sampled_from(["list_things", "send_message", "read_file", "run", "x", ""])
MARKS = st.sampled_from(
    [
        *("{", "}", "[", "]", "(", ")", '"', "'", "\\", ",", ":", "|", "-", "---", "|---|", "#"),
        *(
            "```",
            "```json",
            "\n",
            "\n\n",
            " ",
            "\t",
            "- ",
            "1. ",
            "* ",
            "a",
            "Name: b",
            "b'",
            "None",
        ),
        *("<a>", "</a>", "A(", "1", "/tmp/a", "Found 2 rows:", "Showing 1-2 of 9", "NAME  AGE  X"),
        *(
            "[FILE] a",
            "\ud800",
            "\r",
            "\x1b[2J",
            "\u2028",
            "ë",
            "true",
            "-1e999",
            "Error:",
            "is empty",
        ),
    ]
)
TEXTS = st.lists(MARKS, max_size=24).map("".join)


def check(reading: Any, reply: Any) -> None:
    assert isinstance(reading, Reading)
    assert isinstance(reading.response, Response)
    assert reading.raw is reply
    assert reading.origin
    GENERIC.validate(json.loads(json.dumps(reading.response.to_dict(), allow_nan=False)))


@given(
    VALUES | ENVELOPES | GENERICS | MESSAGES,
    TOOLS,
    st.none() | st.dictionaries(NAMES, ATOMS, max_size=3),
)
def test_any_value_gives_a_reading(reply: Any, tool: str | None, arguments: Any) -> None:
    check(read(reply, tool, arguments), reply)


@pytest.mark.parametrize("kind", [[], {}, ["text"], None, 1])
@pytest.mark.parametrize(
    "message",
    [
        {"additional_kwargs": {}},
        {"base64": "x"},
        {"content": [{"data": "x"}], "structured_content": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"data": "x"}]}},
    ],
)
def test_a_type_that_is_not_text_gives_a_reading(message: Any, kind: Any) -> None:
    marked = {**message, "type": kind}
    reply = [marked] if "base64" in message else marked
    for block in message.get("content", message.get("result", {}).get("content", ())):
        block["type"] = kind
    check(read(reply), reply)
    json.dumps(read(reply).to_result("generic"), allow_nan=False)
    read(reply).to_answer()


@given(TEXTS, TOOLS)
def test_any_text_gives_a_reading_alone_and_in_a_result(text: str, tool: str | None) -> None:
    check(read(text, tool), text)
    result = {"content": [{"type": "text", "text": text}]}
    check(read(result, tool), result)


@given(st.binary(max_size=200) | TEXTS.map(lambda text: text.encode(errors="surrogatepass")), TOOLS)
def test_any_bytes_give_a_reading(raw: bytes, tool: str | None) -> None:
    check(read(raw, tool), raw)


def test_a_result_within_itself_is_read() -> None:
    endless: dict[str, Any] = {"content": [{"type": "text", "text": "x"}]}
    endless["structuredContent"] = endless
    assert read(endless, "call").response.response_type
    deep: Any = {1: 2}
    for _ in range(40):
        deep = {"content": [{"type": "text", "text": "x"}], "structuredContent": deep}
    assert read(deep, "call").response.response_type


def laughs(make: Callable[[Any], Any]) -> Any:
    """Return a small value that has ten to the thirtieth parts, for they are shared."""
    value: Any = ["x"]
    for _ in range(30):
        value = make(value)
    return value


LAUGHS = {
    "lists": laughs(lambda part: [part] * 10),
    "objects": laughs(lambda part: {f"k{i}": part for i in range(10)}),
    "both": laughs(lambda part: [{"data": part, "errors": [part, part]}]),
}


@pytest.mark.parametrize("value", LAUGHS.values(), ids=LAUGHS)
@pytest.mark.parametrize("tool", ["list_things", "get_thing", "create_thing", None])
def test_a_value_whose_parts_repeat_without_end_is_copied_within_limits(
    tool: str | None, value: Any
) -> None:
    for reply in (
        value,
        {"content": [], "structuredContent": {"items": value}},
        {"content": [{"type": "text", "text": value}]},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no", "data": value}},
    ):
        reading = read(reply, tool)
        assert "parts of the value are repeated" in " ".join(reading.findings)
        assert len(json.dumps(reading.response.to_dict())) < 2_000_000


def test_a_value_that_has_a_part_twice_is_read_whole() -> None:
    owner = {"name": "Ada"}
    rows = [{"id": each, "owner": owner} for each in range(100)]
    assert read({"items": rows}, "list_things").response.data == rows


@pytest.mark.parametrize(
    "text", ["```\n```", "```text\n```", "a: true\nb: 1\ud800", 'a: true\nb: "\ud800"']
)
def test_what_once_raised_is_read(text: str) -> None:
    for tool in ("list_things", "get_things", "search"):
        assert read({"content": [{"type": "text", "text": text}]}, tool).response.response_type


SEEDS = """
from accord.reader import read
for arguments in (
    {"command": "kubectl get pods", "script": "x = 1"},
    {"tool_name": "list_files", "toolName": "create_user", "arguments": "{}"},
):
    print(read("a\\nb\\nc", "run_code", arguments).response.response_type)
"""


def test_a_reading_is_the_same_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SEEDS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(said) == 1


LARGE = 10**5_000  # of more digits than Python prints


@pytest.mark.parametrize(
    ("reply", "tool", "arguments"),
    [
        ({"content": [{"type": "text", "text": LARGE}]}, "get_x", {}),
        ({"status": LARGE, "message": LARGE}, "get_x", {"a": LARGE}),
        ({"errors": [LARGE]}, "get_x", {}),
        ("Error: x", "get_x", {"a": LARGE}),
        ({"a": 1}, 1, {}),
        ({"a": 1}, "get_x", {1: 2}),
        ({"a": 1}, "get_x", "x"),
        ({"a": 1}, "get_x", [1]),
    ],
)
def test_odd_calls_are_read_too(reply: Any, tool: Any, arguments: Any) -> None:
    assert read(reply, tool, arguments).response.response_type in ("single", "error")
