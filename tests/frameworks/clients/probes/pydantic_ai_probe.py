"""Pydantic AI: `MCPToolset`, without the adapter."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp.client.transports import StdioTransport
from probing import Call, Seen, main
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    toolset = MCPToolset(StdioTransport(program, words))

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        received: list[ToolReturnPart] = []

        def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            received.extend(each for each in messages[-1].parts if isinstance(each, ToolReturnPart))
            return ModelResponse(
                parts=[TextPart("done") if received else ToolCallPart(tool, arguments)]
            )

        await Agent(FunctionModel(model), toolsets=[toolset]).run("go")
        (part,) = received
        parts = part.content if isinstance(part.content, list) else [part.content]
        images = sum(isinstance(each, BinaryContent) for each in parts)
        mark = "" if part.outcome == "success" else "marked"
        return Seen(part.model_response_str(), images, mark)

    async with toolset:
        await use(call)


main(["pydantic-ai-slim", "mcp"], connect)
