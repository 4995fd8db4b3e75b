"""The official SDK's client against every profile, in both eras: whatever a tool says, it takes.

The client asks for the profile as an extension, lists the tools, and so holds each structure
against the tool's output schema by itself.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise
from mcp.types import CallToolResult

import wire
from commands import SAMPLES
from peer import ASKED_BY
from samples.features import ROWS

pytestmark = pytest.mark.slow

MODES = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
DATA: Mapping[str, Any] = {
    "rows": ROWS,
    "row": ROWS[0],
    "count": 5,
    "words": "two\nlines",
    "anything": ROWS,
    "nothing": None,
    "none": None,
    "no_rows": [],
    "partial": {"done": 3},
    "cut": [1, 2],
    "picture": None,
}
META = "dev.accord-mcp/answer"
FAILURES = {
    "missing": "No customer 7",
    "misfit": "Invalid sheet",
    "broken": "Internal error",
}
BESIDE: Mapping[str, Any] = {
    "rows": {"page": {"offset": 0, "limit": 1, "total": 7, "hasMore": True, "nextOffset": 1}},
    "partial": {
        "partial": True,
        "warnings": [
            {"message": "the last is locked"},
            {"message": "slow", "code": "SLOW", "severity": "info"},
        ],
    },
    "cut": {"truncated": True, "page": {"hasMore": True, "cursor": "next"}},
}
each_mode = pytest.mark.parametrize("mode", MODES)
each_profile = pytest.mark.parametrize("profile", wire.PROFILES)


@cache
def results(mode: str, profile: str) -> Mapping[str, CallToolResult | MCPError]:
    """Return the client's result or MCP error of each tool; other errors are raised."""
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("accord")),
        args=["serve", "features:outcomes"],
        cwd=SAMPLES,
        env=dict(os.environ),
    )
    asked = advertise(ASKED_BY, {"name": profile})

    async def session() -> dict[str, CallToolResult | MCPError]:
        found: dict[str, CallToolResult | MCPError] = {}
        async with Client(
            command, mode=mode, read_timeout_seconds=30, extensions=[asked]
        ) as client:
            assert client.protocol_version == MODES[mode]
            for tool in (await client.list_tools()).tools:
                try:
                    found[tool.name] = await client.call_tool(tool.name, {})
                except MCPError as error:
                    found[tool.name] = error
        return found

    return asyncio.run(session())


def result_of(mode: str, profile: str, tool: str) -> CallToolResult:
    result = results(mode, profile)[tool]
    assert isinstance(result, CallToolResult), result
    return result


def text_of(result: CallToolResult) -> Any:
    (first, *_) = result.content
    return getattr(first, "text", None)


@each_mode
@each_profile
@pytest.mark.parametrize("tool", DATA)
def test_a_success_is_one_and_carries_its_data(tool: str, profile: str, mode: str) -> None:
    result = result_of(mode, profile, tool)
    assert result.is_error is False
    assert (result.meta or {}).get("dev.accord-mcp/answer") == BESIDE.get(tool)
    data, structure = DATA[tool], result.structured_content
    if profile == "envelope":
        assert json.loads(text_of(result)) == structure
        wrapper = structure["meta"].get("wrapper", ...)
        inner = structure["data"]
        found = inner if wrapper is ... else None if wrapper is None else inner[wrapper]
        assert (structure["success"], found) == (True, data)
    elif profile == "generic":
        assert json.loads(text_of(result)) == structure
        assert structure["toolName"] == tool
        wrapper = structure.get("metadata", {}).get("wrapper")
        found = structure.get("data") if wrapper is None else structure["data"][wrapper]
        assert found == data
    elif tool in ("words", "nothing", "picture"):
        assert structure is None
    elif tool in BESIDE:
        details = BESIDE[tool]
        is_object = isinstance(data, dict)
        assert structure == (
            data | {"_accord": details} if is_object else {"result": data} | details
        )
    elif MODES[mode] == "2026-07-28" or isinstance(data, dict):
        assert structure == data
    else:
        assert structure == {"result": data}


@each_mode
@each_profile
def test_blocks_arrive_beside_what_is_said(profile: str, mode: str) -> None:
    result = result_of(mode, profile, "picture")
    assert [block.type for block in result.content[-2:]] == ["image", "resource_link"]


@each_mode
@each_profile
@pytest.mark.parametrize("tool", ["missing", "broken", "misfit"])
def test_a_failure_is_one_and_says_why(tool: str, profile: str, mode: str) -> None:
    if (profile, tool) == ("bare", "misfit"):
        error = results(mode, profile)[tool]
        assert isinstance(error, MCPError)
        assert (error.code, error.message) == (-32602, FAILURES[tool])
        fields = [{"field": "race", "error": "is required", "severity": "error"}]
        assert error.data.keys() == {"validation_errors", META}
        assert error.data["validation_errors"] == error.data[META]["fields"] == fields
        return
    result = result_of(mode, profile, tool)
    assert result.is_error is True
    words = text_of(result)
    if profile in ("envelope", "generic"):
        shape = json.loads(words)
        assert result.structured_content == shape
        why = shape["error"] if profile == "envelope" else shape["error"]["message"]
        assert why == FAILURES[tool]
    else:
        named = tool if profile == "prose" else "tool"
        hint = ". Try 1." if tool == "missing" else ""
        assert words == f"Error executing {named}: {FAILURES[tool]}{hint}"
        assert result.meta is not None
        assert result.meta[META]["problem"]["message"] == FAILURES[tool]
        assert result.structured_content is None
