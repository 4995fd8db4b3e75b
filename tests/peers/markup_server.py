"""Raw stdio server whose names and texts contain markup, scripts and control characters.

It uses no MCP library, since none would send most of this.
"""

import base64
import json
import sys
from typing import Any

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>bold</b>'
CODES = "\x1b[31mred\x1b[0m \u202eevil\u202c \u200bzero\u2066x\u2069"
BAD = MARKUP + CODES
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"><script>window.hacked=1</script><image href="http://evil.example/x.png"/></svg>'
HTML = f"<script>parent.hacked=1;top.location='http://evil.example/'</script>{MARKUP}"
LINKS = [
    "javascript:window.hacked=1",
    "data:text/html,<script>window.hacked=1</script>",
    "http://evil.example/page",
    "file:///etc/passwd",
]


def _in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


BLOCKS: list[Any] = [
    {"type": "text", "text": BAD},
    {"type": "image", "mimeType": "image/svg+xml", "data": _in_base64(SVG)},
    {"type": "image", "mimeType": "image/png", "data": "x:y"},
    {"type": "image", "mimeType": 'image/png"><script>', "data": ""},
    {"type": "image", "mimeType": "text/html", "data": _in_base64(HTML)},
    {"type": "image", "mimeType": ["image/png"], "data": ["A"]},
    {"type": "audio", "mimeType": "audio/wav", "data": _in_base64(HTML)},
    {"type": "audio", "mimeType": "text/html", "data": _in_base64(HTML)},
    *({"type": "resource_link", "uri": uri, "name": BAD} for uri in LINKS),
    {"type": "resource_link", "uri": {"a": 1}, "name": ["x"], "mimeType": 7},
    {
        "type": "resource",
        "resource": {"uri": LINKS[0], "mimeType": "text/html", "text": HTML},
    },
    {
        "type": "resource",
        "resource": {"uri": "x/" + BAD, "mimeType": "application/pdf", "blob": _in_base64(HTML)},
    },
    {
        "type": "resource",
        "resource": {"uri": "x.pdf", "mimeType": "application/pdf", "blob": "A"},
    },
    {"type": "resource", "resource": None},
    {"type": "resource"},
    {"type": BAD},
    {"type": 7},
    {},
    None,
    "text",
]


def _deep(depth: int) -> Any:
    value: Any = BAD
    for _ in range(depth):
        value = {"in": [value]}
    return value


def _odd(names: list[str]) -> Any:
    return json.loads("{" + ",".join(f"{json.dumps(name)}: 1" for name in names) + "}")


ODD = ["__proto__", "constructor", "", "toString", "hasOwnProperty", "length", " ", "a.b[0]", BAD]
ANSWERS: dict[str, Any] = {
    "blocks": {"content": BLOCKS},
    "rows": {"content": [], "structuredContent": {"rows": [{BAD: BAD, **_odd(ODD)}, {BAD: [BAD]}]}},
    "long": {"content": [{"type": "text", "text": BAD + "x" * 10_000_000}]},
    "lines": {"content": [{"type": "text", "text": "line\n" * 300_000}]},
    "many": {"structuredContent": {"rows": [{"id": n, "name": BAD} for n in range(2_000)]}},
    "wide": {"structuredContent": {"rows": [{f"c{n}": n for n in range(1_000)}] * 5}},
    "members": {"structuredContent": {f"c{n}": n for n in range(20_000)}},
    "deep": {"structuredContent": _deep(400)},
    "numbers": {"structuredContent": [10**400, 1.0, -0.0, 12345678901234567890]},
    "error": {"isError": True, "content": [{"type": "text", "text": BAD}]},
    "none": None,
    "text": BAD,
    "list": [BAD],
    "content": {"content": BAD, "structuredContent": None, "isError": "yes"},
}
TREE = {
    "type": "object",
    "title": BAD,
    "properties": {
        "name": {"type": "string"},
        "left": {"$ref": "#/$defs/Tree"},
        "right": {"$ref": "#/$defs/Tree"},
        "all": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    },
    "required": ["left", "right"],
}
SCHEMAS: dict[str, Any] = {
    "odd": {"type": "object", "properties": {name: {"type": "string"} for name in ODD}},
    "choices": {
        "type": "object",
        "properties": {
            "pick": {
                "enum": [BAD, "", None, 1, {"a": BAD}, *(f"choice {n}" for n in range(20_000))]
            },
            "one": {"oneOf": [{"const": BAD, "title": BAD}, {"const": "b", "title": {"a": 1}}]},
        },
    },
    "tree": {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "required": ["tree"],
        "$defs": {"Tree": TREE},
    },
    "bushy": {
        "type": "object",
        "properties": {f"p{n}": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]} for n in range(8)},
    },
    "loops": {
        "type": "object",
        "allOf": [{"$ref": "#"}, {"$ref": "#"}],
        "properties": {
            "x": {"$ref": "#/properties/x"},
            "y": {"anyOf": [{"$ref": "#/properties/y"}] * 3},
        },
    },
    "wrong": {
        "type": "object",
        "properties": {
            "a": None,
            "b": {
                "type": "string",
                "maxLength": BAD,
                "pattern": "(",
                "format": BAD,
                "default": BAD,
            },
            "c": {"type": ["array", {"x": 1}], "items": [1]},
            "d": {"type": "number", "minimum": BAD, "maximum": {"a": 1}},
            "e": {"anyOf": BAD, "oneOf": [None, 7, BAD]},
            "f": {"$ref": "#/%E0%A4%A", "description": {"a": 1}},
            "g": {"$ref": "#/properties/__proto__/constructor"},
            "h": {"type": "object", "properties": [1, 2], "required": {"a": 1}},
            "i": {"enum": []},
        },
        "required": BAD,
    },
    "plenty": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(1_000)}},
    "none": {"type": "object", "properties": "x", "$defs": 7},
}
QUESTIONS: dict[str, Any] = {
    "form": ("elicitation/create", {"message": BAD, "requestedSchema": SCHEMAS["wrong"]}),
    "loop": ("elicitation/create", {"message": {"a": 1}, "requestedSchema": SCHEMAS["loops"]}),
    "url": ("elicitation/create", {"mode": "url", "message": BAD, "url": LINKS[0]}),
    "model": (
        "sampling/createMessage",
        {"messages": [None, {"role": BAD, "content": [{"type": BAD}]}]},
    ),
    "roots": ("roots/list", None),
    "odd": (BAD, [BAD]),
}
TOOLS: list[Any] = [
    *({"name": f"ask_{name}", "inputSchema": {"type": "object"}} for name in QUESTIONS),
    *({"name": name, "description": BAD, "inputSchema": {"type": "object"}} for name in ANSWERS),
    *(
        {"name": f"form_{name}", "title": BAD, "description": {"a": BAD}, "inputSchema": schema}
        for name, schema in SCHEMAS.items()
    ),
    {"name": BAD, "title": {"a": 1}, "annotations": BAD, "inputSchema": None},
    {"name": "constructor", "annotations": {"readOnlyHint": "yes", "title": BAD}},
    {"name": "__proto__", "outputSchema": 7},
    {"name": ""},
    {"name": "x" * 5_000, "description": "y" * 1_000_000},
    {"name": 7},
    {},
]
PROMPTS: list[Any] = [
    {
        "name": BAD,
        "title": {"a": 1},
        "description": BAD,
        "arguments": [{"name": BAD, "description": BAD}, {"name": "__proto__"}, None, {"name": 7}],
    },
    {"name": "__proto__", "arguments": {"a": 1}},
    {"name": "x" * 5_000, "arguments": [{"name": f"a{n}"} for n in range(1_000)]},
    {"name": 7},
]
RESOURCES: list[Any] = [
    *({"uri": uri, "name": BAD, "mimeType": BAD, "size": BAD} for uri in LINKS),
    {"uri": BAD, "name": {"a": 1}, "title": [BAD], "description": 7, "mimeType": [1]},
    {"uri": 7},
]
TEMPLATES: list[Any] = [
    {"uriTemplate": "x://{__proto__}/{constructor}/{+a*}{?b:3,c}{/", "name": BAD},
    {"uriTemplate": "{" * 2_000 + "a}" * 2_000, "name": BAD},
    {"uriTemplate": BAD},
]
LISTS = {
    "tools/list": {"tools": TOOLS},
    "prompts/list": {"prompts": PROMPTS},
    "resources/list": {"resources": RESOURCES},
    "resources/templates/list": {"resourceTemplates": TEMPLATES},
}
GOT = {
    "prompts/get": {
        "description": BAD,
        "messages": [*({"role": BAD, "content": each} for each in BLOCKS), None, 7, {"role": [1]}],
    },
    "resources/read": {
        "contents": [
            {"uri": BAD, "text": HTML, "mimeType": "text/html"},
            {"uri": LINKS[0], "blob": _in_base64(SVG), "mimeType": "image/svg+xml"},
            {"uri": {"a": 1}, "text": [BAD]},
            None,
            7,
        ]
    },
    "completion/complete": {"completion": {"values": [BAD, 7, None, "b"], "total": BAD}},
}
INFO = {"name": BAD, "version": BAD, "title": BAD, "websiteUrl": LINKS[0]}


CAPABILITIES: dict[str, Any] = {
    "tools": {},
    "prompts": {},
    "resources": {},
    "completions": {},
}


def notify(token: Any) -> None:
    """Report progress and log messages in every wrong form, before a result."""
    progress: list[Any] = [
        {"progress": BAD, "total": {"a": 1}, "message": [BAD]},
        {"progress": 1e308, "total": -1, "message": BAD},
        {"progress": -5, "total": 0.5},
    ]
    for each in progress:
        say({"method": "notifications/progress", "params": {"progressToken": token, **each}})
    say({"method": "notifications/message", "params": {"level": BAD, "data": BAD, "logger": [1]}})
    say({"method": "notifications/message", "params": {"data": {"__proto__": {BAD: BAD}}}})
    say({"method": "notifications/" + BAD, "params": {"uri": BAD}})
    say({"method": "notifications/message", "params": [BAD]})


def say(message: Any) -> None:
    """Send a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(message: Any) -> Any:
    """Return the reply to a request."""
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        said = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES}
        return {"result": {**said, "serverInfo": INFO, "instructions": BAD}}
    if method in LISTS or method in GOT:
        return {"result": LISTS.get(method) or GOT[method]}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": BAD}}
    if params["name"] in ANSWERS:
        return {"result": ANSWERS[params["name"]]}
    return {"error": {"code": BAD, "message": BAD, "data": BAD}}


def main() -> None:
    """Answer until the end of input; a question has the id of its call."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        asks = QUESTIONS.get(str((message.get("params") or {}).get("name"))[4:])
        if asks is not None and "method" in message:
            said = {"method": asks[0], "params": asks[1]}
        elif "method" in message:
            said = answer(message)
            token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
            if token is not None:
                notify(token)
        else:
            said = {"result": {"content": [{"type": "text", "text": json.dumps(message)}]}}
        say({"id": message["id"], **said})


if __name__ == "__main__":
    main()
