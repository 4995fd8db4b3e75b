"""LangChain: `langchain-mcp-adapters`, without the adapter."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from probing import Call, Seen, main


class Scripted(BaseChatModel):
    tool: str
    arguments: dict[str, Any]
    received: list[BaseMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.received[:] = [each for each in messages if isinstance(each, ToolMessage)]
        calls = [] if self.received else [{"name": self.tool, "args": self.arguments, "id": "1"}]
        message = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    server: Any = {"command": program, "args": words, "transport": "stdio"}

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        model = Scripted(tool=tool, arguments=arguments, received=[])
        await create_agent(model, tools).ainvoke({"messages": [HumanMessage("go")]})
        (message,) = model.received
        blocks = message.content
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        images = sum(block["type"].startswith("image") for block in blocks)
        text = "\n".join(block.get("text", "") for block in blocks)
        return Seen(text, images, "marked" if message.status == "error" else "")

    async with MultiServerMCPClient({"shop": server}).session("shop") as session:
        tools = await load_mcp_tools(session)
        await use(call)


main(["langchain-mcp-adapters", "langchain", "mcp"], connect)
