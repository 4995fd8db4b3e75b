"""The generic response, field by field: what its document allows, and what tools make of it."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import Answer, Notice, Page, Problem, Server, render
from accord.model import schemas
from cli.command import accord
from generic_examples import ACTION, CATALOG, ERROR, EXAMPLES, LIST, SINGLE
from peer import Peer

requirement = pytest.mark.requirement
GENERIC = jsonschema_rs.validator_for(schemas.load("generic"))
TYPES = ["list", "single", "action", "tool_catalog", "error"]


def written(said: Any, *, tool: str = "shop_orders", read_only: bool | None = True) -> Any:
    """Return a tool's generic response, valid by its schema."""
    result = render(said, tool=tool, profile="generic", read_only=read_only)
    (block,) = result["content"]
    response = json.loads(block["text"])
    assert result["structuredContent"] == response
    GENERIC.validate(response)
    return response


# What the schema allows, and what it refuses

FIELDS = [
    # example, path, values that are allowed, values that are not
    pytest.param(
        SINGLE,
        "toolName",
        ["t", "mcp_list_tools"],
        [None, 5],
        marks=requirement("004.required.tool-name"),
    ),
    pytest.param(
        {**ERROR, "data": None},
        "responseType",
        TYPES,
        [None, "table", 5],
        marks=requirement("004.required.response-type"),
    ),
    pytest.param(
        LIST,
        "data",
        [[], [1], None],
        [{}, "text", 5, True],
        marks=requirement("004.data.array", "004.data.either"),
    ),
    pytest.param(
        CATALOG, "data", [[], [{}], None], [{}, "text", 5], marks=requirement("004.data.array")
    ),
    pytest.param(
        SINGLE,
        "data",
        [{}, {"a": 1}, None],
        [[], "text", 5, True],
        marks=requirement("004.data.object", "004.data.either"),
    ),
    pytest.param(ACTION, "data", [{}, None], [[], "text", 5], marks=requirement("004.data.object")),
    pytest.param(
        LIST,
        "pagination",
        [{}, None],
        [[], "next", 5],
        marks=requirement("004.pagination.nullable"),
    ),
    pytest.param(
        LIST,
        "pagination.offset",
        [0, 50, 0.5],
        ["0", True, []],
        marks=requirement("004.pagination.offset"),
    ),
    pytest.param(
        LIST, "pagination.limit", [1, 50], ["50", True], marks=requirement("004.pagination.limit")
    ),
    pytest.param(
        LIST,
        "pagination.hasMore",
        [True, False],
        ["yes", 1],
        marks=requirement("004.pagination.has-more"),
    ),
    pytest.param(
        LIST,
        "pagination.nextOffset",
        [50, "abc"],
        [True, []],
        marks=requirement("004.pagination.next-offset"),
    ),
    pytest.param(
        LIST, "pagination.before", ["123"], [123, True], marks=requirement("004.pagination.before")
    ),
    pytest.param(
        LIST, "pagination.after", ["123"], [123, True], marks=requirement("004.pagination.after")
    ),
    pytest.param(
        LIST, "summary", [{}, None], [[], "150"], marks=requirement("004.summary.nullable")
    ),
    pytest.param(
        LIST, "summary.total", [0, 150], ["150", True], marks=requirement("004.summary.total")
    ),
    pytest.param(
        LIST, "summary.returned", [0, 50], ["50", True], marks=requirement("004.summary.returned")
    ),
    pytest.param(
        LIST, "summary.hasMore", [True, False], ["no", 0], marks=requirement("004.summary.has-more")
    ),
    pytest.param(
        ACTION,
        "status",
        ["success", "partial", None],
        ["done", True, {}],
        marks=requirement("004.status.nullable", "004.status.success", "004.status.partial"),
    ),
    pytest.param(ERROR, "status", ["error"], ["failed"], marks=requirement("004.status.error")),
    pytest.param(
        ACTION, "message", ["Sent", "", None], [5, ["Sent"]], marks=requirement("004.message.words")
    ),
    pytest.param(SINGLE, "error", [{}, None], ["no", []], marks=requirement("004.error.nullable")),
    pytest.param(
        ERROR,
        "error.code",
        ["FORBIDDEN", 403, 4.5],
        [[403], True],
        marks=requirement("004.error.code"),
    ),
    pytest.param(ERROR, "error.message", ["No"], [5, {}], marks=requirement("004.error.message")),
    pytest.param(
        ERROR,
        "error.details",
        [{}, {"a": 1}, "ask"],
        [[], 5],
        marks=requirement("004.error.details"),
    ),
    pytest.param(
        SINGLE,
        "metadata",
        [{}, {"any": [1]}, None],
        ["m", []],
        marks=requirement("004.metadata.any"),
    ),
]


def put(example: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    name, _, rest = path.partition(".")
    return {**example, name: put(example[name], rest, value) if rest else value}


@pytest.mark.parametrize(("example", "path", "allowed", "refused"), FIELDS)
def test_a_field_has_the_types_that_the_document_gives_it(
    example: dict[str, Any], path: str, allowed: list[Any], refused: list[Any]
) -> None:
    assert [value for value in allowed if not GENERIC.is_valid(put(example, path, value))] == []
    assert [value for value in refused if GENERIC.is_valid(put(example, path, value))] == []


@requirement("004.required.only-these")
def test_a_name_and_a_type_are_all_that_is_required() -> None:
    for kind in ("list", "single", "action", "tool_catalog"):
        GENERIC.validate({"toolName": "t", "responseType": kind})
    for name in ("toolName", "responseType"):
        assert not GENERIC.is_valid({key: SINGLE[key] for key in SINGLE.keys() - {name}})


@requirement("004.error.with-status")
def test_an_error_without_its_details_is_no_error_response() -> None:
    GENERIC.validate(ERROR)
    assert not GENERIC.is_valid({key: ERROR[key] for key in ERROR.keys() - {"error"}})


@requirement("004.design.not-strict")
def test_the_schema_is_published_as_not_strict() -> None:
    done = accord("schema", "generic", "--wrapped")
    assert json.loads(done.out) == {
        "name": "generic_mcp_response",
        "strict": False,
        "schema": schemas.load("generic"),
    }


UNKNOWN: dict[str, dict[str, Any]] = {
    "at the root": {**LIST, "region": "eu"},
    "in pagination": put(LIST, "pagination", {"page": 1}),
    "in summary": put(LIST, "summary", {"pages": 3}),
    "in an error": put(ERROR, "error", {**ERROR["error"], "trace": "abc"}),
    "in the details": put(ERROR, "error", {**ERROR["error"], "details": {"any": [1]}}),
    "in metadata": {**SINGLE, "metadata": {"shard": {"id": 3}}},
    "in data": {**SINGLE, "data": {"anything": [None]}},
    "in an item": {**LIST, "data": [{"anything": None}, 5]},
}


@requirement("004.design.additional", "004.design.own-fields")
@pytest.mark.parametrize("response", UNKNOWN.values(), ids=list(UNKNOWN))
def test_fields_that_nobody_knows_pass(response: dict[str, Any]) -> None:
    GENERIC.validate(response)


# What tools make of it


@requirement("004.required.tool-name", "004.design.by-type", "004.design.any-tool")
@pytest.mark.parametrize(
    ("tool", "said", "read_only", "kind"),
    [
        ("shop_orders", [], True, "list"),
        ("shop_orders", [{"id": 1}], None, "list"),
        ("shop_order", {"id": 1}, True, "single"),
        ("shop_count", 5, True, "single"),
        ("shop_name", "Ada's", True, "single"),
        ("shop_nothing", None, True, "single"),
        ("shop_buy", {"id": 1}, False, "action"),
        ("shop_buy", {"id": 1}, None, "action"),
        ("mcp_list_tools", [{"name": "add"}], True, "tool_catalog"),
        ("shop_orders", Problem.not_found("No customer 7"), True, "error"),
    ],
)
def test_any_tool_says_its_name_and_a_type_to_go_by(
    tool: str, said: Any, read_only: bool | None, kind: str
) -> None:
    response = written(said, tool=tool, read_only=read_only)
    assert (response["toolName"], response["responseType"]) == (tool, kind)


@requirement("004.data.object", "004.design.own-fields")
@pytest.mark.parametrize(
    ("said", "data"),
    [
        ({"id": 1, "own": None}, {"id": 1, "own": None}),
        ({}, {}),
        (5, {"result": 5}),
        (False, {"result": False}),
        ("words", {"text": "words"}),
    ],
)
def test_data_that_is_no_list_is_an_object(said: Any, data: Any) -> None:
    assert written(said)["data"] == data


@requirement("004.design.own-fields", "004.metadata.any")
def test_what_else_a_tool_says_is_in_the_metadata() -> None:
    response = written(Answer([1], warnings=[Notice("slow", code="SLOW")]))
    assert response["metadata"] == {"warnings": [{"message": "slow", "code": "SLOW"}]}
    assert "metadata" not in written([1])


PAGES = [
    pytest.param(
        Page(offset=0, limit=2, has_more=True, next_offset=2),
        {"offset": 0, "limit": 2, "hasMore": True, "nextOffset": 2},
        marks=requirement(
            "004.design.pages-by-offset",
            "004.pagination.offset",
            "004.pagination.limit",
            "004.pagination.has-more",
            "004.pagination.next-offset",
        ),
    ),
    pytest.param(
        Page(before="7", after="9"),
        {"before": "7", "after": "9"},
        marks=requirement(
            "004.design.pages-by-cursor", "004.pagination.before", "004.pagination.after"
        ),
    ),
    pytest.param(
        Page(cursor="abc", has_more=True),
        {"nextOffset": "abc", "hasMore": True},
        marks=requirement("004.pagination.next-offset"),
    ),
]


@pytest.mark.parametrize(("page", "shown"), PAGES)
def test_a_page_is_told_in_the_way_that_the_tool_has_pages(page: Page, shown: Any) -> None:
    assert written(Answer([1, 2], page=page))["pagination"] == shown


@requirement(
    "004.design.pages-by-summary",
    "004.summary.total",
    "004.summary.returned",
    "004.summary.has-more",
)
def test_a_summary_counts_what_there_is_and_what_is_here() -> None:
    response = written(Answer([1, 2], page=Page(total=7, has_more=True)))
    assert response["summary"] == {"total": 7, "returned": 2, "hasMore": True}
    assert "summary" not in written([1, 2])


@requirement("004.status.success", "004.status.partial", "004.message.words")
@pytest.mark.parametrize(("partial", "status"), [(False, "success"), (True, "partial")])
def test_an_action_says_how_it_went(partial: bool, status: str) -> None:
    answer = Answer({"id": 1}, message="Bought", partial=partial)
    response = written(answer, read_only=False)
    assert (response["status"], response["message"]) == (status, "Bought")


@requirement("004.status.error", "004.error.with-status", "004.design.error-at-once")
def test_an_error_is_told_at_once_in_detail_and_to_a_person() -> None:
    problem = Problem.rate_limit(
        "Ten calls a minute", summary="Too fast", remediation="wait", retry_after=2
    )
    assert written(problem) == {
        "toolName": "shop_orders",
        "responseType": "error",
        "status": "error",
        "message": "Too fast",
        "error": {
            "code": "RATE_LIMITED",
            "message": "Ten calls a minute",
            "details": {"remediation": "wait", "retryable": True, "retryAfter": 2},
        },
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@requirement("004.n8n.structured", "004.data.either")
@given(
    value=json_values,
    tool=st.sampled_from(["mcp_list_tools", "anything"]),
    read_only=st.sampled_from([None, True, False]),
    partial=st.booleans(),
    message=st.none() | st.text(),
)
def test_whatever_a_tool_says_is_structured_by_the_schema(
    value: Any, tool: str, read_only: bool | None, partial: bool, message: str | None
) -> None:
    response = written(
        Answer(value, partial=partial, message=message), tool=tool, read_only=read_only
    )
    assert response.get("message") == message


@requirement("004.n8n.schema")
def test_the_schema_for_n8n_takes_every_example_and_knows_no_reference() -> None:
    printed = accord("schema", "generic", "--for", "n8n").out
    schema = jsonschema_rs.validator_for(json.loads(printed))
    for example in EXAMPLES.values():
        schema.validate(example)
    assert "$ref" not in printed
    assert not schema.is_valid({"toolName": "t", "responseType": "table"})


@requirement("004.n8n.structured")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_client_is_told_the_schema_that_every_tool_keeps(revision: str) -> None:
    server = Server("shop", profile="generic")
    server.tool(name="five")(lambda: 5)
    server.tool(name="list")(lambda: [5])
    peer = Peer(server, revision)
    for tool in peer.ask("tools/list")["result"]["tools"]:
        reply = peer.call(tool["name"])
        jsonschema_rs.validate(tool["outputSchema"], reply["result"]["structuredContent"])
