"""Dataclasses as msgspec decodes them, made whole.

msgspec leaves a field at its default on the class, where Python finds it but `vars()` and encoding
do not: such a value would lose the field when it is returned.
"""

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import msgspec

from accord.sources.functions.hints import classes_in


def has_gaps(hint: Any) -> bool:
    """Whether values of this type can come with such fields."""
    return any(
        is_dataclass(owner)
        and not hasattr(owner, "__slots__")
        and any(field.default is not MISSING for field in fields(owner))
        for owner in classes_in(hint)
    )


def fill(value: Any) -> None:
    """Give every dataclass in a value all its fields."""
    if isinstance(value, msgspec.Struct):
        _fill_all(getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, dict):
        _fill_all(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        _fill_all(value)
    elif is_dataclass(value) and hasattr(value, "__dict__"):
        held = vars(value)
        for field in fields(value):
            if field.name not in held:
                held[field.name] = field.default
        _fill_all(held.values())


def _fill_all(values: Iterable[Any]) -> None:
    for value in values:
        fill(value)
