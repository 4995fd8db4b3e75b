"""What drf-spectacular says of a route, where a project has set it up: OpenAPI into JSON Schema."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from django.apps import apps

from accord.model.arguments import JsonSchema
from accord.sources.drf.fields import FILE, Complain, Side, nullable
from accord.sources.drf.filters import Parameter, of_openapi
from accord.sources.drf.routes import Route
from accord.sources.drf.views import attempted, negotiated

_DEEPEST: Final = 2  # times that a component may stand inside itself
_OF_OPENAPI: Final = frozenset(
    "nullable readOnly writeOnly example examples discriminator xml externalDocs deprecated".split()
)
_WORDS: Final = frozenset("title description properties items additionalProperties".split())
"""What says something of a value and demands nothing of it."""
_JSON: Final = "application/json"
_APART: Final = {"COMPONENT_SPLIT_REQUEST": True}  # else a file is only what comes back: its URL
_EXTENDED: Final = ("ExtendedSchema", "ExtendedMetaSchema", "ExtendedRearrangedSchema")


class Operation(msgspec.Struct, frozen=True):
    """What a project's documentation says of one route."""

    body: JsonSchema | None
    parameters: Sequence[Parameter]
    output: JsonSchema | None
    """What is said of what comes back, which promises nothing."""
    is_explicit: bool
    """Whether an author has written it, and it was not guessed."""
    words: str | None = None
    """What the author says that it does."""


@cache
def _is_installed() -> bool:
    return bool(apps.is_installed("drf_spectacular"))


def operation_of(route: Route, complain: Complain) -> Operation | None:
    """The documentation of a route; None where drf-spectacular has nothing to do with it."""
    if not _is_installed():
        return None
    from drf_spectacular.openapi import AutoSchema

    if not isinstance(route.view.schema, AutoSchema):
        return None
    return attempted(
        lambda: _ask(route),
        None,
        lambda reason: complain(f"drf-spectacular cannot describe it: {reason}"),
    )


def _ask(route: Route) -> Operation | None:
    from drf_spectacular.drainage import GENERATOR_STATS
    from drf_spectacular.generators import SchemaGenerator
    from drf_spectacular.settings import patched_settings, spectacular_settings

    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call] # it has no types
    method, path = route.method.upper(), f"/{route.template}"
    with GENERATOR_STATS.silence(), patched_settings(_APART):
        view = generator.create_view(route.callback, method)
        request = spectacular_settings.GET_MOCK_REQUEST(method, path, view, None)
        view.request = negotiated(view, request)
        written = "/" + "".join(str(piece) for piece in route.pieces)
        said = view.schema.get_operation(path, written, "^/", method, generator.registry)
        components = generator.registry.build({}).get("schemas", {})
    if not said:  # left out of the documentation, which is no reason to leave out the tool
        return None
    body = _content(said.get("requestBody"))
    output = _json(_success(said.get("responses", {})))
    return Operation(
        None if body is None else _Reader("in", components).read(body),
        [_parameter(each, components) for each in said.get("parameters", ()) if _in_query(each)],
        None if output is None else _Reader("out", components).read(output) or None,
        any(kind.__name__ in _EXTENDED for kind in view.schema.__class__.__mro__),
        str(said.get("description") or said.get("summary") or "") or None,
    )


def _in_query(parameter: Mapping[str, Any]) -> bool:
    return parameter.get("in") == "query"


def _parameter(given: dict[str, Any], components: Mapping[str, Any]) -> Parameter:
    schema = _Reader("in", components).read(given.get("schema", {}))
    return of_openapi({**given, "schema": schema})


def _content(said: Mapping[str, Any] | None) -> JsonSchema | None:
    """The schema of a body, as JSON where it may be JSON."""
    content: dict[str, Any] = (said or {}).get("content", {})
    return _json(said) or next((each.get("schema") for each in content.values()), None)


def _json(said: Mapping[str, Any] | None) -> JsonSchema | None:
    chosen: dict[str, Any] = (said or {}).get("content", {}).get(_JSON, {})
    return chosen.get("schema")


def _success(responses: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((responses[code] for code in sorted(responses) if code.startswith("2")), None)


class _Reader:
    """Reads OpenAPI's schemas for one side: no references, and nothing of the other side.

    Of what comes back only the words are kept. Nothing holds a view to its documentation, and a
    client may throw away an answer that breaks a promise.
    """

    def __init__(self, side: Side, components: Mapping[str, Any]) -> None:
        self._side = side
        self._components = components
        self._inside: list[str] = []

    def read(self, given: Any) -> JsonSchema:
        if not isinstance(given, dict):
            return {}
        if "$ref" in given:
            return self._follow(given)
        schema = {
            name: self._member(name, value)
            for name, value in given.items()
            if name not in _OF_OPENAPI and not name.startswith("x-")
        }
        if self._side == "out":
            return {name: schema[name] for name in schema if name in _WORDS}
        _bound(schema)
        if given.get("format") == "binary":
            return dict(FILE)
        return nullable(schema) if given.get("nullable") else schema

    def _follow(self, given: JsonSchema) -> JsonSchema:
        name = given["$ref"].rpartition("/")[2]
        if self._inside.count(name) >= _DEEPEST or name not in self._components:
            return {}
        self._inside.append(name)
        try:
            found = self.read(self._components[name])
        finally:
            self._inside.pop()
        return found | self.read({key: given[key] for key in given if key != "$ref"})

    def _member(self, name: str, value: Any) -> Any:
        match name:
            case "properties":
                return self._properties(value)
            case "items" | "additionalProperties" | "not":
                return self.read(value) if isinstance(value, dict) or self._side == "out" else value
            case "allOf" | "anyOf" | "oneOf":
                return [self.read(each) for each in value]
        return value

    def _properties(self, given: Mapping[str, Any]) -> JsonSchema:
        other = "readOnly" if self._side == "in" else "writeOnly"
        kept = {name: each for name, each in given.items() if not self._says(each, other)}
        return {name: self.read(each) for name, each in kept.items()}

    def _says(self, schema: Any, flag: str) -> bool:
        return isinstance(schema, dict) and bool(schema.get(flag))


def _bound(schema: JsonSchema) -> None:
    """Bounds as JSON Schema has them, and nothing required that belongs to the other side."""
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        _as_number(schema, bound)
    required = [n for n in schema.get("required", ()) if n in schema.get("properties", {})]
    schema.pop("required", None)
    if required:
        schema["required"] = required


def _as_number(schema: JsonSchema, bound: str) -> None:
    """A bound that OpenAPI 3.0 says with a flag beside a number."""
    inclusive = bound.replace("exclusiveM", "m")
    if schema.get(bound) is True and inclusive in schema:
        schema[bound] = schema.pop(inclusive)
    elif isinstance(schema.get(bound), bool):
        del schema[bound]
