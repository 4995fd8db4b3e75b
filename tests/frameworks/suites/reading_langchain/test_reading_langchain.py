"""Messages and content blocks of LangChain, and what langchain-mcp-adapters returns."""

import asyncio
from typing import Any

import pytest
import reading_shop
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.content import create_file_block, create_image_block
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient

from accord import read

CONNECTION = {
    "transport": "stdio",
    "command": reading_shop.COMMAND,
    "args": reading_shop.ARGUMENTS,
    "cwd": reading_shop.FOLDER,
}


@pytest.fixture(scope="module")
def replies() -> dict[str, dict[str, Any]]:
    """What the adapter gives for each tool: the message, and content with its artifact."""

    async def run() -> dict[str, dict[str, Any]]:
        client = MultiServerMCPClient({"shop": CONNECTION})
        found: dict[str, dict[str, Any]] = {}
        for tool in await client.get_tools():
            call = {"name": tool.name, "args": {}, "id": "1", "type": "tool_call"}
            found[tool.name] = {"message": await tool.ainvoke(call)}
            try:
                found[tool.name]["pair"] = await tool.coroutine(runtime=None)
            except ToolException as error:
                found[tool.name]["pair"] = error
            found[tool.name]["content"] = await tool.ainvoke({})
        return found

    return asyncio.run(run())


@pytest.mark.parametrize("tool", reading_shop.TOOLS)
def test_what_the_adapter_returns_says_what_the_tool_returned(
    replies: dict[str, dict[str, Any]], tool: str
) -> None:
    message = replies[tool]["message"]
    assert isinstance(message, ToolMessage)
    dumps = [message.model_dump(), message.model_dump(mode="json", exclude_none=True)]
    for reply in (message, *dumps, message.content_blocks, *replies[tool].values()):
        reading_shop.require(tool, reply, has_details=False)


def test_a_tool_message_names_its_tool(replies: dict[str, dict[str, Any]]) -> None:
    assert read(replies["get_row"]["message"]).response.tool_name == "get_row"
    assert read(replies["get_row"]["message"], "other").response.tool_name == "other"


def test_a_message_by_hand_is_read() -> None:
    text = ToolMessage(content='[{"id": 1}]', tool_call_id="1", name="list_rows")
    assert read(text).response.data == [{"id": 1}]
    failed = ToolMessage(content="no such row", tool_call_id="1", name="get_row", status="error")
    assert read(failed).is_failure
    assert read(failed.model_dump()).is_failure
    parts = ToolMessage(content=["one", {"type": "text", "text": "two"}], tool_call_id="1")
    assert read(parts, "get").value == "one\n\ntwo"
    held = ToolMessage(content="ok", tool_call_id="1", artifact={"rows": [1]})
    assert (read(held, "get").response.metadata or {})["artifact"] == {"rows": [1]}


def test_blocks_of_media_are_attachments() -> None:
    blocks = [
        {"type": "text", "text": "Two files"},
        create_image_block(base64="YWJj", mime_type="image/png"),
        create_file_block(base64="YWJj", mime_type="application/pdf"),
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,YWJj"}},
    ]
    for reply in (blocks, ToolMessage(content=blocks, tool_call_id="1")):
        reading = read(reply, "get_files")
        attachments = (reading.response.metadata or {})["attachments"]
        assert [each["type"] for each in attachments] == ["image", "resource", "image"]
        assert attachments[1]["resource"]["bytes"] == 3
        kept = [each["type"] for each in reading.to_result()["content"]]
        assert kept == ["text", "image", "resource", "image"]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage(content="hello"),
        AIMessage(content=[{"type": "text", "text": "hello"}]),
        HumanMessage("hello"),
    ],
    ids=["ai", "ai-blocks", "human"],
)
def test_a_message_that_answers_no_call_is_its_text_with_a_finding(message: Any) -> None:
    reading = read(message, "get")
    assert reading.value == "hello"
    assert any("is not the reply of a tool" in finding for finding in reading.findings)
