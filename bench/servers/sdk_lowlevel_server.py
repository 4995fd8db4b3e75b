"""The official SDK's low-level server: the results are built by hand."""

import json
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from bench.servers.data import COLUMNS, RECORDS

NUMBERS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = [
    types.Tool(name="add", description="Add two numbers.", input_schema=NUMBERS),
    types.Tool(name="add_sync", description="Add two numbers.", input_schema=NUMBERS),
    types.Tool(name="rows", description="A hundred rows.", input_schema={"type": "object"}),
]


def add_sync(a: int, b: int) -> int:
    return a + b


def result_of(value: Any) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(value))],
        structured_content={"result": value},
    )


async def list_tools(
    context: ServerRequestContext, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(
    context: ServerRequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "add":
        return result_of(arguments["a"] + arguments["b"])
    if params.name == "add_sync":
        a, b = arguments["a"], arguments["b"]
        return result_of(await anyio.to_thread.run_sync(add_sync, a, b))
    return result_of([dict(zip(COLUMNS, record, strict=True)) for record in RECORDS])


server = Server("bench", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
