"""HTTP headers that repeat parts of a request, so that proxies can route by them.

In the stateless era Mcp-Method and Mcp-Name repeat the method and name, and Mcp-Param-* the
arguments that a tool marks with `x-mcp-header`. A server must not execute a request that differs
from its headers.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from accord.errors import HEADER_MISMATCH, ContractError, Reject
from accord.model.arguments import JsonSchema
from accord.model.tool import Tool

KEY: Final = "x-mcp-header"
PREFIX: Final = "mcp-param-"
_ENCODED: Final = ("=?base64?", "?=")
_NAME_MEMBERS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "task_id",
    "tasks/update": "task_id",
    "tasks/cancel": "task_id",
}
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NUMBER: Final = re.compile(r"-?[0-9]+(?P<fraction>\.[0-9]+)?")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
_MAX_DIGITS: Final = 400
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


class RequestHeaders(msgspec.Struct, frozen=True):
    """The headers that repeat the revision, method and name; None where one is absent."""

    revision: str | None = None
    method: str | None = None
    name: str | None = None
    _decoded_name: str | None = None

    def __post_init__(self) -> None:
        """Decode the name once: one instance serves all requests with the same headers."""
        msgspec.structs.force_setattr(self, "_decoded_name", decode_value(self.name))

    @property
    def operation(self) -> tuple[str, str]:
        """The method and the name; an empty text where a header is absent."""
        return self.method or "", self._decoded_name or ""

    def match(self, tool: str) -> bool:
        """True if the headers name a call of this tool."""
        return self._decoded_name == tool and self.method == "tools/call"

    def revision_fault(self) -> Reject:
        """Return the error of a revision that differs from the body's."""
        return _mismatch("MCP-Protocol-Version", self.revision)

    def fault(self, revision: str, method: str, params: Any) -> Reject | None:
        """Return the error of the first header that differs from the body, if one does."""
        if self.revision != revision:
            return self.revision_fault()
        if self.method != method:
            return _mismatch("Mcp-Method", self.method)
        name = self._decoded_name
        if method in _NAME_MEMBERS and name != getattr(params, _NAME_MEMBERS[method], name):
            return _mismatch("Mcp-Name", self.name)
        return None


def _mismatch(header: str, value: str | None) -> Reject:
    fault = "is missing" if value is None else "does not match the body"
    return Reject(HEADER_MISMATCH, f"Header mismatch: {header} {fault}")


def decode_value(value: str | None) -> str | None:
    """Decode a header value: plain ASCII, or Base64 between two marks; None if malformed."""
    start, end = _ENCODED
    if value is None or not value.isascii():
        return None
    if not (value.startswith(start) and value.endswith(end)):
        return value
    try:
        return b64decode(value[len(start) : -len(end)], validate=True).decode()
    except ValueError:
        return None


class Header(msgspec.Struct, frozen=True):
    """Marks a parameter that is also sent as HTTP header: `Annotated[str, Header("Region")]`."""

    name: str

    @property
    def extra_json_schema(self) -> JsonSchema:
        """The member that it adds to the parameter's schema."""
        return {KEY: self.name}


class HeaderParam(msgspec.Struct, frozen=True):
    """An argument that a header repeats."""

    path: tuple[str, ...]
    header: bytes
    """Name of the header, in lower case."""


def header_params_of(tool: Tool) -> tuple[HeaderParam, ...]:
    """Return the arguments of a tool that headers repeat; raise if a mark is not valid."""
    found: dict[bytes, HeaderParam] = {}
    for path, schema in _marked(tool.input_schema, ()):
        where = f"{KEY} of tool {tool.name!r}"
        if path is None or not path:
            raise ContractError(f"{where} must be in the schema of an argument")
        name = schema[KEY]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ContractError(f"{where} at {'.'.join(path)} must be a valid header name")
        if schema.get("type") not in _TYPES:
            raise ContractError(f"{where} at {'.'.join(path)} must be text, integer or boolean")
        header = PREFIX.encode() + name.lower().encode()
        if header in found:
            raise ContractError(f"{where} names {name!r} twice")
        found[header] = HeaderParam(path, header)
    return tuple(found.values())


def _marked(
    node: Any, path: tuple[str, ...] | None
) -> Iterator[tuple[tuple[str, ...] | None, JsonSchema]]:
    """Yield each marked schema with its path through `properties`; None for other paths."""
    if isinstance(node, list):
        for each in node:
            yield from _marked(each, None)
    if not isinstance(node, dict):
        return
    if KEY in node:
        yield path, node
    for keyword, inner in node.items():
        if keyword in ("default", "examples", "const", "enum"):
            continue
        if keyword in _MAPS and isinstance(inner, dict):
            for name, schema in inner.items():
                is_on_path = keyword == "properties" and path is not None
                yield from _marked(schema, (*(path or ()), name) if is_on_path else None)
        else:
            yield from _marked(inner, None)


def header_params_fault(
    params: tuple[HeaderParam, ...], headers: Mapping[bytes, bytes], arguments: bytes
) -> Reject | None:
    """Return the error of the first header that differs from its argument, if one does."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return None  # the tool reports it
    for param in params:
        value = _at(given, param.path)
        raw = headers.get(param.header)
        if raw is None and value is None:
            continue
        shown = param.header.decode().title()
        if raw is None:
            return Reject(HEADER_MISMATCH, f"Header mismatch: {shown} is missing")
        if not _equals(raw, value):
            return Reject(HEADER_MISMATCH, f"Header mismatch: {shown} does not match")
    return None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _equals(raw: bytes, value: Any) -> bool:
    text = decode_value(raw.strip(b" \t").decode("latin-1"))
    if text is None:
        return False
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        return _equals_number(text, value)
    return isinstance(value, str) and text == value


def _equals_number(text: str, value: float) -> bool:
    """True if a decimal number equals a value: `42.0` is 42, `4_2` is not a number."""
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > _MAX_DIGITS:
        return False
    return (float(text) if found["fraction"] else int(text)) == value
