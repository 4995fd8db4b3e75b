"""The official SDK, of whichever major version is installed: what its client gives to a program."""

import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client
from probing import Call, Seen, main


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    server = stdio_client(StdioServerParameters(command=program, args=words))
    async with AsyncExitStack() as stack:
        if hasattr(mcp, "Client"):  # mcp 2
            client: Any = await stack.enter_async_context(mcp.Client(server, mode="auto"))
        else:
            streams = await stack.enter_async_context(server)
            client = await stack.enter_async_context(mcp.ClientSession(*streams))
            await client.initialize()

        async def call(tool: str, arguments: dict[str, Any]) -> Seen:
            result = (await client.call_tool(tool, arguments)).model_dump(
                mode="json", by_alias=True
            )
            texts = [block["text"] for block in result["content"] if block["type"] == "text"]
            if result.get("structuredContent") is not None:
                texts.append(json.dumps(result["structuredContent"]))
            images = sum(block["type"] == "image" for block in result["content"])
            return Seen("\n".join(texts), images, "marked" if result["isError"] else "")

        await use(call)


main(["mcp"], connect)
