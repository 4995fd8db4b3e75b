"""Half of the law: whatever a tool says, each channel of the result says the same by itself.

For every answer or problem, profile and revision, through a server and through `render`. The other
half is a reader that finds it. Every result is held against MCP and against our published schemas
by `wire.check`.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from accord import (
    Answer,
    Audio,
    ContractError,
    Encoded,
    Link,
    Notice,
    Page,
    Problem,
    Server,
    render,
)
from law import channels, generators
from law.channels import Failed, Said
from laws import examples
from peer import Peer, asking

V1, V2, V3, V4, V5 = wire.REVISIONS
NO_STRUCTURE = (V1, V2)
WITHOUT_OWN_SHAPE = ("plain", "bare", "prose")
MCPS_OWN = {
    *("content", "isError", "structuredContent", "_meta"),
    *("resultType", "inputRequests", "requestState"),
}


# Tools of every kind, which say what they are told to


class OutcomeSlot:
    """The outcome of the next call of any tool."""

    outcome: Any = None

    def play(self) -> Any:
        if isinstance(self.outcome, Problem):
            raise self.outcome
        return self.outcome


class Kind(NamedTuple):
    """A tool as its author declares it, and what such a tool can say."""

    hint: Any
    data: st.SearchStrategy[Any]
    read_only: bool | None = None


class Case(NamedTuple):
    tool: str
    outcome: Any

    @property
    def kind(self) -> Kind:
        return KINDS[self.tool]


KINDS: Mapping[str, Kind] = {
    "anything": Kind(Any, generators.json_values | generators.encoded(generators.json_values)),
    "anything_read": Kind(Any, generators.json_values, read_only=True),
    "mcp_list_tools": Kind(Any, generators.records, read_only=True),
    "words": Kind(str, generators.words),
    "numbers": Kind(list[float], st.lists(generators.numbers.map(float), max_size=4)),
    "table": Kind(dict[str, int], st.dictionaries(generators.names, st.integers(-9, 9))),
    "maybe": Kind(int | None, st.none() | st.integers(-9, 9)),
    "either": Kind(dict[str, bool] | list[bool], st.just({"result": True}) | st.just([True])),
    "flag": Kind(bool, st.booleans()),
    "nothing": Kind(None, st.none()),
}
slot = OutcomeSlot()


def build() -> Server:
    server = Server("half_law", version="1.0")
    for name, kind in KINDS.items():
        options = {} if kind.read_only is None else {"read_only": kind.read_only}

        def act() -> Any:
            return slot.play()

        act.__annotations__ = {"return": kind.hint}
        server.tool(name=name, **options)(act)  # type: ignore[call-overload]
    return server


SERVER = build()
PEERS = {
    (profile, revision): Peer(SERVER, revision, asking(profile))
    for profile in wire.PROFILES
    for revision in wire.REVISIONS
}

profiles = st.sampled_from(wire.PROFILES)
revisions = st.sampled_from(wire.REVISIONS)
answer_cases = st.sampled_from(list(KINDS)).flatmap(
    lambda tool: generators.answers(KINDS[tool].data).map(lambda answer: Case(tool, answer))
)
problem_cases = st.builds(Case, st.sampled_from(list(KINDS)), generators.problems)


def replied(case: Case, profile: str, revision: str) -> Any:
    """Return the server's reply, which `Peer` has checked."""
    slot.outcome = case.outcome
    return PEERS[profile, revision].call(case.tool)


def rendered(case: Case, profile: str, revision: str) -> Any:
    """Return the result of `render`, checked as well."""
    result = render(
        case.outcome,
        tool=case.tool,
        profile=profile,
        revision=revision,
        read_only=case.kind.read_only,
    )
    # where `bare` is no tool result, `render` has the wording of `plain`
    reply = {"jsonrpc": "2.0", "id": 1, "result": result}
    return wire.check(reply, revision=revision, method="tools/call", profile=profile)["result"]


# What is expected


def exact(value: Any) -> str:
    """JSON by which 1, 1.0 and true are three values."""
    return json.dumps(value, sort_keys=True)


def same(one: Any, other: Any) -> bool:
    return exact(one) == exact(other)


def data_of(answer: Answer[Any]) -> Any:
    data = answer.data
    return json.loads(data.json) if isinstance(data, Encoded) else data


def beside_of(answer: Answer[Any]) -> dict[str, Any]:
    """Return the members beside the data; empty ones are left out."""
    found: dict[str, Any] = {}
    if answer.page is not None:
        found["page"] = msgspec.to_builtins(answer.page)
    if answer.warnings:
        found["warnings"] = [notice_of(warning) for warning in answer.warnings]
    if answer.partial:
        found["partial"] = True
    if answer.truncated:
        found["truncated"] = True
    return found


def notice_of(warning: Notice | str) -> dict[str, Any]:
    assert isinstance(warning, Notice)
    said: dict[str, Any] = {"message": warning.message}
    if warning.code is not None:
        said["code"] = warning.code
    if warning.severity != "warning":
        said["severity"] = warning.severity
    return said


def said_by(answer: Answer[Any]) -> Said:
    found = beside_of(answer)
    return Said(
        data_of(answer),
        found.get("page"),
        found.get("warnings"),
        answer.partial,
        answer.truncated,
        answer.message,
    )


def has_nothing(case: Case, *, is_rendered: bool) -> bool:
    """No data, and no promise of any."""
    promises = not is_rendered and case.kind.hint not in (Any, str, None)
    return data_of(case.outcome) is None and not promises


# What may be lost from text: the named losses, and no others

Loss = Callable[[Case, str, str], bool]


def ends_in_json(text: str) -> bool:
    return channels.split_prose(text)[0] != text


def a_string_that_is_json(case: Case, profile: str, revision: str) -> bool:
    """(a) Text as it stands, from a tool that is declared to return str."""
    text = case.outcome.data
    if case.kind.hint is not str or profile not in WITHOUT_OWN_SHAPE:
        return False
    return not same(channels.value_of(text), text)


def a_text_of_its_own(case: Case, profile: str, revision: str) -> bool:
    """(b) `text` is the whole text of `prose`; the data is in the structure alone."""
    return profile == "prose" and case.outcome.text is not None


def words_that_hide_data(case: Case, profile: str, revision: str) -> bool:
    """(d) In `prose`: a scalar behind a message, or words that end in a JSON document."""
    if profile != "prose":
        return False
    answer, data = case.outcome, data_of(case.outcome)
    is_words = case.kind.hint is str
    if answer.message is None:
        return is_words and ends_in_json(data)
    return not isinstance(data, dict | list) or ends_in_json(answer.message)


def blocks_that_become_words(case: Case, profile: str, revision: str) -> bool:
    """Blocks without data, in a revision that has none of their kind and words them as text."""
    answer = case.outcome
    if profile not in WITHOUT_OWN_SHAPE or data_of(answer) is not None or not answer.blocks:
        return False
    first = answer.blocks[0]
    return (isinstance(first, Audio) and revision == V1) or (
        isinstance(first, Link) and revision in NO_STRUCTURE
    )


def data_that_looks_like_details(case: Case, profile: str, revision: str) -> bool:
    """(e) Data that a reader takes for data with details, from an answer without any."""
    if profile not in WITHOUT_OWN_SHAPE or shows_details(case.outcome, profile):
        return False
    data = data_of(case.outcome)
    is_text = profile == "prose" or isinstance(data, str)
    return has_form_of_details(data) or (is_text and ends_in_details(case.outcome))


def has_form_of_details(data: Any) -> bool:
    """True for data in exactly the form in which data and details are sent."""
    said = channels.with_details(data)
    if same(said.data, data):
        return False
    try:
        if said.page is not None and not said.page.keys() <= PAGE_MEMBERS:
            return False
        msgspec.convert(said.page, Page | None)
        found = msgspec.convert(said.warnings, list[Notice] | None)
    except (msgspec.ValidationError, ContractError, AttributeError):
        return False
    has_only_known = all(each.keys() <= NOTICE_MEMBERS for each in said.warnings or ())
    return found != [] and has_only_known and {type(said.partial), type(said.truncated)} == {bool}


def ends_in_details(answer: Answer[Any]) -> bool:
    """True if words of the tool's own end in a paragraph of sentences about details."""
    words = [answer.text, answer.message, answer.data]
    return any(
        isinstance(each, str) and each.endswith(generators.DETAILS_IN_WORDS) for each in words
    )


PAGE_MEMBERS = set(Page.__struct_encode_fields__)
NOTICE_MEMBERS = {"message", "code", "severity"}
LOSSES: Mapping[str, Loss] = {
    "a: a string that is itself JSON": a_string_that_is_json,
    "b: an answer's own text without structure": a_text_of_its_own,
    "d: prose, a scalar beside a message or a message that ends in JSON": words_that_hide_data,
    "e: data in the form of data with details": data_that_looks_like_details,
    "older revisions get the URI or a description as text": blocks_that_become_words,
}
# (c), that the text of failures in `plain` and `prose` has message and remediation alone: FAILURES.


def is_excused(case: Case, profile: str, revision: str) -> bool:
    return any(loss(case, profile, revision) for loss in LOSSES.values())


# Successes


@settings(max_examples=examples(1_600), derandomize=True)
@given(answer_cases, profiles, revisions)
def test_an_answer_is_the_same_in_every_channel(case: Case, profile: str, revision: str) -> None:
    result = replied(case, profile, revision)["result"]
    check_success(case, profile, revision, result, is_rendered=False)
    check_promise(case, profile, revision, result)
    loose = case._replace(tool="anything") if case.kind.hint is str else case
    result = rendered(case, profile, revision)
    check_success(loose, profile, revision, result, is_rendered=True)


def check_success(
    case: Case, profile: str, revision: str, result: Any, *, is_rendered: bool
) -> None:
    assert "isError" not in result
    assert same(channels.beside(result), beside_of(case.outcome))
    check_text(case, profile, revision, result["content"])
    check_structure(case, profile, revision, result, is_rendered=is_rendered)
    if profile == "bare":
        check_root(case, result)


def check_text(case: Case, profile: str, revision: str, content: list[Any]) -> None:
    expected = said_by(case.outcome)
    has_details = shows_details(case.outcome, profile)
    if profile in OWN_SHAPES:
        assert same(OWN_SHAPES[profile](json.loads(content[0]["text"])), expected)
        return
    if content[0]["type"] != "text":
        assert not has_details
        assert expected.data is None
        return
    found = TEXTS[profile](content[0]["text"], has_details=has_details)
    if has_details:
        known = expected[1:-1]
        if profile == "prose" and expected.page == {}:  # which says nothing
            known = (None, *expected[2:-1])
        assert same(found[1:-1], known), "page, warnings, partial and truncated"
        if profile != "prose":
            assert same(found.data, expected.data)
            return
    if is_excused(case, profile, revision):
        return
    words = case.kind.hint is str and profile == "prose"
    assert same(found.message if words else found.data, expected.data)
    if profile == "prose" and expected.message is not None:
        assert (found.message or "").strip(" \t\r\n") == expected.message.strip(" \t\r\n")


def shows_details(answer: Answer[Any], profile: str) -> bool:
    """True if the text of `plain`, `bare` and `prose` has details."""
    details = beside_of(answer)
    return bool(details) and not (profile == "prose" and details == {"page": {}})


TEXTS: Mapping[str, Callable[..., Said]] = {
    "plain": channels.plain_text,
    "bare": channels.plain_text,
    "prose": channels.prose_text,
}
OWN_SHAPES: Mapping[str, Callable[[Any], Said]] = {
    "envelope": channels.envelope,
    "generic": channels.generic,
}


def check_structure(
    case: Case, profile: str, revision: str, result: Any, *, is_rendered: bool
) -> None:
    """Objects as they are, and what is none where the revision takes objects alone: wrapped.

    With details, every structure is an object of both.
    """
    is_own = profile in OWN_SHAPES
    has_details = bool(beside_of(case.outcome))
    is_words = case.kind.hint is str
    is_silent = is_words or has_nothing(case, is_rendered=is_rendered)
    if revision in NO_STRUCTURE or (is_silent and not is_own and not has_details):
        assert "structuredContent" not in result
        return
    structure = result["structuredContent"]
    data = data_of(case.outcome)
    if is_own:
        assert same(OWN_SHAPES[profile](structure), said_by(case.outcome))
    elif has_details:
        assert same(channels.with_details(structure)[:-1], said_by(case.outcome)[:-1])
    elif revision == V5 or isinstance(data, dict):
        assert same(structure, data)
    else:
        assert same(structure, {"result": data})


def check_root(case: Case, result: Any) -> None:
    """In `bare`, the fields stand at the root too, but for those that MCP would take for its own."""
    data, details = data_of(case.outcome), beside_of(case.outcome)
    at_root = {name: value for name, value in result.items() if name not in MCPS_OWN}
    if not isinstance(data, dict):
        fields = {} if data is None and not details else {"result": data, **details}
        assert same(at_root, fields)
        return
    if details:
        own = {"_accord": data["_accord"]} if "_accord" in data else {}
        data = {**data, "_accord": {**details, **own}}
    assert same(at_root, {k: v for k, v in data.items() if k not in MCPS_OWN})


@cache
def promised(profile: str, revision: str) -> Mapping[str, jsonschema_rs.Validator]:
    """The output schemas that a client is shown, by the names of the tools that have one."""
    tools = PEERS[profile, revision].ask("tools/list")["result"]["tools"]
    return {
        tool["name"]: jsonschema_rs.validator_for(tool["outputSchema"])
        for tool in tools
        if "outputSchema" in tool
    }


def check_promise(case: Case, profile: str, revision: str, result: Any) -> None:
    """The structure is what the tool's output schema says; a failure may have none."""
    schema = promised(profile, revision).get(case.tool)
    if schema is None:
        assert profile not in OWN_SHAPES or revision in NO_STRUCTURE
    elif "isError" not in result or "structuredContent" in result:
        schema.validate(result["structuredContent"])


# Failures


@settings(max_examples=examples(600), derandomize=True)
@given(problem_cases, profiles, revisions)
def test_a_problem_is_the_same_in_every_channel(case: Case, profile: str, revision: str) -> None:
    reply = replied(case, profile, revision)
    code = error_code(case.outcome, profile, revision)
    if code is None:
        check_failure(case, profile, revision, reply["result"])
        check_promise(case, profile, revision, reply["result"])
    else:
        check_error(case.outcome, code, reply["error"])
    check_failure(case, profile, revision, rendered(case, profile, revision))


def check_error(problem: Problem, code: int, error: Any) -> None:
    """A JSON-RPC error has the message, the fields if there are any, and the whole problem."""
    data = {"validation_errors": fields_of(problem)} if problem.fields else {}
    sent = error["data"].pop(channels.META_KEY)
    assert error == {"code": code, "message": problem.message, "data": data}
    assert same(channels.sent_problem(sent), with_all(problem))


def error_code(problem: Problem, profile: str, revision: str) -> int | None:
    """`bare` alone has failures that are JSON-RPC errors."""
    if profile != "bare":
        return None
    if problem.fields:
        return -32602
    return -32603 if revision in (V1, V2, V3) else None


def fields_of(problem: Problem) -> list[dict[str, str]]:
    return [msgspec.to_builtins(field) for field in problem.fields]


def check_failure(case: Case, profile: str, revision: str, result: Any) -> None:
    assert result["isError"] is True
    (block,) = result["content"]
    if profile in FAILED_SHAPES:
        assert channels.beside(result) == {}
        expected = FAILURES[profile](case.outcome)
        assert same(FAILED_SHAPES[profile](json.loads(block["text"])), expected)
        if revision not in NO_STRUCTURE:
            assert same(FAILED_SHAPES[profile](result["structuredContent"]), expected)
    else:
        beside = channels.beside(result)
        assert beside.keys() == {"problem"}
        assert same(channels.sent_problem(beside["problem"]), with_all(case.outcome))
        beginning = case.tool if profile == "prose" else "tool"
        check_words(case.outcome, channels.failure_text(block["text"], beginning))
    assert ("structuredContent" in result) == (
        profile in FAILED_SHAPES and revision not in NO_STRUCTURE
    )


def check_words(problem: Problem, words: str) -> None:
    """The message as written, or as a sentence and the remediation as another."""
    remediation = (problem.remediation or "").strip()
    if not remediation:
        assert words == problem.message
        return
    message = problem.message.rstrip()
    assert words.startswith(message)
    ending, blank, second = words[len(message) :].partition(" ")
    assert (ending in ("", "."), blank) == (True, " ")
    assert second.startswith(remediation[1:], 1)
    assert second[len(remediation) :] in ("", ".")


FAILED_SHAPES: Mapping[str, Callable[[Any], Failed]] = {
    "envelope": channels.envelope_failure,
    "generic": channels.generic_failure,
}


def with_all(problem: Problem) -> Failed:
    more: dict[str, Any] = {
        "code": problem.code,
        "type": problem.kind,
        "retryable": problem.retryable,
        "summary": problem.summary,
        "remediation": problem.remediation,
        "retry_after": problem.retry_after,
        "fields": fields_of(problem) or None,
    }
    return Failed(problem.message, {k: v for k, v in more.items() if v is not None})


def with_all_but_the_kind(problem: Problem) -> Failed:
    """The generic response has a code, and the summary as its own message."""
    message, more = with_all(problem)
    del more["type"]
    return Failed(message, {**more, "summary": problem.summary or problem.message})


FAILURES: Mapping[str, Callable[[Problem], Failed]] = {
    "envelope": with_all,
    "generic": with_all_but_the_kind,
}
