"""What Django puts into a schema, in the values that JSON has."""

from decimal import Decimal
from enum import Enum
from typing import Any

from django.utils.functional import Promise


def literal(value: Any) -> Any:
    """The same with text that was to be translated later as text, and decimals as numbers."""
    if isinstance(value, dict):
        return {str(name): literal(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [literal(inner) for inner in value]
    if isinstance(value, Enum):
        return literal(value.value)
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
