"""response-v2: the envelope, the two helpers that make it, and the profile that sends it."""

import asyncio
import base64
import json
import re
from collections import OrderedDict, UserDict
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict
from uuid import UUID

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server import MCPServer
from pydantic import BaseModel

import wire
from accord import (
    Answer,
    ContractError,
    Cursors,
    Envelope,
    FieldError,
    Notice,
    Page,
    Problem,
    Server,
    Telemetry,
    error_response,
    read,
    render,
    success_response,
)
from accord.model import schemas
from accord.model.answer import KINDS
from peer import Peer, asking

requirement = pytest.mark.requirement
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
V2 = jsonschema_rs.validator_for(schemas.load("response-v2"))
VERSION = {"version": "response-v2"}
ROOT = ["success", "data", "error", "meta"]


def sent(envelope: Envelope) -> Any:
    """An envelope as it goes on a wire: JSON that the published schema allows."""
    written = json.loads(json.dumps(asdict(envelope), allow_nan=False))
    V2.validate(written)
    return written


# The envelope


@requirement("001.envelope.example")
def test_the_envelope_of_the_document_with_all_that_it_may_have() -> None:
    envelope = success_response(
        {"any": "thing"}, warnings=["w"], pagination={}, telemetry={"duration_ms": 1}
    )
    assert list(sent(envelope)) == ROOT
    assert list(sent(envelope)["meta"]) == ["version", "pagination", "telemetry", "warnings"]


@requirement("001.envelope.root", "001.helper.dataclass", "001.envelope.version")
@pytest.mark.parametrize(
    "envelope", [success_response(), error_response("No")], ids=["success", "error"]
)
def test_both_helpers_give_a_frozen_dataclass_of_four_fields(envelope: Envelope) -> None:
    assert is_dataclass(envelope)
    assert [field.name for field in fields(envelope)] == ROOT
    assert list(asdict(envelope)) == ROOT
    with pytest.raises(FrozenInstanceError):
        envelope.success = True  # type: ignore[misc]


@requirement(
    "001.envelope.success",
    "001.envelope.data-empty",
    "001.envelope.error-null",
    "001.envelope.meta",
    "001.envelope.version",
    "001.helper.version",
    "001.meta.optional",
)
def test_a_success_without_a_payload_has_empty_data_and_no_more_than_it_must() -> None:
    assert sent(success_response()) == {
        "success": True,
        "data": {},
        "error": None,
        "meta": VERSION,
    }


@requirement(
    "001.envelope.success",
    "001.envelope.error-said",
    "001.edge.missing",
    "001.helper.error",
    "001.helper.version",
)
def test_a_failure_has_empty_data_and_says_why() -> None:
    assert sent(error_response("No user 7")) == {
        "success": False,
        "data": {},
        "error": "No user 7",
        "meta": VERSION,
    }


BROKEN: dict[str, tuple[Any, Any, Any, Any]] = {
    "a success with an error": (True, {}, "No", VERSION),
    "a success with an empty error": (True, {}, "", VERSION),
    "a failure without an error": (False, {}, None, VERSION),
    "a failure with an empty error": (False, {}, "", VERSION),
    "a failure with a blank error": (False, {}, " \n", VERSION),
    "a failure whose error is an object": (False, {}, {"message": "No"}, VERSION),
    "data that is a list": (True, [], None, VERSION),
    "data that is null": (True, None, None, VERSION),
    "meta without a version": (True, {}, None, {}),
    "meta of another version": (True, {}, None, {"version": "response-v1"}),
    "success that is a word": ("yes", {}, None, VERSION),
    "success that is a number": (1, {}, None, VERSION),
    "meta that is null": (True, {}, None, None),
    "meta that is a list": (True, {}, None, []),
}


@requirement("001.helper.no-other-shape", "001.envelope.data", "001.envelope.success")
@pytest.mark.parametrize("members", BROKEN.values(), ids=list(BROKEN))
def test_an_envelope_that_breaks_the_contract_cannot_be_made(members: Any) -> None:
    with pytest.raises(ContractError):
        Envelope(*members)


@requirement("001.checklist.meta-documented")
def test_the_schema_describes_what_meta_may_have() -> None:
    meta = schemas.load("response-v2")["properties"]["meta"]["properties"]
    told = {
        *("version", "warnings", "warning_details", "pagination", "telemetry", "rate_limit"),
        *("request_id", "content_fidelity", "error", "partial", "truncated", "wrapper", "message"),
    }
    assert told <= meta.keys()
    said = {"description", "properties", "const"}
    assert [name for name in told if not meta[name].keys() & said] == []


# success_response: the payload

PAYLOADS: dict[str, tuple[Callable[[], Envelope], Any]] = {
    "named fields": (
        lambda: success_response(user={"id": 1}, count=0),
        {"user": {"id": 1}, "count": 0},
    ),
    "a mapping": (lambda: success_response({"user": None}), {"user": None}),
    "another mapping": (lambda: success_response(OrderedDict(user=1)), {"user": 1}),
    "a mapping that is no dict": (lambda: success_response(UserDict(user=1)), {"user": 1}),
    "a mapping by name": (lambda: success_response(data={"user": 1}), {"user": 1}),
    "a list by name": (lambda: success_response(data=[1]), {"items": [1]}),
    "a mapping with the names of arguments": (
        lambda: success_response(data={"data": 1, "meta": 2, "warnings": 3}),
        {"data": 1, "meta": 2, "warnings": 3},
    ),
    "a list": (lambda: success_response([1, 2]), {"items": [1, 2]}),
    "a tuple": (lambda: success_response((1, 2)), {"items": [1, 2]}),
    "an empty list": (lambda: success_response([]), {"items": []}),
    "a list with a name": (lambda: success_response(users=[]), {"users": []}),
    "a list and a count": (lambda: success_response(rows=[], count=0), {"rows": [], "count": 0}),
    "a number": (lambda: success_response(5), {"result": 5}),
    "zero": (lambda: success_response(0), {"result": 0}),
    "false": (lambda: success_response(False), {"result": False}),
    "text": (lambda: success_response("words"), {"result": "words"}),
    "empty text": (lambda: success_response(""), {"result": ""}),
    "null": (lambda: success_response(None), {}),
    "an empty mapping": (lambda: success_response({}), {}),
    "fields named like the root": (
        lambda: success_response(success=False, error="No", found=True),
        {"success": False, "error": "No", "found": True},
    ),
}


@requirement(
    "001.helper.success",
    "001.decided.named-list",
    "001.checklist.only-data",
    "001.envelope.data",
    "001.edge.empty",
)
@pytest.mark.parametrize(("make", "data"), PAYLOADS.values(), ids=list(PAYLOADS))
def test_a_payload_is_an_object_in_data_and_nowhere_else(
    make: Callable[[], Envelope], data: Any
) -> None:
    assert sent(make()) == {"success": True, "data": data, "error": None, "meta": VERSION}


@requirement("001.helper.success")
@pytest.mark.parametrize("data", [{"users": []}, {}, [1], 5], ids=str)
def test_the_payload_is_data_or_named_fields_and_not_both(data: Any) -> None:
    with pytest.raises(ContractError, match="not both; put 'users' into data"):
        success_response(data, users=[])


def test_meta_has_free_members_too() -> None:
    envelope = success_response({"a": 1}, meta=MappingProxyType({"region": "eu"}), warnings="old")
    assert sent(envelope)["meta"] == {**VERSION, "warnings": ["old"], "region": "eu"}
    assert sent(envelope)["data"] == {"a": 1}


@pytest.mark.parametrize(
    "name",
    [
        *("version", "message", "wrapper", "partial", "truncated", "warnings", "error"),
        *("warning_details", "pagination", "rate_limit", "telemetry", "request_id"),
        "content_fidelity",
    ],
)
def test_free_members_of_meta_do_not_replace_those_of_the_contract(name: str) -> None:
    with pytest.raises(ContractError, match=f"meta must not have {name!r}"):
        success_response(meta={name: "x"})


@pytest.mark.parametrize("meta", ["eu", ["eu"], 5])
def test_meta_that_is_no_mapping_is_refused_in_words(meta: Any) -> None:
    with pytest.raises(ContractError, match="meta must be a mapping"):
        success_response(meta=meta)


@requirement("001.edge.several")
def test_several_payloads_each_have_a_name() -> None:
    data = sent(success_response(spec={"id": "s"}, tasks=[{"id": "t"}]))["data"]
    assert data == {"spec": {"id": "s"}, "tasks": [{"id": "t"}]}


@requirement("001.edge.blocked", "001.edge.partial")
def test_blocked_work_is_a_success_that_says_so() -> None:
    envelope = sent(success_response(done=[], blocked_by="review", _warnings=["t2 waits"]))
    assert envelope["success"] is True
    assert envelope["error"] is None
    assert envelope["data"] == {"done": [], "blocked_by": "review", "_warnings": ["t2 waits"]}


@requirement("001.reserved.meta", "001.reserved.warnings", "001.envelope.root")
@pytest.mark.parametrize("given", ["whole", "by name"])
def test_a_tools_own_meta_and_warnings_pass_through_in_data(given: str) -> None:
    own: dict[str, Any] = {
        "items": [1],
        "_meta": {"cursor": "abc", "took_ms": 3},
        "_warnings": ["slow"],
    }
    envelope = sent(success_response(own) if given == "whole" else success_response(**own))
    assert envelope["data"] == own
    assert envelope["meta"] == VERSION
    assert list(envelope) == ROOT


# success_response: meta


@requirement("001.meta.warnings", "001.decided.warning-details")
@pytest.mark.parametrize(
    ("warnings", "meta"),
    [
        ((), {}),
        ("slow", {"warnings": ["slow"]}),
        (["slow", "old"], {"warnings": ["slow", "old"]}),
        ([Notice("slow")], {"warnings": ["slow"]}),
        (
            ["old", Notice("slow", code="SLOW"), Notice("cached", severity="info")],
            {
                "warnings": ["old", "slow", "cached"],
                "warning_details": [
                    {"severity": "warning", "message": "old"},
                    {"code": "SLOW", "severity": "warning", "message": "slow"},
                    {"severity": "info", "message": "cached"},
                ],
            },
        ),
        ((each for each in ["slow"]), {"warnings": ["slow"]}),
    ],
    ids=["none", "a string", "strings", "a notice", "notices that say more", "a generator"],
)
def test_warnings_are_sentences_with_details_where_there_are_any(warnings: Any, meta: Any) -> None:
    assert sent(success_response(warnings=warnings))["meta"] == VERSION | meta


@requirement("001.meta.warnings")
def test_warnings_that_are_a_payload_of_that_name_are_refused_in_words() -> None:
    payload: Any = {"warnings": [{"station": 3}]}
    with pytest.raises(ContractError, match="as the first argument"):
        success_response(**payload)
    assert sent(success_response(payload))["data"] == payload


@requirement("001.meta.pagination", "001.decided.pagination-members")
@pytest.mark.parametrize(
    ("pagination", "expected"),
    [
        (Page(), {}),
        (
            Page(cursor="abc", has_more=True, limit=50),
            {"cursor": "abc", "has_more": True, "page_size": 50},
        ),
        (Page(total=7), {"total_count": 7}),
        (
            Page(offset=0, next_offset=50, before="a", after="b"),
            {"offset": 0, "next_offset": 50, "before": "a", "after": "b"},
        ),
        ({}, {}),
        ({"cursor": "abc"}, {"cursor": "abc"}),
        (MappingProxyType({"has_more": False, "pages": 3}), {"has_more": False, "pages": 3}),
    ],
    ids=["empty", "cursor", "total", "offsets", "no members", "a member", "unknown members"],
)
def test_a_page_has_three_members_always_and_what_else_is_known(
    pagination: Any, expected: Any
) -> None:
    always = {"cursor": None, "has_more": None, "page_size": None}
    assert sent(success_response(pagination=pagination))["meta"]["pagination"] == always | expected


@requirement("001.meta.telemetry", "001.meta.rate-limit", "001.decided.request-id")
@pytest.mark.parametrize(
    "make",
    [success_response, lambda **meta: error_response("No", **meta)],
    ids=["success", "error"],
)
def test_meta_has_what_is_given_for_it(make: Callable[..., Envelope]) -> None:
    meta = {
        "request_id": "r-1",
        "telemetry": {"duration_ms": 1.5, "rows": 3},
        "rate_limit": {"remaining": 0},
    }
    assert sent(make(**meta))["meta"] == VERSION | meta
    assert sent(make())["meta"] == VERSION


@requirement("001.meta.telemetry", "001.meta.rate-limit")
@pytest.mark.parametrize("member", ["telemetry", "rate_limit"])
def test_meta_takes_any_mapping(member: str) -> None:
    given: Any = {member: MappingProxyType({"duration_ms": 1})}
    assert sent(success_response(**given))["meta"][member] == {"duration_ms": 1}


WRONG_META: dict[str, dict[str, Any]] = {
    "a page size that is a word": {"pagination": {"page_size": "ten"}},
    "has_more that is a number": {"pagination": {"has_more": 1}},
    "a cursor that is a number": {"pagination": {"cursor": 7}},
    "a total that is null": {"pagination": {"total_count": None}},
    "a duration below zero": {"telemetry": {"duration_ms": -1}},
    "a duration that is a word": {"telemetry": {"duration_ms": "fast"}},
    "a request id that is a number": {"request_id": 7},
    "a rate limit that is a list": {"rate_limit": [1]},
}


@requirement("001.helper.no-other-shape")
@pytest.mark.parametrize("meta", WRONG_META.values(), ids=list(WRONG_META))
def test_no_envelope_comes_out_that_its_schema_refuses(meta: dict[str, Any]) -> None:
    try:
        envelope = success_response(**meta)
    except ContractError:
        return
    sent(envelope)


# error_response


@requirement("001.decided.error-context")
@pytest.mark.parametrize(
    ("context", "data"),
    [
        ({}, {}),
        ({"code": "NO_USER"}, {"error_code": "NO_USER"}),
        ({"type": "not_found"}, {"error_type": "not_found"}),
        ({"remediation": "List users first"}, {"remediation": "List users first"}),
        ({"details": {"id": 7}}, {"details": {"id": 7}}),
        ({"details": {}}, {"details": {}}),
        ({"details": MappingProxyType({"id": 7})}, {"details": {"id": 7}}),
        (
            {"code": "C", "type": "conflict", "remediation": "R", "details": {}},
            {"error_code": "C", "error_type": "conflict", "remediation": "R", "details": {}},
        ),
    ],
    ids=["none", "code", "type", "remedy", "details", "empty", "another mapping", "all"],
)
def test_context_that_is_given_fills_data(context: Any, data: Any) -> None:
    assert sent(error_response("No user 7", **context))["data"] == data


@requirement("001.decided.error-types")
def test_there_are_nine_error_types_and_no_others() -> None:
    assert set(KINDS) == {
        *("validation", "authentication", "authorization", "not_found", "conflict"),
        *("rate_limit", "internal", "unavailable", "timeout"),
    }
    for kind in KINDS:
        assert sent(error_response("No", type=kind))["data"] == {"error_type": kind}
    with pytest.raises(ContractError, match="no error type 'cosmic'; there are validation, "):
        error_response("No", type="cosmic")


@requirement("001.envelope.error-said")
@pytest.mark.parametrize("message", ["", " ", "\n\t", None, ValueError("No")])
def test_a_failure_without_words_cannot_be_made(message: Any) -> None:
    with pytest.raises(ContractError):
        error_response(message)


@requirement("001.helper.error", "001.edge.invalid")
def test_an_errors_own_words_are_the_error() -> None:
    try:
        int("seven")
    except ValueError as error:
        envelope = sent(error_response(str(error)))
    assert envelope["error"] == "invalid literal for int() with base 10: 'seven'"
    assert (envelope["success"], envelope["data"]) == (False, {})


# What JSON cannot hold


class Colour(Enum):
    RED = "red"


class Struct(msgspec.Struct):
    a: int = 1


@dataclass
class Record:
    a: int = 1


REFUSED: dict[str, Any] = {
    "a set": {1},
    "bytes": b"hi",
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a set in a list": [{1}],
    "NaN in a dataclass": Record(float("nan")),  # type: ignore[arg-type]
}
STRANGE: dict[str, Any] = {
    "a date": datetime(2024, 1, 1, tzinfo=UTC),
    "a decimal": Decimal("1.5"),
    "a UUID": UUID(int=7),
    "a path": Path("a"),
    "an enum": Colour.RED,
    "a struct": Struct(),
    "a dataclass": Record(),
    "a tuple": (1, 2),
    "a range": range(2),
    "a mapping that is no dict": UserDict(a=1),
    "a mapping that cannot be copied": MappingProxyType({"a": 1}),
    "a generator": (each for each in [1]),
    "an object": object(),
    "a class": Record,
    "a key that is a tuple": {(1, 2): 3},
}


def itself() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@requirement("001.helper.no-other-shape")
@pytest.mark.parametrize("value", REFUSED.values(), ids=list(REFUSED))
def test_what_json_does_not_have_is_refused_where_it_stands(value: Any) -> None:
    with pytest.raises(ContractError, match=r"data holds .* at \['users'\]"):
        success_response(users=value)
    with pytest.raises(ContractError, match="data holds"):
        error_response("No", details={"users": value})


@requirement("001.helper.no-other-shape")
def test_what_holds_itself_is_refused() -> None:
    with pytest.raises(ContractError, match="contains itself"):
        success_response(users=itself())


@requirement("001.helper.dataclass")
@pytest.mark.parametrize("value", STRANGE.values(), ids=list(STRANGE))
def test_what_is_not_refused_is_json_once_it_is_a_dict(value: Any) -> None:
    try:
        envelope = success_response(value=value)
    except ContractError:
        return
    sent(envelope)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@requirement("001.envelope.every-tool", "001.helper.no-other-shape")
@given(
    value=json_values,
    warnings=st.lists(st.text() | st.builds(Notice, st.text(), code=st.none() | st.text())),
    rate_limit=st.none() | objects,
    request_id=st.none() | st.text(),
)
def test_whatever_json_goes_in_the_envelope_is_valid(
    value: Any, warnings: Any, rate_limit: Any, request_id: str | None
) -> None:
    envelope = sent(
        success_response(value, warnings=warnings, rate_limit=rate_limit, request_id=request_id)
    )
    data = envelope["data"]
    unwrapped = data if isinstance(value, dict) else data.get("items", data.get("result"))
    assert unwrapped == value


@requirement("001.helper.no-other-shape")
@given(message=st.text(), details=st.none() | objects)
def test_whatever_words_go_in_a_failure_is_valid_or_refused(message: str, details: Any) -> None:
    try:
        envelope = sent(error_response(message, details=details))
    except ContractError:
        assert not message.strip()
    else:
        assert envelope["error"] == message
        assert envelope["data"] == ({} if details is None else {"details": details})


# Tools of another framework


def foundry() -> MCPServer:
    """A server of the official SDK whose tools are written as the document writes one."""
    mcp = MCPServer("foundry")

    @mcp.tool()
    def foundry_example(count: int) -> dict[str, Any]:
        try:
            payload: dict[str, Any] = {"items": [10 // count] * count, "count": count}
            return asdict(success_response(**payload))
        except ZeroDivisionError as error:
            return asdict(error_response(str(error)))

    return mcp


@requirement("001.helper.import", "001.helper.any-framework", "001.testing.unit")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (2, {"success": True, "data": {"items": [5, 5], "count": 2}, "error": None}),
        (0, {"success": False, "data": {}, "error": "integer division or modulo by zero"}),
    ],
    ids=["success", "failure"],
)
def test_a_tool_of_the_official_sdk_sends_the_envelope(
    mode: Any, count: int, expected: dict[str, Any]
) -> None:
    async def call() -> Any:
        async with Client(foundry(), mode=mode) as client:
            return await client.call_tool("foundry_example", {"count": count})

    result = asyncio.run(call())
    V2.validate(result.structured_content)
    assert result.structured_content == expected | {"meta": VERSION}
    assert json.loads(result.content[0].text) == result.structured_content


# The profile


def shop(said: Any, **settings: Any) -> Server:
    """A server whose tool `get` says this, in `envelope` unless told otherwise."""
    server = Server("shop", **({"profile": "envelope"} | settings))

    @server.tool
    def get() -> Any:
        if isinstance(said, BaseException):
            raise said
        return said

    return server


def envelope_of(result: Any) -> Any:
    """The envelope in a result: in its text, and the same in its structure where it has one."""
    envelope = json.loads(result["content"][0]["text"])
    V2.validate(envelope)
    assert list(envelope) == ROOT
    assert result.get("structuredContent", envelope) == envelope
    assert result.get("isError", False) is not envelope["success"]
    return envelope


SAID: dict[str, tuple[Any, dict[str, Any]]] = {
    "an object": ({"id": 1}, {"data": {"id": 1}}),
    "a list": ([1], {"data": {"items": [1]}}),
    "a list with a name": (Answer([1], name="users"), {"data": {"users": [1]}}),
    "a number": (5, {"data": {"result": 5}}),
    "text": ("words", {"data": {"result": "words"}}),
    "nothing": (None, {"data": {}}),
    "its own meta and warnings": (
        {"_meta": {"a": 1}, "_warnings": ["b"]},
        {"data": {"_meta": {"a": 1}, "_warnings": ["b"]}},
    ),
    "a problem": (
        Problem.not_found("No user 7"),
        {"success": False, "data": {}, "error": "No user 7"},
    ),
    "a bug": (RuntimeError("hunter2"), {"success": False, "data": {}, "error": "Internal error"}),
}


@requirement(
    "001.envelope.every-tool",
    "001.envelope.root",
    "001.envelope.version",
    "001.decided.named-list",
    "001.reserved.meta",
    "001.reserved.warnings",
)
@pytest.mark.parametrize(("said", "expected"), SAID.values(), ids=list(SAID))
@each_revision
def test_every_answer_of_a_tool_is_in_the_envelope(revision: str, said: Any, expected: Any) -> None:
    envelope = envelope_of(Peer(shop(said), revision).call("get")["result"])
    assert envelope["meta"].pop("version") == "response-v2"
    del envelope["meta"]
    assert envelope == {"success": True, "error": None} | expected


@requirement("001.checklist.deviations")
@pytest.mark.parametrize(
    ("said", "meta"),
    [
        ({"items": [1]}, {}),
        ([1], {"wrapper": "items"}),
        (Answer([1], name="users"), {"wrapper": "users"}),
        (5, {"wrapper": "result"}),
        (None, {"wrapper": None}),
    ],
    ids=["an object", "a list", "a list with a name", "a number", "nothing"],
)
def test_a_wrapper_around_the_data_is_named(said: Any, meta: Any) -> None:
    envelope = envelope_of(Peer(shop(said), "2025-11-25").call("get")["result"])
    assert envelope["meta"] == VERSION | meta


@requirement(
    "001.decided.meta-error", "001.decided.error-types", "001.edge.missing", "001.edge.invalid"
)
@pytest.mark.parametrize("kind", KINDS)
@each_revision
def test_a_problem_has_empty_data_and_its_details_in_meta(revision: str, kind: Any) -> None:
    problem = Problem(
        "No",
        kind=kind,
        code="NO",
        remediation="Ask",
        retry_after=2,
        fields=[FieldError("a[0].b", "is missing")],
    )
    envelope = envelope_of(Peer(shop(problem), revision).call("get")["result"])
    assert (envelope["data"], envelope["error"]) == ({}, "No")
    error = envelope["meta"]["error"]
    assert error == {
        "code": "NO",
        "type": kind,
        "retryable": KINDS[kind].retryable,
        "remediation": "Ask",
        "retry_after": 2,
        "fields": [{"field": "a[0].b", "error": "is missing", "severity": "error"}],
    }


@requirement("001.envelope.error-said")
@pytest.mark.parametrize("words", [" ", "\n"])
def test_a_problem_says_something(words: str) -> None:
    with pytest.raises(ContractError):
        render(Problem(words), profile="envelope")


@requirement(
    "001.meta.pagination", "001.meta.warnings", "001.edge.partial", "001.decided.warning-details"
)
@each_revision
def test_page_warnings_and_partial_work_have_their_place_in_meta(revision: str) -> None:
    page = Page(cursor="abc", has_more=True, limit=2, total=7)
    notices = [Notice("slow", code="SLOW")]
    answer = Answer([1, 2], page=page, warnings=notices, partial=True)
    meta = envelope_of(Peer(shop(answer), revision).call("get")["result"])["meta"]
    assert meta == VERSION | {
        "wrapper": "items",
        "pagination": {"cursor": "abc", "has_more": True, "page_size": 2, "total_count": 7},
        "warnings": ["slow"],
        "warning_details": [{"code": "SLOW", "severity": "warning", "message": "slow"}],
        "partial": True,
    }


@requirement("001.decided.truncation")
@each_revision
def test_an_answer_that_was_cut_says_so(revision: str) -> None:
    rows = [{"id": number, "text": "x" * 50} for number in range(100)]
    server = shop(rows, max_bytes=2_000)
    meta = envelope_of(Peer(server, revision).call("get")["result"])["meta"]
    assert (meta["truncated"], meta["content_fidelity"]) == (True, "partial")
    assert meta["pagination"]["has_more"] is True
    assert meta["pagination"]["total_count"] == 100
    assert meta["warning_details"][0]["code"] == "TRUNCATED"


@requirement("001.rollout.opt-in")
@pytest.mark.parametrize(
    ("capabilities", "opted_in"),
    [
        ({}, False),
        ({"experimental": {"response_contract_v2": {}}}, True),
        ({"experimental": {"response_contract_v2": {"since": "2025"}}}, True),
        ({"experimental": {"response_contract_v1": {}}}, False),
        ({"experimental": {}}, False),
    ],
    ids=["nothing", "the flag", "the flag with more", "another flag", "no flag"],
)
@each_revision
def test_a_client_opts_in_with_a_capability(
    revision: str, capabilities: dict[str, Any], opted_in: bool
) -> None:
    peer = Peer(shop([1], profile="plain"), revision, capabilities)
    text = peer.call("get")["result"]["content"][0]["text"]
    assert ("response-v2" in text) == opted_in


@requirement("001.rollout.v1")
@each_revision
def test_a_server_of_envelopes_sends_them_also_to_who_does_not_opt_in(revision: str) -> None:
    envelope_of(Peer(shop([1]), revision).call("get")["result"])


@requirement("001.rollout.v1")
def test_v1_is_the_payload_without_the_envelope_and_has_to_be_asked_for() -> None:
    asked = {"extensions": {"dev.accord-mcp/profile": {"name": "plain"}}}
    result = Peer(shop([1]), "2025-11-25", asked).call("get")["result"]
    assert result["content"] == [{"type": "text", "text": "[1]"}]


@requirement("001.rollout.counters", "001.meta.telemetry", "001.decided.request-id")
@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"id": 1}, "success"),
        ([], "empty"),
        (Answer([1], partial=True), "partial"),
        (Problem.not_found("No user 7"), "not_found"),
        (RuntimeError("a bug"), "internal"),
    ],
    ids=["success", "empty", "partial", "a problem", "a bug"],
)
def test_what_is_counted_is_what_the_envelope_tells(said: Any, outcome: Any) -> None:
    telemetry = Telemetry()
    server = shop(said, telemetry=telemetry)
    meta = envelope_of(Peer(server, "2025-11-25").call("get")["result"])["meta"]
    counted = telemetry.snapshot()["get"].outcomes
    assert {ending: count for ending, count in counted.items() if count} == {outcome: 1}
    assert meta["telemetry"]["duration_ms"] >= 0
    assert isinstance(meta["request_id"], str)
    assert "error" not in meta or meta["error"]["type"] == outcome


# Cursors

KEY = b"0123456789abcdef"


@requirement("001.decided.cursors")
@given(value=json_values, purpose=st.text())
def test_a_cursor_gives_back_what_it_was_made_of(value: Any, purpose: str) -> None:
    cursors = Cursors(KEY)
    cursor = cursors.encode(value, purpose)
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", cursor)
    assert cursors.decode(cursor, purpose) == value


@requirement("001.decided.cursors")
def test_a_cursor_says_its_version() -> None:
    assert Cursors(KEY).encode(7).startswith("accord.1")


def tampered(cursor: str) -> str:
    """Return a cursor with another value under the old signature."""
    prefix, token = cursor[:8], cursor[8:]
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    raw[-2] ^= 1
    return prefix + base64.urlsafe_b64encode(raw).decode().rstrip("=")


GOOD = Cursors(KEY).encode(7)
BAD: dict[str, Any] = {
    "nothing": "",
    "something else": "abc",
    "a beginning": "accord.",
    "cut off": GOOD[:-1],
    "with more behind": GOOD + "A",
    "padded": GOOD + "==",
    "of another version": GOOD.replace("accord.1", "accord.2"),
    "changed inside": tampered(GOOD),
    "no ASCII": "accord.1é",
    "under another key": Cursors(b"fedcba9876543210").encode(7),
    "for another purpose": Cursors(KEY).encode(7, "another"),
    "no string": 7,
    "null": None,
}


@requirement("001.decided.cursors", "001.decided.cursor-keys")
@pytest.mark.parametrize("cursor", BAD.values(), ids=list(BAD))
def test_any_other_cursor_is_a_problem_that_names_the_field(cursor: Any) -> None:
    with pytest.raises(Problem) as caught:
        Cursors(KEY).decode(cursor)
    problem = caught.value
    assert (problem.kind, problem.code) == ("validation", "INVALID_CURSOR")
    assert [field.field for field in problem.fields] == ["cursor"]
    assert problem.message.startswith("The cursor ")


@requirement("001.decided.cursor-keys")
def test_whoever_has_the_key_reads_the_cursor_and_a_key_is_made_where_none_is_given() -> None:
    assert Cursors(KEY).decode(GOOD) == 7
    alone = Cursors()
    assert alone.decode(alone.encode(7)) == 7
    with pytest.raises(Problem, match="not issued by this server"):
        Cursors().decode(alone.encode(7))


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 65])
def test_a_key_that_is_too_short_or_too_long_is_refused(key: bytes) -> None:
    with pytest.raises(ContractError, match="16 to 64 bytes"):
        Cursors(key)


@requirement("001.decided.cursors")
@pytest.mark.parametrize(("later", "is_good"), [(0, True), (60, True), (60.1, False), (1e9, False)])
def test_a_cursor_is_good_for_a_while(later: float, is_good: bool) -> None:
    now = [1_000.0]
    cursors = Cursors(KEY, seconds=60, clock=lambda: now[0])
    cursor = cursors.encode(7)
    now[0] += later
    if is_good:
        assert cursors.decode(cursor) == 7
    else:
        with pytest.raises(Problem, match="has expired; start again without it") as caught:
            cursors.decode(cursor)
        assert caught.value.code == "CURSOR_EXPIRED"


@requirement("001.decided.cursor-keys")
def test_a_worker_whose_clock_is_a_little_behind_takes_the_cursor_too() -> None:
    cursor = Cursors(KEY, clock=lambda: 1_000.5).encode(7)
    assert Cursors(KEY, clock=lambda: 1_000.0).decode(cursor) == 7


@requirement("001.decided.cursors")
@pytest.mark.parametrize(
    "value", [float("nan"), {1, 2}, b"hi", object()], ids=["NaN", "a set", "bytes", "an object"]
)
def test_a_cursor_of_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(ContractError):
        Cursors(KEY).encode(value)


@requirement("001.meta.pagination", "001.decided.cursors")
def test_a_cursor_leads_through_every_page_of_a_tool() -> None:
    cursors = Cursors(KEY)
    rows = list(range(7))

    def page_of(cursor: str | None) -> Envelope:
        start = 0 if cursor is None else cursors.decode(cursor, "rows")
        end = start + 3
        more = end < len(rows)
        page = Page(
            cursor=cursors.encode(end, "rows") if more else None, has_more=more, limit=3, total=7
        )
        return success_response(rows[start:end], pagination=page)

    seen, cursor = [], None
    while True:
        envelope = sent(page_of(cursor))
        seen += envelope["data"]["items"]
        cursor = envelope["meta"]["pagination"]["cursor"]
        if cursor is None:
            break
    assert seen == rows


# Inside a server of ours


def returning(envelope: Envelope) -> Server:
    server = Server("shop", version="1.0")

    @server.tool
    def get():
        return envelope

    return server


@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_an_envelope_of_failure_is_a_failure_in_every_profile(profile: str) -> None:
    envelope = error_response("No user 7", code="NO_USER", type="not_found", remediation="ask")
    peer = Peer(returning(envelope), "2025-11-25", asking(profile))
    result = peer.call("get")["result"]
    assert result["isError"] is True
    if profile == "envelope":
        said = json.loads(result["content"][0]["text"])
        assert {**said, "meta": VERSION} == asdict(envelope)
        assert said["meta"]["error"]["code"] == "NO_USER"


# By its shape: a mapping of the four members, as `asdict` and other frameworks' records give it


class Dumped(BaseModel):
    success: bool
    data: dict[str, Any]
    error: str | None = None
    meta: dict[str, Any]


@dataclass
class Rooted:
    success: bool
    data: Any
    error: str | None
    meta: dict[str, Any]


class Typed(TypedDict):
    success: bool
    data: dict[str, Any]
    error: str | None
    meta: dict[str, Any]


class StructRoot(msgspec.Struct):
    success: bool
    data: dict[str, Any]
    error: str | None
    meta: dict[str, Any]


FORMS: dict[str, tuple[Callable[[Envelope], Any], Any]] = {
    # what a tool returns for an envelope, and its return type
    "the envelope": (lambda envelope: envelope, Any),
    "the envelope, declared": (lambda envelope: envelope, Envelope),
    "a dict": (asdict, Any),
    "a dict, declared": (asdict, dict),
    "a dict of anything, declared": (asdict, dict[str, Any]),
    "a TypedDict": (asdict, Typed),
    "another mapping": (lambda envelope: MappingProxyType(asdict(envelope)), Any),
    "a pydantic model": (lambda envelope: Dumped(**asdict(envelope)), Dumped),
    "a pydantic model, undeclared": (lambda envelope: Dumped(**asdict(envelope)), Any),
    "a dataclass": (lambda envelope: Rooted(**asdict(envelope)), Rooted),
    "a Struct": (lambda envelope: StructRoot(**asdict(envelope)), StructRoot),
}
each_form = pytest.mark.parametrize(("form", "hint"), FORMS.values(), ids=list(FORMS))
each_profile = pytest.mark.parametrize("profile", wire.PROFILES)


def tool_of(value: Any, hint: Any, *, is_async: bool = False, **options: Any) -> Server:
    server = Server("shop", version="1.0", **options)

    async def get_async():
        return value

    def get():
        return value

    function: Any = get_async if is_async else get
    function.__annotations__ = {"return": hint}
    server.tool(name="get")(function)
    return server


@each_form
@each_profile
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_what_says_a_failure_in_the_contract_is_the_problem(
    form: Any, hint: Any, profile: str, is_async: bool, revision: str
) -> None:
    context: Any = {"code": "NO_USER", "type": "not_found", "remediation": "ask"}
    envelope = error_response("No user 7", **context, details={"id": 7}, request_id="r-1")
    telemetry = Telemetry()
    server = tool_of(form(envelope), hint, is_async=is_async, telemetry=telemetry)
    reading = read(Peer(server, revision, asking(profile)).call("get"))
    assert reading.is_failure
    assert reading.response.error is not None
    assert reading.response.error.message == "No user 7"
    assert "'id': 7" in str(reading.response.error.details)
    assert "NO_USER" in str(reading.response.error)
    assert "r-1" in str(reading.response)
    counted = telemetry.snapshot()["get"]
    assert (counted.failures, counted.outcomes["not_found"]) == (1, 1)


@each_form
@each_profile
@each_revision
def test_what_says_a_success_in_the_contract_is_the_answer(
    form: Any, hint: Any, profile: str, revision: str
) -> None:
    envelope = success_response(
        users=[{"id": 7}],
        warnings=["old", Notice("slow", "SLOW", "info")],
        pagination={"has_more": True, "page_size": 1, "cursor": "2", "pages": 3},
        request_id="r-1",
        rate_limit={"remaining": 3},
        telemetry={"rows": 1},
    )
    peer = Peer(tool_of(form(envelope), hint), revision, asking(profile))
    reading = read(peer.call("get"))
    assert reading.value == {"users": [{"id": 7}]}
    assert reading.page == Page(limit=1, has_more=True, cursor="2")
    assert reading.warnings == (Notice("old"), Notice("slow", "SLOW", "info"))
    metadata: Any = reading.response.metadata
    assert metadata["request_id"] == "r-1"
    assert metadata["rate_limit"] == {"remaining": 3}
    assert metadata["telemetry"] == {"rows": 1}
    if profile == "envelope":
        result = peer.call("get")["result"]
        assert json.loads(result["content"][0]["text"]) == asdict(envelope)


ORDINARY: dict[str, Any] = {
    "a success with an error": {"success": True, "data": {}, "error": "No", "meta": VERSION},
    "data that is a list": {"success": True, "data": [], "error": None, "meta": VERSION},
    "no version": {"success": False, "data": {}, "error": "No", "meta": {}},
    "another version": {
        "success": False,
        "data": {},
        "error": "No",
        "meta": {"version": "response-v3"},
    },
    "meta that is null": {"success": False, "data": {}, "error": "No", "meta": None},
    "a further member": {**asdict(error_response("No")), "id": 7},
    "a member less": {"success": False, "data": {}, "error": "No"},
    "an envelope inside": {"answer": asdict(error_response("No"))},
    "a list of envelopes": [asdict(error_response("No"))],
}


@each_profile
@pytest.mark.parametrize("value", ORDINARY.values(), ids=list(ORDINARY))
def test_anything_else_is_data(value: Any, profile: str) -> None:
    result = Peer(tool_of(value, Any), "2025-11-25", asking(profile)).call("get")["result"]
    assert "isError" not in result
    assert json.dumps(value, separators=(",", ":")) in json.dumps(result, separators=(",", ":"))


@each_profile
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({}, None, "The tool reported a failure"),
        ({}, " ", "The tool reported a failure"),
        (None, "No", "No"),
    ],
    ids=["without an error", "with an empty error", "with null for data"],
)
def test_an_incomplete_failure_is_a_failure(
    data: Any, error: Any, message: str, profile: str
) -> None:
    value = {"success": False, "data": data, "error": error, "meta": VERSION}
    reply = Peer(tool_of(value, Any), "2024-11-05", asking(profile)).call("get")
    reading = read(reply, "get")
    assert reading.is_failure
    assert reading.response.error is not None
    assert reading.response.error.message == message


def test_members_of_meta_that_the_contract_does_not_allow_stay_as_other_ones() -> None:
    meta = {
        **VERSION,
        "warnings": [{"text": "old"}],
        "pagination": {"cursor": "2"},
        "partial": False,
        "telemetry": None,
        "request_id": 7,
        "region": "eu",
    }
    value = {"success": True, "data": {"a": 1}, "error": None, "meta": meta}
    result = Peer(tool_of(value, Any), "2025-11-25", asking("envelope")).call("get")["result"]
    assert json.loads(result["content"][0]["text"])["meta"] == {
        **VERSION,
        "pagination": {"cursor": "2", "has_more": None, "page_size": None},
        "region": "eu",
        "other": {"warnings": [{"text": "old"}], "request_id": 7},
    }


def test_a_failure_is_one_whatever_its_meta_holds() -> None:
    meta = {**VERSION, "error": {"type": "cosmic"}, "warnings": 5}
    value = {"success": False, "data": {"error_type": 5, "id": 7}, "error": "No", "meta": meta}
    result = Peer(tool_of(value, dict), "2025-11-25").call("get")["result"]
    assert result["isError"] is True
    problem = result["_meta"]["dev.accord-mcp/answer"]["problem"]
    assert (problem["kind"], problem["message"]) == ("internal", "No")
    assert problem["data"] == {"error_type": 5, "id": 7}
    assert problem["meta"] == {"other": {"error": {"type": "cosmic"}, "warnings": 5}}


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_type_is_the_kind_of_the_problem_and_back(kind: Any) -> None:
    given = asdict(error_response("No", type=kind))
    result = Peer(tool_of(given, dict), "2025-11-25", asking("envelope")).call("get")["result"]
    once = json.loads(result["content"][0]["text"])
    assert once["meta"]["error"]["type"] == kind
    again = Peer(tool_of(once, dict), "2025-11-25", asking("envelope")).call("get")["result"]
    assert json.loads(again["content"][0]["text"]) == once


def test_the_telemetry_of_a_tool_stays_beside_that_of_the_server() -> None:
    given = asdict(success_response(a=1, request_id="r-1", telemetry={"duration_ms": 5}))
    server = tool_of(given, dict, telemetry=Telemetry(), profile="envelope")
    meta = envelope_of(Peer(server, "2025-11-25").call("get")["result"])["meta"]
    assert meta["request_id"] == "r-1"
    assert meta["telemetry"] == {"duration_ms": 5, "calls": 1, "failures": 0}


def test_middleware_gets_the_answer_and_the_problem() -> None:
    seen: list[Any] = []

    async def watch(call: Any, following: Any) -> Any:
        try:
            answer = await following(call)
        except Problem as problem:
            seen.append(problem.kind)
            raise
        seen.append(answer.data)
        return answer

    for value in (success_response(a=1), error_response("No", type="conflict")):
        server = tool_of(asdict(value), dict)
        server.middleware(watch)
        Peer(server, "2025-11-25").call("get")
    assert seen == [{"a": 1}, "conflict"]


@each_profile
def test_render_takes_envelopes_too(profile: str) -> None:
    failed = render(asdict(error_response("No user 7")), profile=profile)
    assert failed["isError"] is True
    assert read(render(asdict(success_response(a=1)), profile=profile)).value == {"a": 1}


def test_an_envelope_of_success_is_not_put_into_another() -> None:
    page = Page(limit=1, has_more=True, cursor="2")
    envelope = success_response(users=[{"id": 7}], warnings=["old"], pagination=page)
    peer = Peer(returning(envelope), "2025-11-25", asking("envelope"))
    said = json.loads(peer.call("get")["result"]["content"][0]["text"])
    assert said == asdict(envelope)


@pytest.mark.parametrize(
    "value", [MappingProxyType({"x": float("nan")}), MappingProxyType({"x": {1}}), "\ud800"]
)
def test_what_json_does_not_have_is_refused_however_deep(value: Any) -> None:
    with pytest.raises(ContractError):
        success_response(a=value)
    with pytest.raises(ContractError):
        Cursors().encode(value)


# Envelopes that a tool returns


@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_a_tool_that_declares_an_envelope_returns_its_payload(profile: str) -> None:
    def users() -> Envelope:
        return success_response(users=[1, 2])

    server = Server("users", version="1.0")
    server.tool(users)
    assert asyncio.run(server.call("users", profile=profile)).value == {"users": [1, 2]}


def test_a_failed_envelope_is_rendered_as_a_failure() -> None:
    result = render(error_response("No user 7", type="not_found", remediation="list users"))
    assert result["isError"] is True
    assert result["content"] == [
        {"type": "text", "text": "Error executing tool: No user 7. List users."}
    ]
