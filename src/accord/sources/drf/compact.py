"""Compact schemas: each value of an enum once, and each large part once, in `$defs`."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

import msgspec

from accord.model.arguments import JsonSchema

_MIN_SHARED: Final = 160  # bytes of JSON; a reference and its entry in `$defs` take about 60
_LISTS: Final = ("anyOf", "oneOf", "allOf")
_SINGLE: Final = ("items", "additionalProperties")
_OWN: Final = frozenset({"description", "default", "title"})
"""Members that stay beside a reference."""
_ENUM: Final = frozenset({"enum", "type"})

_encode = msgspec.json.Encoder(order="deterministic").encode


def compacted(schema: JsonSchema) -> JsonSchema:
    """Return an equal schema of JSON data without repetitions."""
    return _Sharing(_merged(schema)).result()


def _merged(schema: JsonSchema) -> JsonSchema:
    """Return a schema with each value of an enum once; alternatives that are enums become one."""
    schema = _with_parts(schema, lambda name, part: _merged(part))
    for name in ("anyOf", "oneOf"):
        parts = schema.get(name, ())
        if parts and all("enum" in part and part.keys() <= _ENUM for part in parts):
            others = {key: value for key, value in schema.items() if key != name}
            schema = {**others, "enum": [value for part in parts for value in part["enum"]]}
    if "enum" in schema:
        unique: dict[Any, Any] = {}
        for value in schema["enum"]:
            unique.setdefault(_identity(value), value)
        schema["enum"] = list(unique.values())
    return schema


def _identity(value: Any) -> Any:
    """Return a key that is equal for equal JSON values: 1 and 1.0, but not true."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (value,) if is_number else _encode(value)


def _with_parts(schema: JsonSchema, change: Callable[[str | None, Any], JsonSchema]) -> JsonSchema:
    """Return a copy of a schema with its parts changed, each given with the property's name."""
    changed = dict(schema)
    for name in _SINGLE:
        if isinstance(schema.get(name), dict):
            changed[name] = change(None, schema[name])
    for name in _LISTS:
        if name in schema:
            changed[name] = [change(None, part) for part in schema[name]]
    if "properties" in schema:
        properties = schema["properties"].items()
        changed["properties"] = {name: change(name, part) for name, part in properties}
    return changed


def _parts(schema: JsonSchema) -> Iterator[JsonSchema]:
    yield from (schema[name] for name in _SINGLE if isinstance(schema.get(name), dict))
    for name in _LISTS:
        yield from schema.get(name, ())
    yield from schema.get("properties", {}).values()


class _Sharing:
    """Moves the parts that a schema has several times into `$defs`."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._counts = Counter[bytes]()
        self._names: dict[bytes, str] = {}
        self._defs: JsonSchema = {}

    def result(self) -> JsonSchema:
        self._count(self._schema)
        schema = self._with_shared("arguments", self._schema)
        return {**schema, "$defs": self._defs} if self._defs else schema

    def _count(self, schema: JsonSchema) -> None:
        """Count each part; parts of one that is counted already are not counted again."""
        for part in _parts(schema):
            key = _key(part)
            self._counts[key] += 1
            if self._counts[key] == 1:
                self._count(part)

    def _with_shared(self, name: str, schema: JsonSchema) -> JsonSchema:
        return _with_parts(schema, lambda own, part: self._shared(own or name, part))

    def _shared(self, name: str, part: JsonSchema) -> JsonSchema:
        key = _key(part)
        if self._counts[key] == 1 or len(key) < _MIN_SHARED:
            return self._with_shared(name, part)
        if key not in self._names:
            own_name = self._names[key] = self._free_name(name)
            self._defs[own_name] = {}  # its name is taken
            core = {each: value for each, value in part.items() if each not in _OWN}
            self._defs[own_name] = self._with_shared(name, core)
        own = {each: value for each, value in part.items() if each in _OWN}
        return {"$ref": f"#/$defs/{self._names[key]}", **own}

    def _free_name(self, name: str) -> str:
        plain = "".join(each if each.isascii() and each.isalnum() else "_" for each in name)
        if plain not in self._defs:
            return plain
        return next(each for n in count(2) if (each := f"{plain}_{n}") not in self._defs)


def _key(schema: JsonSchema) -> bytes:
    return _encode({name: value for name, value in schema.items() if name not in _OWN})
