"""Wraps a function of another framework's server so that it returns Accord's tool results.

`fastmcp` and `sdk` use it with the result type of their framework.
"""

import inspect
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from types import UnionType
from typing import Any, Final, NamedTuple, TypedDict, Union, get_args, get_origin

from accord.errors import located, require_known
from accord.model.answer import Problem
from accord.model.arguments import JsonSchema
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.model.tool import Hints, Tool, tool_without_call
from accord.profiles import profile_named
from accord.revisions import REVISIONS
from accord.server.outcome import outcome_of
from accord.server.rendering import require_room, result_of
from accord.sources.functions.introspect import FunctionInfo, inspect_function
from accord.sources.functions.type_hints import output_of

_DEFS: Final = "#/$defs/"
_REVISION: Final = REVISIONS["2025-11-25"]
"""A tool does not know the revision of its client; results of this one are valid in all."""


class Framework(NamedTuple):
    """How a framework takes the result of a tool."""

    result: Callable[[dict[str, Any]], Any]
    """Makes the framework's result of a CallToolResult."""
    annotation: Callable[[JsonSchema | None], Any]
    """Returns the return annotation for which the framework publishes an output schema."""
    own: tuple[type, ...]
    """Results of the framework, which a function may return unchanged."""


class Options(TypedDict, total=False):
    """How results are rendered; see `accord.render`."""

    profile: str
    name: str
    """The tool's name, if it is not that of the function."""
    read_only: bool
    max_bytes: int


def decorated(function: Callable[..., Any] | None, options: Options, framework: Framework) -> Any:
    """Return the wrapped function; without one, a decorator."""
    if function is not None:
        return _wrap(function, options, framework)
    return lambda function: _wrap(function, options, framework)


def _wrap(
    function: Callable[..., Any], options: Options, framework: Framework
) -> Callable[..., Any]:
    """Return the function with the same parameters, and results of the framework.

    A Problem becomes a failed result; other exceptions are raised.
    """
    with located(function):
        info = inspect_function(function, "tool", options.get("name"))
        require_known(options, Options.__annotations__, info.what)
        hint = info.types.get("return", Any)
        returns_own = _returns(framework.own, hint)
        tool = _stand_in(info, Any if returns_own else hint, options)
        profile = profile_named(options.get("profile", "plain"))
        max_bytes = options.get("max_bytes", DEFAULT_MAX_BYTES)
        require_room(max_bytes)
    schema = None if returns_own else profile.output_schema(tool, _REVISION)

    def finish(value: Any) -> Any:
        if isinstance(value, framework.own):
            return value
        return framework.result(
            result_of(
                value, tool, profile=profile.name, revision=_REVISION.date, max_bytes=max_bytes
            )
        )

    wrapped = _async(function, finish) if info.is_async else _sync(function, finish)
    _describe(wrapped, function, info, framework.annotation(schema))
    return wrapped


def _stand_in(info: FunctionInfo, hint: Any, options: Options) -> Tool:
    return tool_without_call(
        info.name,
        description="",
        input_schema={},
        hints=Hints(read_only=options.get("read_only")),
        output=output_of(hint, info.name),
    )


def _returns(own: tuple[type, ...], hint: Any) -> bool:
    """True if a type hint has a result of the framework, alone or in a union."""
    hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return any(isinstance(each, type) and issubclass(each, own) for each in hints)


def _async(function: Callable[..., Any], finish: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            value = function(*args, **kwargs)
            if inspect.isawaitable(value):
                value = await value
        except (Problem, BaseExceptionGroup) as error:
            value = _problem_of(error)
        return finish(value)

    return call


def _sync(function: Callable[..., Any], finish: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            value = function(*args, **kwargs)
        except (Problem, BaseExceptionGroup) as error:
            value = _problem_of(error)
        return finish(value)

    return call


def _problem_of(error: BaseException) -> Problem:
    """Return a Problem, also the only one of a task group; raise any other exception."""
    found = outcome_of(error, _REVISION)
    if isinstance(found, Problem):
        return found
    raise error


def _describe(
    wrapped: Callable[..., Any], function: Callable[..., Any], info: FunctionInfo, result: Any
) -> None:
    """Give a wrapped function the parameters of the function, with resolved hints."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=info.types.get(name, each.annotation))
        for name, each in signature.parameters.items()
    ]
    described = signature.replace(parameters=parameters, return_annotation=result)
    vars(wrapped).update(__signature__=described)
    wrapped.__annotations__ = {**info.types, "return": result}
    wrapped.__name__ = getattr(function, "__name__", info.name)


def model_of(schema: JsonSchema) -> type:
    """Return a pydantic model that accepts any value, and has the given JSON Schema."""
    from pydantic import RootModel

    inlined = _inlined(schema, schema.get("$defs", {}))

    class Result(RootModel[Any]):
        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> JsonSchema:
            return deepcopy(inlined)  # pydantic changes it

    return Result


def _inlined(schema: Any, defs: JsonSchema, within: tuple[str, ...] = ()) -> Any:
    """Return a schema without references, since pydantic resolves its own only.

    A recursive part accepts any value from its second level on.
    """
    if isinstance(schema, list):
        return [_inlined(each, defs, within) for each in schema]
    if not isinstance(schema, dict):
        return schema
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith(_DEFS):
        return {
            name: _inlined(each, defs, within) for name, each in schema.items() if name != "$defs"
        }
    name = ref.removeprefix(_DEFS)
    if name in within:
        return {}
    beside = {key: each for key, each in schema.items() if key != "$ref"}
    return _inlined({**defs[name], **beside}, defs, (*within, name))
