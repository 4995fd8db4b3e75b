"""Django's own handler around a view: it resolves the URL, calls the view and renders the response.

Inside a request of Django's, Django's own middleware has had its turn, and found out what it would
find out again. Any other may go by the URL, or hold on to the request for whoever asks who it is
from, so it gets to see each call. Elsewhere a request goes the whole way.
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

from accord.sources.drf.routes import Route

T = TypeVar("T")


class _Handler(BaseHandler):  # type: ignore[misc]  # Django has no types
    """A handler that goes nowhere but to the view that is meant."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[Route, Any] = {}

    def resolve_request(self, request: Any) -> Any:
        """Find the view of a URL; where there are no parameters, once for all."""
        route = request.accord_route
        match = self._found.get(route)
        if match is not None:
            request.resolver_match = match
            return match
        match = super().resolve_request(request)
        if match.func is not route.callback:
            raise Http404("another view has this URL")
        if route.is_fixed:
            self._found[route] = match
        return match


class Within(_Handler):
    """Calls the view inside another request, with the project's own middleware around it."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Route, Callable[..., Any]] = {}
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        foreign = [each for each in settings.MIDDLEWARE if not each.startswith("django.")]
        inner = convert_exception_to_response(self._get_response if foreign else self._call)
        self._respond = self._surrounded(inner, foreign)

    def _surrounded(self, handler: Any, foreign: list[str]) -> Any:
        """A handler with middleware around it, as `load_middleware` does it with all there is."""
        for each in reversed(foreign):
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

    def ask(self, route: Route, request: Any, read: Callable[[HttpResponse], T]) -> T:
        """What the view says, read before it is let go. The request around it has not ended."""
        request.accord_route = route
        response = self._respond(request) if route.urlconf is None else self._apart(route, request)
        try:
            return read(response)
        finally:
            for close in (*response._resource_closers, request.close):
                close()

    def _apart(self, route: Route, request: Any) -> Any:
        """By URLs that are mounted nowhere, and those of the project again after that."""
        before = get_urlconf()
        request.urlconf = route.urlconf
        try:
            return self._respond(request)
        finally:
            set_urlconf(before)

    def _call(self, request: Any) -> Any:
        match = self.resolve_request(request)
        response = self._view(request.accord_route)(request, *match.args, **match.kwargs)
        if not isinstance(response, HttpResponseBase):
            self.check_response(response, match.func)
        return response.render() if callable(getattr(response, "render", None)) else response

    def _view(self, route: Route) -> Callable[..., Any]:
        """The view in a transaction, where the project wants one for each request."""
        view = self._views.get(route)
        if view is None:
            view = self.make_view_atomic(route.callback)
            view = async_to_sync(view) if iscoroutinefunction(view) else view
            self._views[route] = view
        return view


class WholeWay(_Handler):
    """Goes through the project's middleware, as a server would, database connections and all."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()

    def ask(self, route: Route, request: Any, read: Callable[[HttpResponse], T]) -> T:
        """What comes back, read before the request ends and connections are let go."""
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
            if before is not None:  # the thread will serve others, whose language is their own
                translation.activate(before)


class Inside(BaseHandler):  # type: ignore[misc]  # Django has no types
    """Does something where a view would be, once middleware has looked at the request."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()

    def run(self, request: Any, work: Callable[[HttpRequest], T]) -> T | None:
        """What the work comes to; None if middleware does not let the request through."""
        found: list[T] = []
        request.accord_work = lambda inner: found.append(work(inner))
        request_started.send(sender=type(self), environ=request.META)
        self.get_response(request).close()
        return found[0] if found else None

    def _get_response(self, request: Any) -> HttpResponse:
        vars(request).pop("accord_work")(request)
        return HttpResponse(status=204)
