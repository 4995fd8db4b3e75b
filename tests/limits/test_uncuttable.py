"""What cannot be cut, or not without breaking a promise."""

import json
from typing import Annotated, Any

import msgspec
import pytest

from accord import (
    Answer,
    Embedded,
    Notice,
)
from limits.large_answers import (
    LIMIT,
    MANY,
    META,
    MOST_PARTS,
    V1,
    V4,
    V5,
    each_profile,
    each_way,
    failed,
    joined,
    largest_channel,
    read,
    saying,
    walk,
)
from peer import Peer

MEMBERS = {f"member {n}": n for n in range(1_000)}
UNCUTTABLE: dict[str, Any] = {
    "members": MEMBERS,
    "members of a member": {"a": MEMBERS, "b": []},
    "a name": {"n" * 5_000: []},
    "a number": int("7" * 4_000),
    "free members of meta": Answer({"a": 1}, meta={"trace": "x" * 5_000}),
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
    assert largest_channel(result) <= LIMIT


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
}


@pytest.mark.parametrize(("hint", "value"), LAST_PARTS.values(), ids=LAST_PARTS)
@each_way
def test_no_part_breaks_the_schema_of_its_tool_not_even_the_last(
    way: str, hint: Any, value: Any
) -> None:
    check = msgspec.json.Decoder(hint).decode
    peer = Peer(saying(value, hint, way=way), V4)
    reply = peer.call("get")
    assert "isError" not in reply["result"]
    for _ in range(MOST_PARTS):
        if "isError" in reply["result"]:
            return
        part = read(reply["result"], "plain")
        check(json.dumps(part.data).encode())
        if part.cursor is None:
            return
        reply = peer.call("get" if way == "cursor" else "read_more", cursor=part.cursor)
    pytest.fail(f"there is no end to its {MOST_PARTS} parts")


def test_bytes_are_cut_at_every_limit_or_at_none() -> None:
    """They are base64 on the wire, and not every beginning of that is some."""
    value = bytes(range(256)) * 20
    outcomes = set()
    for extra in range(8):
        reply = Peer(saying(value, bytes, limit=LIMIT + extra), V4).call("get")
        outcomes.add("isError" in reply["result"])
    assert len(outcomes) == 1
