"""The lower bound over HTTP: an ASGI app that reads the body and replies with `BENCH_REPLY`."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]

REPLY = os.environb[b"BENCH_REPLY"]
HEADERS = [(b"content-length", b"%d" % len(REPLY)), (b"content-type", b"application/json")]


async def app(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": REPLY})
