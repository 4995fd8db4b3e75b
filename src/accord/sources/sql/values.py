"""Values of a database as JSON, and back. An object marks a value that JSON does not have:

{"$blob": "<base64>"}            bytes
{"$text": "<base64>"}            text whose bytes are not UTF-8
{"$real": "Infinity"}            a number that JSON cannot write; also -Infinity and NaN
"""

from base64 import b64decode, b64encode
from math import isfinite, isnan
from typing import Any, Final

import msgspec

from accord.model.answer import FieldError, Problem

BLOB: Final = "$blob"
TEXT: Final = "$text"
REAL: Final = "$real"
_NUMBERS: Final = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_EXPECTED: Final = (
    f'must be text, a number, true, false, null, {{"{BLOB}": base64}} or {{"{REAL}": "Infinity"}}'
)


class InvalidText(msgspec.Struct, frozen=True):
    """Text whose bytes are not UTF-8."""

    raw: bytes


def to_json(value: Any) -> Any:
    """Return a database value as a JSON value."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {BLOB: b64encode(value).decode()}
    if isinstance(value, InvalidText):
        return {TEXT: b64encode(value.raw).decode()}
    if isinstance(value, float) and not isfinite(value):
        return {REAL: "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def from_json(value: Any, path: str) -> Any:
    """Return a caller's JSON value as a database value, or raise a Problem with its path."""
    if not isinstance(value, dict | list):
        return value
    match value:
        case {"$blob": str(text), **others} if not others:
            try:
                return b64decode(text, validate=True)
            except ValueError as error:
                raise _invalid(path, "is not base64") from error
        case {"$real": str(word), **others} if not others and word in _NUMBERS:
            return _NUMBERS[word]
    raise _invalid(path, _EXPECTED)


def _invalid(path: str, fault: str) -> Problem:
    return Problem.validation(f"{path} {fault}", fields=[FieldError(path, fault)])
