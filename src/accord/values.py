"""Python values that JSON can hold, and those that it cannot."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from math import isfinite
from types import NoneType
from typing import Any, Final

import msgspec

from accord.errors import ContractError

_ATOMS: Final = frozenset({str, int, bool, NoneType})
_STRANGERS: Final = (set, frozenset, bytes, bytearray, memoryview)


def require_json(value: object, what: str, *, is_declared: bool = False) -> None:
    """Raise if there is a set, bytes, a NaN, an infinity or itself in it.

    An encoder would write most of them somehow, and no reader could tell what they were. Where it
    `is_declared` what the value is, a reader can, and sets and bytes are fine.
    """
    try:
        fault = _fault(value, () if is_declared else _STRANGERS)
    except RecursionError as error:
        raise ContractError(f"{what} holds itself, or has no end") from error
    if fault is not None:
        reason, steps = fault
        place = "".join(f"[{step!r}]" for step in reversed(steps))
        raise ContractError(f"{what} holds {reason}{f' at {place}' if place else ''}")


_Fault = tuple[str, list[Any]]


def _fault(value: Any, refused: tuple[type, ...]) -> _Fault | None:
    """What is wrong, and the steps to it, the last one first."""
    if isinstance(value, refused):
        return f"{type(value).__name__}, which JSON does not have", []
    if isinstance(value, dict):
        return _fault_in(value.items(), refused)
    if isinstance(value, list | tuple | set | frozenset):
        return _fault_in(enumerate(value), refused)
    if isinstance(value, float):
        return None if isfinite(value) else ("a float that JSON does not have", [])
    if isinstance(value, msgspec.Struct):
        return _fault_in(
            ((name, getattr(value, name)) for name in value.__struct_fields__), refused
        )
    if is_dataclass(value) and not isinstance(value, type):
        return _fault_in(
            ((each.name, getattr(value, each.name)) for each in fields(value)), refused
        )
    return None


def _fault_in(items: Iterable[tuple[Any, Any]], refused: tuple[type, ...]) -> _Fault | None:
    for step, item in items:
        if type(item) not in _ATOMS:
            found = _fault(item, refused)
            if found is not None:
                found[1].append(step)
                return found
    return None


def known(**members: Any) -> dict[str, Any]:
    """The members that are known, as an object: null is never written where nothing is."""
    return {name: value for name, value in members.items() if value is not None}
