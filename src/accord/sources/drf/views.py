"""View instances for introspection, set up as the REST framework does for a request."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, TypeVar

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from rest_framework.settings import api_settings

from accord.sources.drf.routes import ViewRoute

T = TypeVar("T")


def make_view(route: ViewRoute, request: HttpRequest | None = None) -> Any:
    """Return a route's view instance, ready for introspection.

    Without a request it gets an anonymous one, and `swagger_fake_view` as schema generators set it.
    """
    view: Any = route.view(**route.initkwargs)
    view.args, view.kwargs, view.format_kwarg = (), {}, None
    view.action_map = route.actions
    view.action = route.action if route.is_viewset else None
    for method, action in (route.actions or {}).items():
        setattr(view, method, getattr(view, action))
    if request is None:
        view.swagger_fake_view = True
        request = anonymous_request(route.method)
    view.headers = {}
    view.request = view.initialize_request(request)
    negotiate(view, view.request)
    return view


def negotiate(view: Any, request: Any) -> Any:
    """Set the view's preferred renderer on a request, which serializers may read."""
    request.accepted_renderer = next(iter(view.get_renderers()), None)
    request.accepted_media_type = getattr(request.accepted_renderer, "media_type", None)
    return request


def anonymous_request(method: str) -> HttpRequest:
    """Return an anonymous request."""
    request = WSGIRequest(
        {
            "REQUEST_METHOD": method.upper(),
            "PATH_INFO": "/",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "wsgi.input": BytesIO(),
            "wsgi.url_scheme": "http",
        }
    )
    user_class = api_settings.UNAUTHENTICATED_USER
    request.user = request._force_auth_user = user_class and user_class()  # skips authentication
    return request


def model_of(view: Any) -> Any:
    """Return the model of a view's queryset or serializer."""
    queryset = getattr(view, "queryset", None)
    if queryset is None and hasattr(view, "get_queryset"):
        queryset = attempt(view.get_queryset, None, lambda _: None)
    meta = getattr(getattr(view, "serializer_class", None), "Meta", None)
    return getattr(queryset, "model", None) or getattr(meta, "model", None)


def attempt(call: Callable[[], T], otherwise: T, report: Callable[[str], None]) -> T:
    """Call a project's code; on an error report it and return `otherwise`."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - a project's own code may raise anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        report(reason)
        return otherwise
