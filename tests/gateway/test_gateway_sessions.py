"""A server that forgets its sessions: one new handshake, and the call again (behaviour 7)."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from gateway.gateways import client_of, gateway_of

OLD = "2025-11-25"
INIT = {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": {"name": "f"}}
TOOLS = {"tools": [{"name": "buy", "inputSchema": {"type": "object"}}]}
LOST: dict[str, tuple[int, int | None]] = {
    "404": (404, None),
    "-32001": (200, -32001),
    "-32600": (400, -32600),
}


class Forgetful:
    """A raw server with sessions over HTTP, which forgets those that are not `known`."""

    def __init__(self, lost: str) -> None:
        self._status, self._code = LOST[lost]
        self.known = set[str]()
        self.remembers = True
        self.bought = 0
        self.handshakes = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(each.split(": ", 1) for each in head.split("\r\n")[1:] if each)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                message = json.loads(body) if body else {}
                writer.write(self.answer(message, fields.get("mcp-session-id")))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, message: dict[str, Any], session: str | None) -> bytes:
        method = message.get("method")
        if method is None:
            return http(405, b"")
        if method == "server/discover":
            return self.error(message, -32601, "Method not found")
        if method == "initialize":
            self.handshakes += 1
            if self.remembers:
                self.known.add(f"s{self.handshakes}")
            return self.result(message, INIT, f"mcp-session-id: s{self.handshakes}\r\n")
        if session not in self.known:
            if self._code is None:
                return http(self._status, b"")
            return self.error(message, self._code, "Session not found", self._status)
        if "id" not in message:
            return http(202, b"")
        if method == "tools/list":
            return self.result(message, TOOLS)
        self.bought += 1
        return self.result(message, {"content": [{"type": "text", "text": str(self.bought)}]})

    def result(self, message: dict[str, Any], result: Any, fields: str = "") -> bytes:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return http(200, json.dumps(reply).encode(), fields)

    def error(self, message: dict[str, Any], code: int, text: str, status: int = 200) -> bytes:
        error = {"code": code, "message": text}
        reply = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
        return http(status, json.dumps(reply).encode())


def http(status: int, body: bytes, fields: str = "") -> bytes:
    kind = "content-type: application/json\r\n" if body else ""
    head = f"HTTP/1.1 {status} X\r\n{kind}{fields}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def run(lost: str, use: Callable[[Any, Forgetful, Any], Any]) -> None:
    async def main() -> None:
        server = Forgetful(lost)
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            gateway = gateway_of(f"http://127.0.0.1:{port}/mcp", timeout=5)
            async with client_of(gateway.server, OLD) as client:
                await use(client, server, gateway.upstreams["sample"])

    asyncio.run(main())


@pytest.mark.requirement("gateway.7.session")
@pytest.mark.parametrize("lost", LOST)
def test_a_lost_session_is_renewed_once_and_the_call_runs_once(lost: str) -> None:
    async def use(client: Any, server: Forgetful, one: Any) -> None:
        assert (await client.call_tool("buy")).value == 1
        before = server.handshakes
        server.known.clear()
        readings = await asyncio.gather(*(client.call_tool("buy") for _ in range(10)))
        assert sorted(each.value for each in readings) == list(range(2, 12))
        assert server.bought == 11
        assert server.handshakes == before + 1
        assert one.status == "ok"

    run(lost, use)


@pytest.mark.requirement("gateway.7.session")
def test_a_server_that_forgets_each_session_fails_calls_until_it_remembers() -> None:
    async def use(client: Any, server: Forgetful, one: Any) -> None:
        server.remembers = False
        server.known.clear()
        assert (await client.call_tool("buy")).is_failure
        assert server.bought == 0
        server.remembers = True
        assert (await client.call_tool("buy")).value == 1

    run("404", use)
