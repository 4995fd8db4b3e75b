"""A plain ASGI application, for servers of others: echo, stream, refuse."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    match scope["type"], scope.get("path"):
        case "lifespan", _:
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
        case _, "/stream":
            await begin(send, 200, (b"content-type", b"text/event-stream"))
            for number in range(3):
                body = b"data: %d\n\n" % number
                await send({"type": "http.response.body", "body": body, "more_body": True})
                await asyncio.sleep(0.01)
            await send({"type": "http.response.body"})
        case _, "/refuse":
            await begin(send, 413, (b"content-length", b"7"))
            await send({"type": "http.response.body", "body": b"refused"})
        case _, "/nothing":
            await begin(send, 204)
            await send({"type": "http.response.body"})
        case _:
            body = await read(receive)
            await begin(send, 200, (b"content-length", b"%d" % len(body)))
            await send({"type": "http.response.body", "body": body})


async def begin(send: Send, status: int, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body
