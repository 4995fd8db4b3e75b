"""Who sets the limit."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from accord import (
    ContractError,
    Server,
    render,
)
from cli.command import ACCORD, ENVIRONMENT, accord, assert_one_line_of_misuse, write
from limits.large_answers import (
    LEAST,
    LIMIT,
    ROWS,
    V4,
    each_profile,
    filler,
    joined,
    largest_channel,
    read,
    saying,
    walk,
)
from peer import Peer
from stdio_peer import StdioPeer


def test_the_limit_of_a_tool_beats_that_of_its_server() -> None:
    server = Server("shop", max_bytes=LIMIT)
    for name, limit in (("less", LEAST), ("more", 4 * LIMIT)):
        server.tool(name=name, read_only=True, max_bytes=limit)(partial(filler, 3 * LIMIT))
    server.tool(name="same", read_only=True)(partial(filler, 3 * LIMIT))
    peer = Peer(server, V4)
    sizes = {name: largest_channel(peer.call(name)["result"]) for name in ("less", "same", "more")}
    assert LEAST - 8 < sizes["less"] <= LEAST
    assert LIMIT - 8 < sizes["same"] <= LIMIT
    assert sizes["more"] == 3 * LIMIT


def test_a_server_can_be_given_another_limit() -> None:
    server = saying("x" * 5_000, str)
    server.configure(max_bytes=3 * LIMIT)
    assert largest_channel(Peer(server, V4).call("get")["result"]) == 5_000


TOO_SMALL: dict[str, Callable[[], object]] = {
    "server": lambda: Server("shop", max_bytes=LEAST - 1),
    "tool": lambda: Server("shop").tool(max_bytes=LEAST - 1)(filler),
    "zero": lambda: Server("shop").tool(max_bytes=0)(filler),
    "later": lambda: Server("shop").configure(max_bytes=-1),
    "render": lambda: render([], max_bytes=LEAST - 1),
}


@pytest.mark.parametrize("make", TOO_SMALL.values(), ids=TOO_SMALL)
def test_a_limit_with_no_room_to_say_so_is_our_own_fault(make: Callable[[], object]) -> None:
    with pytest.raises(ContractError, match="max_bytes is at least 1,024"):
        make()


@each_profile
def test_the_least_limit_is_enough_to_lead_on(profile: str) -> None:
    parts = list(
        walk(Peer(saying([7] * 2_000, list[int], profile=profile, limit=LEAST), V4), profile)
    )
    assert [item for part in parts for item in part.data] == [7] * 2_000
    assert max(part.size for part in parts) <= LEAST


@each_profile
def test_without_structure_the_limit_is_the_same(profile: str) -> None:
    peer = Peer(saying(ROWS, profile=profile, structured=False), V4)
    parts = list(walk(peer, profile))
    assert joined([part.data for part in parts], ROWS) == ROWS
    assert not any("structuredContent" in part.result for part in parts)


@each_profile
def test_render_cuts_too_and_has_no_cursor(profile: str) -> None:
    part = read(
        render(ROWS, profile=profile, revision=V4, max_bytes=LIMIT, read_only=True), profile
    )
    assert part.data == ROWS[: len(part.data)]
    assert part.size <= LIMIT
    assert part.page == {"total": 90, "hasMore": True}


SHELVES = """
from accord import Server

server = Server("{name}")

@server.tool(name="{name}", read_only=True)
def get(cursor: str | None = None) -> list[int]:
    return list(range(5_000))
"""


@pytest.mark.parametrize("targets", [["one"], ["one", "two"]], ids=["one target", "two targets"])
def test_the_command_line_sets_the_limit(tmp_path: Path, targets: list[str]) -> None:
    write(tmp_path, one=SHELVES.format(name="one"), two=SHELVES.format(name="two"))
    command = [ACCORD, "serve", *targets, "--max-bytes", str(LIMIT)]
    with StdioPeer(command, cwd=tmp_path, env=ENVIRONMENT) as peer:
        for target in targets:
            reply = peer.modern("tools/call", {"name": target, "arguments": {}})
            assert largest_channel(reply["result"]) <= LIMIT


def test_a_limit_too_small_on_the_command_line_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, one=SHELVES.format(name="one"))
    done = accord("serve", "one", "--max-bytes", "10", cwd=tmp_path)
    assert_one_line_of_misuse(done, "max_bytes is at least 1,024")
