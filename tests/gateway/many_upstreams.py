"""Many small MCP servers (2026-07-28) over HTTP, in one process: server N is at `/N`.

Its argument is a JSON file: a list of tools for each server. A tool returns the number of its
server and its own name. `/hang` never answers.
"""

import asyncio
import json
import sys
from typing import Any

END = b"\r\n\r\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            head = await reader.readuntil(END)
        except asyncio.IncompleteReadError:
            writer.close()
            return
        line, *fields = head.decode().split("\r\n")
        names = dict(each.lower().split(": ", 1) for each in fields if each)
        body = await reader.readexactly(int(names.get("content-length", 0)))
        path = line.split()[1].strip("/")
        if path == "hang":
            await asyncio.Event().wait()
        sent = encoded(int(path), json.loads(body))
        head_out = (
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(sent)}"
        )
        writer.write(head_out.encode() + END + sent)


def encoded(number: int, message: dict[str, Any]) -> bytes:
    reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": result(number, message)}
    return json.dumps(reply).encode()


def result(number: int, message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "server/discover":
            found: dict[str, Any] = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
            }
        case "tools/list":
            tools = SERVERS[number]
            start = int(message["params"].get("cursor", 0))
            found = {"tools": tools[start : start + PAGE]}
            if start + PAGE < len(tools):
                found["nextCursor"] = str(start + PAGE)
        case _:
            said = json.dumps([number, message["params"]["name"]])
            found = {"content": [{"type": "text", "text": said}]}
    return {**found, "resultType": "complete"}


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20, backlog=2_000)
    port = server.sockets[0].getsockname()[1]
    print(f"MCP at http://127.0.0.1:{port}/", file=sys.stderr, flush=True)
    await server.serve_forever()


PAGE = 50
with open(sys.argv[1]) as file:  # noqa: PTH123 - it starts faster
    SERVERS = json.load(file)
asyncio.run(main())
