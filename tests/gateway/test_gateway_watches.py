"""Resources of upstreams that clients watch, and are released afterwards (behaviour 14)."""

import asyncio
import gc
import os
import signal
from typing import Any

import pytest

from accord import Server
from accord.gateway import upstreams
from accord.gateway.upstreams import Upstream
from accord.model.changes import Updated
from gateway.gateways import SAMPLE, client_of, gateway_of, until

OLD, NEW = "2025-11-25", "2026-07-28"
LAMP = "room://lamp"

pytestmark = pytest.mark.requirement("gateway.14.watched")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstreams, "RELEASE_SECONDS", 0.05)


def updates_of(one: Upstream) -> list[str]:
    """Return the list in which the updates of an upstream will be."""
    found: list[str] = []
    forward = one.on_update

    def note(uri: str) -> None:
        found.append(uri)
        forward(uri)

    one.on_update = note
    return found


async def touched(client: Any, told: Any, prefix: str = "") -> None:
    """Touch the lamp, and wait until the client is told."""
    await client.call_tool(f"{prefix}touch")
    async with asyncio.timeout(10):
        assert await anext(told) == Updated(f"room://{prefix}lamp")


async def released(one: Upstream) -> None:
    def is_released() -> bool:
        gc.collect()
        return LAMP not in one._watches

    await until(is_released)


@pytest.mark.parametrize("behind", [OLD, NEW])
@pytest.mark.parametrize("revision", [OLD, NEW])
def test_a_resource_is_watched_while_a_client_watches_it(revision: str, behind: str) -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE, revision=behind)
        one = gateway.upstreams["sample"]
        updates = updates_of(one)
        async with (
            client_of(gateway.server, revision) as ada,
            client_of(gateway.server, revision) as bob,
        ):
            async with bob.subscribe(LAMP) as bobs:
                async with ada.subscribe(LAMP) as told:
                    await touched(ada, told)
                await touched(bob, bobs)
                await asyncio.sleep(0.2)  # several looks: one of the two still watches it
                assert LAMP in one._watches
                await touched(bob, bobs)
            await released(one)
            updates.clear()
            await ada.call_tool("touch")
            await ada.call_tool("add", {"a": 1, "b": 2})  # a notification would be here by now
            assert updates == []
            async with ada.subscribe(LAMP) as told:
                await touched(ada, told)
            await released(one)

    asyncio.run(main())


@pytest.mark.parametrize("behind", [OLD, NEW])
@pytest.mark.parametrize("revision", [OLD, NEW])
def test_what_a_client_that_is_gone_has_watched_is_released(revision: str, behind: str) -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE, revision=behind)
        one = gateway.upstreams["sample"]
        async with client_of(gateway.server, revision) as ada:
            async with client_of(gateway.server, revision) as bob:
                watching = bob.subscribe(LAMP)
                told = await watching.__aenter__()
                await touched(bob, told)
            del watching, told, bob
            await released(one)
            assert (await ada.call_tool("add", {"a": 1, "b": 2})).value == 3

    asyncio.run(main())


@pytest.mark.parametrize("behind", [OLD, NEW])
@pytest.mark.parametrize("ending", ["killed", "replaced"])
def test_a_new_process_reports_changes_too(behind: str, ending: str) -> None:
    async def main() -> None:
        lifetime = 0.5 if ending == "replaced" else None
        gateway = gateway_of(SAMPLE, revision=behind, lifetime=lifetime)
        async with client_of(gateway.server, NEW) as client, client.subscribe(LAMP) as told:
            pid = (await client.call_tool("pid")).value
            if ending == "killed":
                os.kill(pid, signal.SIGKILL)
                await until(lambda: gateway.upstreams["sample"].status == "unavailable")
            async with asyncio.timeout(20):
                while (await client.call_tool("pid")).value == pid:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            waiting = asyncio.ensure_future(anext(told))
            async with asyncio.timeout(10):
                while not waiting.done():
                    await client.call_tool("touch")
                    await asyncio.sleep(0.05)
            assert waiting.result() == Updated(LAMP)

    asyncio.run(main())


def test_a_resource_that_is_included_under_another_uri_is_watched() -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE)
        whole = Server("whole")
        whole.include(gateway.server, prefix="s_")
        one = gateway.upstreams["sample"]
        async with client_of(whole, NEW) as client:
            async with client.subscribe("room://s_lamp") as told:
                await touched(client, told, "s_")
                await asyncio.sleep(0.2)
                assert LAMP in one._watches
            await released(one)

    asyncio.run(main())
