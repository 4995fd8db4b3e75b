"""Which tools get a cursor, and what it leads to."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest

from limits.large_answers import (
    MANY,
    V3,
    V4,
    V5,
    cursor_in,
    each_profile,
    each_way,
    failed,
    joined,
    of,
    read,
    saying,
    walk,
)
from peer import Peer


@pytest.mark.parametrize("hints", [{}, {"read_only": False}, {"idempotent": True}], ids=str)
@each_way
@each_profile
def test_a_tool_that_is_not_read_only_gets_no_cursor(
    profile: str, way: str, hints: dict[str, bool]
) -> None:
    options = {"tool": {"read_only": None, **hints}}
    peer = Peer(saying(list(range(2_000)), list[int], profile=profile, way=way, **options), V4)
    (part,) = walk(peer, profile)
    assert part.is_truncated
    assert part.page == {"total": 2_000, "hasMore": True}
    assert part.warnings[0].endswith("are here; ask for less at a time")


def test_without_a_cursor_argument_and_without_read_more_there_is_no_cursor() -> None:
    def get() -> list[int]:
        return list(range(2_000))

    part = read(Peer(of(get), V4).call("get")["result"], "plain")
    assert part.page == {"total": 2_000, "hasMore": True}


def takes_text(cursor: str) -> list[int]:
    return list(range(2_000))


def takes_null_too(cursor: str | None) -> list[int]:
    return list(range(2_000))


def takes_text_by_default(cursor: str = "") -> list[int]:
    return list(range(2_000))


def takes_a_few_letters(
    cursor: Annotated[str | None, msgspec.Meta(max_length=3)] = None,
) -> list[int]:
    return list(range(2_000))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (takes_text, {"cursor": "a"}),
        (takes_text_by_default, {}),
        (takes_text_by_default, {"cursor": ""}),
        (takes_null_too, {"cursor": None}),
        (takes_null_too, {"cursor": "a"}),
        (takes_a_few_letters, {}),
        (takes_a_few_letters, {"cursor": "abc"}),
    ],
)
def test_every_cursor_argument_that_takes_text_leads_on(
    function: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    parts = list(walk(Peer(of(function), V4), "plain", **arguments))
    assert [item for part in parts for item in part.data] == list(range(2_000))


def takes_a_number(cursor: int = 0) -> list[int]:
    return list(range(2_000))


def test_a_cursor_argument_that_is_no_text_is_the_tools_own_business() -> None:
    peer = Peer(of(takes_a_number, read_more=True), V4)
    part = read(peer.call("get", cursor=5)["result"], "plain")
    assert "call read_more with this cursor" in part.warnings[0]
    parts = list(walk(peer, "plain", way="read_more", cursor=5))
    assert [item for part in parts for item in part.data] == list(range(2_000))


def test_arguments_that_the_tool_does_not_know_may_differ_from_call_to_call() -> None:
    """Some clients add an id of their own to every call."""
    peer = Peer(saying(list(range(2_000)), list[int]), V4)
    cursor = cursor_in(peer.call("get", toolCallId="call-1"))
    part = read(peer.call("get", toolCallId="call-2", cursor=cursor)["result"], "plain")
    assert part.data[0] > 0


def table(name: str, rows: int = 900, cursor: str | None = None) -> dict[str, Any]:
    return {"name": name, "rows": [f"{name} {n}" for n in range(rows)]}


@each_profile
def test_callers_with_different_arguments_are_not_mixed_up(profile: str) -> None:
    server = of(table, profile=profile)
    walks = {
        name: walk(Peer(server, revision), profile, name=name, rows=rows)
        for name, rows, revision in (("a", 900, V4), ("b", 400, V5), ("ccc", 700, V3))
    }
    parts: dict[str, list[Any]] = {name: [] for name in walks}
    while walks:
        for name in list(walks):
            part = next(walks[name], None)
            if part is None:
                del walks[name]
            else:
                parts[name].append(part.data)
    for name, rows in (("a", 900), ("b", 400), ("ccc", 700)):
        assert joined(parts[name], table(name, rows)) == table(name, rows)


def test_calls_that_are_open_at_once_each_get_their_own_rest() -> None:
    peer = Peer(of(table), V4)
    cursors = {name: cursor_in(peer.call("get", name=name)) for name in "abc"}
    for name, cursor in cursors.items():
        arguments = {"name": name, "cursor": cursor}
        params = {"name": "get", "arguments": arguments}
        assert peer.receive(peer.worded("tools/call", params, name)) == []
    for call in reversed(list(peer.open)):
        reply = peer.finish(call)
        data = read(reply["result"], "plain").data
        assert data["name"] == reply["id"]
        assert data["rows"][0] != f"{reply['id']} 0"
        assert {row[0] for row in data["rows"]} == {reply["id"]}


def test_an_answer_that_changed_its_shape_meanwhile_is_a_problem() -> None:
    answers = iter([{"rows": MANY}, {"lines": MANY}])

    def get(cursor: str | None = None) -> Any:
        return next(answers)

    peer = Peer(of(get, profile="envelope"), V4)
    problem = failed(peer.call("get", cursor=cursor_in(peer.call("get"))), "envelope")
    assert problem.message == "The answer has changed since the cursor was made; start again"
    assert problem.code == "CONFLICT"


def test_an_answer_that_is_shorter_by_now_ends() -> None:
    answers = iter([MANY, MANY[:3]])

    def get(cursor: str | None = None) -> list[str]:
        return next(answers)

    peer = Peer(of(get), V4)
    part = read(peer.call("get", cursor=cursor_in(peer.call("get")))["result"], "plain")
    assert (part.data, part.cursor) == ([], None)
