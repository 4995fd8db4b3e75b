"""Django request handlers that resolve a URL, call its view and render the response.

Inside a Django request, Django's own middleware has already run, so only the project's middleware
runs again: it may depend on the URL, or keep the current request. Outside of a Django request all
middleware runs.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.core.signals import request_started
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_urlconf, set_urlconf
from django.utils import translation
from django.utils.module_loading import import_string

from accord.sources.drf.requests import skips_permissions
from accord.sources.drf.routes import ViewRoute

T = TypeVar("T")


def _allow(view: Any, request: Any) -> None:
    """Permit a request."""


def _without_permissions(route: ViewRoute) -> Callable[..., Any]:
    """Return a route's view without its permissions; those of objects are checked.

    A view in a decorator is returned as it is, since the decorator may check the caller.
    """
    members = {"check_permissions": _allow, "__module__": route.view.__module__}
    open_view: Any = type(route.view.__name__, (route.view,), members)
    actions = () if route.actions is None else (dict(route.actions),)
    view: Callable[..., Any] = open_view.as_view(*actions, **route.initkwargs)
    if _functions(view) != _functions(route.callback):
        decorated: Callable[..., Any] = route.callback
        return decorated
    vars(view).update(vars(route.callback))  # marks for middleware
    return view


def _functions(view: Any) -> list[Any]:
    """Return the code of a function and of those that it wraps."""
    found = []
    while view is not None:
        found.append(getattr(view, "__code__", view))
        view = getattr(view, "__wrapped__", None)
    return found


class _Handler(BaseHandler):  # type: ignore[misc]  # Django has no types
    """A handler that calls only the view of the request's route."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[ViewRoute, Any] = {}
        self._open: dict[ViewRoute, Callable[..., Any]] = {}

    def resolve_request(self, request: Any) -> Any:
        """Return the view of a URL with its arguments; cached if the route has no parameters."""
        route = request.accord_route
        match = self._found.get(route)
        if match is None:
            match = super().resolve_request(request)
            if match.func is not route.callback:
                raise Http404("another view has this URL")
            if route.is_fixed:
                self._found[route] = match
        request.resolver_match = match
        if skips_permissions(request):
            return self._open_view(route), match.args, match.kwargs
        return match

    def _open_view(self, route: ViewRoute) -> Callable[..., Any]:
        view = self._open.get(route)
        if view is None:
            view = self._open[route] = _without_permissions(route)
        return view


class NestedDispatch(_Handler):
    """Calls a view inside another Django request, with the project's own middleware."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        own_middleware = [each for each in settings.MIDDLEWARE if not each.startswith("django.")]
        inner = convert_exception_to_response(self._get_response if own_middleware else self._call)
        self._respond = self._wrap_in_middleware(inner, own_middleware)

    def _wrap_in_middleware(self, handler: Any, own_middleware: list[str]) -> Any:
        """Return a handler wrapped in middleware, as `load_middleware` does."""
        for each in reversed(own_middleware):
            kind = import_string(each)
            is_async = not getattr(kind, "sync_capable", True)
            try:
                made = kind(self.adapt_method_mode(is_async, handler))
            except MiddlewareNotUsed:
                continue
            for method, known in (
                ("process_view", self._view_middleware),
                ("process_template_response", self._template_response_middleware),
                ("process_exception", self._exception_middleware),
            ):
                if hasattr(made, method):
                    known.append(self.adapt_method_mode(False, getattr(made, method)))
            handler = convert_exception_to_response(self.adapt_method_mode(False, made, is_async))
        self._view_middleware.reverse()
        return handler

    def call(self, route: ViewRoute, request: Any, read: Callable[[HttpResponse], T]) -> T:
        """Call the view and return what `read` makes of the response, before it is closed."""
        request.accord_route = route
        response = (
            self._respond(request)
            if route.urlconf is None
            else self._respond_with_urlconf(route, request)
        )
        try:
            return read(response)
        finally:
            for close in (*response._resource_closers, request.close):
                close()

    def _respond_with_urlconf(self, route: ViewRoute, request: Any) -> Any:
        """Call the view with the URLconf of an unmounted router, then restore the project's."""
        before = get_urlconf()
        request.urlconf = route.urlconf
        try:
            return self._respond(request)
        finally:
            set_urlconf(before)

    def _call(self, request: Any) -> Any:
        callback, args, kwargs = self.resolve_request(request)
        response = self._view(callback)(request, *args, **kwargs)
        if not isinstance(response, HttpResponseBase):
            self.check_response(response, callback)
        return response.render() if callable(getattr(response, "render", None)) else response

    def _view(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the view, in a transaction if the project has ATOMIC_REQUESTS."""
        view = self._views.get(callback)
        if view is None:
            view = self.make_view_atomic(callback)
            view = async_to_sync(view) if iscoroutinefunction(view) else view
            self._views[callback] = view
        return view


class FullDispatch(_Handler):
    """Calls a view through all middleware and request signals, as a Django server does."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()

    def call(self, route: ViewRoute, request: Any, read: Callable[[HttpResponse], T]) -> T:
        """Call the view and return what `read` makes of the response, before the request ends."""
        request.accord_route = route
        if route.urlconf is not None:
            request.urlconf = route.urlconf
        request_started.send(sender=type(self), environ=request.META)
        before = translation.get_language()
        response = self.get_response(request)
        try:
            return read(response)
        finally:
            response.close()
            if before is not None:  # the thread serves other requests next
                translation.activate(before)


class MiddlewareProbe(BaseHandler):  # type: ignore[misc]  # Django has no types
    """Runs a function in place of a view, after all middleware."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()

    def run(self, request: Any, work: Callable[[HttpRequest], T]) -> T | None:
        """Return the function's result; None if middleware rejects the request."""
        found: list[T] = []
        request.accord_probe = lambda inner: found.append(work(inner))
        request_started.send(sender=type(self), environ=request.META)
        self.get_response(request).close()
        return found[0] if found else None

    def _get_response(self, request: Any) -> HttpResponse:
        vars(request).pop("accord_probe")(request)
        return HttpResponse(status=204)
