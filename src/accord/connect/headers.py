"""HTTP headers that repeat parts of a message, so that proxies can route without the body."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from accord.connect.messages import Outgoing
from accord.errors import PeerError

_ANNOTATION: Final = "x-mcp-header"
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"[!-~]([\t -~]*[!-~])?")
_ENCODED: Final = re.compile(r"=\?base64\?.*\?=")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TYPES: Final = ("integer", "string", "boolean")
_DATA_KEYWORDS: Final = ("const", "default", "enum", "examples")
_SAFE_INTEGER: Final = 2**53 - 1

Path = tuple[str, ...]


def message_headers(message: Outgoing) -> dict[str, str]:
    """Return the headers of one message for its revision."""
    if message.revision is None:
        return {}
    headers = {"MCP-Protocol-Version": message.revision.date}
    if not message.revision.stateless:
        return headers
    headers["Mcp-Method"] = message.method
    name = message.params.get(_NAMED_BY.get(message.method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encode(name)
    return {**headers, **message.headers}


def encode(value: str) -> str:
    """Encode a header value: as it is, or as Base64 between markers."""
    if (_PLAIN.fullmatch(value) or not value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{b64encode(value.encode(errors='replace')).decode()}?="


def find_header_params(schema: Any) -> dict[Path, str]:
    """Return the header name of each argument that a schema annotates; PeerError if invalid."""
    found: dict[Path, str] = {}
    open_: list[tuple[Path, Any, bool]] = [((), schema, True)]
    while open_:
        path, node, is_reachable = open_.pop()
        if isinstance(node, list):
            open_ += [(path, each, False) for each in node]
        if not isinstance(node, dict):
            continue
        if _ANNOTATION in node:
            found[path] = _header_name(node, is_reachable, found)
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                open_ += [((*path, name), each, is_reachable) for name, each in value.items()]
            elif key not in _DATA_KEYWORDS:
                open_.append((path, value, False))
    return found


def _header_name(node: Mapping[str, Any], is_reachable: bool, found: Mapping[Path, str]) -> str:
    name = node[_ANNOTATION]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise PeerError(f"{_ANNOTATION} {name!r} is not a valid header name")
    if not is_reachable:
        raise PeerError(f"{_ANNOTATION} {name!r} must annotate a property of an object")
    if node.get("type") not in _HEADER_TYPES:
        raise PeerError(f"{_ANNOTATION} {name!r} must be on an integer, string or boolean")
    if name.lower() in (other.lower() for other in found.values()):
        raise PeerError(f"{_ANNOTATION} {name!r} is used twice")
    return name


def argument_headers(names: Mapping[Path, str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers for the given arguments."""
    headers = {}
    for path, name in names.items():
        text = _text(_at(path, arguments))
        if text is not None:
            headers[f"Mcp-Param-{name}"] = encode(text)
    return headers


def _at(path: Path, value: Any) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) <= _SAFE_INTEGER:
            return str(value)
        case str():
            return value
        case _:
            return None
