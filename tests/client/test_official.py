"""Servers made with the official SDK: over stdio, and over HTTP with and without sessions."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accord.client.peer import Peer, connect
from client.connections import UNWATCHED, run, text
from commands import PEERS
from http_peer import HttpServer

pytestmark = pytest.mark.slow

SCRIPT = str(PEERS / "sdk_server.py")
ERAS: dict[Any, str] = {"auto": "2026-07-28", "handshake": "2025-11-25"}


def command(mode: str) -> list[str]:
    return [sys.executable, SCRIPT, mode]


@pytest.fixture(scope="module", params=["stdio", "stateful", "stateless", "resumable"])
def target(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "stdio":
        yield {"target": command("stdio"), "env": UNWATCHED}
        return
    with HttpServer(command(request.param), env=UNWATCHED, timeout=20) as server:
        yield {"target": server.url}


@pytest.mark.parametrize("era", ERAS)
def test_it_is_met_in_either_era(target: dict[str, Any], era: Any) -> None:
    async def main() -> None:
        async with connect(**target, era=era) as peer:
            assert peer.revision == ERAS[era]
            assert peer.server["name"] == "official"
            assert peer.instructions == "Ask for owls."
            assert "add" in [tool["name"] for tool in await peer.tools()]
            assert text(await peer.call("add", {"a": 2, "b": 3})) == "5"
            failed = await peer.call("fail")
            assert failed.result["isError"] is True
            assert (await peer.call("unknown")).message.keys() & {"error", "result"}

    run(main())


@pytest.mark.parametrize("era", ERAS)
def test_notifications_come_before_the_answer(
    target: dict[str, Any], era: Any, request: pytest.FixtureRequest
) -> None:
    heard: list[dict[str, Any]] = []

    async def main() -> list[dict[str, Any]]:
        async with connect(**target, era=era, on_notification=heard.append) as peer:
            params = {"name": "tell", "arguments": {}, "_meta": {"progressToken": "t"}}
            assert text(await peer.request("tools/call", params)) == "done"
            return list(peer.notifications)

    kept = run(main())
    is_plain = "stateless" in request.node.name  # plain JSON has no room for notifications
    assert [note["params"]["message"] for note in kept] == ([] if is_plain else ["half"])
    assert heard == kept


def test_a_stream_that_breaks_off_is_resumed() -> None:
    async def say(peer: Peer) -> None:
        assert text(await peer.call("break_off")) == "resumed"

    async def main(url: str) -> None:
        async with connect(url, era="handshake", timeout=10) as peer:
            await say(peer)

    with HttpServer(command("resumable"), env=UNWATCHED, timeout=20) as server:
        run(main(server.url))
