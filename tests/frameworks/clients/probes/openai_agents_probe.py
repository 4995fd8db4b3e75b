"""OpenAI Agents SDK: `MCPServerStdio`, without the adapter."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStdio
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from probing import Call, Seen, main


class Scripted(Model):
    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        self.tool = tool
        self.arguments = arguments
        self.output: Any = None

    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        given = options["input"] if "input" in options else arguments[1]
        outputs = [each["output"] for each in given if "output" in each] if given != "go" else []
        if outputs:
            (self.output,) = outputs
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            message: Any = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            message = ResponseFunctionToolCall(
                type="function_call",
                name=self.tool,
                call_id="1",
                arguments=json.dumps(self.arguments),
            )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def connect(command: list[str], use: Callable[[Call], Awaitable[None]]) -> None:
    program, *words = command

    async def call(tool: str, arguments: dict[str, Any]) -> Seen:
        model = Scripted(tool, arguments)
        agent = Agent(name="probe", model=model, mcp_servers=[server])
        await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
        images = json.dumps(model.output).count('"input_image"')
        blocks = model.output if isinstance(model.output, list) else [{"text": model.output}]
        return Seen("\n".join(each.get("text", "") for each in blocks), images)

    async with MCPServerStdio(params={"command": program, "args": words}) as server:
        await use(call)


main(["openai-agents", "mcp"], connect)
