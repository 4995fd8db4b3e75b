"""The tool's request: its schema, and binding of JSON arguments with every wrong field named.

Input is normalized before it is checked: field names in any case or as aliases (`STR`, `gold`), a
name in place of an object that has one, a list in place of the object around it. What cannot be
normalized is left for the schema to report.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec import inspect as types

from accord.model.answer import FieldError, Notice, Problem
from accord.model.arguments import Checker, JsonSchema, ignored, invalid, path_of
from accord.model.tool import Bound
from accord.sources.sheets import model
from accord.sources.sheets.members import ALIASES, SHORT_ABILITIES, folded, right_place
from accord.sources.sheets.model import Character
from accord.sources.sheets.srd import class_name

Steps = tuple[str | int, ...]

_MAIN_LIST: Final[Mapping[type, str]] = {
    model.Equipment: "items",
    model.Proficiencies: "skills",
}
_BETWEEN_ITEMS: Final = re.compile(r"[,;\n]")
_BETWEEN_CLASSES: Final = re.compile("[/,;]")
_CLASS_WITH_LEVEL: Final = re.compile(
    r"(?P<name>[^\d(]+?) ?(?:\((?P<sub>[^)]*)\))? ?(?P<level>\d{1,9})"
)
_CLASS_WITH_SUBCLASS: Final = re.compile(r"(?P<name>[^(]+?) ?\((?P<sub>[^)]*)\)")
_MAX_CLASS_LENGTH: Final = 500


_CHARACTER: Final = types.type_info(model.Character)
TOOL: Final = "fill_dnd_character_sheet"
INVALID: Final = "Invalid character data"
_DATA: Final = "character_data"
_MAX_PLACED: Final = 100
"""Unknown members for which the right place is looked up."""


class _Normalizer:
    """Normalizes one character; `unknown` collects the paths of unknown fields."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def character(self, given: Any) -> Any:
        """Return a normalized character."""
        return self._value(_move_ability(given), _CHARACTER, ())

    def _value(self, value: Any, kind: types.Type, path: Steps) -> Any:
        while isinstance(kind, types.Metadata):
            kind = kind.type
        method = _NORMALIZERS.get(type(kind))
        return value if method is None else method(self, value, kind, path)

    def _struct(self, value: Any, kind: types.StructType, path: Steps) -> Any:
        if isinstance(value, str) and _takes_name(kind):
            value = {"name": value}
        if isinstance(value, list) and kind.cls in _MAIN_LIST:
            value = {_MAIN_LIST[kind.cls]: value}
        if not isinstance(value, dict):
            return value
        fields = {field.encode_name: field.type for field in kind.fields}
        aliases = ALIASES.get(kind.cls, {})
        known_fields: dict[str, Any] = {}
        for name, each in sorted(value.items(), key=lambda pair: pair[0] not in fields):
            known = _known(name, fields, aliases)
            if known is None or known in known_fields:  # the exact name wins over aliases
                self.unknown.append(path_of([*path, name]))
            elif each is not None:
                known_fields[known] = self._value(each, fields[known], (*path, known))
        return _with_classes(known_fields) if kind.cls is model.CharacterIdentity else known_fields

    def _list(self, value: Any, kind: types.ListType, path: Steps) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in _BETWEEN_ITEMS.split(value) if part.strip()]
        if not isinstance(value, list):
            return value
        return [self._value(each, kind.item_type, (*path, i)) for i, each in enumerate(value)]

    def _dict(self, value: Any, kind: types.DictType, path: Steps) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            self._value(name, kind.key_type, path): self._value(
                each, kind.value_type, (*path, name)
            )
            for name, each in value.items()
        }

    def _literal(self, value: Any, kind: types.LiteralType, path: Steps) -> Any:
        if not isinstance(value, str):
            return value
        name = folded(value)
        name = SHORT_ABILITIES.get(name, name)
        return name if name in kind.values else value

    def _union(self, value: Any, kind: types.UnionType, path: Steps) -> Any:
        for each in kind.types:
            value = self._value(value, each, path)
        return value

    def _int(self, value: Any, kind: types.IntType, path: Steps) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


_NORMALIZERS: Final[Mapping[type, Callable[..., Any]]] = {
    types.StructType: _Normalizer._struct,
    types.ListType: _Normalizer._list,
    types.DictType: _Normalizer._dict,
    types.LiteralType: _Normalizer._literal,
    types.UnionType: _Normalizer._union,
    types.IntType: _Normalizer._int,
}


def _takes_name(kind: types.StructType) -> bool:
    return (
        any(field.name == "name" for field in kind.fields)
        and kind.cls is not model.CharacterIdentity
    )


def _known(name: str, fields: Mapping[str, Any], aliases: Mapping[str, str]) -> str | None:
    if name in fields:
        return name
    other = folded(name)
    other = aliases.get(other, other)
    return other if other in fields else None


def _move_ability(given: Any) -> Any:
    """Move `spellcasting_ability` from the character to the spells."""
    identity = given.get("character") if isinstance(given, dict) else None
    if not isinstance(identity, dict) or "spellcasting_ability" not in identity:
        return given
    spells = given.get("spells") or {}
    if not isinstance(spells, dict):
        return given
    identity = dict(identity)
    ability = identity.pop("spellcasting_ability")
    return {**given, "character": identity, "spells": {"spellcasting_ability": ability, **spells}}


def _with_classes(identity: dict[str, Any]) -> dict[str, Any]:
    """Split `Paladin 5 / Sorcerer 3` into classes; derive class and level from classes."""
    written = _written_class(identity)
    if written is not None and not identity.get("classes"):
        parts = [
            _CLASS_WITH_LEVEL.fullmatch(part.strip()) for part in _BETWEEN_CLASSES.split(written)
        ]
        if all(parts):
            identity = {**identity, "classes": [_class_level(part) for part in parts if part]}
    classes = _classes(identity.get("classes"))
    if not classes:
        return _with_proper_class(identity)
    identity.setdefault("class", " / ".join(f"{each['name']} {each['level']}" for each in classes))
    identity.setdefault("level", sum(each["level"] for each in classes))
    return identity


def _written_class(identity: dict[str, Any]) -> str | None:
    """Return the class text with single spaces; None if it is not text or too long."""
    written = identity.get("class")
    if not isinstance(written, str) or len(written) > _MAX_CLASS_LENGTH:
        return None
    return " ".join(written.split())


def _class_level(part: re.Match[str]) -> dict[str, Any]:
    subclass = {"subclass": part["sub"]} if part["sub"] else {}
    name = class_name(part["name"]) or part["name"]
    return {"name": name, "level": int(part["level"]), **subclass}


def _with_proper_class(identity: dict[str, Any]) -> dict[str, Any]:
    """Split `fighter (champion)` into class and subclass, spelled as in the SRD."""
    written = _written_class(identity)
    if written is None:
        return identity
    if found := _CLASS_WITH_SUBCLASS.fullmatch(written):
        identity = {"subclass": found["sub"], **identity, "class": found["name"]}
    return {**identity, "class": class_name(identity["class"]) or identity["class"]}


def _classes(given: Any) -> list[dict[str, Any]]:
    """Return the classes if each has a name and a level, else an empty list."""
    if not isinstance(given, list):
        return []
    is_complete = all(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and type(each.get("level")) is int
        for each in given
    )
    return given if is_complete else []


def normalize(given: Any) -> tuple[Any, list[str]]:
    """Return a normalized character, and the paths of its unknown fields."""
    normalizer = _Normalizer()
    return normalizer.character(given), normalizer.unknown


class SheetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One sheet to fill."""

    character_data: Annotated[Character, Meta(description="Complete D&D 5e character information")]
    output_path: (
        Annotated[str, Meta(description="Path where filled PDF should be saved")] | UnsetType
    ) = UNSET
    allow_rule_violations: bool = False
    allow: Annotated[
        list[str],
        Meta(max_length=500, description="Single violations to allow, by path: abilities.strength"),
    ] = []
    explain: Annotated[bool, Meta(description="Say how each calculated field came about")] = False
    return_pdf: Annotated[bool, Meta(description="Send the filled PDF along")] = False


@cache
def schema() -> JsonSchema:
    """Return the JSON Schema of a request, without references: not every client resolves them."""
    (root,), defs = msgspec.json.schema_components([SheetRequest], ref_template="#/$defs/{name}")
    root = _inline(defs[root["$ref"].rpartition("/")[2]], defs)
    properties = root["properties"]
    properties["output_path"].pop("default", None)
    return {"type": "object", "properties": properties, "required": root["required"]}


def _inline(node: Any, defs: Mapping[str, Any]) -> Any:
    """Return a schema with references inlined, without titles and empty defaults."""
    if isinstance(node, list):
        return [_inline(each, defs) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = defs[node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    entries = {key: value for key, value in node.items() if key not in ("title", "$ref")}
    if entries.get("default") in ({}, [], "", None):
        entries.pop("default", None)
    return {key: _inline(value, defs) for key, value in entries.items()}


@cache
def _checker() -> Checker:
    return Checker(schema())


def bind(arguments: bytes) -> Bound:
    """Return a request from JSON arguments; raise a Problem that names every wrong field."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, Any])
        normalized, others, unknown = _normalized(given)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = FieldError("arguments", "are nested too deeply or are not valid JSON")
        raise _problem([reason]) from error
    try:
        request = msgspec.convert(normalized, SheetRequest)
    except msgspec.ValidationError as error:
        misplaced = [
            FieldError(path, notice.message, "warning") for path, notice in _misplaced(unknown)
        ]
        raise _problem([*_errors(normalized), *misplaced]) from error
    return Bound(request, [*ignored(others), *(notice for _, notice in _misplaced(unknown))])


def _misplaced(unknown: list[str]) -> Iterator[tuple[str, Notice]]:
    """Yield unknown members of a character with a warning that names the right place."""
    for index, path in enumerate(unknown):
        place = right_place(path) if index < _MAX_PLACED else ""
        suffix = f"; the right place is {place}" if place else ""
        for notice in ignored([path]):
            yield path, msgspec.structs.replace(notice, message=notice.message + suffix)


def _normalized(given: dict[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return normalized arguments, names of other arguments, and unknown members of a character."""
    others = [name for name in given if name not in SheetRequest.__struct_fields__]
    known = {name: value for name, value in given.items() if name not in others}
    if known.get("output_path", "") is None:
        del known["output_path"]
    if _DATA not in known:
        return known, others, []
    character, unknown = normalize(known[_DATA])
    return {**known, _DATA: character}, others, unknown


def _errors(normalized: dict[str, Any]) -> list[FieldError]:
    found = _checker().explain(normalized, FieldError(_DATA, "does not fit the schema"))
    # Paths are relative to the character, as in rules.
    return [FieldError(error.field.removeprefix(f"{_DATA}."), error.error) for error in found]


def _problem(errors: list[FieldError]) -> Problem:
    arguments = {name for name in SheetRequest.__struct_fields__ if name != _DATA} | {"arguments"}
    of_arguments = [error for error in errors if error.field.partition("[")[0] in arguments]
    if len(of_arguments) < len(errors):
        return invalid_character(errors)
    return invalid(TOOL, errors)


def invalid_character(errors: list[FieldError]) -> Problem:
    """Return the Problem of a character with errors."""
    blocking = [error for error in errors if error.severity == "error"]
    named = "; ".join(f"{error.field}: {error.error}" for error in blocking[:5])
    more = f"; and {len(blocking) - 5} more" if len(blocking) > 5 else ""
    return Problem.validation(INVALID, fields=errors, remediation=f"{named}{more}")
