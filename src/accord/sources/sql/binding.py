"""The arguments of a call into what the tool takes, or every field that is wrong with them."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from accord.model.answer import FieldError
from accord.model.arguments import Checker, JsonSchema, ignored, invalid
from accord.model.tool import Bound

T = TypeVar("T")

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
            raise invalid(tool, [FieldError("", "must be an object")]) from error
        faults = checker.errors(given)
        if faults:
            raise invalid(tool, faults)
        mine = {name: value for name, value in given.items() if name in known}
        try:
            bound = msgspec.convert(mine, kind)
        except msgspec.ValidationError as error:
            raise invalid(tool, [FieldError("", str(error))]) from error
        return Bound(bound, [ignored(name) for name in given if name not in known])

    return bind
