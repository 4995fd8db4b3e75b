"""smolagents: `MCPClient`; with the argument `structured`, in its other mode."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import StdioServerParameters
from probing import Call, Seen, main
from smolagents import ChatMessage, MCPClient, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

IS_STRUCTURED = "structured" in sys.argv


class Scripted(Model):
    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.tool = tool
        self.arguments = arguments
        self.received: list[ChatMessage] = []

    def generate(self, messages: list[ChatMessage], *_: object, **__: object) -> ChatMessage:
        self.received = [each for each in messages if each.role == MessageRole.TOOL_RESPONSE]
        name, arguments = (
            ("final_answer", {"answer": "done"}) if self.received else (self.tool, self.arguments)
        )
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(function=function, id="1", type="function")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    parameters = StdioServerParameters(command=program, args=words, env=dict(os.environ))

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        model = Scripted(tool, arguments)
        agent = ToolCallingAgent(tools=tools, model=model, verbosity_level=0)
        await asyncio.to_thread(agent.run, "go")
        blocks = [block for each in model.received for block in each.content]
        images = sum(block["type"] == "image" for block in blocks)
        return Seen("\n".join(block.get("text", "") for block in blocks), images)

    with MCPClient(parameters, structured_output=IS_STRUCTURED) as tools:
        await use(call)


main(["smolagents", "mcpadapt", "mcp"], connect)
