"""`read_all`: every item once, in whatever dialect the pages are; and no way round in circles."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import PeerError, read, read_all
from accord.client.peer import connect
from accord.pages import following
from commands import ACCORD, SAMPLES
from http_peer import HttpServer
from samples.features import ITEMS

PAGES = f"{SAMPLES / 'features.py'}:pages"
BACKWARDS = ITEMS[::-1]

Replies = Callable[[str, dict[str, Any]], Awaitable[Any]]


def collect(call: Replies, tool: str = "list_things", *args: Any, **options: Any) -> list[Any]:
    """All items there are."""

    async def main() -> list[Any]:
        return [item async for item in read_all(call, tool, *args, **options)]

    return asyncio.run(main())


def replying(*replies: Any) -> tuple[Replies, list[dict[str, Any]]]:
    """A tool that gives these replies, one after another; and what it was asked."""
    asked: list[dict[str, Any]] = []

    async def call(tool: str, arguments: dict[str, Any]) -> Any:
        asked.append(arguments)
        return replies[len(asked) - 1]

    return call, asked


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# Real servers, over both transports

DIALECTS: dict[str, tuple[dict[str, Any], list[dict[str, str]]]] = {
    "list_by_offset": ({}, ITEMS),
    "list_channels": ({"limit": 4}, ITEMS),
    "list_by_skip": ({}, ITEMS),
    "list_by_cursor": ({}, ITEMS),
    "list_by_token": ({"max_results": 7}, ITEMS),
    "list_by_graph": ({"first": 6}, ITEMS),
    "list_by_number": ({"per_page": 5}, ITEMS),
    "list_issues": ({"perPage": 5}, ITEMS),
    "read_channel": ({"channel": "7"}, BACKWARDS),
    "list_charges": ({}, ITEMS),
    "customers_list": ({}, ITEMS),
    "orders_list": ({"limit": 8}, ITEMS),
    "list_sealed": ({}, ITEMS),
    "list_whole": ({}, ITEMS),
    "list_anything": ({}, ITEMS),
}
NEEDS_SCHEMA = {"list_by_skip", "list_issues", "list_charges", "customers_list"}
"""Nothing that these say names the argument that leads on."""
OWN = ["list_issues", "list_sealed", "list_whole", "list_anything"]
PROFILES = {
    "plain": list(DIALECTS),
    "bare": list(DIALECTS),
    "prose": list(DIALECTS),
    "envelope": OWN,  # where an object is one object, whatever is in it
    "generic": OWN,
}
CASES = [(profile, tool) for profile, tools in PROFILES.items() for tool in tools]

Found = dict[tuple[str, bool], list[Any]]


async def follow_all(target: str | list[str]) -> Found:
    """Return the items of every tool, with its schema and without."""
    found: Found = {}
    async with connect(target) as peer:
        schemas = {tool["name"]: tool["inputSchema"] for tool in await peer.tools()}
        for tool, (arguments, _) in DIALECTS.items():
            for known in (schemas[tool], None):
                if known is None and tool in NEEDS_SCHEMA:
                    continue
                pages = read_all(peer.call, tool, arguments, schema=known)
                found[tool, known is not None] = [item async for item in pages]
    return found


@pytest.fixture(scope="module")
def over_stdio() -> dict[str, Found]:
    async def main() -> dict[str, Found]:
        commands = {name: [ACCORD, "serve", PAGES, "--profile", name] for name in PROFILES}
        found = await asyncio.gather(*map(follow_all, commands.values()))
        return dict(zip(commands, found, strict=True))

    return asyncio.run(main())


@pytest.fixture(scope="module")
def over_http() -> Iterator[Found]:
    with HttpServer([ACCORD, "serve", PAGES, "--http", "127.0.0.1:0"]) as server:
        yield asyncio.run(follow_all(server.url))


@pytest.mark.parametrize(("profile", "tool"), CASES)
def test_every_dialect_is_followed_to_its_end_over_stdio(
    over_stdio: dict[str, Found], profile: str, tool: str
) -> None:
    found = over_stdio[profile]
    assert found[tool, True] == DIALECTS[tool][1]
    if tool not in NEEDS_SCHEMA:
        assert found[tool, False] == DIALECTS[tool][1]


@pytest.mark.parametrize("tool", DIALECTS)
def test_every_dialect_is_followed_to_its_end_over_http(over_http: Found, tool: str) -> None:
    assert over_http[tool, True] == DIALECTS[tool][1]


# Which argument leads on

ONE, TWO, THREE = ({"id": n} for n in (1, 2, 3))
LEADS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    # what the first page says beside its items; arguments; schema; arguments of the second page
    "a cursor by its usual name": ({"nextCursor": "c"}, {}, None, {"cursor": "c"}),
    "a token in snake case": ({"next_page_token": "c"}, {}, None, {"page_token": "c"}),
    "a token in camel case": ({"nextPageToken": "c"}, {}, None, {"pageToken": "c"}),
    "a token of one word": ({"next_token": "c"}, {}, None, {"next_token": "c"}),
    "a cursor in a member of its own": (
        {"response_metadata": {"next_cursor": "c"}},
        {"channel": "x"},
        None,
        {"channel": "x", "cursor": "c"},
    ),
    "a cursor that is a number": ({"nextCursor": 5}, {"cursor": 0}, None, {"cursor": 5}),
    "digits for a number": (
        {"next_page": "2"},
        {},
        schema(page={"type": "integer"}),
        {"page": 2},
    ),
    "a number for a word": (
        {"nextOffset": 1, "hasMore": True},
        {},
        schema(offset={"type": "string"}),
        {"offset": "1"},
    ),
    "a cursor for another name": (
        {"nextCursor": "c"},
        {},
        schema(pageToken={"type": "string"}),
        {"pageToken": "c"},
    ),
    "a cursor inside": (
        {"nextCursor": "c"},
        {"q": "x"},
        schema(q={}, paging={"type": "object", "properties": {"cursor": {"type": "string"}}}),
        {"q": "x", "paging": {"cursor": "c"}},
    ),
    "the next page's number": ({"nextPage": 2}, {}, None, {"page": 2}),
    "this page's number": ({"page": 4, "hasMore": True}, {"page": 4}, None, {"page": 5}),
    "a number that begins at nought": (
        {"hasMore": True},
        {},
        schema(page={"type": "integer", "minimum": 0}),
        {"page": 1},
    ),
    "nothing but that there is more": ({"hasMore": True}, {}, None, {"offset": 1}),
    "an offset that is given": ({"hasMore": True}, {"skip": 7}, None, {"skip": 8}),
    "a link with a cursor": (
        {"next": "https://x.example/items?cursor=c&per_page=1", "previous": None},
        {"per_page": 1},
        None,
        {"per_page": 1, "cursor": "c"},
    ),
    "a link into a query that is given": (
        {"next": "?page=2", "previous": None},
        {"query": {"search": "x"}},
        None,
        {"query": {"search": "x", "page": 2}},
    ),
    "an id before which there is more": (
        {"oldestId": "1", "newestId": "1", "hasMore": True},
        {},
        None,
        {"before": "1"},
    ),
    "an id after which there is more": (
        {"oldestId": "1", "newestId": "1", "hasMore": True},
        {"after": "0"},
        None,
        {"after": "1"},
    ),
    "what looks like a cursor and is a date": (
        {"hasMore": True},
        {"before": "2024-01-01"},
        schema(before={"type": "string", "format": "date"}, offset={"type": "integer"}),
        {"before": "2024-01-01", "offset": 1},
    ),
    "what looks like an offset and is a person": (
        {"hasMore": True},
        {},
        schema(**{"from": {"type": "string"}, "page": {"type": "integer"}}),
        {"page": 2},
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_the_argument_that_leads_on_is_found(name: str) -> None:
    beside, arguments, known, expected = LEADS[name]
    call, asked = replying({"items": [ONE], **beside}, {"items": [TWO], "hasMore": False})
    assert collect(call, "list_things", arguments, schema=known) == [ONE, TWO]
    assert asked == [arguments, expected]


ENDS: dict[str, tuple[Any, dict[str, Any], dict[str, Any] | None]] = {
    "no page at all": ({"items": [ONE]}, {}, None),
    "no more": ({"items": [ONE], "hasMore": False, "nextCursor": "c"}, {}, None),
    "a null cursor": ({"items": [ONE], "nextCursor": None}, {}, None),
    "fewer than asked for": ([ONE], {"page": 1, "limit": 2}, None),
    "a total that no argument leads to": ({"items": [ONE], "total": 9}, {}, schema(q={})),
    "a list that is empty": ({"items": [], "total": 9}, {"offset": 9}, None),
}


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_where_nothing_says_that_there_is_more(name: str) -> None:
    reply, arguments, known = ENDS[name]
    call, asked = replying(reply)
    assert collect(call, "list_things", arguments, schema=known) == (
        reply if isinstance(reply, list) else reply["items"]
    )
    assert len(asked) == 1


def test_a_full_page_is_followed_until_one_is_not() -> None:
    call, asked = replying([ONE, TWO], [THREE])
    assert collect(call, "list_things", {"page": 1, "per_page": 2}) == [ONE, TWO, THREE]
    assert asked[1] == {"page": 2, "per_page": 2}


def test_an_empty_page_with_a_new_cursor_is_passed_over() -> None:
    call, _ = replying(
        {"items": [ONE], "nextCursor": "a"},
        {"items": [], "nextCursor": "b"},
        {"items": [TWO], "nextCursor": None},
    )
    assert collect(call) == [ONE, TWO]


def test_what_is_no_list_is_one_item() -> None:
    call, _ = replying({"content": [{"type": "text", "text": "sunny"}]})
    assert collect(call, "get_weather") == ["sunny"]


def test_what_was_done_is_not_done_again() -> None:
    call, asked = replying({"success": True, "message": "Sent", "hasMore": True, "nextCursor": "c"})
    assert len(collect(call, "send_message")) == 1
    assert len(asked) == 1


def test_the_arguments_of_the_caller_stay_as_they_are() -> None:
    given: dict[str, Any] = {"query": {"search": "x"}}
    call, _ = replying({"items": [ONE], "next": "?page=2"}, {"items": [TWO], "next": None})
    collect(call, "list_things", given)
    assert given == {"query": {"search": "x"}}


def test_every_kind_of_reply_is_taken() -> None:
    text = '{"items": [{"id": 1}], "nextCursor": "c"}'
    whole = b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "[2]"}]}}'
    call, asked = replying({"content": [{"type": "text", "text": text}]}, whole)
    assert collect(call) == [ONE, 2]
    assert asked[1] == {"cursor": "c"}


# Guards

MORE = {"hasMore": True}


@pytest.mark.parametrize(
    ("replies", "reason", "got"),
    [
        (
            [{"items": [ONE], "nextCursor": "c"}, {"items": [TWO], "nextCursor": "c"}],
            "the pages of list_things repeat: the same call was requested before",
            [ONE, TWO],
        ),
        (
            [
                {"items": [ONE], "nextCursor": "a"},
                {"items": [TWO], "nextCursor": "b"},
                {"items": [ONE], "nextCursor": "a"},
            ],
            "the pages of list_things repeat: cursor 'a' was requested before",
            [ONE, TWO, ONE],
        ),
        (
            [{"items": [ONE], "nextCursor": "a"}, {"items": [ONE], "nextCursor": "b"}],
            "the pages of list_things repeat: page 2 equals page 1",
            [ONE],
        ),
        (
            [{"items": [ONE], **MORE}, {"items": [ONE], **MORE}],
            "the pages of list_things repeat: page 2 equals page 1",
            [ONE],
        ),
        (
            [{"items": [ONE], "nextOffset": 1}, {"items": [TWO], "nextOffset": 1}],
            "the pages of list_things repeat: the same call was requested before",
            [ONE, TWO],
        ),
        (
            [
                {"items": [ONE], "nextCursor": "c"},
                {"content": [{"type": "text", "text": "The shop is closed"}], "isError": True},
            ],
            "page 2 of list_things failed: The shop is closed",
            [ONE],
        ),
        (
            [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool"}}],
            "page 1 of list_things failed: Unknown tool",
            [],
        ),
    ],
    ids=[
        "a cursor that leads to itself",
        "a cursor from before",
        "a page that comes again",
        "a tool that ignores its offset",
        "an offset that comes again",
        "a page that fails",
        "an error of the protocol",
    ],
)
def test_a_circle_or_a_failure_ends_with_an_error_that_says_so(
    replies: list[Any], reason: str, got: list[Any]
) -> None:
    call, _ = replying(*replies)
    items: list[Any] = []

    async def main() -> None:
        async for item in read_all(call, "list_things"):
            items.append(item)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(PeerError) as raised:
        asyncio.run(main())
    assert str(raised.value) == reason
    assert items == got


def test_more_without_a_way_to_it_is_an_error() -> None:
    call, _ = replying({"items": [ONE], **MORE})
    with pytest.raises(PeerError, match="reports more items, but not how to request them"):
        collect(call, "list_things", schema=schema(q={"type": "string"}))


def endless() -> tuple[Replies, list[Mapping[str, Any]]]:
    asked: list[Mapping[str, Any]] = []

    async def call(tool: str, arguments: dict[str, Any]) -> Any:
        asked.append(arguments)
        return {"items": [{"id": len(asked)}, {"id": -len(asked)}], "nextCursor": str(len(asked))}

    return call, asked


@pytest.mark.parametrize(("most", "calls"), [(0, 0), (1, 1), (2, 1), (3, 2), (5, 3)])
def test_it_ends_quietly_after_as_many_items_as_were_asked_for(most: int, calls: int) -> None:
    call, asked = endless()
    assert len(collect(call, max_items=most)) == most
    assert len(asked) == calls


def test_more_pages_than_allowed_are_an_error() -> None:
    call, asked = endless()
    with pytest.raises(PeerError, match="list_things has more than 3 pages"):
        collect(call, max_pages=3)
    assert len(asked) == 3


def test_pages_are_fetched_only_as_they_are_needed() -> None:
    call, asked = endless()

    async def main() -> None:
        async for item in read_all(call, "list_things"):
            if item["id"] == 2:
                return

    asyncio.run(main())
    assert len(asked) == 2


NAMES = st.sampled_from(
    """items total hasMore next nextCursor next_page page offset limit nextOffset pagination
    oldestId newestId before after cursor query id endCursor properties type anyOf""".split()
)
WORDS = st.sampled_from(["", "c", "2", "?page=2", "http://[x/?offset=1", "2024-01-01", "string"])
ATOMS = st.none() | st.booleans() | st.integers(-1, 9) | WORDS
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, ANYTHING, max_size=6)


@given(st.lists(ANYTHING, min_size=1, max_size=3), OBJECTS, st.none() | OBJECTS)
def test_whatever_a_tool_answers_it_ends_or_says_why_not(
    replies: list[Any], arguments: dict[str, Any], known: dict[str, Any] | None
) -> None:
    calls = 0

    async def call(tool: str, arguments: dict[str, Any]) -> Any:
        nonlocal calls
        calls += 1
        return replies[calls % len(replies)]

    with suppress(PeerError):
        collect(call, "list_things", arguments, schema=known, max_pages=10)
    assert calls <= 10


# One step of it


FOLLOWING: dict[str, tuple[Any, dict[str, Any], tuple[str, dict[str, Any]] | None]] = {
    "an offset": (
        {"items": [1, 2], "nextOffset": 2, "hasMore": True},
        {"limit": 2},
        ("list_things", {"limit": 2, "offset": 2}),
    ),
    "a cursor": ({"items": [1], "next_cursor": "x"}, {}, ("list_things", {"cursor": "x"})),
    "the last page": ({"items": [1], "hasMore": False}, {}, None),
    "more, but no way to it": ({"text": "and so on", "hasMore": True}, {}, None),
    "no list": ({"id": 1}, {}, None),
    "a failure": ({"error": "closed"}, {}, None),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_the_next_call_can_be_told_without_making_it(name: str) -> None:
    reply, arguments, expected = FOLLOWING[name]
    takes = schema(limit={"type": "integer"}, offset={"type": "integer"}, cursor={"type": "string"})
    assert following(read(reply, "list_things"), "list_things", arguments, takes) == expected
