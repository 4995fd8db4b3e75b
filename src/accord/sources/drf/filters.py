"""Query parameters of a list: filters, search, ordering and pagination."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from rest_framework.filters import OrderingFilter, SearchFilter

from accord.model.arguments import JsonSchema
from accord.sources.drf.fields import Reporter, model_field_schema
from accord.sources.drf.views import attempt, model_of

_MAX_NAMES: Final = 40  # orderings listed in a description


class QueryParameter(msgspec.Struct, frozen=True):
    """A query parameter."""

    name: str
    schema: JsonSchema
    required: bool = False
    is_csv: bool = False
    """True if several values are joined by commas."""


def parameters_of(view: Any, report: Reporter) -> list[QueryParameter]:
    """Return the query parameters of a view's filter backends and paginator."""
    found: list[QueryParameter] = []
    for backend in getattr(view, "filter_backends", ()):
        name = getattr(backend, "__name__", str(backend))
        found += attempt(
            lambda made=backend: _backend_parameters(made(), view),  # type: ignore[misc] # bound now
            [],
            lambda reason, name=name: report(f"the parameters of {name} are unknown: {reason}"),  # type: ignore[misc] # bound now
        )
    paginator = getattr(view, "paginator", None)
    if paginator is not None and has_page_size(paginator):
        found += _declared_parameters(paginator, view)
    return list({parameter.name: parameter for parameter in found}.values())


def has_page_size(paginator: Any) -> bool:
    """True if a paginator has a page size; without one it is off."""
    sizes = ("page_size", "default_limit", "page_size_query_param", "limit_query_param")
    known = [name for name in sizes if hasattr(paginator, name)]
    return not known or any(getattr(paginator, name) is not None for name in known)


def _backend_parameters(backend: Any, view: Any) -> list[QueryParameter]:
    if isinstance(backend, SearchFilter):
        return _search_parameters(backend, view)
    if isinstance(backend, OrderingFilter):
        return _ordering_parameters(backend, view)
    if hasattr(backend, "get_filterset_class"):
        return list(_filterset_parameters(backend, view))
    return _declared_parameters(backend, view)


def _declared_parameters(source: Any, view: Any) -> list[QueryParameter]:
    """Return the OpenAPI parameters that a backend or a paginator declares."""
    declared = getattr(source, "get_schema_operation_parameters", None)
    return [] if declared is None else [parameter_from_openapi(each) for each in declared(view)]


def parameter_from_openapi(given: dict[str, Any]) -> QueryParameter:
    """Return an OpenAPI parameter as a query parameter."""
    schema = dict(given.get("schema") or {})
    description = given.get("description")
    if description:
        schema["description"] = str(description)
    is_csv = schema.get("type") == "array" and given.get("explode") is False
    return QueryParameter(given["name"], schema, bool(given.get("required")), is_csv)


def _search_parameters(backend: Any, view: Any) -> list[QueryParameter]:
    searched = backend.get_search_fields(view, view.request) or ()
    names = [str(name).lstrip("".join(backend.lookup_prefixes)) for name in searched]
    return _text_parameter(backend.search_param, "Search term, in", names)


def _ordering_parameters(backend: Any, view: Any) -> list[QueryParameter]:
    queryset = _queryset(view)
    context = {"request": view.request}
    names = [str(name) for name, _ in backend.get_valid_fields(queryset, view, context)]
    about = "Sort fields, comma-separated, descending with a minus:"
    return _text_parameter(backend.ordering_param, about, names)


def _text_parameter(name: str, about: str, fields: list[str]) -> list[QueryParameter]:
    """Return a parameter that works on these fields; none if there are none."""
    if not fields:
        return []
    shown = ", ".join(dict.fromkeys(fields[:_MAX_NAMES]))
    return [QueryParameter(name, {"type": "string", "description": f"{about} {shown}"})]


def _queryset(view: Any) -> Any:
    """Return a view's queryset; if it needs a request, an empty one of its model."""
    try:
        return view.get_queryset()
    except Exception:  # noqa: BLE001 - a project's own code may raise anything
        model = model_of(view)
        return None if model is None else model._default_manager.none()


# django-filter


def _filterset_parameters(backend: Any, view: Any) -> Iterator[QueryParameter]:
    queryset = _queryset(view)
    if queryset is None and getattr(view, "filterset_fields", None):
        raise LookupError("the model of its filterset_fields is unknown")
    filterset = backend.get_filterset_class(view, queryset)
    for name, each in filterset.base_filters.items() if filterset is not None else ():
        widget = getattr(each.field, "widget", None)
        schema = _filter_schema(each)
        description = each.extra.get("help_text") or each.label
        if description:
            schema["description"] = str(description)
        required = bool(each.extra.get("required"))
        is_csv = type(each).__name__.startswith("BaseCSV") or _is_csv(each)
        for suffix in getattr(widget, "suffixes", ("",)):
            full = f"{name}_{suffix}" if suffix else name
            yield QueryParameter(full, schema, required, is_csv)


def _is_csv(each: Any) -> bool:
    return any(kind.__name__ == "BaseCSVFilter" for kind in type(each).__mro__)


def _filter_schema(each: Any) -> JsonSchema:
    kinds = [kind.__name__ for kind in type(each).__mro__]
    if "BaseCSVFilter" in kinds:
        return {"type": "array", "items": {}}  # some model APIs require items
    schema = next((dict(_FILTERS[kind]) for kind in kinds if kind in _FILTERS), {"type": "string"})
    values = _choices(each)
    if "ModelMultipleChoiceFilter" in kinds or "MultipleChoiceFilter" in kinds:
        return {"type": "array", "items": {"enum": values} if values else {}}
    if "ModelChoiceFilter" in kinds:
        model = getattr(getattr(each, "queryset", None), "model", None)
        return {} if model is None else dict(model_field_schema(model._meta.pk))
    return {"enum": values} if values else schema


def _choices(each: Any) -> list[Any]:
    """Return the choices, if they are known without a database query."""
    given = each.extra.get("choices")
    if not isinstance(given, list | tuple):
        return []
    values: list[Any] = []
    for value, label in given:
        nested = isinstance(label, list | tuple)
        values += [inner for inner, _ in label] if nested else [value]
    return [value for value in values if isinstance(value, str | int)]


_FILTERS: Final[dict[str, JsonSchema]] = {
    "BooleanFilter": {"type": "boolean"},
    "NumberFilter": {"type": "number"},
    "NumericRangeFilter": {"type": "number"},
    "RangeFilter": {"type": "number"},
    "DateFilter": {"type": "string", "format": "date"},
    "DateFromToRangeFilter": {"type": "string", "format": "date"},
    "DateTimeFilter": {"type": "string", "format": "date-time"},
    "IsoDateTimeFilter": {"type": "string", "format": "date-time"},
    "DateTimeFromToRangeFilter": {"type": "string", "format": "date-time"},
    "IsoDateTimeFromToRangeFilter": {"type": "string", "format": "date-time"},
    "TimeFilter": {"type": "string", "format": "time"},
    "TimeRangeFilter": {"type": "string", "format": "time"},
    "UUIDFilter": {"type": "string", "format": "uuid"},
}
