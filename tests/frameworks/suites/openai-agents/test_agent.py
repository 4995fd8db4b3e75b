"""Agents of the OpenAI Agents SDK with a scripted model: what it is sent after a tool call."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from serving import serving, shop, shop_over_http

from accord import ContractError
from accord.integrations.openai_agents import (
    AccordMCPServerStdio,
    AccordMCPServerStreamableHttp,
    ReadsReplies,
)

PROFILES = ["plain", "prose", "bare", "envelope", "generic"]
REASON = "No sword here. Try lantern or rope."
Output = str | list[dict[str, Any]]


class Scripted(Model):
    """A model that calls tools once, all at the same time, and keeps what it is sent then."""

    def __init__(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.calls = calls
        self.received: list[Output] = []

    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        given = options["input"] if "input" in options else arguments[1]
        outputs = [
            item["output"]
            for item in (given if isinstance(given, list) else [])
            if item.get("type") == "function_call_output"
        ]
        if not outputs:
            return _response([_call(number, *call) for number, call in enumerate(self.calls)])
        self.received = outputs
        return _response([_message("done")])

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _response(output: list[Any]) -> ModelResponse:
    return ModelResponse(output=output, usage=Usage(), response_id=None)


def _call(number: int, tool: str, arguments: dict[str, Any]) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", name=tool, call_id=f"call{number}", arguments=json.dumps(arguments)
    )


def _message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", status="completed", content=[content]
    )


def received(server: MCPServer, *calls: str | tuple[str, dict[str, Any]]) -> list[Output]:
    """Run an agent whose model calls tools; return what the model is sent."""
    model = Scripted([(call, {}) if isinstance(call, str) else call for call in calls])

    async def run() -> None:
        async with server:
            agent = Agent(name="test", model=model, mcp_servers=[server])
            result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
            assert result.final_output == "done"

    asyncio.run(run())
    return model.received


def texts(output: Output) -> str:
    """Return the text of an output."""
    if isinstance(output, str):
        return output
    blocks = output if isinstance(output, list) else [output]
    return "\n".join(block["text"] for block in blocks if block["type"] == "input_text")


def images(output: Output) -> list[str]:
    """Return the URLs of the images of an output."""
    blocks = output if isinstance(output, list) else []
    return [block["image_url"] for block in blocks if block["type"] == "input_image"]


def reading(url: str, **options: Any) -> Any:
    return AccordMCPServerStreamableHttp(params={"url": url}, **options)


def plain(url: str, **options: Any) -> MCPServer:
    return MCPServerStreamableHttp(params={"url": url}, **options)


HIDDEN = {
    "close_door": ["Error executing close_door: The door is locked", "call unlock_door first"],
    "run_query": ["Error executing run_query: SQL error: no such table: users", "Tables: shop"],
    "fetch_item": ["Error executing fetch_item: No item 7", '"status":404'],
}


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("tool", HIDDEN)
def test_a_hidden_failure_is_an_error_with_all_that_the_server_said(
    tool: str, structured: bool, foreign_url: str
) -> None:
    (output,) = received(reading(foreign_url, use_structured_content=structured), tool)
    assert [words for words in HIDDEN[tool] if words not in texts(output)] == []
    (unread,) = received(plain(foreign_url, use_structured_content=structured), tool)
    assert "Error executing" not in texts(unread)


def test_a_hidden_failure_is_a_result_with_is_error(foreign_url: str) -> None:
    async def call() -> Any:
        async with reading(foreign_url) as server:
            return await server.call_tool("close_door", {})

    result = asyncio.run(call()).model_dump(by_alias=True)
    assert (result["isError"], result["structuredContent"]) == (True, None)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_failure_of_an_accord_server_says_its_reason_and_remediation_in_every_profile(
    profile: str, transport: str
) -> None:
    if transport == "stdio":
        command, *arguments = shop(profile)
        params = {"command": command, "args": arguments}
        (output,) = received(AccordMCPServerStdio(params=params), "buy")
    else:
        with serving(shop_over_http(profile)) as url:
            (output,) = received(reading(url), "buy")
    assert texts(output) == f"Error executing buy: {REASON}"


def test_a_json_rpc_error_says_its_reason() -> None:
    with serving(shop_over_http("bare")) as url:
        call = ("orders", {"cursor": 7})
        (unread,) = received(plain(url), call)
        (output,) = received(reading(url), call)
    assert "cursor" not in texts(unread)
    assert "cursor" in texts(output)


def test_a_json_rpc_error_goes_to_the_failure_error_function_if_there_is_one() -> None:
    def failed(_: Any, error: Exception) -> str:
        return f"It failed: {error}"

    with serving(shop_over_http("bare")) as url:
        server = reading(url, failure_error_function=failed)
        (output,) = received(server, ("orders", {"cursor": 7}))
    assert texts(output).startswith("It failed: ")


def test_a_timeout_says_that_it_is_one(foreign_url: str) -> None:
    (output,) = received(reading(foreign_url, client_session_timeout_seconds=0.5), "wait")
    assert texts(output).startswith("Error executing wait: ")
    assert "timed out" in texts(output).lower()


@pytest.mark.parametrize(("confidence", "is_failure"), [("certain", False), ("likely", True)])
def test_a_failure_must_be_as_sure_as_is_required(
    confidence: str, is_failure: bool, foreign_url: str
) -> None:
    (output,) = received(reading(foreign_url, confidence=confidence), "find_user")
    assert texts(output).startswith("Error executing find_user: ") is is_failure


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("tool", ["stock", "orders", "price"])
def test_a_success_is_what_the_server_shows_otherwise(
    tool: str, structured: bool, shop_url: str
) -> None:
    options = {"use_structured_content": structured}
    assert received(reading(shop_url, **options), tool) == received(
        plain(shop_url, **options), tool
    )


@pytest.mark.parametrize("structured", [False, True])
def test_an_image_and_the_data_beside_it_are_both_shown(structured: bool, foreign_url: str) -> None:
    options = {"use_structured_content": structured}
    (unread,) = received(plain(foreign_url, **options), "picture")
    assert not (images(unread) and "a lantern" in texts(unread))
    (output,) = received(reading(foreign_url, **options), "picture")
    assert "a lantern" in texts(output)
    assert images(output)[0].startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize("structured", [False, True])
def test_text_and_structure_that_differ_are_both_shown(structured: bool, foreign_url: str) -> None:
    (output,) = received(reading(foreign_url, use_structured_content=structured), "list_users")
    assert "pass page=2" in texts(output)
    assert '"users"' in texts(output)


@pytest.mark.parametrize("structured", [False, True])
def test_the_generic_response_replaces_the_result_on_request(
    structured: bool, shop_url: str, foreign_url: str
) -> None:
    options = {"generic": True, "use_structured_content": structured}
    (output,) = received(reading(foreign_url, **options), "list_items")
    response = json.loads(texts(output))
    assert (response["responseType"], response["data"]) == ("list", [{"id": 1}, {"id": 2}])
    (output,) = received(reading(shop_url, **options), "picture")
    assert json.loads(texts(output))["data"] == {"caption": "a lantern"}
    assert images(output)


def test_calls_at_once_have_their_own_results(foreign_url: str) -> None:
    tools = ["close_door", "list_items", "fetch_item", "run_query"]
    outputs = [texts(output) for output in received(reading(foreign_url), *tools)]
    assert [text.startswith("Error executing ") for text in outputs] == [True, False, True, True]
    assert "No item 7" in outputs[2]


def test_cached_tools_and_options_of_the_server_are_kept(shop_url: str) -> None:
    async def tools() -> tuple[Any, Any]:
        server = reading(shop_url, cache_tools_list=True, name="shop")
        async with server:
            assert server.name == "shop"
            return await server.list_tools(), server.cached_tools

    listed, cached = asyncio.run(tools())
    assert [tool.name for tool in listed] == [tool.name for tool in cached]


def test_a_cancelled_call_is_cancelled(shop_url: str) -> None:
    async def cancel() -> bool:
        async with reading(shop_url) as server:
            call = asyncio.create_task(server.call_tool("stock", {}))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            again = await server.call_tool("stock", {})
            return call.cancelled() and bool(again.content)

    assert asyncio.run(cancel())


def test_the_ready_classes_are_servers_of_the_sdk() -> None:
    assert issubclass(AccordMCPServerStdio, MCPServerStdio)
    assert issubclass(AccordMCPServerStreamableHttp, MCPServerStreamableHttp)
    assert AccordMCPServerStdio.__mro__[1] is ReadsReplies


def test_an_unknown_confidence_is_refused() -> None:
    with pytest.raises(ContractError, match="confidence must be one of certain, likely, guess"):
        reading("http://127.0.0.1:1/mcp", confidence="sure")
