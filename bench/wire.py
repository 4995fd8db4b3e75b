"""The requests that are sent, and checks of the replies."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal

from bench.servers.data import make_rows

Era = Literal["2025-11-25", "2026-07-28"]
HANDSHAKE: Era = "2025-11-25"
STATELESS: Era = "2026-07-28"
ERAS = (HANDSHAKE, STATELESS)

Tool = Literal["add", "add_sync", "rows"]
TOOLS: tuple[Tool, ...] = ("add", "add_sync", "rows")

CLIENT = {"name": "bench", "version": "1.0"}
ROWS = [asdict(row) for row in make_rows()]
# All sums have the same number of digits, so all replies have the same length.
FIRST_TERM = 1_000_000


class WrongReplyError(Exception):
    """A reply does not match its request."""


def request(era: Era, number: int, method: str, params: dict[str, Any]) -> bytes:
    if era == STATELESS:
        meta = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": CLIENT,
        }
        params = {**params, "_meta": meta}
    return encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def initialize() -> bytes:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
    return request(HANDSHAKE, 0, "initialize", params)


def initialized() -> bytes:
    return encode({"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(era: Era, number: int, tool: Tool) -> bytes:
    arguments = {} if tool == "rows" else {"a": FIRST_TERM, "b": number}
    return request(era, number, "tools/call", {"name": tool, "arguments": arguments})


def http_headers(era: Era, method: str, name: str | None = None) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": era,
    }
    if era == STATELESS:
        headers["Mcp-Method"] = method
        if name is not None:
            headers["Mcp-Name"] = name
    return headers


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def expected_value(tool: Tool, number: int) -> Any:
    return ROWS if tool == "rows" else FIRST_TERM + number


def result_in(reply: bytes, number: int) -> dict[str, Any]:
    message = json.loads(reply)
    if message.get("id") != number or not isinstance(message.get("result"), dict):
        raise WrongReplyError(f"wrong reply to request {number}: {reply[:300]!r}")
    result: dict[str, Any] = message["result"]
    return result


def check_calls(
    replies: Iterable[bytes], tool: Tool, numbers: range, constant: int | None = None
) -> None:
    """Check that every number has exactly one reply, with the value of that number.

    `constant` is the number whose value all replies of the constant loop have.
    """
    pending = set(numbers)
    for reply in replies:
        number = json.loads(reply).get("id")
        if number not in pending:
            raise WrongReplyError(f"reply without a pending request: {reply[:300]!r}")
        pending.remove(number)
        expected = expected_value(tool, number if constant is None else constant)
        check_value(result_in(reply, number), expected)
    if pending:
        raise WrongReplyError(f"{len(pending)} of {len(numbers)} calls have no reply")


def check_value(result: dict[str, Any], expected: Any) -> None:
    """Check that text and structured content equal `expected`, in any of the servers' forms."""
    texts = [json.loads(block["text"]) for block in result["content"]]
    values = [texts[0] if len(texts) == 1 else texts]
    if "structuredContent" in result:
        structure = result["structuredContent"]
        is_wrapper = isinstance(structure, dict) and structure.keys() == {"result"}
        values.append(structure["result"] if is_wrapper else structure)
    if result.get("isError") or any(value != expected for value in values):
        raise WrongReplyError(f"expected {str(expected)[:80]}, got {str(result)[:300]}")
