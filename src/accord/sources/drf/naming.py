"""Tool names (`customers_list`, from URL and action), and the decorators that set them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import count, takewhile
from typing import Any, Final, TypeVar

import msgspec
from django.utils.regex_helper import normalize
from msgspec import UNSET
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ViewSetMixin

from accord.errors import ContractError
from accord.sources.drf.routes import ViewRoute

_ATTRIBUTE: Final = "accord_options"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_MAX_LENGTH: Final = 64
_INVALID: Final = re.compile(r"[^A-Za-z0-9_]+")
_VERSION: Final = re.compile(r"v\d+(?:[._]\d+)*(?:[-._]?(?:alpha|beta|rc|dev)\d*)?", re.IGNORECASE)
_ROOT: Final = "root"  # name of a view whose URL has no words
_VERBS: Final = {
    "get": ("list", "retrieve"),
    "post": ("create",),
    "put": ("update",),
    "patch": ("partial_update",),
    "delete": ("destroy",),
}
"""The actions of generic views, by HTTP method."""
STANDARD_ACTIONS: Final[frozenset[str]] = frozenset(
    action for actions in _VERBS.values() for action in actions
)


class DecoratorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that a decorator sets on a viewset or an action."""

    name: str | None = None
    """The tool name of an action, or the name prefix of a viewset."""
    description: str | None = None
    title: str | None = None
    actions: frozenset[str] | None = None
    """The actions of a viewset that are tools; None for all."""
    input_serializer: Any = UNSET
    """The serializer class of an action's body; None if it takes none."""


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """How an endpoint names its tools."""

    prefixes: Mapping[str, str] = {}
    """Prefixes of names, by the beginning of the URL."""
    action_first: bool = False
    """True for the names of django-rest-framework-mcp 0.1: `list_customers`."""


_NO_OPTIONS: Final = DecoratorOptions()
_DEFAULT: Final = Naming()
_decorated: Final[dict[type, None]] = {}


def mcp_viewset(
    basename: str | None = None,
    actions: Iterable[str] | None = None,
    *,
    name: str | None = None,
) -> Callable[[Decorated], Decorated]:
    """Choose which `actions` of a viewset are tools, and the prefix of their names.

    The prefix is `basename`, or `name`. For a view that is not a viewset, actions are its methods:
    `get`, `post`.
    """
    if isinstance(actions, str):
        raise ContractError(f"actions must be a list: [{actions!r}]")
    if basename is not None and name is not None:
        raise ContractError("basename and name are the same option; give one of them")

    def decorate(viewset: Decorated) -> Decorated:
        chosen = None if actions is None else frozenset(actions)
        for action in sorted(chosen or ()):
            if not hasattr(viewset, action):
                raise ContractError(f"{viewset.__name__} has no action {action!r}")
        options = DecoratorOptions(name=basename or name, actions=chosen)
        setattr(viewset, _ATTRIBUTE, options)
        if isinstance(viewset, type):
            _decorated[viewset] = None
        return viewset

    return decorate


def mcp_tool(
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    input_serializer: Any = ...,
) -> Callable[[Decorated], Decorated]:
    """Set the name, title and description of an action's tool, and the serializer of its body.

    `input_serializer` is a serializer class, or None for an action without a body.
    """

    def decorate(action: Decorated) -> Decorated:
        _require_serializer_class(input_serializer, action)
        options = DecoratorOptions(
            name=name,
            description=description,
            title=title,
            input_serializer=UNSET if input_serializer is ... else input_serializer,
        )
        setattr(action, _ATTRIBUTE, options)
        return action

    return decorate


def _require_serializer_class(given: Any, action: Any) -> None:
    is_class = isinstance(given, type) and issubclass(given, BaseSerializer)
    if given is not ... and given is not None and not is_class:
        raise ContractError(
            f"input_serializer of {action.__name__} must be a serializer class or None,"
            f" not {given!r}"[:200]
        )


def options_of(decorated: Any) -> DecoratorOptions:
    """Return the options set on a view or an action; a class inherits those of its bases."""
    options = getattr(decorated, _ATTRIBUTE, None)
    return options if isinstance(options, DecoratorOptions) else _NO_OPTIONS


def has_options(view: type, action: str) -> bool:
    """True if the action or its view has options."""
    return hasattr(view, _ATTRIBUTE) or hasattr(getattr(view, action, None), _ATTRIBUTE)


def is_marked(route: ViewRoute) -> bool:
    """True if the view itself has `mcp_viewset`, and a custom action `mcp_tool` as well."""
    is_standard = route.action in STANDARD_ACTIONS or not route.is_viewset
    return route.view in _decorated and (is_standard or hasattr(route.handler, _ATTRIBUTE))


def decorated_viewsets() -> dict[type, str]:
    """Return the viewsets that have `mcp_viewset` themselves, each with its basename."""
    return {each: basename_of(each) for each in _decorated if issubclass(each, ViewSetMixin)}


def basename_of(viewset: Any) -> str:
    """Return the name prefix of a viewset without a URL: as given, or from its model or class."""
    given = options_of(viewset).name
    if given:
        return given
    model = getattr(getattr(viewset, "queryset", None), "model", None)
    if model is not None:
        return f"{model._meta.object_name.lower()}s"
    return str(viewset.__name__).replace("ViewSet", "").lower() or _ROOT


def name_all(routes: Sequence[ViewRoute], naming: Naming = _DEFAULT) -> dict[str, ViewRoute]:
    """Return each route by its tool name; raise ContractError if two have the same.

    An action whose URL differs in its regular expression alone is numbered; the same URL with and
    without a slash at the end is one tool.
    """
    named: dict[str, ViewRoute] = {}
    for route in routes:
        name = name_of(route, naming)
        known = named.get(name)
        if known is not None and _target(known) != _target(route):
            raise ContractError(_same_name(name, known, route))
        if known is None or not _has_regex_of(known, route):
            numbered = (_join_name([name, number]) for number in count(2))
            named[name if known is None else next(n for n in numbered if n not in named)] = route
    return named


def _target(route: ViewRoute) -> tuple[Any, ...]:
    return route.view, route.method, route.action, route.template.strip("/")


def _has_regex_of(one: ViewRoute, other: ViewRoute) -> bool:
    return one.regex.rstrip("$/?Z\\") == other.regex.rstrip("$/?Z\\")


def _same_name(name: str, one: ViewRoute, other: ViewRoute) -> str:
    mount = _mount(other)
    cure = "name one of them with @mcp_viewset(name=…) or @mcp_tool(name=…)"
    if mount and mount != _mount(one):
        prefix = _join_name(_segments(mount)[-1:])
        cure += f", or its URLs with endpoint(prefixes={{{mount!r}: {prefix!r}}})"
    return f"two tools are named {name!r}: {one.location} and {other.location}; {cure}"


def name_of(route: ViewRoute, naming: Naming = _DEFAULT) -> str:
    """Return the tool name of a route; it does not depend on other routes."""
    given = options_of(route.handler).name
    prefix = _prefix_of(route, naming.prefixes)
    second = route.method if _is_second(route) else ""
    if given:
        return "_".join(part for part in (prefix, given, second) if part)
    if naming.action_first:
        return _join_name([prefix, *_action(route), basename_of(route.view), second])
    view = options_of(route.view).name
    versions = _versions(route) if prefix is None and not view else []
    path = [view] if view else _path(route)
    return _join_name([prefix, *versions, *path, *_action(route), second])


def _prefix_of(route: ViewRoute, prefixes: Mapping[str, str]) -> str | None:
    """Return the prefix given for the longest beginning of the URL, or None."""
    segments = _segments(route.template)
    begun = [each for each in prefixes if segments[: len(known := _segments(each))] == known]
    return prefixes[max(begun, key=lambda each: len(_segments(each)))] if begun else None


def _versions(route: ViewRoute) -> list[str]:
    """Return the segments of the mount that are versions: `v2` of `api/v2/customers/`."""
    return [segment for segment in _segments(_mount(route)) if _VERSION.fullmatch(segment)]


def _mount(route: ViewRoute) -> str:
    """Return the part of the URL before that of the view."""
    return route.template.removesuffix(route.view_template)


def _is_second(route: ViewRoute) -> bool:
    """True if one function serves several methods and this is not the first."""
    if route.actions is None:
        return False
    methods = [m for m in _VERBS if route.actions.get(m) == route.action]
    return methods[0] != route.method


def _path(route: ViewRoute) -> list[str]:
    """Return the named segments of the view's part of the URL.

    A view that is neither a viewset nor generic has the parameters at the end too: one class
    usually serves a list, another its entries.
    """
    segments = _segments(route.view_template)
    segments = segments[: len(segments) - len(_segments(_url_path(route)))]
    named = [segment for segment in segments if "{" not in segment]
    if route.is_viewset and len(named) > 1 and named[-1] == route.action:
        named.pop()
    if verb_of(route) is None:
        named += _parameters_at_end(segments)
    has_words = any(_VERSION.fullmatch(segment) is None for segment in named)
    return named if has_words else [*named, _ROOT]


def _parameters_at_end(segments: Sequence[str]) -> list[str]:
    return list(takewhile(lambda segment: "{" in segment, reversed(segments)))[::-1]


def noun_of(route: ViewRoute) -> str:
    """Return what the view is about, in the words of its URL."""
    given = options_of(route.view).name
    named = [segment for segment in _path(route) if "{" not in segment] or [_ROOT]
    return (given or named[-1]).replace("_", " ").replace("-", " ")


def _url_path(route: ViewRoute) -> str:
    """Return the URL suffix that an `@action` adds."""
    for action in (route.actions or {}).values():
        url_path = getattr(getattr(route.view, action, None), "url_path", None)
        if isinstance(url_path, str):
            return str(normalize(url_path)[0][0])
    return ""


def verb_of(route: ViewRoute) -> str | None:
    """Return the action of a viewset or a generic view; None for other views."""
    if route.is_viewset:
        return route.action
    return next((verb for verb in _VERBS[route.method] if hasattr(route.view, verb)), None)


def _action(route: ViewRoute) -> list[str]:
    return [verb_of(route) or route.method]


def _segments(template: str) -> list[str]:
    return [segment for segment in template.split("/") if segment]


def _join_name(parts: Iterable[Any]) -> str:
    """Join parts to a name; a name that is too long is cut and gets a digest."""
    name = "_".join(_INVALID.sub("_", str(part)).strip("_") for part in parts if part)
    if len(name) <= _MAX_LENGTH:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: _MAX_LENGTH - len(digest) - 1]}_{digest}"
