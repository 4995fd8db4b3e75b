"""The published JSON Schemas of tool results, one for each profile."""

from typing import Any, Final

import msgspec

from accord.errors import ContractError

_TITLES: Final = {
    "plain": "plain_result",
    "response-v2": "response_v2",
    "bare": "bare_result",
    "prose": "prose_result",
    "generic": "generic_mcp_response",
}
"""Name of each schema for APIs that allow only letters, digits and _."""
_DATA: Final = frozenset({"const", "enum", "default", "examples"})
_BY_NAME: Final = frozenset({"properties", "patternProperties"})
_DROPPED: Final = frozenset({"$schema", "$id", "$defs", "$ref", "if", "then", "else"})

NAMES: Final = tuple(_TITLES)

JsonSchema = dict[str, Any]


def load(name: str) -> JsonSchema:
    """Return a new copy of the schema of that name; raise if there is none."""
    from importlib.resources import files  # 8 ms that few commands need

    _require(name)
    found: JsonSchema = msgspec.json.decode(files(__name__).joinpath(f"{name}.json").read_bytes())
    return found


def wrapped(name: str, schema: JsonSchema) -> JsonSchema:
    """Return a schema in the form of model APIs, with the name of the published one."""
    _require(name)
    return {"name": _TITLES[name], "strict": False, "schema": schema}


def for_n8n(schema: JsonSchema) -> JsonSchema:
    """Return a schema for n8n's Structured Output Parser, which converts it to Zod types.

    References are resolved, since n8n does not support them. Conditions are omitted: n8n turns
    them into noise in the prompt. `oneOf` becomes `anyOf`: n8n drops `oneOf`. Every array has
    `items`: model APIs reject an array without, and n8n drops `items: {}`.
    """
    flat: JsonSchema = _flat(schema, schema.get("$defs", {}), ())
    return flat


def _require(name: str) -> None:
    if name not in _TITLES:
        raise ContractError(f"no schema {name!r}; there are {', '.join(NAMES)}")


def _flat(schema: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_flat(each, definitions, inside) for each in schema]
    if not isinstance(schema, dict):
        return schema
    flat = _target(schema["$ref"], definitions, inside) if "$ref" in schema else {}
    for keyword, value in schema.items():
        if keyword in _DATA:
            flat[keyword] = value
        elif keyword in _BY_NAME:
            flat[keyword] = {name: _flat(each, definitions, inside) for name, each in value.items()}
        elif keyword == "allOf":
            rules = [rule for rule in _flat(value, definitions, inside) if rule != {}]
            flat |= {"allOf": rules} if rules else {}
        elif keyword not in _DROPPED:
            flat["anyOf" if keyword == "oneOf" else keyword] = _flat(value, definitions, inside)
    kinds = flat.get("type")
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    if is_array and flat.get("items", True) in (True, {}):
        flat["items"] = _anything(depth=1)
    return flat


def _anything(depth: int) -> JsonSchema:
    """Return a schema for any value, with nested arrays up to a depth."""
    kinds: list[JsonSchema] = [{"type": "object", "additionalProperties": True}]
    if depth:
        kinds.append({"type": "array", "items": _anything(depth - 1)})
    return {"anyOf": kinds + [{"type": kind} for kind in ("string", "number", "boolean", "null")]}


def _target(reference: str, definitions: dict[str, Any], inside: tuple[str, ...]) -> JsonSchema:
    name = reference.removeprefix("#/$defs/")
    if name == reference or name not in definitions:
        raise ContractError(f"the reference {reference!r} is not in the schema's $defs")
    if name in inside:
        raise ContractError(f"the reference {reference!r} is recursive and cannot be resolved")
    found: JsonSchema = _flat(definitions[name], definitions, (*inside, name))
    return found
