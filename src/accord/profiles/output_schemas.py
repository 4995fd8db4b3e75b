"""Output schemas of the profiles that send the data itself: with and without details.

The details are declared by type alone, since `tools/list` repeats them for every tool.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.model.arguments import JsonSchema
from accord.model.tool import Tool
from accord.profiles.details import MEMBER
from accord.revisions import Revision

_DETAILS: Final[JsonSchema] = {"page": {"type": "object"}, "warnings": {"type": "array"}}
"""The others are admitted too, and not worth their bytes."""
_HAS_MEMBER: Final[JsonSchema] = {"type": "object", "required": [MEMBER]}
_EXTENSIBLE: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "$defs"),
        *("title", "description", "default", "examples", "$comment", "minProperties"),
    }
)
"""Keywords of an object's schema that do not restrict a further property."""
_SHORT: Final = 80
"""Bytes of a schema that is shorter than the references to it."""


def data_schema(tool: Tool, revision: Revision) -> JsonSchema | None:
    """Return the output schema of a profile that sends the data, with its details if any."""
    schema = tool.output.schema
    if schema is None or revision.structured == "none":
        return None
    if schema.get("type") == "object" and schema.keys() <= _EXTENSIBLE:
        return _with_member(schema)
    schema = schema.copy()
    definitions = schema.pop("$defs", {})
    may_be_object = _may_be_object(schema, definitions)
    if revision.structured == "object" and not may_be_object:
        return _defining(_wrapped(schema), definitions)
    if len(msgspec.json.encode(schema)) > _SHORT:
        name = _unused_name(definitions)
        definitions, schema = {**definitions, name: schema}, {"$ref": f"#/$defs/{name}"}
    forms = [schema, _wrapped(schema), *([_HAS_MEMBER] if may_be_object else [])]
    root: JsonSchema = {"type": "object"} if revision.structured == "object" else {}
    return _defining({**root, "anyOf": forms}, definitions)


def _with_member(schema: JsonSchema) -> JsonSchema:
    """Return the schema of an object with a further member for the details."""
    properties = schema.get("properties", {})
    may_have_member = schema.get("additionalProperties", not properties) is not False
    member: JsonSchema = {} if may_have_member or MEMBER in properties else {"type": "object"}
    return {**schema, "properties": {**properties, MEMBER: member}}


def _wrapped(schema: JsonSchema) -> JsonSchema:
    """Return the schema of data as the member `result` of an object."""
    return {"type": "object", "properties": {"result": schema, **_DETAILS}, "required": ["result"]}


def _defining(schema: JsonSchema, definitions: Mapping[str, Any]) -> JsonSchema:
    return {**schema, "$defs": definitions} if definitions else schema


def _unused_name(definitions: Mapping[str, Any]) -> str:
    name = "data"
    while name in definitions:
        name += "_"
    return name


def _may_be_object(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> bool:
    """True unless a schema excludes objects."""
    if not isinstance(schema, dict) or depth > len(definitions):
        return True
    kinds = schema.get("type", ())
    if kinds:
        return "object" in ([kinds] if isinstance(kinds, str) else kinds)
    if "const" in schema or "enum" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        return any(isinstance(value, dict) for value in values)
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        return _may_be_object(definitions.get(name), definitions, depth + 1)
    branches = schema.get("anyOf") or schema.get("oneOf")
    return not branches or any(_may_be_object(each, definitions, depth) for each in branches)
