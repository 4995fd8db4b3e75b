"""What the document of the generic response asks of a reader: its tools, pages, errors, fields."""

import json
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest

from accord.model import schemas
from accord.reader import Reading, read
from corpus.readings import replies
from corpus.written import DISCORD, envelope

requirement = pytest.mark.requirement
GENERIC = jsonschema_rs.validator_for(schemas.load("generic"))


def text(value: Any, **members: Any) -> dict[str, Any]:
    words = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": words}], **members}


class Tool(NamedTuple):
    """The kind of all replies of a tool that did not fail."""

    name: str
    kind: str
    has_pages: bool = False


LISTS = {"list", "tool_catalog"}
TOOLS = [
    pytest.param(
        Tool("discord_list_guilds", "list"),
        marks=requirement("004.reader.discord_list_guilds"),
    ),
    pytest.param(
        Tool("discord_list_channels", "list", has_pages=True),
        marks=requirement("004.reader.discord_list_channels"),
    ),
    pytest.param(
        Tool("discord_list_guild_members", "list"),
        marks=requirement("004.reader.discord_list_guild_members"),
    ),
    pytest.param(
        Tool("discord_list_channel_filters", "single"),
        marks=requirement("004.reader.discord_list_channel_filters"),
    ),
    pytest.param(
        Tool("discord_get_pending_guild_channels", "list", has_pages=True),
        marks=requirement("004.reader.discord_get_pending_guild_channels"),
    ),
    pytest.param(
        Tool("discord_read_channel", "list", has_pages=True),
        marks=requirement("004.reader.discord_read_channel"),
    ),
    pytest.param(
        Tool("discord_get_user_info", "single"),
        marks=requirement("004.reader.discord_get_user_info"),
    ),
    pytest.param(
        Tool("discord_send_message", "action"),
        marks=requirement("004.reader.discord_send_message"),
    ),
    pytest.param(
        Tool("discord_edit_message", "action"),
        marks=requirement("004.reader.discord_edit_message"),
    ),
    pytest.param(
        Tool("discord_reply_message", "action"),
        marks=requirement("004.reader.discord_reply_message"),
    ),
    pytest.param(
        Tool("discord_delete_message", "action"),
        marks=requirement("004.reader.discord_delete_message"),
    ),
    pytest.param(
        Tool("discord_download_attachments", "action"),
        marks=requirement("004.reader.discord_download_attachments"),
    ),
    pytest.param(
        Tool("discord_update_channel_filters", "action"),
        marks=requirement("004.reader.discord_update_channel_filters"),
    ),
    pytest.param(
        Tool("mcp_list_tools", "tool_catalog"),
        marks=requirement("004.reader.mcp_list_tools"),
    ),
]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_of_the_document_reads_as_what_it_is(tool: Tool) -> None:
    seen = [each for each in DISCORD if each.tool == tool.name]
    readings = [read(each.reply, each.tool) for each in seen]
    good = [each.response for each in readings if not each.is_failure]
    assert good
    assert {each.response_type for each in good} == {tool.kind}
    assert {type(each.data) for each in good} == {list if tool.kind in LISTS else dict}
    if tool.has_pages:
        assert all(each.pagination and each.pagination.has_more is not None for each in good)
    if tool.kind == "action":
        assert {each.status for each in good} <= {"success", "partial"}


@requirement("004.reader.discord_download_attachments")
def test_some_downloads_that_failed_are_a_success_in_part() -> None:
    statuses = {
        each.case: read(each.reply, each.tool).response.status
        for each in DISCORD
        if each.tool == "discord_download_attachments"
    }
    assert list(statuses.values()) == ["success", "partial", "error"]


@requirement("004.reader.any-tool")
@pytest.mark.parametrize("name", replies())
def test_whatever_a_tool_replies_is_this_structure(name: str) -> None:
    for written in replies()[name]:
        GENERIC.validate(read(written.reply, written.tool, written.arguments).response.to_dict())


@requirement("004.reader.unknown-fields")
def test_what_nobody_knows_passes_through() -> None:
    payload = {"items": [{"id": 1, "mood": "calm"}], "total": 1, "weather": {"wind": 3}}
    response = read(text(payload, owls=2), "list_things").response.to_dict()
    assert response["data"] == payload["items"]
    assert response["metadata"] == {"total": 1, "weather": {"wind": 3}, "owls": 2}
    generic = {"toolName": "t", "responseType": "single", "data": {"a": 1}, "mood": "calm"}
    assert read(generic).response.to_dict()["metadata"] == {"mood": "calm"}


PAGES: dict[str, tuple[Any, dict[str, Any]]] = {
    "by offset": (
        {"items": [1, 2], "offset": 0, "limit": 2, "hasMore": True, "nextOffset": 2},
        {"offset": 0, "limit": 2, "hasMore": True, "nextOffset": 2},
    ),
    "by cursor": (
        {"items": [1], "pagination": {"before": "a", "after": "b", "hasMore": True}},
        {"hasMore": True, "before": "a", "after": "b"},
    ),
    "by summary": ({"items": [1], "summary": {"total": 9, "hasMore": True}}, {"hasMore": True}),
}


@requirement("004.reader.pages")
@pytest.mark.parametrize(("payload", "expected"), PAGES.values(), ids=PAGES)
def test_pages_are_read(payload: Any, expected: dict[str, Any]) -> None:
    response = read(text(payload), "list_things").response.to_dict()
    assert response["pagination"] == expected
    assert response["summary"]["hasMore"] is True


ERRORS: dict[str, tuple[Any, str]] = {
    "JSON-RPC": ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "No"}}, "No"),
    "isError": (text("No", isError=True), "No"),
    "success is false": (text({"success": False, "error": "No"}), "No"),
    "ok is false": (text({"ok": False, "message": "No"}), "No"),
    "a status": (text({"status": "error", "message": "No"}), "No"),
    "an error object": (text({"error": {"code": "X", "message": "No"}}), "No"),
    "words alone": (text("Error: no such table"), "Error: no such table"),
    "response-v2": (envelope({}, "No"), "No"),
    "a generic response": (
        {"toolName": "t", "responseType": "error", "error": {"code": 1, "message": "No"}},
        "No",
    ),
}


@requirement("004.reader.errors")
@pytest.mark.parametrize(("reply", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_are_read_however_they_are_said(reply: Any, message: str) -> None:
    response = read(reply, "get_thing").response
    assert (response.response_type, response.status) == ("error", "error")
    assert response.error is not None
    assert (response.message, response.error.message) == (message, message)


def said(reading: Reading) -> list[str]:
    return [notice.message for notice in reading.warnings]


@requirement("001.reader.both-places")
def test_warnings_and_metadata_are_read_from_meta_and_from_data() -> None:
    page = {"cursor": "c", "has_more": True, "page_size": 2}
    both = read(
        envelope({"a": 1, "_warnings": ["inner"]}, warnings=["outer"], pagination=page), "get"
    )
    assert said(both) == ["outer", "inner"]
    assert (both.page and both.page.cursor) == "c"
    inner = read(envelope({"a": 1, "_meta": {"pagination": page, "took": 3}}), "get")
    assert (inner.page and inner.page.cursor) == "c"
    assert inner.value["_meta"]["took"] == 3
    assert read(envelope({"a": 1}, telemetry={"duration_ms": 3}), "get").response.metadata == {
        "telemetry": {"duration_ms": 3}
    }


ODD_ENVELOPES = [
    ({"data": 5}, {"data": 5}, {}),
    ({"data": [1]}, {"data": [1]}, {}),
    ({"data": "gone"}, {"data": "gone"}, {}),
    ({"data": {"a": 1}}, {"a": 1}, {}),
    ({"data": None, "meta": {"version": 2, "wrapper": ["a"]}}, {}, {}),
    ({"data": None, "meta": {"version": 2, "message": 5}}, {}, {}),
    (
        {"data": None, "meta": {"version": 2, "pagination": {"has_more": "yes", "page_size": 9}}},
        {},
        {"limit": 9},
    ),
    (
        {
            "data": None,
            "meta": {
                "version": 2,
                "warnings": [10**5_000],
                "pagination": {"limit": 10, "page_size": None, "offset": 20.0, "cursor": 5},
            },
        },
        {},
        {"limit": 10, "offset": 20, "cursor": "5"},
    ),
]


@pytest.mark.parametrize(("members", "details", "page"), ODD_ENVELOPES)
def test_an_envelope_that_failed_is_read_whatever_is_in_it(
    members: dict[str, Any], details: dict[str, Any], page: dict[str, Any]
) -> None:
    failed = {"success": False, "error": "no", "meta": {"version": "response-v2"}, **members}
    reading = read(failed, "get_it")
    GENERIC.validate(reading.response.to_dict())
    assert reading.response.error is not None
    assert (reading.response.error.message, reading.response.error.details) == ("no", details)
    assert (msgspec.to_builtins(reading.page) or {}) == page


def test_a_failure_of_our_own_keeps_its_warnings() -> None:
    meta = {"version": "response-v2", "warnings": ["careful"], "partial": True}
    reading = read({"success": False, "data": None, "error": "no", "meta": meta}, "get_it")
    assert [warning.message for warning in reading.warnings] == ["careful"]
    assert reading.is_partial
