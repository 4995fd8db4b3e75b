"""Completing an argument: what it could go on to be, at most a hundred at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.values import known

_MOST: Final = 100


class Completion(msgspec.Struct, frozen=True):
    """What an argument could be, the likeliest first, and how many there are in all."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None

    def worded(self) -> dict[str, Any]:
        """What `completion/complete` gives."""
        values = list(self.values)
        is_cut = len(values) > _MOST
        total = len(values) if is_cut and self.total is None else self.total
        return {
            "completion": known(
                values=values[:_MOST], total=total, hasMore=True if is_cut else self.has_more
            )
        }


class Completer(msgspec.Struct, frozen=True):
    """How an argument is completed: by what was typed of it, and the other arguments."""

    invoke: Callable[[str, dict[str, str]], Any]
    is_async: bool = False


def among(choices: Iterable[str]) -> Completer:
    """Completes to those of some choices that begin with what was typed."""
    known_choices = tuple(choices)

    def invoke(value: str, others: dict[str, str]) -> list[str]:
        return [each for each in known_choices if each.lower().startswith(value.lower())]

    return Completer(invoke)


def completion_of(value: Any) -> Completion:
    """What a completer returned."""
    if isinstance(value, Completion):
        return value
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ContractError(f"a completion is a list of texts, not {type(value).__name__}")
    values = list(value)
    if not all(isinstance(each, str) for each in values):
        raise ContractError("a completion is a list of texts")
    return Completion(values)
