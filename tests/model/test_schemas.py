"""The published schemas: what each accepts, what each refuses, and their form for n8n."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from accord.errors import ContractError
from accord.model import schemas
from accord.model.answer import KINDS
from generic_examples import ACTION, CATALOG, ERROR, EXAMPLES, LIST, SINGLE

ROOT = Path(__file__).parents[2]
RESULTS = ["plain", "bare", "prose"]
Cases = dict[str, Any]

# response-v2

META = {"version": "response-v2"}
SUCCESS: Cases = {"success": True, "data": {}, "error": None, "meta": META}
FAILURE: Cases = {"success": False, "data": {}, "error": "No user 7.", "meta": META}
PAGINATION = {"cursor": "abc", "has_more": True, "page_size": 50}
UNKNOWN_PAGINATION = {"cursor": None, "has_more": None, "page_size": None}
FULL_PAGINATION = {
    **PAGINATION,
    "total_count": 120,
    "offset": 0,
    "next_offset": 50,
    "before": "a",
    "after": "b",
}
META_ERROR = {"code": "NOT_FOUND", "type": "not_found"}
FIELD = {"field": "user.age", "error": "is no number", "severity": "error"}
NOTICE = {"severity": "info", "message": "cached"}


def envelope(**meta: Any) -> Cases:
    return {**SUCCESS, "meta": {**META, **meta}}


def failed(**error: Any) -> Cases:
    return {**FAILURE, "meta": {**META, "error": {**META_ERROR, **error}}}


def without(instance: Cases, *names: str) -> Cases:
    return {name: value for name, value in instance.items() if name not in names}


RESPONSE_V2: Cases = {
    "a success with all that its design shows": {
        "success": True,
        "data": {"spec": {}, "tasks": [], "_meta": {}, "_warnings": []},
        "error": None,
        "meta": {**META, "warnings": [], "pagination": PAGINATION, "telemetry": {}},
    },
    "an empty success": SUCCESS,
    "a failure": FAILURE,
    "a failure with context in data": {**FAILURE, "data": {"error_code": "X", "details": {}}},
    "a request id": envelope(request_id="r-1"),
    "warnings": envelope(warnings=["slow"], warning_details=[NOTICE, {**NOTICE, "code": "C"}]),
    "a page of which nothing is known": envelope(pagination=UNKNOWN_PAGINATION),
    "a page of which all is known": envelope(pagination=FULL_PAGINATION),
    "a rate limit": envelope(rate_limit={"remaining": 1}),
    "telemetry": envelope(telemetry={"duration_ms": 0.5, "rows": 3}),
    "a message": envelope(message="Done."),
    "a wrapper": envelope(wrapper="items"),
    "no data at all": envelope(wrapper=None),
    "partial and truncated": envelope(partial=True, truncated=True),
    "a member of meta that nobody knows": envelope(region="eu"),
    "an error's remediation and wait": failed(
        remediation="Ask again.", retryable=True, retry_after=1.5
    ),
    "field errors": failed(fields=[FIELD]),
    **{
        f"fidelity {fidelity}": envelope(content_fidelity=fidelity)
        for fidelity in ("full", "partial", "summary", "reference_only")
    },
    **{f"an error of type {kind}": failed(type=kind) for kind in KINDS},
}
NO_RESPONSE_V2: Cases = {
    **{f"no {name}": without(SUCCESS, name) for name in SUCCESS},
    "a fifth member at the root": {**SUCCESS, "found": True},
    "a list": [SUCCESS],
    "success as a word": {**SUCCESS, "success": "true"},
    "data as a list": {**SUCCESS, "data": []},
    "data as null": {**SUCCESS, "data": None},
    "an error that is empty": {**FAILURE, "error": ""},
    "an error that is an object": {**FAILURE, "error": {"message": "No user 7."}},
    "meta without a version": {**SUCCESS, "meta": {}},
    "meta of another version": envelope(version="response-v1"),
    "meta as null": {**SUCCESS, "meta": None},
    "a request id that is a number": envelope(request_id=1),
    "warnings that are objects": envelope(warnings=[NOTICE]),
    "warning details without severity": envelope(warning_details=[{"message": "slow"}]),
    "warning details without message": envelope(warning_details=[{"severity": "info"}]),
    "a severity that there is not": envelope(warning_details=[{**NOTICE, "severity": "fatal"}]),
    **{
        f"pagination without {name}": envelope(pagination=without(PAGINATION, name))
        for name in PAGINATION
    },
    "a cursor that is a number": envelope(pagination={**PAGINATION, "cursor": 1}),
    "has_more as a word": envelope(pagination={**PAGINATION, "has_more": "yes"}),
    "half a page": envelope(pagination={**PAGINATION, "page_size": 0.5}),
    "a total that is null": envelope(pagination={**PAGINATION, "total_count": None}),
    "an offset that is a string": envelope(pagination={**PAGINATION, "offset": "0"}),
    "before that is a number": envelope(pagination={**PAGINATION, "before": 1}),
    "a rate limit that is a number": envelope(rate_limit=1),
    "a duration below zero": envelope(telemetry={"duration_ms": -1}),
    "a fidelity that there is not": envelope(content_fidelity="some"),
    "a message that is null": envelope(message=None),
    "a wrapper that is a number": envelope(wrapper=1),
    "partial that is false": envelope(partial=False),
    "truncated that is false": envelope(truncated=False),
    "meta.error without a code": {**FAILURE, "meta": {**META, "error": {"type": "internal"}}},
    "meta.error without a type": {**FAILURE, "meta": {**META, "error": {"code": "X"}}},
    "an error type that there is not": failed(type="cosmic"),
    "a wait that is a string": failed(retry_after="1s"),
    **{f"a field error without {name}": failed(fields=[without(FIELD, name)]) for name in FIELD},
}
CONTRADICTIONS_V2: Cases = {
    "a success with an error": {**SUCCESS, "error": "No user 7."},
    "a failure without an error": {**FAILURE, "error": None},
}

# generic


def paged(**pagination: Any) -> Cases:
    return {**LIST, "pagination": pagination}


def wrong(**error: Any) -> Cases:
    return {**ERROR, "error": {**ERROR["error"], **error}}


OPTIONAL = ["data", "pagination", "summary", "status", "message", "error", "metadata"]
GENERIC: Cases = {
    **{f"the example of a {name}": example for name, example in EXAMPLES.items()},
    "a name and a type alone": {"toolName": "t", "responseType": "single"},
    "every optional member null": {**SINGLE, **dict.fromkeys(OPTIONAL)},
    "an empty list": {**LIST, "data": []},
    "an object of which nothing is known": {**SINGLE, "data": {}},
    "an error with data": {**ERROR, "data": [1]},
    "a partial success": {**ACTION, "status": "partial"},
    "a next offset that is a cursor": paged(nextOffset="abc"),
    "pages by cursor": paged(before="1", after="2", cursor="abc"),
    "a page of which nothing is known": paged(
        offset=None, limit=None, hasMore=None, nextOffset=None, before=None, after=None, cursor=None
    ),
    "a summary of which nothing is known": {
        **LIST,
        "summary": {"total": None, "returned": None, "hasMore": None},
    },
    "a numeric error code": wrong(code=403),
    "error details that are words": wrong(details="ask an admin"),
    "an error of which nothing is known": wrong(code=None, message=None, details=None),
    "members that nobody knows": {
        **LIST,
        "region": "eu",
        "pagination": {"page": 1},
        "summary": {"pages": 3},
        "metadata": {"any": ["thing"]},
    },
    "an error with members that nobody knows": wrong(trace="abc"),
}
NO_GENERIC: Cases = {
    "a list of responses": [SINGLE],
    "no toolName": without(LIST, "toolName"),
    "toolName null": {**LIST, "toolName": None},
    "no responseType": without(LIST, "responseType"),
    "responseType null": {**LIST, "responseType": None},
    "a responseType that there is not": {**LIST, "responseType": "table"},
    "data that is a string": {**SINGLE, "data": "text"},
    "data that is a number": {**SINGLE, "data": 5},
    "pagination that is a list": {**LIST, "pagination": []},
    "an offset that is a string": paged(offset="0"),
    "a limit that is a string": paged(limit="50"),
    "hasMore as a word": paged(hasMore="yes"),
    "a next offset that is a boolean": paged(nextOffset=True),
    "before that is a number": paged(before=1),
    "after that is a number": paged(after=1),
    "a cursor that is a number": paged(cursor=1),
    "a total that is a string": {**LIST, "summary": {"total": "150"}},
    "a status that there is not": {**ACTION, "status": "done"},
    "a message that is a list": {**ACTION, "message": ["sent"]},
    "an error that is a string": {**ERROR, "error": "no"},
    "an error code that is a list": wrong(code=[403]),
    "an error message that is an object": wrong(message={}),
    "error details that are a list": wrong(details=[]),
    "metadata that is a string": {**SINGLE, "metadata": "m"},
}
CONTRADICTIONS_GENERIC: Cases = {
    "a list whose data is an object": {**LIST, "data": {}},
    "a catalog whose data is an object": {**CATALOG, "data": {}},
    "a single whose data is a list": {**SINGLE, "data": []},
    "an action whose data is a list": {**ACTION, "data": []},
    "an error without its error": without(ERROR, "error"),
    "an error whose error is null": {**ERROR, "error": None},
}

# tool results

TEXT = {"type": "text", "text": "[]"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk="}}
FAILURES = {
    "plain": "Error executing tool: ViewSet returned error: {'detail': 'Not found.'}",
    "bare": "Error executing tool: no such sheet",
    "prose": "Error executing run_query: no such table: users",
}


def result(*blocks: Any, **members: Any) -> Cases:
    return {"content": list(blocks), **members}


def failure(words: str, **members: Any) -> Cases:
    return result({"type": "text", "text": words}, isError=True, **members)


def results(profile: str) -> Cases:
    """Return results that the schema of a profile accepts."""
    words = FAILURES[profile]
    return {
        "one text": result(TEXT),
        "every kind of block": result(TEXT, IMAGE, AUDIO, LINK, EMBEDDED, BLOB),
        "no text": result(IMAGE),
        "a block with annotations": result({**TEXT, "annotations": {"priority": 1}}),
        "structure that is an object": result(TEXT, structuredContent={"result": []}),
        "structure that is a list": result(TEXT, structuredContent=[]),
        "structure that is null": result(TEXT, structuredContent=None),
        "a success of 2026": result(TEXT, resultType="complete", _meta={"a/b": 1}),
        "a failure": failure(words),
        "a failure of two lines": failure(f"{words}\nand more"),
        "a failure of 2026": failure(words, resultType="complete", _meta={}),
    }


NO_RESULTS: Cases = {
    "a list": [TEXT],
    "no content": {},
    "empty content": result(),
    "content that is text": {"content": "[]"},
    "isError that is false": result(TEXT, isError=False),
    "isError that is null": result(TEXT, isError=None),
    "a result that is not complete": result(TEXT, resultType="input_required"),
    "_meta that is a list": result(TEXT, _meta=[]),
    "a block of no type": result({"text": "[]"}),
    "a block of another type": result({**TEXT, "type": "video"}),
    "a text without text": result(without(TEXT, "text")),
    "text that is no string": result({**TEXT, "text": []}),
    "an image without data": result(without(IMAGE, "data")),
    "an image without a media type": result(without(IMAGE, "mimeType")),
    "audio without data": result(without(AUDIO, "data")),
    "a link without a name": result(without(LINK, "name")),
    "a link without a uri": result(without(LINK, "uri")),
    "a resource without a uri": result({"type": "resource", "resource": {"text": "hi"}}),
    "a resource without content": result({"type": "resource", "resource": {"uri": "file:///a"}}),
    "a resource that is not there": result({"type": "resource"}),
}


def contradictions(profile: str) -> Cases:
    words = FAILURES[profile]
    return {
        "a failure that does not begin as one": failure("no such table: users"),
        "a failure whose beginning stands later": failure(f"Sorry. {words}"),
        "a failure of two blocks": result(
            {"type": "text", "text": words}, {"type": "text", "text": words}, isError=True
        ),
        "a failure that is a picture": result(IMAGE, isError=True),
        "a failure with structure": failure(words, structuredContent={}),
    }


ACCEPTED: dict[str, Cases] = {
    "response-v2": RESPONSE_V2,
    "generic": GENERIC,
    **{profile: results(profile) for profile in RESULTS},
}
ACCEPTED["bare"] |= {
    "the payload's members at the root": result(TEXT, success=True, character={"name": "Ada"})
}
REFUSED: dict[str, Cases] = {
    "response-v2": NO_RESPONSE_V2,
    "generic": NO_GENERIC,
    **{profile: dict(NO_RESULTS) for profile in RESULTS},
}
REFUSED["bare"] |= {
    "a payload's member that MCP would take for its own": result(TEXT, requestState="abc"),
    "a payload's requests": result(TEXT, inputRequests={}),
}
CONTRADICTIONS: dict[str, Cases] = {
    "response-v2": CONTRADICTIONS_V2,
    "generic": CONTRADICTIONS_GENERIC,
    **{profile: contradictions(profile) for profile in RESULTS},
}
CONTRADICTIONS["prose"] |= {
    "a failure that names no tool": failure("Error executing : no such table"),
}


def rows(table: dict[str, Cases]) -> list[Any]:
    return [
        pytest.param(name, instance, id=f"{name}: {case}")
        for name, cases in table.items()
        for case, instance in cases.items()
    ]


def is_valid(schema: Any, instance: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(instance)


@pytest.mark.parametrize("name", schemas.NAMES)
def test_each_is_a_valid_schema_that_says_what_it_is(name: str) -> None:
    schema = schemas.load(name)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://accord-mcp.dev/schemas/{name}.json"
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize(("name", "instance"), rows(ACCEPTED))
def test_what_keeps_the_contract_is_accepted(name: str, instance: Any) -> None:
    assert is_valid(schemas.load(name), instance)


@pytest.mark.parametrize(("name", "instance"), [*rows(REFUSED), *rows(CONTRADICTIONS)])
def test_what_breaks_the_contract_is_refused(name: str, instance: Any) -> None:
    assert not is_valid(schemas.load(name), instance)


def test_the_error_types_are_the_kinds_of_problems() -> None:
    meta = schemas.load("response-v2")["properties"]["meta"]["properties"]
    assert set(meta["error"]["properties"]["type"]["enum"]) == set(KINDS)


def test_blocks_are_the_same_in_every_tool_result() -> None:
    plain, *others = [schemas.load(profile)["$defs"] for profile in RESULTS]
    assert all(definitions == plain for definitions in others)


def test_the_names_are_in_the_order_of_the_profiles() -> None:
    assert schemas.NAMES == ("plain", "response-v2", "bare", "prose", "generic")


@pytest.mark.parametrize("name", ["", "envelope", "../schemas/plain", "__init__"])
def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(name: str) -> None:
    with pytest.raises(ContractError, match=", ".join(schemas.NAMES)):
        schemas.load(name)
    with pytest.raises(ContractError, match=", ".join(schemas.NAMES)):
        schemas.wrapped(name, {})


def test_a_loaded_schema_is_the_callers_own() -> None:
    schemas.load("generic").clear()
    assert schemas.load("generic")["type"] == "object"


def test_the_files_are_what_is_published_and_lie_in_the_package() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    (package,) = build["targets"]["wheel"]["packages"]
    files = {path.stem for path in (ROOT / package / "model/schemas").glob("*.json")}
    assert files == set(schemas.NAMES)


# For n8n


def keywords(schema: Any) -> Iterator[str]:
    """Every name in a schema, of members too: ours have no member called like a keyword."""
    if isinstance(schema, dict):
        yield from schema
    if isinstance(schema, dict | list):
        for each in schema.values() if isinstance(schema, dict) else schema:
            yield from keywords(each)


@pytest.mark.parametrize("name", schemas.NAMES)
def test_for_n8n_nothing_is_left_that_its_converter_does_not_know(name: str) -> None:
    schema = schemas.for_n8n(schemas.load(name))
    jsonschema_rs.meta.validate(schema)
    unknown = {"$schema", "$id", "$defs", "$ref", "if", "then", "else", "oneOf", "allOf"}
    assert unknown.isdisjoint(keywords(schema))
    assert schema["type"] == "object"


@pytest.mark.parametrize(("name", "instance"), [*rows(ACCEPTED), *rows(CONTRADICTIONS)])
def test_for_n8n_it_accepts_the_same_and_what_only_a_condition_refuses(
    name: str, instance: Any
) -> None:
    assert is_valid(schemas.for_n8n(schemas.load(name)), instance)


@pytest.mark.parametrize(("name", "instance"), rows(REFUSED))
def test_for_n8n_it_refuses_the_same(name: str, instance: Any) -> None:
    assert not is_valid(schemas.for_n8n(schemas.load(name)), instance)


FLATTENED: dict[str, tuple[Any, Any]] = {
    "what stands beside a reference is kept": (
        {"$ref": "#/$defs/a", "description": "b", "$defs": {"a": {"type": "string"}}},
        {"type": "string", "description": "b"},
    ),
    "a reference in a reference is written out": (
        {
            "items": {"$ref": "#/$defs/a"},
            "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"type": "null"}},
        },
        {"items": {"items": {"type": "null"}}},
    ),
    "a member called like a keyword is a member": (
        {"properties": {"$id": {"type": "string"}, "if": {"oneOf": [True]}}},
        {"properties": {"$id": {"type": "string"}, "if": {"anyOf": [True]}}},
    ),
    "data that looks like a schema is data": (
        {"enum": [{"$ref": "x"}], "default": {"if": 1}},
        {"enum": [{"$ref": "x"}], "default": {"if": 1}},
    ),
    "a rule beside a condition is kept": (
        {"allOf": [{"if": {}, "then": {}}, {"required": ["a"]}]},
        {"allOf": [{"required": ["a"]}]},
    ),
}


@pytest.mark.parametrize(("schema", "flat"), FLATTENED.values(), ids=FLATTENED)
def test_for_n8n(schema: Any, flat: Any) -> None:
    assert schemas.for_n8n(schema) == flat


@pytest.mark.parametrize("reference", ["#/$defs/b", "other.json", "#", "#/$defs/a"])
def test_a_reference_that_cannot_be_written_out_is_refused(reference: str) -> None:
    schema = {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": reference}}}}
    with pytest.raises(ContractError, match=reference.replace("$", r"\$")):
        schemas.for_n8n(schema)


@pytest.mark.parametrize("name", schemas.NAMES)
def test_wrapped_it_has_a_name_that_model_apis_take(name: str) -> None:
    schema = schemas.load(name)
    wrapped = schemas.wrapped(name, schema)
    assert wrapped["name"].isidentifier()
    assert wrapped == {"name": wrapped["name"], "strict": False, "schema": schema}
