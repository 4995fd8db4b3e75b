"""The ways into a project: views of the REST framework, each with a URL, a method, an action."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import LocalePrefixPattern
from django.utils import translation
from django.utils.regex_helper import normalize
from rest_framework.routers import APIRootView
from rest_framework.settings import api_settings
from rest_framework.views import APIView

_METHODS: Final = ("get", "post", "put", "patch", "delete")
WITH_BODY: Final = ("post", "put", "patch")
_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
_ABOUT_THE_API: Final = ("rest_framework.schemas.", "drf_spectacular.views", "drf_yasg.")


class NoWay(Exception):
    """A view that cannot be a tool, and why."""


class Route:
    """One method of one view at one URL."""

    def __init__(self, pieces: tuple[Any, ...], url: URLPattern, method: str, urlconf: Any) -> None:
        self.pieces = pieces
        self.callback = url.callback
        self.method = method
        self.urlconf = urlconf
        """None for the project's own; else patterns that are mounted nowhere."""
        self.view: type[APIView] = url.callback.cls
        self.initkwargs: Mapping[str, Any] = getattr(url.callback, "initkwargs", {})
        actions = getattr(url.callback, "actions", None)
        self.is_viewset = actions is not None
        self.actions: Mapping[str, str] | None = actions
        self.action: str = actions[method] if actions else method

    @property
    def handler(self) -> Any:
        """The function of the view that does the work."""
        return getattr(self.view, self.action)

    @property
    def place(self) -> str:
        """What this is, for a person who has to find it."""
        return f"{self.view.__module__}.{self.view.__qualname__}.{self.action} at /{self.template}"

    @cached_property
    def template(self) -> str:
        """The URL with its parameters in braces: `customers/{pk}/`."""
        return _braced(self._forms[-1])

    @cached_property
    def own_template(self) -> str:
        """The part of it that the view was registered with, without what it is mounted at."""
        for count in range(1, len(self.pieces)):
            forms = _forms(self.pieces[-count:])
            if forms and _PARAMETER.sub("", forms[-1]).strip("/"):
                return _braced(forms[-1])
        return self.template

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters in the URL."""
        return _names(self._forms[-1])

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Those that it does not go without."""
        return _names(self._forms[0])

    @cached_property
    def _forms(self) -> list[str]:
        forms = _forms(self.pieces)
        if not forms:
            raise NoWay("its URL has groups without a name")
        return forms

    @cached_property
    def regex(self) -> str:
        """What its URL looks like."""
        return _joined(self.pieces)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        try:
            return re.compile(self.regex)
        except re.error as error:
            raise NoWay(f"its URL is no regular expression once it is whole: {error}") from error

    @cached_property
    def _is_translated(self) -> bool:
        return any(isinstance(piece, LocalePrefixPattern) for piece in self.pieces)

    @cached_property
    def is_fixed(self) -> bool:
        """Whether its URL is always the same."""
        return not self.names and not self._is_translated

    @cached_property
    def _fixed(self) -> str:
        return f"/{self._forms[0]}"

    @cached_property
    def accept(self) -> str:
        """What to ask for: JSON, and whatever there is where a view has none."""
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
        """What reads a parameter of the URL; None where that is a regular expression."""
        return self._converters.get(name)

    def require_way(self) -> None:
        """Raise if there is no telling what its URL looks like."""
        for form in self._forms:
            if not _names(form) and self._regex.search(form) is None:
                raise NoWay("its URL is a choice of several")

    def path(self, kwargs: Mapping[str, Any]) -> str | None:
        """The URL's path for these parameters; None if it would not lead back to them."""
        if self.is_fixed:
            return self._fixed
        written = {name: self._written(name, value) for name, value in kwargs.items()}
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

    def _written(self, name: str, value: Any) -> str:
        converter = self.converter(name)
        try:
            return str(value) if converter is None else str(converter.to_url(value))
        except (TypeError, ValueError, AttributeError):  # it takes the value that it reads, no text
            return str(value)


def _language() -> str:
    """The language of the moment, as middleware will name it: `en`, where there is no `en-us`."""
    now: str = translation.get_language() or settings.LANGUAGE_CODE
    if not any(each.endswith("LocaleMiddleware") for each in settings.MIDDLEWARE):
        return now
    try:
        return str(translation.get_supported_language_variant(now))
    except LookupError:
        return now


class Routes(msgspec.Struct, frozen=True):
    """What was found, and what of it cannot be a tool."""

    found: tuple[Route, ...]
    skipped: tuple[str, ...] = ()


def routes_of(router: Any = None) -> Routes:
    """The routes of a router, or of all the project's URLs."""
    resolver = get_resolver()
    every = list(_walk(resolver.url_patterns, (), None))
    if router is None:
        return _usable(every)
    return _usable(_of_router(router, every))


def _of_router(router: Any, every: list[Route]) -> list[Route]:
    """The routes of a router where the project has mounted it; by themselves if it has not."""
    mounted = {id(url.callback) for url in _patterns(router.urls)}
    found = [route for route in every if id(route.callback) in mounted]
    if found:
        return found
    viewsets = {(view, basename) for _, view, basename in router.registry}
    found = [r for r in every if (r.view, r.initkwargs.get("basename")) in viewsets]
    if found:
        return found
    urlconf = _Mounted(list(router.urls))
    return list(_walk(urlconf.urlpatterns, (), urlconf))


class _Mounted:
    """URL patterns of their own, as Django's resolver takes them."""

    def __init__(self, urlpatterns: list[Any]) -> None:
        self.urlpatterns = urlpatterns


def _patterns(urls: Iterable[Any]) -> Iterator[URLPattern]:
    for url in urls:
        if isinstance(url, URLResolver):
            yield from _patterns(url.url_patterns)
        else:
            yield url


def _walk(urls: Iterable[Any], pieces: tuple[Any, ...], urlconf: Any) -> Iterator[Route]:
    for url in urls:
        here = (*pieces, url.pattern)
        if isinstance(url, URLResolver):
            yield from _walk(url.url_patterns, here, urlconf)
        elif _is_api(url.callback):
            for method in _methods(url.callback):
                yield Route(here, url, method, urlconf)


def _is_api(callback: Any) -> bool:
    view: Any = getattr(callback, "cls", None)
    if not (isinstance(view, type) and issubclass(view, APIView)):
        return False
    about = any(kind.__module__.startswith(_ABOUT_THE_API) for kind in view.__mro__)
    if about or issubclass(view, APIRootView):
        return False
    is_viewset = getattr(callback, "actions", None) is not None
    return is_viewset or getattr(view, "schema", None) is not None


def _methods(callback: Any) -> list[str]:
    view, actions = callback.cls, getattr(callback, "actions", None)
    allowed = getattr(callback, "initkwargs", {}).get("http_method_names", view.http_method_names)
    has = actions if actions is not None else vars_of(view)
    return [method for method in _METHODS if method in has and method in allowed]


def vars_of(view: type) -> frozenset[str]:
    """The methods that a view has."""
    return frozenset(method for method in _METHODS if callable(getattr(view, method, None)))


def _usable(routes: Iterable[Route]) -> Routes:
    found: list[Route] = []
    skipped: dict[str, None] = {}
    owners: dict[str, Any] = {}
    for route in routes:
        try:
            if not _is_suffixed(route):
                route.require_way()
                owner = owners.setdefault(route.regex, route)
                if owner.pieces is route.pieces:
                    found.append(route)
                elif owner.callback is not route.callback:
                    raise NoWay(f"/{route.template} leads to {owner.view.__qualname__} before it")
        except NoWay as reason:
            view = route.view
            skipped[f"{view.__module__}.{view.__qualname__} is left out: {reason}"] = None
    return Routes(tuple(found), tuple(skipped))


def _is_suffixed(route: Route) -> bool:
    """Whether it is the twin of another route that says the format in its URL (`.json`)."""
    suffix = api_settings.FORMAT_SUFFIX_KWARG
    return bool(suffix) and route.template.rstrip("/").endswith(f"{{{suffix}}}")


def _joined(pieces: Iterable[Any]) -> str:
    return "".join(piece.regex.pattern.removeprefix("^") for piece in pieces)


def _forms(pieces: tuple[Any, ...]) -> list[str]:
    """How the URL can be written, by named parameters alone; the form with most of them is last."""
    forms = sorted(normalize(_joined(pieces)), key=lambda form: len(form[1]))
    return [form for form, names in forms if not any(name.startswith("_") for name in names)]


def _names(form: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PARAMETER.findall(form)))


def _braced(form: str) -> str:
    return _PARAMETER.sub(r"{\1}", form)
