"""Raw server whose replies are too large, too deep, late, missing or for other requests.

`python oversized_server.py stdio|http [LIST]`, where LIST is how it lists its tools. It uses no MCP
library, since none would send most of this.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MEGABYTE: Final = 1_000_000
STEPS: Final = 600
MARKUP: Final = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
EVIL: Final = "http://evil.example/icon.png"
ICONS: Final = [
    {"src": "javascript:window.hacked=1", "mimeType": "image/svg+xml"},
    {"src": EVIL, "sizes": ["48x48"]},
    {"src": "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='hacked=1'/>"},
    {"src": {"a": 1}},
]
Pieces = Iterator[bytes]
"""A message in pieces; a line break ends it, if anything does."""


def reply(id: Any, text: str) -> Pieces:
    result = {"content": [{"type": "text", "text": text}]}
    yield json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n"


def around(id: Any, *pieces: bytes) -> Pieces:
    """A result with a structure that is written by hand."""
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":' % id
    yield from pieces
    yield b"}}\n"


def fine(id: Any) -> Pieces:
    return reply(id, "all is well")


def huge_text(id: Any) -> Pieces:
    return reply(id, (MARKUP + "words and more words\n") * (30 * MEGABYTE // 90))


def huge_line(id: Any) -> Pieces:
    return reply(id, "x" * (30 * MEGABYTE))


def large_text(id: Any) -> Pieces:
    return reply(id, (MARKUP + "words, and more words\n") * (12 * MEGABYTE // 95))


def large_nothing(id: Any) -> Pieces:
    """Takes more memory and time to read and to show than its bytes suggest."""
    return around(id, b'{"rows":[', b'{"a":1},' * (12 * MEGABYTE // 8), b"{}]}")


def large_delicate(id: Any) -> Pieces:
    """Numbers that are kept as they are written."""
    return around(id, b'{"rows":[', b"[1.0,-0]," * 27_000, b"0]}")


def huge_rows(id: Any) -> Pieces:
    row = json.dumps({"id": 1, "name": MARKUP, "note": "x" * 40}).encode()
    return around(id, b'{"rows":[', (row + b",") * (20 * MEGABYTE // len(row)), row, b"]}")


def too_large(id: Any) -> Pieces:
    yield from reply(id, "x" * (70 * MEGABYTE))


def endless(id: Any) -> Pieces:
    """A line that never ends, as long as it is read."""
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id
    while True:
        yield b"x" * MEGABYTE


def dripping(id: Any) -> Pieces:
    """A line that never ends, and is slow about it."""
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id
    while True:
        yield b"x"
        time.sleep(0.05)


def deep(id: Any) -> Pieces:
    return around(id, b"[" * 100_000, b"]" * 100_000)


def deep_text(id: Any) -> Pieces:
    return reply(id, '{"a":' * 100_000 + "1" + "}" * 100_000)


def never(id: Any) -> Pieces:
    yield b""
    threading.Event().wait(60)


def dies(id: Any) -> Pieces:
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"te' % id
    raise EOFError


def wrong_ids(id: Any) -> Pieces:
    for other in (id + 1_000, str(id), None, [id], {"id": id}, MARKUP, True):
        yield from reply(other, "for somebody else")


def flood(id: Any) -> Pieces:
    """A notification again and again, and at last the answer."""
    params = {"level": "error", "data": MARKUP, "progressToken": MARKUP}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    line = json.dumps(message).encode() + b"\n"
    for _ in range(100):
        yield line * 200
    yield from reply(id, "after the flood")


def steps(id: Any) -> Pieces:
    """Notifications that belong to any call, and then the answer."""
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": MARKUP}}
    yield (json.dumps(message).encode() + b"\n") * STEPS
    yield from reply(id, "after the steps")


def noise(id: Any) -> Pieces:
    for _ in range(50):
        yield b"\x1b[2J not JSON \xff" + MARKUP.encode() + b"\n" + b"\n" * 1_000
    yield from reply(id, "after the noise")


def failure(id: Any) -> Pieces:
    error = {"code": -32000, "message": MARKUP * 100_000, "data": {"a": MARKUP * 1_000}}
    yield json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode() + b"\n"


def questions(id: Any) -> Pieces:
    """Far more questions than a person would answer, and then the answer."""
    for number in range(2_000):
        params = {"message": MARKUP, "requestedSchema": {"type": "object", "properties": {}}}
        question = {"jsonrpc": "2.0", "id": f"q{number}", "method": "elicitation/create"}
        yield json.dumps({**question, "params": params}).encode() + b"\n"
    yield from reply(id, "asked enough")


TOOLS: Final[dict[str, Callable[[Any], Pieces]]] = {
    each.__name__: each
    for each in (
        *(fine, large_text, large_nothing, large_delicate, huge_text, huge_line, huge_rows),
        *(too_large, endless, dripping),
        *(deep, deep_text, never, dies, wrong_ids, flood, steps, noise, failure, questions),
    )
}
MANY: Final = 3_000


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "enum": [MARKUP, "\x1b[31m\u202eevil"]}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"in": schema}, "required": ["in"]}
    return schema


SCHEMA: Final = {
    "type": "object",
    "properties": {
        "node": {"$ref": "#/$defs/node"},
        "self": {"$ref": "#/properties/self"},
        "far": {"$ref": "http://evil.example/schema.json"},
        "nested": _nested(150),
    },
    "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}},
    },
}


def tools() -> list[dict[str, Any]]:
    plain = {"inputSchema": {"type": "object"}, "icons": ICONS, "description": MARKUP}
    schemas = [{"name": "schema", "title": MARKUP, "inputSchema": SCHEMA, "icons": ICONS}]
    many = [{"name": f"tool_{n}", "title": f"{MARKUP} {n}", **plain} for n in range(MANY)]
    return [*({"name": name, **plain} for name in TOOLS), *schemas, *many]


def all_tools(id: Any) -> Pieces:
    yield _result(id, {"tools": tools()})


def more_and_more(id: Any) -> Pieces:
    """Pages without end."""
    many = [{"name": f"tool_{id}_{n}", "description": "x" * 10_000} for n in range(100)]
    yield _result(id, {"tools": many, "nextCursor": str(id)})


LISTS: Final[dict[str, Callable[[Any], Pieces]]] = {
    each.__name__: each for each in (all_tools, more_and_more, deep, huge_rows, failure, never)
}
LIST: Final = sys.argv[2] if len(sys.argv) > 2 else "all_tools"


def answer(message: dict[str, Any]) -> Pieces:
    """The answer to a request, however long it takes."""
    method, id = message["method"], message["id"]
    if method == "initialize":
        info = {"name": MARKUP, "version": "1", "title": MARKUP, "icons": ICONS}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        yield _result(id, {**result, "serverInfo": info, "instructions": MARKUP})
    elif method == "tools/list":
        yield from LISTS[LIST](id)
    elif method == "tools/call" and message["params"]["name"] in TOOLS:
        yield from TOOLS[message["params"]["name"]](id)
    elif method == "tools/call":
        yield from fine(id)
    else:
        error = {"code": -32601, "message": MARKUP}
        yield json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode() + b"\n"


def _result(id: Any, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n"


def serve_stdio() -> None:
    """Answer one request after the other: what never ends is in the way of the others."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            _write(message)


def _write(message: dict[str, Any]) -> None:
    try:
        for piece in answer(message):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    except EOFError:
        os._exit(7)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message or "method" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        events = message.get("params", {}).get("name") in (
            "flood",
            "steps",
            "questions",
            "wrong_ids",
        )
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if events else "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for piece in answer(message):
                self.wfile.write(_events(piece) if events else piece)
        except (OSError, EOFError):
            return

    def do_GET(self) -> None:
        self.send_error(405)

    def do_DELETE(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _events(lines: bytes) -> bytes:
    return b"".join(b"data: %b\n\n" % line for line in lines.splitlines())


def serve_http() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    print(f"MCP at http://127.0.0.1:{server.server_port}/mcp", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"stdio": serve_stdio, "http": serve_http}[sys.argv[1]]()
