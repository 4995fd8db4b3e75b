"""A function's parameters as one msgspec struct: schema, decoding and field errors.

Arguments decode in one step; those of a type of pydantic stay JSON, which pydantic validates. If
that fails, each field is checked on its own, so that every wrong field is reported: msgspec stops
at the first.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property, reduce
from operator import or_
from types import UnionType
from typing import Any, ClassVar, Final, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import (
    Checker,
    InvalidValue,
    JsonSchema,
    ignored,
    invalid,
    path_of,
)
from accord.model.context import Context
from accord.model.pydantic_types import (
    PydanticType,
    reject_field,
    schemas_of,
    uses_pydantic,
)
from accord.model.tool import Bound
from accord.sources.functions.attrs_types import AttrsBuilder, is_attrs, reject_unusable_attrs
from accord.sources.functions.dependencies import Depends, dependency_of
from accord.sources.functions.introspect import is_context
from accord.sources.functions.type_hints import (
    annotate,
    classes_in,
    describe,
    merge_definitions,
)

_EXACT: Final = 2**53  # largest integer that a float holds exactly
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_PATH: Final = re.compile(r"`\$(?P<steps>[^`]*)`$")
_STEP: Final = re.compile(r"[^.\[\]]+")
_INVALID: Final = re.compile(r"Invalid (?P<what>[\w\- ]+?)(?: - at .*)?")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_JSON_NAMES: Final = {
    "int": "an integer",
    "str": "a string",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "an array",
}
_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _normalized(raw: bytes, decode: Callable[[bytes], Any]) -> msgspec.Raw:
    """Return JSON that decodes, with `1.0` rewritten as `1` if needed; else raise."""
    try:
        decode(raw)
    except msgspec.ValidationError:
        rewritten = _normalize_integers(raw)
        if rewritten == raw:
            raise
        decode(rewritten)
        return msgspec.Raw(rewritten)
    return msgspec.Raw(raw)


def _field_errors(name: str, raw: bytes, error: Exception, checker: Checker) -> list[FieldError]:
    """Return the errors of one parameter that did not decode."""
    if isinstance(error, InvalidValue):
        return [FieldError(_below(name, each.field), each.error) for each in error.fields]
    by_schema = checker.errors({name: msgspec.json.decode(_normalize_integers(raw))})
    below = (f"{name}.", f"{name}[")
    found = [e for e in by_schema if e.field == name or e.field.startswith(below)]
    return found or [_field_error(name, error)]


def _below(name: str, path: str) -> str:
    """Return a path inside a parameter, with the parameter."""
    return f"{path_of([name])}{'.' if path and path[0] != '[' else ''}{path}"


def _field_error(name: str, error: Exception) -> FieldError:
    """Return msgspec's message as a field error, without the value it may contain.

    A ValueError of a class itself, such as of `__post_init__`, has the author's words.
    """
    sentence = str(error)
    path = _PATH.search(sentence)
    steps = _STEP.findall(path["steps"]) if path else []
    field = path_of([name, *(int(step) if step.isdigit() else step for step in steps)])
    if isinstance(error.__cause__, ValueError) and error.__cause__.args:
        return FieldError(field, f"is not valid: {error.__cause__.args[0]}")
    if expected := _EXPECTED.match(sentence):
        wanted, got = _type_names(expected["wanted"]), _type_names(expected["got"])
        return FieldError(field, f"must be {wanted}, not {got}")
    if refused := _INVALID.fullmatch(sentence):
        return FieldError(field, f"must be a valid {refused['what']}")
    return FieldError(field, "must be a value of its type")


def _type_names(kinds: str) -> str:
    return " or ".join(_JSON_NAMES.get(kind, kind) for kind in kinds.split(" | "))


def decode_failure(error: Exception) -> FieldError:
    """Return the error of arguments that are valid JSON but cannot be decoded."""
    if isinstance(error, RecursionError):
        return FieldError("arguments", "are nested too deeply")
    return FieldError("arguments", "hold a number that is out of range")


def unknown_fields(names: Iterable[str]) -> list[FieldError]:
    """Return an error for each unknown argument of a strict tool."""
    return [FieldError(path_of([name]), "is not a known field") for name in names]


def _normalize_integers(raw: bytes) -> bytes:
    """Return the JSON with `1.0` rewritten as `1`: both are integers in JSON Schema."""
    return _TOKEN.sub(_normalize_token, raw)


def _normalize_token(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text[:1] == b'"' or text.removeprefix(b"-").isdigit():
        return text
    number = float(text)
    return b"%d" % number if number.is_integer() and abs(number) <= _EXACT else text


def may_lack_defaults(hint: Any) -> bool:
    """True if a type contains dataclasses that msgspec decodes without their default values.

    msgspec leaves such a field on the class, where attribute access finds it but `vars()` and
    encoding do not: a returned value would lose the field.
    """
    return any(
        is_dataclass(owner)
        and not hasattr(owner, "__slots__")
        and any(field.default is not MISSING for field in fields(owner))
        for owner in classes_in(hint)
    )


def set_defaults(value: Any) -> None:
    """Set the fields with default values on every dataclass in a value."""
    if isinstance(value, msgspec.Struct):
        _set_all_defaults(getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, dict):
        _set_all_defaults(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        _set_all_defaults(value)
    elif is_dataclass(value) and hasattr(value, "__dict__"):
        held = vars(value)
        for field in fields(value):
            if field.name not in held:
                held[field.name] = field.default
        _set_all_defaults(held.values())


def _set_all_defaults(values: Iterable[Any]) -> None:
    for value in values:
        set_defaults(value)


class ParameterInfo(NamedTuple):
    """A parameter that callers see: its type for msgspec, and its default as JSON.

    One whose default is `msgspec.UNSET` is not required and has no default in the schema.
    """

    parameter: inspect.Parameter
    hint: Any
    default: bytes | None
    model: PydanticType | None = None
    """The type of a parameter that pydantic validates; `hint` is then that of its JSON."""
    description: str | None = None
    builder: AttrsBuilder | None = None
    """Makes the attrs classes in a value of the type `hint`."""

    @property
    def is_required(self) -> bool:
        """True if the parameter has no default."""
        return self.parameter.default is inspect.Parameter.empty


class Parameters:
    """A function's parameters: their schema, argument decoding, and the call."""

    _undecoded: ClassVar[Any] = msgspec.Raw
    """The type for msgspec of parameters that pydantic validates."""

    def __init__(
        self,
        function: Callable[..., Any],
        tool: str,
        types: dict[str, Any],
        descriptions: dict[str, str],
        *,
        strict: bool,
        kind: str = "tool",
    ) -> None:
        self._function = function
        self._tool = tool
        self._what = f"{kind} {tool!r}"
        self._strict = strict
        self._all = _signature(function, self._what)
        self._context = [p.name for p in self._all if is_context(types.get(p.name))]
        found = {p.name: dependency_of(p, types.get(p.name)) for p in self._all}
        self.dependencies: dict[str, Depends] = {
            name: each for name, each in found.items() if each is not None
        }
        """The dependencies that provide parameters, by name."""
        self._visible = [
            self._info_of(p, types.get(p.name, Any), descriptions.get(p.name))
            for p in self._all
            if p.name not in self._context and p.name not in self.dependencies
        ]
        self._attributes = _attributes([info.parameter.name for info in self._visible])
        self._models = [
            (attribute, info.model.read)
            for attribute, info in zip(self._attributes, self._visible, strict=True)
            if info.model is not None
        ]
        self._record = self._make_record()
        self._decode_record = msgspec.json.Decoder(self._record).decode
        self._builders = [
            (attribute, info.builder.build)
            for attribute, info in zip(self._attributes, self._visible, strict=True)
            if info.builder is not None
        ]
        is_complete = not self._models and not self._builders
        self._decode = self._decode_record if is_complete else self._decode_and_convert
        self.schema: JsonSchema = self._make_schema(self._record)
        self._checker = Checker(self.schema)
        self._may_lack_defaults = any(may_lack_defaults(info.hint) for info in self._visible)
        if "pattern" in str(self.schema):  # fail early on a pattern that only Python supports
            self._checker.compile(self._what)

    @property
    def wants_context(self) -> bool:
        """True if the function has a Context parameter."""
        return bool(self._context)

    def bind(self, arguments: bytes) -> Bound:
        """Return the arguments as a record; raise a validation Problem with every wrong field."""
        try:
            bound = Bound(self._decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            bound = self._bind_each_field(arguments)
        if self._may_lack_defaults:
            set_defaults(bound.arguments)
        return bound

    def _decode_and_convert(self, arguments: bytes) -> msgspec.Struct:
        """Return the arguments as a record, with the values that pydantic and attrs make."""
        record = self._decode_record(arguments)
        for attribute, build in self._builders:
            setattr(record, attribute, build(getattr(record, attribute)))
        for attribute, read in self._models:
            json = getattr(record, attribute)
            if type(json) is msgspec.Raw:  # else it is the default
                setattr(record, attribute, read(bytes(json)))
        return record

    def caller(self) -> Callable[[Any, Any], Any]:
        """Return a call of the function with a record: positional if possible, which is faster."""
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

    def caller_with(self, indexes: Mapping[str, int]) -> Callable[[Any, Sequence[Any]], Any]:
        """Return a call of the function with a record and a list of other values.

        `indexes` has the index of each parameter's value in that list; the first is the Context.
        """
        function, astuple = self._function, msgspec.structs.astuple
        given = {name: at for at, name in enumerate(info.parameter.name for info in self._visible)}
        at = dict.fromkeys(self._context, 0) | dict(indexes)
        sources = [
            (p.name, (1, at[p.name]) if p.name in at else (0, given[p.name])) for p in self._all
        ]
        if all(p.kind in _POSITIONAL for p in self._all):
            places = [place for _, place in sources]

            def call(record: Any, values: Sequence[Any]) -> Any:
                both = astuple(record), values
                return function(*[both[which][index] for which, index in places])

            return call
        kinds = {p.name: p.kind for p in self._all}

        def call_by_name(record: Any, values: Sequence[Any]) -> Any:
            both = astuple(record), values
            named = {name: both[which][index] for name, (which, index) in sources}
            by_position = [
                named.pop(name)
                for name in list(named)
                if kinds[name] is inspect.Parameter.POSITIONAL_ONLY
            ]
            return function(*by_position, **named)

        return call_by_name

    def _call_by_name(self, record: msgspec.Struct, context: Context) -> Any:
        names = [info.parameter.name for info in self._visible]
        values = dict(zip(names, msgspec.structs.astuple(record), strict=True))
        values |= dict.fromkeys(self._context, context)
        by_position = [values.pop(p.name) for p in self._all if p.kind is p.POSITIONAL_ONLY]
        return self._function(*by_position, **values)

    def _info_of(
        self, parameter: inspect.Parameter, hint: Any, descriptions: str | None
    ) -> ParameterInfo:
        what = f"parameter {parameter.name!r} of {self._what}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContractError(f"{what} must be a named parameter, not *args or **kwargs")
        hint = _without_unset(hint)
        reject_field(hint, parameter.default, what)
        if uses_pydantic(hint):
            model = PydanticType(hint, what)
            default = _default_of_model(parameter, model, what)
            return ParameterInfo(parameter, self._undecoded, default, model, descriptions)
        builder = AttrsBuilder(hint)
        hint = annotate(builder.hint, descriptions, what)
        describe(hint, what)
        for owner in classes_in(hint):
            reject_unusable_attrs(owner, what, is_result=False)
        if is_attrs(type(parameter.default)) and builder.is_needed:
            default = None  # its attributes may be of other types than its parameters
        else:
            default = _default(parameter, hint, what)
        return ParameterInfo(
            parameter, hint, default, builder=builder if builder.is_needed else None
        )

    def _make_record(self) -> type[msgspec.Struct]:
        attributes = self._attributes
        fields = [
            (attribute, info.hint) if info.is_required else _optional(attribute, info)
            for attribute, info in zip(attributes, self._visible, strict=True)
        ]
        names = {a: info.parameter.name for a, info in zip(attributes, self._visible, strict=True)}
        return msgspec.defstruct(
            self._tool, fields, kw_only=True, forbid_unknown_fields=True, rename=names
        )

    def _make_schema(self, record: type[msgspec.Struct]) -> JsonSchema:
        described = describe(record, self._what)
        properties = described.get("properties", {})
        described = self._with_models(described, properties)
        for info in self._visible:
            if info.default is not None:
                default = msgspec.json.decode(info.default)
                properties[info.parameter.name]["default"] = default
        schema: JsonSchema = {"type": "object", "properties": properties}
        if properties:
            schema["required"] = described.get("required", [])
        if self._strict:
            schema["additionalProperties"] = False
        return schema | {"$defs": described["$defs"]} if "$defs" in described else schema

    def _with_models(self, described: JsonSchema, properties: dict[str, JsonSchema]) -> JsonSchema:
        """Set the schemas of parameters that pydantic validates; return all with their `$defs`."""
        models = {info.parameter.name: info.model for info in self._visible if info.model}
        if not models:
            return described
        schemas, defs = merge_definitions(
            described.get("$defs", {}), *schemas_of(models, "validation")
        )
        properties |= schemas
        for info in self._visible:
            if info.description and info.model:
                properties[info.parameter.name].setdefault("description", info.description)
        return {**described, "$defs": defs} if defs else described

    @cached_property
    def _decoders(self) -> dict[str, Callable[[bytes], Any]]:
        return {
            info.parameter.name: msgspec.json.Decoder(info.hint).decode for info in self._visible
        }

    def _bind_each_field(self, arguments: bytes) -> Bound:
        """Decode each field on its own, to report every wrong one."""
        decoders, validated = self._decoders, dict[str, Any]()

        def read(info: ParameterInfo, raw: msgspec.Raw) -> msgspec.Raw:
            name = info.parameter.name
            if info.model is None:
                normalized = _normalized(bytes(raw), decoders[name])
                if info.builder is not None:
                    validated[name] = info.builder.build(decoders[name](bytes(normalized)))
                return normalized
            validated[name] = info.model.read(bytes(raw))
            return raw

        try:
            given = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
            known, errors = self._read_fields(given, read)
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(self._tool, [decode_failure(error)]) from error
        unknown = [name for name in given if name not in decoders]
        if errors or (unknown and self._strict):
            raise invalid(self._tool, errors + unknown_fields(unknown if self._strict else ()))
        record = self._decode_record(msgspec.json.encode(known))
        for attribute, info in zip(self._attributes, self._visible, strict=True):
            if info.parameter.name in validated:
                setattr(record, attribute, validated[info.parameter.name])
        return Bound(record, ignored(unknown))

    def _read_fields(
        self, given: Mapping[str, Any], read: Callable[[ParameterInfo, Any], Any]
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Read each field on its own; return the values, and the errors of every wrong field."""
        values: dict[str, Any] = {}
        errors: list[FieldError] = []
        for info in self._visible:
            name = info.parameter.name
            if name not in given:
                errors += [FieldError(name, "is required")] if info.is_required else []
                continue
            try:
                values[name] = read(info, given[name])
            except msgspec.ValidationError as error:
                raw = msgspec.json.encode(given[name])
                errors += _field_errors(name, raw, error, self._checker)
        return values, errors


def _signature(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise ContractError(f"{what} has no signature: {error}") from error


def _attributes(names: list[str]) -> list[str]:
    """Return attribute names for a record: msgspec reserves those that begin with `__`."""
    unused = "a" * (1 + max(map(len, names), default=0))
    return [unused + name if name.startswith("__") else name for name in names]


def _without_unset(hint: Any) -> Any:
    kinds = get_args(hint)
    if UnsetType not in kinds or get_origin(hint) not in (Union, UnionType):
        return hint
    return reduce(or_, (kind for kind in kinds if kind is not UnsetType))


def _optional(attribute: str, info: ParameterInfo) -> tuple[str, Any, Any]:
    default = info.parameter.default
    hint = info.hint | UnsetType if default is UNSET else info.hint
    return attribute, hint, msgspec.field(default_factory=lambda: default)


def _default(parameter: inspect.Parameter, hint: Any, what: str) -> bytes | None:
    if parameter.default is parameter.empty or parameter.default is UNSET:
        return None
    try:
        default = msgspec.json.encode(parameter.default)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{what} has a default that is not a JSON value") from error
    try:
        msgspec.json.decode(default, type=hint)
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "")
        raise ContractError(f"{what} has a default that does not fit its type: {reason}") from error
    return default


def _default_of_model(parameter: inspect.Parameter, model: PydanticType, what: str) -> bytes | None:
    """Return a default as JSON; None if the schema cannot have it."""
    if parameter.default is parameter.empty or parameter.default is UNSET:
        return None
    try:
        return model.default(parameter.default)
    except InvalidValue as error:
        raise ContractError(f"{what} has a default that does not fit its type: {error}") from error
