"""Schemas from drf-spectacular, if a project uses it: OpenAPI converted to JSON Schema."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from django.apps import apps

from accord.model.arguments import JsonSchema
from accord.sources.drf.fields import FILE, Reporter, Side, nullable
from accord.sources.drf.filters import QueryParameter, parameter_from_openapi
from accord.sources.drf.routes import ViewRoute
from accord.sources.drf.views import attempt, negotiate

_MAX_SELF_NESTING: Final = 2  # maximum nesting of a component in itself
_OPENAPI_ONLY: Final = frozenset(
    "nullable readOnly writeOnly example examples discriminator xml externalDocs deprecated".split()
)
_ANNOTATIONS: Final = frozenset("title description properties items additionalProperties".split())
"""Keywords that describe a value without constraining it."""
_JSON: Final = "application/json"
_SPLIT_COMPONENTS: Final = {
    "COMPONENT_SPLIT_REQUEST": True
}  # else a file is described as its URL in input too
_EXTENDED: Final = ("ExtendedSchema", "ExtendedMetaSchema", "ExtendedRearrangedSchema")


class OpenAPIOperation(msgspec.Struct, frozen=True):
    """The OpenAPI operation of a route, as JSON Schemas."""

    body: JsonSchema | None
    parameters: Sequence[QueryParameter]
    output: JsonSchema | None
    """A description of the output without constraints."""
    is_explicit: bool
    """True if the project has annotated it with `extend_schema`."""
    has_own_body: bool = False
    """True if that annotation has the body, so it is not guessed from the view."""
    description: str | None = None
    """The operation's description."""


@cache
def _is_installed() -> bool:
    return bool(apps.is_installed("drf_spectacular"))


def operation_of(route: ViewRoute, report: Reporter) -> OpenAPIOperation | None:
    """Return the operation of a route; None if drf-spectacular does not describe it."""
    if not _is_installed():
        return None
    from drf_spectacular.openapi import AutoSchema

    if not isinstance(route.view.schema, AutoSchema):
        return None
    return attempt(
        lambda: _operation(route),
        None,
        lambda reason: report(f"drf-spectacular cannot describe it: {reason}"),
    )


def _operation(route: ViewRoute) -> OpenAPIOperation | None:
    from drf_spectacular.drainage import GENERATOR_STATS
    from drf_spectacular.generators import SchemaGenerator
    from drf_spectacular.settings import patched_settings, spectacular_settings

    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call] # it has no types
    method, path = route.method.upper(), f"/{route.template}"
    with GENERATOR_STATS.silence(), patched_settings(_SPLIT_COMPONENTS):
        view = generator.create_view(route.callback, method)
        request = spectacular_settings.GET_MOCK_REQUEST(method, path, view, None)
        view.request = negotiate(view, request)
        request.is_mcp_request = True
        pattern = "/" + "".join(str(piece) for piece in route.pieces)
        operation = view.schema.get_operation(path, pattern, "^/", method, generator.registry)
        components = generator.registry.build({}).get("schemas", {})
    if not operation:  # excluded from the schema; still a tool
        return None
    body = _content(operation.get("requestBody"))
    output = _json(_success(operation.get("responses", {})))
    return OpenAPIOperation(
        None if body is None else _SchemaConverter("in", components).convert(body),
        [
            _parameter(each, components)
            for each in operation.get("parameters", ())
            if each.get("in") == "query"
        ],
        None if output is None else _SchemaConverter("out", components).convert(output) or None,
        any(kind.__name__ in _EXTENDED for kind in view.schema.__class__.__mro__),
        _has_own_body(view.schema),
        str(operation.get("description") or operation.get("summary") or "") or None,
    )


def _has_own_body(schema: Any) -> bool:
    """True if the request serializer is annotated; a guessed one is made anew each time."""
    found = schema.get_request_serializer()
    return found is not None and found is schema.get_request_serializer()


def merged(
    documented: Sequence[QueryParameter], known: Sequence[QueryParameter], view: Any
) -> list[QueryParameter]:
    """Return documented parameters; search and ordering only as they are known to work.

    drf-spectacular documents both for each view with such a backend, without field names.
    """
    guessed = {
        (name, str(getattr(backend, f"{kind}_description", "")))
        for backend in getattr(view, "filter_backends", ())
        for kind in ("search", "ordering")
        if (name := getattr(backend, f"{kind}_param", None)) is not None
    }
    own = {each.name: each for each in known if any(each.name == name for name, _ in guessed)}
    kept = [
        each
        for each in documented
        if (each.name, str(each.schema.get("description", ""))) not in guessed
    ]
    return list({each.name: each for each in [*own.values(), *kept]}.values())


def _parameter(given: dict[str, Any], components: Mapping[str, Any]) -> QueryParameter:
    schema = _SchemaConverter("in", components).convert(given.get("schema", {}))
    return parameter_from_openapi({**given, "schema": schema})


def _content(operation: Mapping[str, Any] | None) -> JsonSchema | None:
    """Return the schema of a body, that of JSON if there is one."""
    content: dict[str, Any] = (operation or {}).get("content", {})
    return _json(operation) or next((each.get("schema") for each in content.values()), None)


def _json(operation: Mapping[str, Any] | None) -> JsonSchema | None:
    chosen: dict[str, Any] = (operation or {}).get("content", {}).get(_JSON, {})
    return chosen.get("schema")


def _success(responses: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((responses[code] for code in sorted(responses) if code.startswith("2")), None)


class _SchemaConverter:
    """Converts OpenAPI schemas for input or output, with references resolved.

    An output schema keeps only descriptions: a view need not follow its documentation, and a
    client may reject an answer that violates its schema.
    """

    def __init__(self, side: Side, components: Mapping[str, Any]) -> None:
        self._side = side
        self._components = components
        self._stack: list[str] = []

    def convert(self, given: Any) -> JsonSchema:
        if not isinstance(given, dict):
            return {}
        if "$ref" in given:
            return self._follow(given)
        schema = {
            name: self._member(name, value)
            for name, value in given.items()
            if name not in _OPENAPI_ONLY and not name.startswith("x-")
        }
        if self._side == "out":
            return {name: schema[name] for name in schema if name in _ANNOTATIONS}
        _convert_bounds(schema)
        if given.get("format") == "binary":
            return dict(FILE)
        return nullable(schema) if given.get("nullable") else schema

    def _follow(self, given: JsonSchema) -> JsonSchema:
        name = given["$ref"].rpartition("/")[2]
        if self._stack.count(name) >= _MAX_SELF_NESTING or name not in self._components:
            return {}
        self._stack.append(name)
        try:
            found = self.convert(self._components[name])
        finally:
            self._stack.pop()
        return found | self.convert({key: given[key] for key in given if key != "$ref"})

    def _member(self, name: str, value: Any) -> Any:
        match name:
            case "properties":
                return self._properties(value)
            case "items" | "additionalProperties" | "not":
                return (
                    self.convert(value) if isinstance(value, dict) or self._side == "out" else value
                )
            case "allOf" | "anyOf" | "oneOf":
                return [self.convert(each) for each in value]
        return value

    def _properties(self, given: Mapping[str, Any]) -> JsonSchema:
        other = "readOnly" if self._side == "in" else "writeOnly"
        included = {name: each for name, each in given.items() if not self._has_flag(each, other)}
        return {name: self.convert(each) for name, each in included.items()}

    def _has_flag(self, schema: Any, flag: str) -> bool:
        return isinstance(schema, dict) and bool(schema.get(flag))


def _convert_bounds(schema: JsonSchema) -> None:
    """Convert bounds to JSON Schema, and drop required names that were removed."""
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        _convert_bound(schema, bound)
    required = [n for n in schema.get("required", ()) if n in schema.get("properties", {})]
    schema.pop("required", None)
    if required:
        schema["required"] = required


def _convert_bound(schema: JsonSchema, bound: str) -> None:
    """Convert an exclusive bound, in OpenAPI 3.0 a flag beside a number, to a number."""
    inclusive = bound.replace("exclusiveM", "m")
    if schema.get(bound) is True and inclusive in schema:
        schema[bound] = schema.pop(inclusive)
    elif isinstance(schema.get(bound), bool):
        del schema[bound]
