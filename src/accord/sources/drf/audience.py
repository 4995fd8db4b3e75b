"""Who may use which tool, as far as a view says so without being called."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from rest_framework.exceptions import APIException

from accord.sources.drf.requests import Ask, within
from accord.sources.drf.routes import WITH_BODY, Route
from accord.sources.drf.views import prepared


class Judge:
    """Knows which tools are for the sender of one request; each caller is identified once."""

    def __init__(self, routes: Mapping[str, Route], request: HttpRequest) -> None:
        self._routes = routes
        self._request = request
        self._known: dict[tuple[type, ...], tuple[Any, Any]] = {}

    def __call__(self, name: str) -> bool:
        """Whether the caller may use a tool; yes where that depends on more than who it is."""
        try:
            return self._may(self._routes[name])
        except APIException as refusal:
            return refusal.status_code not in (401, 403)
        except PermissionDenied:
            return False
        except Http404:
            return True
        except Exception:  # noqa: BLE001 - a permission that looks at what only a call has
            return True

    def _may(self, route: Route) -> bool:
        request = within(self._request, Ask(route.method, f"/{route.template}"))
        view = prepared(route, request)
        self._identify(view)
        if route.names:
            view.kwargs = view.request.parser_context["kwargs"] = _Unsaid()
        if route.method in WITH_BODY:
            view.request._data = view.request._full_data = _Unsaid()
        view.check_permissions(view.request)
        return True

    def _identify(self, view: Any) -> None:
        """Authenticate as the view does, or remember how another with the same ways did."""
        ways = tuple(type(each) for each in view.request.authenticators or ())
        known = self._known.get(ways)
        if known is None:
            known = self._known[ways] = (view.request.user, view.request.auth)
        view.request.user, view.request.auth = known


class _Undecided(Exception):
    """Whether a caller may depends on what only a call says."""


class _Unsaid:
    """What only a call says: a permission that looks at it does not go by the caller alone."""

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


def everything(name: str) -> bool:
    """Who cannot be told from others sees what there is."""
    return True


Judging = Callable[[str], bool]
