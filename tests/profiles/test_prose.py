"""`prose`: the answer's own words, then its data as indented JSON."""

import json
from typing import Any

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from accord import Answer, Encoded, FieldError, Notice, Page, Problem, read
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


WARNED = [{"message": "old"}, {"message": "slow", "code": "SLOW"}]
DETAILS: dict[str, tuple[Any, str, Any]] = {
    # an answer, the last paragraph of its text, the details
    "a total": (Answer(page=Page(total=1700)), "0 of 1,700 items.", {"page": {"total": 1700}}),
    "a cursor": (
        Answer(page=Page(total=3, has_more=True, cursor='a"b\n')),
        r'0 of 3 items; pass cursor "a\"b\n" for the rest.',
        {"page": {"total": 3, "hasMore": True, "cursor": 'a"b\n'}},
    ),
    "an offset": (
        Answer(page=Page(offset=2000, limit=1000, has_more=True, next_offset=3000)),
        "0 items; offset 2000; limit 1000; pass offset 3000 for the rest.",
        {"page": {"offset": 2000, "limit": 1000, "hasMore": True, "nextOffset": 3000}},
    ),
    "all that a page can say": (
        Answer(
            page=Page(
                offset=2,
                limit=2,
                total=7,
                has_more=True,
                next_offset=4,
                cursor="c",
                before="b",
                after="a",
            )
        ),
        '0 of 7 items; offset 2; limit 2; before "b"; after "a"; next offset 4;'
        ' pass cursor "c" for the rest.',
        {
            "page": {
                "offset": 2,
                "limit": 2,
                "total": 7,
                "hasMore": True,
                "nextOffset": 4,
                "cursor": "c",
                "before": "b",
                "after": "a",
            }
        },
    ),
    "the last page": (
        Answer(page=Page(has_more=False)),
        "0 items; no more.",
        {"page": {"hasMore": False}},
    ),
    "more of it": (
        Answer(page=Page(has_more=True)),
        "0 items; more follow.",
        {"page": {"hasMore": True}},
    ),
    "a cursor and no word of more": (
        Answer(page=Page(cursor="c")),
        '0 items; cursor "c".',
        {"page": {"cursor": "c"}},
    ),
    "partial success with warnings": (
        Answer(partial=True, warnings=["old", Notice("slow", "SLOW")]),
        "Part of the work failed.\nWarning: old\nWarning SLOW: slow",
        {"warnings": WARNED, "partial": True},
    ),
    "warnings of every severity": (
        Answer(
            warnings=[
                Notice("a: b", "no code", "info"),
                Notice("two\nlines", severity="error"),
                Notice('"quoted"'),
                Notice(" ", ""),
            ]
        ),
        'Warning "no code" (info): a: b\nWarning (error): "two\\nlines"\n'
        'Warning: "\\"quoted\\""\nWarning "": " "',
        {
            "warnings": [
                {"message": "a: b", "code": "no code", "severity": "info"},
                {"message": "two\nlines", "severity": "error"},
                {"message": '"quoted"'},
                {"message": " ", "code": ""},
            ]
        },
    ),
    "truncated": (Answer(truncated=True), "The data is incomplete.", {"truncated": True}),
    "all of it": (
        Answer(page=Page(total=3), truncated=True, partial=True, warnings=["old"]),
        "0 of 3 items.\nPart of the work failed.\nThe data is incomplete.\nWarning: old",
        {"page": {"total": 3}, "warnings": WARNED[:1], "partial": True, "truncated": True},
    ),
}


@each_revision
@pytest.mark.parametrize(("answer", "closing", "details"), DETAILS.values(), ids=list(DETAILS))
def test_details_are_the_last_paragraph_and_in_the_structure(
    answer: Any, closing: str, details: Any, revision: str
) -> None:
    found = replace(answer, data=[], message="Found:")
    form = {"result": [], **details}
    result = reply(saying(found), "prose", revision)["result"]
    assert result == {
        "content": [text(f"Found:\n[]\n\n{closing}")],
        **structure(revision, form, form),
        **required(revision, details),
    }
    reading = read({"content": result["content"]})
    assert (reading.value, reading.response.message) == ([], "Found:")
    known = {"page": reading.page, "warnings": reading.warnings or None}
    flags = {"partial": reading.is_partial or None, "truncated": reading.is_truncated or None}
    said = {n: each for n, each in {**known, **flags}.items() if each is not None}
    assert json.loads(encode(said)) == details


TABLE = b'{"columns":["a"],"rows":[[1],[2]]}'
SHOWN: dict[str, tuple[Any, str]] = {
    # data with a page, and the text
    "rows": (ROWS, f"{INDENTED}\n\n1 of 7 rows."),
    "numbers": ([1, 2], "[\n  1,\n  2\n]\n\n2 of 7 items."),
    "an object": ({"a": 1}, '{\n  "a": 1\n}\n\n7 in all.'),
    "a number": (5, "5\n\n7 in all."),
    "nothing": (None, "null\n\n7 in all."),
    "a table": (
        Encoded(TABLE, layout="line", items_at=("rows",)),
        f"{TABLE.decode()}\n\n2 of 7 rows.",
    ),
    "a table in Markdown": (
        Encoded(TABLE, layout="table", items_at=("rows",)),
        "| a |\n| --- |\n| 1 |\n| 2 |\n\n2 of 7 rows.",
    ),
    "a table without rows": (
        Encoded(b'{"columns":["a"],"rows":[]}', layout="table", items_at=("rows",)),
        "| a |\n| --- |\n\n0 of 7 rows.",
    ),
    "a list that is not there": (
        Encoded(b'{"a":1}', items_at=("rows",)),
        '{\n  "a": 1\n}\n\n7 in all.',
    ),
}


@pytest.mark.parametrize(("data", "words"), SHOWN.values(), ids=list(SHOWN))
def test_the_page_counts_what_is_here(data: Any, words: str) -> None:
    answer = Answer(data, page=Page(total=7))
    content = reply(saying(answer), "prose", V4)["result"]["content"]
    assert content == [text(words)]
    page = read({"content": content}).page
    assert page is not None
    assert page.total == 7


def test_a_page_that_says_nothing_has_no_sentence() -> None:
    said = reply(saying(Answer([], page=Page())), "prose", V4)["result"]
    assert said["content"] == [text("[]")]
    assert said["structuredContent"] == {"result": [], "page": {}}


def test_a_page_that_the_data_states_adds_nothing_to_text_and_structure() -> None:
    data = {"count": 7, "next": None}
    said = reply(saying(Answer(data, page=Page(total=7), page_in_data=True)), "prose", V4)["result"]
    assert said["content"] == [text('{\n  "count": 7,\n  "next": null\n}')]
    assert said["structuredContent"] == data


BESIDE_BLOCKS: dict[str, tuple[Any, list[Any], Any]] = {
    "with data": (Answer({"a": 1}), [text('{\n  "a": 1\n}')], {"a": 1}),
    "with words": (Answer(message="A chart:"), [text("A chart:")], ABSENT),
    "with neither": (Answer(), [], ABSENT),
    "with a warning alone": (
        Answer(warnings=["old"]),
        [text("null\n\nWarning: old")],
        {"result": None, "warnings": WARNED[:1]},
    ),
}


@each_revision
@pytest.mark.parametrize(
    ("answer", "words", "data"), BESIDE_BLOCKS.values(), ids=list(BESIDE_BLOCKS)
)
def test_blocks_stand_behind_the_words(
    answer: Any, words: list[Any], data: Any, revision: str
) -> None:
    with_blocks = replace(answer, blocks=BLOCKS)
    beside = {"warnings": WARNED[:1]} if answer.warnings else None
    assert reply(saying(with_blocks), "prose", revision)["result"] == {
        "content": [*words, *shown_blocks(revision)],
        **structure(revision, data, data),
        **required(revision, beside),
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
