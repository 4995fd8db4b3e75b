"""Server made with the official SDK: `python sdk_server.py stdio|stateful|stateless|resumable`."""

import asyncio
import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage

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
    app = server.streamable_http_app(
        stateless_http=mode == "stateless",
        json_response=mode == "stateless",
        event_store=Store() if mode == "resumable" else None,
        retry_interval=50 if mode == "resumable" else None,
    )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"MCP at http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    main(sys.argv[1])
