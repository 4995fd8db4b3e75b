"""What the Agents SDK's MCP servers and tools return, and its items."""

import asyncio
import json
from typing import Any

import pytest
import reading_shop
from agents import Agent, ToolCallOutputItem, ToolOutputFileContent, ToolOutputImage, ToolOutputText
from agents.items import ItemHelpers
from agents.mcp import MCPServerStdio, MCPUtil
from agents.run_context import RunContextWrapper
from openai.types.responses import ResponseFunctionToolCall

from accord import read


@pytest.fixture(scope="module")
def replies() -> dict[str, dict[str, Any]]:
    """For each tool the result of the server, and the output for the model."""

    async def run() -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        params: Any = {
            "command": reading_shop.COMMAND,
            "args": reading_shop.ARGUMENTS,
            "cwd": reading_shop.FOLDER,
        }
        async with MCPServerStdio(params, client_session_timeout_seconds=30) as server:
            for tool in await server.list_tools():
                context: Any = RunContextWrapper(None)
                found[tool.name] = {
                    "result": await server.call_tool(tool.name, {}),
                    "output": await MCPUtil.invoke_mcp_tool(server, tool, context, "{}"),
                }
        return found

    return asyncio.run(run())


def item_of(tool: str, output: Any) -> tuple[ToolCallOutputItem, Any]:
    call = ResponseFunctionToolCall(arguments="{}", call_id="1", name=tool, type="function_call")
    raw = ItemHelpers.tool_call_output_item(call, output)
    return ToolCallOutputItem(agent=Agent(name="a"), raw_item=raw, output=output), raw


@pytest.mark.parametrize("tool", reading_shop.TOOLS)
def test_a_result_of_the_server_says_what_the_tool_returned(
    replies: dict[str, dict[str, Any]], tool: str
) -> None:
    reading_shop.require(tool, replies[tool]["result"])


@pytest.mark.parametrize("tool", reading_shop.TOOLS)
def test_the_output_of_a_tool_says_what_it_returned(
    replies: dict[str, dict[str, Any]], tool: str
) -> None:
    output = replies[tool]["output"]
    item, raw = item_of(tool, output)
    for reply in (output, item, raw, item.to_input_item(), json.loads(json.dumps(raw))):
        reading_shop.require(tool, reply, has_details=False)


def test_an_item_is_read_without_its_agent() -> None:
    item, _ = item_of("get", {"id": 1})
    reading = read(item, "get")
    assert reading.response.data == {"id": 1}
    assert reading.findings == []


def test_outputs_of_each_kind_are_read() -> None:
    text, picture = (
        ToolOutputText(text="[1]"),
        ToolOutputImage(image_url="data:image/png;base64,YWJj"),
    )
    file = ToolOutputFileContent(file_data="YWJj", filename="a.pdf")
    assert read(text, "list").response.data == [1]
    assert read(text.model_dump(), "list").response.data == [1]
    for reply in ([text, picture, file], [each.model_dump() for each in (text, picture, file)]):
        reading = read(reply, "list")
        attachments = (reading.response.metadata or {})["attachments"]
        assert reading.response.data == [1]
        assert attachments[0] == reading_shop.PICTURE
        assert attachments[1]["resource"]["uri"] == "file:///a.pdf"
