"""Checks that Python values can be represented in JSON."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import accumulate
from math import isfinite
from types import NoneType
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from accord.errors import ContractError, TooDeep


class WireResult(msgspec.Struct, frozen=True):
    """The result of another server's prompt or resource: the members to send as they are."""

    members: Mapping[str, Any]


MAX_DEPTH: Final = 100
"""Maximum levels of arrays and objects in what is sent: results, resources, log data.

A reply adds up to five levels. Readers stop at 127 (serde_json) or 199 (pydantic), and msgspec at
Python's recursion limit less the frames in use.
"""

_ATOMS: Final = frozenset({str, int, bool, NoneType})
_NOT_JSON: Final = (set, frozenset, bytes, bytearray, memoryview)

_STRING: Final = re.compile(rb'"[^"]*+"')
_AS_ARRAYS: Final = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKET_NOR_QUOTE: Final = bytes(set(range(256)) - set(b'{}[]"'))
_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")  # as signed bytes: one level down, one up
_USUAL_DEPTH: Final = 8


def plain_value(value: Any) -> Any:
    """Return a pydantic model in JSON types, by alias: the `enc_hook` of msgspec's encoders.

    Raises TypeError for another object, and RecursionError if a model contains itself.
    """
    serializer = getattr(type(value), "__pydantic_serializer__", None)
    if serializer is None:
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    try:
        return serializer.to_python(value, mode="json", by_alias=True, warnings=False)
    except ValueError as error:
        if "Circular reference" in str(error):
            raise RecursionError from error
        raise


_encode = msgspec.json.Encoder(enc_hook=plain_value).encode
read_exactly: Final = msgspec.json.Decoder(float_hook=lambda digits: Raw(digits.encode())).decode
"""Decodes JSON with fractions kept as written, so that encoding restores them exactly."""


def require_json(value: object, what: str, *, is_declared: bool = False) -> None:
    """Raise if a value contains a set, bytes, NaN, infinity or another type that JSON lacks.

    An encoder would write most of them in a form that no reader can distinguish. If the type
    `is_declared` in a schema, sets and bytes are allowed. Raise TooDeep if the value has more than
    `MAX_DEPTH` levels.
    """
    try:
        fault = _fault(value, () if is_declared else _NOT_JSON, MAX_DEPTH)
    except RecursionError:
        raise too_deep(what) from None
    if fault is not None:
        place = "".join(f"[{step!r}]" for step in reversed(fault.steps))
        at = f" at {place}" if place else ""
        raise ContractError(f"{what} holds {fault.reason}{at}")


def as_json(value: object, what: str) -> Any:
    """Return a value in JSON types only: dates and the like as text, mappings as dicts."""
    require_json(value, what)
    try:
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_as_dict)
        _encode(plain)  # text may contain lone surrogates
        return plain
    except RecursionError:
        raise too_deep(what) from None
    except (TypeError, ValueError) as error:
        raise ContractError(f"{what} holds what JSON does not have: {error}") from error


def too_deep(what: str) -> TooDeep:
    """Return the error for a value with too many levels."""
    return TooDeep(f"{what} is nested more than {MAX_DEPTH} levels deep, or contains itself")


def is_deep(value: object, most: int = MAX_DEPTH) -> bool:
    """True if a value of dicts and lists has more than `most` levels."""
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return most == 0 or any(is_deep(item, most - 1) for item in items)


def is_deep_json(json: bytes, most: int = MAX_DEPTH) -> bool:
    """True if JSON has more than `most` levels."""
    if json.count(b"[") + json.count(b"{") <= most:
        return False
    brackets = _brackets(json)
    for _ in range(min(most, _USUAL_DEPTH)):  # each pass removes the innermost arrays
        brackets = brackets.replace(b"[]", b"")
        most -= 1
        if not brackets:
            return False
    depths = accumulate(memoryview(brackets.translate(_STEPS)).cast("b"))
    return max(depths, default=0) > most


def _brackets(json: bytes) -> bytes:
    """Return the brackets of JSON outside of strings, with braces as square brackets."""
    if b"\\" in json:
        json = json.replace(b"\\\\", b"").replace(b'\\"', b"")
    found = json.translate(_AS_ARRAYS, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    return _STRING.sub(b"", found) if b'"' in found else found


def _as_dict(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else plain_value(value)


def known(**members: Any) -> dict[str, Any]:
    """Return the members that are not None as a dict."""
    return {name: value for name, value in members.items() if value is not None}


class _Fault(NamedTuple):
    reason: str
    steps: list[Any]
    """The path to the value, last step first."""


def _fault(value: Any, refused: tuple[type, ...], most: int) -> _Fault | None:
    """Return the first fault of a value; RecursionError if it has more than `most` levels."""
    if type(value) in _ATOMS:
        return None
    if isinstance(value, refused):
        return _not_json(value)
    if isinstance(value, float):
        return None if isfinite(value) else _Fault("a float that JSON does not have", [])
    if isinstance(value, Mapping):
        return _fault_in_names(value) or _fault_in(value.items(), refused, most)
    if isinstance(value, list | tuple | set | frozenset):
        return _fault_in(enumerate(value), refused, most)
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        return _fault_in(((name, getattr(value, name)) for name in names), refused, most)
    if is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in fields(value))
        return _fault_in(((name, getattr(value, name, None)) for name in names), refused, most)
    return _fault_of_other(value, most)


def _fault_in(
    items: Iterable[tuple[Any, Any]], refused: tuple[type, ...], most: int
) -> _Fault | None:
    if most == 0:
        raise RecursionError
    for step, item in items:
        if type(item) not in _ATOMS:
            found = _fault(item, refused, most - 1)
            if found is not None:
                found.steps.append(step)
                return found
    return None


def _fault_in_names(value: Mapping[Any, Any]) -> _Fault | None:
    """Return a fault if names that are not strings collide when written as text."""
    odd = [name for name in value if type(name) is not str]
    if not odd:
        return None
    for name in odd:
        if isinstance(name, (*_NOT_JSON, tuple)) or (
            isinstance(name, float) and not isfinite(name)
        ):
            return _Fault(f"the name {name!r:.40}, which JSON does not have", [])
    written = {str(name) for name in value}
    return None if len(written) == len(value) else _Fault("two members of one name", [])


def _fault_of_other(value: object, most: int) -> _Fault | None:
    if hasattr(type(value), "__pydantic_serializer__"):
        return _fault(plain_value(value), (), most)
    try:
        json = _encode(value)
    except TypeError:
        return _not_json(value)
    if is_deep_json(json, most):
        raise RecursionError
    return None


def _not_json(value: object) -> _Fault:
    return _Fault(f"{type(value).__name__}, which JSON does not have", [])
