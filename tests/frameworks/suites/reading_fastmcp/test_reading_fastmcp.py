"""Results of `fastmcp.Client`, of both major versions, as the reader takes them."""

import asyncio
import dataclasses
from typing import Any

import pytest
import reading_shop
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport

from accord import read


def call(tool: str, **options: Any) -> Any:
    async def run() -> Any:
        transport = StdioTransport(
            reading_shop.COMMAND, reading_shop.ARGUMENTS, cwd=reading_shop.FOLDER
        )
        async with Client(transport) as client:
            return await client.call_tool(tool, {}, **options)

    return asyncio.run(run())


@pytest.mark.parametrize("tool", reading_shop.TOOLS)
def test_a_result_of_the_client_says_what_the_tool_returned(tool: str) -> None:
    result = call(tool, raise_on_error=False)
    reading_shop.require(tool, result)
    reading_shop.require(tool, dataclasses.asdict(result))
    members = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    reading_shop.require(tool, members)  # `data` holds objects of generated classes
    members.pop("data")
    reading_shop.require(tool, members)


def test_typed_data_alone_is_read() -> None:
    data = call("get_row").data
    assert not isinstance(data, dict)
    assert read(data, "get_row").response.data == reading_shop.ROWS[0]


def test_a_tool_error_is_a_failure() -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its text is read below
        call("get_missing")
    reading_shop.require("get_missing", caught.value, has_details=False)


def test_an_unknown_tool_is_a_failure_with_its_code() -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its code is read below
        call("no_such_tool")
    error = read(caught.value, "no_such_tool").response.error
    assert error is not None
    assert (error.code, error.message) == (-32602, "Unknown tool: no_such_tool")


def test_results_of_a_fastmcp_server_are_read() -> None:
    server = FastMCP("foreign")

    @server.tool
    def list_names() -> list[str]:
        return ["a", "b"]

    @server.tool
    def count() -> int:
        return 7

    async def run(tool: str) -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, {})

    assert read(asyncio.run(run("list_names")), "list_names").response.data == ["a", "b"]
    assert read(asyncio.run(run("count")), "get_count").value == 7
