"""Build tools from routes: check arguments, call the view, convert its response."""

import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from msgspec import UNSET, UnsetType

from accord.errors import ContractError
from accord.model.answer import Answer, FieldError, Problem
from accord.model.arguments import Checker, JsonSchema, invalid
from accord.model.context import Context
from accord.model.tool import Audience, Bound, Output, Tool
from accord.sources.drf.describe import RouteDescription, default_of, describe
from accord.sources.drf.dispatch import FullDispatch, MiddlewareProbe, NestedDispatch
from accord.sources.drf.naming import has_options, name_all, options_of
from accord.sources.drf.requests import (
    BodyEncoder,
    RequestBody,
    ViewCall,
    nested_request,
    query_string,
    standalone_request,
)
from accord.sources.drf.responses import answer_from
from accord.sources.drf.routes import ViewRoute, ViewRoutes
from accord.sources.drf.views import ToolFilter, allow_all

_BODIES: Final[dict[str, type]] = {"object": dict, "array": list}
T = TypeVar("T")
_UNREADABLE: Final = FieldError("arguments", "must be an object that can be decoded")
_NOT_FOUND = "ViewSet returned error: {'detail': 'Not found.'}"


def to_json(value: Any) -> Any:
    """Return a value as JSON data: lazy text as str, decimals as numbers, enums by value."""
    if isinstance(value, dict):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


class ViewArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool's arguments: `kwargs` for the URL, `query`, and `body`."""

    kwargs: dict[str, str | int] = {}
    query: dict[str, Any] = {}
    body: dict[str, Any] | list[Any] | UnsetType = UNSET


_decode = msgspec.json.Decoder(ViewArguments).decode


class ArgumentChecker:
    """Checks the outer shape of arguments; the view validates what is in them."""

    def __init__(self, tool: str, shape: JsonSchema) -> None:
        self._tool = tool
        self._checker = Checker(shape)
        members = shape["properties"]
        self._names = members["kwargs"]["properties"].keys()
        self._required = frozenset(members["kwargs"].get("required", ()))
        kinds = members.get("body", {}).get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        self._body = tuple(_BODIES[kind] for kind in kinds)

    def bind(self, arguments: bytes) -> Bound:
        """Return the arguments; raise a validation Problem if they have another shape."""
        try:
            given = _decode(arguments)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._problem(arguments) from None
        kwargs = given.kwargs.keys()
        has_body = given.body is UNSET or isinstance(given.body, self._body)
        if not has_body or not self._required <= kwargs <= self._names:
            raise self._problem(arguments)
        return Bound(given)

    def _problem(self, arguments: bytes) -> Problem:
        """Return the Problem that names every argument of a wrong shape."""
        errors = self._checker.explain_json(
            arguments, unreadable=_UNREADABLE, otherwise=_UNREADABLE
        )
        return invalid(self._tool, errors)


class SkippedWarning(UserWarning):
    """A view is not exposed as a tool, or a part of it could not be described."""


class ViewCaller:
    """Calls the views of a Django project; `user` is the user outside of an HTTP request."""

    def __init__(self, *, user: Any = None) -> None:
        self._user = user

    @cached_property
    def _nested(self) -> NestedDispatch:
        return NestedDispatch()

    @cached_property
    def _full(self) -> FullDispatch:
        return FullDispatch()

    @cached_property
    def _probe(self) -> MiddlewareProbe:
        return MiddlewareProbe()

    def call(
        self, route: ViewRoute, call: ViewCall, sender: Any, read: Callable[[HttpResponse], T]
    ) -> T:
        """Call a view for a sender: a Django request, an HTTP sender's headers, or None (stdio)."""
        if isinstance(sender, HttpRequest):
            return self._nested.call(route, nested_request(sender, call), read)
        return self._full.call(route, standalone_request(sender, call, self._user), read)

    def audience(self, routes: Mapping[str, ViewRoute]) -> Audience:
        """Return the audience of these tools: each caller sees those it has permission for."""

        def filter_for(sender: Any) -> Callable[[str], bool]:
            if isinstance(sender, HttpRequest):
                return ToolFilter(routes, sender)
            request = standalone_request(sender, ViewCall("get", "/"), self._user)
            allowed = self._probe.run(
                request, lambda inner: set(filter(ToolFilter(routes, inner), routes))
            )
            return allow_all if allowed is None else allowed.__contains__

        return filter_for


class ExposedTool(msgspec.Struct, frozen=True):
    """A tool, and a description of its view's permissions."""

    tool: Tool
    permissions: str


def build(
    routes: ViewRoutes, caller: ViewCaller, *, marked_only: bool = False
) -> list[ExposedTool]:
    """Return the tools of a project; a view that cannot be one is skipped with a warning."""
    for reason in routes.skipped:
        warnings.warn(reason, SkippedWarning, stacklevel=2)
    chosen = [route for route in routes.found if _is_chosen(route, marked_only=marked_only)]
    named = name_all(chosen)
    audience, reported = caller.audience(named), set[Any]()
    return [_expose(name, route, caller, audience, reported) for name, route in named.items()]


def _is_chosen(route: ViewRoute, *, marked_only: bool) -> bool:
    actions = options_of(route.view).actions
    if actions is not None:
        return route.action in actions or options_of(route.handler).name is not None
    return not marked_only or has_options(route.view, route.action)


def _expose(
    name: str, route: ViewRoute, caller: ViewCaller, audience: Audience, reported: set[Any]
) -> ExposedTool:
    def report(reason: str, about: Any = None) -> None:
        key = about or (route.view, reason)  # warn once for all actions of a view
        if key not in reported:
            reported.add(key)
            warnings.warn(f"{name} ({route.location}): {reason}", SkippedWarning, stacklevel=4)

    known = _checked(describe(route, report), report)
    call = _ViewTool(name, route, known, caller)
    tool = Tool(
        name=name,
        title=known.title,
        description=known.description,
        input_schema=known.input_schema,
        bind=call.bind,
        invoke=call.invoke,
        is_async=False,
        wants_context=True,
        hints=known.hints,
        output=Output(schema=known.output_schema),
        audience=audience,
    )
    return ExposedTool(tool, known.permissions)


def _checked(known: RouteDescription, report: Callable[[str], None]) -> RouteDescription:
    """Return the description with valid schemas: an invalid one is replaced, with a warning."""
    for member, plain in (("input_schema", known.shape), ("output_schema", None)):
        schema = to_json(getattr(known, member))
        try:
            known = msgspec.structs.replace(known, **{member: schema})
            msgspec.json.encode(schema)
            if schema is not None:
                Checker(schema).compile(member)
        except (ContractError, TypeError, ValueError) as error:
            report(f"its {member} is not valid and is ignored: {error}")
            known = msgspec.structs.replace(known, **{member: plain})
    return known


class _ViewTool:
    """Binds arguments for one tool, and calls its view."""

    def __init__(
        self, name: str, route: ViewRoute, known: RouteDescription, caller: ViewCaller
    ) -> None:
        self._route = route
        self._csv = known.csv
        self._caller = caller
        body = known.input_schema["properties"].get("body")
        self._encoder = None if body is None else BodyEncoder(route, body)
        self._defaults = {
            name: default
            for name in route.names
            if (default := default_of(route.view, name)) is not None
        }
        self.bind = ArgumentChecker(name, known.shape).bind

    def invoke(self, arguments: ViewArguments, context: Context) -> Answer[Any]:
        """Call the view as an HTTP request to its URL does."""
        route = self._route
        path = route.path(self._defaults | arguments.kwargs)
        if path is None:  # no URL matches these arguments
            raise Problem.not_found(_NOT_FOUND)
        query = query_string(arguments.query, self._csv) if arguments.query else ""
        call = ViewCall(route.method, path, query, self._body(arguments.body), route.accept)
        return self._caller.call(
            route, call, context.sender, lambda response: answer_from(response, call)
        )

    def _body(self, given: Any) -> RequestBody | None:
        if self._encoder is None:
            return None
        return self._encoder.encode({} if given is UNSET else given)
