"""A Reading as JSON, whatever is in it."""

import json
from typing import Any

import msgspec

from accord.reader.reading import Reading

_encode = msgspec.json.Encoder().encode


def report(reading: Reading) -> dict[str, Any]:
    """The generic response, and how we know it."""
    return {
        "response": reading.response,
        "origin": reading.origin,
        "confidence": reading.confidence,
        "findings": reading.findings,
        "rules": reading.rules,
    }


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """JSON, compact or indented; halves of a character, which UTF-8 has not, are escaped."""
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        separators = (",", ":") if indent is None else None
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, indent=indent, separators=separators).encode()
    return encoded if indent is None else msgspec.json.format(encoded, indent=indent)
