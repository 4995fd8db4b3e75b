"""What JSON cannot hold: the call fails, in every profile, with one valid reply and nothing shown."""

from typing import Any

import pytest

import wire
from accord import Answer, Encoded, FieldError, Notice, Page, Problem, Server
from peer import Peer, asking

V1, V2, V3, V4, V5 = wire.REVISIONS
LONE = b"caf\xe9".decode(errors="surrogateescape")  # as file names come that are no UTF-8


def looped() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def tower(height: int) -> Any:
    value: Any = 5
    for _ in range(height):
        value = [value]
    return value


OUTCOMES: dict[str, Any] = {
    "not a number": float("nan"),
    "an infinity far inside": {"a": [{"b": float("-inf")}]},
    "a lone surrogate": {"name": LONE},
    "a lone surrogate in a name": {LONE: 1},
    "a lone surrogate in a warning": Answer([1], warnings=[Notice("x", code=LONE)]),
    "a lone surrogate in a page": Answer([1], page=Page(cursor=LONE)),
    "a lone surrogate in a problem": Problem(f"No file {LONE}"),
    "a lone surrogate in a field error": Problem("No.", fields=[FieldError("path", LONE)]),
    "JSON with a lone surrogate": Encoded(b'"\\ud800"'),
    "JSON that is none": Encoded(b"{"),
    "two documents": Encoded(b"{} {}"),
    "no document": Encoded(b""),
    "a list of itself": looped(),
    "a value deeper than any reader goes": tower(100_000),
    "bytes": b"hi",
    "a set": {1},
    "an object of no kind": object(),
}


def saying(outcome: Any) -> Server:
    server = Server("odd")

    @server.tool
    def get() -> Any:
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    return server


def reply(outcome: Any, profile: str, revision: str) -> Any:
    return Peer(saying(outcome), revision, asking(profile)).call("get")


def is_failure(reply: Any) -> bool:
    return "error" in reply or reply["result"].get("isError") is True


@pytest.mark.parametrize("revision", [V1, V3, V4, V5])
@pytest.mark.parametrize("profile", wire.PROFILES)
@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=list(OUTCOMES))
def test_the_call_fails_with_one_valid_reply(outcome: Any, profile: str, revision: str) -> None:
    assert is_failure(reply(outcome, profile, revision))


@pytest.mark.parametrize("profile", ["envelope", "generic", "prose"])
def test_so_it_does_for_words_where_a_profile_shows_them(profile: str) -> None:
    assert is_failure(reply(Answer([1], message=LONE), profile, V4))


DISPUTED: dict[str, Any] = {
    "two names that are one in JSON": {1: "a", "1": "b"},
}


@pytest.mark.parametrize("outcome", DISPUTED.values(), ids=list(DISPUTED))
def test_json_that_no_two_readers_take_alike_is_not_sent(outcome: Any) -> None:
    assert is_failure(reply(outcome, "plain", V4))
