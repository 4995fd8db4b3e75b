"""The results of MCP's own methods, as each revision words them."""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar

import msgspec

from accord.arguments import JsonSchema
from accord.errors import Reject
from accord.revisions import STATELESS, Revision
from accord.tool import Tool

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
_FRESH_FOR_MS: Final = 300_000
_HINT_NAMES: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}

Result = dict[str, Any]


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a server calls itself."""

    name: str
    version: str
    title: str | None = None


def stamp(identity: Identity) -> Result:
    """What the stateless era wants to see in the `_meta` of every result."""
    return {_SERVER_INFO: msgspec.Raw(msgspec.json.encode(identity))}


Answered = TypeVar("Answered", Result, Result | Reject)


def complete(result: Answered, stamp: Result) -> Answered:
    """The result with what the stateless era wants in every one of them; a Reject has none."""
    if isinstance(result, dict):
        result["resultType"] = "complete"
        result["_meta"] = result["_meta"] | stamp if "_meta" in result else stamp
    return result


def initialize(identity: Identity, instructions: str | None, revision: Revision) -> Result:
    """The server's half of the handshake."""
    info = identity if revision.titles else Identity(identity.name, identity.version)
    result: Result = {
        "protocolVersion": revision.date,
        "capabilities": {"tools": {}},
        "serverInfo": info,
    }
    return result if instructions is None else result | {"instructions": instructions}


def discover(instructions: str | None) -> Result:
    """What a server of the stateless era says of itself."""
    result = {"supportedVersions": STATELESS, "capabilities": {"tools": {}}, **_cacheable("public")}
    return result if instructions is None else result | {"instructions": instructions}


def tools_page(tools: Iterable[Result], next_cursor: str | None, revision: Revision) -> Result:
    """A page of tools. A cursor that leads nowhere is left out: clients stumble over null.

    It is for this client alone, since output schemas follow the profile that a client asks for.
    """
    result: Result = {"tools": list(tools)}
    if next_cursor is not None:
        result["nextCursor"] = next_cursor
    return result | _cacheable("private") if revision.stateless else result


def tool_entry(tool: Tool, output_schema: JsonSchema | None, revision: Revision) -> Result:
    """A tool as `tools/list` shows it."""
    entry: Result = {"name": tool.name}
    if tool.title is not None and revision.titles:
        entry["title"] = tool.title
    entry |= {"description": tool.description, "inputSchema": tool.input_schema}
    if output_schema is not None:
        entry["outputSchema"] = output_schema
    hints = _hints(tool) if revision.annotations else {}
    return entry | {"annotations": hints} if hints else entry


def _hints(tool: Tool) -> dict[str, Any]:
    given = msgspec.structs.asdict(tool.hints)
    hints = {wire: given[name] for name, wire in _HINT_NAMES.items() if given[name] is not None}
    return {"title": tool.title, **hints} if tool.title is not None else hints


def _cacheable(scope: Literal["public", "private"]) -> Result:
    return {"ttlMs": _FRESH_FOR_MS, "cacheScope": scope}
