"""Arguments that a server of the stateless era wants to see in headers."""

from typing import Any

import pytest

from accord.client.peer import Peer
from client.connections import text
from peers.scripted_server import Answer, Request, ScriptedServer, stateless, with_peer


def mirroring(schema: Any) -> Answer:
    """A server that wants the argument `region` as a header."""

    async def answer(request: Request) -> None:
        if request.rpc == "tools/list":
            tools = [{"name": "query", "inputSchema": schema}, {"name": "plain", "inputSchema": {}}]
            await request.result({"tools": tools})
        elif request.rpc == "tools/call" and "mcp-param-region" not in request.headers:
            await request.error(400, -32020)
        else:
            await stateless(request)

    return answer


REGION = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
WRONG = {"properties": {"region": {"type": "number", "x-mcp-header": "Region"}}}


def test_arguments_are_repeated_as_headers_once_the_tools_are_known() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> list[str | None]:
        await peer.tools()
        assert text(await peer.call("query", {"region": "eu"})) == "well"
        return [each.headers.get("mcp-param-region") for each in server.asked("tools/call")]

    assert with_peer(mirroring(REGION), say) == ["eu"]


def test_a_call_that_lacks_them_is_made_again_with_them() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> list[str | None]:
        assert text(await peer.call("query", {"region": "eu"})) == "well"
        return [each.headers.get("mcp-param-region") for each in server.asked("tools/call")]

    assert with_peer(mirroring(REGION), say) == [None, "eu"]


def test_a_call_of_a_tool_that_wants_none_is_not_made_again() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> tuple[int, int]:
        reply = await peer.call("plain", {"region": "eu"})
        return reply.error["code"], len(server.asked("tools/call"))

    assert with_peer(mirroring(REGION), say) == (-32020, 1)


def test_a_tool_that_asks_for_impossible_headers_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def say(peer: Peer, server: ScriptedServer) -> list[str]:
        return [tool["name"] for tool in await peer.tools()]

    assert with_peer(mirroring(WRONG), say) == ["plain"]
    assert "tool 'query' is left out" in caplog.text
