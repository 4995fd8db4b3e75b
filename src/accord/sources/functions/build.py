"""One function into one tool: its parameters, its result and its words."""

import inspect
from collections.abc import Callable
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from accord.answer import Answer, FieldError, Notice, Problem
from accord.arguments import Checker, JsonSchema, path_of
from accord.errors import ContractError
from accord.sources.functions.docstring import describe as describe_docstring
from accord.sources.functions.hints import annotate, describe
from accord.tool import Bound, Context, Hints, Tool

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def function_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    hints: Hints = Hints(),
    strict: bool = False,
    profile: str | None = None,
) -> Tool:
    """A function as a tool. `strict` refuses arguments that it does not know."""
    name = name or getattr(function, "__name__", "")
    is_async = _is_async(function, name)
    words = describe_docstring(inspect.getdoc(function))
    types = _type_hints(function, name)
    parameters = _Parameters(function, name, types, words.parameters, strict=strict)
    result = _Result(types.get("return", inspect.Parameter.empty), name)
    return Tool(
        name=name,
        title=title,
        description=words.text if description is None else description,
        input_schema=parameters.schema,
        bind=parameters.bind,
        invoke=parameters.caller(),
        is_async=is_async,
        wants_context=parameters.wants_context,
        hints=hints,
        output_schema=result.schema,
        check=result.check,
        says_text=result.is_text,
        profile=profile,
    )


def _type_hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise ContractError(f"tool {name!r}: its type hints cannot be resolved: {error}") from error


def _is_async(function: Callable[..., Any], name: str) -> bool:
    target = inspect.unwrap(function)
    target = target if inspect.isroutine(target) else type(target).__call__
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise ContractError(f"tool {name!r} yields; a tool returns one answer")
    return inspect.iscoroutinefunction(target)


def _is_context(hint: Any) -> bool:
    return hint is Context or Context in get_args(hint)


class _Parameters:
    """The parameters of a function as a typed record that JSON decodes into in one step."""

    def __init__(
        self,
        function: Callable[..., Any],
        tool: str,
        types: dict[str, Any],
        words: dict[str, str],
        *,
        strict: bool,
    ) -> None:
        self._function = function
        self._tool = tool
        self._strict = strict
        self._parameters = list(inspect.signature(function).parameters.values())
        self._context = [p.name for p in self._parameters if _is_context(types.get(p.name))]
        fields = [
            self._field(p, types.get(p.name, Any), words.get(p.name))
            for p in self._parameters
            if p.name not in self._context
        ]
        self.wants_context = bool(self._context)
        self._names = [field[0] for field in fields]
        record = msgspec.defstruct(tool, fields, kw_only=True, forbid_unknown_fields=True)
        self.schema = self._schema(record)
        self._record = record
        self._decode = msgspec.json.Decoder(record).decode
        self._checker = Checker(self.schema)

    def _field(self, parameter: inspect.Parameter, hint: Any, words: str | None) -> Any:
        what = f"parameter {parameter.name!r} of tool {self._tool!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContractError(f"{what} takes any number of arguments; name each one")
        hint = annotate(hint, words, what)
        describe(hint, what)
        if parameter.default is parameter.empty:
            return (parameter.name, hint)
        default = parameter.default
        return (parameter.name, hint, msgspec.field(default_factory=lambda: default))

    def _schema(self, record: type[msgspec.Struct]) -> JsonSchema:
        schema = describe(record, f"tool {self._tool!r}")
        del schema["title"]
        schema.setdefault("properties", {})
        schema["required"] = schema.get("required", [])
        if not self._strict:
            schema.pop("additionalProperties", None)
        for parameter in self._parameters:
            if parameter.default is not parameter.empty and parameter.name in self._names:
                schema["properties"][parameter.name]["default"] = _default(parameter, self._tool)
        return schema

    def bind(self, arguments: bytes) -> Bound:
        """The arguments as a record; whatever is wrong with them is a validation Problem."""
        try:
            return Bound(self._decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            return self._bind_closely(arguments)

    def _bind_closely(self, arguments: bytes) -> Bound:
        """The slow way, for arguments that did not decode: name every field that is wrong."""
        try:
            given = msgspec.json.decode(arguments)
        except (msgspec.ValidationError, RecursionError) as error:
            raise _invalid(self._tool, [FieldError("", str(error).lower())]) from error
        errors = self._checker.errors(given)
        if errors:
            raise _invalid(self._tool, errors)
        known = {name: value for name, value in given.items() if name in self._names}
        try:
            record = msgspec.convert(known, self._record)
        except msgspec.ValidationError as error:
            raise _invalid(self._tool, [_field_error(error)]) from error
        return Bound(record, [_ignored(name) for name in given if name not in known])

    def caller(self) -> Callable[[Any, Context], Any]:
        """How the function takes its record: by position where it can, which is faster."""
        function = self._function
        if not self._context and all(p.kind in _POSITIONAL for p in self._parameters):
            astuple = msgspec.structs.astuple
            return lambda record, _context: function(*astuple(record))
        return self._call_by_name

    def _call_by_name(self, record: msgspec.Struct, context: Context) -> Any:
        values = msgspec.structs.asdict(record) | dict.fromkeys(self._context, context)
        by_position = [
            values.pop(p.name) for p in self._parameters if p.kind is p.POSITIONAL_ONLY
        ]
        return self._function(*by_position, **values)


def _default(parameter: inspect.Parameter, tool: str) -> Any:
    try:
        return msgspec.to_builtins(parameter.default)
    except TypeError as error:
        what = f"parameter {parameter.name!r} of tool {tool!r}"
        raise ContractError(f"{what} has a default that JSON cannot carry") from error


def _invalid(tool: str, errors: list[FieldError]) -> Problem:
    listed = "; ".join(f"{e.field} {e.error}".strip() for e in errors)
    return Problem.validation(f"Invalid arguments for {tool}: {listed}", fields=errors)


def _ignored(name: str) -> Notice:
    shown = name if len(name) <= 64 else name[:64] + "…"
    return Notice(f"Unknown argument {shown!r} was ignored", code="UNKNOWN_ARGUMENT")


def _field_error(error: msgspec.ValidationError) -> FieldError:
    """Of msgspec's own sentence only the path: it may hold the value that was sent."""
    _, _, path = str(error).partition(" - at `$")
    steps = [
        int(step) if step.isdigit() else step
        for step in path.rstrip("`").replace("]", "").replace("[", ".").split(".")
        if step
    ]
    return FieldError(path_of(steps), "is not valid")


class _Result:
    """What a function returns, from its return hint."""

    def __init__(self, hint: Any, tool: str) -> None:
        if get_origin(hint) is Answer:
            (hint,) = get_args(hint)
        self.is_text = hint is str
        self.schema: JsonSchema | None = None
        self.check: Callable[[bytes], object] | None = None
        if hint not in (inspect.Parameter.empty, Any, None, type(None), str, Answer):
            what = f"the result of tool {tool!r}"
            hint = annotate(hint, None, what)
            self.schema = describe(hint, what)
            self.check = msgspec.json.Decoder(hint).decode
