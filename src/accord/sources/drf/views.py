"""A view that is looked at, not called: set up as the REST framework does it for a request."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, TypeVar

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from rest_framework.settings import api_settings

from accord.sources.drf.routes import Route

T = TypeVar("T")


def prepared(route: Route, request: HttpRequest | None = None) -> Any:
    """The view of a route, ready to be asked what it takes and whom it serves.

    Without a request it is told, as other tools that describe an API tell it, that none is real.
    """
    view: Any = route.view(**route.initkwargs)
    view.args, view.kwargs, view.format_kwarg = (), {}, None
    view.action_map = route.actions
    view.action = route.action if route.is_viewset else None
    for method, action in (route.actions or {}).items():
        setattr(view, method, getattr(view, action))
    if request is None:
        view.swagger_fake_view = True
        request = nobodys(route.method)
    view.headers = {}
    view.request = view.initialize_request(request)
    negotiated(view, view.request)
    return view


def negotiated(view: Any, request: Any) -> Any:
    """A request that gets what a view would rather give, which serializers may look at."""
    request.accepted_renderer = next(iter(view.get_renderers()), None)
    request.accepted_media_type = getattr(request.accepted_renderer, "media_type", None)
    return request


def nobodys(method: str) -> HttpRequest:
    """A request that nobody sent."""
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
    nobody = api_settings.UNAUTHENTICATED_USER
    request.user = request._force_auth_user = nobody and nobody()  # nobody looks for credentials
    return request


def model_of(view: Any) -> Any:
    """The model of what a view is about, as its queryset or else its serializer says."""
    queryset = getattr(view, "queryset", None)
    if queryset is None and hasattr(view, "get_queryset"):
        queryset = attempted(view.get_queryset, None, lambda _: None)
    meta = getattr(getattr(view, "serializer_class", None), "Meta", None)
    return getattr(queryset, "model", None) or getattr(meta, "model", None)


def attempted(ask: Callable[[], T], otherwise: T, complain: Callable[[str], None]) -> T:
    """What a project's own code says; if it cannot say it outside of a request, something else."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - a project's own code may raise anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        complain(reason)
        return otherwise
