"""One function into one tool: its parameters, its result and its words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from accord.errors import require_known
from accord.model.content import Icon
from accord.model.tool import Audience, Hints, Tool
from accord.sources.functions.examine import examine
from accord.sources.functions.parameters import Parameters
from accord.sources.functions.result import promised


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
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    audience: Audience
    """Who gets to see it: see `Tool.audience`."""


def function_tool(function: Callable[..., Any], **options: Unpack[Options]) -> Tool:
    """A function as a tool: name, words and schemas from its signature and docstring."""
    found = examine(function, "tool", options.get("name"))
    require_known(options, Options.__annotations__, found.what)
    strict = options.get("strict", False)
    parameters = Parameters(
        function, found.name, found.types, found.words.parameters, strict=strict
    )
    return Tool(
        name=found.name,
        title=options.get("title"),
        description=options.get("description", found.words.text),
        input_schema=parameters.schema,
        bind=parameters.bind,
        invoke=found.awaited(parameters.caller()),
        is_async=found.is_async,
        wants_context=parameters.wants_context,
        hints=_hints(options),
        output=promised(found.types.get("return", Any), found.name),
        profile=options.get("profile"),
        max_bytes=options.get("max_bytes"),
        icons=options.get("icons", ()),
        meta=options.get("meta"),
        audience=options.get("audience"),
    )


def _hints(options: Options) -> Hints:
    return Hints(
        read_only=options.get("read_only"),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
    )
