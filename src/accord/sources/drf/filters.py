"""What a list takes in its query: filters, search, ordering and pages."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from rest_framework.filters import OrderingFilter, SearchFilter

from accord.model.arguments import JsonSchema
from accord.sources.drf.fields import Complain, column
from accord.sources.drf.views import attempted, model_of

_MOST_WORDS: Final = 40  # orderings that are listed; more of them say nothing to anybody


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a query."""

    name: str
    schema: JsonSchema
    required: bool = False
    is_csv: bool = False
    """Several values are written as one, with commas between."""


def parameters_of(view: Any, complain: Complain) -> list[Parameter]:
    """What the filter backends and the paginator of a view take."""
    found: list[Parameter] = []
    for backend in getattr(view, "filter_backends", ()):
        name = getattr(backend, "__name__", str(backend))
        found += attempted(
            lambda made=backend: _of_backend(made(), view),  # type: ignore[misc] # bound now
            [],
            lambda reason, name=name: complain(f"what {name} takes is not known: {reason}"),  # type: ignore[misc] # bound now
        )
    paginator = getattr(view, "paginator", None)
    if paginator is not None and pages(paginator):
        found += _own(paginator, view)
    return list({parameter.name: parameter for parameter in found}.values())


def pages(paginator: Any) -> bool:
    """Whether a paginator will make pages, which one without any size does not."""
    sizes = ("page_size", "default_limit", "page_size_query_param", "limit_query_param")
    known = [name for name in sizes if hasattr(paginator, name)]
    return not known or any(getattr(paginator, name) is not None for name in known)


def _of_backend(backend: Any, view: Any) -> list[Parameter]:
    if isinstance(backend, SearchFilter):
        searched = backend.get_search_fields(view, view.request)
        return _own(backend, view, f"Searched for in {_listed(searched)}") if searched else []
    if isinstance(backend, OrderingFilter):
        return _orderings(backend, view)
    if hasattr(backend, "get_filterset_class"):
        return list(_of_filterset(backend, view))
    return _own(backend, view)


def _own(source: Any, view: Any, words: str | None = None) -> list[Parameter]:
    """What a backend or a paginator says of itself, in the words of OpenAPI."""
    ask = getattr(source, "get_schema_operation_parameters", None)
    return [] if ask is None else [of_openapi(each, words) for each in ask(view)]


def of_openapi(given: dict[str, Any], words: str | None = None) -> Parameter:
    """A parameter as OpenAPI has it."""
    schema = dict(given.get("schema") or {})
    described = words or given.get("description")
    if described:
        schema["description"] = str(described)
    is_csv = schema.get("type") == "array" and given.get("explode") is False
    return Parameter(given["name"], schema, bool(given.get("required")), is_csv)


def _orderings(backend: Any, view: Any) -> list[Parameter]:
    queryset = _queryset(view)
    context = {"request": view.request}
    names = [str(name) for name, _ in backend.get_valid_fields(queryset, view, context)]
    if not names:
        return []
    words = f"What to sort by, backwards with a minus: {_listed(names)}; several with commas"
    return _own(backend, view, words)


def _queryset(view: Any) -> Any:
    """What a view lists; if it tells that only in a request, none of what its serializer is for."""
    try:
        return view.get_queryset()
    except Exception:  # noqa: BLE001 - whatever a project raises
        model = model_of(view)
        return None if model is None else model._default_manager.none()


def _listed(names: Any) -> str:
    shown = [str(name) for name in names][:_MOST_WORDS]
    return ", ".join(shown)


# django-filter


def _of_filterset(backend: Any, view: Any) -> Iterator[Parameter]:
    queryset = _queryset(view)
    if queryset is None and getattr(view, "filterset_fields", None):
        raise LookupError("there is no telling of which model its fields are")
    filterset = backend.get_filterset_class(view, queryset)
    for name, each in filterset.base_filters.items() if filterset is not None else ():
        widget = getattr(each.field, "widget", None)
        schema = _filter_schema(each)
        words = each.extra.get("help_text") or each.label
        if words:
            schema["description"] = str(words)
        required = bool(each.extra.get("required"))
        is_csv = type(each).__name__.startswith("BaseCSV") or _is_csv(each)
        for suffix in getattr(widget, "suffixes", ("",)):
            full = f"{name}_{suffix}" if suffix else name
            yield Parameter(full, schema, required, is_csv)


def _is_csv(each: Any) -> bool:
    return any(kind.__name__ == "BaseCSVFilter" for kind in type(each).__mro__)


def _filter_schema(each: Any) -> JsonSchema:
    kinds = [kind.__name__ for kind in type(each).__mro__]
    if "BaseCSVFilter" in kinds:
        return {"type": "array", "items": {}}  # which some models' APIs want to be said
    schema = next((dict(_FILTERS[kind]) for kind in kinds if kind in _FILTERS), {"type": "string"})
    values = _choices(each)
    if "ModelMultipleChoiceFilter" in kinds or "MultipleChoiceFilter" in kinds:
        return {"type": "array", "items": {"enum": values} if values else {}}
    if "ModelChoiceFilter" in kinds:
        model = getattr(getattr(each, "queryset", None), "model", None)
        return {} if model is None else dict(column(model._meta.pk))
    return {"enum": values} if values else schema


def _choices(each: Any) -> list[Any]:
    """The values to choose from, if they can be known without a look into the database."""
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
