"""JSON Schemas of serializers, for input and output.

An input schema is as detailed as the fields: it advises the caller, and the view validates. An
output schema is a promise, so it has only what a serializer guarantees: no bounds, no choices,
nothing required, and null wherever it is possible.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from inspect import cleandoc
from typing import Any, Final, Literal, Protocol

from django.core import validators
from django.db import models
from rest_framework import fields, relations, serializers
from rest_framework.settings import ISO_8601, api_settings

from accord.model.arguments import JsonSchema

Side = Literal["in", "out"]


class Reporter(Protocol):
    """Reports why something could not be described; `about` is a key to report it once."""

    def __call__(self, reason: str, about: Any = None, /) -> None: ...


ANY: Final[JsonSchema] = {}
FILE: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name of the file"},
        "content": {
            "type": "string",
            "contentEncoding": "base64",
            "description": "The content, in Base64",
        },
        "content_type": {"type": "string", "description": "Its media type, such as image/png"},
    },
    "required": ["name", "content"],
}
_MAX_SELF_NESTING: Final = 2  # maximum nesting of a serializer in itself
_MAX_NESTING: Final = {"in": 8, "out": 3}  # maximum nesting of serializers
_FRAMEWORK: Final = "rest_framework."
_KEPT_FORMATS: Final = ("uuid", "date")


class SchemaBuilder:
    """Makes schemas of fields and serializers, for input or output."""

    def __init__(self, side: Side, report: Reporter) -> None:
        self.side = side
        self._report = report
        self._stack: list[type] = []

    def describe(self, field: Any) -> JsonSchema:
        """Return the schema of a field, with bounds, description and default."""
        if self.side == "out":
            return self._output_schema(field)
        schema = dict(self._type_schema(field))
        _add_bounds(schema, field)
        if field.help_text:
            schema["description"] = cleandoc(str(field.help_text))
        default = _default(field)
        if _is_plain(default):
            schema["default"] = default
        return nullable(schema) if field.allow_null else schema

    def _output_schema(self, field: Any) -> JsonSchema:
        if not _is_framework_method(field, "to_representation"):
            return ANY
        schema = dict(self._type_schema(field))
        if (
            schema.get("format") not in _KEPT_FORMATS
        ):  # values may be blank, or times without a zone
            schema.pop("format", None)
        if field.help_text:
            schema["description"] = cleandoc(str(field.help_text))
        return nullable(schema) if may_be_null(field) else schema

    def _type_schema(self, field: Any) -> JsonSchema:
        for kind in type(field).__mro__:
            shape = _TYPES.get(kind)
            if shape is not None:
                return shape(self, field)
        kind = type(field)
        named = f"{kind.__module__}.{kind.__qualname__}"
        self._report(f"the type of field {field.field_name!r} is unknown: {named}", kind)
        return ANY

    def object_schema(self, serializer: Any) -> JsonSchema:
        """Return the object schema of a serializer: its writable or its readable fields."""
        kind = type(serializer)
        if (
            self._stack.count(kind) >= _MAX_SELF_NESTING
            or len(self._stack) >= _MAX_NESTING[self.side]
        ):
            return {"type": "object"}
        self._stack.append(kind)
        try:
            chosen = {n: f for n, f in serializer.fields.items() if self._is_included(f)}
            schema: JsonSchema = {"type": "object"}
            schema["properties"] = {name: self.describe(field) for name, field in chosen.items()}
        finally:
            self._stack.pop()
        required = [name for name, field in chosen.items() if field.required]
        if self.side == "in" and required and not serializer.partial:
            schema["required"] = required
        return schema

    def _is_included(self, field: Any) -> bool:
        if isinstance(field, fields.HiddenField):
            return False
        return not (field.read_only if self.side == "in" else field.write_only)


def nullable(schema: JsonSchema) -> JsonSchema:
    """Return a schema that allows null as well."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    if kinds is not None and "null" not in kinds:
        schema["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def has_standard_output(serializer: Any) -> bool:
    """True if the REST framework's own code makes a serializer's output."""
    return _is_framework_method(serializer, "to_representation") and _is_framework_method(
        serializer, "data"
    )


def may_be_null(field: Any) -> bool:
    """True if a field's value may be None; False if its model field is not nullable."""
    return field.allow_null or bool(getattr(_model_field(field), "null", True))


def _default(field: Any) -> Any:
    """Return the default of a serializer field, else that of its model field."""
    if field.default is not fields.empty:
        return field.default
    is_partial = getattr(field.parent, "partial", False)
    return None if field.required or is_partial else getattr(_model_field(field), "default", None)


def _model_field(field: Any) -> Any:
    """Return the model field of a serializer field, or None."""
    model: Any = getattr(getattr(field.parent, "Meta", None), "model", None)
    try:
        return model._meta.get_field(field.source)
    except Exception:  # noqa: BLE001 - no model of Django's, or no such field in it
        return None


def _is_framework_method(field: Any, method: str) -> bool:
    """True if a method is the REST framework's own, not overridden."""
    owner = next((kind for kind in type(field).__mro__ if method in vars(kind)), None)
    return owner is not None and owner.__module__.startswith(_FRAMEWORK)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


# Types of fields, without bounds

TypeSchema = Callable[[SchemaBuilder, Any], JsonSchema]


def _fixed(kind: str, form: str | None = None) -> TypeSchema:
    schema = {"type": kind} if form is None else {"type": kind, "format": form}
    return lambda builder, field: schema


def _uuid(builder: SchemaBuilder, field: Any) -> JsonSchema:
    if builder.side == "out" and field.uuid_format == "int":
        return {"type": "integer"}
    is_standard = builder.side == "in" or field.uuid_format == "hex_verbose"
    return {"type": "string", "format": "uuid"} if is_standard else {"type": "string"}


def _decimal(builder: SchemaBuilder, field: Any) -> JsonSchema:
    if builder.side == "in":
        return {"type": ["string", "number"]}
    as_text = getattr(field, "coerce_to_string", api_settings.COERCE_DECIMAL_TO_STRING)
    return {"type": "string" if as_text or field.localize else "number"}


def _date_or_time(form: str) -> TypeSchema:
    def shape(builder: SchemaBuilder, field: Any) -> JsonSchema:
        if builder.side == "in":
            given = getattr(field, "input_formats", None)
            return {"type": "string", "format": form} if _is_iso(given) else {"type": "string"}
        given = getattr(field, "format", ISO_8601)
        is_standard = given is None or (isinstance(given, str) and given.lower() == ISO_8601)
        return {"type": "string", "format": form} if is_standard else ANY

    return shape


def _is_iso(formats: Any) -> bool:
    return formats is None or [str(each).lower() for each in formats] == [ISO_8601]


def _choice(builder: SchemaBuilder, field: Any) -> JsonSchema:
    if builder.side == "out":
        return ANY
    values = [value for value in field.choices if _is_plain(value) or value is None]
    if field.allow_blank and "" not in values:
        values.append("")
    return {"enum": values} if values else ANY


def _choices(builder: SchemaBuilder, field: Any) -> JsonSchema:
    if builder.side == "out":
        return {"type": "array"}
    values = [value for value in field.choices if _is_plain(value)]
    items = {"enum": values} if values else ANY
    return {"type": "array", "items": items, "uniqueItems": True}


def _file(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return FILE if builder.side == "in" else {"type": ["string", "null"]}  # null without a file


def _list(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return {"type": "array", "items": builder.describe(field.child)}


def _dict(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return {"type": "object", "additionalProperties": builder.describe(field.child)}


def _anything(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return ANY


def _key(builder: SchemaBuilder, field: Any) -> JsonSchema:
    if field.pk_field is not None:
        return builder.describe(field.pk_field)
    queryset = getattr(field, "queryset", None)
    model = getattr(queryset, "model", None) or _related_model(field)
    return ANY if model is None else model_field_schema(model._meta.pk)


def _related_model(field: Any) -> Any:
    """Return the target model of a read-only relation, which has no queryset."""
    parent = field.parent.parent if isinstance(field.parent, relations.ManyRelatedField) else None
    serializer = parent or field.parent
    source = (field.parent if parent is not None else field).source
    model: Any = getattr(getattr(serializer, "Meta", None), "model", None)
    try:
        return model._meta.get_field(source).related_model
    except Exception:  # noqa: BLE001 - no model, or no such field in it
        return None


def _slug(builder: SchemaBuilder, field: Any) -> JsonSchema:
    model: Any = getattr(getattr(field, "queryset", None), "model", None)
    try:
        return model_field_schema(model._meta.get_field(field.slug_field))
    except Exception:  # noqa: BLE001 - no model, or a lookup across relations
        return {"type": "string"} if builder.side == "in" else ANY


def _many(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return {"type": "array", "items": builder.describe(field.child_relation)}


def _serializer(builder: SchemaBuilder, field: Any) -> JsonSchema:
    return builder.object_schema(field)


_COLUMNS: Final[tuple[tuple[type, JsonSchema], ...]] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),  # primary keys too
    (models.FloatField, {"type": "number"}),
    (models.UUIDField, {"type": "string", "format": "uuid"}),
    (models.CharField, {"type": "string"}),
    (models.TextField, {"type": "string"}),
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.DateField, {"type": "string", "format": "date"}),
)


def model_field_schema(field: Any) -> JsonSchema:
    """Return the schema of a model field's value in JSON."""
    while getattr(field, "remote_field", None) is not None:
        field = field.target_field
    return next((schema for kind, schema in _COLUMNS if isinstance(field, kind)), ANY)


_TYPES: Final[dict[type, TypeSchema]] = {
    fields.BooleanField: _fixed("boolean"),
    fields.IntegerField: _fixed("integer"),
    fields.FloatField: _fixed("number"),
    fields.DecimalField: _decimal,
    fields.CharField: _fixed("string"),
    fields.EmailField: _fixed("string", "email"),
    fields.URLField: _fixed("string", "uri"),
    fields.UUIDField: _uuid,
    fields.DateTimeField: _date_or_time("date-time"),
    fields.DateField: _date_or_time("date"),
    fields.TimeField: _date_or_time("time"),
    fields.DurationField: _fixed("string"),
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
    relations.HyperlinkedRelatedField: _fixed("string", "uri"),
    relations.StringRelatedField: _fixed("string"),
    relations.ManyRelatedField: _many,
    serializers.Serializer: _serializer,
    serializers.ListSerializer: _list,
}


# Bounds, from validators

_PYTHON_ONLY: Final = re.compile(r"\(\?[^:=!]|\\[AGN]|[*+?}]\+")  # not in JSON Schema's dialect

_LENGTHS: Final = {"string": "Length", "array": "Items"}


def _add_bounds(schema: JsonSchema, field: Any) -> None:
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
    if _PYTHON_ONLY.search(pattern) is None:
        schema["pattern"] = pattern


_BOUNDS: Final = (
    (validators.MinValueValidator, _bounds("minimum")),
    (validators.MaxValueValidator, _bounds("maximum")),
    (validators.MinLengthValidator, _lengths("min")),
    (validators.MaxLengthValidator, _lengths("max")),
    (validators.RegexValidator, _pattern),
)
