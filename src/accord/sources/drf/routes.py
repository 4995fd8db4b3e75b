"""Routes of a project: Django REST framework views, each with URL, method and action."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import LocalePrefixPattern
from django.utils import translation
from django.utils.regex_helper import normalize
from rest_framework.routers import APIRootView, SimpleRouter
from rest_framework.settings import api_settings
from rest_framework.views import APIView

_METHODS: Final = ("get", "post", "put", "patch", "delete")
WITH_BODY: Final = ("post", "put", "patch")
_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
_SCHEMA_MODULES: Final = ("rest_framework.schemas.", "drf_spectacular.views", "drf_yasg.")


class UnusableRoute(Exception):
    """A view cannot be exposed as a tool; the message has the reason."""


class ViewRoute:
    """One method of one view at one URL."""

    def __init__(self, pieces: tuple[Any, ...], url: URLPattern, method: str, urlconf: Any) -> None:
        self.pieces = pieces
        self.callback: Callable[..., Any] = url.callback
        self.method = method
        self.urlconf = urlconf
        """None for the project's URLconf; else that of an unmounted router."""
        self.view: type[APIView] = url.callback.cls
        self.initkwargs: Mapping[str, Any] = getattr(url.callback, "initkwargs", {})
        actions = getattr(url.callback, "actions", None)
        self.is_viewset: bool = actions is not None
        self.actions: Mapping[str, str] | None = actions
        self.action: str = actions[method] if actions else method

    @property
    def handler(self) -> Any:
        """The view's function for this method."""
        return getattr(self.view, self.action)

    @property
    def location(self) -> str:
        """The view, action and URL, for messages."""
        return f"{self.view.__module__}.{self.view.__qualname__}.{self.action} at /{self.template}"

    @cached_property
    def template(self) -> str:
        """The URL with its parameters in braces: `customers/{pk}/`."""
        return _braced(self._forms[-1])

    @cached_property
    def view_template(self) -> str:
        """The part of the URL that the view is registered with, without its mount prefix."""
        for count in range(1, len(self.pieces)):
            forms = _forms(self.pieces[-count:])
            if forms and _PARAMETER.sub("", forms[-1]).strip("/"):
                return _braced(forms[-1])
        return self.template

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the URL's parameters."""
        return _names(self._forms[-1])

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the URL's required parameters."""
        return _names(self._forms[0])

    @cached_property
    def _forms(self) -> list[str]:
        forms = _forms(self.pieces)
        if not forms:
            raise UnusableRoute("its URL has unnamed groups")
        return forms

    @cached_property
    def regex(self) -> str:
        """The URL's whole regular expression."""
        return _joined(self.pieces)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        try:
            return re.compile(self.regex)
        except re.error as error:
            raise UnusableRoute(f"its URL is not a valid regular expression: {error}") from error

    @cached_property
    def _is_translated(self) -> bool:
        return any(isinstance(piece, LocalePrefixPattern) for piece in self.pieces)

    @cached_property
    def is_fixed(self) -> bool:
        """True if the URL has no parameters and no language prefix."""
        return not self.names and not self._is_translated

    @cached_property
    def _fixed(self) -> str:
        return f"/{self._forms[0]}"

    @cached_property
    def accept(self) -> str:
        """The Accept header: JSON, and any type if the view may not render JSON."""
        kinds = self.initkwargs.get("renderer_classes", self.view.renderer_classes)
        is_known = self.view.get_renderers is APIView.get_renderers
        has_json = any(kind.media_type == "application/json" for kind in kinds)
        return "application/json" if is_known and has_json else "application/json, */*"

    @cached_property
    def _converters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for piece in self.pieces:
            found |= piece.converters
        return found

    def converter(self, name: str) -> Any:
        """Return the path converter of a parameter; None if it is a regular expression."""
        return self._converters.get(name)

    def require_usable(self) -> None:
        """Raise if the URL cannot be built from its parameters."""
        for form in self._forms:
            if not _names(form) and self._regex.search(form) is None:
                raise UnusableRoute("its URL has alternatives")

    def path(self, kwargs: Mapping[str, Any]) -> str | None:
        """Return the path for these parameters; None if it would not resolve to them."""
        if self.is_fixed:
            return self._fixed
        written = {name: self._to_url(name, value) for name, value in kwargs.items()}
        forms, regex = self._forms, self._regex
        if self._is_translated:
            with translation.override(_language()):
                forms, regex = _forms(self.pieces), re.compile(_joined(self.pieces))
        form = next((form for form in forms if set(_names(form)) == written.keys()), None)
        if form is None:
            return None
        path = _PARAMETER.sub(lambda found: written[found[1]], form)
        match = regex.search(path)
        is_same = match is not None and all(match[name] == written[name] for name in written)
        return f"/{path}" if is_same else None

    def _to_url(self, name: str, value: Any) -> str:
        converter = self.converter(name)
        try:
            return str(value) if converter is None else str(converter.to_url(value))
        except (
            TypeError,
            ValueError,
            AttributeError,
        ):  # the converter takes its own type, not text
            return str(value)


def _language() -> str:
    """Return the active language as LocaleMiddleware names it: `en` if there is no `en-us`."""
    now: str = translation.get_language() or settings.LANGUAGE_CODE
    if not any(each.endswith("LocaleMiddleware") for each in settings.MIDDLEWARE):
        return now
    try:
        return str(translation.get_supported_language_variant(now))
    except LookupError:
        return now


class ViewRoutes(msgspec.Struct, frozen=True):
    """The usable routes, and why others were skipped."""

    found: tuple[ViewRoute, ...]
    skipped: tuple[str, ...] = ()


def routes_of(router: Any = None) -> ViewRoutes:
    """Return the routes of a router, or of all the project's URLs."""
    resolver = get_resolver()
    routes = list(_walk(resolver.url_patterns, (), None))
    if router is None:
        return _select_usable(routes)
    return _select_usable(_of_router(router, routes))


def _of_router(router: Any, routes: list[ViewRoute]) -> list[ViewRoute]:
    """Return a router's routes where the project mounts it; at the root if it does not."""
    mounted = {id(url.callback) for url in _patterns(router.urls)}
    found = [route for route in routes if id(route.callback) in mounted]
    if found:
        return found
    viewsets = {(view, basename) for _, view, basename in router.registry}
    found = [r for r in routes if (r.view, r.initkwargs.get("basename")) in viewsets]
    if found:
        return found
    return _unmounted(list(router.urls))


def views_with_url() -> frozenset[type]:
    """Return the classes of the views in the project's URLs, of those that are skipped too."""
    return frozenset(
        view
        for url in _patterns(get_resolver().url_patterns)
        if isinstance(view := getattr(url.callback, "cls", None), type)
    )


def routes_of_viewsets(viewsets: Mapping[type, str]) -> ViewRoutes:
    """Return the routes of viewsets that have no URL, each by its basename."""
    router = SimpleRouter()
    for viewset, basename in viewsets.items():
        router.register(basename, viewset, basename=basename)
    return _select_usable(_unmounted(list(router.urls)))


def _unmounted(urls: list[Any]) -> list[ViewRoute]:
    return list(_walk(urls, (), _ExtendedURLconf(urls)))


class _ExtendedURLconf:
    """A URLconf with patterns that the project does not mount, and then the project's own."""

    def __init__(self, urls: list[Any]) -> None:
        self.urlpatterns = [*urls, *get_resolver().url_patterns]


def _patterns(urls: Iterable[Any]) -> Iterator[URLPattern]:
    for url in urls:
        if isinstance(url, URLResolver):
            yield from _patterns(url.url_patterns)
        else:
            yield url


def _walk(urls: Iterable[Any], pieces: tuple[Any, ...], urlconf: Any) -> Iterator[ViewRoute]:
    for url in urls:
        here = (*pieces, url.pattern)
        if isinstance(url, URLResolver):
            yield from _walk(url.url_patterns, here, urlconf)
        elif _is_api(url.callback):
            for method in _methods(url.callback):
                yield ViewRoute(here, url, method, urlconf)


def _is_api(callback: Any) -> bool:
    view: Any = getattr(callback, "cls", None)
    if not (isinstance(view, type) and issubclass(view, APIView)):
        return False
    about = any(kind.__module__.startswith(_SCHEMA_MODULES) for kind in view.__mro__)
    if about or issubclass(view, APIRootView):
        return False
    is_viewset = getattr(callback, "actions", None) is not None
    return is_viewset or getattr(view, "schema", None) is not None


def _methods(callback: Any) -> list[str]:
    view, actions = callback.cls, getattr(callback, "actions", None)
    allowed = getattr(callback, "initkwargs", {}).get("http_method_names", view.http_method_names)
    has = actions if actions is not None else methods_of(view)
    return [method for method in _METHODS if method in has and method in allowed]


def methods_of(view: type) -> frozenset[str]:
    """Return the HTTP methods that a view implements."""
    return frozenset(method for method in _METHODS if callable(getattr(view, method, None)))


def _select_usable(routes: Iterable[ViewRoute]) -> ViewRoutes:
    found: list[ViewRoute] = []
    skipped: dict[str, None] = {}
    owners: dict[str, Any] = {}
    for route in routes:
        try:
            if not _is_suffixed(route):
                route.require_usable()
                owner = owners.setdefault(route.regex, route)
                if owner.pieces is route.pieces:
                    found.append(route)
                elif owner.callback is not route.callback:
                    raise UnusableRoute(f"/{route.template} resolves to {owner.view.__qualname__}")
        except UnusableRoute as reason:
            view = route.view
            skipped[f"{view.__module__}.{view.__qualname__} is skipped: {reason}"] = None
    return ViewRoutes(tuple(found), tuple(skipped))


def _is_suffixed(route: ViewRoute) -> bool:
    """True if the URL ends in a format suffix (`.json`): another route has the same view."""
    suffix = api_settings.FORMAT_SUFFIX_KWARG
    return bool(suffix) and route.template.rstrip("/").endswith(f"{{{suffix}}}")


def _joined(pieces: Iterable[Any]) -> str:
    return "".join(piece.regex.pattern.removeprefix("^") for piece in pieces)


def _forms(pieces: tuple[Any, ...]) -> list[str]:
    """Return the URL's forms that have only named parameters, that with most of them last."""
    forms = sorted(normalize(_joined(pieces)), key=lambda form: len(form[1]))
    return [form for form, names in forms if not any(name.startswith("_") for name in names)]


def _names(form: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PARAMETER.findall(form)))


def _braced(form: str) -> str:
    return _PARAMETER.sub(r"{\1}", form)
