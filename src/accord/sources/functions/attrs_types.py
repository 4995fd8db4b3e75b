"""attrs classes as parameters, made by calling them.

msgspec sets the attributes of an attrs class without `__init__`, so that its converters do not run.
Arguments are decoded as a Struct with the parameters of `__init__` instead, from which the class is
made. attrs is never imported: a class of attrs is there only if its module has imported it.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import InvalidValue, path_of

_CONTAINERS: Final = (list, dict, tuple)


def is_attrs(hint: Any) -> bool:
    """True for a class of attrs."""
    return isinstance(hint, type) and hasattr(hint, "__attrs_attrs__")


class AttrsBuilder:
    """Makes the attrs classes in a type from decoded Structs."""

    def __init__(self, hint: Any) -> None:
        self._structs: dict[type, Any] = {}
        self._owners: dict[type, type] = {}
        self.hint: Any = self._decodable(hint)
        """The type with a Struct in place of each attrs class; those in other classes stay."""

    @property
    def is_needed(self) -> bool:
        """True if there is something to make."""
        return bool(self._owners)

    def build(self, value: Any) -> Any:
        """Return a decoded value with its attrs classes; raise InvalidValue if one rejects it."""
        return self._built(value, ())

    def _decodable(self, hint: Any) -> Any:
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return Annotated[(self._decodable(args[0]), *args[1:])]
        if origin in (Union, UnionType):
            return reduce(or_, map(self._decodable, args))
        if origin in _CONTAINERS:
            return origin[tuple(map(self._decodable, args))]
        return self._struct_of(hint) if is_attrs(hint) else hint

    def _struct_of(self, owner: Any) -> Any:
        if owner not in self._structs:
            self._structs[owner] = owner  # while its fields are found: a recursive class stays
            hints = get_type_hints(owner, include_extras=True)
            fields = [self._field(owner, each, hints) for each in _parameters(owner)]
            struct = msgspec.defstruct(
                owner.__name__, fields, namespace={"__doc__": owner.__doc__}, kw_only=True
            )
            self._structs[owner] = struct
            self._owners[struct] = owner
        return self._structs[owner]

    def _field(self, owner: Any, attribute: Any, hints: dict[str, Any]) -> tuple[Any, ...]:
        """Return a field of a Struct for a parameter of `__init__`."""
        hint = hints.get(attribute.name, Any)
        if attribute.converter is not None:  # its parameter may be of another type
            given = owner.__init__.__annotations__.get(attribute.alias)
            hint = hint if given is None or isinstance(given, str) else given
        hint = self._decodable(hint)
        attr = sys.modules["attr"]
        if attribute.default is attr.NOTHING:
            return attribute.alias, hint
        if not isinstance(attribute.default, attr.Factory):
            hint = Annotated[hint, msgspec.Meta(extra_json_schema=_default(attribute.default))]
        return attribute.alias, hint | UnsetType, UNSET

    def _built(self, value: Any, path: Sequence[str | int]) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self._built(each, [*path, i]) for i, each in enumerate(value))
        if isinstance(value, dict):
            return {name: self._built(each, [*path, name]) for name, each in value.items()}
        owner = self._owners.get(type(value))
        if owner is None:
            return value
        given = {name: getattr(value, name) for name in value.__struct_fields__}
        parameters = {
            name: self._built(each, [*path, name])
            for name, each in given.items()
            if each is not UNSET
        }
        try:
            return owner(**parameters)
        except ValueError as error:  # of a converter or validator, in the author's words
            reason = error.args[0] if error.args else "it was rejected"
            raise InvalidValue([FieldError(path_of(path), f"is not valid: {reason}")]) from error


def _parameters(owner: Any) -> Iterator[Any]:
    """Yield the attributes that `__init__` takes."""
    return (each for each in owner.__attrs_attrs__ if each.init)


def _default(value: Any) -> dict[str, Any]:
    """Return the default of a parameter for its schema, if it is a JSON value."""
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value))}
    except (TypeError, ValueError):
        return {}


def reject_unusable_attrs(owner: type, what: str, *, is_result: bool) -> None:
    """Raise if msgspec would leave out a converter or a private attribute of an attrs class."""
    for each in getattr(owner, "__attrs_attrs__", ()):
        if each.converter is not None and not is_result:
            raise ContractError(
                f"{what} has {owner.__name__}.{each.name}, whose converter is not called inside "
                f"a class that is not of attrs; make that an attrs class"
            )
        is_private = each.name.startswith("_")
        if is_private and is_result and each.default is sys.modules["attr"].NOTHING:
            raise ContractError(
                f"{what} has {owner.__name__}.{each.name}, which is private and would not be "
                f"sent; rename it, or give it a default"
            )
