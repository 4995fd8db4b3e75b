"""`fastmcp.Client`: what it gives to a program."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from probing import Call, Seen, main


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        result = await client.call_tool(tool, arguments, raise_on_error=False)
        texts = [block.text for block in result.content if block.type == "text"]
        if result.structured_content is not None:
            texts.append(json.dumps(result.structured_content))
        images = sum(block.type == "image" for block in result.content)
        return Seen("\n".join(texts), images, "marked" if result.is_error else "")

    async with Client(StdioTransport(program, words)) as client:
        await use(call)


main(["fastmcp", "mcp"], connect)
