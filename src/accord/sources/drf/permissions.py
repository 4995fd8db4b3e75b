"""Check and describe a view's permissions without calling it."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from rest_framework import permissions
from rest_framework.exceptions import APIException

from accord.sources.drf.requests import ViewCall, nested_request
from accord.sources.drf.routes import WITH_BODY, ViewRoute
from accord.sources.drf.views import make_view

_ANYBODY: Final = "anybody"
_JOINED: Final = {permissions.AND: " and ", permissions.OR: " or "}


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


def allow_all(name: str) -> bool:
    """Return True: every tool is visible to a caller that cannot be authenticated."""
    return True
