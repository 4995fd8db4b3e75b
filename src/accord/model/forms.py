"""Elicitation forms: types to the flat schemas that clients can show, and responses to values.

MCP allows only objects of strings, numbers, booleans and choices; a nested type is rejected when
the request is created, not when it is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import lru_cache
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import inspect

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import Checker, InvalidValue, JsonSchema
from accord.model.pydantic_types import PydanticType, enums_in, schemas_of, uses_pydantic

_VALUE: Final = "value"
_ANNOTATIONS: Final = ("title", "description", "default", "minItems", "maxItems")
_SIMPLE: Final = frozenset({"string", "number", "integer", "boolean"})
_UNFIT: Final = FieldError("content", "does not fit")
_UNREADABLE: Final = FieldError("content", "holds a number out of range, or is nested too deeply")


class InvalidContent(Exception):
    """The content of a response does not match its form; `fields` has the errors."""

    def __init__(self, fields: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{each.field} {each.error}" for each in fields))
        self.fields: tuple[FieldError, ...] = tuple(fields)


class Options(NamedTuple):
    """Choices of a field: values, and their titles if any."""

    values: list[str]
    titles: list[str] | None
    are_many: bool

    def schema(self, *, titled: bool) -> JsonSchema:
        """Return the schema; with `enumNames` if the revision lacks titled choices."""
        if self.are_many:
            inner = Options(self.values, self.titles, are_many=False)
            items = inner.schema(titled=titled)
            if "oneOf" in items:
                items = {"anyOf": items["oneOf"]}
            return {"type": "array", "items": items}
        if self.titles is None:
            return {"type": "string", "enum": self.values}
        if not titled:
            return {"type": "string", "enum": self.values, "enumNames": self.titles}
        pairs = zip(self.values, self.titles, strict=True)
        return {"type": "string", "oneOf": [{"const": v, "title": t} for v, t in pairs]}


class Form:
    """The schema of a form, and the conversion of its content."""

    def __init__(
        self,
        properties: dict[str, JsonSchema],
        required: Sequence[str],
        options: dict[str, Options],
        read: Callable[[bytes], Any],
    ) -> None:
        self._properties = properties
        self._required = list(required)
        self._options = options
        self._read = read
        self._checker = Checker(self.schema(titled=True))

    @property
    def has_many(self) -> bool:
        """True if a field allows several choices, which older clients cannot show."""
        return any(each.are_many for each in self._options.values())

    def schema(self, *, titled: bool) -> JsonSchema:
        """Return the schema for a client; `titled` if its revision has titled choices."""
        properties = {
            name: schema | self._options[name].schema(titled=titled)
            if name in self._options
            else schema
            for name, schema in self._properties.items()
        }
        schema: JsonSchema = {"type": "object", "properties": properties}
        return schema | {"required": self._required} if self._required else schema

    def read(self, content: bytes) -> Any:
        """Return the content as a value; raise InvalidContent if it does not match."""
        try:
            return self._read(content)
        except (msgspec.ValidationError, RecursionError) as error:
            found: Sequence[FieldError] = (
                error.fields
                if isinstance(error, InvalidValue)
                else self._checker.explain_json(content, unreadable=_UNREADABLE, otherwise=_UNFIT)
            )
            fields = [FieldError(each.field or "content", each.error) for each in found]
            raise InvalidContent(fields) from error


def form_of(kind: Any) -> Form:
    """Return the form for a type or a JSON Schema."""
    return _from_schema(kind) if isinstance(kind, dict) else _from_type(kind)


def _from_schema(schema: JsonSchema) -> Form:
    checker = Checker(schema)

    def read(content: bytes) -> Any:
        value = msgspec.json.decode(content, type=dict[str, Any])
        if not checker.fits(value):
            raise msgspec.ValidationError("the content does not fit its schema")
        return value

    properties = schema.get("properties", {})
    _require_flat(properties, "the schema of a form")
    return Form(properties, schema.get("required", ()), {}, read)


@lru_cache(256)
def _from_type(kind: Any) -> Form:
    if uses_pydantic(kind, owner=Form):
        return _from_model(kind)
    if _is_record(kind):
        return _from_record(kind, kind, lambda value: value)
    try:
        record = msgspec.defstruct("Form", [(_VALUE, kind)])
    except TypeError as error:
        raise ContractError(f"{kind!r} cannot be the type of a form: {error}") from error
    return _from_record(record, kind, lambda value: getattr(value, _VALUE))


def _from_model(kind: Any) -> Form:
    """Return the form for a type that pydantic validates."""
    what = f"{getattr(kind, '__name__', kind)} as a form"
    model = PydanticType(kind, "the form")
    schemas, defs = schemas_of({_VALUE: model}, "validation")
    root = _resolved(schemas[_VALUE], defs)
    titles = {tuple(each.value for each in enum): _titles(enum) for enum in enums_in(kind)}
    if "properties" in root:
        return _from_properties(root, defs, titles, model.read, what)

    def read(content: bytes) -> Any:
        given = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        if _VALUE not in given:
            raise InvalidValue([FieldError(_VALUE, "is required")])
        try:
            return model.read(bytes(given[_VALUE]))
        except InvalidValue as error:
            raise InvalidValue([FieldError(_VALUE, each.error) for each in error.fields]) from error

    root = {"properties": schemas, "required": [_VALUE]}
    return _from_properties(root, defs, titles, read, what)


def _from_properties(
    root: JsonSchema,
    defs: dict[str, JsonSchema],
    titles: dict[tuple[Any, ...], list[str]],
    read: Callable[[bytes], Any],
    what: str,
) -> Form:
    properties = {
        name: _resolved(_without_null(_resolved(schema, defs)), defs)
        for name, schema in root["properties"].items()
    }
    found = {name: _listed(schema, defs, titles) for name, schema in properties.items()}
    options = {name: chosen for name, chosen in found.items() if chosen is not None}
    _require_flat({n: each for n, each in properties.items() if n not in options}, what)
    properties |= {name: _annotations(properties[name]) for name in options}
    return Form(properties, root.get("required", ()), options, read)


def _resolved(schema: JsonSchema, defs: dict[str, JsonSchema]) -> JsonSchema:
    """Return a schema with the definition that it refers to, without the name of its class."""
    if "$ref" not in schema:
        return schema
    definition = defs[schema["$ref"].rpartition("/")[2]]
    others = {name: each for name, each in schema.items() if name != "$ref"}
    return {name: each for name, each in definition.items() if name != "title"} | others


def _listed(
    schema: JsonSchema, defs: dict[str, JsonSchema], titles: dict[tuple[Any, ...], list[str]]
) -> Options | None:
    """Return the choices of a schema that lists them, or an array of those."""
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        inner = _listed(_resolved(schema["items"], defs), defs, titles)
        return None if inner is None else inner._replace(are_many=True)
    values = schema.get("enum", ())
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return Options(list(values), titles.get(tuple(values)), are_many=False)


def _is_record(kind: Any) -> bool:
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return is_struct or is_dataclass(kind) or is_typeddict(kind)


def _from_record(record: Any, kind: Any, unwrap: Callable[[Any], Any]) -> Form:
    what = f"{getattr(kind, '__name__', kind)} as a form"
    try:
        (root,), defs = msgspec.json.schema_components([record], ref_template="{name}")
        fields = inspect.type_info(record).fields  # type: ignore[attr-defined] # a record has them
        decode = msgspec.json.Decoder(record).decode
    except (TypeError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{what} cannot be shown: {reason}") from error
    described = defs[root["$ref"]] if "$ref" in root else root
    properties: dict[str, JsonSchema] = {}
    options: dict[str, Options] = {}
    hints = get_type_hints(record)
    for field in fields:
        name = field.encode_name
        schema = described["properties"][name]
        chosen = _options(_bare(field.type))
        if chosen is not None:
            chosen = _in_order(chosen, hints[field.name])
            options[name] = chosen
            properties[name] = _annotations(schema)
        else:
            properties[name] = _without_null(schema)
    plain = {name: schema for name, schema in properties.items() if name not in options}
    _require_flat(plain, what)
    return Form(
        properties,
        described.get("required", ()),
        options,
        lambda content: unwrap(decode(content)),
    )


def _bare(kind: Any) -> Any:
    """Return a type without annotations and None."""
    if isinstance(kind, inspect.Metadata):
        return _bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        types = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return _bare(types[0]) if len(types) == 1 else kind
    return kind


def _options(kind: Any) -> Options | None:
    if isinstance(kind, inspect.ListType | inspect.SetType):
        inner = _options(_bare(kind.item_type))
        return None if inner is None else inner._replace(are_many=True)
    if isinstance(kind, inspect.EnumType):
        members: list[Enum] = list(kind.cls)
        if not all(isinstance(each.value, str) for each in members):
            return None
        return Options([str(each.value) for each in members], _titles(kind.cls), are_many=False)
    if isinstance(kind, inspect.LiteralType) and all(isinstance(v, str) for v in kind.values):
        return Options([str(value) for value in kind.values], None, are_many=False)
    return None


def _titles(kind: type[Enum]) -> list[str]:
    return [each.name.replace("_", " ").title() for each in kind]


def _in_order(options: Options, hint: Any) -> Options:
    """Return choices in the order of the source, which msgspec does not keep."""
    if options.titles is not None:
        return options
    written = list(literals_in(hint))
    return options._replace(values=sorted(options.values, key=written.index))


def literals_in(hint: Any) -> Iterator[Any]:
    """Yield the values of every `Literal` in a type, in the order of the source."""
    for part in get_args(hint):
        yield from [part] if get_origin(hint) is Literal else literals_in(part)


def _annotations(schema: JsonSchema) -> JsonSchema:
    return {name: schema[name] for name in _ANNOTATIONS if schema.get(name) is not None}


def _without_null(schema: JsonSchema) -> JsonSchema:
    """Return a schema without null: optional fields are not required instead."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) != 1:
        return schema
    (only,) = kinds
    return {**only, **_annotations(schema)}


def _require_flat(properties: dict[str, JsonSchema], what: str) -> None:
    for name, schema in properties.items():
        items = schema.get("items")
        choices = items.keys() & {"enum", "anyOf", "oneOf"} if isinstance(items, dict) else ()
        is_choice = schema.get("type") == "array" and choices
        if schema.get("type") not in _SIMPLE and not is_choice:
            raise ContractError(
                f"{what} has {name!r}, which is neither text, a number, yes or no, nor a choice"
            )
