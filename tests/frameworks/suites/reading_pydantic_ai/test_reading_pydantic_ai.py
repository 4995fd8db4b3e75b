"""What pydantic-ai's MCPToolset returns, and its message parts."""

import asyncio
import warnings
from typing import Any

import pytest
import reading_shop
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, BinaryContent, ImageUrl, ModelRetry, ToolReturn
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessagesTypeAdapter, RetryPromptPart, ToolReturnPart
from pydantic_ai.models.test import TestModel

from accord import read

FINE = [tool for tool in reading_shop.TOOLS if tool != "get_missing"]


def toolset() -> MCPToolset:
    transport = StdioTransport(
        reading_shop.COMMAND, reading_shop.ARGUMENTS, cwd=reading_shop.FOLDER
    )
    return MCPToolset(transport)


@pytest.fixture(scope="module")
def returned() -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with toolset() as tools:
            for tool in reading_shop.TOOLS:
                try:
                    found[tool] = await tools.direct_call_tool(tool, {})
                except ModelRetry as error:
                    found[tool] = error
        return found

    return asyncio.run(run())


@pytest.fixture(scope="module")
def messages() -> list[Any]:
    """The messages of a run in which the agent calls every tool that does not fail."""

    async def run() -> list[Any]:
        agent = Agent(TestModel(call_tools=FINE), toolsets=[toolset()])
        async with agent:
            return (await agent.run("go")).all_messages()

    return asyncio.run(run())


def parts(messages: Any) -> dict[str, Any]:
    found = {}
    for message in messages:
        inner = message["parts"] if isinstance(message, dict) else message.parts
        for part in inner:
            kind = part["part_kind"] if isinstance(part, dict) else part.part_kind
            if kind == "tool-return":
                found[part["tool_name"] if isinstance(part, dict) else part.tool_name] = part
    return found


@pytest.mark.parametrize("tool", reading_shop.TOOLS)
def test_a_direct_call_says_what_the_tool_returned(returned: dict[str, Any], tool: str) -> None:
    reading_shop.require(tool, returned[tool], has_details=False)


@pytest.mark.parametrize("tool", FINE)
def test_a_tool_return_part_says_what_the_tool_returned(messages: list[Any], tool: str) -> None:
    reading_shop.require(tool, parts(messages)[tool])
    assert read(parts(messages)[tool]).response.tool_name == tool
    for mode in ("python", "json"):
        dumped = parts(ModelMessagesTypeAdapter.dump_python(messages, mode=mode))
        reading_shop.require(tool, dumped[tool])


def test_a_tool_return_has_its_value_and_what_the_model_sees() -> None:
    picture = BinaryContent(data=b"abc", media_type="image/png")
    reply = ToolReturn(return_value=[1, 2], content=["Two numbers", picture], metadata={"a": 1})
    reading = read(reply, "list_numbers")
    assert (reading.response.data, reading.response.message) == ([1, 2], "Two numbers")
    metadata = reading.response.metadata or {}
    assert metadata["attachments"] == [reading_shop.PICTURE]
    assert metadata["metadata"] == {"a": 1}


def test_media_are_attachments() -> None:
    for media, kind in (
        (BinaryContent(data=b"abc", media_type="audio/wav"), "audio"),
        (BinaryContent(data=b"abc", media_type="application/pdf"), "resource"),
        (ImageUrl(url="https://example.com/a.png"), "resource_link"),
    ):
        metadata = read(media, "get").response.metadata or {}
        assert [each["type"] for each in metadata["attachments"]] == [kind]


@pytest.mark.parametrize("outcome", ["failed", "denied", "retried", "interrupted"])
def test_a_part_whose_outcome_is_no_success_is_a_failure(outcome: Any) -> None:
    part = ToolReturnPart(tool_name="get", content="no", tool_call_id="1", outcome=outcome)
    error = read(part).response.error
    assert error is not None
    assert error.message == "no"


def test_a_retry_is_a_failure() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = RetryPromptPart(content="No such row", tool_name="get")
        fault: Any = {"type": "missing", "loc": ("a", 0), "msg": "Field required", "input": {}}
        faults = RetryPromptPart(content=[fault], tool_name="get")
    for reply, message in ((words, "No such row"), (faults, "a.0: Field required")):
        error = read(reply).response.error
        assert error is not None
        assert error.message == message
