"""Describe a route as a tool: description, input and output schema, hints."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from django.urls.converters import IntConverter, UUIDConverter
from rest_framework import mixins, pagination, renderers, serializers
from rest_framework.generics import GenericAPIView
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from accord.model.arguments import JsonSchema
from accord.model.tool import Hints
from accord.sources.drf import spectacular
from accord.sources.drf.descriptions import dedented, description_of
from accord.sources.drf.fields import (
    Reporter,
    SchemaBuilder,
    has_standard_output,
    model_field_schema,
)
from accord.sources.drf.filters import QueryParameter, has_page_size, parameters_of
from accord.sources.drf.naming import STANDARD_ACTIONS, options_of, verb_of
from accord.sources.drf.paging import Paging
from accord.sources.drf.routes import WITH_BODY, ViewRoute
from accord.sources.drf.views import attempt, describe_permissions, make_view, model_of

_SINGLE: Final = {
    "retrieve": mixins.RetrieveModelMixin.retrieve,
    "create": mixins.CreateModelMixin.create,
    "update": mixins.UpdateModelMixin.update,
    "partial_update": mixins.UpdateModelMixin.partial_update,
}
_GENERIC: Final = {
    "get": ("list", "retrieve"),
    "post": ("create",),
    "put": ("update",),
    "patch": ("partial_update",),
}
_PAGE_PROPERTIES: Final[dict[Any, JsonSchema]] = {
    pagination.PageNumberPagination.get_paginated_response: {"count": {"type": "integer"}},
    pagination.LimitOffsetPagination.get_paginated_response: {"count": {"type": "integer"}},
    pagination.CursorPagination.get_paginated_response: {},
}
_LINK: Final[JsonSchema] = {"type": ["string", "null"], "format": "uri"}
CURSOR: Final = "cursor"
_CURSOR: Final[JsonSchema] = {"type": "string", "description": "Cursor of an answer that was cut"}
_OBJECT: Final[JsonSchema] = {"type": "object"}
_OPEN_BODY: Final[JsonSchema] = {"type": ["object", "array"], "items": {}}
"""Some model APIs require `items`."""
_HINTS: Final = {
    "get": Hints(read_only=True),
    "post": Hints(read_only=False),
    "put": Hints(read_only=False, idempotent=True),
    "patch": Hints(read_only=False),
    "delete": Hints(read_only=False, destructive=True, idempotent=True),
}


def standard_action(route: ViewRoute) -> str | None:
    """Return the REST framework's own action behind a route; None if the project overrides it."""
    action = route.action
    if not route.is_viewset:
        if not route.handler.__module__.startswith("rest_framework."):
            return None
        named = [name for name in _GENERIC.get(route.method, ()) if hasattr(route.view, name)]
        action = named[0] if named else ""
    standard = mixins.ListModelMixin.list if action == "list" else _SINGLE.get(action)
    found = _unwrapped(getattr(route.view, action, None)) if action else None
    return action if standard is not None and found is standard else None


def _unwrapped(handler: Any) -> Any:
    """Return the function inside drf-spectacular's wrappers."""
    while getattr(handler, "__globals__", {}).get("__name__", "").startswith("drf_spectacular."):
        handler = handler.__wrapped__
    return handler


def output_schema(route: ViewRoute, view: Any, report: Reporter) -> JsonSchema | None:
    """Return a route's output schema; None if the response is not the REST framework's own."""
    action = standard_action(route)
    if action is None or not _is_unchanged(route.view) or not _writes_json(view):
        return None
    builder = SchemaBuilder("out", report)
    if action != "list":
        serializer = view.get_serializer()
        return builder.object_schema(serializer) if _has_fields(serializer) else None
    serializer = view.get_serializer(many=True)
    child = getattr(serializer, "child", None)
    if not has_standard_output(serializer) or not _has_fields(child):
        return None
    return _paginated(view, {"type": "array", "items": builder.object_schema(child)})


def _has_own_items(route: ViewRoute, view: Any) -> bool:
    """True if the REST framework's own code makes a list from the items of a page."""
    if standard_action(route) != "list" or not _is_unchanged(route.view):
        return False
    return has_standard_output(view.get_serializer(many=True))


def _has_fields(serializer: Any) -> bool:
    return hasattr(serializer, "fields") and has_standard_output(serializer)


def _is_unchanged(view: type) -> bool:
    """True if the view does not override how a serializer's data becomes the response."""
    return all(
        getattr(view, name, None) is getattr(base, name)
        for base, names in (
            (APIView, ("finalize_response", "dispatch")),
            (GenericAPIView, ("get_paginated_response", "paginate_queryset")),
        )
        for name in names
    )


def _writes_json(view: Any) -> bool:
    """True if the REST framework's own renderer writes the JSON."""
    kinds = [type(renderer) for renderer in view.get_renderers()]
    found = next((kind for kind in kinds if kind.media_type == "application/json"), None)
    return found is not None and found.render is renderers.JSONRenderer.render


def _paginated(view: Any, items: JsonSchema) -> JsonSchema | None:
    """Return the schema of a list as its paginator sends it."""
    paginator = view.paginator
    if paginator is None or not has_page_size(paginator):
        return items
    kind = type(paginator)
    frame = _PAGE_PROPERTIES.get(kind.get_paginated_response)
    if frame is None or not _is_always_paginated(paginator):
        return None
    return {
        "type": "object",
        "properties": {**frame, "next": _LINK, "previous": _LINK, "results": items},
    }


def _is_always_paginated(paginator: Any) -> bool:
    """True if every response is paginated, whatever the query."""
    size = getattr(paginator, "default_limit", None) or getattr(paginator, "page_size", None)
    is_own = type(paginator).paginate_queryset.__module__.startswith("rest_framework.")
    return size is not None and is_own


class RouteDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A route's metadata as a tool."""

    description: str
    title: str | None
    hints: Hints
    input_schema: JsonSchema
    shape: JsonSchema
    """The outer shape of arguments; the view validates what is in them."""
    output_schema: JsonSchema | None
    permissions: str
    """The view's permissions as an expression."""
    body: JsonSchema | None
    """The schema of the body, each part written out."""
    paging: Paging
    """How the list is paginated."""
    csv: frozenset[str]
    """Query parameters whose values are joined by commas."""


class RouteSchemas(msgspec.Struct, frozen=True):
    """Body, query parameters and output of a route, from serializers or drf-spectacular."""

    body: JsonSchema | None
    parameters: Sequence[QueryParameter]
    output: JsonSchema | None
    description: str | None = None


def describe(route: ViewRoute, report: Reporter, *, with_output: bool = True) -> RouteDescription:
    """Return a route's metadata; what cannot be found out is left open and reported."""
    view = attempt(
        lambda: make_view(route),
        None,
        lambda reason: report(f"the view cannot be instantiated outside of a request: {reason}"),
    )
    known = _schemas(route, view, report, with_output=with_output)
    options = options_of(route.handler)
    kwargs = _kwargs_schema(route, view)
    properties = {"kwargs": kwargs} if route.names else {}
    properties["query"] = _query_schema(known.parameters)
    if known.body is not None:
        properties["body"] = known.body
    if is_read_only(route):
        properties[CURSOR] = _CURSOR
    required = [name for name in properties if _has_required(properties[name])]
    return RouteDescription(
        description=dedented(options.description or known.description or "")
        or description_of(route, view),
        title=options.title,
        hints=_HINTS[route.method],
        input_schema=_closed_object(properties, required),
        shape=_shape(route, kwargs, has_body=known.body is not None or route.method in WITH_BODY),
        output_schema=known.output,
        permissions=attempt(
            lambda: describe_permissions(view), "the view's own permissions", lambda _: None
        ),
        body=known.body,
        paging=Paging.of(
            view,
            has_own_items=attempt(lambda: _has_own_items(route, view), False, lambda _: None),
        ),
        csv=frozenset(each.name for each in known.parameters if each.is_csv),
    )


def _has_required(schema: JsonSchema) -> bool:
    return any("required" in each for each in (schema, *schema.get("anyOf", ())))


def is_read_only(route: ViewRoute) -> bool:
    """True if a call changes nothing, by its method."""
    return bool(_HINTS[route.method].read_only)


def _schemas(route: ViewRoute, view: Any, report: Reporter, *, with_output: bool) -> RouteSchemas:
    if view is None:
        return RouteSchemas(_OPEN_BODY if _has_body(route) else None, (), None)
    output = (
        attempt(lambda: output_schema(route, view, lambda *_: None), None, lambda _: None)
        if with_output
        else None
    )
    operation = spectacular.operation_of(route, report)
    parameters = parameters_of(view, report) if verb_of(route) == "list" else []
    if operation is None:
        return RouteSchemas(_body(route, view, report), parameters, output)
    if (
        with_output
        and output is None
        and (operation.is_explicit or standard_action(route) is not None)
    ):
        output = operation.output
    return RouteSchemas(
        _body(route, view, report, operation),
        spectacular.merged(operation.parameters, parameters, view),
        output,
        operation.description if operation.is_explicit else None,
    )


# The body


def _has_body(route: ViewRoute) -> bool:
    given = options_of(route.handler).input_serializer
    if given is not msgspec.UNSET:
        return given is not None
    return route.method in WITH_BODY or (route.method == "delete" and route.action != "destroy")


def _body(
    route: ViewRoute,
    view: Any,
    report: Reporter,
    operation: spectacular.OpenAPIOperation | None = None,
) -> JsonSchema | None:
    """Return the schema of the body, from its serializer; None if the action takes none."""
    if not _has_body(route):
        return None
    given = options_of(route.handler).input_serializer
    if operation is not None and given is msgspec.UNSET:
        is_own = operation.has_own_body or _has_own_serializer(route, view)
        schema = operation.body if is_own else None
        return _with_lists(view, schema) if schema else _OPEN_BODY
    is_partial = route.method == "patch"
    if given is not msgspec.UNSET:
        context = {"request": view.request, "format": None, "view": view}
        return _serializer_schema(lambda: given(partial=is_partial, context=context), report)
    if not _has_own_serializer(route, view):
        return _OPEN_BODY
    make = getattr(view, "get_serializer", None) or view.serializer_class
    return _with_lists(view, _serializer_schema(lambda: make(partial=is_partial), report))


def _serializer_schema(make: Callable[[], Any], report: Reporter) -> JsonSchema:
    def body_schema() -> JsonSchema:
        serializer = make()
        builder = SchemaBuilder("in", report)
        if isinstance(serializer, serializers.ListSerializer):
            return builder.describe(serializer)
        if not isinstance(serializer, serializers.Serializer):
            return _OPEN_BODY
        return builder.object_schema(serializer)

    return attempt(
        body_schema,
        _OPEN_BODY,
        lambda reason: report(f"the schema of its body is unknown: {reason}"),
    )


def _has_own_serializer(route: ViewRoute, view: Any) -> bool:
    """True if a serializer is for this action; that of a viewset is for the standard ones."""
    if not _has_serializer(view):
        return False
    if not route.is_viewset or route.action in STANDARD_ACTIONS:
        return True
    if "serializer_class" in route.initkwargs:
        return True
    other = make_view(route)
    other.action = "metadata"  # that of OPTIONS, for which a view has its default
    return attempt(lambda: _kind(view) is not _kind(other), False, lambda _: None)


def _kind(view: Any) -> type:
    """Return the class of a view's serializer, or of a list's items."""
    serializer = view.get_serializer()
    return type(getattr(serializer, "child", serializer))


def _has_serializer(view: Any) -> bool:
    """True if a view has a serializer; a generic view may have none."""
    if getattr(view, "serializer_class", None) is not None:
        return True
    method = getattr(type(view), "get_serializer_class", None)
    is_inherited = method is GenericAPIView.get_serializer_class
    return not is_inherited and hasattr(view, "get_serializer")


def _with_lists(view: Any, schema: JsonSchema) -> JsonSchema:
    """Return a body's schema, with lists too if the view takes them."""
    make = getattr(type(view), "get_serializer", GenericAPIView.get_serializer)
    if make is GenericAPIView.get_serializer or schema.get("type") != "object":
        return schema
    for_list = attempt(lambda: view.get_serializer(data=[]), None, lambda _: None)
    if not isinstance(for_list, serializers.ListSerializer):
        return schema
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


# Query and URL


def _query_schema(parameters: Sequence[QueryParameter]) -> JsonSchema:
    if not parameters:
        return {"type": "object", "description": "Query parameters"}
    schema: JsonSchema = {
        "type": "object",
        "properties": {each.name: each.schema for each in parameters},
    }
    required = [each.name for each in parameters if each.required]
    return schema | {"required": required} if required else schema


def _kwargs_schema(route: ViewRoute, view: Any) -> JsonSchema:
    """Return the schema of the URL's parameters."""
    properties = {name: _parameter(route, view, name) for name in route.names}
    required = [name for name in route.required if default_of(view, name) is None]
    schema = _closed_object(properties, required)
    return schema | {"description": f"Parameters of /{route.template}"} if properties else schema


def _closed_object(properties: JsonSchema, required: Sequence[str]) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


def _parameter(route: ViewRoute, view: Any, name: str) -> JsonSchema:
    if name == api_settings.VERSION_PARAM and _versioning(view) is not None:
        allowed = [each for each in _versioning(view).allowed_versions or () if each]
        default = _versioning(view).default_version
        values = allowed if default is None or not allowed else [*allowed, default]
        return {"enum": list(dict.fromkeys(values))} if values else {"type": "string"}
    model = model_of(view)
    field = getattr(view, "lookup_field", "pk")
    if model is None or name not in (field, getattr(view, "lookup_url_kwarg", None)):
        return _converted(route.converter(name))
    kind = _lookup_schema(model, field)
    described = f"The {field} of the {model._meta.verbose_name}"
    if kind.get("type") == "integer":  # in a URL it may be text as well
        return {"type": ["integer", "string"], "description": described}
    return {"type": "string", "description": described} | kind


def _converted(converter: Any) -> JsonSchema:
    """Return the schema of a path converter: `<int:year>`."""
    if isinstance(converter, UUIDConverter):
        return {"type": "string", "format": "uuid"}
    if isinstance(converter, IntConverter):
        return {"type": ["integer", "string"]}
    return {"type": ["string", "integer"]}


def _lookup_schema(model: Any, field: str) -> JsonSchema:
    try:
        found = model._meta.pk if field == "pk" else model._meta.get_field(field)
    except Exception:  # noqa: BLE001 - a lookup across relations, or no field of the model
        return {}
    return model_field_schema(found)


def _versioning(view: Any) -> Any:
    return getattr(view, "versioning_class", None)


def default_of(view: Any, name: str) -> str | None:
    """Return the default of a URL parameter: only the API version has one."""
    if name != api_settings.VERSION_PARAM:
        return None
    default = getattr(_versioning(view), "default_version", None)
    return None if default is None else str(default)


def _shape(route: ViewRoute, kwargs: JsonSchema, *, has_body: bool) -> JsonSchema:
    """Return the outer shape of arguments: the names, and the types but that of the body."""
    names: JsonSchema = {name: {"type": ["string", "integer"]} for name in route.names}
    required = kwargs.get("required", [])
    properties: JsonSchema = {"kwargs": _closed_object(names, required), "query": _OBJECT}
    if has_body:
        properties["body"] = {}
    if is_read_only(route):
        properties[CURSOR] = {"type": ["string", "null"]}
    return _closed_object(properties, ["kwargs"] if required else [])
