"""Replies that nobody recorded: the messages of the five documents, and the Discord tools' shapes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from generic_examples import EXAMPLES

GOLDEN = Path(__file__).parents[1] / "golden"


class Written(NamedTuple):
    """A reply, with the call that it answers."""

    case: str
    tool: str | None
    arguments: dict[str, Any] | None
    reply: Any


def result(value: Any) -> dict[str, Any]:
    """A value as JSON in one text block."""
    content = [{"type": "text", "text": json.dumps(value)}]
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": content}}


# The documents


def shown() -> Iterator[Written]:
    """Yield the replies to requests that the documents show."""
    for number in ("000", "002", "003"):
        exchanges = json.loads((GOLDEN / f"seed_{number}.json").read_text())
        for name, exchange in exchanges.items():
            params = exchange["request"].get("params", {})
            tool, arguments = params.get("name"), params.get("arguments")
            yield Written(f"{number}: {name}", tool, arguments, exchange["reply"])


def envelope(data: Any, error: str | None = None, **meta: Any) -> dict[str, Any]:
    said = {"success": error is None, "data": data, "error": error}
    return result({**said, "meta": {"version": "response-v2", **meta}})


PAGE = {"cursor": "abc", "has_more": True, "page_size": 2, "total_count": 9}
ENVELOPES = {
    "a payload": ("spec_get", envelope({"spec": {"id": "s1", "title": "One"}})),
    "no payload": ("spec_delete", envelope({})),
    "an empty query": ("spec_list", envelope({"specs": [], "count": 0})),
    "a missing resource": ("spec_get", envelope({}, "Spec 's9' not found")),
    "blocked work": (
        "task_start",
        envelope({"task": "t1", "blocked_by": ["t0"], "_warnings": ["t1 waits for t0"]}),
    ),
    "several payloads": ("spec_open", envelope({"spec": {"id": "s1"}, "tasks": [{"id": "t1"}]})),
    "a page in meta": ("spec_list", envelope({"items": [{"id": 1}, {"id": 2}]}, pagination=PAGE)),
    "a page in data": (
        "spec_list",
        envelope({"items": [{"id": 1}], "_meta": {"pagination": PAGE}}),
    ),
    "warnings in both places": (
        "spec_list",
        envelope({"items": [{"id": 1}], "_warnings": ["slow"]}, warnings=["old index"]),
    ),
    "warnings with codes": (
        "spec_get",
        envelope(
            {"id": "s1"},
            warnings=["old index"],
            warning_details=[{"code": "STALE", "severity": "info", "message": "old index"}],
            telemetry={"duration_ms": 3},
        ),
    ),
    "an error with its kind": (
        "spec_get",
        envelope(
            {"error_code": "NOT_FOUND", "error_type": "not_found", "remediation": "list them"},
            "Spec 's9' not found",
        ),
    ),
}

SEEDS = [
    *shown(),
    *(Written(f"001: {name}", tool, None, reply) for name, (tool, reply) in ENVELOPES.items()),
    *(
        Written(f"004: {name}", said["toolName"], None, result(said))
        for name, said in EXAMPLES.items()
    ),
    *(Written(f"004: {name}, bare", None, None, said) for name, said in EXAMPLES.items()),
]


# The tools that the fifth document names, in the shapes that they are seen in

GUILD = {"id": "1001", "name": "Owls"}
CHANNELS = [
    {"id": "2001", "name": "general", "type": "text"},
    {"id": "2002", "name": "dev", "type": "text"},
]
MESSAGES = [
    {
        "id": "3002",
        "author": {"id": "7", "username": "ada"},
        "content": "Error: it broke",
        "attachments": [],
    },
    {"id": "3001", "author": {"id": "8", "username": "bob"}, "content": "hello", "attachments": []},
]
IDS = {"messageId": "3003", "channelId": "2001"}


def channels(offset: int, more: bool, **further: Any) -> dict[str, Any]:
    paging = {"totalChannels": 4, "showing": 2, "offset": offset, "limit": 2, "hasMore": more}
    return {**paging, **further, "channels": CHANNELS}


def cut(value: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of more than 100 KB, cut."""
    return {
        **value,
        "warning": "Response truncated due to size",
        "originalCount": 900,
        "returnedCount": 2,
        "suggestion": "Use limit and offset",
    }


def messages(found: list[Any], more: bool) -> dict[str, Any]:
    ids = {"oldestMessageId": found[-1]["id"], "newestMessageId": found[0]["id"]} if found else {}
    paging = {"limit": 2, "count": len(found), **ids, "hasMore": more}
    return {"channel": CHANNELS[0], "messages": found, "pagination": paging}


def downloads(*good: bool) -> dict[str, Any]:
    each = [{"filename": f"{n}.png", "success": ok} for n, ok in enumerate(good)]
    counts = {"successfulDownloads": sum(good), "failedDownloads": len(good) - sum(good)}
    said = f"Downloaded {sum(good)} of {len(good)} attachments"
    return {
        "success": any(good),
        "message": said,
        "totalAttachments": len(good),
        **counts,
        "downloads": each,
    }


TOOL = {
    "name": "discord_send_message",
    "description": "Send a message",
    "schema": {"type": "object", "properties": {"channelId": {"type": "string"}}},
}
DISCORD = [
    Written(f"{tool}: {case}", tool, None, reply)
    for tool, case, reply in [
        ("discord_list_guilds", "two", result({"totalGuilds": 2, "guilds": [GUILD, {"id": "1002", "name": "Bats"}]})),
        ("discord_list_guilds", "none", result({"totalGuilds": 0, "guilds": []})),
        ("discord_list_channels", "the first page", result(channels(0, True))),
        ("discord_list_channels", "the last page", result(channels(2, False))),
        ("discord_list_channels", "of a guild", result(channels(0, True, guildId="1001", guildName="Owls"))),
        ("discord_list_channels", "cut to size", result(cut(channels(0, True, totalChannels=900, showing=900, limit=900)))),
        ("discord_get_pending_guild_channels", "a page", result(channels(0, True, guild=GUILD))),
        ("discord_get_pending_guild_channels", "none", result({**channels(0, False), "totalChannels": 0, "showing": 0, "channels": []})),
        ("discord_list_guild_members", "two", result({"guild": GUILD, "totalMembers": 2, "members": [{"id": "7", "username": "ada"}, {"id": "8", "username": "bob"}]})),
        ("discord_read_channel", "a page", result(messages(MESSAGES, True))),
        ("discord_read_channel", "the end", result(messages(MESSAGES, False))),
        ("discord_read_channel", "an empty channel", result(messages([], False))),
        ("discord_read_channel", "cut to size", result(cut(messages(MESSAGES, True)))),
        ("discord_list_channel_filters", "of a guild", result({"type": "guild", "guild": GUILD, "filters": {"allowedChannels": ["2001"], "blockedChannels": []}})),
        ("discord_get_user_info", "offline", result({"user": {"id": "7", "username": "ada", "bot": False}, "status": "offline", "guildCount": 3})),
        ("discord_send_message", "sent", result({"success": True, **IDS, "timestamp": "2026-01-05T09:30:00Z"})),
        ("discord_send_message", "refused", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Failed to send message: Missing Permissions"}}),
        ("discord_edit_message", "edited", result({"success": True, **IDS, "editedAt": "2026-01-05T09:31:00Z"})),
        ("discord_reply_message", "replied", result({"success": True, **IDS, "replyToMessageId": "3001"})),
        ("discord_delete_message", "deleted", result({"success": True, **IDS, "deleted": True})),
        ("discord_download_attachments", "all", result(downloads(True, True))),
        ("discord_download_attachments", "some", result(downloads(True, False))),
        ("discord_download_attachments", "none", result(downloads(False, False))),
        ("discord_update_channel_filters", "added", result({"operation": "add", "updatedFilters": {"allowedChannels": ["2001"]}})),
        ("mcp_list_tools", "one", result([TOOL])),
        ("mcp_list_tools", "none", result([])),
    ]
]  # fmt: skip
