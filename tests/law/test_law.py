"""The law, whole: what a writer says, the reader reads, on every channel.

    read(render(a, p, r)) says the same as a

compared by outcome, data, page and warnings: on the whole result, on its text alone, and on its
structure alone. Beside the named losses there is one case that no reader can tell apart: data that
itself says that something failed, where the profile has no place to say that it did not.

A problem is compared by all of its members on the whole result (`generic` has no kind), and by
outcome and message on the text of `plain` and `prose` alone.
"""

import json
from typing import Any

from hypothesis import given, settings

from accord import Answer, Audio, Link, Notice, Problem
from accord.reader import Reading, read
from accord.revisions import REVISIONS
from law.test_half_law import (
    WITHOUT_OWN_SHAPE,
    Case,
    answer_cases,
    beside_of,
    data_of,
    data_that_looks_like_details,
    is_excused,
    problem_cases,
    profiles,
    replied,
    revisions,
    same,
    with_all,
)
from laws import examples

SAYS_FAILED = {"payload-failed", "all-failed", "error-text"}


def notices(reading: Reading) -> list[dict[str, Any]]:
    return [notice_members(notice) for notice in reading.warnings]


def notice_members(notice: Notice) -> dict[str, Any]:
    members = {"message": notice.message, "code": notice.code, "severity": notice.severity}
    defaults = {"code": None, "severity": "warning"}
    return {name: each for name, each in members.items() if defaults.get(name, ...) != each}


def page_members(reading: Reading) -> dict[str, Any] | None:
    if reading.page is None:
        return None
    names = {"has_more": "hasMore", "next_offset": "nextOffset"}
    said = {name: getattr(reading.page, name) for name in reading.page.__struct_fields__}
    return {names.get(name, name): each for name, each in said.items() if each is not None}


def beside_in(reading: Reading) -> dict[str, Any]:
    said = {
        "page": page_members(reading),
        "warnings": notices(reading) or None,
        "partial": reading.is_partial or None,
        "truncated": reading.is_truncated or None,
    }
    return {name: each for name, each in said.items() if each is not None}


def data_says_failed(reading: Reading, profile: str) -> bool:
    return profile in WITHOUT_OWN_SHAPE and not SAYS_FAILED.isdisjoint(reading.rules)


def has_words_for_blocks(answer: Answer[Any], revision: str) -> bool:
    """Older revisions get the URI or a description as text, which looks like what the tool says."""
    rows = REVISIONS[revision]
    kinds = ((Audio, rows.audio), (Link, rows.links))
    return any(
        isinstance(block, kind) and not has for block in answer.blocks for kind, has in kinds
    )


def is_document(data: Any) -> bool:
    """A string that is itself JSON, which the reader takes for what was encoded twice."""
    if not isinstance(data, str) or data.strip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def ends_as_documents_do(text: str, profile: str) -> bool:
    """(f) Words of several paragraphs; in a text alone, the last one is read as one of them.

    A README may end in a warning. Only what the details say of how to continue is read even so.
    """
    words = text.rpartition("\n\n")[0]
    return profile == "prose" and "\n\n" in words and words.rstrip()[-1:] not in ("}", "]")


@settings(max_examples=examples(1_500), derandomize=True)
@given(answer_cases, profiles, revisions)
def test_an_answer_is_read_as_it_was_said(case: Case, profile: str, revision: str) -> None:
    result = replied(case, profile, revision)["result"]
    answer: Answer[Any] = case.outcome
    excused = (
        is_excused(case, profile, revision)
        or has_words_for_blocks(answer, revision)
        or is_document(data_of(answer))
    )
    whole = read({"jsonrpc": "2.0", "id": 1, "result": result}, case.tool)
    check(whole, case, profile, [data_of(answer)], excused=excused)
    text = {"content": [block for block in result["content"] if block["type"] == "text"]}
    if result["content"][0]["type"] == "text":  # else the first text is what stands beside
        for content in (text["content"], text["content"][:1]):
            if ends_as_documents_do(content[0]["text"], profile):
                continue
            alone = read({"content": content}, case.tool)
            check(alone, case, profile, [data_of(answer)], excused=excused)
    if "structuredContent" in result:
        structure = {name: each for name, each in result.items() if name != "content"}
        wrapped = [data_of(answer), {"result": data_of(answer)}]  # as revisions wrap it
        check(read(structure, case.tool), case, profile, wrapped, excused=False)


def check(
    reading: Reading, case: Case, profile: str, expected: list[Any], *, excused: bool
) -> None:
    if data_says_failed(reading, profile):
        return
    assert not reading.is_failure
    if data_that_looks_like_details(case, profile, ""):
        return
    if not excused:
        assert any(same(reading.value, data) for data in expected), reading
    data = data_of(case.outcome)
    if isinstance(data, dict) and data.keys() & {"_meta", "_warnings"}:
        return  # which an envelope reserves for a tool's own page and warnings
    said = dict(beside_of(case.outcome))
    assert same(beside_in(reading) | {"page": None}, said | {"page": None}), reading
    assert same(beside_in(reading).get("page"), said.get("page") or None) or not said.get("page")


@settings(max_examples=examples(600), derandomize=True)
@given(problem_cases, profiles, revisions)
def test_a_problem_is_read_as_it_was_said(case: Case, profile: str, revision: str) -> None:
    reply = replied(case, profile, revision)
    problem: Problem = case.outcome
    reading = read(reply, case.tool)
    assert reading.is_failure
    assert reading.response.error is not None
    assert reading.response.error.message.strip() == problem.message.strip()
    if profile != "generic":  # it has no kind
        details: Any = reading.response.error.details
        is_rpc_error = "error" in reply
        assert reading.response.error.code == (
            reply["error"]["code"] if is_rpc_error else problem.code
        )
        names = {"validation_errors"} if is_rpc_error and problem.fields else set()
        assert same({k: v for k, v in details.items() if k not in names}, with_all(problem).more)
    if profile in ("plain", "prose"):
        alone = read({k: v for k, v in reply["result"].items() if k != "_meta"}, case.tool)
        assert alone.is_failure
        assert alone.response.error is not None
        assert alone.response.error.message.strip().startswith(problem.message.strip())
