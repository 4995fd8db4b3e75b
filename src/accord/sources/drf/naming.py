"""What tools are called: `customers_list`, by the prefix of a router and an action of a viewset."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final

from django.utils.regex_helper import normalize

from accord.errors import ContractError
from accord.sources.drf.marks import mark_of
from accord.sources.drf.routes import Route

_LONGEST: Final = 64
_ODD: Final = re.compile(r"[^A-Za-z0-9_]+")
_VERBS: Final = {
    "get": ("list", "retrieve"),
    "post": ("create",),
    "put": ("update",),
    "patch": ("partial_update",),
    "delete": ("destroy",),
}
"""What generic views call their methods."""


def name_all(routes: Sequence[Route]) -> dict[str, Route]:
    """Each route by the name of its tool.

    Those that would share one say where they are mounted; if that is not enough, their whole URL
    with its parameters; and as a last resort, which of them they are. What an author has named
    keeps its name.
    """
    names = [name_of(route) for route in routes]
    for longer in (_with_mount, _with_parameters):
        counts = Counter(names)
        names = [
            longer(name, route) if counts[name] > 1 and not _is_given(route) else name
            for name, route in zip(names, routes, strict=True)
        ]
    named: dict[str, Route] = {}
    found = Counter[str]()
    for name, route in zip(names, routes, strict=True):
        if not _is_given(route):
            found[name] += 1
            name = _fitting([name, found[name]]) if found[name] > 1 else name  # noqa: PLW2901 - a number
        if name in named:
            raise ContractError(
                f"two tools are named {name!r}: {named[name].place} and {route.place}"
            )
        named[name] = route
    return named


def name_of(route: Route) -> str:
    """The name of a route's tool, as long as it is the only one that would have it."""
    given = mark_of(route.handler).name
    if given:
        return f"{given}_{route.method}" if _is_second(route) else given
    parts = [*_prefix(route), *_action(route)]
    return _fitting([*parts, route.method] if _is_second(route) else parts)


def _is_given(route: Route) -> bool:
    return mark_of(route.handler).name is not None


def _with_mount(name: str, route: Route) -> str:
    return _fitting([*_mount(route), name])


def _with_parameters(name: str, route: Route) -> str:
    segments = _segments(route.template)
    action = _action(route)
    if route.is_viewset and segments[-1:] == action:
        segments.pop()
    parts = [*segments, *action]
    return _fitting([*parts, route.method] if _is_second(route) else parts)


def _is_second(route: Route) -> bool:
    """Whether one function serves several methods, and this is not the first of them."""
    if route.actions is None:
        return False
    methods = [m for m in _VERBS if route.actions.get(m) == route.action]
    return methods[0] != route.method


def _prefix(route: Route) -> list[str]:
    given = mark_of(route.view).name
    if given:
        return [given]
    segments = _segments(route.own_template)
    segments = segments[: len(segments) - len(_segments(_url_path(route)))]
    words = [segment for segment in segments if "{" not in segment]
    if route.is_viewset and len(words) > 1 and words[-1] == route.action:
        words.pop()
    return words


def _url_path(route: Route) -> str:
    """The end of a URL that an `@action` has added, whichever method of it this is."""
    for action in (route.actions or {}).values():
        url_path = getattr(getattr(route.view, action, None), "url_path", None)
        if isinstance(url_path, str):
            return str(normalize(url_path)[0][0])
    return ""


def _action(route: Route) -> list[str]:
    if route.is_viewset:
        return [route.action]
    verb = next((verb for verb in _VERBS[route.method] if hasattr(route.view, verb)), None)
    return [verb or route.method]


def _mount(route: Route) -> list[str]:
    """What stands before the view's own part of the URL."""
    before = route.template.removesuffix(route.own_template)
    return [segment for segment in _segments(before) if "{" not in segment]


def _segments(template: str) -> list[str]:
    return [segment for segment in template.split("/") if segment]


def _fitting(parts: Iterable[Any]) -> str:
    """The parts as one name; of a longer one, the beginning and a digest of the whole."""
    name = "_".join(_ODD.sub("_", str(part)).strip("_") for part in parts if part)
    if len(name) <= _LONGEST:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: _LONGEST - len(digest) - 1]}_{digest}"
