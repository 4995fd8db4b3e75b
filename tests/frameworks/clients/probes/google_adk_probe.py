"""Google ADK: `McpToolset`."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters
from probing import Call, Seen, main


class Scripted(BaseLlm):
    tool: str
    arguments: dict[str, Any]
    received: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        self.received[:] = [part.function_response for part in parts if part.function_response]
        part = types.Part.from_text(text="done")
        if not self.received:
            part = types.Part.from_function_call(name=self.tool, args=self.arguments)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command
    server = StdioServerParameters(command=program, args=words)
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server))

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        model = Scripted(model="scripted", tool=tool, arguments=arguments, received=[])
        agent = LlmAgent(name="probe", model=model, tools=[toolset])
        runner = InMemoryRunner(agent=agent, app_name="probe")
        session = await runner.session_service.create_session(app_name="probe", user_id="1")
        message = types.Content(role="user", parts=[types.Part.from_text(text="go")])
        async for _ in runner.run_async(user_id="1", session_id=session.id, new_message=message):
            pass
        (response,) = model.received
        images = sum(part.inline_data is not None for part in response.parts or [])
        return Seen(json.dumps(response.response), images)

    try:
        await use(call)
    finally:
        await toolset.close()


main(["google-adk", "mcp"], connect)
