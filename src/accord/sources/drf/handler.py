"""Django's own handler around a view: it resolves the URL, calls the view and renders the response.

Inside a request of Django's, middleware has had its turn, and only the view is called. Elsewhere a
request goes the whole way, through the project's middleware.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.core.signals import request_started
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import get_urlconf, set_urlconf

from accord.sources.drf.routes import Route

T = TypeVar("T")


class _Handler(BaseHandler):  # type: ignore[misc]  # Django has no types
    """A handler that goes nowhere but to the view that is meant."""

    def resolve_request(self, request: Any) -> Any:
        match = super().resolve_request(request)
        if match.func is not request.accord_view:
            raise Http404("another view has this URL")
        return match


class ViewAlone(_Handler):
    """Calls the view and nothing around it."""

    def __init__(self) -> None:
        super().__init__()
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._respond = convert_exception_to_response(self._get_response)

    @contextmanager
    def response(self, route: Route, request: HttpRequest) -> Iterator[HttpResponse]:
        """What the view says. The request around it goes on, so none has ended yet."""
        before = get_urlconf()
        _aim(route, request)
        try:
            response = self._respond(request)
        finally:
            set_urlconf(before)
        with ExitStack() as stack:
            for close in (request.close, *response._resource_closers):
                stack.callback(close)
            yield response


class WholeWay(_Handler):
    """Goes through the project's middleware, as a server would, database connections and all."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()

    @contextmanager
    def response(self, route: Route, request: HttpRequest) -> Iterator[HttpResponse]:
        """What comes back, to the end of the request, when connections are let go."""
        _aim(route, request)
        request_started.send(sender=type(self), environ=request.META)
        with closing(self.get_response(request)) as response:
            yield response


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


def _aim(route: Route, request: Any) -> None:
    request.accord_view = route.callback
    if route.urlconf is not None:
        request.urlconf = route.urlconf
    elif hasattr(request, "urlconf") and request.urlconf == settings.ROOT_URLCONF:
        del request.urlconf
