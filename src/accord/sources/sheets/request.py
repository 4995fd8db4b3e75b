"""What the tool takes: its schema, and a request read from JSON with every wrong field named."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from accord.model.answer import FieldError, Problem
from accord.model.arguments import Checker, JsonSchema, ignored, invalid
from accord.model.tool import Bound
from accord.sources.sheets.lenient import tidy
from accord.sources.sheets.model import Character

TOOL: Final = "fill_dnd_character_sheet"
INVALID: Final = "Invalid character data"
_DATA: Final = "character_data"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One sheet to fill."""

    character_data: Annotated[Character, Meta(description="Complete D&D 5e character information")]
    output_path: (
        Annotated[str, Meta(description="Path where filled PDF should be saved")] | UnsetType
    ) = UNSET
    allow_rule_violations: bool = False
    allow: Annotated[
        list[str],
        Meta(max_length=500, description="Single violations to allow, by path: abilities.strength"),
    ] = []
    explain: Annotated[bool, Meta(description="Say how each calculated field came about")] = False
    return_pdf: Annotated[bool, Meta(description="Send the filled PDF along")] = False


@cache
def schema() -> JsonSchema:
    """The JSON Schema of a request, without references: every client reads it as it stands."""
    (root,), defs = msgspec.json.schema_components([Request], ref_template="#/$defs/{name}")
    root = _inlined(defs[root["$ref"].rpartition("/")[2]], defs)
    properties = root["properties"]
    properties["output_path"].pop("default", None)
    return {"type": "object", "properties": properties, "required": root["required"]}


def _inlined(node: Any, defs: Mapping[str, Any]) -> Any:
    """A schema with what it refers to in place; titles and defaults of objects say nothing."""
    if isinstance(node, list):
        return [_inlined(each, defs) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = defs[node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    kept = {key: value for key, value in node.items() if key not in ("title", "$ref")}
    if kept.get("default") in ({}, [], "", None):
        kept.pop("default", None)
    return {key: _inlined(value, defs) for key, value in kept.items()}


@cache
def _checker() -> Checker:
    return Checker(schema())


def bind(arguments: bytes) -> Bound:
    """A request from the JSON of its arguments; a Problem that names each field that is wrong."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, Any])
        tidied, unknown = _tidied(given)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = FieldError("arguments", "are nested too deeply or hold what JSON has no word for")
        raise _problem([reason]) from error
    try:
        request = msgspec.convert(tidied, Request)
    except msgspec.ValidationError as error:
        raise _problem(_errors(tidied)) from error
    return Bound(request, [ignored(name) for name in unknown])


def _tidied(given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    unknown = [name for name in given if name not in Request.__struct_fields__]
    known = {name: value for name, value in given.items() if name not in unknown}
    if known.get("output_path", "") is None:
        del known["output_path"]
    if _DATA not in known:
        return known, unknown
    character, strangers = tidy(known[_DATA])
    return {**known, _DATA: character}, [*unknown, *strangers]


def _errors(tidied: dict[str, Any]) -> list[FieldError]:
    found = _checker().errors(tidied) or [FieldError(_DATA, "does not fit the schema")]
    return [FieldError(_below(error.field), error.error) for error in found]


def _below(path: str) -> str:
    """A path as rules write it: from the character on."""
    return path.removeprefix(f"{_DATA}.")


def _problem(errors: list[FieldError]) -> Problem:
    arguments = {name for name in Request.__struct_fields__ if name != _DATA} | {"arguments"}
    own = [error for error in errors if error.field.partition("[")[0] in arguments]
    if len(own) < len(errors):
        return unfit(errors)
    return invalid(TOOL, errors)


def unfit(errors: list[FieldError]) -> Problem:
    """The problem of a character that cannot be, or must not be, filled in."""
    blocking = [error for error in errors if error.severity == "error"]
    named = "; ".join(f"{error.field}: {error.error}" for error in blocking[:5])
    more = f"; and {len(blocking) - 5} more" if len(blocking) > 5 else ""
    return Problem.validation(INVALID, fields=errors, remediation=f"{named}{more}")
