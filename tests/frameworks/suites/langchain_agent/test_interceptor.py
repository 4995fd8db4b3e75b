"""`AccordInterceptor` inside an agent of LangChain, with a model that follows a script."""

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import McpError
from mcp.types import CallToolResult, ErrorData, TextContent
from pydantic import Field
from serving import ACCORD, serving

from accord import ContractError
from accord.integrations.langchain import AccordInterceptor

HERE = Path(__file__).parent
PIXEL = base64.b64encode(b"pixel").decode()
SHOP = [ACCORD, "serve", f"{HERE / 'shop.py'}:server"]
FOREIGN = [sys.executable, str(HERE / "foreign.py")]
SERVERS: dict[str, Any] = {}
"""Connections to the servers, over HTTP."""


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    with serving([*SHOP, "--http", "127.0.0.1:0"]) as shop, serving(FOREIGN) as foreign:
        SERVERS["shop"] = {"url": shop, "transport": "http"}
        SERVERS["foreign"] = {"url": foreign, "transport": "http"}
        yield


def over_stdio(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:], "transport": "stdio"}


class Script(BaseChatModel):
    """A chat model that calls given tools, all at once, then ends; it keeps what it is shown."""

    calls: list[tuple[str, dict[str, Any]]]
    shown: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **options: Any) -> "Script":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.shown.append(messages)
        calls = [
            {"name": name, "args": args, "id": f"call-{n}", "type": "tool_call"}
            for n, (name, args) in enumerate(self.calls)
        ]
        message = AIMessage("", tool_calls=calls) if len(self.shown) == 1 else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=message)])


async def run(
    server: str | dict[str, Any],
    *calls: tuple[str, dict[str, Any]],
    interceptors: Sequence[Any] = (),
    **options: Any,
) -> list[ToolMessage]:
    """Return the tool messages that the model is shown after its calls."""
    client = MultiServerMCPClient(SERVERS if isinstance(server, str) else {"other": server})
    interceptors = [*interceptors] or [AccordInterceptor()]
    async with client.session(server if isinstance(server, str) else "other") as session:
        tools = await load_mcp_tools(session, tool_interceptors=interceptors, **options)
        model = Script(calls=list(calls))
        await create_agent(model, tools).ainvoke({"messages": [HumanMessage("go")]})
    return [each for each in model.shown[-1] if isinstance(each, ToolMessage)]


def called(server: str, tool: str, /, interceptor: Any = None, **arguments: Any) -> ToolMessage:
    """Return the tool message that the model is shown after one call."""
    interceptors = [] if interceptor is None else [interceptor]
    (message,) = asyncio.run(run(server, (tool, arguments), interceptors=interceptors))
    return message


def texts(message: ToolMessage) -> list[str]:
    return [each["text"] for each in message.content if each["type"] == "text"]


def said(message: ToolMessage) -> str:
    return "\n".join(texts(message))


# Failures

HIDDEN = {
    "an error in words": ("cancel_order", {"number": 7}, ["Error: order 7 has been shipped"]),
    "a flag in JSON": ("get_customer", {"number": 7}, ["no customer 7", "[1, 2, 3]"]),
    "an exception of a database": ("run_query", {"sql": "x"}, ["no such table: ordrs"]),
    "an HTTP status": ("fetch_page", {"path": "/a"}, ["Not Found", "404", "/a"]),
}


@pytest.mark.parametrize(("tool", "arguments", "words"), HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_failure_becomes_an_error_with_all_that_the_server_says(
    tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    message = called("foreign", tool, **arguments)
    assert message.status == "error"
    assert all("".join(each.split()) in "".join(said(message).split()) for each in words)
    assert message.artifact["responseType"] == message.artifact["status"] == "error"
    assert message.artifact["toolName"] == message.name == tool
    assert json.loads(json.dumps(message.artifact)) == message.artifact


def test_the_reason_of_a_hidden_failure_in_json_comes_first() -> None:
    assert texts(called("foreign", "get_customer", number=7)) == [
        'Error executing get_customer: no customer 7\n{"known":[1,2,3]}'
    ]


def test_without_the_interceptor_a_hidden_failure_is_a_success() -> None:
    message = called("foreign", "cancel_order", interceptor=unread, number=7)
    assert message.status == "success"


def test_a_declared_failure_keeps_its_words_and_gains_an_artifact() -> None:
    message = called("foreign", "declared", number=7)
    assert (message.status, texts(message)) == ("error", ["Order 7 is locked"])
    assert message.artifact["error"]["message"] == "Order 7 is locked"


def test_a_failure_without_words_has_some() -> None:
    message = called("foreign", "silent")
    assert message.status == "error"
    assert said(message)


def test_a_document_about_errors_is_a_success() -> None:
    message = called("foreign", "read_log")
    assert message.status == "success"
    assert "error: the disk is full" in said(message)


def test_a_problem_of_an_accord_server_comes_with_its_remediation() -> None:
    message = called("shop", "customer", number=8)
    assert message.status == "error"
    assert texts(message) == ["Error executing tool: No customer 8. Call customers first."]
    assert message.artifact["error"]["code"] == "NOT_FOUND"
    assert message.artifact["error"]["details"]["remediation"] == "call customers first"


def test_a_json_rpc_error_is_an_error_for_the_model_and_does_not_end_the_run() -> None:
    async def rejected(request: Any, handler: Any) -> Any:
        raise McpError(ErrorData(code=-32602, message="Unknown tool: x", data={"known": ["a"]}))

    message = asyncio.run(
        run("foreign", ("silent", {}), interceptors=[AccordInterceptor(), rejected])
    )[0]
    assert message.status == "error"
    assert said(message) == 'Unknown tool: x\n{"known":["a"]}'
    assert message.artifact["error"]["code"] == -32602


@pytest.mark.parametrize("code", [-32000, 408])
def test_a_closed_connection_and_a_timeout_are_raised(code: int) -> None:
    async def handler(request: Any) -> Any:
        raise McpError(ErrorData(code=code, message="Connection closed"))

    with pytest.raises(McpError, match="Connection closed"):
        intercepted(AccordInterceptor(), handler, "list_items")


def replied(words: str) -> Callable[[Any], Awaitable[CallToolResult]]:
    async def handler(request: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=words)])

    return handler


def intercepted(interceptor: AccordInterceptor, handler: Any, name: str, **arguments: Any) -> Any:
    request = MCPToolCallRequest(name=name, args=arguments, server_name="foreign")
    return asyncio.run(interceptor(request, handler))


SURE = {
    "certain": ("book_room", "Failed: no room"),
    "likely": ("book_room", "Timeout"),
    "guess": ("run_tests", "all tests ran\nexit code: 2"),
}
LEVELS = [*SURE]


@pytest.mark.parametrize("confidence", LEVELS)
def test_a_failure_below_the_confidence_stays_a_success(confidence: Any) -> None:
    interceptor = AccordInterceptor(confidence=confidence)
    found = [
        level
        for level, (tool, words) in SURE.items()
        if intercepted(interceptor, replied(words), tool).isError
    ]
    assert found == LEVELS[: LEVELS.index(confidence) + 1]


def test_a_guess_is_a_success_by_default_and_the_artifact_says_what_it_may_be() -> None:
    tool, words = SURE["guess"]
    result = intercepted(AccordInterceptor(), replied(words), tool)
    assert (result.isError, result.content[0].text) == (False, words)
    assert result.structuredContent["responseType"] == "error"


# Successes


def test_a_success_keeps_its_text_and_has_the_generic_response_as_artifact() -> None:
    message = called("shop", "customer", number=7)
    assert (message.status, texts(message)) == ("success", ['{"number":7,"name":"Ada"}'])
    assert message.artifact == {
        "toolName": "customer",
        "responseType": "single",
        "data": {"number": 7, "name": "Ada"},
    }


def test_the_model_sees_page_and_warnings() -> None:
    message = called("shop", "customers")
    words = said(message)
    assert '"total":5' in words
    assert '"cursor":"2"' in words
    assert "prices are of yesterday" in words


def test_structure_that_the_text_leaves_out_is_added_as_text() -> None:
    message = called("foreign", "count_orders")
    assert texts(message) == ["2 orders", '{"open":2,"late":[7,9]}']
    assert message.artifact["data"] == [7, 9]
    assert message.artifact["metadata"] == {"open": 2}


def test_structure_that_the_text_has_is_not_repeated() -> None:
    assert len(texts(called("foreign", "list_orders"))) == 1


async def unread(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    """An interceptor that changes nothing."""
    return await handler(request)


@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_an_answer_of_an_accord_server_is_complete_in_every_profile(profile: str) -> None:
    connection = over_stdio([*SHOP, "--profile", profile])
    calls = [("customer", {"number": 7}), ("customers", {})]

    async def main() -> list[list[str]]:
        return [
            [said(each) for each in await run(connection, *calls, interceptors=[interceptor])]
            for interceptor in (unread, AccordInterceptor())
        ]

    without, read = asyncio.run(main())
    assert without == read


@pytest.mark.parametrize(("server", "tool"), [("foreign", "picture"), ("shop", "portrait")])
def test_an_image_stays_an_image(server: str, tool: str) -> None:
    message = called(server, tool)
    (image,) = [each for each in message.content if each["type"] == "image"]
    assert (image["base64"], image["mime_type"]) == (PIXEL, "image/png")


def test_audio_is_named_instead_of_ending_the_run() -> None:
    assert texts(called("foreign", "sound")) == ["The bell", "[audio, audio/wav, not shown]"]


# Pages


def follow(pages: int = 10, **options: Any) -> AccordInterceptor:
    return AccordInterceptor(follow_pages=pages, **options)


def ids(message: ToolMessage) -> list[int]:
    return [each["id"] for each in message.artifact["data"]]


def test_pages_are_followed_on_request_only() -> None:
    assert ids(called("foreign", "list_orders")) == [0, 1, 2]


def test_followed_pages_are_one_list_for_the_model_and_for_the_program() -> None:
    message = called("foreign", "list_orders", follow())
    assert ids(message) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [json.loads(each) for each in texts(message)] == [message.artifact]
    assert message.artifact["summary"] == {"returned": 8}
    assert message.artifact["metadata"] == {"currency": "EUR"}
    assert "status" not in message.artifact


def test_followed_pages_of_an_accord_server_keep_total_and_warnings() -> None:
    message = called("shop", "customers", follow())
    assert [each["number"] for each in message.artifact["data"]] == [0, 1, 2, 3, 4]
    assert message.artifact["summary"] == {"total": 5, "returned": 5, "hasMore": False}
    assert message.artifact["metadata"]["warnings"] == [{"message": "prices are of yesterday"}]


def test_no_more_pages_are_followed_than_allowed_and_the_cursor_goes_on() -> None:
    message = called("foreign", "list_orders", follow(2))
    assert ids(message) == [0, 1, 2, 3, 4, 5]
    assert message.artifact["pagination"]["nextOffset"] == "6"


def test_no_page_is_requested_once_the_bytes_are_used_up() -> None:
    assert ids(called("foreign", "list_orders", follow(max_bytes=30))) == [0, 1, 2, 3, 4, 5]


def test_a_tool_that_is_not_declared_read_only_is_called_once() -> None:
    assert ids(called("foreign", "list_unmarked", follow())) == [0, 1, 2]


def test_a_tool_that_the_user_declares_read_only_is_followed() -> None:
    message = called("foreign", "list_unmarked", follow(read_only={"list_unmarked"}))
    assert ids(message) == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("list_failing", "the cursor has expired"),
        ("list_crashing", "out of memory"),
        ("list_circling", "repeat"),
    ],
)
def test_a_page_that_fails_ends_the_list_with_a_warning(tool: str, why: str) -> None:
    message = called("foreign", tool, follow())
    assert message.status == "success"
    assert ids(message) == [0, 1, 2]
    (warning,) = message.artifact["metadata"]["warnings"]
    assert why in warning["message"]
    assert message.artifact["metadata"]["truncated"] is True
    assert why in said(message)


def pages_then(error: BaseException) -> Callable[[Any], Awaitable[CallToolResult]]:
    """A handler with one page; the call for the second one raises."""

    async def handler(request: Any) -> CallToolResult:
        if "cursor" in request.args:
            raise error
        reply = '{"items": [{"id": 1}], "next_cursor": "b"}'
        return CallToolResult(content=[TextContent(type="text", text=reply)])

    return handler


def test_a_connection_lost_between_pages_keeps_the_first_ones() -> None:
    interceptor = follow(read_only={"list_items"})
    result = intercepted(interceptor, pages_then(OSError("connection lost")), "list_items")
    assert result.structuredContent["data"] == [{"id": 1}]
    assert "connection lost" in result.content[0].text


def test_a_page_that_another_interceptor_replaces_ends_the_list() -> None:
    handler = pages_then(OSError())

    async def replacing(request: Any) -> Any:
        if "cursor" in request.args:
            return ToolMessage("mine", tool_call_id="1")
        return await handler(request)

    result = intercepted(follow(read_only={"list_items"}), replacing, "list_items")
    assert result.structuredContent["data"] == [{"id": 1}]
    assert result.structuredContent["metadata"]["truncated"] is True


def test_a_cancellation_between_pages_is_passed_on() -> None:
    interceptor = follow(read_only={"list_items"})
    with pytest.raises(asyncio.CancelledError):
        intercepted(interceptor, pages_then(asyncio.CancelledError()), "list_items")


# Around the framework


def test_an_exception_of_the_call_is_passed_on() -> None:
    async def handler(request: Any) -> Any:
        raise OSError("no route to host")

    with pytest.raises(OSError, match="no route"):
        intercepted(AccordInterceptor(), handler, "list_items")


def test_the_result_of_another_interceptor_is_left_alone() -> None:
    message = ToolMessage("mine", tool_call_id="1")

    async def handler(request: Any) -> Any:
        return message

    assert intercepted(AccordInterceptor(), handler, "list_items") is message


def test_outside_of_an_agent_the_artifact_holds_the_response() -> None:
    async def main() -> ToolMessage:
        client = MultiServerMCPClient(SERVERS, tool_interceptors=[AccordInterceptor()])
        tools = {tool.name: tool for tool in await client.get_tools(server_name="shop")}
        call = {"name": "customer", "args": {"number": 7}, "id": "1", "type": "tool_call"}
        message: ToolMessage = await tools["customer"].ainvoke(call)
        return message

    message = asyncio.run(main())
    assert message.artifact["structured_content"]["data"] == {"number": 7, "name": "Ada"}


def test_outside_of_an_agent_a_hidden_failure_is_an_error_too() -> None:
    async def main() -> ToolMessage:
        client = MultiServerMCPClient(SERVERS, tool_interceptors=[AccordInterceptor()])
        tools = {tool.name: tool for tool in await client.get_tools(server_name="foreign")}
        call = {"name": "cancel_order", "args": {"number": 7}, "id": "1", "type": "tool_call"}
        message: ToolMessage = await tools["cancel_order"].ainvoke(call)
        return message

    assert asyncio.run(main()).status == "error"


def test_a_client_that_does_not_handle_tool_errors_raises_them() -> None:
    shipped = pytest.RaisesExc(ToolException, match="order 7 has been shipped")
    with pytest.RaisesGroup(shipped, flatten_subgroups=True):
        asyncio.run(run("foreign", ("cancel_order", {"number": 7}), handle_tool_errors=False))


def test_a_prefixed_tool_keeps_its_name_and_its_hints() -> None:
    calls = [("foreign_list_orders", {}), ("foreign_cancel_order", {"number": 7})]
    options = {"server_name": "foreign", "tool_name_prefix": True}
    listed, failed = asyncio.run(run("foreign", *calls, interceptors=[follow()], **options))
    assert ids(listed) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [listed.name, failed.name] == ["foreign_list_orders", "foreign_cancel_order"]


def test_calls_at_the_same_time_do_not_mix() -> None:
    calls = [("get_customer", {"number": n}) for n in range(5)] + [("list_orders", {})] * 3
    messages = asyncio.run(run("foreign", *calls, interceptors=[follow()]))
    assert [each.tool_call_id for each in messages] == [f"call-{n}" for n in range(8)]
    assert all(f"no customer {n}" in said(messages[n]) for n in range(5))
    assert all(ids(each) == [0, 1, 2, 3, 4, 5, 6, 7] for each in messages[5:])


WRONG: dict[str, dict[str, Any]] = {
    "confidence must be one of": {"confidence": "sure"},
    "read_only must be a collection": {"read_only": "list_orders"},
    "follow_pages must be a whole number": {"follow_pages": 0},
    "max_bytes must be a whole number": {"max_bytes": 1.5},
}


@pytest.mark.parametrize(("message", "options"), WRONG.items(), ids=WRONG)
def test_a_wrong_option_is_an_error_at_once(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match=message):
        AccordInterceptor(**options)
