"""View instances, set up as the REST framework does for a request, and their permissions."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final, TypeVar

from django.core.exceptions import PermissionDenied
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest
from rest_framework import permissions
from rest_framework.exceptions import APIException
from rest_framework.settings import api_settings

from accord.sources.drf.requests import ViewCall, nested_request
from accord.sources.drf.routes import WITH_BODY, ViewRoute

T = TypeVar("T")
_ANYBODY: Final = "anybody"
_JOINED: Final = {permissions.AND: " and ", permissions.OR: " or "}


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
    request.is_mcp_request = True  # a view may have other serializers for such requests
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


def describe_permissions(view: Any) -> str:
    """Return a view's permission classes as one expression: `IsAdmin and (A or B)`."""
    named = [_describe(each) for each in view.get_permissions()]
    return " and ".join(name for name in named if name != _ANYBODY) or _ANYBODY


def _describe(permission: Any) -> str:
    joint = _JOINED.get(type(permission))
    if joint is not None:
        return f"({_describe(permission.op1)}{joint}{_describe(permission.op2)})"
    if isinstance(permission, permissions.NOT):
        return f"not {_describe(permission.op1)}"
    if isinstance(permission, permissions.AllowAny):
        return _ANYBODY
    return type(permission).__name__


class ToolFilter:
    """Tells which tools the sender of a request may use; authenticates once per scheme."""

    def __init__(self, routes: Mapping[str, ViewRoute], request: HttpRequest) -> None:
        self._routes = routes
        self._request = request
        self._known: dict[tuple[type, ...], tuple[Any, Any]] = {}

    def __call__(self, name: str) -> bool:
        """True unless a permission denies the tool whatever its arguments are."""
        try:
            return self._is_permitted(self._routes[name])
        except APIException as refusal:
            return refusal.status_code not in (401, 403)
        except PermissionDenied:
            return False
        except Http404:
            return True
        except Exception:  # noqa: BLE001 - the permission needs an actual call
            return True

    def _is_permitted(self, route: ViewRoute) -> bool:
        request = nested_request(self._request, ViewCall(route.method, f"/{route.template}"))
        view = make_view(route, request)
        self._authenticate(view)
        if route.names:
            view.kwargs = view.request.parser_context["kwargs"] = _Unavailable()
        if route.method in WITH_BODY:
            view.request._data = view.request._full_data = _Unavailable()
        view.check_permissions(view.request)
        return True

    def _authenticate(self, view: Any) -> None:
        """Authenticate the request, or reuse the result of a view with the same authenticators."""
        schemes = tuple(type(each) for each in view.request.authenticators or ())
        known = self._known.get(schemes)
        if known is None:
            known = self._known[schemes] = (view.request.user, view.request.auth)
        view.request.user, view.request.auth = known


class _Undecided(Exception):
    """A permission depends on arguments, which only a call has."""


class _Unavailable:
    """Stands for the arguments of a call: raises if a permission reads them."""

    def __getattr__(self, name: str) -> Any:
        raise _Undecided

    def __getitem__(self, name: Any) -> Any:
        raise _Undecided

    def __contains__(self, name: Any) -> bool:
        raise _Undecided

    def __iter__(self) -> Any:
        raise _Undecided

    def __bool__(self) -> bool:
        raise _Undecided


def allow_none(name: str) -> bool:
    """Return False: the caller may not use the endpoint."""
    return False


def allow_all(name: str) -> bool:
    """Return True: every tool is visible to a caller that cannot be authenticated."""
    return True
