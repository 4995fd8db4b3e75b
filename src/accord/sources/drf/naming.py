"""Tool names (`customers_list`, from URL and action), and the decorators that set them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec
from django.utils.regex_helper import normalize

from accord.errors import ContractError
from accord.sources.drf.routes import ViewRoute

_ATTRIBUTE: Final = "accord_options"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_MAX_LENGTH: Final = 64
_INVALID: Final = re.compile(r"[^A-Za-z0-9_]+")
_VERBS: Final = {
    "get": ("list", "retrieve"),
    "post": ("create",),
    "put": ("update",),
    "patch": ("partial_update",),
    "delete": ("destroy",),
}
"""The actions of generic views, by HTTP method."""


class DecoratorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that a decorator sets on a viewset or an action."""

    name: str | None = None
    """The tool name of an action, or the name prefix of a viewset."""
    description: str | None = None
    title: str | None = None
    actions: frozenset[str] | None = None
    """The actions of a viewset that are tools; None for all."""


_NO_OPTIONS: Final = DecoratorOptions()


def mcp_viewset(
    *, actions: Iterable[str] | None = None, name: str | None = None
) -> Callable[[Decorated], Decorated]:
    """Choose which `actions` of a viewset are tools, and the prefix of their names.

    For a view that is not a viewset, actions are its methods: `get`, `post`.
    """
    if isinstance(actions, str):
        raise ContractError(f"actions must be a list: [{actions!r}]")

    def decorate(viewset: Decorated) -> Decorated:
        chosen = None if actions is None else frozenset(actions)
        for action in sorted(chosen or ()):
            if not hasattr(viewset, action):
                raise ContractError(f"{viewset.__name__} has no action {action!r}")
        setattr(viewset, _ATTRIBUTE, DecoratorOptions(name=name, actions=chosen))
        return viewset

    return decorate


def mcp_tool(
    *, name: str | None = None, description: str | None = None, title: str | None = None
) -> Callable[[Decorated], Decorated]:
    """Set the name, description and title of an action's tool."""

    def decorate(action: Decorated) -> Decorated:
        setattr(
            action, _ATTRIBUTE, DecoratorOptions(name=name, description=description, title=title)
        )
        return action

    return decorate


def options_of(decorated: Any) -> DecoratorOptions:
    """Return the options set on a view or an action; a class inherits those of its bases."""
    options = getattr(decorated, _ATTRIBUTE, None)
    return options if isinstance(options, DecoratorOptions) else _NO_OPTIONS


def has_options(view: type, action: str) -> bool:
    """True if the action or its view has options."""
    return hasattr(view, _ATTRIBUTE) or hasattr(getattr(view, action, None), _ATTRIBUTE)


def name_all(routes: Sequence[ViewRoute]) -> dict[str, ViewRoute]:
    """Return each route by its tool name.

    Routes that would share a name get their mount prefix; if that is not enough, their whole URL
    with its parameters; at last a number. Names set by a decorator are kept.
    """
    names = [name_of(route) for route in routes]
    for longer in (_with_mount, _with_parameters):
        counts = Counter(names)
        names = [
            longer(name, route) if counts[name] > 1 and not _has_given_name(route) else name
            for name, route in zip(names, routes, strict=True)
        ]
    named: dict[str, ViewRoute] = {}
    found = Counter[str]()
    for name, route in zip(names, routes, strict=True):
        if not _has_given_name(route):
            found[name] += 1
            name = _join_name([name, found[name]]) if found[name] > 1 else name  # noqa: PLW2901 - a number
        if name in named:
            raise ContractError(
                f"two tools are named {name!r}: {named[name].location} and {route.location}"
            )
        named[name] = route
    return named


def name_of(route: ViewRoute) -> str:
    """Return the tool name of a route, without regard to other routes."""
    given = options_of(route.handler).name
    if given:
        return f"{given}_{route.method}" if _is_second(route) else given
    parts = [*_prefix(route), *_action(route)]
    return _join_name([*parts, route.method] if _is_second(route) else parts)


def _has_given_name(route: ViewRoute) -> bool:
    return options_of(route.handler).name is not None


def _with_mount(name: str, route: ViewRoute) -> str:
    return _join_name([*_mount(route), name])


def _with_parameters(name: str, route: ViewRoute) -> str:
    segments = _segments(route.template)
    action = _action(route)
    if route.is_viewset and segments[-1:] == action:
        segments.pop()
    parts = [*segments, *action]
    return _join_name([*parts, route.method] if _is_second(route) else parts)


def _is_second(route: ViewRoute) -> bool:
    """True if one function serves several methods and this is not the first."""
    if route.actions is None:
        return False
    methods = [m for m in _VERBS if route.actions.get(m) == route.action]
    return methods[0] != route.method


def _prefix(route: ViewRoute) -> list[str]:
    given = options_of(route.view).name
    if given:
        return [given]
    segments = _segments(route.view_template)
    segments = segments[: len(segments) - len(_segments(_url_path(route)))]
    named = [segment for segment in segments if "{" not in segment]
    if route.is_viewset and len(named) > 1 and named[-1] == route.action:
        named.pop()
    return named


def _url_path(route: ViewRoute) -> str:
    """Return the URL suffix that an `@action` adds."""
    for action in (route.actions or {}).values():
        url_path = getattr(getattr(route.view, action, None), "url_path", None)
        if isinstance(url_path, str):
            return str(normalize(url_path)[0][0])
    return ""


def _action(route: ViewRoute) -> list[str]:
    if route.is_viewset:
        return [route.action]
    verb = next((verb for verb in _VERBS[route.method] if hasattr(route.view, verb)), None)
    return [verb or route.method]


def _mount(route: ViewRoute) -> list[str]:
    """Return the URL segments that the view is mounted under."""
    before = route.template.removesuffix(route.view_template)
    return [segment for segment in _segments(before) if "{" not in segment]


def _segments(template: str) -> list[str]:
    return [segment for segment in template.split("/") if segment]


def _join_name(parts: Iterable[Any]) -> str:
    """Join parts to a name; a name that is too long is cut and gets a digest."""
    name = "_".join(_INVALID.sub("_", str(part)).strip("_") for part in parts if part)
    if len(name) <= _MAX_LENGTH:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: _MAX_LENGTH - len(digest) - 1]}_{digest}"
