"""Build tools from routes: check arguments, call the view, convert its response."""

import warnings
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, Final, Literal, TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from msgspec import UNSET

from accord.errors import ContractError
from accord.model.answer import Answer, FieldError, Page, Problem
from accord.model.arguments import Checker, JsonSchema, invalid
from accord.model.context import Context
from accord.model.tool import Audience, Bound, Output, Tool
from accord.sources.drf.compact import compacted
from accord.sources.drf.describe import CURSOR, RouteDescription, default_of, describe
from accord.sources.drf.dispatch import FullDispatch, MiddlewareProbe, NestedDispatch
from accord.sources.drf.naming import (
    Naming,
    decorated_viewsets,
    has_options,
    is_marked,
    name_all,
    options_of,
)
from accord.sources.drf.requests import (
    BodyEncoder,
    RequestBody,
    ViewCall,
    nested_request,
    query_string,
    skips_permissions,
    standalone_request,
)
from accord.sources.drf.responses import answer_from, refusal_of
from accord.sources.drf.routes import (
    ViewRoute,
    ViewRoutes,
    routes_of_viewsets,
    views_with_url,
)
from accord.sources.drf.views import ToolFilter, allow_all, allow_none

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
    """A tool's arguments: `kwargs` for the URL, `query`, `body`, and a cursor of its own."""

    kwargs: dict[str, str | int] = {}
    query: dict[str, Any] = {}
    body: Any = UNSET
    cursor: str | None = None


_decode = msgspec.json.Decoder(ViewArguments).decode


class ArgumentChecker:
    """Checks the outer shape of arguments; the view validates what is in them."""

    def __init__(self, tool: str, shape: JsonSchema) -> None:
        self._tool = tool
        self._checker = Checker(shape)
        members = shape["properties"]
        self._names = members["kwargs"]["properties"].keys()
        self._required = frozenset(members["kwargs"].get("required", ()))
        self._takes_body = "body" in members
        self._takes_cursor = CURSOR in members

    def bind(self, arguments: bytes) -> Bound:
        """Return the arguments; raise a validation Problem if they have another shape."""
        try:
            given = _decode(arguments)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._problem(arguments) from None
        kwargs = given.kwargs.keys()
        is_known = (given.body is UNSET or self._takes_body) and (
            given.cursor is None or self._takes_cursor
        )
        if not is_known or not self._required <= kwargs <= self._names:
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


Admit = Callable[[HttpRequest], None]
"""Raises a Problem if the sender of a request may not use the endpoint."""


class ViewCaller:
    """Calls the views of a Django project; `user` is the user outside of an HTTP request.

    `admit` is asked about requests outside of Django; inside, the endpoint asks it itself.
    """

    def __init__(self, *, user: Any = None, admit: Admit | None = None) -> None:
        self._user = user
        self._admit = admit

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
        request = standalone_request(sender, call, self._user)
        if self._admit is not None:
            self._admit(request)
        return self._full.call(route, request, read)

    def audience(self, routes: Mapping[str, ViewRoute]) -> Audience:
        """Return the audience of these tools: each caller sees those it has permission for."""

        def filter_for(sender: Any) -> Callable[[str], bool]:
            if isinstance(sender, HttpRequest):
                return allow_all if skips_permissions(sender) else ToolFilter(routes, sender)
            request = standalone_request(sender, ViewCall("get", "/"), self._user)
            if not self._is_admitted(request):
                return allow_none
            if skips_permissions(request):
                return allow_all
            allowed = self._probe.run(
                request, lambda inner: set(filter(ToolFilter(routes, inner), routes))
            )
            return allow_all if allowed is None else allowed.__contains__

        return filter_for

    def _is_admitted(self, request: HttpRequest) -> bool:
        try:
            if self._admit is not None:
                self._admit(request)
        except Problem:
            return False
        return True


class ExposedTool(msgspec.Struct, frozen=True):
    """A tool, and a description of its view's permissions."""

    tool: Tool
    permissions: str


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which views are tools, and how the tools are described."""

    marked_only: bool | Literal["actions"] = False
    """True for views with a decorator; "actions" if a custom action needs one too."""
    naming: Naming = Naming()
    output_schemas: bool | Collection[str] = False
    """True if tools have an output schema, or the names of those that have."""

    def __post_init__(self) -> None:
        if isinstance(self.output_schemas, str):
            raise ContractError(f"output_schemas must be a list: [{self.output_schemas!r}]")
        if self.marked_only not in (True, False, "actions"):
            raise ContractError(
                f'marked_only must be True, False or "actions", not {self.marked_only!r}'
            )

    def has_output_schema(self, name: str) -> bool:
        """True if the tool of this name has an output schema."""
        known = self.output_schemas
        return known if isinstance(known, bool) else name in known


_DEFAULT: Final = BuildOptions()


def build(
    routes: ViewRoutes, caller: ViewCaller, options: BuildOptions = _DEFAULT
) -> list[ExposedTool]:
    """Return the tools of a project; a view that cannot be one is skipped with a warning."""
    if options.marked_only == "actions":
        routes = _with_unrouted(routes)
    for reason in routes.skipped:
        warnings.warn(reason, SkippedWarning, stacklevel=2)
    chosen = [route for route in routes.found if _is_chosen(route, options.marked_only)]
    named = name_all(chosen, options.naming)
    _require_known(options.output_schemas, named)
    audience, reported = caller.audience(named), set[Any]()
    return [
        _expose(name, route, caller, audience, reported, options.has_output_schema(name))
        for name, route in named.items()
    ]


def _with_unrouted(routes: ViewRoutes) -> ViewRoutes:
    """Add the viewsets with `mcp_viewset` that have no URL."""
    routed = views_with_url()
    others = {view: name for view, name in decorated_viewsets().items() if view not in routed}
    owners: dict[str, type] = {}
    for view, name in others.items():
        owner = owners.setdefault(name, view)
        if owner is not view:
            raise ContractError(
                f"{owner.__qualname__} and {view.__qualname__} have the same basename {name!r};"
                " give one another: @mcp_viewset(basename=…)",
                at=view,
            )
    more = routes_of_viewsets(others)
    return ViewRoutes((*routes.found, *more.found), (*routes.skipped, *more.skipped))


def _is_chosen(route: ViewRoute, marked_only: bool | str) -> bool:
    if marked_only == "actions" and not is_marked(route):
        return False
    actions = options_of(route.view).actions
    if actions is not None:
        is_named = options_of(route.handler).name is not None and marked_only != "actions"
        return route.action in actions or is_named
    return not marked_only or has_options(route.view, route.action)


def _require_known(names: bool | Collection[str], named: Mapping[str, ViewRoute]) -> None:
    unknown = () if isinstance(names, bool) else sorted(set(names) - named.keys())
    if unknown:
        raise ContractError(f"output_schemas has names that no tool has: {', '.join(unknown)}")


def _expose(
    name: str,
    route: ViewRoute,
    caller: ViewCaller,
    audience: Audience,
    reported: set[Any],
    has_output_schema: bool,
) -> ExposedTool:
    def report(reason: str, about: Any = None) -> None:
        key = about or (route.view, reason)  # warn once for all actions of a view
        if key not in reported:
            reported.add(key)
            warnings.warn(f"{name} ({route.location}): {reason}", SkippedWarning, stacklevel=4)

    described = describe(route, report, with_output=has_output_schema)
    known = _checked(described, report)
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
        next_arguments=call.next_arguments,
    )
    return ExposedTool(tool, known.permissions)


def _checked(known: RouteDescription, report: Callable[[str], None]) -> RouteDescription:
    """Return the description with valid schemas: an invalid one is replaced, with a warning."""
    for member, plain in (("input_schema", known.shape), ("output_schema", None)):
        schema = to_json(getattr(known, member))
        try:
            schema = schema and compacted(schema)
            known = msgspec.structs.replace(known, **{member: schema})
            msgspec.json.encode(schema)
            if schema is not None:
                Checker(schema).compile(member)
        except (ContractError, TypeError, ValueError) as error:
            report(f"its {member} is not valid and is ignored: {error}")
            known = msgspec.structs.replace(known, **{member: plain})
    return known


def _answer(response: HttpResponse, call: ViewCall, sender: Any) -> Answer[Any]:
    """Return the answer; tell the endpoint of a reply that the caller may not do this."""
    refusal = refusal_of(response)
    if refusal is not None and isinstance(sender, HttpRequest):
        sender.accord_refusal = refusal
    return answer_from(response, call)


class _ViewTool:
    """Binds arguments for one tool, and calls its view."""

    def __init__(
        self, name: str, route: ViewRoute, known: RouteDescription, caller: ViewCaller
    ) -> None:
        self._route = route
        self._csv = known.csv
        self._paging = known.paging
        self._caller = caller
        takes_body = "body" in known.shape["properties"]
        self._encoder = BodyEncoder(route, known.body or {}) if takes_body else None
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
        given = arguments.query
        if arguments.cursor is not None:
            given = given | self._paging.cursor_query(arguments.cursor)
        query = query_string(given, self._csv) if given else ""
        call = ViewCall(route.method, path, query, self._body(arguments.body), route.accept)
        return self._caller.call(
            route, call, context.sender, lambda response: _answer(response, call, context.sender)
        )

    def next_arguments(self, arguments: bytes, page: Page, passed: int) -> Mapping[str, Any] | None:
        """Return the arguments for the items after the first ones of a page."""
        query = self._paging.query_after(page, passed)
        if query is None:
            return None
        given = msgspec.json.decode(arguments)
        return {**given, "query": {**given.get("query", {}), **query}}

    def _body(self, given: Any) -> RequestBody | None:
        if self._encoder is None:
            return None
        return self._encoder.encode({} if given is UNSET or given is None else given)
