"""Answers that are cut although they are pages themselves."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from accord import (
    Answer,
    Page,
)
from limits.large_answers import V4, each_profile, each_revision, of, read, walk
from peer import Peer

TOTAL = 3_000
PAGE = 1_000


def by_offset(offset: int = 0, limit: int = PAGE) -> Answer[list[int]]:
    items = list(range(TOTAL))[offset : offset + limit]
    end = offset + len(items)
    page = Page(
        offset=offset,
        limit=limit,
        total=TOTAL,
        has_more=end < TOTAL,
        next_offset=end if end < TOTAL else None,
    )
    return Answer(items, page=page)


@each_profile
@pytest.mark.parametrize("options", [{}, {"tool": {"read_only": False}}], ids=["reads", "acts"])
def test_a_cut_page_says_at_which_offset_its_own_tool_goes_on(
    profile: str, options: dict[str, Any]
) -> None:
    peer = Peer(of(by_offset, profile=profile, **options), V4)
    offset: int | None = 0
    items: list[int] = []
    while offset is not None:
        part = read(peer.call("get", offset=offset)["result"], profile)
        assert (part.page["offset"], part.page["total"], part.page["limit"]) == (
            offset,
            TOTAL,
            PAGE,
        )
        items += part.data
        offset = part.page.get("nextOffset")
    assert items == list(range(TOTAL))


@each_profile
def test_a_cut_page_can_be_read_to_its_end_before_the_next_one(profile: str) -> None:
    peer = Peer(of(by_offset, profile=profile, read_more=True), V4)
    parts = list(walk(peer, profile, way="read_more", offset=200))
    assert [item for part in parts for item in part.data] == list(range(200, 1_200))
    for part, behind in pairwise(parts):
        assert part.page["nextOffset"] == behind.page["offset"] == behind.data[0]
    assert parts[-1].page["nextOffset"] == 1_200


def by_cursor(cursor: str | None = None) -> Answer[list[int]]:
    start = 0 if cursor is None else int(cursor)
    end = min(start + PAGE, TOTAL)
    page = Page(has_more=end < TOTAL, cursor=str(end) if end < TOTAL else None)
    return Answer(list(range(start, end)), page=page)


@each_profile
@each_revision
def test_a_tool_with_a_cursor_of_its_own_gives_everything_once(profile: str, revision: str) -> None:
    parts = list(walk(Peer(of(by_cursor, profile=profile), revision), profile))
    assert [item for part in parts for item in part.data] == list(range(TOTAL))
    own = [part.cursor for part in parts if not part.is_truncated]
    assert own == ["1000", "2000", None]
    assert len(parts) > 3
    assert all(part.page["hasMore"] for part in parts[:-1])


def test_where_the_tool_alone_knows_its_place_no_offset_is_made_up() -> None:
    parts = list(walk(Peer(of(by_cursor), V4), "plain"))
    for part in parts:
        assert part.page.get("offset", part.data[0]) == part.data[0]


def by_key(after: str | None = None) -> Answer[list[int]]:
    start = 0 if after is None else int(after) + 1
    end = min(start + PAGE, TOTAL)
    page = Page(has_more=end < TOTAL, after=str(end - 1) if end < TOTAL else None)
    return Answer(list(range(start, end)), page=page)


@each_profile
def test_a_way_on_that_would_leave_out_what_was_cut_is_not_given(profile: str) -> None:
    peer = Peer(of(by_key, profile=profile, read_more=True), V4)
    items: list[int] = []
    arguments: dict[str, Any] | None = {}
    while arguments is not None:
        parts = list(walk(peer, profile, way="read_more", **arguments))
        assert [part.page.get("after") for part in parts[:-1]] == [None] * (len(parts) - 1)
        items += [item for part in parts for item in part.data]
        after = parts[-1].page.get("after")
        arguments = None if after is None else {"after": after}
    assert items == list(range(TOTAL))


@pytest.mark.parametrize(
    ("function", "members"),
    [(by_offset, {"nextOffset"}), (by_cursor, set()), (by_key, set())],
    ids=["offset", "cursor", "after"],
)
def test_without_a_cursor_of_ours_a_cut_page_keeps_no_way_that_skips(
    function: Callable[..., Any], members: set[str]
) -> None:
    part = read(Peer(of(function, tool={"read_only": False}), V4).call("get")["result"], "plain")
    assert part.is_truncated
    assert part.page.keys() & {"cursor", "after", "nextOffset"} == members
