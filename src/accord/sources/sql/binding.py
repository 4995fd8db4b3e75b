"""The arguments of a call into what the tool takes, or every field that is wrong with them."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from accord.answer import FieldError, Notice, Problem
from accord.arguments import Checker, JsonSchema
from accord.tool import Bound

T = TypeVar("T")

_LONGEST_NAME_SHOWN: Final = 64
_members = msgspec.json.Decoder(dict[str, Any]).decode


def binder(tool: str, kind: type[T], schema: JsonSchema) -> Callable[[bytes], Bound]:
    """How a tool's arguments are checked: at once where all is well, else field by field."""
    decode = msgspec.json.Decoder(kind).decode
    checker = Checker(schema)
    known = schema["properties"]

    def bind(arguments: bytes) -> Bound:
        try:
            return Bound(decode(arguments))
        except (msgspec.ValidationError, RecursionError):
            pass
        try:
            given = _members(arguments)
        except (msgspec.ValidationError, RecursionError) as error:
            raise _invalid(tool, [FieldError("", "must be an object")]) from error
        faults = checker.errors(given)
        if faults:
            raise _invalid(tool, faults)
        mine = {name: value for name, value in given.items() if name in known}
        try:
            bound = msgspec.convert(mine, kind)
        except msgspec.ValidationError as error:
            raise _invalid(tool, [FieldError("", str(error))]) from error
        return Bound(bound, [_ignored(name) for name in given if name not in known])

    return bind


def _invalid(tool: str, faults: list[FieldError]) -> Problem:
    named = "; ".join(f"{fault.field} {fault.error}".strip() for fault in faults)
    return Problem.validation(f"Invalid arguments for {tool}: {named}", fields=faults)


def _ignored(name: str) -> Notice:
    shown = name[:_LONGEST_NAME_SHOWN] + "…" if len(name) > _LONGEST_NAME_SHOWN else name
    return Notice(f"Unknown argument {shown!r} was ignored", code="UNKNOWN_ARGUMENT")
