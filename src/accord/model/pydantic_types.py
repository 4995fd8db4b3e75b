"""Types that pydantic validates and serializes: the only module that uses pydantic.

It never imports pydantic: a type of pydantic is there only if its module has imported it. A type
goes to pydantic as a whole if one part of it, at any depth, is known to pydantic alone: a model, a
pydantic dataclass, a validator, a type such as `EmailStr`, or a `Field` in a class.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import MAX_ERRORS, Checker, InvalidValue, JsonSchema, trimmed
from accord.model.pydantic_errors import field_errors
from accord.model.values import is_deep_json

Mode = Literal["validation", "serialization"]
_REF: Final = "#/$defs/{model}"
BOUNDS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
"""The bounds of a value, as msgspec.Meta, annotated-types and pydantic's Field name them."""
_TEXTS: Final = ("title", "description", "examples")
_HOOKS: Final = (
    "__get_pydantic_core_schema__",
    "__get_pydantic_json_schema__",
    "__pydantic_core_schema__",
)
_USABLE: Final = "a dataclass, a TypedDict or a pydantic model"
_NOT_JSON: Final = ("schema-for-unknown-type", "invalid-for-json-schema")
_SCHEMA_MAPS: Final = frozenset({"properties", "patternProperties", "$defs"})
_SCHEMAS: Final = frozenset(
    {"items", "prefixItems", "additionalProperties", "anyOf", "allOf", "oneOf", "not"}
)
_BEGINNING: Final = 20  # items of each list that errors are shown of, if there are too many
_LARGE: Final = 32_768  # bytes of JSON that errors may have copies of
_MAX_COUNTED: Final = 100_000  # errors whose copies are counted
_MAX_COPIED: Final = 16 * 1024 * 1024  # bytes of such copies
_OF_MODELS: Final = ("default", "default_factory", "alias", "validation_alias")


def _copied_bytes(error: Any) -> int:
    """Return the size of the objects and lists that errors refer to, each as often as they do."""
    sizes: dict[int, int] = {}
    total = 0
    for each in error.errors(include_url=False, include_context=False):
        found = each["input"]
        if isinstance(found, dict | list):
            if id(found) not in sizes:
                sizes[id(found)] = len(msgspec.json.encode(found))
            total += sizes[id(found)]
    return total


def uses_pydantic(hint: Any, owner: type | None = None) -> bool:
    """True if a type has a part that only pydantic knows.

    A `Field` with bounds and texts is one if it is in a class: `owner`, or one inside the type.
    """
    if sys.modules.get("pydantic") is None:
        return False
    return any(_is_pydantic(part, owner) for part, owner in _parts(hint, owner, set()))


def _is_pydantic(part: Any, owner: type | None) -> bool:
    if any(hasattr(part, hook) for hook in _HOOKS) or _is_version_1(part):
        return True
    if isinstance(part, type) or not type(part).__module__.startswith("pydantic."):
        return False
    if not is_field(part):
        return True  # such as a Discriminator, or Strict
    is_in_class = owner is not None and not is_msgspec_only(owner)
    return is_in_class or not _is_plain_field(part)


def is_msgspec_only(kind: Any) -> bool:
    """True for a class that msgspec knows and pydantic does not: a Struct or an attrs class."""
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    is_known = is_struct or (isinstance(kind, type) and hasattr(kind, "__attrs_attrs__"))
    return is_known and not any(hasattr(kind, hook) for hook in _HOOKS)


def is_field(value: Any) -> bool:
    """True for what pydantic's `Field()` returns."""
    kind = getattr(sys.modules.get("pydantic.fields"), "FieldInfo", None)
    return kind is not None and isinstance(value, kind)


def _is_plain_field(info: Any) -> bool:
    """True if a `Field` has only bounds and texts, which msgspec.Meta has as well."""
    plain = {*BOUNDS, *_TEXTS, "annotation"}
    return info._attributes_set.keys() <= plain and all(
        any(getattr(extra, name, None) is not None for name in BOUNDS) for extra in info.metadata
    )


def _is_version_1(part: Any) -> bool:
    """True for a model of pydantic 1, of which version 2 has a copy in `pydantic.v1`."""
    names = ("pydantic.v1.main", "pydantic.main")
    bases = [getattr(sys.modules.get(name), "BaseModel", None) for name in names]
    old = tuple(base for base in bases if base is not None and not hasattr(base, "model_fields"))
    return isinstance(part, type) and issubclass(part, old)


def _parts(hint: Any, owner: type | None, seen: set[Any]) -> Iterator[tuple[Any, type | None]]:
    """Yield the parts of a type, at any depth, with the class that has them as fields.

    Fields of models are not parts: pydantic handles a model as a whole.
    """
    yield hint, owner
    if get_origin(hint) is Annotated:
        bare, *extras = get_args(hint)
        yield from _parts(bare, owner, seen)
        yield from ((extra, owner) for extra in extras)
        return
    if get_origin(hint) is Literal:
        return
    for part in (*get_args(hint), get_origin(hint)):
        if part is not None:
            yield from _parts(part, owner, seen)
    for alias in ("__value__", "__supertype__"):  # of a TypeAliasType, of a NewType
        if (inner := getattr(hint, alias, None)) is not None:
            yield from _parts(inner, owner, seen)
    if isinstance(hint, type) and hint not in seen and not _is_pydantic(hint, owner):
        seen.add(hint)
        for field in _fields(hint).values():
            yield from _parts(field, hint, seen)


def _fields(owner: type) -> dict[str, Any]:
    """Return the types of a class's fields; none if they cannot be resolved."""
    if not getattr(owner, "__annotations__", None):
        return {}
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}


class PydanticType:
    """A type that pydantic validates and serializes.

    `what` names it in errors. Raises ContractError if pydantic cannot use the type.
    """

    def __init__(self, hint: Any, what: str) -> None:
        pydantic = sys.modules["pydantic"]
        self._what = what
        self._hint = _for_pydantic(hint, what)
        self._failure = pydantic.ValidationError
        try:
            self._adapter = pydantic.TypeAdapter(self._hint)
            if not getattr(self._adapter, "pydantic_complete", True):
                self._adapter.rebuild()
        except pydantic.PydanticUserError as error:
            raise self._unusable(error) from error
        except NameError as error:
            reason = str(error).partition("\n")[0]
            raise ContractError(f"{what} has a type that is not defined: {reason}") from error
        except (RuntimeError, TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ContractError(f"{what} has bounds that cannot be checked: {reason}") from error
        self._validate_json = self._adapter.validator.validate_json

    def read(self, json: bytes) -> Any:
        """Return JSON as a value of the type; raise InvalidValue with every error."""
        if len(json) > _LARGE:
            self._require_small_errors(json)
        try:
            return self._validate_json(json)
        except self._failure as error:
            try:
                value = msgspec.json.decode(json)
            except (msgspec.MsgspecError, RecursionError):
                value = None
            raise InvalidValue(self._errors(error, value)) from error

    def _require_small_errors(self, json: bytes) -> None:
        """Raise if the errors of large JSON would take much memory.

        Each error of `validate_json` has a copy of the object in which a field is missing. Those of
        `validate_python` refer to it, but differ: a strict model accepts fewer values there.
        """
        try:
            value = msgspec.json.decode(json)
            self._adapter.validator.validate_python(value)
        except (msgspec.MsgspecError, RecursionError):
            return  # `validate_json` reports it
        except self._failure as error:
            count = error.error_count()
            if count > _MAX_COUNTED or _copied_bytes(error) > _MAX_COPIED:
                too_many = [FieldError("", f"has {count:,} errors")]
                is_shown = count <= MAX_ERRORS
                raise InvalidValue(field_errors(error, value) if is_shown else too_many) from error

    def _errors(self, error: Any, value: Any) -> list[FieldError]:
        """Return the errors of a JSON value; if there are very many, those of its beginning."""
        count = error.error_count()
        if count > MAX_ERRORS:  # pydantic makes a dict of each
            try:
                self._validate_json(msgspec.json.encode(trimmed(value, _BEGINNING)))
            except self._failure as fewer:
                error = fewer
            if error.error_count() > MAX_ERRORS:
                return [FieldError("", f"has {count:,} errors")]
        return field_errors(error, value)

    def read_text(self, text: str) -> Any:
        """Return text as a value of the type; raise InvalidValue if it is not valid."""
        try:
            return self._adapter.validate_strings(text)
        except self._failure as error:
            raise InvalidValue(field_errors(error, text)) from error

    def validate(self, value: Any) -> Any:
        """Return a Python value as one of the type; raise InvalidValue with every error."""
        try:
            return self._adapter.validator.validate_python(value, **_by_name())
        except self._failure as error:
            raise InvalidValue(field_errors(error, value)) from error

    def encode(self, value: Any) -> bytes:
        """Return a valid value as JSON in the form of the serialization schema: by alias.

        Raises RecursionError if the value contains itself.
        """
        try:
            json: bytes = self._adapter.serializer.to_json(value, by_alias=True, warnings=False)
        except ValueError as error:
            if "Circular reference" in str(error):
                raise RecursionError from error
            raise
        return json

    def default(self, value: Any) -> bytes | None:
        """Return a default value as JSON that is valid input; None if there is no such JSON.

        Raises InvalidValue if the default is not a value of the type.
        """
        value = self.validate(value)
        for by_alias in (True, False):
            try:
                json: bytes = self._adapter.dump_json(value, by_alias=by_alias, warnings=False)
                self._validate_json(json)
            except ValueError:  # it has no JSON, or its JSON is not valid input
                continue
            return json
        return None

    def schema(self, mode: Mode) -> JsonSchema:
        """Return the JSON Schema, with `$defs` if it has any."""
        schemas, defs = schemas_of({"": self}, mode)
        return {**schemas[""], "$defs": defs} if defs else schemas[""]

    def _unusable(self, error: Exception) -> ContractError:
        reason = str(error).partition("\n")[0].partition(". Set ")[0]
        if field := _failing_field(self._hint):
            reason = f"{field}; use {_USABLE} of JSON types"
        shown = inspect.formatannotation(self._hint)
        return ContractError(f"{self._what} is {shown}, which is not a JSON type: {reason}")


def schemas_of(
    types: Mapping[str, PydanticType], mode: Mode
) -> tuple[dict[str, JsonSchema], dict[str, JsonSchema]]:
    """Return the JSON Schemas of several types by name, and the definitions that they share."""
    pydantic = sys.modules["pydantic"]
    adapters = [(name, mode, each._adapter) for name, each in types.items()]
    try:
        found, root = pydantic.TypeAdapter.json_schemas(
            adapters, ref_template=_REF, schema_generator=_generator()
        )
    except pydantic.PydanticUserError as error:
        if len(types) > 1:
            for name, each in types.items():  # raises for the one that is not usable
                schemas_of({name: each}, mode)
        raise next(iter(types.values()))._unusable(error) from error
    schemas = {name: _simplified(found[name, mode]) for name in types}
    return schemas, {name: _simplified(each) for name, each in root.get("$defs", {}).items()}


@cache
def _by_name() -> dict[str, bool]:
    """Return the options to take the names of fields as well as their aliases."""
    major, minor, *_ = sys.modules["pydantic"].VERSION.split(".")
    is_new = (int(major), int(minor)) >= (2, 11)  # before, a model's own configuration decides
    return {"by_alias": True, "by_name": True} if is_new else {}


@cache
def _generator() -> Any:
    """Return a generator of JSON Schemas without the titles that only repeat a field's name."""
    pydantic = sys.modules["pydantic"]
    base: Any = pydantic.json_schema.GenerateJsonSchema

    class Generator(base):  # type: ignore[misc]  # a class of pydantic
        ignored_warning_kinds = frozenset({*base.ignored_warning_kinds, "non-serializable-default"})

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def decimal_schema(self, schema: Any) -> Any:
            """Return the format instead of a pattern that the APIs of models refuse."""
            described = super().decimal_schema(schema)
            for part in described.get("anyOf", [described]):
                if part.get("type") == "string":
                    part.pop("pattern", None)
                    part["format"] = "decimal"
            return described

    return Generator


def _simplified(node: Any) -> Any:
    """Return a schema in the form that the APIs of models accept.

    They know `anyOf` and `enum`, but often not `oneOf` and `const`. Alternatives with a
    discriminator exclude each other, so that `anyOf` is the same.
    """
    if isinstance(node, list):
        return [_simplified(each) for each in node]
    if not isinstance(node, dict):
        return node
    simple: dict[str, Any] = {}
    for name, each in node.items():
        if name in _SCHEMA_MAPS:
            simple[name] = {key: _simplified(part) for key, part in each.items()}
        elif name == "const":
            simple["enum"] = [each]
        elif name == "oneOf" and "discriminator" in node:
            simple["anyOf"] = _simplified(each)
        elif name == "allOf" and len(each) == 1:  # around a `$ref`, before pydantic 2.9
            simple |= _simplified(each[0])
        else:
            simple[name] = _simplified(each) if name in _SCHEMAS else each
    return simple


def _for_pydantic(hint: Any, what: str) -> Any:
    """Return a type with msgspec.Meta and plain descriptions as pydantic's Field."""
    _reject_version_1(hint, what)
    _reject_foreign(hint, what)
    return _with_fields(hint)


def _reject_version_1(hint: Any, what: str) -> None:
    for part, _ in _parts(hint, None, set()):
        if _is_version_1(part):
            raise ContractError(
                f"{what} is {part.__name__}, a model of pydantic 1: "
                "derive it from the BaseModel of pydantic 2"
            )


def _reject_foreign(hint: Any, what: str) -> None:
    """Raise if a part of a type is known to msgspec only."""
    for part, owner in _parts(hint, None, set()):
        if isinstance(part, msgspec.Meta) and owner is not None:
            raise ContractError(
                f"{what} has msgspec.Meta in {owner.__name__}, which has fields for pydantic; "
                "use pydantic.Field in its place"
            )
        if is_msgspec_only(part):
            kind = "a msgspec.Struct" if issubclass(part, msgspec.Struct) else "an attrs class"
            raise ContractError(
                f"{what} mixes types of pydantic with {part.__name__}, {kind}; "
                f"make {part.__name__} {_USABLE}"
            )


def _with_fields(hint: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bare, *extras = args
        return Annotated[(_with_fields(bare), *map(_as_field, extras))]
    if typing.is_typeddict(hint):
        return _usual_typeddict(hint)
    return map_arguments(hint, _with_fields)


def map_arguments(hint: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a type with its arguments converted; the type itself if none has changed."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal or not args:
        return hint
    converted = tuple(map(convert, args))
    if converted == args:
        return hint
    return reduce(or_, converted) if origin in (Union, UnionType) else origin[converted]


def _usual_typeddict(hint: Any) -> Any:
    """Return a TypedDict as one of typing_extensions: pydantic needs it before Python 3.12."""
    fields = _fields(hint)
    if sys.version_info >= (3, 12) or type(hint).__module__ != "typing" or _mentions(fields, hint):
        return hint
    extensions: Any = sys.modules["typing_extensions"]  # pydantic has imported it
    members = {
        name: (extensions.Required if name in hint.__required_keys__ else extensions.NotRequired)[
            _with_fields(_without_qualifiers(field))
        ]
        for name, field in fields.items()
    }
    usual = extensions.TypedDict(hint.__name__, members)
    usual.__doc__, usual.__module__ = hint.__doc__, hint.__module__
    return usual


def _without_qualifiers(field: Any) -> Any:
    while get_origin(field) in (typing.Required, typing.NotRequired):
        (field,) = get_args(field)
    return field


def _mentions(fields: dict[str, Any], owner: Any) -> bool:
    return any(part is owner for field in fields.values() for part, _ in _parts(field, None, set()))


def _as_field(extra: Any) -> Any:
    """Return an annotation that pydantic does not know as a Field."""
    field = sys.modules["pydantic"].Field
    if isinstance(extra, str):
        return field(description=extra)
    if isinstance(extra, msgspec.Meta):
        names = (*BOUNDS, *_TEXTS)
        values = {name: getattr(extra, name) for name in names if getattr(extra, name) is not None}
        return field(**values, json_schema_extra=extra.extra_json_schema)
    if described := getattr(extra, "documentation", None):  # of a `Doc`
        return field(description=described)
    added = getattr(extra, "extra_json_schema", None)  # of a Header
    return field(json_schema_extra=added) if isinstance(added, dict) else extra


def reject_field(hint: Any, default: Any, what: str) -> None:
    """Raise if a parameter has a `Field` as default, or one that only fits a field of a model."""
    if is_field(default):
        raise ContractError(
            f"{what} has a Field as default; write Annotated[TYPE, Field(...)] as its type"
        )
    for extra in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        wrong = [name for name in _OF_MODELS if name in getattr(extra, "_attributes_set", ())]
        if wrong and is_field(extra):
            instead = "rename the parameter" if "alias" in wrong[0] else "write NAME: TYPE = VALUE"
            raise ContractError(f"{what} has a Field with {wrong[0]}; {instead} instead")


def _failing_field(hint: Any) -> str:
    """Return the field with a type that is not one of JSON, and this type; empty if unknown."""
    pydantic = sys.modules["pydantic"]
    failing = ""
    for owner, name, field in _all_fields(hint, set()):
        try:
            pydantic.TypeAdapter(field).json_schema(schema_generator=_generator())
        except pydantic.PydanticUserError as error:
            if error.code in _NOT_JSON:  # the last field is not inside another one
                failing = f"{owner.__name__}.{name} is {inspect.formatannotation(field)}"
    return failing


def _all_fields(hint: Any, seen: set[Any]) -> Iterator[tuple[type, str, Any]]:
    """Yield every field of every class in a type, models included."""
    for part in get_args(hint):
        yield from _all_fields(part, seen)
    if not isinstance(hint, type) or hint in seen:
        return
    seen.add(hint)
    fields = getattr(hint, "model_fields", None)
    own = _fields(hint) if fields is None else {n: each.annotation for n, each in fields.items()}
    computed = getattr(hint, "model_computed_fields", {})
    for name, field in (own | {n: each.return_type for n, each in computed.items()}).items():
        yield hint, name, field
        yield from _all_fields(field, seen)


def enums_in(hint: Any) -> Iterator[type[Enum]]:
    """Yield every enum in a type and in the fields of its classes, models included."""
    fields = (field for _, _, field in _all_fields(hint, set()))
    for each in (hint, *fields):
        for part, _ in _parts(each, None, set()):
            if isinstance(part, type) and issubclass(part, Enum):
                yield part


class CheckedOutput:
    """Encodes results of a type of pydantic, and checks that they match its schema.

    An instance of a model is not validated again, as in pydantic itself; the check finds what has
    changed since, and a serializer that returns something else than its field declares.
    """

    def __init__(self, kind: PydanticType, schema: JsonSchema) -> None:
        self._kind = kind
        self._checker = Checker(schema, formats=False)
        self._checker.compile("the result")

    def encode(self, value: Any) -> bytes:
        """Return a value as JSON; raise InvalidValue if it does not match the schema.

        Raises RecursionError if the value has too many levels.
        """
        json = self._kind.encode(self._kind.validate(value))
        if is_deep_json(json):
            raise RecursionError
        self.check(json)
        return json

    def check(self, json: bytes) -> None:
        """Raise InvalidValue if JSON does not match the schema."""
        try:
            if self._checker.fits_json(json):
                return
        except msgspec.DecodeError as error:  # NaN, if a model's config asks for it
            raise InvalidValue([FieldError("", f"is not JSON: {error}")]) from error
        unknown = FieldError("", "does not fit")
        raise InvalidValue(self._checker.explain_json(json, unreadable=unknown, otherwise=unknown))
