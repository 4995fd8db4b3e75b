"""The outer shape of a tool's arguments: `kwargs`, `query` and `body`, whatever is in them."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from accord.model.answer import FieldError, Problem
from accord.model.arguments import Checker, JsonSchema, invalid
from accord.model.tool import Bound


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool takes."""

    kwargs: dict[str, str | int] = {}
    query: dict[str, Any] = {}
    body: dict[str, Any] | list[Any] | UnsetType = UNSET


_BODIES: Final[dict[str, type]] = {"object": dict, "array": list}
_decode = msgspec.json.Decoder(Arguments).decode


class Outline:
    """Checks the outer shape; what is in it is for the view to judge."""

    def __init__(self, tool: str, shape: JsonSchema) -> None:
        self._tool = tool
        self._checker = Checker(shape)
        members = shape["properties"]
        self._names = members["kwargs"]["properties"].keys()
        self._required = frozenset(members["kwargs"].get("required", ()))
        kinds = members.get("body", {}).get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        self._body = tuple(_BODIES[kind] for kind in kinds)

    def bind(self, arguments: bytes) -> Bound:
        """The arguments, if they have this shape."""
        try:
            given = _decode(arguments)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._misfit(arguments) from None
        kwargs = given.kwargs.keys()
        has_body = given.body is UNSET or isinstance(given.body, self._body)
        if not has_body or not self._required <= kwargs <= self._names:
            raise self._misfit(arguments)
        return Bound(given)

    def _misfit(self, arguments: bytes) -> Problem:
        """What is wrong with arguments of another shape."""
        try:
            errors = self._checker.errors(msgspec.json.decode(arguments))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            errors = []
        errors = errors or [FieldError("arguments", "hold what no tool can take")]
        return invalid(self._tool, errors)
