"""What is wrong with arguments that a function cannot take: each field, in words for a model.

msgspec decides what fits, and stops at the first field that does not; the schema words the rest.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from accord.answer import FieldError, Problem
from accord.arguments import Checker, path_of

_MOST_NAMED: Final = 32  # in the text, which a model has to read
_MOST: Final = 1_000  # in the data
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_PATH: Final = re.compile(r"`\$(?P<steps>[^`]*)`$")
_INVALID: Final = re.compile(r"Invalid (?P<what>[\w\- ]+?)(?: - at .*)?")
_JSON_NAMES: Final = {"int": "integer", "str": "string", "float": "number", "bool": "boolean"}


class Field(NamedTuple):
    """One parameter: how to read its JSON, and whether it must be there."""

    decode: Callable[[bytes], Any]
    is_required: bool


def misfits(
    given: dict[str, Any], fields: Mapping[str, Field], checker: Checker
) -> list[FieldError]:
    """Every parameter that is missing or does not fit, in the order of the signature."""
    by_schema = checker.errors(given)
    return [error for name in fields for error in _of(name, given, fields[name], by_schema)]


def _of(
    name: str, given: dict[str, Any], field: Field, by_schema: list[FieldError]
) -> Iterator[FieldError]:
    if name not in given:
        if field.is_required:
            yield FieldError(name, "is required")
        return
    try:
        field.decode(msgspec.json.encode(given[name]))
    except msgspec.ValidationError as error:
        below = (f"{name}.", f"{name}[")
        found = [e for e in by_schema if e.field == name or e.field.startswith(below)]
        yield from found or [_in_words(name, str(error))]


def _in_words(name: str, sentence: str) -> FieldError:
    """What msgspec says, without the value that it may hold."""
    path = _PATH.search(sentence)
    steps = re.findall(r"[^.\[\]]+", path["steps"]) if path else []
    field = path_of([name, *(int(step) if step.isdigit() else step for step in steps)])
    if expected := _EXPECTED.match(sentence):
        wanted, got = _named(expected["wanted"]), _named(expected["got"])
        return FieldError(field, f"must be {wanted}, not {got}")
    if refused := _INVALID.fullmatch(sentence):
        return FieldError(field, f"must be a valid {refused['what']}")
    return FieldError(field, "must be a value that fits")


def _named(kinds: str) -> str:
    return " or ".join(_JSON_NAMES.get(kind, kind) for kind in kinds.split(" | "))


def unreadable(error: Exception) -> FieldError:
    """For arguments that are JSON, and yet more than Python can hold."""
    if isinstance(error, RecursionError):
        return FieldError("arguments", "are nested too deeply")
    return FieldError("arguments", "hold a number that is out of range")


def invalid(tool: str, errors: list[FieldError], unknown: Iterable[str] = ()) -> Problem:
    """The Problem that names every field that is wrong."""
    strangers = [FieldError(path_of([name]), "is not a known field") for name in unknown]
    every = [*errors, *strangers]
    named = "; ".join(f"{error.field} {error.error}" for error in every[:_MOST_NAMED])
    more = f"; and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return Problem.validation(f"Invalid arguments for {tool}: {named}{more}", fields=every[:_MOST])


def whole(value: Any) -> Any:
    """The same JSON with whole numbers written as such: to a schema `1.0` is an integer too."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value
