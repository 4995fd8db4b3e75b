"""Converts any Python value to plain JSON: what callers hold is seldom only dicts and lists.

`as_plain` reads fields and dumps models. It calls nothing else of a value, and never raises.
"""

import dataclasses
import math
import re
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Final
from uuid import UUID

import msgspec

from accord.model.values import is_deep_json

DEEPEST: Final = 300
"""Maximum levels of arrays and objects; Python's own decoders and encoders stop at about 900."""
_MOST_REPEATED: Final = 20_000
"""Values that may be written again, beside as many as there are: containers can share others."""
_MOST_OBJECTS: Final = 100_000
"""Objects that are not containers of Python: their code can make new ones without end."""
_MOST_DIGITS_AS_BITS: Final = 14_000  # Python converts at most 4,300 digits to text
_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_BYTES: Final = (bytes, bytearray, memoryview)
_ARRAYS: Final = (list, tuple, set, frozenset, deque)
_SIZED: Final = frozenset({dict, *_ARRAYS})
_TEXTUAL: Final = (date, time, timedelta, Decimal, UUID)
_LONE: Final = re.compile("[\ud800-\udfff]")
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+| id='\d+'")
_ABSENT: Final = object()
_INSIDE_LIST: Final = "[...]"
_INSIDE_OBJECT: Final = "{...}"
_of_type: Final = type.__getattribute__
"""Returns an attribute of a type, which its metaclass may not have."""
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def plain_json(value: Any) -> Any:
    """Return any value as plain JSON, which `json.dumps(…, allow_nan=False)` accepts.

    Dates are ISO 8601, bytes Base64, sets and tuples arrays, NaN and infinities null; models,
    dataclasses and simple objects are objects of their fields, and names of members are text.
    """
    found = attempt(_quickly, value, otherwise=_ABSENT)
    return as_plain(value) if found is _ABSENT else found


def valid_json(value: Any, deepest: int = DEEPEST) -> Any:
    """Return any value as plain JSON without lone surrogates: `as_plain`, but faster."""
    kind = type(value)
    if value is None or kind is bool or (kind is str and value.isascii()):
        return value
    found = attempt(_quickly, value, deepest, otherwise=_ABSENT)
    return as_plain(value, deepest=deepest, is_valid=True) if found is _ABSENT else found


def _quickly(value: Any, deepest: int = DEEPEST) -> Any:
    """Return a value as JSON if msgspec can encode it; NaN is then null."""
    json = _encode(value)
    return _ABSENT if is_deep_json(json, deepest) else _decode(json)


def attempt(function: Callable[..., Any], *arguments: Any, otherwise: Any = None) -> Any:
    """Call a function that runs code of an object of others; return `otherwise` if it raises."""
    try:
        return function(*arguments)
    except Exception:  # noqa: BLE001 - such code may raise anything
        return otherwise


def as_plain(value: Any, *, deepest: int = DEEPEST, is_valid: bool = False) -> Any:
    """Return any value as plain JSON: see `plain_json`, which is faster for what is JSON already.

    A value inside of itself, and what exceeds the limits on depth and repetition, becomes `[...]`
    or `{...}`. With `is_valid`, lone surrogates are replaced.
    """
    return _Converter(deepest, is_valid).plain(value, 0)


def members_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of a model, dataclass or simple object, not converted; None for others."""
    kind = type(value)
    if issubclass(kind, type):
        return None
    if callable(getattr(kind, "model_dump", None)):
        return _dumped(value)
    if issubclass(kind, msgspec.Struct):
        config = value.__struct_config__
        named = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        found = {name: _field(value, field) for name, field in named}
        return {n: v for n, v in found.items() if v is not None or not config.omit_defaults}
    if dataclasses.is_dataclass(kind):
        return {field.name: _field(value, field.name) for field in dataclasses.fields(kind)}
    attributes = getattr(kind, "__attrs_attrs__", None)
    if isinstance(attributes, tuple):
        return {each.name: _field(value, each.name) for each in attributes}
    return _simple_members(value)


def shown(value: Any) -> str:
    """Return the text of a value, or of its type; the address of an object is left out."""
    kind = type(value)
    name = f"<{_of_type(kind, '__name__')}>"
    own = [_of_type(kind, each) for each in ("__str__", "__repr__")]
    if own == [object.__str__, object.__repr__]:
        return name
    return _ADDRESS.sub("", str.__str__(attempt(str, value, otherwise=name)))


def _dumped(model: Any) -> dict[str, Any] | None:
    """Return what a pydantic model dumps; its fields if it cannot be dumped."""
    for mode in ("json", "python"):
        dump = partial(type(model).model_dump, mode=mode, by_alias=True, warnings=False)
        found = attempt(dump, model, otherwise=_ABSENT)
        if found is not _ABSENT:
            return found if type(found) is dict else {"root": found}
    return _simple_members(model)


def _simple_members(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object that has only public ones."""
    if any("__call__" in each.__dict__ for each in type(value).__mro__):
        return None  # a function, a mock
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return None
    is_simple = type(found) is dict and found and not any(n.startswith("_") for n in found)
    return dict(found) if is_simple else None


def _field(value: Any, name: str) -> Any:
    return attempt(getattr, value, name)


def _counted(value: Any, items: Iterable[Any] | None = None) -> Iterable[Any]:
    """Return the items of a container, not more than it counts: those of others may not end."""
    items = value if items is None else items
    return items if type(value) in _SIZED else islice(items, len(value))


class _Converter:
    """One conversion: the objects that it is inside of, and those that it has seen."""

    def __init__(self, deepest: int, is_valid: bool) -> None:
        self._deepest = deepest
        self._is_valid = is_valid
        self._inside: set[int] = set()
        self._seen: dict[int, Any] = {}  # keeps them alive, so that no id comes twice
        self._left = _MOST_REPEATED
        self._objects_left = _MOST_OBJECTS

    def plain(self, value: Any, depth: int) -> Any:
        found = self._scalar(value)
        return self._nested(value, depth) if found is _ABSENT else found

    def _scalar(self, value: Any) -> Any:
        kind = type(value)  # `isinstance` would ask the object for its `__class__`
        if kind in _ATOMS:
            return self._atom(value)
        if issubclass(kind, Enum):
            return self._scalar(_field(value, "_value_"))
        if issubclass(kind, str):
            return self._atom(str.__str__(value))
        if issubclass(kind, int):
            return self._atom(int.__index__(value))
        if issubclass(kind, float):
            return self._atom(float.__float__(value))
        if issubclass(kind, _BYTES):
            return b64encode(bytes(value)).decode()
        if issubclass(kind, _TEXTUAL):
            return self._textual(value)
        return _ABSENT

    def _atom(self, value: Any) -> Any:
        kind = type(value)
        if kind is float:
            return value if math.isfinite(value) else None
        if kind is int and value.bit_length() > _MOST_DIGITS_AS_BITS:
            return hex(value)
        if kind is str and self._is_valid and not value.isascii():
            return _LONE.sub("\ufffd", value)
        return value

    def _textual(self, value: Any) -> Any:
        try:
            return msgspec.to_builtins(value)
        except (TypeError, ValueError, OverflowError):
            return shown(value)

    def _nested(self, value: Any, depth: int) -> Any:
        is_array = issubclass(type(value), _ARRAYS)
        if id(value) in self._inside or depth >= self._deepest or self._left <= 0:
            return _INSIDE_LIST if is_array else _INSIDE_OBJECT
        is_sized = type(value) in _SIZED
        self._objects_left -= not is_sized
        if self._objects_left < 0:
            return _INSIDE_OBJECT
        size = len(value) if is_sized else 1
        if id(value) in self._seen:
            self._left -= 1 + size
        else:
            self._seen[id(value)] = value
            self._left += size
        self._inside.add(id(value))
        found = attempt(self._array if is_array else self._object, value, depth, otherwise=_ABSENT)
        self._inside.discard(id(value))
        return self._atom(shown(value)) if found is _ABSENT else found

    def _array(self, items: Iterable[Any], depth: int) -> list[Any]:
        return [self.plain(item, depth + 1) for item in _counted(items)]

    def _object(self, value: Any, depth: int) -> Any:
        if issubclass(type(value), Mapping):
            return self._members(_counted(value, value.items()), depth)
        if type(value) is msgspec.Raw:
            return self.plain(_decode(value), depth)
        if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self.plain(value.tolist(), depth + 1)
        found = members_of(value)
        if found is not None:
            return self._members(found.items(), depth)
        return self._atom(shown(value))

    def _members(self, members: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        return {self._name(name): self.plain(each, depth + 1) for name, each in members}

    def _name(self, name: Any) -> str:
        if type(name) is str:
            return str(self._atom(name))
        if name is None or type(name) is bool:
            return "null" if name is None else str(name).lower()
        found = self._scalar(name)
        return str(found) if type(found) in (int, float, str) else self._atom(shown(name))
