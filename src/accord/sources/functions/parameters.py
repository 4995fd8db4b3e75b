"""The parameters of a function as one typed record that JSON decodes into in a single step."""

import inspect
from collections.abc import Callable
from typing import Any, Final, get_args

import msgspec

from accord.answer import FieldError, Notice, Problem
from accord.arguments import Checker, JsonSchema, path_of
from accord.errors import ContractError
from accord.sources.functions.hints import annotate, describe
from accord.tool import Bound, Context

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_LONGEST_NAME_SHOWN: Final = 64


class Parameters:
    """What a function takes: its schema, how to check arguments, and how to call with them."""

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
        self._all = list(inspect.signature(function).parameters.values())
        self._context = [p.name for p in self._all if _is_context(types.get(p.name))]
        self._shown = [p for p in self._all if p.name not in self._context]
        self._record = self._make_record(types, words)
        self._decode = msgspec.json.Decoder(self._record).decode
        self.schema = self._make_schema(strict=strict)
        self._checker = Checker(self.schema)

    @property
    def wants_context(self) -> bool:
        """Whether the function asks for a Context."""
        return bool(self._context)

    def bind(self, arguments: bytes) -> Bound:
        """The arguments as a record; whatever is wrong with them is a validation Problem."""
        try:
            return Bound(self._decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            return self._bind_closely(arguments)

    def caller(self) -> Callable[[Any, Any], Any]:
        """How the function takes its record: by position where it can, which is faster."""
        function = self._function
        if not self._context and all(p.kind in _POSITIONAL for p in self._all):
            astuple = msgspec.structs.astuple
            return lambda record, _context: function(*astuple(record))
        return self._call_by_name

    def _call_by_name(self, record: msgspec.Struct, context: Context) -> Any:
        values = msgspec.structs.asdict(record) | dict.fromkeys(self._context, context)
        by_position = [values.pop(p.name) for p in self._all if p.kind is p.POSITIONAL_ONLY]
        return self._function(*by_position, **values)

    def _make_record(self, types: dict[str, Any], words: dict[str, str]) -> type[msgspec.Struct]:
        fields = [self._field(p, types.get(p.name, Any), words.get(p.name)) for p in self._shown]
        return msgspec.defstruct(self._tool, fields, kw_only=True, forbid_unknown_fields=True)

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

    def _make_schema(self, *, strict: bool) -> JsonSchema:
        described = describe(self._record, f"tool {self._tool!r}")
        properties = described.get("properties", {})
        for parameter in self._shown:
            if parameter.default is not parameter.empty:
                properties[parameter.name]["default"] = self._default(parameter)
        schema: JsonSchema = {"type": "object", "properties": properties}
        schema["required"] = described.get("required", [])
        if strict:
            schema["additionalProperties"] = False
        return schema | {"$defs": described["$defs"]} if "$defs" in described else schema

    def _default(self, parameter: inspect.Parameter) -> Any:
        try:
            return msgspec.to_builtins(parameter.default)
        except TypeError as error:
            what = f"parameter {parameter.name!r} of tool {self._tool!r}"
            raise ContractError(f"{what} has a default that JSON cannot carry") from error

    def _bind_closely(self, arguments: bytes) -> Bound:
        """The slow way, for arguments that did not decode: name every field that is wrong."""
        try:
            given = msgspec.json.decode(arguments)
        except (msgspec.ValidationError, RecursionError) as error:
            raise self._invalid([FieldError("", _unreadable(error))]) from error
        errors = self._checker.errors(given)
        if errors:
            raise self._invalid(errors)
        names = {parameter.name for parameter in self._shown}
        known = {name: value for name, value in given.items() if name in names}
        try:
            record = msgspec.convert(known, self._record)
        except msgspec.ValidationError as error:
            raise self._invalid([_misfit(error)]) from error
        return Bound(record, [_ignored(name) for name in given if name not in names])

    def _invalid(self, errors: list[FieldError]) -> Problem:
        listed = "; ".join(f"{error.field or 'the whole'} {error.error}" for error in errors)
        return Problem.validation(f"Invalid arguments for {self._tool}: {listed}", fields=errors)


def _is_context(hint: Any) -> bool:
    return hint is Context or Context in get_args(hint)


def _ignored(name: str) -> Notice:
    shown = name[:_LONGEST_NAME_SHOWN] + "…" if len(name) > _LONGEST_NAME_SHOWN else name
    return Notice(f"Unknown argument {shown!r} was ignored", code="UNKNOWN_ARGUMENT")


def _unreadable(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    return "holds a number that is out of range"  # what else msgspec refuses without a schema


def _misfit(error: msgspec.ValidationError) -> FieldError:
    """Of msgspec's sentence only the path: the rest may hold the value that was sent."""
    _, _, path = str(error).rstrip("`").partition(" - at `$")
    steps = path.replace("]", "").replace("[", ".").split(".")
    return FieldError(path_of([int(s) if s.isdigit() else s for s in steps if s]), "is not valid")
