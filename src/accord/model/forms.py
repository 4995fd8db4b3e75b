"""Forms that a person fills in: a type into the flat schema that clients can show, and back.

MCP takes only objects of text, numbers, yes or no, and choices; what is nested is refused when the
question is made, not when it is asked.
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
from accord.model.arguments import Checker, JsonSchema

_VALUE: Final = "value"
_WORDS: Final = ("title", "description", "default", "minItems", "maxItems")
_SIMPLE: Final = frozenset({"string", "number", "integer", "boolean"})
_UNFIT: Final = FieldError("content", "does not fit")
_UNREADABLE: Final = FieldError("content", "holds a number out of range, or is nested too deeply")


class Misfit(Exception):
    """What came back does not fit the form; `fields` say where."""

    def __init__(self, fields: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{each.field} {each.error}" for each in fields))
        self.fields = tuple(fields)


class Options(NamedTuple):
    """What can be chosen: values, and their titles if they have any."""

    values: list[str]
    titles: list[str] | None
    are_many: bool

    def worded(self, *, titled: bool) -> JsonSchema:
        """As a schema; where there are no titled choices, the names stand in a list."""
        if self.are_many:
            inner = Options(self.values, self.titles, are_many=False)
            items = inner.worded(titled=titled)
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
    """What is asked for: its schema, and how to read what a person has filled in."""

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
        """Whether several of a number of choices can be taken, which older clients cannot show."""
        return any(each.are_many for each in self._options.values())

    def schema(self, *, titled: bool) -> JsonSchema:
        """The form for a client; `titled` says whether its revision knows choices with titles."""
        properties = {
            name: schema | self._options[name].worded(titled=titled)
            if name in self._options
            else schema
            for name, schema in self._properties.items()
        }
        schema: JsonSchema = {"type": "object", "properties": properties}
        return schema | {"required": self._required} if self._required else schema

    def read(self, content: bytes) -> Any:
        """What was filled in, or Misfit."""
        try:
            return self._read(content)
        except (msgspec.ValidationError, RecursionError) as error:
            raise Misfit(self._faults(content) or [_UNFIT]) from error

    def _faults(self, content: bytes) -> list[FieldError]:
        try:
            found = self._checker.errors(msgspec.json.decode(content))
        except (msgspec.ValidationError, RecursionError):
            return [_UNREADABLE]
        return [FieldError(each.field or "content", each.error) for each in found]


def form_of(asked: Any) -> Form:
    """The form for a type, or for a JSON Schema of one."""
    return _from_schema(asked) if isinstance(asked, dict) else _from_type(asked)


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
def _from_type(asked: Any) -> Form:
    if _is_record(asked):
        return _from_record(asked, asked, lambda value: value)
    try:
        record = msgspec.defstruct("Form", [(_VALUE, asked)])
    except TypeError as error:
        raise ContractError(f"{asked!r} cannot be asked for: {error}") from error
    return _from_record(record, asked, lambda value: getattr(value, _VALUE))


def _is_record(asked: Any) -> bool:
    is_struct = isinstance(asked, type) and issubclass(asked, msgspec.Struct)
    return is_struct or is_dataclass(asked) or is_typeddict(asked)


def _from_record(record: Any, asked: Any, unwrap: Callable[[Any], Any]) -> Form:
    what = f"{getattr(asked, '__name__', asked)} as a form"
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
            properties[name] = _words(schema)
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
    """A type without what is annotated, and without None."""
    if isinstance(kind, inspect.Metadata):
        return _bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return _bare(others[0]) if len(others) == 1 else kind
    return kind


def _options(kind: Any) -> Options | None:
    if isinstance(kind, inspect.ListType | inspect.SetType):
        inner = _options(_bare(kind.item_type))
        return None if inner is None else inner._replace(are_many=True)
    if isinstance(kind, inspect.EnumType):
        members: list[Enum] = list(kind.cls)
        if not all(isinstance(each.value, str) for each in members):
            return None
        titles = [each.name.replace("_", " ").title() for each in members]
        return Options([str(each.value) for each in members], titles, are_many=False)
    if isinstance(kind, inspect.LiteralType) and all(isinstance(v, str) for v in kind.values):
        return Options([str(value) for value in kind.values], None, are_many=False)
    return None


def _in_order(options: Options, hint: Any) -> Options:
    """Choices in the order in which they are written, which msgspec does not keep."""
    if options.titles is not None:
        return options
    written = list(_literals(hint))
    return options._replace(values=sorted(options.values, key=written.index))


def _literals(hint: Any) -> Iterator[Any]:
    for part in get_args(hint):
        yield from [part] if get_origin(hint) is Literal else _literals(part)


def _words(schema: JsonSchema) -> JsonSchema:
    return {name: schema[name] for name in _WORDS if schema.get(name) is not None}


def _without_null(schema: JsonSchema) -> JsonSchema:
    """What may be left out is not required; clients know no other way to say that."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) != 1:
        return schema
    (only,) = kinds
    return {**only, **_words(schema)}


def _require_flat(properties: dict[str, JsonSchema], what: str) -> None:
    for name, schema in properties.items():
        items = schema.get("items")
        choices = items.keys() & {"enum", "anyOf", "oneOf"} if isinstance(items, dict) else ()
        is_choice = schema.get("type") == "array" and choices
        if schema.get("type") not in _SIMPLE and not is_choice:
            raise ContractError(
                f"{what} has {name!r}, which is neither text, a number, yes or no, nor a choice"
            )
