"""One function into one tool: its parameters, its result and its words."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypedDict, Unpack, get_type_hints

from accord.errors import ContractError
from accord.sources.functions.docstring import describe
from accord.sources.functions.parameters import Parameters
from accord.sources.functions.result import promised
from accord.tool import Hints, Tool


class Options(TypedDict, total=False):
    """What can be said of a function that it does not say itself."""

    name: str
    title: str
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    strict: bool
    """Refuse arguments that the function does not know, instead of ignoring them."""
    profile: str
    max_bytes: int


def function_tool(function: Callable[..., Any], **options: Unpack[Options]) -> Tool:
    """A function as a tool: name, words and schemas from its signature and docstring."""
    name = options.get("name") or str(getattr(function, "__name__", ""))
    if inspect.isclass(function) or not callable(function):
        raise ContractError(f"tool {name!r} is no function, nor an object that can be called")
    is_async = _is_async(function, name)
    is_hidden = not is_async and _is_async(inspect.unwrap(function), name)
    words = describe(inspect.getdoc(_body(function)))
    types = _type_hints(function, name)
    strict = options.get("strict", False)
    parameters = Parameters(function, name, types, words.parameters, strict=strict)
    return Tool(
        name=name,
        title=options.get("title"),
        description=options.get("description", words.text),
        input_schema=parameters.schema,
        bind=parameters.bind,
        invoke=_awaitable(parameters.caller()) if is_hidden else parameters.caller(),
        is_async=is_async or is_hidden,
        wants_context=parameters.wants_context,
        hints=_hints(options),
        output=promised(types.get("return", Any), name),
        profile=options.get("profile"),
        max_bytes=options.get("max_bytes"),
    )


def _hints(options: Options) -> Hints:
    return Hints(
        read_only=options.get("read_only"),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
    )


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where hints, words and `async` stand: behind a partial, or in an object's `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _type_hints(function: Callable[..., Any], tool: str) -> dict[str, Any]:
    try:
        return get_type_hints(_body(function), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"tool {tool!r} has hints that make no sense: {reason}") from error


def _is_async(function: Callable[..., Any], tool: str) -> bool:
    body = _body(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise ContractError(f"tool {tool!r} yields; a tool returns one answer")
    return inspect.iscoroutinefunction(body)


def _awaitable(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """For an async function in a plain decorator, which may or may not have awaited it."""

    async def invoke(arguments: Any, context: Any) -> Any:
        value = call(arguments, context)
        return await value if inspect.isawaitable(value) else value

    return invoke
