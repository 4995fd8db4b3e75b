"""A generic response of each type, as the design of that schema shows them."""

from typing import Any

LIST: dict[str, Any] = {
    "toolName": "discord_list_channels",
    "responseType": "list",
    "data": [{"id": "123456789", "name": "general", "type": "text"}],
    "pagination": {"offset": 0, "limit": 50, "hasMore": True, "nextOffset": 50},
    "summary": {"total": 150, "returned": 50, "hasMore": True},
}
SINGLE: dict[str, Any] = {
    "toolName": "discord_get_user_info",
    "responseType": "single",
    "data": {
        "id": "123456789",
        "username": "user123",
        "discriminator": "0001",
        "avatar": "https://...",
    },
}
ACTION: dict[str, Any] = {
    "toolName": "discord_send_message",
    "responseType": "action",
    "data": {
        "messageId": "987654321",
        "channelId": "123456789",
        "timestamp": "2024-01-01T12:00:00Z",
    },
    "status": "success",
    "message": "Message sent successfully",
}
CATALOG: dict[str, Any] = {
    "toolName": "mcp_list_tools",
    "responseType": "tool_catalog",
    "data": [
        {
            "name": "discord_read_channel",
            "description": "Read messages from a Discord channel...",
            "schema": {"type": "object"},
        }
    ],
}
ERROR: dict[str, Any] = {
    "toolName": "discord_send_message",
    "responseType": "error",
    "status": "error",
    "message": "Failed to send message",
    "error": {
        "code": "PERMISSION_DENIED",
        "message": "You do not have permission to send messages in this channel",
        "details": {},
    },
}
EXAMPLES = {"list": LIST, "single": SINGLE, "action": ACTION, "catalog": CATALOG, "error": ERROR}
