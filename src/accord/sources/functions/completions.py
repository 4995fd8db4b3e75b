"""A function as the completion of an argument: what it could go on to be."""

import inspect
from collections.abc import Callable
from typing import Any

from accord.errors import ContractError
from accord.model.completion import Completer
from accord.sources.functions.examine import examine


def function_completer(function: Callable[..., Any]) -> Completer:
    """A function of what was typed so far, and of the other arguments if it takes two."""
    found = examine(function, "completion", None)
    count = len(inspect.signature(function).parameters)
    if count not in (1, 2):
        raise ContractError(f"{found.what} takes what was typed, and perhaps the other arguments")

    def invoke(value: str, others: dict[str, str]) -> Any:
        return function(value) if count == 1 else function(value, others)

    return Completer(found.awaited(invoke), found.is_async)
