"""Routes into tools."""

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse
from msgspec import UNSET

from accord.context import Context
from accord.errors import ContractError
from accord.model.answer import Answer, Problem
from accord.model.arguments import Checker
from accord.model.tool import Audience, Output, Tool
from accord.sources.drf.audience import Judge, everything
from accord.sources.drf.bodies import Body, Writer
from accord.sources.drf.describe import Description, default_of, describe
from accord.sources.drf.dispatch import Inside, WholeWay, Within
from accord.sources.drf.literals import literal
from accord.sources.drf.marks import is_marked, mark_of
from accord.sources.drf.naming import name_all
from accord.sources.drf.outline import Arguments, Outline
from accord.sources.drf.replies import answer_from
from accord.sources.drf.requests import Ask, alone, query_string, within
from accord.sources.drf.routes import Route, Routes

T = TypeVar("T")
_NOT_FOUND = "ViewSet returned error: {'detail': 'Not found.'}"


class SkippedWarning(UserWarning):
    """A view that is no tool, or of which a part is not known."""


class Project:
    """A Django project, and on whose behalf its views are called where no request says so."""

    def __init__(self, *, user: Any = None) -> None:
        self._user = user

    @cached_property
    def _within(self) -> Within:
        return Within()

    @cached_property
    def _whole_way(self) -> WholeWay:
        return WholeWay()

    @cached_property
    def _inside(self) -> Inside:
        return Inside()

    def ask(self, route: Route, ask: Ask, sender: Any, read: Callable[[HttpResponse], T]) -> T:
        """What a view says to a sender: a request of Django's, another's headers, or nobody."""
        if isinstance(sender, HttpRequest):
            return self._within.ask(route, within(sender, ask), read)
        return self._whole_way.ask(route, alone(sender, ask, self._user), read)

    def audience(self, routes: Mapping[str, Route]) -> Audience:
        """Who gets to see which of these tools."""

        def judge(sender: Any) -> Callable[[str], bool]:
            if isinstance(sender, HttpRequest):
                return Judge(routes, sender)
            request = alone(sender, Ask("get", "/"), self._user)
            allowed = self._inside.run(
                request, lambda inner: set(filter(Judge(routes, inner), routes))
            )
            return everything if allowed is None else allowed.__contains__

        return judge


class Exposed(msgspec.Struct, frozen=True):
    """A tool, and whom its view serves."""

    tool: Tool
    who: str


def build(routes: Routes, project: Project, *, marked_only: bool = False) -> list[Exposed]:
    """The tools of a project; what cannot be one is left out, with a warning that says why."""
    for reason in routes.skipped:
        warnings.warn(reason, SkippedWarning, stacklevel=2)
    chosen = [route for route in routes.found if _is_chosen(route, marked_only=marked_only)]
    named = name_all(chosen)
    audience, said = project.audience(named), set[Any]()
    return [_exposed(name, route, project, audience, said) for name, route in named.items()]


def _is_chosen(route: Route, *, marked_only: bool) -> bool:
    actions = mark_of(route.view).actions
    if actions is not None:
        return route.action in actions or mark_of(route.handler).name is not None
    return not marked_only or is_marked(route.view, route.action)


def _exposed(
    name: str, route: Route, project: Project, audience: Audience, said: set[Any]
) -> Exposed:
    def complain(reason: str, about: Any = None) -> None:
        key = about or (route.view, reason)  # once is enough for all actions of a view
        if key not in said:
            said.add(key)
            warnings.warn(f"{name} ({route.place}): {reason}", SkippedWarning, stacklevel=4)

    known = _checked(describe(route, complain), complain)
    call = _Call(name, route, known, project)
    tool = Tool(
        name=name,
        title=known.title,
        description=known.words,
        input_schema=known.input_schema,
        bind=call.bind,
        invoke=call.invoke,
        is_async=False,
        wants_context=True,
        hints=known.hints,
        output=Output(schema=known.output_schema),
        audience=audience,
    )
    return Exposed(tool, known.who)


def _checked(known: Description, complain: Callable[[str], None]) -> Description:
    """A description whose schemas are schemas, whatever a project has put into them."""
    for member, plain in (("input_schema", known.shape), ("output_schema", None)):
        schema = literal(getattr(known, member))
        try:
            known = msgspec.structs.replace(known, **{member: schema})
            msgspec.json.encode(schema)
            if schema is not None:
                Checker(schema).compile(member)
        except (ContractError, TypeError, ValueError) as error:
            complain(f"its {member} is left open: {error}")
            known = msgspec.structs.replace(known, **{member: plain})
    return known


class _Call:
    """One tool's way to its view."""

    def __init__(self, name: str, route: Route, known: Description, project: Project) -> None:
        self._route = route
        self._csv = known.csv
        self._project = project
        body = known.input_schema["properties"].get("body")
        self._writer = None if body is None else Writer(route, body)
        self._defaults = {
            name: default
            for name in route.names
            if (default := default_of(route.view, name)) is not None
        }
        self.bind = Outline(name, known.shape).bind

    def invoke(self, arguments: Arguments, context: Context) -> Answer[Any]:
        """Call the view as its URL would be called."""
        route = self._route
        path = route.path(self._defaults | arguments.kwargs)
        if path is None:  # no URL is made like this, so there can be nothing at it
            raise Problem.not_found(_NOT_FOUND)
        query = query_string(arguments.query, self._csv) if arguments.query else ""
        ask = Ask(route.method, path, query, self._body(arguments.body), route.accept)
        return self._project.ask(
            route, ask, context.sender, lambda response: answer_from(response, ask)
        )

    def _body(self, given: Any) -> Body | None:
        if self._writer is None:
            return None
        return self._writer.write({} if given is UNSET else given)
