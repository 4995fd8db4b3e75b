"""The published JSON Schemas of what a tool answers: one for each profile."""

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
"""What each schema is called where only letters, digits and _ may stand."""
_DATA: Final = frozenset({"const", "enum", "default", "examples"})
_BY_NAME: Final = frozenset({"properties", "patternProperties"})
_DROPPED: Final = frozenset({"$schema", "$id", "$defs", "$ref", "if", "then", "else"})

NAMES: Final = tuple(_TITLES)

JsonSchema = dict[str, Any]


def load(name: str) -> JsonSchema:
    """The schema of that name, to keep and to change; or an error that lists the names."""
    from importlib.resources import files  # 8 ms that few commands need

    _require(name)
    found: JsonSchema = msgspec.json.decode(files(__name__).joinpath(f"{name}.json").read_bytes())
    return found


def wrapped(name: str, schema: JsonSchema) -> JsonSchema:
    """The schema as model APIs take it, under the name that the published one of `name` has."""
    _require(name)
    return {"name": _TITLES[name], "strict": False, "schema": schema}


def for_n8n(schema: JsonSchema) -> JsonSchema:
    """The same for n8n's Structured Output Parser, which rebuilds a schema as Zod types.

    References are written out, since it knows none. Conditions are left out: what it makes of
    them is noise in the prompt. `oneOf` becomes `anyOf`: of a `oneOf` the model would see nothing.
    An array says what its items are, even if that is anything: model APIs refuse one that does
    not, and of `items: {}` n8n makes none.
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
    """Any value, with arrays in arrays so deep, for what has to be told the types of items."""
    kinds: list[JsonSchema] = [{"type": "object", "additionalProperties": True}]
    if depth:
        kinds.append({"type": "array", "items": _anything(depth - 1)})
    return {"anyOf": kinds + [{"type": kind} for kind in ("string", "number", "boolean", "null")]}


def _target(reference: str, definitions: dict[str, Any], inside: tuple[str, ...]) -> JsonSchema:
    name = reference.removeprefix("#/$defs/")
    if name == reference or name not in definitions:
        raise ContractError(f"the reference {reference!r} leads nowhere in the schema's $defs")
    if name in inside:
        raise ContractError(f"{reference!r} refers to itself; without references it has no end")
    found: JsonSchema = _flat(definitions[name], definitions, (*inside, name))
    return found
