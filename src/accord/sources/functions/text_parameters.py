"""Parameters whose values are text: prompt arguments and URI template variables."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import inspect

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import JsonSchema, invalid
from accord.model.tool import Bound
from accord.sources.functions.introspect import FunctionInfo
from accord.sources.functions.parameters import Parameters, decode_failure, field_errors

_SIMPLE: Final = frozenset({"string", "integer", "number", "boolean", "null"})


class TextParameters(Parameters):
    """The parameters of a function called with text; other types are converted from it."""

    def __init__(self, function: Callable[..., Any], info: FunctionInfo, kind: str) -> None:
        descriptions = info.docstring.parameters
        super().__init__(function, info.name, info.types, descriptions, strict=False, kind=kind)
        for name, schema in self.schema["properties"].items():
            if not _is_simple(schema, self.schema.get("$defs", {})):
                raise ContractError(
                    f"parameter {name!r} of {info.what} must be a type that can be read from text"
                )

    @property
    def names(self) -> list[str]:
        """Names of the parameters that callers see."""
        return list(self.schema["properties"])

    def choices(self) -> dict[str, list[str]]:
        """Return the possible values of each parameter that has a fixed set."""
        found = {each.parameter.name: _ordered_choices(each.hint) for each in self._visible}
        return {name: values for name, values in found.items() if values}

    def bind(self, arguments: bytes) -> Bound:
        """Return the arguments as a record; raise a validation Problem with every wrong field."""
        try:
            given = msgspec.json.decode(arguments, type=dict[str, Any])
        except (msgspec.ValidationError, RecursionError) as error:
            raise invalid(self._tool, [decode_failure(error)]) from error
        known = {name: given[name] for name in self.names if name in given}
        try:
            return Bound(msgspec.convert(known, self._record, strict=False))
        except msgspec.ValidationError as error:
            raise invalid(self._tool, self._field_errors(known, error)) from error

    def _field_errors(self, given: dict[str, Any], error: Exception) -> list[FieldError]:
        errors: list[FieldError] = []
        for each in self._visible:
            name = each.parameter.name
            if name not in given:
                errors += [FieldError(name, "is required")] if each.is_required else []
                continue
            try:
                msgspec.convert(given[name], each.hint, strict=False)
            except msgspec.ValidationError as misfit:
                errors += field_errors(
                    name, msgspec.json.encode(given[name]), misfit, self._checker
                )
        return errors or [FieldError("arguments", "do not fit")]


def _is_simple(schema: JsonSchema, defs: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_simple(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return all(_is_simple(part, defs) for part in schema["anyOf"])
    return schema.get("type") in _SIMPLE or "enum" in schema or not schema.keys() - {"default"}


def _ordered_choices(hint: Any) -> list[str]:
    """Return a type's possible texts in source order, which msgspec does not keep."""
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
