"""Readings as JSON."""

import json
from typing import Any

import msgspec

from accord.reader.reading import Reading

_encode = msgspec.json.Encoder().encode


def report(reading: Reading) -> dict[str, Any]:
    """Return the generic response with its origin, confidence, findings and rules."""
    return {
        "response": reading.response,
        "origin": reading.origin,
        "confidence": reading.confidence,
        "findings": reading.findings,
        "rules": reading.rules,
    }


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """Encode a value as JSON, compact or indented; lone surrogates are escaped."""
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        separators = (",", ":") if indent is None else None
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, indent=indent, separators=separators).encode()
    return encoded if indent is None else msgspec.json.format(encoded, indent=indent)
