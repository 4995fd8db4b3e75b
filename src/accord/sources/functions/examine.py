"""What a function says of itself: its hints, its words, and whether it has to be awaited."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, get_type_hints

from accord.errors import ContractError
from accord.sources.functions.docstring import Description, describe


class Examined(NamedTuple):
    """A function, read from the outside."""

    name: str
    what: str
    """What it is called in a sentence: `tool 'add'`."""
    types: dict[str, Any]
    words: Description
    is_async: bool
    is_hidden: bool
    """Whether `async` stands behind a plain decorator, which may or may not have awaited it."""

    def awaited(self, call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """How to call it, so that it can be awaited where it has to be."""
        return _awaitable(call) if self.is_hidden else call


def examine(function: Callable[..., Any], kind: str, name: str | None) -> Examined:
    """Read a function that is to be a tool, a prompt or a resource."""
    if isinstance(function, str):
        raise ContractError(f"{function!r} is no function; to name a {kind} say name={function!r}")
    name = name or str(getattr(function, "__name__", repr(function)))
    what = f"{kind} {name!r}"
    if inspect.isclass(function) or not callable(function):
        raise ContractError(f"{what} is no function, nor an object that can be called")
    is_async = _is_async(function, what, kind)
    is_hidden = not is_async and _is_async(inspect.unwrap(function), what, kind)
    words = describe(inspect.getdoc(_body(function)))
    types = _type_hints(function, what)
    return Examined(name, what, types, words, is_async or is_hidden, is_hidden)


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where hints, words and `async` stand: behind a partial, or in an object's `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _type_hints(function: Callable[..., Any], what: str) -> dict[str, Any]:
    try:
        return get_type_hints(_body(function), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{what} has hints that make no sense: {reason}") from error


def _is_async(function: Callable[..., Any], what: str, kind: str) -> bool:
    body = _body(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise ContractError(f"{what} yields; a {kind} returns one answer")
    return inspect.iscoroutinefunction(body)


def _awaitable(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """For an async function in a plain decorator, which may or may not have awaited it."""

    async def invoke(arguments: Any, context: Any) -> Any:
        value = call(arguments, context)
        return await value if inspect.isawaitable(value) else value

    return invoke
