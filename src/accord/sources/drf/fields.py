"""Serializers into JSON Schemas: of what a view takes, and of what it gives back.

What a view takes is described as closely as its fields are, since it only advises a caller: the
view itself is the judge. What it gives back is a promise, so there is nothing in it that a
serializer does not hold to: no bounds, no choices, nothing required, and null wherever it may be.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, Literal, Protocol

from django.core import validators
from django.db import models
from rest_framework import fields, relations, serializers
from rest_framework.settings import ISO_8601, api_settings

from accord.model.arguments import JsonSchema

Side = Literal["in", "out"]


class Complain(Protocol):
    """Says what is wrong; `about` is what it is said of once, if that is not each view."""

    def __call__(self, reason: str, about: Any = None, /) -> None: ...


ANY: Final[JsonSchema] = {}
FILE: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name of the file"},
        "content": {
            "type": "string",
            "contentEncoding": "base64",
            "description": "What is in it, in Base64",
        },
        "content_type": {"type": "string", "description": "Its media type, such as image/png"},
    },
    "required": ["name", "content"],
}
_DEEPEST: Final = 2  # times that a serializer may stand inside itself
_LEVELS: Final = {"in": 8, "out": 3}  # of serializers; what comes back explains itself
_OWN: Final = "rest_framework."
_KEPT_FORMATS: Final = ("uuid", "date")


class Describer:
    """Makes schemas of fields and serializers, for one side of a view."""

    def __init__(self, side: Side, complain: Complain) -> None:
        self.side = side
        self._complain = complain
        self._inside: list[type] = []

    def describe(self, field: Any) -> JsonSchema:
        """The schema of a field, with all that is known about it."""
        if self.side == "out":
            return self._promise(field)
        schema = dict(self._shape(field))
        _bound(schema, field)
        if field.help_text:
            schema["description"] = str(field.help_text)
        default = _default(field)
        if _is_plain(default):
            schema["default"] = default
        return nullable(schema) if field.allow_null else schema

    def _promise(self, field: Any) -> JsonSchema:
        if not _is_own(field, "to_representation"):
            return ANY
        schema = dict(self._shape(field))
        if schema.get("format") not in _KEPT_FORMATS:  # a blank e-mail address, a time without zone
            schema.pop("format", None)
        if field.help_text:
            schema["description"] = str(field.help_text)
        return nullable(schema) if may_be_null(field) else schema

    def _shape(self, field: Any) -> JsonSchema:
        for kind in type(field).__mro__:
            shape = _SHAPES.get(kind)
            if shape is not None:
                return shape(self, field)
        kind = type(field)
        named = f"{kind.__module__}.{kind.__qualname__}"
        self._complain(f"nobody knows what {field.field_name!r} holds, a {named}", kind)
        return ANY

    def members(self, serializer: Any) -> JsonSchema:
        """The schema of an object: the fields of a serializer that belong to this side."""
        kind = type(serializer)
        if self._inside.count(kind) >= _DEEPEST or len(self._inside) >= _LEVELS[self.side]:
            return {"type": "object"}
        self._inside.append(kind)
        try:
            chosen = {n: f for n, f in serializer.fields.items() if self._belongs(f)}
            schema: JsonSchema = {"type": "object"}
            schema["properties"] = {name: self.describe(field) for name, field in chosen.items()}
        finally:
            self._inside.pop()
        required = [name for name, field in chosen.items() if field.required]
        if self.side == "in" and required and not serializer.partial:
            schema["required"] = required
        return schema

    def _belongs(self, field: Any) -> bool:
        if isinstance(field, fields.HiddenField):
            return False
        return not (field.read_only if self.side == "in" else field.write_only)


def nullable(schema: JsonSchema) -> JsonSchema:
    """The same or null."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    if kinds is not None and "null" not in kinds:
        schema["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def is_trustworthy(serializer: Any) -> bool:
    """Whether a serializer gives back what its fields say."""
    return _is_own(serializer, "to_representation") and _is_own(serializer, "data")


def may_be_null(field: Any) -> bool:
    """Whether what a field reads may be None; it is not where the model says so."""
    return field.allow_null or bool(getattr(_model_field(field), "null", True))


def _default(field: Any) -> Any:
    """What is taken where nothing is said: what the field says itself, or its model."""
    if field.default is not fields.empty:
        return field.default
    is_partial = getattr(field.parent, "partial", False)
    return None if field.required or is_partial else getattr(_model_field(field), "default", None)


def _model_field(field: Any) -> Any:
    """The field of a model that a field stands for, if it does."""
    model: Any = getattr(getattr(field.parent, "Meta", None), "model", None)
    try:
        return model._meta.get_field(field.source)
    except Exception:  # noqa: BLE001 - no model of Django's, or no such field in it
        return None


def _is_own(field: Any, method: str) -> bool:
    """Whether a method is the REST framework's own."""
    owner = next((kind for kind in type(field).__mro__ if method in vars(kind)), None)
    return owner is not None and owner.__module__.startswith(_OWN)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


# Shapes: what the value of a field is, whatever its bounds

Shape = Callable[[Describer, Any], JsonSchema]


def _always(kind: str, form: str | None = None) -> Shape:
    schema = {"type": kind} if form is None else {"type": kind, "format": form}
    return lambda describer, field: schema


def _uuid(describer: Describer, field: Any) -> JsonSchema:
    if describer.side == "out" and field.uuid_format == "int":
        return {"type": "integer"}
    is_usual = describer.side == "in" or field.uuid_format == "hex_verbose"
    return {"type": "string", "format": "uuid"} if is_usual else {"type": "string"}


def _decimal(describer: Describer, field: Any) -> JsonSchema:
    if describer.side == "in":
        return {"type": ["string", "number"]}
    as_text = getattr(field, "coerce_to_string", api_settings.COERCE_DECIMAL_TO_STRING)
    return {"type": "string" if as_text or field.localize else "number"}


def _moment(form: str) -> Shape:
    def shape(describer: Describer, field: Any) -> JsonSchema:
        if describer.side == "in":
            given = getattr(field, "input_formats", None)
            return {"type": "string", "format": form} if _is_iso(given) else {"type": "string"}
        given = getattr(field, "format", ISO_8601)
        is_usual = given is None or (isinstance(given, str) and given.lower() == ISO_8601)
        return {"type": "string", "format": form} if is_usual else ANY

    return shape


def _is_iso(formats: Any) -> bool:
    return formats is None or [str(each).lower() for each in formats] == [ISO_8601]


def _choice(describer: Describer, field: Any) -> JsonSchema:
    if describer.side == "out":
        return ANY
    values = [value for value in field.choices if _is_plain(value) or value is None]
    if field.allow_blank and "" not in values:
        values.append("")
    return {"enum": values} if values else ANY


def _choices(describer: Describer, field: Any) -> JsonSchema:
    if describer.side == "out":
        return {"type": "array"}
    values = [value for value in field.choices if _is_plain(value)]
    items = {"enum": values} if values else ANY
    return {"type": "array", "items": items, "uniqueItems": True}


def _file(describer: Describer, field: Any) -> JsonSchema:
    return FILE if describer.side == "in" else {"type": ["string", "null"]}  # null without a file


def _list(describer: Describer, field: Any) -> JsonSchema:
    return {"type": "array", "items": describer.describe(field.child)}


def _dict(describer: Describer, field: Any) -> JsonSchema:
    return {"type": "object", "additionalProperties": describer.describe(field.child)}


def _anything(describer: Describer, field: Any) -> JsonSchema:
    return ANY


def _key(describer: Describer, field: Any) -> JsonSchema:
    if field.pk_field is not None:
        return describer.describe(field.pk_field)
    queryset = getattr(field, "queryset", None)
    model = getattr(queryset, "model", None) or _related_model(field)
    return ANY if model is None else column(model._meta.pk)


def _related_model(field: Any) -> Any:
    """The model at the other end of a relation that has no queryset, since nobody can set it."""
    parent = field.parent.parent if isinstance(field.parent, relations.ManyRelatedField) else None
    serializer = parent or field.parent
    source = (field.parent if parent is not None else field).source
    model: Any = getattr(getattr(serializer, "Meta", None), "model", None)
    try:
        return model._meta.get_field(source).related_model
    except Exception:  # noqa: BLE001 - no model, or no such field in it
        return None


def _slug(describer: Describer, field: Any) -> JsonSchema:
    model: Any = getattr(getattr(field, "queryset", None), "model", None)
    try:
        return column(model._meta.get_field(field.slug_field))
    except Exception:  # noqa: BLE001 - no model, or a way through several of them
        return {"type": "string"} if describer.side == "in" else ANY


def _many(describer: Describer, field: Any) -> JsonSchema:
    return {"type": "array", "items": describer.describe(field.child_relation)}


def _serializer(describer: Describer, field: Any) -> JsonSchema:
    return describer.members(field)


_COLUMNS: Final[tuple[tuple[type, JsonSchema], ...]] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),  # which the keys of rows are
    (models.FloatField, {"type": "number"}),
    (models.UUIDField, {"type": "string", "format": "uuid"}),
    (models.CharField, {"type": "string"}),
    (models.TextField, {"type": "string"}),
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.DateField, {"type": "string", "format": "date"}),
)


def column(field: Any) -> JsonSchema:
    """The schema of what a column of a model holds, as JSON has it."""
    while getattr(field, "remote_field", None) is not None:
        field = field.target_field
    return next((schema for kind, schema in _COLUMNS if isinstance(field, kind)), ANY)


_SHAPES: Final[dict[type, Shape]] = {
    fields.BooleanField: _always("boolean"),
    fields.IntegerField: _always("integer"),
    fields.FloatField: _always("number"),
    fields.DecimalField: _decimal,
    fields.CharField: _always("string"),
    fields.EmailField: _always("string", "email"),
    fields.URLField: _always("string", "uri"),
    fields.UUIDField: _uuid,
    fields.DateTimeField: _moment("date-time"),
    fields.DateField: _moment("date"),
    fields.TimeField: _moment("time"),
    fields.DurationField: _always("string"),
    fields.ChoiceField: _choice,
    fields.MultipleChoiceField: _choices,
    fields.FileField: _file,
    fields.ListField: _list,
    fields.DictField: _dict,
    fields.JSONField: _anything,
    fields.ReadOnlyField: _anything,
    fields.SerializerMethodField: _anything,
    fields.ModelField: _anything,
    fields._UnvalidatedField: _anything,
    relations.PrimaryKeyRelatedField: _key,
    relations.SlugRelatedField: _slug,
    relations.HyperlinkedRelatedField: _always("string", "uri"),
    relations.StringRelatedField: _always("string"),
    relations.ManyRelatedField: _many,
    serializers.Serializer: _serializer,
    serializers.ListSerializer: _list,
}


# Bounds: what a validator says of the value

_PYTHONIC: Final = re.compile(r"\(\?[^:=!]|\\[AGN]|[*+?}]\+")  # which JSON Schema has no word for

_LENGTHS: Final = {"string": "Length", "array": "Items"}


def _bound(schema: JsonSchema, field: Any) -> None:
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    may_be_blank = getattr(field, "allow_blank", None)
    if "string" in kinds and may_be_blank is False:
        schema["minLength"] = 1
    for validator in field.validators:
        for kind, keyword in _BOUNDS:
            if isinstance(validator, kind):
                keyword(schema, validator, kinds)
    if may_be_blank and schema.keys() & {"minLength", "pattern"}:
        bounded = dict(schema)
        schema.clear()
        schema["anyOf"] = [bounded, {"const": ""}]


def _bounds(keyword: str) -> Callable[[JsonSchema, Any, Any], None]:
    def bound(schema: JsonSchema, validator: Any, kinds: Any) -> None:
        limit = validator.limit_value
        limit = limit() if callable(limit) else limit
        if {"integer", "number"} & set(kinds) and isinstance(limit, int | float | Decimal):
            schema[keyword] = limit

    return bound


def _lengths(prefix: str) -> Callable[[JsonSchema, Any, Any], None]:
    def bound(schema: JsonSchema, validator: Any, kinds: Any) -> None:
        limit = validator.limit_value
        limit = limit() if callable(limit) else limit
        for kind, suffix in _LENGTHS.items():
            if kind in kinds and isinstance(limit, int):
                schema[prefix + suffix] = limit

    return bound


def _pattern(schema: JsonSchema, validator: Any, kinds: Any) -> None:
    regex = validator.regex
    if validator.inverse_match or regex.flags & ~re.UNICODE or "string" not in kinds:
        return
    pattern = str(regex.pattern).replace(r"\Z", "$").replace(r"\z", "$")
    if _PYTHONIC.search(pattern) is None:
        schema["pattern"] = pattern


_BOUNDS: Final = (
    (validators.MinValueValidator, _bounds("minimum")),
    (validators.MaxValueValidator, _bounds("maximum")),
    (validators.MinLengthValidator, _lengths("min")),
    (validators.MaxLengthValidator, _lengths("max")),
    (validators.RegexValidator, _pattern),
)
