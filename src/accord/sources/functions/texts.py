"""Parameters whose values come as text: those of prompts, and the variables of URI templates."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import inspect

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import JsonSchema, invalid
from accord.model.tool import Bound
from accord.sources.functions.examine import Examined
from accord.sources.functions.misfits import misfits, unreadable
from accord.sources.functions.parameters import Parameters

_SIMPLE: Final = frozenset({"string", "integer", "number", "boolean", "null"})


class Texts(Parameters):
    """What a function takes that is called with texts: numbers and the like are read from them."""

    def __init__(self, function: Callable[..., Any], found: Examined, kind: str) -> None:
        words = found.words.parameters
        super().__init__(function, found.name, found.types, words, strict=False, kind=kind)
        for name, schema in self.schema["properties"].items():
            if not _is_simple(schema, self.schema.get("$defs", {})):
                raise ContractError(
                    f"parameter {name!r} of {found.what} comes as text, and cannot be read from it"
                )

    @property
    def names(self) -> list[str]:
        """The parameters that callers see."""
        return list(self.schema["properties"])

    def choices(self) -> dict[str, list[str]]:
        """All that a parameter can be, where that is known."""
        found = {s.parameter.name: _in_order(s.hint) for s in self._shown}
        return {name: values for name, values in found.items() if values}

    def bind(self, arguments: bytes) -> Bound:
        """The arguments as a record; whatever is wrong with them is a validation Problem."""
        try:
            given = msgspec.json.decode(arguments, type=dict[str, Any])
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(self._tool, [unreadable(error)]) from error
        known = {name: given[name] for name in self.names if name in given}
        try:
            return Bound(msgspec.convert(known, self._record, strict=False))
        except msgspec.ValidationError as error:
            raise invalid(self._tool, self._misfits(known, error)) from error

    def _misfits(self, given: dict[str, Any], error: Exception) -> list[FieldError]:
        errors: list[FieldError] = []
        for shown in self._shown:
            name = shown.parameter.name
            if name not in given:
                errors += [FieldError(name, "is required")] if shown.is_required else []
                continue
            try:
                msgspec.convert(given[name], shown.hint, strict=False)
            except msgspec.ValidationError as misfit:
                errors += misfits(name, msgspec.json.encode(given[name]), misfit, self._checker)
        return errors or [FieldError("arguments", "do not fit")]


def _is_simple(schema: JsonSchema, defs: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_simple(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return all(_is_simple(part, defs) for part in schema["anyOf"])
    return schema.get("type") in _SIMPLE or "enum" in schema or not schema.keys() - {"default"}


def _in_order(hint: Any) -> list[str]:
    """The texts that a type has, as they are written: msgspec does not keep their order."""
    written = [str(value) for value in _literals(hint)]
    choices = _choices(inspect.type_info(hint))
    return sorted(choices, key=lambda each: written.index(each) if each in written else -1)


def _literals(hint: Any) -> Iterator[Any]:
    for part in get_args(hint):
        yield from [part] if get_origin(hint) is Literal else _literals(part)


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [text for each in kind.types for text in _choices(each)]
    if isinstance(kind, inspect.BoolType):
        return ["true", "false"]
    if isinstance(kind, inspect.EnumType):
        members: list[Enum] = list(kind.cls)
        return [str(each.value) for each in members]
    return [str(value) for value in kind.values] if isinstance(kind, inspect.LiteralType) else []
