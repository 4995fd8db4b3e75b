"""Validates JSON values against JSON Schema, with a short message for every invalid field.

The messages are meant for a model to act on, and never repeat the value that was sent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from accord.errors import ContractError
from accord.model.answer import FieldError, Notice, Problem
from accord.model.values import is_deep, is_deep_json

JsonSchema = dict[str, Any]
_MAX_STEP: Final = 64
MAX_ERRORS: Final = 1_000
_MAX_NAMED: Final = 32  # in the message, which a model has to read


def invalid(tool: str, errors: Sequence[FieldError]) -> Problem:
    """Return the Problem for invalid arguments, which names every invalid field."""
    named = "; ".join(f"{error.field} {error.error}".strip() for error in errors[:_MAX_NAMED])
    more = f"; and {len(errors) - _MAX_NAMED} more" if len(errors) > _MAX_NAMED else ""
    return Problem.validation(
        f"Invalid arguments for {tool}: {named}{more}", fields=errors[:MAX_ERRORS]
    )


ADDED_BY_CLIENTS: Final = frozenset({"toolCallId", "sessionId", "action", "chatInput"})
"""Arguments that n8n adds to calls: its id of the call, and the members of its chat trigger.

It did so in every call before 2.2.5, and does so if a schema has `additionalProperties: true`.
"""


def ignored(names: Iterable[str]) -> list[Notice]:
    """Return a warning for each unknown argument that is not one that clients add."""
    return [
        Notice(f"Unknown argument {_shortened(name)!r} was ignored", code="UNKNOWN_ARGUMENT")
        for name in names
        if name not in ADDED_BY_CLIENTS
    ]


def _shortened(name: str) -> str:
    return f"{name[:_MAX_STEP]}…" if len(name) > _MAX_STEP else name


class InvalidValue(msgspec.ValidationError):
    """A value is not of its type; `fields` has every error, with paths inside the value."""

    def __init__(self, fields: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{each.field} {each.error}".strip() for each in fields))
        self.fields: tuple[FieldError, ...] = tuple(fields)


class Fault(Protocol):
    """An error of jsonschema-rs; the members of `kind` depend on its `name`."""

    instance: Any
    instance_path: list[str | int]
    kind: Any


class Checker:
    """A JSON Schema validator, compiled on first use; without `formats`, those are ignored."""

    def __init__(self, schema: JsonSchema, *, formats: bool = True) -> None:
        self._schema = schema
        self._formats = formats
        self._validator: Any = None

    def fits(self, value: object) -> bool:
        """True if `value` is valid; a value with too many levels is not."""
        if is_deep(value):  # the validator may use up the C stack
            return False
        if self._validator is None:
            self.compile("the schema")
        return bool(self._validator.is_valid(value))

    def fits_json(self, json: bytes) -> bool:
        """True if JSON is valid; see `fits`. Raises DecodeError if it is malformed."""
        if is_deep_json(json):
            return False
        if self._validator is None:
            self.compile("the schema")
        return bool(self._validator.is_valid(msgspec.json.decode(json)))

    def errors(self, value: object) -> list[FieldError]:
        """Return errors of `value` for a message; only `fits` decides whether it is valid.

        The list may also be empty because `value` is nested too deeply, or because only the end of
        a long list is invalid.
        """
        if is_deep(value):
            return []
        if self._validator is None:
            self.compile("the schema")
        return list(islice(_each(self._validator.iter_errors(trimmed(value))), MAX_ERRORS))

    def explain(self, value: object, otherwise: FieldError) -> list[FieldError]:
        """Return every error of a value that is not of its type: msgspec stops at the first.

        `otherwise` is the error of a value that is valid under the schema.
        """
        return self.errors(value) or [otherwise]

    def explain_json(
        self, json: bytes, *, unreadable: FieldError, otherwise: FieldError
    ) -> list[FieldError]:
        """Return every error of JSON as `explain` does; `unreadable` if it does not decode."""
        try:
            value = msgspec.json.decode(json)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return [unreadable]
        return self.explain(value, otherwise)

    def compile(self, what: str) -> None:
        """Compile the schema; raise if it is not valid or has external references."""
        import jsonschema_rs  # takes 35 ms, and most servers do not need it

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                self._schema,
                validate_formats=self._formats,
                formats={"decimal": _is_decimal},
                retriever=_reject_reference,
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            reason = str(error).partition("\n")[0]
            raise ContractError(f"{what} has no valid JSON Schema: {reason}") from error


def trimmed(value: object, most: int = MAX_ERRORS) -> object:
    """Return a value with its long lists cut, since validators collect all errors at once."""
    if isinstance(value, list):
        return [trimmed(item, most) for item in value[:most]]
    if isinstance(value, dict):
        return {name: trimmed(item, most) for name, item in islice(value.items(), most)}
    return value


def _is_decimal(text: str) -> bool:
    from decimal import Decimal, InvalidOperation

    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


def _reject_reference(uri: str) -> Any:
    raise ValueError(f"{uri} is not looked up")


def path_of(steps: Sequence[str | int]) -> str:
    """Format a path as `spells.first_level[0].level`."""
    path = ""
    for step in steps:
        shown = str(step) if len(str(step)) <= _MAX_STEP else f"{str(step)[:_MAX_STEP]}…"
        path += f"[{shown}]" if isinstance(step, int) else f".{shown}" if path else shown
    return path


def _each(errors: Iterable[Fault]) -> Iterator[FieldError]:
    found = list(errors)
    chosen = {tuple(error.instance_path) for error in found if error.kind.name == "enum"}
    for error in found:
        if error.kind.name == "type" and tuple(error.instance_path) in chosen:
            continue  # the values to choose from say more
        format_error = _MESSAGES.get(error.kind.name, _invalid)
        yield from format_error(error)


def _at(error: Fault, message: str) -> Iterator[FieldError]:
    yield FieldError(path_of(error.instance_path), message)


def _invalid(error: Fault) -> Iterator[FieldError]:
    return _at(error, "does not fit the schema")


def _required(error: Fault) -> Iterator[FieldError]:
    yield FieldError(path_of([*error.instance_path, error.kind.property]), "is required")


def _unknown(error: Fault) -> Iterator[FieldError]:
    for name in error.kind.unexpected:
        yield FieldError(path_of([*error.instance_path, name]), "is not a known field")


def _type(error: Fault) -> Iterator[FieldError]:
    return _at(error, type_mismatch(error.kind.types, error.instance))


def _alternatives(error: Fault) -> Iterator[FieldError]:
    """Yield the errors of the alternative that the value most likely belongs to."""
    depth = len(error.instance_path)
    branches: list[list[Fault]] = [list(branch) for branch in error.kind.context]
    choices = [e for b in branches for e in b if _is_choice(e, depth)]
    if len(choices) == len(branches):
        options = _show([each for e in choices for each in e.kind.options])
        yield from _at(error, f"must be one of {options}")
        return
    meant = [b for b in branches if not any(_is_wrong_type(e, depth) for e in b)]
    if meant:
        closest = min(meant, key=len)
        yield from _each(closest)
        return
    wanted = dict.fromkeys(n for b in branches for e in b for n in _wanted_types(e))
    if wanted:
        yield from _at(error, type_mismatch(wanted, error.instance))
    else:
        yield from _invalid(error)


def _is_choice(error: Fault, depth: int) -> bool:
    return error.kind.name == "enum" and len(error.instance_path) == depth


def _is_wrong_type(error: Fault, depth: int) -> bool:
    return error.kind.name == "type" and len(error.instance_path) == depth


def _wanted_types(error: Fault) -> list[str]:
    return list(error.kind.types) if error.kind.name == "type" else []


def _message(template: str, attribute: str) -> Callable[[Fault], Iterator[FieldError]]:
    def format_error(error: Fault) -> Iterator[FieldError]:
        return _at(error, template.format(_show(getattr(error.kind, attribute))))

    return format_error


_MESSAGES: Final[Mapping[str, Callable[[Fault], Iterator[FieldError]]]] = {
    "required": _required,
    "additionalProperties": _unknown,
    "type": _type,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "enum": _message("must be one of {}", "options"),
    "const": _message("must be {}", "expected_value"),
    "minimum": _message("must be at least {}", "limit"),
    "maximum": _message("must be at most {}", "limit"),
    "exclusiveMinimum": _message("must be more than {}", "limit"),
    "exclusiveMaximum": _message("must be less than {}", "limit"),
    "multipleOf": _message("must be a multiple of {}", "multiple_of"),
    "minLength": _message("must have at least {} characters", "limit"),
    "maxLength": _message("must have at most {} characters", "limit"),
    "minItems": _message("must have at least {} items", "limit"),
    "maxItems": _message("must have at most {} items", "limit"),
    "minProperties": _message("must have at least {} fields", "limit"),
    "maxProperties": _message("must have at most {} fields", "limit"),
    "uniqueItems": lambda error: _at(error, "must not repeat an item"),
    "pattern": _message("must match the pattern {}", "pattern"),
    "format": _message("must be a valid {}", "format"),
}


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_show(item) for item in value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def type_mismatch(wanted: Iterable[str], value: object) -> str:
    """Return the message for a value whose JSON type is not one of those wanted."""
    return f"must be {' or '.join(map(_a, wanted))}, not {_a(_type_name(value))}"


def _type_name(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    if value is None or isinstance(value, dict):
        return "null" if value is None else "object"
    return names.get(type(value), type(value).__name__)


def _a(name: str) -> str:
    if name == "null":
        return name
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
