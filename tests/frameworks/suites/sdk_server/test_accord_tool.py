"""`accord_tool` inside a server of the official SDK, 1 or 2, called by the SDK's client."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from answers import FUNCTIONS, NAMES, PROFILES, Customer, Meaning, by_accord, meaning_of
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from accord import Problem, read
from accord.integrations.sdk import accord_tool

try:
    from mcp import Client
    from mcp.server.mcpserver import Context, MCPServer

    def connected(mcp: Any, **options: Any) -> AbstractAsyncContextManager[Any]:
        return Client(mcp, **options)

    CLIENTS: list[dict[str, Any]] = [{"mode": "auto"}, {"mode": "legacy"}]
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.shared.memory import create_connected_server_and_client_session as connected

    CLIENTS = [{}]


def server_of(*functions: Any, **options: Any) -> Any:
    mcp = MCPServer("shop")
    for each in functions:
        mcp.tool()(accord_tool(**options)(each))
    return mcp


def called(mcp: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a call as it was sent."""

    async def main() -> Any:
        async with connected(mcp) as session:
            return await session.call_tool(tool, arguments)

    return wire(asyncio.run(main()))


def wire(result: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def tool_of(mcp: Any, name: str) -> dict[str, Any]:
    async def main() -> Any:
        async with connected(mcp) as session:
            return {tool.name: tool for tool in (await session.list_tools()).tools}

    return wire(asyncio.run(main())[name])


@pytest.mark.parametrize("client", CLIENTS, ids=str)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_tool_says_the_same_as_in_a_server_of_accord(profile: str, client: Any) -> None:
    async def main() -> dict[str, Meaning]:
        async with connected(server_of(*FUNCTIONS, profile=profile), **client) as session:
            await session.list_tools()  # results are then checked against the schemas
            results = {name: await session.call_tool(name, {}) for name in NAMES}
        return {name: meaning_of(read(result, name)) for name, result in results.items()}

    assert asyncio.run(main()) == by_accord(profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_problem_is_a_failed_result(profile: str) -> None:
    def order(number: int) -> Customer:
        raise Problem.not_found(f"No order {number}", remediation="list orders")

    result = called(server_of(order, profile=profile), "order", number=7)
    assert result["isError"] is True
    error = read(result, "order").response.error
    assert error is not None
    assert (error.code, error.message) == ("NOT_FOUND", "No order 7")
    assert isinstance(error.details, dict)
    assert error.details["remediation"] == "list orders"


def test_an_unexpected_exception_is_left_to_the_sdk() -> None:
    def broken() -> dict[str, Any]:
        raise ZeroDivisionError("by zero")

    result = called(server_of(broken), "broken")
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Error executing tool broken")


def test_a_result_of_the_sdk_passes_unchanged() -> None:
    def own() -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="mine")])

    mcp = server_of(own, profile="envelope")
    assert [each["text"] for each in called(mcp, "own")["content"]] == ["mine"]
    assert "outputSchema" not in tool_of(mcp, "own")


async def add(first: int, ctx: Context, second: int = 2) -> dict[str, Any]:
    """Add two numbers."""
    return {"sum": first + second, "has_context": isinstance(ctx, Context)}


def test_parameters_description_and_context_are_those_of_the_function() -> None:
    mcp, plain = server_of(add, profile="envelope"), MCPServer("shop")
    plain.tool()(add)
    wrapped, own = tool_of(mcp, "add"), tool_of(plain, "add")
    assert wrapped["inputSchema"] == own["inputSchema"]
    assert wrapped["description"] == own["description"]
    assert read(called(mcp, "add", first=1), "add").value == {"sum": 3, "has_context": True}


def test_arguments_are_checked_by_the_sdk() -> None:
    result = called(server_of(add), "add", first="many")
    assert result["isError"] is True


SCHEMAS = {
    "plain": {"number", "name", "_accord"},
    "prose": {"number", "name", "_accord"},
    "bare": {"number", "name", "_accord"},
    "envelope": {"success", "data", "error", "meta"},
}


@pytest.mark.parametrize(("profile", "members"), SCHEMAS.items(), ids=SCHEMAS)
def test_the_output_schema_is_that_of_the_profile(profile: str, members: set[str]) -> None:
    from answers import a_model

    schema = tool_of(server_of(a_model, profile=profile), "a_model")["outputSchema"]
    assert schema["properties"].keys() == members


class Folder(Customer):
    folders: list["Folder"] = Field(default_factory=list)


def test_a_recursive_model_has_a_schema_without_references() -> None:
    def tree() -> Folder:
        return Folder(number=1, folders=[Folder(number=2, folders=[Folder(number=3)])])

    mcp = server_of(tree)
    assert "$ref" not in str(tool_of(mcp, "tree"))
    assert called(mcp, "tree")["structuredContent"]["folders"][0]["folders"][0]["number"] == 3
