"""Values of a database as JSON, and back: what JSON has no word for is an object that says so.

{"$blob": "<base64>"}            bytes
{"$text": "<base64>"}            text whose bytes are no UTF-8
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
_REALS: Final = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_TAKEN: Final = (
    f'must be text, a number, true, false, null, {{"{BLOB}": base64}} or {{"{REAL}": "Infinity"}}'
)


class OddText(msgspec.Struct, frozen=True):
    """The bytes of a text that are no UTF-8."""

    raw: bytes


def marked(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {BLOB: b64encode(value).decode()}
    if isinstance(value, OddText):
        return {TEXT: b64encode(value.raw).decode()}
    if isinstance(value, float) and not isfinite(value):
        return {REAL: "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def unmarked(value: Any, path: str) -> Any:
    """A value that somebody sent, as the database takes it; a Problem if it cannot be taken."""
    if not isinstance(value, dict | list):
        return value
    match value:
        case {"$blob": str(text), **others} if not others:
            try:
                return b64decode(text, validate=True)
            except ValueError as error:
                raise _misfit(path, "is no base64") from error
        case {"$real": str(word), **others} if not others and word in _REALS:
            return _REALS[word]
    raise _misfit(path, _TAKEN)


def _misfit(path: str, fault: str) -> Problem:
    return Problem.validation(f"{path} {fault}", fields=[FieldError(path, fault)])
