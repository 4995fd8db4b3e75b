"""LlamaIndex: `McpToolSpec` of `llama-index-tools-mcp`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from probing import Call, Seen, main


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    tools = await McpToolSpec(BasicMCPClient(program, words)).to_tool_list_async()

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        received: list[ChatMessage] = []

        def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
            received[:] = [each for each in messages if each.role == "tool"]
            if received:
                return ChatMessage(role="assistant", content="done")
            block = ToolCallBlock(tool_call_id="1", tool_name=tool, tool_kwargs=arguments)
            return ChatMessage(role="assistant", blocks=[block])

        llm = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
        await FunctionAgent(tools=tools, llm=llm, streaming=False).run("go")
        blocks = [block for each in received for block in each.blocks]
        images = sum(isinstance(block, ImageBlock) for block in blocks)
        return Seen("\n".join(getattr(block, "text", "") for block in blocks), images)

    await use(call)


main(["llama-index-tools-mcp", "llama-index-core", "mcp"], connect)
