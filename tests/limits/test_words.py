"""Words and failures that are too long themselves."""

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from accord import (
    Answer,
    FieldError,
    Problem,
)
from accord.profiles import PROFILES
from limits.large_answers import (
    LEAST,
    LIMIT,
    META,
    MOST_PARTS,
    V1,
    V4,
    V5,
    each_profile,
    failed,
    largest_channel,
    of,
    read,
    saying,
)
from peer import Peer


@pytest.mark.parametrize("profile", ["envelope", "prose", "generic"])
@pytest.mark.parametrize("letter", ["m", "é", "🙂", '"'])
def test_a_message_too_long_is_cut_and_says_so(profile: str, letter: str) -> None:
    answer = Answer(list(range(10)), message=letter * 5_000)
    result = Peer(saying(answer, profile=profile, limit=2 * LIMIT), V4).call("get")["result"]
    assert "isError" not in result, result["content"][0]["text"][:200]
    assert largest_channel(result) <= 2 * LIMIT
    (warning,) = result["_meta"][META]["warnings"]
    assert re.search(
        r"the first [\d,]+ of 5,000 characters of its message are here", warning["message"]
    )
    assert list(range(10)) == (
        json.loads(result["content"][0]["text"].partition("\n")[2].rpartition("\n\n")[0])
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
        assert largest_channel(result) <= LIMIT
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
    assert largest_channel(result) <= LIMIT
    (warning,) = result["_meta"][META]["warnings"]
    assert "of 5,000 characters of its text are here" in warning["message"]
    assert result["structuredContent"] == {
        "result": [1, 2],
        "warnings": [warning],
        "truncated": True,
    }


def test_words_that_a_profile_does_not_show_cost_nothing() -> None:
    answer = Answer([1, 2], message="m" * 5_000, text="t" * 5_000)
    result = Peer(saying(answer), V4).call("get")["result"]
    assert result["content"] == [{"type": "text", "text": "[1,2]"}]
    assert "_meta" not in result


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


@pytest.mark.parametrize("problem", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("profile", ["plain", "prose"])
def test_the_problem_in_meta_keeps_to_the_limit_too(profile: str, problem: Problem) -> None:
    result = Peer(of(raising(problem), profile=profile), V4).call("get")["result"]
    sent = result["_meta"][META]["problem"]
    assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()) <= LIMIT
    assert (sent["kind"], sent["message"][0]) == (problem.kind, problem.message[0])


@pytest.mark.parametrize("revision", [V1, V4])
def test_bad_arguments_keep_to_the_limit_with_the_problem_beside_them(revision: str) -> None:
    def get(numbers: list[int]) -> int:
        return len(numbers)

    reply = Peer(of(get, profile="bare"), revision).call("get", numbers=["é"] * 5_000)
    data = reply["error"]["data"]
    assert len(json.dumps(reply["error"]).encode()) <= LIMIT
    assert data[META]["fields"] == data["validation_errors"]
    assert data[META]["message"] == reply["error"]["message"]


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
