"""The messages that are sent, and what a right reply to each says."""

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
# Large enough that all sums have as many digits, so that all replies are of one length.
FIRST_TERM = 1_000_000


class WrongReplyError(Exception):
    """A server did not answer what it was asked."""


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
        raise WrongReplyError(f"request {number} was answered with {reply[:300]!r}")
    result: dict[str, Any] = message["result"]
    return result


def check_calls(
    replies: Iterable[bytes], tool: Tool, numbers: range, constant: int | None = None
) -> None:
    """Every number answered exactly once, each with its own value.

    `constant` is for the constant loop: the number whose value all its replies carry.
    """
    open_numbers = set(numbers)
    for reply in replies:
        number = json.loads(reply).get("id")
        if number not in open_numbers:
            raise WrongReplyError(f"nobody asked for, or had already: {reply[:300]!r}")
        open_numbers.remove(number)
        expected = expected_value(tool, number if constant is None else constant)
        check_value(result_in(reply, number), expected)
    if open_numbers:
        raise WrongReplyError(f"{len(open_numbers)} of {len(numbers)} calls were not answered")


def check_value(result: dict[str, Any], expected: Any) -> None:
    """Text and structure both say `expected`, in whichever of its forms a server words it."""
    texts = [json.loads(block["text"]) for block in result["content"]]
    said = [texts[0] if len(texts) == 1 else texts]
    if "structuredContent" in result:
        structure = result["structuredContent"]
        is_wrapper = isinstance(structure, dict) and structure.keys() == {"result"}
        said.append(structure["result"] if is_wrapper else structure)
    if result.get("isError") or any(value != expected for value in said):
        raise WrongReplyError(f"expected {str(expected)[:80]}, got {str(result)[:300]}")
