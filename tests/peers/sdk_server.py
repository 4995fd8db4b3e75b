"""Server made with the official SDK: `python sdk_server.py MODE`.

Modes: stdio, stateful, stateless, resumable; sse, the transport of 2024-11-05.
"""

import asyncio
import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import (
    Completion,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    JSONRPCMessage,
)
from pydantic import BaseModel

server = MCPServer("official", version="1", instructions="Ask for owls.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Never works."""
    raise ValueError("no owls")


@server.tool()
async def tell(context: Context) -> str:
    """Say how far it has come, and be done."""
    await context.report_progress(1, 2, "half")
    return "done"


@server.tool()
async def break_off(context: Context) -> str:
    """Close the stream in the middle of a call, which goes on."""
    await context.close_sse_stream()
    return "resumed"


def is_stateless(context: Context) -> bool:
    return (context.protocol_version or "") >= "2026-07-28"


class Name(BaseModel):
    name: str


@server.tool()
async def ask(context: Context) -> str | InputRequiredResult:
    """Ask for a name, in the way of the client's era."""
    if not is_stateless(context):
        answer = await context.elicit("Your name?", Name)
        return answer.data.name if answer.action == "accept" else answer.action
    if context.input_responses is None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = ElicitRequestFormParams(message="Your name?", requested_schema=form)
        return InputRequiredResult(
            input_requests={"name": ElicitRequest(params=params)}, request_state="asked"
        )
    answered = context.input_responses["name"]
    assert isinstance(answered, ElicitResult)
    assert context.request_state == "asked"
    return str(answered.content["name"]) if answered.content else answered.action


@server.tool()
async def rewrite(context: Context) -> str:
    """Report that the menu and the tools have changed."""
    if not is_stateless(context):
        await context.session.send_resource_updated("owl://menu")
        await context.session.send_tool_list_changed()
    else:
        await context.notify_resource_updated("owl://menu")
        await context.notify_tools_changed()
    return "changed"


@server.tool()
async def wait() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


@server.resource("owl://menu")
def menu() -> str:
    """What owls eat."""
    return "mice"


@server.resource("owl://owls/{name}")
def owl(name: str) -> str:
    """One owl."""
    return f"owl {name}"


@server.prompt()
def praise(name: str) -> str:
    """Praise an owl."""
    return f"Praise {name}"


@server.completion()
async def complete(ref: object, argument: object, context: object) -> Completion:
    return Completion(values=["ada", "alan"], total=2, has_more=False)


class Store(EventStore):
    """Events in memory, for streams that are resumed."""

    def __init__(self) -> None:
        self.events: list[tuple[StreamId, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        stream = self.events[int(last_event_id) - 1][0]
        for number, (name, message) in enumerate(self.events, start=1):
            if name == stream and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def main(mode: str) -> None:
    if mode == "stdio":
        server.run()
        return
    if mode == "sse":
        app = server.sse_app()
    else:
        app = server.streamable_http_app(
            stateless_http=mode == "stateless",
            json_response=mode == "stateless",
            event_store=Store() if mode == "resumable" else None,
            retry_interval=50 if mode == "resumable" else None,
        )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    path = "sse" if mode == "sse" else "mcp"
    port = listener.getsockname()[1]
    print(f"MCP at http://127.0.0.1:{port}/{path}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    main(sys.argv[1])
