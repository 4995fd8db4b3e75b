"""Checking a JSON value against a JSON Schema: every field that is wrong, in our own words.

The sentences are short, meant for a model to act on, and never repeat the value that was sent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from accord.errors import ContractError
from accord.model.answer import FieldError, Notice, Problem
from accord.model.values import is_deep

JsonSchema = dict[str, Any]
_LONGEST_STEP: Final = 64
_MOST: Final = 1_000  # misfits that are told; a caller with more of them needs other help
_MOST_NAMED: Final = 32  # in the text, which a model has to read


def invalid(tool: str, errors: Sequence[FieldError]) -> Problem:
    """The Problem of arguments that do not fit, which names every field that is wrong."""
    named = "; ".join(f"{error.field} {error.error}".strip() for error in errors[:_MOST_NAMED])
    more = f"; and {len(errors) - _MOST_NAMED} more" if len(errors) > _MOST_NAMED else ""
    return Problem.validation(f"Invalid arguments for {tool}: {named}{more}", fields=errors[:_MOST])


def ignored(name: str) -> Notice:
    """The warning of an argument that a tool does not know."""
    shown = f"{name[:_LONGEST_STEP]}…" if len(name) > _LONGEST_STEP else name
    return Notice(f"Unknown argument {shown!r} was ignored", code="UNKNOWN_ARGUMENT")


class Fault(Protocol):
    """What jsonschema-rs says of one misfit; which members `kind` has depends on its `name`."""

    instance: Any
    instance_path: list[str | int]
    kind: Any


class Checker:
    """A schema, compiled on the first value that has to be looked at closely."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._validator: Any = None

    def fits(self, value: object) -> bool:
        """Whether all of `value` fits; what is nested too deeply does not."""
        if is_deep(value):  # the validator may use up the C stack
            return False
        if self._validator is None:
            self.compile("the schema")
        return bool(self._validator.is_valid(value))

    def errors(self, value: object) -> list[FieldError]:
        """Some fields of `value` that do not fit, to be told; only `fits` says that there are none.

        There may be none also because it is nested too deeply, or the beginning of a long list
        fits.
        """
        if is_deep(value):
            return []
        if self._validator is None:
            self.compile("the schema")
        return list(islice(_each(self._validator.iter_errors(_trimmed(value))), _MOST))

    def compile(self, what: str) -> None:
        """Make sure that the schema is one, and says all it has to say itself."""
        import jsonschema_rs  # 35 ms, and most servers never need it

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                self._schema,
                validate_formats=True,
                formats={"decimal": _is_decimal},
                retriever=_stay_here,
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            reason = str(error).partition("\n")[0]
            raise ContractError(f"{what} has no valid JSON Schema: {reason}") from error


def _trimmed(value: object) -> object:
    """A value with the beginning of its long lists: the validator finds all errors, or none."""
    if isinstance(value, list):
        return [_trimmed(item) for item in value[:_MOST]]
    if isinstance(value, dict):
        return {name: _trimmed(item) for name, item in islice(value.items(), _MOST)}
    return value


def _is_decimal(text: str) -> bool:
    from decimal import Decimal, InvalidOperation

    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


def _stay_here(uri: str) -> Any:
    raise ValueError(f"{uri} is not looked up")


def path_of(steps: Sequence[str | int]) -> str:
    """A path as people write it: `spells.first_level[0].level`."""
    path = ""
    for step in steps:
        shown = str(step) if len(str(step)) <= _LONGEST_STEP else f"{str(step)[:_LONGEST_STEP]}…"
        path += f"[{shown}]" if isinstance(step, int) else f".{shown}" if path else shown
    return path


def _each(errors: Iterable[Fault]) -> Iterator[FieldError]:
    for error in errors:
        word = _WORDING.get(error.kind.name, _misfit)
        yield from word(error)


def _at(error: Fault, sentence: str) -> Iterator[FieldError]:
    yield FieldError(path_of(error.instance_path), sentence)


def _misfit(error: Fault) -> Iterator[FieldError]:
    return _at(error, "does not fit the schema")


def _required(error: Fault) -> Iterator[FieldError]:
    yield FieldError(path_of([*error.instance_path, error.kind.property]), "is required")


def _unknown(error: Fault) -> Iterator[FieldError]:
    for name in error.kind.unexpected:
        yield FieldError(path_of([*error.instance_path, name]), "is not a known field")


def _type(error: Fault) -> Iterator[FieldError]:
    wanted = " or ".join(_a(name) for name in error.kind.types)
    return _at(error, f"must be {wanted}, not {_a(_type_name(error.instance))}")


def _alternatives(error: Fault) -> Iterator[FieldError]:
    """Of several alternatives, report on the one that the value was most likely meant for."""
    depth = len(error.instance_path)
    branches: list[list[Fault]] = [list(branch) for branch in error.kind.context]
    meant = [b for b in branches if not any(_is_wrong_type(e, depth) for e in b)]
    if meant:
        closest = min(meant, key=len)
        yield from _each(closest)
        return
    wanted = dict.fromkeys(n for b in branches for e in b for n in _wanted_types(e))
    if wanted:
        kinds = " or ".join(_a(name) for name in wanted)
        yield from _at(error, f"must be {kinds}, not {_a(_type_name(error.instance))}")
    else:
        yield from _misfit(error)


def _is_wrong_type(error: Fault, depth: int) -> bool:
    return error.kind.name == "type" and len(error.instance_path) == depth


def _wanted_types(error: Fault) -> list[str]:
    return list(error.kind.types) if error.kind.name == "type" else []


def _says(template: str, attribute: str) -> Callable[[Fault], Iterator[FieldError]]:
    def word(error: Fault) -> Iterator[FieldError]:
        return _at(error, template.format(_show(getattr(error.kind, attribute))))

    return word


_WORDING: Final[Mapping[str, Callable[[Fault], Iterator[FieldError]]]] = {
    "required": _required,
    "additionalProperties": _unknown,
    "type": _type,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "enum": _says("must be one of {}", "options"),
    "const": _says("must be {}", "expected_value"),
    "minimum": _says("must be at least {}", "limit"),
    "maximum": _says("must be at most {}", "limit"),
    "exclusiveMinimum": _says("must be more than {}", "limit"),
    "exclusiveMaximum": _says("must be less than {}", "limit"),
    "multipleOf": _says("must be a multiple of {}", "multiple_of"),
    "minLength": _says("must have at least {} characters", "limit"),
    "maxLength": _says("must have at most {} characters", "limit"),
    "minItems": _says("must have at least {} items", "limit"),
    "maxItems": _says("must have at most {} items", "limit"),
    "minProperties": _says("must have at least {} fields", "limit"),
    "maxProperties": _says("must have at most {} fields", "limit"),
    "uniqueItems": lambda error: _at(error, "must not repeat an item"),
    "pattern": _says("must match the pattern {}", "pattern"),
    "format": _says("must be a valid {}", "format"),
}


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_show(item) for item in value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _type_name(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _a(name: str) -> str:
    if name == "null":
        return name
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
