"""All parts of an answer that was cut: together the whole, none too large, each says what it is."""

import json
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import (
    Encoded,
    Server,
)
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.profiles import PROFILES
from limits.large_answers import (
    LEAST,
    LIMIT,
    META,
    ROWS,
    V1,
    V3,
    V4,
    V5,
    assert_valid,
    each_profile,
    each_revision,
    each_way,
    filler,
    joined,
    largest_channel,
    read,
    saying,
    schema_of,
    walk,
)
from peer import Peer

WORDS = 'Ünïcode 文字 🙂 "quoted" \\ \n and\ttabs '

SHAPES: dict[str, tuple[Any, Any]] = {
    "list": (list[int], list(range(2_000))),
    "undeclared list": (Any, [f"item {n}" for n in range(600)]),
    "list of objects": (list[dict[str, Any]], ROWS),
    "list of lists": (list[list[int]], [list(range(n % 9)) for n in range(700)]),
    "object with one list": (dict[str, Any], {"by": "ada", "rows": ROWS, "count": 90}),
    "nested": (Any, {"shop": {"name": "x", "orders": {"open": ROWS, "done": [1]}}, "ok": True}),
    "a name that needs escaping": (Any, {'a"b\\c.é': ROWS, "": ""}),
    "text": (str, WORDS * 200),
    "JSON string": (Any, WORDS * 200),
    "string in an object": (dict[str, str], {"title": "A title", "body": WORDS * 200}),
    "string deeper down": (Any, {"page": {"body": WORDS * 200, "n": 1}, "list": [1, 2]}),
    "JSON of its own": (
        Any,
        Encoded(b' [ 1.50 , "\\u00e9" ]'.replace(b"]", b', "x"' * 900 + b"]")),
    ),
}
each_shape = pytest.mark.parametrize(("hint", "value"), SHAPES.values(), ids=SHAPES)


def decoded(value: Any) -> Any:
    return json.loads(value.json) if isinstance(value, Encoded) else value


@each_shape
@each_profile
@pytest.mark.parametrize(
    ("revision", "way"), [(V1, "read_more"), (V3, "cursor"), (V4, "read_more"), (V5, "cursor")]
)
def test_all_parts_together_are_the_whole(
    hint: Any, value: Any, profile: str, revision: str, way: str
) -> None:
    peer = Peer(saying(value, hint, profile=profile, way=way), revision)
    schema = schema_of(peer)
    parts = list(walk(peer, profile, way=way, is_text=hint is str))
    assert joined([part.data for part in parts], decoded(value)) == decoded(value)
    assert len(parts) > 1
    assert max(part.size for part in parts) <= LIMIT
    for part in parts:
        assert_valid(part, schema)
    assert [part.is_truncated for part in parts] == [True] * (len(parts) - 1) + [False]


@each_profile
def test_no_part_is_smaller_than_it_has_to_be(profile: str) -> None:
    parts = list(walk(Peer(saying([7] * 3_000, list[int], profile=profile), V5), profile))
    for part in parts[:-1]:
        bytes_an_item = 5 if profile == "prose" else 2  # `  7,` and a line break; `7,`
        assert LIMIT - 3 * bytes_an_item < part.size <= LIMIT


names = st.text(min_size=1, max_size=6)
scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12)
small_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=4,
).filter(lambda value: len(json.dumps(value, indent=2)) < 200)
lists = st.builds(lambda items, times: items * times, st.lists(small_values, max_size=9), st.integers(1, 40))  # fmt: skip
texts = st.builds(lambda words, times: words * times, st.text(max_size=60), st.integers(1, 120))
wholes = st.one_of(
    st.tuples(st.just(str), texts),
    st.tuples(st.just(Any), texts | lists),
    st.tuples(
        st.just(Any),
        st.builds(lambda name, part: {"kind": 1, name: part, "end": []}, names, lists | texts),
    ),
    st.tuples(
        st.just(Any),
        st.builds(
            lambda name, part, beside: {"a": {name: part}, "b": beside},
            names,
            lists | texts,
            small_values,
        ),
    ),
)


@given(
    whole=wholes,
    limit=st.integers(1_500, 5_000),
    profile=st.sampled_from(list(PROFILES)),
    revision=st.sampled_from(wire.REVISIONS),
    way=st.sampled_from(["cursor", "read_more"]),
)
def test_following_the_cursors_gives_the_whole_and_ends(
    whole: tuple[Any, Any], limit: int, profile: str, revision: str, way: str
) -> None:
    hint, value = whole
    peer = Peer(saying(value, hint, limit=limit, profile=profile, way=way), revision)
    parts = list(walk(peer, profile, way=way, is_text=hint is str))
    assert joined([part.data for part in parts], value) == value
    assert max(part.size for part in parts) <= limit
    assert all(part.is_truncated for part in parts[:-1])
    assert not parts[-1].is_truncated


@each_profile
def test_every_limit_is_kept_to_the_byte(profile: str) -> None:
    """Over and over: a cursor holds a time, and not every time is written with as many digits."""
    server = saying([7] * 2_000, list[int], profile=profile)
    peer = Peer(server, V5)
    for extra in range(100):
        server.configure(max_bytes=LIMIT + extra)
        assert read(peer.call("get")["result"], profile).size <= LIMIT + extra


@each_profile
def test_an_item_that_is_left_out_is_reported_within_the_limit(profile: str) -> None:
    """Whatever room is left beside it: the sentence about it counts too."""
    for beside in range(0, LEAST, 7):
        value = {"beside": "b" * beside, "items": ["x" * 2_000, 1]}
        reply = Peer(saying(value, profile=profile, limit=LEAST), V4).call("get")
        size = largest_channel(reply["result"])
        assert size <= LEAST, beside


@each_profile
@each_revision
def test_a_cut_list_says_how_many_there_were_and_what_is_here(profile: str, revision: str) -> None:
    value = list(range(2_000))
    parts = list(walk(Peer(saying(value, list[int], profile=profile), revision), profile))
    seen = 0
    for part in parts[:-1]:
        (warning,) = part.warnings
        first, last, total = re.findall(r"[\d,]+", warning.partition(":")[2])[:3]
        assert (first, total) == (f"{seen + 1:,}", "2,000")
        seen += len(part.data)
        assert last == f"{seen:,}"
        assert warning.startswith("Cut to fit 2,048 bytes: items ")
        assert warning.endswith("this cursor for the rest")
        assert (part.page["total"], part.page["hasMore"]) == (2_000, True)
    assert (parts[-1].page["total"], parts[-1].page["hasMore"]) == (2_000, False)
    assert parts[-1].page["offset"] == seen
    assert parts[-1].warnings == []


@each_profile
def test_a_cut_text_says_how_many_characters_there_were(profile: str) -> None:
    peer = Peer(saying("é" * 5_000, str, profile=profile), V4)
    first, *_ = parts = list(walk(peer, profile, is_text=True))
    assert f"characters 1 to {len(first.data):,} of 5,000 are here" in first.warnings[0]
    assert first.page["hasMore"] is True
    assert parts[-1].warnings == []


def test_the_profiles_that_have_a_place_for_it_say_it_there() -> None:
    envelope = Peer(saying(ROWS, profile="envelope"), V4).call("get")["result"]
    meta = envelope["structuredContent"]["meta"]
    assert meta["content_fidelity"] == "partial"
    assert meta["warning_details"][0]["code"] == "TRUNCATED"
    assert meta["pagination"]["total_count"] == 90
    generic = Peer(saying(ROWS, profile="generic"), V4).call("get")["result"]
    returned = len(generic["structuredContent"]["data"])
    assert generic["structuredContent"]["summary"] == {
        "total": 90,
        "returned": returned,
        "hasMore": True,
    }


def test_an_answer_that_fits_says_nothing_of_limits() -> None:
    result = Peer(saying([1, 2], list[int]), V4).call("get")["result"]
    assert result == {
        "content": [{"type": "text", "text": "[1,2]"}],
        "structuredContent": {"result": [1, 2]},
    }


@pytest.mark.parametrize("letter", ["a", "é", "文", "🙂", '"', "\n", "\x01"])
@each_profile
def test_the_limit_counts_bytes_and_no_character_is_split(profile: str, letter: str) -> None:
    for hint in (str, Any):
        peer = Peer(saying(letter * 3_000, hint, profile=profile), V4)
        parts = list(walk(peer, profile, is_text=hint is str))
        assert "".join(part.data for part in parts) == letter * 3_000
        assert max(part.size for part in parts) <= LIMIT


def test_a_text_exactly_as_long_as_the_limit_is_whole() -> None:
    fits, does_not = "é" * (LIMIT // 2), "é" * (LIMIT // 2) + "x"
    assert (
        read(Peer(saying(fits, str), V4).call("get")["result"], "plain", is_text=True).data == fits
    )
    part = read(Peer(saying(does_not, str), V4).call("get")["result"], "plain", is_text=True)
    assert part.is_truncated


def test_the_limit_is_256_kib_unless_somebody_says_otherwise() -> None:
    assert DEFAULT_MAX_BYTES == 262_144
    server = Server("shop")
    for name, length in (("fits", 262_144), ("does_not", 262_145)):
        server.tool(name=name, read_only=True)(partial(filler, length))
    peer = Peer(server, V4)
    assert "_meta" not in peer.call("fits")["result"]
    cut = peer.call("does_not")["result"]
    assert cut["_meta"][META]["truncated"] is True
    assert largest_channel(cut) <= 262_144


@pytest.mark.parametrize(
    "sizes",
    [[9, 5_000, 9], [5_000, 9], [9, 5_000], [5_000, 5_000, 9, 5_000], [5_000], [9] * 99 + [5_000]],
    ids=str,
)
@each_way
@each_profile
def test_an_item_too_large_is_left_out_with_a_warning_and_the_cursor_goes_on_behind_it(
    profile: str, way: str, sizes: list[int]
) -> None:
    value = [f"{n:03}" + "x" * size for n, size in enumerate(sizes)]
    parts = list(
        walk(Peer(saying(value, list[str], profile=profile, way=way), V4), profile, way=way)
    )
    assert [item for part in parts for item in part.data] == [v for v in value if len(v) < LIMIT]
    warnings = [warning for part in parts for warning in part.warnings if "left out" in warning]
    large = [n for n, size in enumerate(sizes, start=1) if size > LIMIT]
    assert [re.findall(r"item (\d+) of (\d+) alone", warning) for warning in warnings] == [
        [(str(n), str(len(sizes)))] for n in large
    ]
    assert max(part.size for part in parts) <= LIMIT
