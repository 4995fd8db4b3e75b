"""`prose`: the answer's own words, then its data as indented JSON."""

from typing import Any

import pytest

from accord import Answer, FieldError, Notice, Page, Problem
from accord.model.answer import KINDS
from profiles.one_tool import (
    ABSENT,
    BLOCKS,
    V4,
    V5,
    each_revision,
    listed,
    problem,
    reply,
    required,
    saying,
    sent,
    shown_blocks,
    structure,
    text,
)

# Success

ROWS = [{"id": 1, "name": "Zoë"}]
INDENTED = '[\n  {\n    "id": 1,\n    "name": "Zoë"\n  }\n]'
SUCCESSES: dict[str, tuple[Any, Any, str, Any, Any]] = {
    # what the tool returns, its hint, the text, the structure as an object and as it is
    "an object": ({"a": {}}, Any, '{\n  "a": {}\n}', {"a": {}}, {"a": {}}),
    "an empty object": ({}, Any, "{}", {}, {}),
    "a list": (ROWS, Any, INDENTED, {"result": ROWS}, ROWS),
    "a number": (5, int, "5", {"result": 5}, 5),
    "a string": ("hi", Any, '"hi"', {"result": "hi"}, "hi"),
    "text": ("two\nlines", str, "two\nlines", ABSENT, ABSENT),
    "null": (None, Any, "null", ABSENT, ABSENT),
    "null where a number was promised": (None, int | None, "null", {"result": None}, None),
    "rows with words": (
        Answer(ROWS, message="Found 1 rows:"),
        Any,
        f"Found 1 rows:\n{INDENTED}",
        {"result": ROWS},
        ROWS,
    ),
    "no rows with words": (
        Answer([], message="Found 0 rows:"),
        Any,
        "Found 0 rows:\n[]",
        {"result": []},
        [],
    ),
    "a number with words": (Answer(5, message="Sum:"), int, "Sum:\n5", {"result": 5}, 5),
    "text with words": (Answer("hi", message="It says:"), str, "It says:\nhi", ABSENT, ABSENT),
    "words alone": (Answer(message="Deleted."), Any, "Deleted.", ABSENT, ABSENT),
    "words and a promised number that is null": (
        Answer(None, message="None yet."),
        int | None,
        "None yet.\nnull",
        {"result": None},
        None,
    ),
    "a text of its own": (
        Answer({"a": 1}, text="A is one.", message="Here."),
        Any,
        "A is one.",
        {"a": 1},
        {"a": 1},
    ),
    "a text of its own without data": (Answer(text="Done."), Any, "Done.", ABSENT, ABSENT),
    "a list that has a name": (
        Answer(ROWS, name="orders"),
        Any,
        INDENTED,
        {"result": ROWS},
        ROWS,
    ),
}


@each_revision
@pytest.mark.parametrize(
    ("outcome", "hint", "words", "as_object", "as_any"), SUCCESSES.values(), ids=list(SUCCESSES)
)
def test_a_success(
    outcome: Any, hint: Any, words: str, as_object: Any, as_any: Any, revision: str
) -> None:
    assert reply(saying(outcome, hint), "prose", revision)["result"] == {
        "content": [text(words)],
        **structure(revision, as_object, as_any),
        **required(revision),
    }


BESIDE: dict[str, tuple[Any, str, Any]] = {
    "a page": (
        Answer([], message="Found:", page=Page(limit=2, total=7)),
        '{"page":{"limit":2,"total":7}}',
        {"page": {"limit": 2, "total": 7}},
    ),
    "partial success with warnings": (
        Answer([], message="Found:", partial=True, warnings=["old", Notice("slow", "SLOW")]),
        '{"warnings":[{"message":"old"},{"message":"slow","code":"SLOW"}],"partial":true}',
        {"warnings": [{"message": "old"}, {"message": "slow", "code": "SLOW"}], "partial": True},
    ),
    "truncated": (
        Answer([], message="Found:", truncated=True),
        '{"truncated":true}',
        {"truncated": True},
    ),
}


@each_revision
@pytest.mark.parametrize(("answer", "second", "beside"), BESIDE.values(), ids=list(BESIDE))
def test_what_is_beside_the_data_stands_in_a_second_block_and_in_meta(
    answer: Any, second: str, beside: Any, revision: str
) -> None:
    assert reply(saying(answer), "prose", revision)["result"] == {
        "content": [text("Found:\n[]"), text(second)],
        **structure(revision, {"result": []}, []),
        **required(revision, beside),
    }


BESIDE_BLOCKS: dict[str, tuple[Any, list[Any], Any]] = {
    "with data": (Answer({"a": 1}), [text('{\n  "a": 1\n}')], {"a": 1}),
    "with words": (Answer(message="A chart:"), [text("A chart:")], ABSENT),
    "with neither": (Answer(), [], ABSENT),
}


@each_revision
@pytest.mark.parametrize(
    ("answer", "words", "data"), BESIDE_BLOCKS.values(), ids=list(BESIDE_BLOCKS)
)
def test_blocks_stand_behind_the_words(
    answer: Any, words: list[Any], data: Any, revision: str
) -> None:
    with_blocks = Answer(answer.data, message=answer.message, blocks=BLOCKS)
    assert reply(saying(with_blocks), "prose", revision)["result"] == {
        "content": [*words, *shown_blocks(revision)],
        **structure(revision, data, data),
        **required(revision),
    }


# Failure

FAILURES: dict[str, tuple[Any, str]] = {
    **{f"of kind {kind}": (Problem("No.", kind=kind), "No.") for kind in KINDS},
    "field errors": (
        Problem.validation("Invalid sheet", fields=[FieldError("race", "is required")]),
        "Invalid sheet",
    ),
    "everything it can say": (problem(), "No customer 7. Call customers first."),
    "a bug, which is masked": (RuntimeError("secret"), "Internal error"),
}


@each_revision
@pytest.mark.parametrize(("outcome", "message"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure_names_the_tool_and_has_no_structure(
    outcome: Any, message: str, revision: str
) -> None:
    assert reply(saying(outcome, int), "prose", revision)["result"] == {
        "content": [text(f"Error executing get: {message}")],
        "isError": True,
        **required(revision, {"problem": sent(outcome)}),
    }


@pytest.mark.parametrize("revision", [V4, V5])
def test_arguments_that_do_not_fit_are_named(revision: str) -> None:
    said = reply(saying(5), "prose", revision, limit="x")["result"]
    (block,) = said["content"]
    assert said["isError"] is True
    assert block["text"].startswith("Error executing get: ")
    assert "limit must be an integer, not a string" in block["text"]


# Without structure


@each_revision
def test_without_structure_the_text_says_it_all(revision: str) -> None:
    server = saying(Answer([1], message="Found:"), Answer[list[int]], structured=False)
    assert reply(server, "prose", revision)["result"] == {
        "content": [text("Found:\n[\n  1\n]")],
        **required(revision),
    }
    assert "outputSchema" not in listed(server, "prose", revision)
