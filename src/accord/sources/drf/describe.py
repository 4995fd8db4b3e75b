"""A route as a tool describes itself: its words, what it takes, and what it gives back."""

import inspect
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from django.urls.converters import IntConverter, UUIDConverter
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.settings import api_settings

from accord.model.arguments import JsonSchema
from accord.model.tool import Hints
from accord.sources.drf import spectacular
from accord.sources.drf.fields import Complain, Describer, column
from accord.sources.drf.filters import Parameter, parameters_of
from accord.sources.drf.marks import mark_of
from accord.sources.drf.output import promised, standard_action
from accord.sources.drf.permissions import audience_of
from accord.sources.drf.routes import WITH_BODY, Route
from accord.sources.drf.views import attempted, model_of, prepared

_OBJECT: Final[JsonSchema] = {"type": "object"}
_SENTENCES: Final = {
    "list": "List {many}.",
    "retrieve": "Retrieve one {one}.",
    "create": "Create a new {one}.",
    "update": "Replace a {one}.",
    "partial_update": "Change some fields of a {one}.",
    "destroy": "Delete a {one}.",
}
_HINTS: Final = {
    "get": Hints(read_only=True),
    "post": Hints(read_only=False),
    "put": Hints(read_only=False, idempotent=True),
    "patch": Hints(read_only=False),
    "delete": Hints(read_only=False, destructive=True, idempotent=True),
}


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of a route without calling it."""

    words: str
    title: str | None
    hints: Hints
    input_schema: JsonSchema
    shape: JsonSchema
    """What arguments have to look like from outside; what is in them is for the view to judge."""
    output_schema: JsonSchema | None
    who: str
    """Whom the view serves."""
    csv: frozenset[str]
    """The parameters of the query of which several are written as one."""


class Taken(msgspec.Struct, frozen=True):
    """What a route takes and gives, from one source or another."""

    body: JsonSchema | None
    parameters: Sequence[Parameter]
    output: JsonSchema | None
    words: str | None = None


def describe(route: Route, complain: Complain) -> Description:
    """All that a tool says of itself; what cannot be known is left open, with a complaint."""
    view = attempted(
        lambda: prepared(route),
        None,
        lambda reason: complain(f"the view cannot be made outside of a request: {reason}"),
    )
    known = _taken(route, view, complain)
    mark = mark_of(route.handler)
    kwargs = _kwargs_schema(route, view)
    properties = {"kwargs": kwargs} if route.names else {}
    properties["query"] = _query_schema(known.parameters)
    if known.body is not None:
        properties["body"] = known.body
    required = [name for name in properties if "required" in properties[name]]
    return Description(
        words=mark.description or known.words or _words(route, view),
        title=mark.title,
        hints=_HINTS[route.method],
        input_schema=_closed(properties, required),
        shape=_shape(route, kwargs, known.body),
        output_schema=known.output,
        who=attempted(lambda: audience_of(view), "whom the view lets in", lambda _: None),
        csv=frozenset(each.name for each in known.parameters if each.is_csv),
    )


def _taken(route: Route, view: Any, complain: Complain) -> Taken:
    body: JsonSchema | None = _OBJECT if _has_body(route) else None
    if view is None:
        return Taken(body, (), None)
    output = attempted(lambda: promised(route, view, lambda *_: None), None, lambda _: None)
    operation = spectacular.operation_of(route, complain)
    if operation is not None:
        given = None if body is None else operation.body or body
        if output is None and (operation.is_explicit or standard_action(route) is not None):
            output = operation.output
        words = operation.words if operation.is_explicit else None
        return Taken(given, operation.parameters, output, words)
    is_list = standard_action(route) == "list" or route.action == "list"
    return Taken(
        None if body is None else _body(route, view, complain),
        parameters_of(view, complain) if is_list else (),
        output,
    )


def _has_body(route: Route) -> bool:
    return route.method in WITH_BODY or (route.method == "delete" and route.action != "destroy")


def _body(route: Route, view: Any, complain: Complain) -> JsonSchema:
    """What the body of a request holds, as its serializer says."""
    if not _has_serializer(view):
        return _OBJECT

    def ask() -> JsonSchema:
        make = getattr(view, "get_serializer", None) or view.serializer_class
        serializer = make(partial=route.method == "patch")
        describer = Describer("in", complain)
        if isinstance(serializer, serializers.ListSerializer):
            return describer.describe(serializer)
        if not isinstance(serializer, serializers.Serializer):
            return _OBJECT
        return describer.members(serializer)

    return attempted(
        ask, _OBJECT, lambda reason: complain(f"what its body holds is not known: {reason}")
    )


def _has_serializer(view: Any) -> bool:
    """Whether a view is made to have a serializer, which a generic one need not be."""
    if getattr(view, "serializer_class", None) is not None:
        return True
    own = getattr(type(view), "get_serializer_class", None)
    is_inherited = own is GenericAPIView.get_serializer_class
    return not is_inherited and hasattr(view, "get_serializer")


def _query_schema(parameters: Sequence[Parameter]) -> JsonSchema:
    if not parameters:
        return {"type": "object", "description": "Parameters of the query"}
    schema: JsonSchema = {
        "type": "object",
        "properties": {each.name: each.schema for each in parameters},
    }
    required = [each.name for each in parameters if each.required]
    return schema | {"required": required} if required else schema


def _kwargs_schema(route: Route, view: Any) -> JsonSchema:
    """The parameters in the URL."""
    properties = {name: _parameter(route, view, name) for name in route.names}
    schema = _closed(properties, [n for n in route.required if not _has_default(view, n)])
    return schema | {"description": f"Parameters of /{route.template}"} if properties else schema


def _closed(properties: JsonSchema, required: Sequence[str]) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


def _parameter(route: Route, view: Any, name: str) -> JsonSchema:
    if name == api_settings.VERSION_PARAM and _versioning(view) is not None:
        allowed = [each for each in _versioning(view).allowed_versions or () if each]
        return {"enum": list(allowed)} if allowed else {"type": "string"}
    model = model_of(view)
    field = getattr(view, "lookup_field", "pk")
    if model is None or name not in (field, getattr(view, "lookup_url_kwarg", None)):
        return _converted(route.converter(name))
    kind = _column(model, field)
    described = f"The {field} of the {model._meta.verbose_name}"
    if kind.get("type") == "integer":  # which a URL, and so a caller, may also write as text
        return {"type": ["integer", "string"], "description": described}
    return {"type": "string", "description": described} | kind


def _converted(converter: Any) -> JsonSchema:
    """What a converter of a URL takes: `<int:year>`."""
    if isinstance(converter, UUIDConverter):
        return {"type": "string", "format": "uuid"}
    if isinstance(converter, IntConverter):
        return {"type": ["integer", "string"]}
    return {"type": ["string", "integer"]}


def _column(model: Any, field: str) -> JsonSchema:
    try:
        found = model._meta.pk if field == "pk" else model._meta.get_field(field)
    except Exception:  # noqa: BLE001 - a lookup across relations, or no field of the model
        return {}
    return column(found)


def _versioning(view: Any) -> Any:
    return getattr(view, "versioning_class", None)


def _has_default(view: Any, name: str) -> bool:
    return default_of(view, name) is not None


def default_of(view: Any, name: str) -> str | None:
    """What a parameter of the URL is where nobody says it: only a version has such."""
    if name != api_settings.VERSION_PARAM:
        return None
    default = getattr(_versioning(view), "default_version", None)
    return None if default is None else str(default)


def _shape(route: Route, kwargs: JsonSchema, body: JsonSchema | None) -> JsonSchema:
    """The outer shape alone: which names there are, and that they hold objects."""
    names: JsonSchema = {name: {"type": ["string", "integer"]} for name in route.names}
    required = kwargs.get("required", [])
    properties = {"kwargs": _closed(names, required), "query": _OBJECT}
    if body is not None:
        properties["body"] = {"type": _outer(body)}
    return _closed(properties, ["kwargs"] if required else [])


def _outer(body: JsonSchema) -> Any:
    """What a body is from outside: an object or a list, or either where nothing rules one out."""
    kind = body.get("type")
    return kind if kind in ("object", "array") else ["object", "array"]


def _words(route: Route, view: Any) -> str:
    """What an action does: in its own words, else in those that fit any of its kind."""
    own = inspect.getdoc(route.handler)
    if own and not route.handler.__module__.startswith("rest_framework."):
        return own
    model = model_of(view)
    noun = route.own_template.split("/")[0].replace("_", " ")
    one = noun if model is None else str(model._meta.verbose_name)
    many = noun if model is None else str(model._meta.verbose_name_plural)
    action = standard_action(route) or route.action
    sentence = _SENTENCES.get(action)
    plain = f"{route.method.upper()} /{route.template}"
    words = plain if sentence is None else sentence.format(one=one, many=many)
    about = inspect.cleandoc(route.view.__doc__ or "") if _has_own_words(route.view) else ""
    return f"{words}\n\n{about}" if about else words


def _has_own_words(view: type) -> bool:
    return "__doc__" in vars(view) and not view.__module__.startswith("rest_framework.")
