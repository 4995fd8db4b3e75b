"""Agents of Pydantic AI with a scripted model: what the model is sent after a tool call."""

import asyncio
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport
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
from serving import serving, shop, shop_over_http

from accord import ContractError
from accord.integrations.pydantic_ai import read_tool_calls

PROFILES = ["plain", "prose", "bare", "envelope", "generic"]
REASON = "No sword here. Try lantern or rope."


def received(
    toolset: MCPToolset[Any], tool: str, arguments: dict[str, Any] | None = None, *, calls: int = 1
) -> list[ToolReturnPart]:
    """Run an agent whose model calls a tool; return what the model is sent after each call."""
    parts: list[ToolReturnPart] = []

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if len(parts) < calls:
            return ModelResponse(parts=[ToolCallPart(tool, arguments or {})])
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model), toolsets=[toolset])
    assert asyncio.run(agent.run("go")).output == "done"
    return parts


def one(*arguments: Any, **options: Any) -> ToolReturnPart:
    """Return the only part that the model is sent."""
    (part,) = received(*arguments, **options)
    return part


@pytest.fixture
def foreign(foreign_url: str) -> MCPToolset[Any]:
    return MCPToolset(foreign_url, process_tool_call=read_tool_calls())


HIDDEN = {
    "close_door": ["The door is locked", "call unlock_door first"],
    "run_query": ["SQL error: no such table: users", "Tables: shop, orders"],
    "fetch_item": ["No item 7", '"status":404'],
}


@pytest.mark.parametrize("tool", HIDDEN)
def test_a_hidden_failure_asks_the_model_to_retry_with_all_that_the_server_said(
    tool: str, foreign: MCPToolset[Any], foreign_url: str
) -> None:
    unread = one(MCPToolset(foreign_url), tool)
    assert unread.outcome == "success"
    part = one(foreign, tool)
    assert part.outcome == "retried"
    assert part.tool_name == tool
    assert [words for words in HIDDEN[tool] if words not in str(part.content)] == []


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_failure_of_an_accord_server_says_its_reason_and_remediation_in_every_profile(
    profile: str, transport: str
) -> None:
    hook = read_tool_calls()
    if transport == "stdio":
        command, *arguments = shop(profile)
        part = one(MCPToolset(StdioTransport(command, arguments), process_tool_call=hook), "buy")
    else:
        with serving(shop_over_http(profile)) as url:
            part = one(MCPToolset(url, process_tool_call=hook), "buy")
    assert part.outcome == "retried"
    assert part.content == REASON


def test_the_last_attempt_reports_a_failure_and_the_run_goes_on(foreign: MCPToolset[Any]) -> None:
    first, second = received(foreign, "close_door", calls=2)
    assert [first.outcome, second.outcome] == ["retried", "failed"]
    assert "The door is locked" in str(second.content)


@pytest.mark.parametrize("profile", ["envelope", "generic"])
def test_a_refused_caller_is_not_asked_to_retry(profile: str) -> None:
    with serving(shop_over_http(profile)) as url:
        part = one(MCPToolset(url, process_tool_call=read_tool_calls()), "refund")
    assert (part.outcome, part.content) == ("failed", "Refunds are not allowed")


def test_invalid_arguments_name_every_field_also_in_a_json_rpc_error() -> None:
    with serving(shop_over_http("bare")) as url:
        part = one(MCPToolset(url, process_tool_call=read_tool_calls()), "orders", {"cursor": 7})
    assert part.outcome == "retried"
    assert "cursor" in str(part.content)


def test_a_success_is_what_the_toolset_returns_without_the_hook(
    foreign: MCPToolset[Any], foreign_url: str, shop_url: str
) -> None:
    for url, tool in [
        (foreign_url, "list_items"),
        (foreign_url, "list_users"),
        (shop_url, "stock"),
        (shop_url, "price"),
    ]:
        read = one(MCPToolset(url, process_tool_call=read_tool_calls()), tool)
        assert read.content == one(MCPToolset(url), tool).content


@pytest.mark.parametrize("generic", [False, True])
def test_an_image_stays_an_image(generic: bool, shop_url: str) -> None:
    hook = read_tool_calls(generic=generic)
    part = one(MCPToolset(shop_url, process_tool_call=hook), "picture")
    data, image = part.content
    assert isinstance(image, BinaryContent)
    assert image.data.startswith(b"\x89PNG")
    assert (data["data"] if generic else data) == {"caption": "a lantern"}


def test_the_generic_response_has_the_page_of_any_server(shop_url: str, foreign_url: str) -> None:
    hook = read_tool_calls(generic=True)
    with serving(shop_over_http("generic")) as url:
        orders = one(MCPToolset(url, process_tool_call=hook), "orders").content
    assert orders["summary"] == {"total": 1700, "returned": 500, "hasMore": True}
    assert orders["pagination"]["nextOffset"] == "after-500"
    items = one(MCPToolset(foreign_url, process_tool_call=hook), "list_items").content
    assert (items["responseType"], items["data"]) == ("list", [{"id": 1}, {"id": 2}])


def test_a_hook_of_the_user_makes_the_call_whose_result_is_read(foreign_url: str) -> None:
    async def hook(_: Any, call_tool: Any, name: str, arguments: dict[str, Any]) -> Any:
        assert (name, arguments) == ("list_items", {"hurry": True})
        return await call_tool("close_door", {})

    toolset = MCPToolset(foreign_url, process_tool_call=read_tool_calls(hook=hook))
    part = one(toolset, "list_items", {"hurry": True})
    assert (part.outcome, "The door is locked" in str(part.content)) == ("retried", True)


@pytest.mark.parametrize(
    ("confidence", "outcome"), [("certain", "success"), ("likely", "retried"), ("guess", "retried")]
)
def test_a_failure_must_be_as_sure_as_is_required(
    confidence: Any, outcome: str, foreign_url: str
) -> None:
    hook = read_tool_calls(confidence=confidence)
    part = one(MCPToolset(foreign_url, process_tool_call=hook), "find_user")
    assert part.outcome == outcome


def test_calls_at_once_have_their_own_results(foreign: MCPToolset[Any]) -> None:
    tools = ["close_door", "list_items", "fetch_item", "list_items", "run_query"]
    parts: list[ToolReturnPart] = []

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            parts.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, {}) for tool in tools])

    asyncio.run(Agent(FunctionModel(model), toolsets=[foreign]).run("go"))
    assert [part.tool_name for part in parts] == tools
    expected = ["retried", "success", "retried", "success", "retried"]
    assert [part.outcome for part in parts] == expected


def test_the_toolset_still_caches_its_tools(foreign: MCPToolset[Any]) -> None:
    async def names() -> list[list[str]]:
        async with foreign:
            first = [tool.name for tool in await foreign.list_tools()]
            await foreign.direct_call_tool("list_items", {})
            return [first, [tool.name for tool in await foreign.list_tools()]]

    first, second = asyncio.run(names())
    assert first == second
    assert "close_door" in first


def test_an_unknown_confidence_is_refused() -> None:
    with pytest.raises(ContractError, match="confidence must be one of certain, likely, guess"):
        read_tool_calls(confidence="sure")  # type: ignore[arg-type]
