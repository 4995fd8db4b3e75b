"""The tool that gets the rest where a tool has no cursor."""

from typing import Any

import pytest

from accord import (
    ContractError,
    Server,
)
from accord.server import combine
from limits.large_answers import (
    LEAST,
    LIMIT,
    MANY,
    V4,
    cursor_in,
    each_profile,
    each_revision,
    failed,
    largest_channel,
    of,
    read,
    saying,
    walk,
)
from peer import Peer


def tool_names(server: Server, revision: str = V4) -> list[str]:
    return [tool["name"] for tool in Peer(server, revision).ask("tools/list")["result"]["tools"]]


@each_revision
def test_read_more_is_listed_only_where_it_is_enabled(revision: str) -> None:
    assert tool_names(saying([]), revision) == ["get"]
    assert sorted(tool_names(saying([], way="read_more"), revision)) == ["get", "read_more"]
    error = Peer(saying([]), revision).call("read_more", cursor="x")["error"]
    assert (error["code"], error["message"]) == (-32602, "Unknown tool: read_more")


def test_read_more_says_what_it_takes() -> None:
    tools = Peer(saying([], way="read_more"), V4).ask("tools/list")["result"]["tools"]
    (entry,) = [tool for tool in tools if tool["name"] == "read_more"]
    assert entry["inputSchema"]["required"] == ["cursor"]
    assert entry["inputSchema"]["properties"]["cursor"]["type"] == "string"
    assert entry["annotations"] == {"readOnlyHint": True}


@each_profile
@each_revision
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_read_more_gets_the_rest_of_any_tool(profile: str, revision: str, is_async: bool) -> None:
    def get(start: int) -> list[int]:
        return list(range(start, 2_000))

    async def get_later(start: int) -> list[int]:
        return list(range(start, 2_000))

    server = of(get_later if is_async else get, profile=profile, read_more=True)
    parts = list(walk(Peer(server, revision), profile, way="read_more", start=100))
    assert [item for part in parts for item in part.data] == list(range(100, 2_000))
    assert max(part.size for part in parts) <= LIMIT


def test_read_more_has_the_wording_and_the_limit_of_the_tool_it_continues() -> None:
    server = saying(MANY, list[str], way="read_more", tool={"profile": "envelope", "max_bytes": LEAST})  # fmt: skip
    peer = Peer(server, V4)
    more = peer.call("read_more", cursor=cursor_in(peer.call("get")))["result"]
    assert read(more, "envelope").data
    assert largest_channel(more) <= LEAST


@each_profile
@each_revision
@pytest.mark.parametrize("arguments", [{}, {"cursor": 7}, {"cursor": None}], ids=str)
def test_read_more_without_a_cursor_is_a_validation_problem(
    profile: str, revision: str, arguments: dict[str, Any]
) -> None:
    reply = Peer(saying([], way="read_more", profile=profile), revision).call(
        "read_more", **arguments
    )
    if "error" in reply:
        assert reply["error"]["code"] == -32602
        (fault,) = reply["error"]["data"]["validation_errors"]
        assert fault["field"] == "cursor"
    else:
        assert "read_more takes a cursor" in failed(reply, profile).message


def test_arguments_too_long_for_a_cursor_get_none() -> None:
    def get(names: list[str]) -> list[str]:
        return names * 5

    peer = Peer(of(get, read_more=True, limit=4 * LIMIT), V4)
    assert "cursor" in read(peer.call("get", names=["n"] * 700)["result"], "plain").page
    part = read(peer.call("get", names=["n"] * 1_100)["result"], "plain")
    assert part.cursor is None
    assert part.warnings[0].endswith("ask for less at a time")


def test_a_cursor_that_is_too_long_itself_does_not_stop_a_cut() -> None:
    def get(names: list[str]) -> list[str]:
        return names * 5

    part = read(Peer(of(get, read_more=True), V4).call("get", names=["n"] * 700)["result"], "plain")
    assert part.is_truncated


def test_a_tool_of_that_name_and_the_built_in_one_are_too_many() -> None:
    server = Server("shop", read_more=True)
    with pytest.raises(ContractError, match="two tools named 'read_more'"):
        server.tool(name="read_more")(lambda: 1)
    own = Server("shop")
    own.tool(name="read_more")(lambda: 1)
    assert Peer(own, V4).call("read_more")["result"]["content"] == [{"type": "text", "text": "1"}]


def test_a_combined_server_continues_the_answers_of_each() -> None:
    def other() -> list[str]:
        return [f"other {n}" for n in range(1_000)]

    first = saying(MANY, list[str], way="read_more")
    second = Server("other", max_bytes=LEAST, read_more=True)
    second.tool(read_only=True)(other)
    server = combine({"first": first, "second": second})
    assert sorted(tool_names(server)) == ["get", "other", "read_more"]
    peer = Peer(server, V4)
    assert [i for part in walk(peer, "plain", way="read_more") for i in part.data] == MANY
    cut = peer.call("other")
    assert largest_channel(cut["result"]) <= LEAST
    more = read(peer.call("read_more", cursor=cursor_in(cut))["result"], "plain")
    assert more.data[0].startswith("other ")
