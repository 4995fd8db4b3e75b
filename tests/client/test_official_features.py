"""`Client` with a server made with the official SDK, over stdio and HTTP, in both eras."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accord import Client, Elicited, ElicitRequest, MCPError, PeerError
from accord.client import ListChanged, TimedOut, Updated
from client.connections import UNWATCHED, run
from commands import PEERS
from http_peer import HttpServer

pytestmark = pytest.mark.slow

ERAS: dict[Any, str] = {"stateless": "2026-07-28", "handshake": "2025-11-25"}


def command(mode: str) -> list[str]:
    return [sys.executable, str(PEERS / "sdk_server.py"), mode]


@pytest.fixture(scope="module", params=["stdio", "stateful"])
def target(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "stdio":
        yield {"target": command("stdio"), "env": UNWATCHED}
        return
    with HttpServer(command(request.param), env=UNWATCHED, timeout=20) as server:
        yield {"target": server.url}


@pytest.mark.parametrize("era", ERAS)
def test_every_feature_works(target: dict[str, Any], era: Any) -> None:
    asked: list[ElicitRequest] = []

    def elicit(request: ElicitRequest) -> dict[str, Any] | Elicited[Any]:
        asked.append(request)
        return {"name": "Ada"} if len(asked) == 1 else Elicited("decline")

    async def main() -> None:
        async with Client(**target, era=era, on_elicit=elicit, timeout=20) as client:
            assert client.revision == ERAS[era]
            assert client.server_info["name"] == "official"
            assert client.instructions == "Ask for owls."
            await client.ping()
            assert "ask" in [tool.name for tool in await client.list_tools()]
            assert (await client.call_tool("add", {"a": 2, "b": 3})).value == 5
            assert (await client.call_tool("fail")).is_failure
            seen: list[Any] = []
            await client.call_tool("tell", on_progress=lambda *p: seen.append(p))
            assert seen == [(1, 2, "half")]
            assert (await client.call_tool("ask")).value == "Ada"
            assert (await client.call_tool("ask")).value == "decline"
            assert [each.message for each in asked] == ["Your name?"] * 2
            assert [prompt.name for prompt in await client.list_prompts()] == ["praise"]
            praise = await client.get_prompt("praise", {"name": "Ada"})
            assert [message.content for message in praise.messages] == ["Praise Ada"]
            assert [each.uri for each in await client.list_resources()] == ["owl://menu"]
            templates = await client.list_resource_templates()
            assert [each.uri_template for each in templates] == ["owl://owls/{name}"]
            assert (await client.read_resource("owl://owls/ada"))[0].content == "owl ada"
            with pytest.raises(MCPError):
                await client.read_resource("owl://nothing")
            found = await client.complete("praise", "name", "a")
            assert (found.values, found.total, found.has_more) == (["ada", "alan"], 2, False)

    run(main())


@pytest.mark.parametrize("era", ERAS)
def test_a_call_can_time_out_and_be_cancelled(target: dict[str, Any], era: Any) -> None:
    async def main() -> None:
        async with Client(**target, era=era, timeout=20) as client:
            with pytest.raises(TimedOut):
                await client.call_tool("wait", timeout=0.2)
            call = asyncio.create_task(client.call_tool("wait"))
            await asyncio.sleep(0.1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await client.call_tool("add", {"a": 2, "b": 3})).value == 5

    run(main())


@pytest.mark.parametrize("era", ERAS)
def test_changes_are_reported(target: dict[str, Any], era: Any) -> None:
    async def main() -> None:
        async with Client(**target, era=era, timeout=20) as client:
            uris = ["owl://menu"] if era == "stateless" else []  # it takes no resources/subscribe
            async with client.subscribe(*uris, lists=["tools"]) as changes:
                await client.call_tool("rewrite")
                async with asyncio.timeout(10):
                    found = {await anext(changes) for _ in range(len(uris) + 1)}
                assert found == {ListChanged("tools"), *map(Updated, uris)}

    run(main())


def test_http_with_sse_is_refused_in_one_sentence() -> None:
    async def main(url: str) -> None:
        async with Client(url, timeout=10):
            pass

    sentence = (
        r"^http://127.0.0.1:\d+/sse speaks HTTP\+SSE, the transport of MCP 2024-11-05, which is not "
        r"supported; connect to the URL of its Streamable HTTP endpoint, often /mcp$"
    )
    with HttpServer(command("sse"), env=UNWATCHED, timeout=20) as server:
        for _ in range(2):
            with pytest.raises(PeerError, match=sentence):
                run(main(server.url))
