"""The size limit: what is too large is cut between items, says so, and leads to the rest."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import (
    Answer,
    ContractError,
    Embedded,
    Encoded,
    FieldError,
    Notice,
    Page,
    Problem,
    Server,
    render,
)
from accord.combined import combine
from accord.limits import DEFAULT_MAX_BYTES
from accord.profiles import PROFILES
from cli.command import ACCORD, ENVIRONMENT, accord, assert_one_line_of_misuse, write
from peer import Peer
from stdio_peer import StdioPeer

V1, V2, V3, V4, V5 = wire.REVISIONS
META = "dev.accord-mcp/answer"
LIMIT = 2_048
LEAST = 1_024
MOST_PARTS = 500

each_profile = pytest.mark.parametrize("profile", PROFILES)
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
each_way = pytest.mark.parametrize("way", ["cursor", "read_more"])


# What a caller sees


@dataclass(frozen=True)
class Part:
    """One result as a caller reads it: the data, and what stands beside it."""

    result: dict[str, Any]
    data: Any
    size: int
    beside: dict[str, Any]

    @property
    def page(self) -> dict[str, Any]:
        return dict(self.beside.get("page", {}))

    @property
    def cursor(self) -> str | None:
        return self.page.get("cursor")

    @property
    def warnings(self) -> list[str]:
        return [warning["message"] for warning in self.beside.get("warnings", [])]

    @property
    def is_truncated(self) -> bool:
        return bool(self.beside.get("truncated", False))


def text_size(result: dict[str, Any]) -> int:
    return sum(len(block.get("text", "").encode()) for block in result["content"])


def read(result: dict[str, Any], profile: str, *, is_text: bool = False) -> Part:
    """A successful result in a profile; all of its channels have to say the same."""
    assert "isError" not in result, result
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    beside = result.get("_meta", {}).get(META, {})
    if profile in ("envelope", "generic"):
        (whole,) = texts
        root = json.loads(whole)
        assert result.get("structuredContent", root) == root
        data = _of_envelope(root, beside) if profile == "envelope" else _of_generic(root, beside)
    else:
        data = texts[0] if is_text else json.loads(texts[0])
        _check_structure(result, data, is_text=is_text)
        assert [json.loads(more) for more in texts[1:]] == ([beside] if beside else [])
        if profile == "bare":
            root = data if isinstance(data, dict) else {"result": data}
            assert {name: result[name] for name in root} == root
    return Part(result, data, text_size(result), beside)


def _check_structure(result: dict[str, Any], data: Any, *, is_text: bool) -> None:
    if is_text:
        assert "structuredContent" not in result
    elif "structuredContent" in result:
        assert result["structuredContent"] in (data, {"result": data})


def _of_envelope(root: dict[str, Any], beside: dict[str, Any]) -> Any:
    meta = root["meta"]
    assert meta.get("pagination", {}).get("cursor") == beside.get("page", {}).get("cursor")
    assert meta.get("truncated", False) == beside.get("truncated", False)
    assert meta.get("warnings", []) == [w["message"] for w in beside.get("warnings", [])]
    return root["data"][meta["wrapper"]] if meta.get("wrapper") else root["data"]


def _of_generic(root: dict[str, Any], beside: dict[str, Any]) -> Any:
    pagination, metadata = root.get("pagination", {}), root.get("metadata", {})
    has_number = isinstance(pagination.get("nextOffset"), int)
    cursor = pagination.get("cursor") if has_number else pagination.get("nextOffset")
    assert cursor == beside.get("page", {}).get("cursor")
    assert metadata.get("truncated", False) == beside.get("truncated", False)
    assert metadata.get("warnings", []) == beside.get("warnings", [])
    return root["data"][metadata["wrapper"]] if "wrapper" in metadata else root["data"]


class Failed(NamedTuple):
    """A failed call as a caller reads it."""

    message: str
    code: str | None
    size: int


def failed(reply: dict[str, Any], profile: str) -> Failed:
    if "error" in reply:
        assert profile == "bare"
        return Failed(reply["error"]["message"], None, len(json.dumps(reply["error"]).encode()))
    result = reply["result"]
    assert result["isError"] is True
    (words,) = [block["text"] for block in result["content"]]
    size = text_size(result)
    if profile == "envelope":
        root = json.loads(words)
        return Failed(root["error"], root["meta"]["error"]["code"], size)
    if profile == "generic":
        error = json.loads(words)["error"]
        return Failed(error["message"], error["code"], size)
    return Failed(words, None, size)


# Servers, and walks along their cursors


def of(function: Callable[..., Any], *, limit: int = LIMIT, **options: Any) -> Server:
    """A server whose one tool is read-only, unless it is said not to be."""
    tool_options = {"read_only": True} | options.pop("tool", {})
    server = Server("shop", version="1.0", max_bytes=limit, **options)
    server.tool(name="get", **tool_options)(function)
    return server


def saying(value: Any, hint: Any = Any, *, way: str = "cursor", **options: Any) -> Server:
    """A server whose tool `get` returns a value, and lets the rest be fetched in this way."""

    def takes_cursor(cursor: str | None = None):
        return value

    def takes_nothing():
        return value

    function = takes_cursor if way == "cursor" else takes_nothing
    function.__annotations__["return"] = hint
    return of(function, read_more=way == "read_more", **options)


def walk(
    peer: Peer, profile: str, *, way: str = "cursor", is_text: bool = False, **arguments: Any
) -> Iterator[Part]:
    """All parts of an answer, by following the cursors."""
    reply = peer.call("get", **arguments)
    for _ in range(MOST_PARTS):
        part = read(reply["result"], profile, is_text=is_text)
        yield part
        if part.cursor is None:
            return
        if way == "cursor":
            reply = peer.call("get", **arguments | {"cursor": part.cursor})
        else:
            reply = peer.call("read_more", cursor=part.cursor)
    raise AssertionError("there is no end to it")


def joined(values: Sequence[Any], whole: Any) -> Any:
    """Parts of one value put together: what each part has whole, and what they have between them."""
    first = values[0]
    if all(value == whole for value in values):
        return first
    if isinstance(first, dict):
        assert all(value.keys() == whole.keys() for value in values)
        return {name: joined([value[name] for value in values], whole[name]) for name in first}
    assert isinstance(first, list | str), values
    return [item for value in values for item in value] if type(first) is list else "".join(values)


def schema_of(peer: Peer, tool: str = "get") -> Any:
    tools = peer.ask("tools/list")["result"]["tools"]
    return next(entry.get("outputSchema") for entry in tools if entry["name"] == tool)


def assert_valid(part: Part, schema: Any) -> None:
    if schema is not None:
        jsonschema_rs.validator_for(schema).validate(part.result["structuredContent"])


def cursor_in(reply: dict[str, Any]) -> str:
    return str(reply["result"]["_meta"][META]["page"]["cursor"])


# Collecting all parts gives the whole


WORDS = 'Ünïcode 文字 🙂 "quoted" \\ \n and\ttabs '
ROWS = [{"id": n, "name": f"Product {n} ☃", "tags": ["a", None], "price": n / 4} for n in range(90)]
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
        size = text_size(reply["result"])
        assert size <= LEAST, beside


# What a part says of itself


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


# Bytes, not characters


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
        server.tool(name=name, read_only=True)(partial(_text, length))
    peer = Peer(server, V4)
    assert "_meta" not in peer.call("fits")["result"]
    cut = peer.call("does_not")["result"]
    assert cut["_meta"][META]["truncated"] is True
    assert text_size(cut) <= 262_144


def _text(length: int) -> str:
    return "x" * length


# Items that are too large by themselves


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


# What cannot be cut


MEMBERS = {f"member {n}": n for n in range(1_000)}
UNCUTTABLE: dict[str, Any] = {
    "members": MEMBERS,
    "members of a member": {"a": MEMBERS, "b": []},
    "a name": {"n" * 5_000: []},
    "a number": int("7" * 4_000),
}


SEVERAL: dict[str, tuple[Any, str]] = {
    "lists": ({"a": [1] * 3_000, "b": [2] * 2_000, "c": [3] * 2_500}, "items of b are here"),
    "texts": ({"a": "x" * 9_000, "b": "y" * 8_000}, "characters of b are here"),
    "warnings": (Answer([1], warnings=[Notice("w" * 500)] * 50), "more warnings"),
    "a text sent along": (
        Answer([1], blocks=[Embedded("file:///a", "z" * 50_000)]),
        "characters of file:///a are here",
    ),
}


@pytest.mark.parametrize(("value", "said"), SEVERAL.values(), ids=SEVERAL)
@each_profile
@pytest.mark.parametrize("revision", [V1, V4, V5])
def test_of_several_large_things_each_keeps_its_beginning_and_says_so(
    profile: str, revision: str, value: Any, said: str
) -> None:
    result = Peer(saying(value, profile=profile), revision).call("get")["result"]
    assert "isError" not in result
    beside = result["_meta"][META]
    assert any(said in warning["message"] for warning in beside["warnings"])
    assert text_size(result) <= LIMIT


@pytest.mark.parametrize("value", UNCUTTABLE.values(), ids=UNCUTTABLE)
@each_profile
@pytest.mark.parametrize("revision", [V1, V4, V5])
def test_what_cannot_be_cut_is_a_problem(profile: str, revision: str, value: Any) -> None:
    reply = Peer(saying(value, profile=profile), revision).call("get")
    problem = failed(reply, profile)
    assert "The answer is larger than 2,048 bytes and cannot be cut" in problem.message
    assert problem.code in (None, "TOO_LARGE")


def test_a_list_is_cut_although_an_object_beside_it_is_larger() -> None:
    value = {"totals": {f"t{n}": n for n in range(140)}, "items": list(range(300))}
    parts = list(walk(Peer(saying(value), V4), "plain"))
    assert joined([part.data for part in parts], value) == value


MANY = [f"item {n:04}" for n in range(1_000)]
PROMISES: dict[str, tuple[Any, Any]] = {
    "at least 999 items": (Annotated[list[str], msgspec.Meta(min_length=999)], MANY),
    "at least 999 items in an object": (
        msgspec.defstruct("Found", [("items", Annotated[list[str], msgspec.Meta(min_length=999)])]),
        {"items": MANY},
    ),
    "a tuple": (tuple[str, str, str], ("a", "b" * 1_500, "c" * 1_500)),
    "a long text": (
        Annotated[str, msgspec.Meta(min_length=4_000)],
        "x" * 4_000,
    ),
    "a pattern": (Annotated[str, msgspec.Meta(pattern="^a.*z$")], "a" + "b" * 3_000 + "z"),
}


@pytest.mark.parametrize(("hint", "value"), PROMISES.values(), ids=PROMISES)
@each_profile
def test_less_than_a_tool_promises_is_a_problem(profile: str, hint: Any, value: Any) -> None:
    problem = failed(Peer(saying(value, hint, profile=profile), V4).call("get"), profile)
    assert "The answer is too large, and less of it would break its schema" in problem.message
    assert problem.code in (None, "TOO_LARGE")


LAST_PARTS: dict[str, tuple[Any, Any]] = {
    "at least a hundred items": (Annotated[list[str], msgspec.Meta(min_length=100)], MANY[:340]),
    "a first letter": (Annotated[str, msgspec.Meta(pattern="^a")], "a" + "b" * 3_000),
    "at least six hundred characters": (
        Annotated[str, msgspec.Meta(min_length=600)],
        "x" * 3_900,
    ),
    "base64": (bytes, bytes(range(256)) * 20),
}


@pytest.mark.parametrize(("hint", "value"), LAST_PARTS.values(), ids=LAST_PARTS)
@each_way
def test_no_part_breaks_the_schema_of_its_tool_not_even_the_last(
    way: str, hint: Any, value: Any
) -> None:
    check = msgspec.json.Decoder(hint).decode
    peer = Peer(saying(value, hint, way=way), V4)
    reply = peer.call("get")
    for _ in range(MOST_PARTS):
        if "isError" in reply["result"]:
            return
        part = read(reply["result"], "plain")
        check(json.dumps(part.data).encode())
        if part.cursor is None:
            return
        reply = peer.call("get" if way == "cursor" else "read_more", cursor=part.cursor)


def test_bytes_are_cut_at_every_limit_or_at_none() -> None:
    """They are base64 on the wire, and not every beginning of that is some."""
    value = bytes(range(256)) * 20
    outcomes = set()
    for extra in range(8):
        reply = Peer(saying(value, bytes, limit=LIMIT + extra), V4).call("get")
        outcomes.add("isError" in reply["result"])
    assert len(outcomes) == 1


# Answers that have a page of their own


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


# Words of an answer that are too long themselves


@pytest.mark.parametrize("profile", ["envelope", "prose", "generic"])
@pytest.mark.parametrize("letter", ["m", "é", "🙂", '"'])
def test_a_message_too_long_is_cut_and_says_so(profile: str, letter: str) -> None:
    answer = Answer(list(range(10)), message=letter * 5_000)
    result = Peer(saying(answer, profile=profile, limit=2 * LIMIT), V4).call("get")["result"]
    assert "isError" not in result, result["content"][0]["text"][:200]
    assert text_size(result) <= 2 * LIMIT
    (warning,) = result["_meta"][META]["warnings"]
    assert re.search(
        r"the first [\d,]+ of 5,000 characters of its message are here", warning["message"]
    )
    assert list(range(10)) == (
        json.loads(result["content"][0]["text"].partition("\n")[2])
        if profile == "prose"
        else read(result, profile).data
    )


@each_profile
def test_a_message_and_a_list_that_are_both_too_long_are_both_cut(profile: str) -> None:
    answer = Answer(list(range(2_000)), message="m" * 5_000)
    peer = Peer(saying(answer, profile=profile), V4)
    reply, items = peer.call("get"), []
    for _ in range(MOST_PARTS):
        result = reply["result"]
        assert text_size(result) <= LIMIT
        items += _items_of(result, profile)
        page = result["_meta"][META]["page"]
        if not page["hasMore"]:
            break
        reply = peer.call("get", cursor=page["cursor"])
    assert items == list(range(2_000))


def _items_of(result: dict[str, Any], profile: str) -> Any:
    if profile != "prose":
        return read(result, profile).data
    return result["structuredContent"]["result"]


def test_a_text_for_prose_too_long_is_cut_and_says_so() -> None:
    answer = Answer([1, 2], text="t" * 5_000)
    result = Peer(saying(answer, profile="prose"), V4).call("get")["result"]
    assert text_size(result) <= LIMIT
    (warning,) = result["_meta"][META]["warnings"]
    assert "of 5,000 characters of its text are here" in warning["message"]
    assert result["structuredContent"] == {"result": [1, 2]}


def test_words_that_a_profile_does_not_show_cost_nothing() -> None:
    answer = Answer([1, 2], message="m" * 5_000, text="t" * 5_000)
    result = Peer(saying(answer), V4).call("get")["result"]
    assert result["content"] == [{"type": "text", "text": "[1,2]"}]
    assert "_meta" not in result


# Failures


HUGE: dict[str, Problem] = {
    "message": Problem.not_found("m" * 50_000),
    "message of wide characters": Problem.not_found("🙂" * 50_000),
    "message of line breaks": Problem.not_found("no" + "\n" * 50_000),
    "message of control characters": Problem.not_found("\x01" * 50_000),
    "remediation": Problem.not_found("No such thing", remediation="r" * 50_000),
    "summary": Problem.not_found("No such thing", summary="s" * 50_000),
    "field": Problem.validation("Bad", fields=[FieldError("f" * 50_000, "is wrong")]),
    "error of a field": Problem.validation("Bad", fields=[FieldError("f", "e" * 50_000)]),
    "many fields": Problem.validation(
        "Bad", fields=[FieldError(f"f{n}", "is wrong") for n in range(5_000)]
    ),
    "many long fields": Problem.validation(
        "Bad", fields=[FieldError(f"f{n}", "is wrong " * 30) for n in range(99)]
    ),
}


def raising(problem: Problem) -> Callable[[], Any]:
    def get():
        raise problem

    return get


@pytest.mark.parametrize("problem", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize(("profile", "revision"), list(product(PROFILES, [V1, V5])))
def test_a_failure_keeps_to_the_limit_too(profile: str, revision: str, problem: Problem) -> None:
    reply = Peer(of(raising(problem), profile=profile), revision).call("get")
    told = failed(reply, profile)
    assert problem.message[0] in told.message
    assert told.size <= LIMIT


@each_profile
def test_a_failure_of_ordinary_length_is_left_alone(profile: str) -> None:
    problem = Problem.not_found("No customer 7", remediation="call customers first")
    whole = Peer(of(raising(problem), profile=profile), V4).call("get")
    limited = Peer(of(raising(problem), profile=profile, limit=LEAST), V4).call("get")
    assert whole == limited


def test_arguments_with_countless_faults_are_refused_in_few_words() -> None:
    def get(numbers: list[int]) -> int:
        return len(numbers)

    for revision in (V1, V4, V5):
        reply = Peer(of(get, profile="envelope"), revision).call("get", numbers=["x"] * 5_000)
        assert len(json.dumps(reply)) < 4 * LIMIT  # text, structure, and their escapes


# Which tools get a cursor


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


# The same tool again


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


# read_more


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
    assert text_size(more) <= LEAST


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
    assert text_size(cut["result"]) <= LEAST
    more = read(peer.call("read_more", cursor=cursor_in(cut))["result"], "plain")
    assert more.data[0].startswith("other ")


# Who sets the limit


def test_the_limit_of_a_tool_beats_that_of_its_server() -> None:
    server = Server("shop", max_bytes=LIMIT)
    for name, limit in (("less", LEAST), ("more", 4 * LIMIT)):
        server.tool(name=name, read_only=True, max_bytes=limit)(partial(_text, 3 * LIMIT))
    server.tool(name="same", read_only=True)(partial(_text, 3 * LIMIT))
    peer = Peer(server, V4)
    sizes = {name: text_size(peer.call(name)["result"]) for name in ("less", "same", "more")}
    assert LEAST - 8 < sizes["less"] <= LEAST
    assert LIMIT - 8 < sizes["same"] <= LIMIT
    assert sizes["more"] == 3 * LIMIT


def test_a_server_can_be_given_another_limit() -> None:
    server = saying("x" * 5_000, str)
    server.configure(max_bytes=3 * LIMIT)
    assert text_size(Peer(server, V4).call("get")["result"]) == 5_000


TOO_SMALL: dict[str, Callable[[], object]] = {
    "server": lambda: Server("shop", max_bytes=LEAST - 1),
    "tool": lambda: Server("shop").tool(max_bytes=LEAST - 1)(_text),
    "zero": lambda: Server("shop").tool(max_bytes=0)(_text),
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
            assert text_size(reply["result"]) <= LIMIT


def test_a_limit_too_small_on_the_command_line_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, one=SHELVES.format(name="one"))
    done = accord("serve", "one", "--max-bytes", "10", cwd=tmp_path)
    assert_one_line_of_misuse(done, "max_bytes is at least 1,024")
