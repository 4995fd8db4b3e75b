"""What a view promises to give back, where it is the REST framework's own code that gives it."""

from typing import Any, Final

from rest_framework import mixins, pagination, renderers
from rest_framework.generics import GenericAPIView
from rest_framework.views import APIView

from accord.model.arguments import JsonSchema
from accord.sources.drf.fields import Complain, Describer, is_trustworthy
from accord.sources.drf.filters import pages
from accord.sources.drf.routes import Route

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
_FRAMED: Final[dict[Any, JsonSchema]] = {
    pagination.PageNumberPagination.get_paginated_response: {"count": {"type": "integer"}},
    pagination.LimitOffsetPagination.get_paginated_response: {"count": {"type": "integer"}},
    pagination.CursorPagination.get_paginated_response: {},
}
_LINK: Final[JsonSchema] = {"type": ["string", "null"], "format": "uri"}


def standard_action(route: Route) -> str | None:
    """The action of the REST framework's own that a route leads to; None if it is another's."""
    action = route.action
    if not route.is_viewset:
        if not route.handler.__module__.startswith("rest_framework."):
            return None
        named = [name for name in _GENERIC.get(route.method, ()) if hasattr(route.view, name)]
        action = named[0] if named else ""
    own = mixins.ListModelMixin.list if action == "list" else _SINGLE.get(action)
    found = _unwrapped(getattr(route.view, action, None)) if action else None
    return action if own is not None and found is own else None


def _unwrapped(handler: Any) -> Any:
    """What drf-spectacular has put a function around, only to write something on it."""
    while getattr(handler, "__globals__", {}).get("__name__", "").startswith("drf_spectacular."):
        handler = handler.__wrapped__
    return handler


def promised(route: Route, view: Any, complain: Complain) -> JsonSchema | None:
    """The schema of what a route gives back; None where nobody can vouch for it."""
    action = standard_action(route)
    if action is None or not _is_unchanged(route.view) or not _writes_json(view):
        return None
    describer = Describer("out", complain)
    if action != "list":
        serializer = view.get_serializer()
        return describer.members(serializer) if _has_members(serializer) else None
    serializer = view.get_serializer(many=True)
    child = getattr(serializer, "child", None)
    if not is_trustworthy(serializer) or not _has_members(child):
        return None
    return _framed(view, {"type": "array", "items": describer.members(child)})


def _has_members(serializer: Any) -> bool:
    return hasattr(serializer, "fields") and is_trustworthy(serializer)


def _is_unchanged(view: type) -> bool:
    """Whether nothing stands between a serializer's data and the response."""
    return all(
        getattr(view, name, None) is getattr(base, name)
        for base, names in (
            (APIView, ("finalize_response", "dispatch")),
            (GenericAPIView, ("get_paginated_response", "paginate_queryset")),
        )
        for name in names
    )


def _writes_json(view: Any) -> bool:
    """Whether JSON is written by the REST framework's own renderer, and not in another form."""
    kinds = [type(renderer) for renderer in view.get_renderers()]
    found = next((kind for kind in kinds if kind.media_type == "application/json"), None)
    return found is not None and found.render is renderers.JSONRenderer.render


def _framed(view: Any, items: JsonSchema) -> JsonSchema | None:
    """A list as its paginator sends it."""
    paginator = view.paginator
    if paginator is None or not pages(paginator):
        return items
    kind = type(paginator)
    frame = _FRAMED.get(kind.get_paginated_response)
    if frame is None or not _always_pages(paginator):
        return None
    return {
        "type": "object",
        "properties": {**frame, "next": _LINK, "previous": _LINK, "results": items},
    }


def _always_pages(paginator: Any) -> bool:
    """Whether a list never comes without its page, whatever the query says."""
    size = getattr(paginator, "default_limit", None) or getattr(paginator, "page_size", None)
    is_own = type(paginator).paginate_queryset.__module__.startswith("rest_framework.")
    return size is not None and is_own
