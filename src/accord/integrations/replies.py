"""Tool results of the official SDK, as adapters of its clients read them and pass them on."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.reader import Reading, read

Block = dict[str, Any]
"""A content block of MCP."""
Wire = dict[str, Any]
"""A tool result as it was sent."""

_NO_JSON: Final = object()


def wire_of(result: Any) -> Wire:
    """Return the members of an SDK's result as they were sent."""
    wire: Wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return wire


def rpc_error() -> type[Exception]:
    """Return the SDK's class of a JSON-RPC error; its name differs between versions."""
    from mcp.shared import exceptions

    found: type[Exception] = getattr(exceptions, "McpError", None) or vars(exceptions)["MCPError"]
    return found


def is_text(block: Block) -> bool:
    """True if a content block is text."""
    return block.get("type") == "text"


def media_of(wire: Wire) -> list[Block]:
    """Return the content blocks that are not text."""
    return [block for block in wire["content"] if not is_text(block)]


def shows_structure(
    wire: Wire, reading: Reading, arguments: Mapping[str, Any] | None = None
) -> bool:
    """True if the text blocks of a result have the value of its structure."""
    texts = [block for block in wire["content"] if is_text(block)]
    if any(_json_of(block["text"]) == wire["structuredContent"] for block in texts):
        return True
    if not texts:
        return False
    return bool(
        read({"content": texts}, reading.response.tool_name, arguments).value == reading.value
    )


def _json_of(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _NO_JSON
