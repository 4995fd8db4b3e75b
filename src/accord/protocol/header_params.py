"""Arguments that HTTP headers repeat (`x-mcp-header`), so that proxies can route by them.

A server must not act on arguments that say something else than the headers did.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from accord.errors import HEADER_MISMATCH, ContractError, Reject
from accord.model.arguments import JsonSchema
from accord.model.tool import Tool
from accord.protocol.mirror import decoded

KEY: Final = "x-mcp-header"
PREFIX: Final = "mcp-param-"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NUMBER: Final = re.compile(r"-?[0-9]+(?P<fraction>\.[0-9]+)?")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
_LONGEST_NUMBER: Final = 400
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


class Header(msgspec.Struct, frozen=True):
    """Marks a parameter that goes into an HTTP header too: `Annotated[str, Header("Region")]`."""

    name: str

    @property
    def extra_json_schema(self) -> JsonSchema:
        """What the parameter's schema says of it."""
        return {KEY: self.name}


class Mark(msgspec.Struct, frozen=True):
    """One argument that a header repeats: where it stands, and in which header."""

    path: tuple[str, ...]
    header: bytes
    """Its name, in lower case."""


HeaderParams = tuple[Mark, ...]


def header_params_of(tool: Tool) -> HeaderParams:
    """The arguments of a tool that headers repeat; raises where a mark makes no sense."""
    marks: dict[bytes, Mark] = {}
    for path, schema in _marked(tool.input_schema, ()):
        where = f"{KEY} of tool {tool.name!r}"
        if path is None or not path:
            raise ContractError(f"{where} stands where no argument is")
        name = schema[KEY]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ContractError(f"{where} at {'.'.join(path)} is no name for a header")
        if schema.get("type") not in _TYPES:
            raise ContractError(f"{where} at {'.'.join(path)} is for text, integers, and booleans")
        header = PREFIX.encode() + name.lower().encode()
        if header in marks:
            raise ContractError(f"{where} names {name!r} twice")
        marks[header] = Mark(path, header)
    return tuple(marks.values())


def _marked(
    node: Any, path: tuple[str, ...] | None
) -> Iterator[tuple[tuple[str, ...] | None, JsonSchema]]:
    """Each schema with a mark, and its path by `properties` alone; None off that path."""
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


def fault(marks: HeaderParams, headers: Mapping[bytes, bytes], arguments: bytes) -> Reject | None:
    """What differs between the headers of a call and its arguments, if anything."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return None  # whatever is wrong with them, the tool says it
    for mark in marks:
        value = _at(given, mark.path)
        raw = headers.get(mark.header)
        if raw is None and value is None:
            continue
        if raw is None:
            return Reject(HEADER_MISMATCH, f"Header mismatch: {_shown(mark)} is missing")
        if not _says(raw, value):
            return Reject(HEADER_MISMATCH, f"Header mismatch: {_shown(mark)} does not match")
    return None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _shown(mark: Mark) -> str:
    return mark.header.decode().title()


def _says(raw: bytes, value: Any) -> bool:
    text = decoded(raw.strip(b" \t").decode("latin-1"))
    if text is None:
        return False
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        return _same_number(text, value)
    return isinstance(value, str) and text == value


def _same_number(text: str, value: float) -> bool:
    """Whether digits stand for a number, as everybody reads them: `42.0` is 42, `4_2` is none."""
    said = _NUMBER.fullmatch(text)
    if said is None or len(text) > _LONGEST_NUMBER:
        return False
    return (float(text) if said["fraction"] else int(text)) == value
