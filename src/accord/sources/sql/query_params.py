"""Parameters of a saved query: their types, schemas, and values as the database takes them."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from accord.model.arguments import JsonSchema

LIST: Final = "[]"
"""The suffix of the type of a list."""


class _Type(NamedTuple):
    schema: JsonSchema
    decoded: Any
    """The type that msgspec decodes a value as."""
    postgres: str
    """The type in PostgreSQL, which cannot infer that of null."""
    can_choose: bool = False
    """True if a parameter may have a list of values to choose from."""
    is_number: bool = False


_TYPES: Final[Mapping[str, _Type]] = {
    "text": _Type({"type": "string"}, str, "text", can_choose=True),
    "integer": _Type({"type": "integer"}, int, "bigint", can_choose=True, is_number=True),
    "number": _Type({"type": "number"}, float, "numeric", is_number=True),
    "boolean": _Type({"type": "boolean"}, bool, "boolean"),
    "date": _Type({"type": "string", "format": "date"}, date, "date"),
    "datetime": _Type(
        {"type": "string", "format": "date-time"},
        Annotated[datetime, msgspec.Meta(tz=True)],
        "timestamptz",
    ),
}
TYPES: Final = (*_TYPES, *(f"{name}{LIST}" for name in _TYPES))
"""The names of all types."""


class QueryParam(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a saved query."""

    name: str
    type: str
    description: str | None = None
    default: Any = None
    is_required: bool = True
    enum: tuple[str | int, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None

    @property
    def is_list(self) -> bool:
        """True if its values are lists."""
        return self.type.endswith(LIST)

    @property
    def _item(self) -> _Type:
        return _TYPES[self.type.removesuffix(LIST)]

    @property
    def can_choose(self) -> bool:
        """True if its type may have an enum."""
        return self._item.can_choose and not self.is_list

    @property
    def is_number(self) -> bool:
        """True if its type may have a minimum and a maximum."""
        return self._item.is_number and not self.is_list

    @property
    def postgres_type(self) -> str:
        """Its type in PostgreSQL."""
        return self._item.postgres + (LIST if self.is_list else "")

    def value_schema(self) -> JsonSchema:
        """Return the JSON Schema of its values alone."""
        schema: JsonSchema = dict(self._item.schema)
        if self.enum:
            schema["enum"] = list(self.enum)
        for name in ("minimum", "maximum"):
            if getattr(self, name) is not None:
                schema[name] = getattr(self, name)
        return {"type": "array", "items": schema} if self.is_list else schema

    def schema(self) -> JsonSchema:
        """Return its property in the input schema of the tool."""
        schema = self.value_schema()
        if self.description is not None:
            schema["description"] = self.description
        if self.default is not None:
            schema["default"] = self.default
        return schema

    def decoded_type(self) -> Any:
        """Return the type that its values are decoded as; null means that there is none."""
        kind = self._item.decoded
        if self.enum:
            kind = Literal[self.enum]
        elif self.minimum is not None or self.maximum is not None:
            kind = Annotated[kind, msgspec.Meta(ge=self.minimum, le=self.maximum)]
        if self.is_list:
            kind = GenericAlias(list, kind)
        return kind if self.is_required else kind | None

    def binder(self, *, is_sqlite: bool) -> Callable[[Any], Any]:
        """Return a function from a decoded value to the one that is bound."""
        if self.is_list:
            return _json_text if is_sqlite else _array_text
        return _TO_BOUND.get(self.type, _unchanged)


def _unchanged(value: Any) -> Any:
    return value


def _iso(value: date) -> str:
    return value.isoformat()


_TO_BOUND: Final[Mapping[str, Callable[[Any], Any]]] = {"date": _iso, "datetime": _iso}


def _json_text(values: list[Any]) -> str:
    """Return a list as SQLite's json_each reads it."""
    return msgspec.json.encode(values).decode()


def _array_text(values: list[Any]) -> str:
    """Return a list as PostgreSQL reads an array of any type."""
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else _iso(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
