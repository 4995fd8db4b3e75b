"""Build tools, prompts, resources and completers from Python functions.

Arguments of a tool are JSON; those of a prompt or a URI template are text.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, Final, ParamSpec, TypedDict, TypeVar, Unpack

import msgspec
from msgspec import inspect

from accord.errors import ContractError, located, require_known
from accord.model.answer import FieldError
from accord.model.arguments import JsonSchema, invalid
from accord.model.completion import Completer
from accord.model.content import Annotations, Icon
from accord.model.forms import literals_in
from accord.model.prompt import Argument, Prompt
from accord.model.resource import BYTES, JSON, TEXT, Resource
from accord.model.tool import (
    Audience,
    Bound,
    Dependencies,
    Executable,
    Hints,
    Overrides,
    Tasks,
    Tool,
)
from accord.sources.functions.dependencies import executable, resolve
from accord.sources.functions.introspect import FunctionInfo, inspect_function
from accord.sources.functions.parameters import ParameterInfo, Parameters, decode_failure
from accord.sources.functions.type_hints import output_of

P = ParamSpec("P")
T = TypeVar("T")
_SIMPLE: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_MIME_TYPES: Final = {str: TEXT, bytes: BYTES, dict: JSON, list: JSON}


def _located(
    build: Callable[Concatenate[Callable[..., Any], P], T],
) -> Callable[Concatenate[Callable[..., Any], P], T]:
    """Return `build` with the function's file and line in every ContractError."""

    @wraps(build)
    def build_located(function: Callable[..., Any], /, *args: P.args, **options: P.kwargs) -> T:
        with located(function):
            return build(function, *args, **options)

    return build_located


class Options(TypedDict, total=False):
    """Options of a tool, beside what its function's signature and docstring give."""

    name: str
    title: str
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    strict: bool
    """Reject unknown arguments instead of ignoring them with a warning."""
    profile: str
    max_bytes: int
    timeout: float
    """Time limit of a call in seconds."""
    task: Tasks
    """True, `"auto"` or `"required"`: calls become tasks; see `Tool.task`."""
    after: float
    """Seconds before a call becomes a task; with `"auto"` 2."""
    restartable: bool
    """True if a task may run again after its process has ended."""
    tags: Collection[str]
    """Words to select tools by; `server.disable(tags={"admin"})` hides all that have one."""
    enabled: bool
    """False hides the tool until `server.enable`."""
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    audience: Audience
    """Decides which callers see the tool; see `Tool.audience`."""
    scopes: Sequence[str]
    """Scopes that a verified caller needs to call the tool."""
    hidden: bool
    """Leaves the tool out of `tools/list` for callers that lack its scopes."""


@_located
def function_tool(function: Callable[..., Any], **options: Unpack[Options]) -> Tool:
    """Return a tool that calls a function; name, description and schemas come from the function."""
    info = inspect_function(function, "tool", options.get("name"))
    require_known(options, Options.__annotations__, info.what)
    strict = options.get("strict", False)
    parameters = Parameters(
        function, info.name, info.types, info.docstring.parameters, strict=strict
    )
    return Tool(
        name=info.name,
        title=options.get("title"),
        description=options.get("description", info.docstring.text),
        input_schema=parameters.schema,
        bind=parameters.bind,
        **_executable(info, parameters),
        function=function,
        hints=_hints(options),
        output=output_of(info.types.get("return", Any), info.name),
        profile=options.get("profile"),
        max_bytes=options.get("max_bytes"),
        timeout=options.get("timeout"),
        task=options.get("task", False),
        after=options.get("after", 0.0),
        restartable=options.get("restartable", False),
        tags=options.get("tags", ()),
        enabled=options.get("enabled", True),
        icons=options.get("icons", ()),
        meta=options.get("meta"),
        audience=options.get("audience"),
        scopes=options.get("scopes", ()),
        hidden=options.get("hidden", False),
    )


def _executable(info: FunctionInfo, parameters: Parameters) -> dict[str, Any]:
    """Return the fields of a feature that execute its function."""
    if not parameters.dependencies:
        call, wants_context = parameters.caller(), parameters.wants_context
        return Executable(info.wrap_call(call), info.is_async, wants_context)._asdict()

    def with_overrides(overrides: Overrides) -> Executable:
        plan = resolve(parameters.dependencies, overrides, info.what, is_async=info.is_async)
        call = info.wrap_call(parameters.caller_with(plan.indexes))
        return executable(
            call, plan, is_async=info.is_async, wants_context=parameters.wants_context
        )

    functions = resolve(parameters.dependencies, {}, info.what, is_async=info.is_async).functions
    fields = with_overrides({})._asdict()
    return fields | {"dependencies": Dependencies(functions, with_overrides)}


def _hints(options: Options) -> Hints:
    return Hints(
        read_only=options.get("read_only"),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
    )


class TextParameters(Parameters):
    """The parameters of a function called with text; other types are converted from it."""

    _undecoded = Any

    def __init__(self, function: Callable[..., Any], info: FunctionInfo, kind: str) -> None:
        descriptions = info.docstring.parameters
        super().__init__(function, info.name, info.types, descriptions, strict=False, kind=kind)
        for name, schema in self.schema["properties"].items():
            if not _is_simple(schema, self.schema.get("$defs", {})):
                raise ContractError(
                    f"parameter {name!r} of {info.what} must be a type that can be read from text"
                )

    @property
    def names(self) -> list[str]:
        """Names of the parameters that callers see."""
        return list(self.schema["properties"])

    def choices(self) -> dict[str, list[str]]:
        """Return the possible values of each parameter that has a fixed set."""
        found = {each.parameter.name: self._choices_of(each) for each in self._visible}
        return {name: values for name, values in found.items() if values}

    def _choices_of(self, info: ParameterInfo) -> list[str]:
        if info.model is None:
            return _ordered_choices(info.hint)
        schema = self.schema["properties"][info.parameter.name]
        if "$ref" in schema:
            schema = self.schema["$defs"][schema["$ref"].rpartition("/")[2]]
        return [str(value) for value in schema.get("enum", ())]

    def bind(self, arguments: bytes) -> Bound:
        """Return the arguments as a record; raise a validation Problem with every wrong field."""
        try:
            given = msgspec.json.decode(arguments, type=dict[str, Any])
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(self._tool, [decode_failure(error)]) from error
        known = {name: given[name] for name in self.names if name in given}
        try:
            if self._models:
                known |= {
                    info.parameter.name: _from_text(info, known[info.parameter.name])
                    for info in self._visible
                    if info.model is not None and info.parameter.name in known
                }
            return Bound(msgspec.convert(known, self._record, strict=False))
        except msgspec.ValidationError as error:
            _, errors = self._read_fields(known, _from_text)
            errors = errors or [FieldError("arguments", "do not fit")]
            raise invalid(self._tool, errors) from error


def _from_text(info: ParameterInfo, value: Any) -> Any:
    if info.model is not None:
        return info.model.read_text(value)
    return msgspec.convert(value, info.hint, strict=False)


def _is_simple(schema: JsonSchema, defs: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_simple(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return all(_is_simple(part, defs) for part in schema["anyOf"])
    return schema.get("type") in _SIMPLE or "enum" in schema or not schema.keys() - {"default"}


def _ordered_choices(hint: Any) -> list[str]:
    """Return a type's possible texts in source order, which msgspec does not keep."""
    written = [str(value) for value in literals_in(hint)]
    choices = _choices(inspect.type_info(hint))
    return sorted(choices, key=lambda each: written.index(each) if each in written else -1)


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [text for each in kind.types for text in _choices(each)]
    if isinstance(kind, inspect.BoolType):
        return ["true", "false"]
    if isinstance(kind, inspect.EnumType):
        members: list[Enum] = list(kind.cls)
        return [str(each.value) for each in members]
    return [str(value) for value in kind.values] if isinstance(kind, inspect.LiteralType) else []


class PromptOptions(TypedDict, total=False):
    """Options of a prompt, beside what its function's signature and docstring give."""

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    tags: Collection[str]
    enabled: bool
    scopes: Sequence[str]
    hidden: bool


@_located
def function_prompt(function: Callable[..., Any], **options: Unpack[PromptOptions]) -> Prompt:
    """Return a prompt that calls a function; arguments come from its signature."""
    info = inspect_function(function, "prompt", options.get("name"))
    require_known(options, PromptOptions.__annotations__, info.what)
    texts = TextParameters(function, info, "prompt")
    return Prompt(
        name=info.name,
        title=options.get("title"),
        description=options.get("description", info.docstring.text),
        arguments=_arguments(texts),
        bind=texts.bind,
        **_executable(info, texts),
        icons=options.get("icons", ()),
        meta=options.get("meta"),
        tags=options.get("tags", ()),
        enabled=options.get("enabled", True),
        scopes=options.get("scopes", ()),
        hidden=options.get("hidden", False),
    )


def _arguments(texts: TextParameters) -> list[Argument]:
    required, choices = texts.schema.get("required", ()), texts.choices()
    return [
        Argument(name, schema.get("description"), name in required, choices.get(name, ()))
        for name, schema in texts.schema["properties"].items()
    ]


class ResourceOptions(TypedDict, total=False):
    """Options of a resource, beside what its function gives; see `Resource`."""

    name: str
    title: str
    description: str
    mime_type: str
    size: int
    icons: Sequence[Icon]
    annotations: Annotations
    meta: Mapping[str, Any]
    tags: Collection[str]
    enabled: bool
    watched: bool
    fresh_for: float
    is_public: bool
    scopes: Sequence[str]
    hidden: bool


@_located
def function_resource(
    function: Callable[..., Any], uri: str, **options: Unpack[ResourceOptions]
) -> Resource:
    """Return a resource that calls a function, at a URI or a URI template."""
    info = inspect_function(function, "resource", options.get("name"))
    require_known(options, ResourceOptions.__annotations__, info.what)
    texts = TextParameters(function, info, "resource")
    resource = Resource(
        uri=uri,
        name=info.name,
        title=options.get("title"),
        description=options.get("description", info.docstring.text),
        mime_type=options.get("mime_type", _mime_type(info.types.get("return"))),
        size=options.get("size"),
        bind=texts.bind,
        **_executable(info, texts),
        choices=texts.choices(),
        icons=options.get("icons", ()),
        annotations=options.get("annotations"),
        meta=options.get("meta"),
        tags=options.get("tags", ()),
        enabled=options.get("enabled", True),
        watched=options.get("watched", False),
        fresh_for=options.get("fresh_for", 0.0),
        is_public=options.get("is_public", False),
        scopes=options.get("scopes", ()),
        hidden=options.get("hidden", False),
    )
    _require_variables(resource, texts, info.what)
    return resource


def _mime_type(hint: Any) -> str | None:
    return _MIME_TYPES.get(getattr(hint, "__origin__", hint))


def _require_variables(resource: Resource, texts: TextParameters, what: str) -> None:
    given, wanted = set(resource.variables), set(texts.names)
    if unknown := sorted(given - wanted):
        raise ContractError(f"{what} has no parameter {unknown[0]!r}, but its URI has")
    optional = wanted - set(texts.schema.get("required", ()))
    if missing := sorted(wanted - given - optional):
        raise ContractError(f"{what} has a parameter {missing[0]!r}, but its URI does not")
    template = resource.template
    without_default = set(template.query_names if template else ()) - optional
    if without_default:
        raise ContractError(
            f"{what} must give {sorted(without_default)[0]!r} a default: it is optional in a query"
        )


@_located
def function_completer(function: Callable[..., Any]) -> Completer:
    """Return a completer that calls a function with the typed value.

    A function with two parameters gets the other arguments as well.
    """
    info = inspect_function(function, "completion", None)
    count = len(signature(function).parameters)
    if count not in (1, 2):
        raise ContractError(
            f"{info.what} must take the typed value, and optionally the other arguments"
        )

    def invoke(value: str, arguments: dict[str, str]) -> Any:
        return function(value) if count == 1 else function(value, arguments)

    return Completer(info.wrap_call(invoke), info.is_async)
