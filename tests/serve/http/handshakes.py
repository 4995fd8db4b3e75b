"""Handshake clients without stickiness: each request on a connection of its own."""

import asyncio
import json
from typing import Any


async def visit(port: int, clients: int) -> dict[int, bool]:
    """Let clients initialize, list and call, each request on a new connection; return the pids."""
    gate = asyncio.Semaphore(20)
    found = await asyncio.gather(*(_visit(port, gate) for _ in range(clients)))
    return dict.fromkeys(sorted(found), True)


async def _visit(port: int, gate: asyncio.Semaphore) -> int:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
    async with gate:
        headers, _ = await post(port, {}, "initialize", hello)
        session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        session["MCP-Protocol-Version"] = "2025-11-25"
        await post(port, session, "notifications/initialized", None)
        _, listed = await post(port, session, "tools/list", {})
        assert listed["result"]["tools"]
        _, called = await post(port, session, "tools/call", {"name": "pid", "arguments": {}})
        return int(called["result"]["content"][0]["text"])


async def post(
    port: int, headers: dict[str, str], method: str, params: dict[str, Any] | None
) -> tuple[dict[str, str], Any]:
    """POST a message on a connection of its own; a notification if there are no params."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message |= {"id": 1, "params": params}
    body = json.dumps(message)
    sent = {"Host": "localhost", "Content-Type": "application/json", "Connection": "close"}
    lines = [f"{name}: {value}" for name, value in (sent | headers).items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((head + body).encode())
    answer = await reader.read()
    writer.close()
    top, _, content = answer.partition(b"\r\n\r\n")
    status, *received = top.decode().splitlines()
    assert status.split()[1] == ("202" if params is None else "200"), (status, content)
    fields = {name.lower(): text for name, _, text in (line.partition(": ") for line in received)}
    return fields, json.loads(content) if content else None
