"""A raw MCP server over stdio (2025-11-25) that says whatever a test tells it to.

Its first argument is a JSON file: {"tools": [...], "sleep": seconds before the first reply}. It is of
2026-07-28 with "ttl_ms", the time for which its list, which is read from the file again, is fresh. The
tool `say` returns the JSON text in its argument `raw` as its result; the others misbehave.
"""

import json
import os
import sys
import time
from typing import Any

MISBEHAVING = (
    "say",
    "meta",
    "hang",
    "doze",
    "leave",
    "garbage",
    "huge",
    "wrong_id",
    "silence",
    "chatter",
)


def listed(settings: dict[str, Any]) -> list[Any]:
    schema = {"type": "object"}
    return settings.get("tools") or [{"name": name, "inputSchema": schema} for name in MISBEHAVING]


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def reply(request_id: Any, result: str) -> None:
    say(f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{result}}}')


def call(request_id: Any, name: str, arguments: dict[str, Any]) -> None:
    match name:
        case "hang":
            return
        case "doze":  # and answer nothing meanwhile
            time.sleep(arguments["seconds"])
        case "leave":
            sys.stderr.write("fatal: the database is gone\n")
            sys.stderr.flush()
            os._exit(3)
        case "garbage":
            say("this is not JSON")
            say('{"jsonrpc": "2.0"')
            reply(request_id, '{"content": [{"type": "text", "text": "after garbage"}]}')
        case "huge":
            reply(request_id, json.dumps({"content": [{"type": "text", "text": "x" * 50_000_000}]}))
        case "wrong_id":
            reply(987654, '{"content": []}')
            reply(request_id, '{"content": [{"type": "text", "text": "mine"}]}')
        case "silence":
            say('{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no id"}}')
        case "chatter":
            for number in range(5_000):
                note = {"level": "info", "data": number}
                method = "notifications/message"
                say(json.dumps({"jsonrpc": "2.0", "method": method, "params": note}))
            reply(request_id, '{"content": [{"type": "text", "text": "enough"}]}')
        case _:
            reply(request_id, arguments.get("raw", '{"content": []}'))


def read_settings() -> dict[str, Any]:
    if len(sys.argv) < 2:
        return {}
    with open(sys.argv[1]) as file:  # noqa: PTH123 - it starts faster
        found: dict[str, Any] = json.load(file)
    return found


def main() -> None:
    settings = read_settings()
    time.sleep(settings.get("sleep", 0))
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if request_id is None:
            continue
        if method == "server/discover" and "ttl_ms" in settings:
            found: dict[str, Any] = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
            }
            reply(request_id, json.dumps({**found, "resultType": "complete"}))
        elif method == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
            reply(request_id, json.dumps(result))
        elif method == "tools/list":
            settings = read_settings()
            page: dict[str, Any] = {"tools": listed(settings), "nextCursor": None}
            if "ttl_ms" in settings:
                page |= {"ttlMs": settings["ttl_ms"], "cacheScope": "public"}
            reply(request_id, json.dumps(page))
        elif method == "tools/call":
            params = message["params"]
            if params["name"] == "meta":
                said = {"type": "text", "text": json.dumps(params.get("_meta", {}))}
                reply(request_id, json.dumps({"content": [said], "_meta": {"theirs": 1}}))
                continue
            call(request_id, params["name"], params.get("arguments", {}))
        elif method == "ping":
            reply(request_id, "{}")
        else:
            error = {"code": -32601, "message": "Method not found"}
            say(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))


main()
