"""The parameters of a function as one typed record that JSON decodes into in a single step."""

import inspect
from collections.abc import Callable
from functools import cached_property, reduce
from operator import or_
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from accord.context import Context
from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import Checker, JsonSchema, ignored, invalid
from accord.model.tool import Bound
from accord.sources.functions.gaps import fill, has_gaps
from accord.sources.functions.hints import annotate, describe
from accord.sources.functions.misfits import Field, misfits, strangers, unreadable

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


class Shown(NamedTuple):
    """A parameter that callers see: its type in msgspec's terms, and its default as JSON.

    One that is `msgspec.UNSET` if left out is neither required nor has a default to tell of.
    """

    parameter: inspect.Parameter
    hint: Any
    default: bytes | None

    @property
    def is_required(self) -> bool:
        """Whether callers have to give it."""
        return self.parameter.default is inspect.Parameter.empty


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
        kind: str = "tool",
    ) -> None:
        self._function = function
        self._tool = tool
        self._what = f"{kind} {tool!r}"
        self._strict = strict
        self._all = _signature(function, self._what)
        self._context = [p.name for p in self._all if _is_context(types.get(p.name))]
        self._shown = [
            self._show(p, types.get(p.name, Any), words.get(p.name))
            for p in self._all
            if p.name not in self._context
        ]
        self._record = self._make_record()
        self._decode = msgspec.json.Decoder(self._record).decode
        self.schema = self._make_schema(self._record)
        self._checker = Checker(self.schema)
        self._has_gaps = any(has_gaps(shown.hint) for shown in self._shown)
        if "pattern" in str(self.schema):  # a pattern may be Python's alone: better now than later
            self._checker.compile(self._what)

    @property
    def wants_context(self) -> bool:
        """Whether the function asks for a Context."""
        return bool(self._context)

    def bind(self, arguments: bytes) -> Bound:
        """The arguments as a record; whatever is wrong with them is a validation Problem."""
        try:
            bound = Bound(self._decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            bound = self._bind_closely(arguments)
        if self._has_gaps:
            fill(bound.arguments)
        return bound

    def caller(self) -> Callable[[Any, Any], Any]:
        """How the function takes its record: by position where it can, which is faster."""
        function, astuple = self._function, msgspec.structs.astuple
        if any(p.kind not in _POSITIONAL for p in self._all):
            return self._call_by_name
        if not self._context:
            return lambda record, _context: function(*astuple(record))
        if len(self._context) == 1:
            at = next(i for i, p in enumerate(self._all) if p.name in self._context)
            return lambda record, context: function(
                *(values := astuple(record))[:at], context, *values[at:]
            )
        return self._call_by_name

    def _call_by_name(self, record: msgspec.Struct, context: Context) -> Any:
        names = [shown.parameter.name for shown in self._shown]
        values = dict(zip(names, msgspec.structs.astuple(record), strict=True))
        values |= dict.fromkeys(self._context, context)
        by_position = [values.pop(p.name) for p in self._all if p.kind is p.POSITIONAL_ONLY]
        return self._function(*by_position, **values)

    def _show(self, parameter: inspect.Parameter, hint: Any, words: str | None) -> Shown:
        what = f"parameter {parameter.name!r} of {self._what}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContractError(f"{what} takes any number of arguments; name each one")
        hint = annotate(_without_unset(hint), words, what)
        describe(hint, what)
        return Shown(parameter, hint, _default(parameter, hint, what))

    def _make_record(self) -> type[msgspec.Struct]:
        attributes = _attributes([shown.parameter.name for shown in self._shown])
        fields = [
            (attribute, shown.hint) if shown.is_required else _optional(attribute, shown)
            for attribute, shown in zip(attributes, self._shown, strict=True)
        ]
        names = {a: shown.parameter.name for a, shown in zip(attributes, self._shown, strict=True)}
        return msgspec.defstruct(
            self._tool, fields, kw_only=True, forbid_unknown_fields=True, rename=names
        )

    def _make_schema(self, record: type[msgspec.Struct]) -> JsonSchema:
        described = describe(record, self._what)
        properties = described.get("properties", {})
        for parameter, _, default in self._shown:
            if default is not None:
                properties[parameter.name]["default"] = msgspec.json.decode(default)
        schema: JsonSchema = {"type": "object", "properties": properties}
        schema["required"] = described.get("required", [])
        if self._strict:
            schema["additionalProperties"] = False
        return schema | {"$defs": described["$defs"]} if "$defs" in described else schema

    @cached_property
    def _fields(self) -> dict[str, Field]:
        return {
            shown.parameter.name: Field(
                msgspec.json.Decoder(shown.hint).decode, is_required=shown.is_required
            )
            for shown in self._shown
        }

    def _bind_closely(self, arguments: bytes) -> Bound:
        """The slow way, for arguments that did not decode: look at each field by itself."""
        try:
            given = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
            known: dict[str, msgspec.Raw] = {}
            errors: list[FieldError] = []
            for name, field in self._fields.items():
                if name not in given:
                    errors += [FieldError(name, "is required")] if field.is_required else []
                    continue
                raw = bytes(given[name])
                try:
                    known[name] = msgspec.Raw(field.read(raw))
                except msgspec.ValidationError as error:
                    errors += misfits(name, raw, error, self._checker)
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(self._tool, [unreadable(error)]) from error
        unknown = [name for name in given if name not in self._fields]
        if errors or (unknown and self._strict):
            raise invalid(self._tool, errors + strangers(unknown if self._strict else ()))
        record = self._decode(msgspec.json.encode(known))
        return Bound(record, [ignored(name) for name in unknown])


def _signature(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise ContractError(f"{what} does not say what it takes: {error}") from error


def _is_context(hint: Any) -> bool:
    return hint is Context or Context in get_args(hint)


def _attributes(names: list[str]) -> list[str]:
    """Names that a record can have: msgspec keeps those with two underscores to itself."""
    unused = "a" * (1 + max(map(len, names), default=0))
    return [unused + name if name.startswith("__") else name for name in names]


def _without_unset(hint: Any) -> Any:
    kinds = get_args(hint)
    if UnsetType not in kinds or get_origin(hint) not in (Union, UnionType):
        return hint
    return reduce(or_, (kind for kind in kinds if kind is not UnsetType))


def _optional(attribute: str, shown: Shown) -> tuple[str, Any, Any]:
    default = shown.parameter.default
    hint = shown.hint | UnsetType if default is UNSET else shown.hint
    return attribute, hint, msgspec.field(default_factory=lambda: default)


def _default(parameter: inspect.Parameter, hint: Any, what: str) -> bytes | None:
    if parameter.default is parameter.empty or parameter.default is UNSET:
        return None
    try:
        default = msgspec.json.encode(parameter.default)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{what} has a default that JSON cannot carry") from error
    try:
        msgspec.json.decode(default, type=hint)
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "")
        raise ContractError(f"{what} has a default that does not fit its type: {reason}") from error
    return default
