"""Our own server, over both transports, in both eras and every revision."""

from collections.abc import Iterator

import pytest

from accord.client.peer import connect
from client.connections import ACCORD, REVISIONS, SHOP, checked, run, serving_shop, text

NEWEST = REVISIONS[-1]
COMMAND = [ACCORD, "serve", SHOP]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving_shop() as server:
        yield server.url
    assert "Traceback" not in server.stderr


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> str | list[str]:
    return COMMAND if request.param == "stdio" else str(request.getfixturevalue("url"))


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_revision_is_spoken(target: str | list[str], revision: str) -> None:
    async def main() -> None:
        async with connect(target, revision=revision) as peer:
            assert peer.revision == revision
            assert peer.server == {"name": "shop", "version": "1.0"}
            assert peer.capabilities == {"tools": {}}
            assert peer.instructions is None
            assert [tool["name"] for tool in await peer.tools()] == ["add", "orders"]
            reply = checked(await peer.call("add", {"a": 2, "b": 3}), peer, "tools/call")
            assert text(reply) == "5"
            assert reply.error is None

    run(main())


@pytest.mark.parametrize(
    ("era", "revision"),
    [("auto", NEWEST), ("stateless", NEWEST), ("handshake", "2025-11-25")],
)
def test_every_era_finds_its_newest_revision(
    target: str | list[str], era: str, revision: str
) -> None:
    async def main() -> None:
        async with connect(target, era=era) as peer:  # type: ignore[arg-type]
            assert peer.revision == revision

    run(main())


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
def test_failures_are_replies_like_others(target: str | list[str], revision: str) -> None:
    async def main() -> None:
        async with connect(target, revision=revision) as peer:
            failed = checked(await peer.call("orders", {"customer": "zoe"}), peer, "tools/call")
            assert failed.result["isError"] is True
            unknown = checked(await peer.call("subtract"), peer, "tools/call")
            assert (unknown.result, unknown.error["code"]) == (None, -32602)
            missing = checked(await peer.request("resources/list"), peer, "resources/list")
            assert missing.error["code"] == -32601

    run(main())


def test_a_command_line_may_be_one_string() -> None:
    async def main() -> None:
        async with connect(f"'{ACCORD}' serve {SHOP}") as peer:
            assert text(await peer.call("add", {"a": 2, "b": 3})) == "5"

    run(main())


def test_everything_that_was_said_is_kept(target: str | list[str]) -> None:
    async def main() -> None:
        async with connect(target, era="handshake") as peer:
            reply = await peer.call("add", {"a": 2, "b": 3})
            sent = [each for each in peer.messages if each.direction == "sent"]
            received = [each for each in peer.messages if each.direction == "received"]
            methods = [b'"initialize"', b'"notifications/initialized"', b'"tools/call"']
            for message, method in zip(sent, methods, strict=True):
                assert method in message.raw
            assert received[-1].raw == reply.raw
            times = [each.time for each in peer.messages]
            assert times == sorted(times)

    run(main())
