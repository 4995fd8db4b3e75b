"""The messages of the five documents, from ordinary functions, over a real pipe."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from accord.model import schemas
from generic_examples import ACTION, CATALOG, ERROR, LIST, SINGLE
from golden.rule import differences
from stdio_peer import StdioPeer

requirement = pytest.mark.requirement
HERE = Path(__file__).parent
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STRUCTURED = ["2025-06-18", "2025-11-25", "2026-07-28"]
EVERY = [*HANDSHAKE, "2026-07-28"]
PROBLEM = "result._meta"
"""Where the whole Problem stands beside the text of a failure."""
FAILURES = {"call fails", "query refused"}
Replies = dict[str, Any]


def serving(server: str, profile: str) -> StdioPeer:
    accord = str(Path(sys.executable).with_name("accord"))
    target = f"{HERE / 'servers.py'}:{server}"
    return StdioPeer([accord, "serve", target, "--profile", profile])


def document(number: str) -> dict[str, Any]:
    """Return the requests of a document with their replies, in order."""
    shown: dict[str, Any] = json.loads((HERE / f"seed_{number}.json").read_text())
    return shown


def conversation(peer: StdioPeer, shown: dict[str, Any], revision: str) -> Replies:
    """The replies to the requests of a document, sent as they stand."""
    replies = {}
    for name, exchange in shown.items():
        request = exchange["request"]
        if name == "initialize":
            request["params"]["protocolVersion"] = revision
        peer.send(request)
        replies[name] = peer.receive()
    return replies


def assert_golden(shown: Any, sent: Any, *further: str) -> None:
    assert list(differences(shown, sent, further)) == []


# The Django REST framework document


@pytest.fixture(scope="module")
def customers() -> Replies:
    with serving("customers", "plain") as peer:
        return conversation(peer, document("000"), "2025-06-18")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("initialize", marks=requirement("000.initialize.example")),
        pytest.param("call succeeds", marks=requirement("000.example.call-succeeds")),
        pytest.param("call fails", marks=requirement("000.example.call-fails")),
        pytest.param("method not found", marks=requirement("000.example.method-not-found")),
    ],
)
def test_the_viewset_document_gets_its_replies(customers: Replies, name: str) -> None:
    further = PROBLEM if name in FAILURES else "result.structuredContent"
    assert_golden(document("000")[name]["reply"], customers[name], further)


def test_the_structure_beside_the_viewset_documents_text_says_the_same(customers: Replies) -> None:
    result = customers["call succeeds"]["result"]
    assert result["structuredContent"] == {"result": json.loads(result["content"][0]["text"])}
    assert "structuredContent" not in customers["call fails"]["result"]


# The character sheet document


@pytest.fixture(scope="module", params=HANDSHAKE)
def sheets(request: pytest.FixtureRequest) -> Replies:
    with serving("sheets", "bare") as peer:
        return conversation(peer, document("002"), request.param)


@requirement(
    "002.initialize.capabilities",
    "002.initialize.server-info",
    "002.initialize.protocol-version",
    "002.flow.stdio",
)
def test_the_sheet_document_is_initialised_and_learns_the_revision(sheets: Replies) -> None:
    sent = sheets["initialize"]
    assert_golden(document("002")["initialize"]["reply"], sent, "result.protocolVersion")
    assert sent["result"]["protocolVersion"] in HANDSHAKE


@requirement(
    "002.tools-list.no-params",
    "002.tools-list.name",
    "002.tools-list.description",
    "002.tools-list.character-data",
    "002.tools-list.allow-rule-violations",
    "002.tools-list.required",
    "002.flow.listed",
    "002.flow.then-tools",
)
def test_the_sheet_document_lists_its_tool(sheets: Replies) -> None:
    shown = document("002")["tools list"]
    assert "params" not in shown["request"]
    assert_golden(shown["reply"], sheets["tools list"], "result.tools[].outputSchema")


@requirement("002.tools-list.output-path")
def test_the_sheet_documents_path_can_be_left_out_and_has_no_default(sheets: Replies) -> None:
    (tool,) = sheets["tools list"]["result"]["tools"]
    assert tool["inputSchema"]["properties"]["output_path"] == {
        "type": "string",
        "description": "Path where filled PDF should be saved",
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "call succeeds",
            marks=requirement(
                "002.call.request",
                "002.call.success",
                "002.call.output-file",
                "002.call.calculated-fields",
                "002.call.spells-organized",
                "002.call.content",
                "002.flow.called",
                "002.flow.then-tools",
            ),
        ),
        pytest.param(
            "rules overridden",
            marks=requirement(
                "002.override.success", "002.override.severity", "002.override.overridden"
            ),
        ),
    ],
)
def test_the_sheet_documents_fields_stand_at_the_root_and_in_the_content(
    sheets: Replies, name: str
) -> None:
    shown, sent = document("002")[name]["reply"], sheets[name]
    assert_golden(shown, sent, "result.content", "result.structuredContent")
    (block,) = sent["result"]["content"]
    assert json.loads(block["text"]) == shown["result"]
    assert sent["result"].get("structuredContent", shown["result"]) == shown["result"]


@requirement(
    "002.invalid.code",
    "002.invalid.message",
    "002.invalid.validation-errors",
    "002.invalid.field",
    "002.invalid.error",
    "002.invalid.severity",
    "002.code.invalid-params",
    "002.flow.called",
)
def test_the_sheet_documents_violations_are_an_error_that_names_each(sheets: Replies) -> None:
    further = "error.data.dev.accord-mcp/answer"
    assert_golden(document("002")["validation fails"]["reply"], sheets["validation fails"], further)


@requirement("002.code.internal-error")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_a_sheet_that_cannot_be_processed_is_an_internal_error(revision: str) -> None:
    with serving("sheets", "bare") as peer:
        peer.initialize(revision)
        arguments: dict[str, Any] = {"character_data": {}}
        reply = peer.request(
            "tools/call", {"name": "fill_dnd_character_sheet", "arguments": arguments}
        )
    assert reply["error"] == {"code": -32603, "message": "Internal error"}


# The SQLite document


@pytest.fixture(scope="module")
def database() -> Replies:
    with serving("database", "prose") as peer:
        return conversation(peer, document("003"), "2024-11-05")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "initialize",
            marks=requirement("003.initialize.example", "003.initialize.client-capabilities"),
        ),
        pytest.param(
            "tools list",
            marks=requirement(
                "003.tools-list.example",
                "003.tools-list.list-tables",
                "003.tools-list.describe-table",
                "003.tools-list.run-query",
                "003.tools-list.insert-row",
                "003.tools-list.update-row",
                "003.tools-list.delete-row",
            ),
        ),
        pytest.param(
            "list tables", marks=requirement("003.example.list-tables", "003.text.one-block")
        ),
        pytest.param(
            "describe table",
            marks=requirement(
                "003.example.describe-table",
                "003.text.sentence-then-json",
                "003.text.indented",
                "003.text.null",
            ),
        ),
        pytest.param(
            "run query",
            marks=requirement(
                "003.example.run-query", "003.text.grammar", "003.text.sentence-then-json"
            ),
        ),
        pytest.param(
            "insert row", marks=requirement("003.example.insert-row", "003.text.sentence-alone")
        ),
        pytest.param(
            "update row", marks=requirement("003.example.update-row", "003.text.sentence-alone")
        ),
        pytest.param(
            "delete row",
            marks=requirement("003.example.delete-row", "003.text.no-is-error"),
        ),
        pytest.param(
            "query refused",
            marks=requirement(
                "003.example.query-refused", "003.text.error-names-tool", "003.text.is-error"
            ),
        ),
    ],
)
def test_the_sqlite_document_gets_its_replies_and_nothing_more(
    database: Replies, name: str
) -> None:
    further = [PROBLEM] if name in FAILURES else []
    assert_golden(document("003")[name]["reply"], database[name], *further)


# The response-v2 document

ENVELOPES: dict[str, tuple[str, dict[str, Any], Any, Sequence[str]]] = {
    # tool, arguments, what the document demands, and what may stand beside it
    "an empty query": (
        "spec_tasks",
        {"spec": "beta"},
        {
            "success": True,
            "data": {"tasks": []},
            "error": None,
            "meta": {
                "version": "response-v2",
                "pagination": {
                    "cursor": None,
                    "has_more": False,
                    "page_size": 50,
                    "total_count": 0,
                },
            },
        },
        ["meta.wrapper"],
    ),
    "a missing resource": (
        "spec_tasks",
        {"spec": "gamma"},
        {
            "success": False,
            "data": {},
            "error": "There is no spec 'gamma'",
            "meta": {"version": "response-v2"},
        },
        ["meta.error"],
    ),
    "invalid input": (
        "task_forget",
        {"task": "x"},
        {
            "success": False,
            "data": {},
            "error": "'x' is no task",
            "meta": {"version": "response-v2"},
        },
        ["meta.error"],
    ),
    "blocked work": (
        "task_complete",
        {"task": "t2"},
        {
            "success": True,
            "data": {"task": "t2", "completed": False, "blocked_by": "t1 is under review"},
            "error": None,
            "meta": {
                "version": "response-v2",
                "warnings": ["t2 is blocked: t1 is under review"],
            },
        },
        ["meta.partial"],
    ),
    "several payloads": (
        "spec_overview",
        {"spec": "alpha"},
        {
            "success": True,
            "data": {
                "spec": {"name": "alpha"},
                "tasks": [{"id": "t1", "done": True}, {"id": "t2", "done": False}],
            },
            "error": None,
            "meta": {"version": "response-v2"},
        },
        [],
    ),
    "no payload": (
        "task_forget",
        {"task": "t1"},
        {"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}},
        ["meta.wrapper"],
    ),
}


@pytest.fixture(scope="module", params=EVERY)
def specs(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Calls a tool in one revision, and gives back its result."""
    with serving("specs", "envelope") as peer:
        yield from caller(peer, request.param)


def caller(peer: StdioPeer, revision: str) -> Iterator[Any]:
    stateless = revision == "2026-07-28"
    if not stateless:
        peer.initialize(revision)
    ask = peer.modern if stateless else peer.request

    def call(tool: str, arguments: dict[str, Any]) -> Any:
        return ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    yield call


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("an empty query", marks=requirement("001.edge.empty")),
        pytest.param("a missing resource", marks=requirement("001.edge.missing")),
        pytest.param("invalid input", marks=requirement("001.edge.invalid")),
        pytest.param("blocked work", marks=requirement("001.edge.blocked", "001.edge.partial")),
        pytest.param("several payloads", marks=requirement("001.edge.several")),
        pytest.param("no payload", marks=requirement("001.envelope.data-empty")),
    ],
)
def test_each_edge_case_has_the_envelope_that_its_document_demands(specs: Any, name: str) -> None:
    tool, arguments, shown, further = ENVELOPES[name]
    result = specs(tool, arguments)
    (block,) = result["content"]
    sent = json.loads(block["text"])
    assert_golden(shown, sent, *further)
    assert result.get("structuredContent", sent) == sent
    assert result.get("isError", False) is not shown["success"]
    jsonschema_rs.validate(schemas.load("response-v2"), sent)


# The generic response document

EXAMPLES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "list": ("discord_list_channels", {}, LIST),
    "single": ("discord_get_user_info", {}, SINGLE),
    "action": ("discord_send_message", {}, ACTION),
    "catalog": ("mcp_list_tools", {}, CATALOG),
    "error": ("discord_send_message", {"channel": "5"}, ERROR),
}


@pytest.fixture(scope="module", params=EVERY)
def discord(request: pytest.FixtureRequest) -> Iterator[Any]:
    with serving("discord", "generic") as peer:
        yield from caller(peer, request.param)


def response(result: Any) -> Any:
    """Return the data in the text of a result; its structure, if any, must be equal."""
    (block,) = result["content"]
    sent = json.loads(block["text"])
    assert result.get("structuredContent", sent) == sent
    assert result.get("isError", False) is (sent["responseType"] == "error")
    return sent


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("list", marks=requirement("004.example.list", "004.type.list")),
        pytest.param("single", marks=requirement("004.example.single", "004.type.single")),
        pytest.param("action", marks=requirement("004.example.action", "004.type.action")),
        pytest.param(
            "catalog", marks=requirement("004.example.tool-catalog", "004.type.tool-catalog")
        ),
        pytest.param("error", marks=requirement("004.example.error", "004.type.error")),
    ],
)
def test_each_type_of_response_is_as_its_document_shows_it(discord: Any, name: str) -> None:
    tool, arguments, shown = EXAMPLES[name]
    sent = response(discord(tool, arguments))
    if name == "list":  # of the 50 items that it counts, the document shows the first
        assert len(sent["data"]) == shown["summary"]["returned"]
        sent["data"] = sent["data"][:1]
    assert_golden(shown, sent)
    jsonschema_rs.validate(schemas.load("generic"), sent)


TOOLS = [
    # a tool, the type of its response, and whether it has pagination
    pytest.param(
        "discord_list_guilds", "list", False, marks=requirement("004.tool.discord_list_guilds")
    ),
    pytest.param(
        "discord_list_channels", "list", True, marks=requirement("004.tool.discord_list_channels")
    ),
    pytest.param(
        "discord_list_guild_members",
        "list",
        False,
        marks=requirement("004.tool.discord_list_guild_members"),
    ),
    pytest.param(
        "discord_list_channel_filters",
        "single",
        False,
        marks=requirement("004.tool.discord_list_channel_filters"),
    ),
    pytest.param(
        "discord_get_pending_guild_channels",
        "list",
        True,
        marks=requirement("004.tool.discord_get_pending_guild_channels"),
    ),
    pytest.param(
        "discord_read_channel", "list", True, marks=requirement("004.tool.discord_read_channel")
    ),
    pytest.param(
        "discord_get_user_info",
        "single",
        False,
        marks=requirement("004.tool.discord_get_user_info"),
    ),
    pytest.param(
        "discord_send_message", "action", False, marks=requirement("004.tool.discord_send_message")
    ),
    pytest.param(
        "discord_edit_message", "action", False, marks=requirement("004.tool.discord_edit_message")
    ),
    pytest.param(
        "discord_reply_message",
        "action",
        False,
        marks=requirement("004.tool.discord_reply_message"),
    ),
    pytest.param(
        "discord_delete_message",
        "action",
        False,
        marks=requirement("004.tool.discord_delete_message"),
    ),
    pytest.param(
        "discord_download_attachments",
        "action",
        False,
        marks=requirement("004.tool.discord_download_attachments"),
    ),
    pytest.param(
        "discord_update_channel_filters",
        "action",
        False,
        marks=requirement("004.tool.discord_update_channel_filters"),
    ),
    pytest.param(
        "mcp_list_tools", "tool_catalog", False, marks=requirement("004.tool.mcp_list_tools")
    ),
]


@pytest.mark.parametrize(("tool", "kind", "has_pages"), TOOLS)
def test_each_tool_that_the_document_names_is_of_its_type(
    discord: Any, tool: str, kind: str, has_pages: bool
) -> None:
    sent = response(discord(tool, {}))
    assert (sent["toolName"], sent["responseType"]) == (tool, kind)
    assert isinstance(sent["data"], list if kind in ("list", "tool_catalog") else dict)
    assert ("pagination" in sent) == has_pages
    assert sent.get("status") == ("success" if kind == "action" else None)
    jsonschema_rs.validate(schemas.load("generic"), sent)


@requirement("004.status.partial")
def test_downloads_of_which_some_failed_are_a_partial_success(discord: Any) -> None:
    sent = response(discord("discord_download_attachments", {"names": ["a.png", ".b"]}))
    assert (sent["responseType"], sent["status"]) == ("action", "partial")
    assert sent["data"] == {"totalAttachments": 2, "successfulDownloads": 1}


@requirement("004.design.pages-by-offset")
def test_the_next_offset_of_a_list_leads_to_its_next_page(discord: Any) -> None:
    offset, seen = 0, []
    while offset is not None:
        sent = response(discord("discord_list_channels", {"offset": offset}))
        seen += [each["id"] for each in sent["data"]]
        offset = sent["pagination"].get("nextOffset")
    assert len(seen) == len(set(seen)) == sent["summary"]["total"] == 150
    assert sent["pagination"]["hasMore"] is sent["summary"]["hasMore"] is False
