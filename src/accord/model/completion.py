"""Completion of arguments: at most 100 values for the text typed so far."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.values import known

_MAX_VALUES: Final = 100


class Completion(msgspec.Struct, frozen=True):
    """Possible values of an argument, best match first, and their total number."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the result of `completion/complete`."""
        values = list(self.values)
        is_cut = len(values) > _MAX_VALUES
        total = len(values) if is_cut and self.total is None else self.total
        return {
            "completion": known(
                values=values[:_MAX_VALUES], total=total, hasMore=True if is_cut else self.has_more
            )
        }


class Completer(msgspec.Struct, frozen=True):
    """Completes an argument from the text typed so far and the other arguments."""

    invoke: Callable[[str, dict[str, str]], Any]
    is_async: bool = False


def completer_of(choices: Iterable[str]) -> Completer:
    """Return a completer that selects the choices with the typed prefix."""
    values = tuple(choices)

    def invoke(value: str, others: dict[str, str]) -> list[str]:
        return [each for each in values if each.lower().startswith(value.lower())]

    return Completer(invoke)


def completion_of(value: Any) -> Completion:
    """Return the result of a completer as a Completion."""
    if isinstance(value, Completion):
        return value
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ContractError(f"a completion must be a list of strings, not {type(value).__name__}")
    values = list(value)
    if not all(isinstance(each, str) for each in values):
        raise ContractError("a completion must be a list of strings")
    return Completion(values)
